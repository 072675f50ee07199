#!/bin/bash
# The unit files, with the program in the place where it was built: systemd-analyze verify says nothing about them.
#
# usage: units.sh LETHE UNIT...
set -eu
command -v systemd-analyze >/dev/null || { [ "${MUST_WORK:-}" = 1 ] && exit 1 || exit 77; }
lethe=$(realpath "$1")
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for unit; do
        grep -q . "$unit"
        sed -E "s#^Exec(Start|Reload)=[^ ]*#Exec\1=$lethe#" "$unit" >"$dir/${unit##*/}"
done
grep -qx "ExecStart=$lethe serve" "$dir/lethe.service"
# A verify that finds something to say may still end with 0. What other units of the machine have is not ours. man(1) is not asked for pages that are not installed yet.
said=$(systemd-analyze verify --man=no "$dir"/lethe.service "$dir"/lethe.socket 2>&1) || { echo "$said"; exit 1; }
if echo "$said" | grep -i lethe; then exit 1; fi
# And it would say something: an option that is none.
sed 's/^Type=notify/Type=notification/' "$dir/lethe.service" >"$dir/lethe-wrong.service"
systemd-analyze verify --man=no "$dir/lethe-wrong.service" 2>&1 | grep -qi "lethe-wrong"
