#!/usr/bin/python3
"""`lethe serve` and mounts that come and go below what regions are shown: what stands ready never shows what was. TAP.

usage: mounts.py LETHE
"""
import contextlib
import json
import os
import subprocess

from served import SOCKET, Daemon
from tap import DIR, ENV, Skip, case, lethe, main, same

POLICY, SHOWN = (os.path.join(DIR, x) for x in ("policy.json", "shown here"))
ENV |= {"LETHE_SOCKET": SOCKET, "LETHE_SERVE": "1", "LETHE_POLICY": POLICY}
SUB = os.path.join(SHOWN, "sub")
os.makedirs(SUB)


@contextlib.contextmanager
def daemon(**more):
    if os.getuid() != 0:
        raise Skip("needs root to mount")
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, **more}, f)
    with Daemon():
        try:
            yield
        finally:
            if os.path.ismount(SUB):
                subprocess.run(["umount", SUB], check=True)


def mount(text):
    subprocess.run(["mount", "-t", "tmpfs", "none", SUB], check=True)
    with open(os.path.join(SUB, "file"), "w", encoding="utf-8") as f:
        f.write(text)


def look():
    r = lethe("run", "-v", SHOWN + ":/data", "--exec", "/bin/sh", "-c", "cat /data/sub/file 2>/dev/null || echo none")
    same(r.code, 0, r)
    return r.out.decode().strip()


def comes_and_goes():
    for _ in range(4):
        same(look(), "none")
    mount("one")
    for _ in range(4):
        same(look(), "one")
    subprocess.run(["umount", SUB], check=True)
    same(look(), "none", "what was unmounted is not to be seen by the next region")
    mount("two")
    same(look(), "two", "what was mounted is")
    subprocess.run(["umount", SUB], check=True)
    same(look(), "none")


@case
def a_root_that_stands_ready_shows_what_is_mounted_now():  # I-3
    with daemon():
        comes_and_goes()


@case
def what_waits_in_a_pool_shows_what_is_mounted_now():  # I-3
    with daemon(pool={"skills": {"*": 2}}):
        comes_and_goes()


main()
