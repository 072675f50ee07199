#!/bin/sh
# The test of reap itself: reap MISBEHAVE; each way to misbehave must fail, the control must pass, and nothing may be left.
reap=$1 misbehave=$2
n=0 bad=0 made=
unset MUST_WORK
expect() { # expect STATUS WORD TEXT…
        want=$1 way=$2 text=$3
        n=$((n + 1))
        out=$($reap "$misbehave" "$way" 2>&1)
        got=$?
        if [ "$got" -ne "$want" ] || ! printf '%s' "$out" | grep -q -- "$text"; then
                bad=1
                printf 'not ok - %s: exit %s, wanted %s and "%s"\n' "$way" "$got" "$want" "$text"
                printf '%s\n' "$out" | sed 's/^/# /'
        else
                printf 'ok - %s\n' "$way"
        fi
}
expect 0 good 'ok - control'
expect 1 no-test 'no test was run'
expect 1 left-behind 'left behind: process'
expect 1 report 'a sanitizer reports'
expect 1 dies 'ended by signal 9'
expect 1 too-few 'tests were planned'
expect 1 not-ok 'not ok'
expect 3 status 'ok - control'
[ -n "$SKIP_IS_BAD" ] || expect 0 skip 'SKIP'
# Names of sockets that root left for the first pids of a PID namespace: the test gets a later pid.
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
if [ "$(id -u)" = 0 ] && unshare --pid --fork true 2>/dev/null && $nobody test -x "$misbehave"; then
        for pid in 2 3 4 5 6 7 8 9; do
                name=/tmp/criterion_$pid.sock
                [ -e "$name" ] || { : >"$name" && made="$made $name"; }
        done
        reap="unshare --pid --fork --mount-proc $nobody env TMPDIR=/tmp $reap"
        expect 0 taken 'ok - control'
        reap=$1
        rm -f $made
fi
MUST_WORK=1
export MUST_WORK
expect 1 skip 'everything must work here'
if [ -n "$SANITIZED" ]; then
        expect 1 overflow 'runtime error'
fi
echo "1..$n"
exit $bad
