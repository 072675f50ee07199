#!/usr/bin/python3
"""Limits that are somebody else's: a control group around Lethe that has no memory or no tasks left is no breach of a region's budget, and whatever it does to
a region is named as that (I-63, I-66). TAP.

usage: outside.py LETHE
"""
import contextlib
import errno
import json
import os
import subprocess

from tap import DIR, ENV, LETHE, ROOT, Skip, ask_daemon, case, check, lethe, log, main, same, start_daemon, stop_daemon, wait_for

PY = "/usr/bin/python3"
V1 = "/sys/fs/cgroup/%s"
HOG = "x = bytearray(200 << 20); input()"


def own_group(controller):
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        for line in f:
            _, names, path = line.rstrip("\n").split(":", 2)
            if controller in names.split(","):
                return (V1 % controller) + path.rstrip("/")
    raise Skip("this kernel has no %s control group of version 1" % controller)


_living = []


def is_removed(path):
    try:
        os.rmdir(path)
    except OSError as e:
        same(e.errno, errno.EBUSY)
        return False
    return True


@contextlib.contextmanager
def group(controller, limit_file, limit):
    """A group of ours with this limit; what is started by its word has it around itself."""
    if not ROOT:
        raise Skip("needs root: makes control groups of version 1")
    path = "%s/lethe-outer-%d" % (own_group(controller), os.getpid())
    os.mkdir(path)
    try:
        with open("%s/%s" % (path, limit_file), "w", encoding="utf-8") as f:
            f.write(str(limit))
        yield ["/bin/sh", "-c", 'echo $$ >%s/cgroup.procs && exec "$@"' % path, "sh"]
    finally:
        for region in _living:  # after a case that failed
            region.p.terminate()
            region.p.communicate()
        _living.clear()
        wait_for(lambda: is_removed(path), "the end of a daemon's children")  # they end by themselves, after it


class Region:
    """lethe run within a group: its program has said a line, and waits for one."""

    def __init__(self, inside, name, *argv):
        self.receipt = os.path.join(DIR, name + ".json")
        _living.append(self)
        self.p = subprocess.Popen([*inside, LETHE, "run", "--receipt", self.receipt, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)

    def said(self, line):
        same(self.p.stdout.readline(), line)
        return self

    def end(self, word=b"\n"):
        out, err = self.p.communicate(word)
        _living.remove(self)
        with open(self.receipt, encoding="utf-8") as f:
            r = json.load(f)
        return self.p.returncode, r, out, err


def innocent(inside, name="innocent"):
    return Region(inside, name, "--memory", "32m", "--exec", "/bin/sh", "-c", "echo here; read x; exit 7").said(b"here\n")


def is_innocent(region):
    code, r, _, err = region.end()
    same((code, r["outcome"], r["limiting_resource"], r["denials"]), (7, "exited", None, []), r, err)
    check("used" not in r and "cause" not in r, r)
    same([e["type"] for e in log("--region", r["region"]) if e["type"] in ("region.faulted", "region.denied")], [])


@case
def memory_that_is_short_around_it_is_no_breach():  # I-63, I-66
    with group("memory", "memory.limit_in_bytes", 64 << 20) as inside:
        other = innocent(inside)
        code, r, _, err = Region(inside, "hog", "--memory", "512m", "--exec", PY, "-c", HOG).end()
        same((code, r["outcome"], r["signal"], r["limiting_resource"], r.get("cause")), (137, "signaled", 9, None, "outside"), r, err)
        check("used" not in r and r["usage"]["peak_memory_bytes"] <= 64 << 20, r)
        check("control group above" in r["reason"], r)
        why = json.loads(lethe("why", "--json", r["region"]).out)
        same((why["outcome"], why["cause"], why["limit"]), ("signaled", "outside", None), why)
        is_innocent(other)


@case
def memory_of_its_own_budget_is_one_within_a_group_too():  # I-24: the control
    with group("memory", "memory.limit_in_bytes", 128 << 20) as inside:
        other = innocent(inside)
        code, r, _, err = Region(inside, "own", "--memory", "32m", "--exec", PY, "-c", HOG).end()
        same((code, r["outcome"], r["limiting_resource"], r["limit"]), (137, "out_of_region", "memory", 32 << 20), r, err)
        check(0 < r["used"] <= r["limit"] and r["refused"] > 0 and "cause" not in r, r)  # a group never holds more: nothing else can be measured
        check("used" in r["reason"] and "more was refused" in r["reason"], r)
        is_innocent(other)


@case
def a_daemon_outlives_memory_that_is_short_around_it():
    """The memory is in files, which are of no process: by size alone the kernel would take the daemon, which is larger than any process of the region."""
    fill = "head -c 200M /dev/zero >/tmp/x; exit 5"
    with group("memory", "memory.limit_in_bytes", 96 << 20) as inside:
        ENV["LETHE_SOCKET"] = os.path.join(DIR, "within")
        d = start_daemon(ENV, wrap=inside)
        try:
            other = innocent([])
            hog = Region([], "files", "--memory", "512m", "--scratch", "300m", "--file-size", "300m", "--exec", "/bin/sh", "-c", fill).end()
            # One process after the other is taken, until one is the program. Files stay until the teardown: the innocent may be taken, too, and is not the cause.
            for exits, (code, r, _, err) in ((5, hog), (7, other.end())):
                check((code, r["outcome"], r.get("cause")) in ((exits, "exited", None), (137, "signaled", "outside")), code, r, err)
                check("used" not in r and r["limiting_resource"] is None, r)
                same([e["type"] for e in log("--region", r["region"]) if e["type"] in ("region.faulted", "region.denied")], [])
            same(ask_daemon("status")["served"], 2)
        finally:
            same(stop_daemon(d), 0)
            del ENV["LETHE_SOCKET"]


@case
def tasks_that_are_short_around_it_are_no_breach():  # I-63
    forks = ("import os, sys\nn = 0\nsys.stdin.readline()\nfor i in range(40):\n  try:\n    if os.fork() == 0: sys.stdin.read(); os._exit(0)\n    n += 1\n"
             "  except BlockingIOError: pass\nprint(n)")
    with group("pids", "pids.max", 24) as inside:
        code, r, out, err = Region(inside, "tasks", "--pids-limit", "64", "--exec", PY, "-c", forks).end()
        same((code, r["outcome"], r["limiting_resource"]), (0, "exited", None), r, err)
        check(int(out) < 24, out)
        rows = [(d["rule"], d["operation"], d["count"]) for d in r["denials"]]
        same(rows, [("outside", "clone", 40 - int(out))], r)
    with group("pids", "pids.max", 200) as inside:  # the control: a limit of its own
        code, r, _, err = Region(inside, "tasks", "--pids-limit", "10", "--exec", PY, "-c", forks).end()
        same((code, r["outcome"], r["limiting_resource"], r["limit"]), (137, "pids_exceeded", "processes", 10), r, err)
        check(r.get("asked", 0) > r["limit"] or (r["used"] <= 10 and r["refused"] > 0), r)
        check(not [d for d in r["denials"] if d["rule"] == "outside"], r)


main()
