"""File systems whose server (holder.c) writes down all requests and never answers some of them. What is mounted is seen by the test alone, and ends with it."""
import atexit
import os
import subprocess
import sys
import time

PROGRAMS = os.path.dirname(os.path.abspath(sys.argv[2]))  # one of them is named
HOLDER = os.path.join(PROGRAMS, "holder")
ROOT_AT_FIRST = os.geteuid() == 0 and os.path.exists(HOLDER)
HOLDERS = {}  # folder: (process, file of its lines)


def hold(name, *requests):
    """Mounts /mnt/NAME, where these requests are never answered."""
    folder = "/mnt/" + name
    os.mkdir(folder)
    lines = open("/mnt/" + name + ".log", "w+", encoding="utf-8")
    os.chmod("/mnt/" + name + ".log", 0o644)
    p = subprocess.Popen([HOLDER, folder, *requests], stdin=subprocess.PIPE, stdout=lines)
    HOLDERS[folder] = (p, lines)
    while "mounted" not in said(folder) and p.poll() is None:
        time.sleep(0.005)
    if p.poll() is not None:
        raise RuntimeError("%s cannot be mounted" % folder)
    return folder


def said(folder):
    with open(folder + ".log", encoding="utf-8") as f:
        return f.read().splitlines()


def held_by(folder):
    return [line for line in said(folder) if line.startswith("held ")]


def end_holder(folder):
    """Its server ends: the kernel answers what it held with an error."""
    HOLDERS[folder][0].stdin.close()
    HOLDERS[folder][0].wait(30)


def end_holders():
    for p, lines in HOLDERS.values():
        if not p.stdin.closed:
            p.stdin.close()
        p.wait(30)
        lines.close()


def begin():
    """Before all else. False: only root mounts a file system of its own in this test."""
    if not ROOT_AT_FIRST:
        return False
    if "HOLDING_MOUNTS" not in os.environ:
        os.environ["HOLDING_MOUNTS"] = "1"
        os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])
    atexit.register(end_holders)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/mnt"], check=True)
    return True
