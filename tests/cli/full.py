#!/usr/bin/python3
"""A full disk is never called damage (I-79): what cannot be compared for lack of room says so, with the place and the size, and ends with a code of its own.

usage: full.py LETHE
"""
import ctypes
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import DIR, ENV, ROOT, Skip, case, check, lethe, main, same  # noqa: E402

DISK = os.path.join(DIR, "disk")
STORE_THERE = DISK + "/store"
KIB = 1024


def mount():
    if not ROOT:
        raise Skip("needs root: mounts a small file system")
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs(DISK, exist_ok=True)
    same(libc.unshare(0x20000), 0)  # CLONE_NEWNS
    same(libc.mount(b"none", b"/", None, 0x44000, None), 0)  # MS_REC | MS_PRIVATE
    same(libc.mount(b"none", DISK.encode(), b"tmpfs", 0, b"size=8m"), 0)


def ask(*argv, tmp=DISK, **kw):
    return lethe(*argv, env={"LETHE_STORE": STORE_THERE, "LETHE_ANCHOR": DISK + "/anchor", "TMPDIR": tmp}, **kw)


def leave(room):
    """Fills the disk, but for so many bytes."""
    with open(DISK + "/fill", "wb", buffering=0) as f:
        try:
            while f.write(b"x" * 4096):
                pass
        except OSError:
            pass
        f.truncate(os.fstat(f.fileno()).st_size - room)


@case
def a_full_disk_is_no_damage():  # I-79
    mount()
    with open(DISK + "/schema", "w") as f:
        f.write('{"type": "string"}')
    same(ask("slot", "define", "s", "--schema", DISK + "/schema").code, 0)
    for i in range(12):
        same(ask("slot", "put", "s", "-", input=b'"%s"' % (b"%x" % i * 40000)).code, 0)
    said = set()
    for room in (0, 4 * KIB, 24 * KIB, 40 * KIB, 200 * KIB):
        leave(room)
        for verb in (["audit"], ["verify"], ["rebuild"], ["audit", "--json"], ["verify", "--json"]):
            r = ask(*verb)
            check(r.code in (0, 4) and b"damaged" not in r.err + r.out and b"not intact" not in r.out and b"does not hold" not in r.out, room, verb, r)
            if r.code == 4:
                check(b"no room" in r.err and DISK.encode() in r.err and b"KiB" in r.err, room, verb, r)
            said.add((verb[0], r.code))
        os.unlink(DISK + "/fill")
    check({(v, c) for v in ("audit", "verify", "rebuild") for c in (0, 4)} <= said | {("rebuild", 0)}, said)
    leave(0)
    same((ask("verify", tmp="/tmp").code, ask("audit", tmp="/tmp").code), (0, 0), "another folder has room")
    for _ in range(20):  # the file has pages that are free
        r = ask("slot", "put", "s", "-", input=b'"%s"' % (b"y" * 40000))
        if r.code != 0:
            break
    check(r.code == 4 and b"damaged" not in r.err, r)
    os.unlink(DISK + "/fill")
    same((ask("slot", "put", "s", '"more"').code, ask("verify").code), (0, 0))


main()
