set -eu
slot=examples/counter
if runs=$(lethe-slot read $slot 2>/work/why); then
        version=$(lethe-slot read $slot --version)
elif grep -q 'no_value' /work/why; then
        runs=0 version=0
else
        cat /work/why >&2
        exit 1
fi
runs=$((runs + 1))
lethe-slot write $slot $runs --expect "$version" >/dev/null
lethe-slot result "{\"runs\":$runs}"
