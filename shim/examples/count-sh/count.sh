set -eu
slot=examples/counter
version=0
if runs=$(lethe-slot read $slot 2>why); then
        version=$(lethe-slot read $slot --version)
else
        case $(cat why) in
        *no_value*) runs=0 ;;
        *)
                cat why >&2
                exit 1
                ;;
        esac
fi
runs=$((runs + 1))
lethe-section write runs $runs >/dev/null # typed working state, gone with the region
lethe-slot write $slot "$(lethe-section read runs)" --expect "$version" >/dev/null
lethe-slot result "{\"runs\":$runs}"
