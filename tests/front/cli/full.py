#!/usr/bin/python3
"""A full disk is never called damage (I-79): what cannot be compared for lack of room says so, with the place and the size, and ends with a code of its own.

usage: full.py LETHE
"""
import ctypes
import fcntl
import os
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import DIR, ENV, ROOT, STORE, Skip, case, check, lethe, main, same  # noqa: E402

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
    for verb in (["export", DISK + "/exported"], ["prove", "0", "-o", DISK + "/proof"], ["compact"]):
        r = ask(*verb)
        check(r.code == 4 and b"No space left" in r.err, verb, r)
    same((ask("verify", tmp="/tmp").code, ask("audit", tmp="/tmp").code), (0, 0), "another folder has room")
    for _ in range(20):  # the file has pages that are free
        r = ask("slot", "put", "s", "-", input=b'"%s"' % (b"y" * 40000))
        if r.code != 0:
            break
    check(r.code == 4 and b"damaged" not in r.err, r)
    os.unlink(DISK + "/fill")
    same((ask("slot", "put", "s", '"more"').code, ask("verify").code), (0, 0))


@case
def a_store_that_cannot_be_looked_at_is_no_damage():  # I-79, I-99
    """No descriptor, or somebody who has the store for itself: whatever was asked about it has no answer."""
    with open(DIR + "/schema", "w") as f:
        f.write('{"type": "integer"}')
    same(lethe("slot", "define", "n", "--schema", DIR + "/schema").code, 0)
    asked = (["audit"], ["audit", "--json"], ["audit", "regions"], ["audit", "touched", "n", "--json"], ["verify", "--json"])
    codes = set()
    for verb in asked:
        for n in range(3, 12):
            r = lethe(*verb, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
            check(r.code in (0, 2) and b"false" not in r.out and b"intact" not in r.out * r.code and (r.code == 0 or r.err != b""), n, verb, r)
            codes.add((verb[0], r.code))
    same(codes, {(v, c) for v in ("audit", "verify") for c in (0, 2)})
    own = DIR + "/own"  # its anchor is the one that Lethe keeps by itself: it is not made anew when it cannot be read
    same(lethe("slot", "define", "n", "--schema", DIR + "/schema", "--store", own).code, 0)
    for n in range(3, 12):
        r = lethe("slot", "put", "n", str(n), "--store", own, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        check(b"it is not used" not in r.err, n, r)
    with open(STORE + "/lock.mdb", "r+b") as f:
        fcntl.lockf(f, fcntl.LOCK_EX, 1)
        for verb in asked:
            r = lethe(*verb)
            same(r.code, 2, verb, r)
            check(b"false" not in r.out and b"intact" not in r.out and b"process %d holds lock.mdb" % os.getpid() in r.err, verb, r)
            check(b"waiting for process %d, which holds lock.mdb" % os.getpid() in r.err, verb, r)


@case
def a_gate_of_another_boot_is_had_on_a_full_disk():  # I-79
    """Without it others would wait for a stopped writer without a word. Its block is used again."""
    mount()
    gate = STORE_THERE + "/run/gate"
    with open(DISK + "/schema", "w") as f:
        f.write('{"type": "string"}')
    same(ask("slot", "define", "s", "--schema", DISK + "/schema").code, 0)
    with open(gate, "rb") as f:
        page = f.read()
    with open(gate, "r+b") as f:
        f.write(page[:8] + b"0" * 36 + page[44:72] + b"\xff" * 40)
    leave(0)
    check(ask("slot", "put", "s", '"a"').code in (0, 4))
    with open(gate, "rb") as f:
        same(f.read()[:72], page[:72])
    os.unlink(DISK + "/fill")
    same((ask("slot", "put", "s", '"b"').code, ask("verify").code), (0, 0))


main()
