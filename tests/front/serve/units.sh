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
mkdir "$dir/user"
for unit; do
        grep -q . "$unit"
        name=${unit##*/}
        case $name in lethe-user.*) name=user/lethe.${name##*.} ;; esac
        sed -E "s#^Exec(Start|Reload)=[^ ]*#Exec\1=$lethe#" "$unit" >"$dir/$name"
done
# guards outlive a daemon that was killed, and clients of the policy reach the socket. A-60: each region has a group of its own.
for unit in "$dir/lethe.service" "$dir/user/lethe.service"; do
        grep -qx KillMode=process "$unit"
        grep -qx Delegate=yes "$unit"
done
grep -qx RuntimeDirectoryMode=0755 "$dir/lethe.service"
grep -qx SocketMode=0666 "$dir/lethe.socket"
grep -qx DirectoryMode=0755 "$dir/lethe.socket"
# A-66: of a user for that user alone, at the place where `lethe run` looks.
grep -qx SocketMode=0600 "$dir/user/lethe.socket"
grep -qx ListenStream=%t/lethe/socket "$dir/user/lethe.socket"
said=$(XDG_RUNTIME_DIR=$dir systemd-analyze --user verify --man=no "$dir"/user/lethe.service "$dir"/user/lethe.socket 2>&1) || { echo "$said"; exit 1; }
if echo "$said" | grep -i lethe; then exit 1; fi
grep -qx "ExecStart=$lethe serve" "$dir/lethe.service"
# A verify that finds something to say may still end with 0. What other units of the machine have is not ours. man(1) is not asked for pages that are not installed yet.
said=$(systemd-analyze verify --man=no "$dir"/lethe.service "$dir"/lethe.socket 2>&1) || { echo "$said"; exit 1; }
if echo "$said" | grep -i lethe; then exit 1; fi
# And it would say something: an option that is none.
sed 's/^Type=notify/Type=notification/' "$dir/lethe.service" >"$dir/lethe-wrong.service"
systemd-analyze verify --man=no "$dir/lethe-wrong.service" 2>&1 | grep -qi "lethe-wrong"
