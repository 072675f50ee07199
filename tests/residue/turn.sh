#!/bin/sh
# turn.sh PROGRAM [ARGS…]: runs the program as a turn of a session, which lives on: in the guest of tests/residue/run, beside lethe.
set -eu
here=$(dirname "$0")
program=$1
shift
dir=$(mktemp -d)
export LETHE_STORE="$dir/store" LETHE_SERVE=0
mkdir "$dir/canary"
cp "$program" "$dir/canary/program"
cp "$(dirname "$program")/keys" "$dir/canary/keys" # beside the program: of what it makes its secrets
chmod 755 "$dir/canary/program"
printf '%s\n' '---' 'name: canary' 'description: Fills memory with secrets.' '---' >"$dir/canary/SKILL.md"
cat >"$dir/canary/lethe.json" <<'END'
{ "version": 1, "entry": { "main": ["/skill/program"] }, "budgets": { "memory": "256m" }, "session": { "sections": { "n": { "schema": { "type": "integer" } } } } }
END
session=$("$here/lethe" session open "$dir/canary")
"$here/lethe" session carry "$session" n 1 >/dev/null
code=0
"$here/lethe" session turn -v /payload:/payload "$session" -- "$@" || code=$?
"$here/lethe" session carry "$session" n >/dev/null # the session is there
exit "$code"
