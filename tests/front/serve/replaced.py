#!/usr/bin/python3
"""An older copy that takes the place of a store while `lethe serve` has it open: nothing is written beside it, and the anchor is not taken back. TAP.

usage: replaced.py LETHE root|user
"""
import os
import shutil

from served import SOCKET
from tap import DIR, ENV, STORE, ask_daemon, case, check, lethe, main, same, start_daemon, stop_daemon

ENV["LETHE_SOCKET"] = SOCKET
DATA, ANCHOR, OLD = STORE + "/data.mdb", DIR + "/anchor", DIR + "/old"


def number():
    """Of the entries that the anchor has seen (C2SP tlog-checkpoint: its second line)."""
    with open(ANCHOR, encoding="utf-8") as f:
        return int(f.read().split("\n")[1])


def served_run():
    return lethe("run", "--exec", "/bin/true")


def replaced(put):
    shutil.rmtree(STORE, ignore_errors=True)
    if os.path.exists(ANCHOR):
        os.unlink(ANCHOR)
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)
    shutil.copy(DATA, OLD)
    p = start_daemon(ENV)
    try:
        for _ in range(3):
            same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)
        same(served_run().code, 0)
        before = number()
        put()
        for _ in range(3):
            r = served_run()
            same(r.code, 125, r)
        same(ask_daemon("ping")["pid"], p.pid)
    finally:
        code = stop_daemon(p)
    same(code, 0, p.said)
    check(number() >= before, number(), before)
    r = lethe("audit")
    check(r.code == 1 and b"behind its anchor" in r.err, r)
    return p.said


@case
def an_older_copy_that_is_renamed_over_it():  # I-79
    """As `rsync` does: the daemon's own file has no name any more, and what it wrote there would be lost with it."""
    said = replaced(lambda: os.rename(OLD, DATA))
    check("another file was put in the place of data.mdb" in said, said)


main()
