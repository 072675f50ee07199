#!/bin/bash
# machine.sh FOLDER BUILD [--only WORD,...]: all of tests/system/machine.py with one command. Makes the machine in FOLDER when it is not there (root, Debian's
# packages, three minutes, 2 GB), boots it emulated (QEMU without KVM, no network but ssh on 127.0.0.1:${VM_PORT:-2299}), prints the table, and turns it off.
# The machine is a Debian 12 as users have it: its own kernel, systemd as PID 1, control groups of version 2, users alice (with sudo) and bob. The whole takes an hour.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 2 ] || { sed -n 2,4p "$0"; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd) build=$(cd "$2" && pwd)
shift 2

make() (
        cd "$folder"
        [ -n "$(command -v mmdebstrap)" ] && [ -n "$(command -v qemu-system-x86_64)" ] || apt-get -qq -y install --no-install-recommends mmdebstrap qemu-system-x86 e2fsprogs openssh-client >/dev/null
        [ -e key ] || ssh-keygen -q -t ed25519 -N '' -f key
        packages=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,linux-image-amd64,udev,openssh-server,sudo,python3,python3-venv,nodejs,jq,bubblewrap,strace,stress-ng,iproute2,procps,netcat-openbsd,tmux,apparmor
        mmdebstrap --quiet --variant=minbase --include=$packages --customize-hook='
                for u in alice bob; do chroot "$1" useradd -m -s /bin/bash $u; done; chroot "$1" usermod -aG sudo alice; echo "alice ALL=(ALL) NOPASSWD: ALL" >"$1/etc/sudoers.d/alice"
                for h in root home/alice home/bob; do mkdir -p "$1/$h/.ssh"; cp key.pub "$1/$h/.ssh/authorized_keys"; chmod 700 "$1/$h/.ssh"; done
                for u in alice bob; do chroot "$1" chown -R $u:$u /home/$u; mkdir -p "$1/var/lib/systemd/linger"; touch "$1/var/lib/systemd/linger/$u"; done
                echo lethe-vm >"$1/etc/hostname"; echo "/dev/vda / ext4 rw 0 1" >"$1/etc/fstab"
                printf "[Match]\nName=en*\n[Network]\nDHCP=yes\n" >"$1/etc/systemd/network/en.network"; chroot "$1" systemctl enable -q systemd-networkd ssh' bookworm root.tar
        tar -xf root.tar --wildcards -O './boot/vmlinuz-*' >vmlinuz
        tar -xf root.tar --wildcards -O './boot/initrd.img-*' >initrd
        rm -rf root && mkdir root && tar -xf root.tar -C root && rm root.tar
        mke2fs -q -t ext4 -d root disk.new 6G && rm -rf root && mv disk.new disk.img
)

[ -e "$folder/disk.img" ] || make
# machine.py calls this with a user's name: ssh, once the machine answers (at most five minutes).
cat >"$folder/at" <<END
#!/bin/bash
o=(-q -i "$folder/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o ConnectTimeout=20 -p ${VM_PORT:-2299} "\$1@127.0.0.1")
for _ in {1..60}; do ssh "\${o[@]}" true 2>/dev/null </dev/null && break; sleep 5; done
exec ssh "\${o[@]}" bash -s
END
chmod +x "$folder/at"
qemu-system-x86_64 -accel tcg,thread=multi -machine q35 -cpu max -smp 2 -m 3G -nodefaults -display none -kernel "$folder/vmlinuz" -initrd "$folder/initrd" \
        -append "root=/dev/vda rw console=ttyS0 mitigations=off" -drive file="$folder/disk.img",if=virtio,format=raw,cache=unsafe \
        -netdev user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:"${VM_PORT:-2299}"-:22 -device virtio-net-pci,netdev=n -device virtio-rng-pci -serial file:"$folder/console.log" &
qemu=$!
trap 'kill $qemu 2>/dev/null || true' EXIT
status=0
/usr/bin/python3 "$here/machine.py" "$@" "$build" "$folder/at" || status=$?
echo poweroff | "$folder/at" root || true
for _ in {1..60}; do kill -0 $qemu 2>/dev/null || break; sleep 1; done
exit $status
