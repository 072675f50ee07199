"""Names that only the test knows: an /etc/hosts in a mount namespace of the test's own. To be used first of all, before account.py makes the test an ordinary user's."""
import ctypes
import fcntl
import os
import socket
import struct
import sys
import tempfile


def _mount(path, text):
    with tempfile.NamedTemporaryFile("w") as f:
        f.write(text)
        f.flush()
        os.chmod(f.name, 0o644)
        if ctypes.CDLL(None).mount(f.name.encode(), os.path.realpath(path).encode(), None, 4096, None) != 0:
            raise OSError("no %s of the test's own" % path)


def _loopback(addresses):
    """lo is up, and has these addresses, too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running
        for i, address in enumerate(addresses):
            fcntl.ioctl(s, 0x8916, struct.pack("16sHH4s8x", b"lo:%d" % i, socket.AF_INET, 0, socket.inet_aton(address)))  # SIOCSIFADDR


def own_hosts(text, resolver=None, addresses=()):
    """The test starts once more in namespaces of its own, and has `text` as its /etc/hosts there. resolver: also a network of its own, with `addresses`, and
    this text as its /etc/resolv.conf."""
    if os.environ.get("LETHE_OWN_NAMESPACES") != "1":
        os.environ["LETHE_OWN_NAMESPACES"] = "1"
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.execvp("unshare", ["unshare", *user, "--mount", *(["--net"] if resolver else []), "--", sys.executable, *sys.argv])
    _mount("/etc/hosts", text)
    if resolver:
        _loopback(addresses)
        _mount("/etc/resolv.conf", resolver)
