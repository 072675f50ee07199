#!/usr/bin/python3
"""Each system call that `lethe run` makes fails once, one run after the other. Whatever fails: no crash, no success that is not recorded,
and the next start makes all good. TAP.

usage: faults.py LETHE
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from folder import remove
from orphans import adopt, none_left

LETHE = os.path.abspath(sys.argv[1])
DIR = tempfile.mkdtemp(prefix="fault-")
ENV = {"PATH": "/usr/bin:/bin", "HOME": DIR, "LETHE_STORE": DIR + "/store", "LETHE_ANCHOR": DIR + "/anchor"}
RECEIPT = DIR + "/receipt"
PROGRAM = ["/bin/sh", "-c", "echo out; echo x > /work/x"]
# What a call fails with: what a full disk, a full table or a lack of memory would say.
DISK = {c: "ENOSPC" for c in ("write", "pwrite64", "writev", "pwritev", "fdatasync", "fsync", "ftruncate", "rename", "renameat", "mkdirat", "unlinkat")}
# Not failed: what cannot fail, what ends the process, what only the C library's start calls before there is anyone to be told.
LEAVE = {"exit_group", "execve", "brk", "arch_prctl", "set_tid_address", "set_robust_list", "rseq", "prlimit64", "close", "munmap", "getpid",
         "geteuid", "getegid", "getuid", "getgid", "restart_syscall", "rt_sigreturn", "exit",
         "getrandom", "mprotect",  # libsodium ends the process itself when they fail
         "futex"}  # the C library ends it


def lethe(*argv, prefix=(), timeout=60):
    return subprocess.run([*prefix, LETHE, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, timeout=timeout)


def run(prefix):
    if os.path.exists(RECEIPT):
        os.unlink(RECEIPT)
    return lethe("run", "--receipt", RECEIPT, "--exec", *PROGRAM, prefix=prefix)


def calls():
    """How often the supervisor makes each call in a run that goes well."""
    n = collections.Counter()
    for _ in range(2):
        path = DIR + "/trace"
        r = run(["strace", "-o", path])
        assert r.returncode == 0, r.stderr
        now = collections.Counter(re.match(r"[a-z_0-9]+", l).group() for l in open(path, errors="replace") if re.match(r"[a-z_0-9]+\(", l))
        n |= now
    return n


def check(what, r):
    told = "%s: exit %d, %s" % (what, r.returncode, r.stderr.decode(errors="replace")[-400:])
    assert r.returncode in (0, 125, 126, 127, 137), told
    if r.returncode == 0:
        assert os.path.exists(RECEIPT), told + ": success without a receipt"
        o = json.load(open(RECEIPT))
        assert o["outcome"] == "exited" and o["exit_code"] == 0 and o["ledger"]["ended"], told + ": " + json.dumps(o)
        assert r.stdout == b"out\n", told + ": lost output %r" % r.stdout
    else:
        assert r.stderr.strip(), told + ": failed without a word"
    if r.returncode in (125, 137) and os.path.exists(RECEIPT):
        o = json.load(open(RECEIPT))
        assert o["outcome"] in (("setup_failed", "cancelled") if r.returncode == 125 else ("exited", "cancelled", "guard_lost")), told + ": ended without a true receipt: " + json.dumps(o)
        # The program had begun, and Lethe could not go on itself, or not record or pass on what became of it.
        if o["outcome"] == "exited":
            assert not o["ledger"]["ended"] or r.stdout != b"out\n", told + ": all went well: " + json.dumps(o)


def make_good(what):
    deadline = time.monotonic() + 120  # ends a hang
    r = lethe("run", "--quiet", "--exec", "/bin/true")
    assert r.returncode == 0, "%s: the next run: exit %d, %s" % (what, r.returncode, r.stderr)
    none_left(what, deadline)
    r = lethe("ps", "--json")
    assert r.stdout == b"", "%s: alive: %s" % (what, r.stdout)


def audit(what):
    r = lethe("audit")
    assert r.returncode == 0, "%s: audit: %s %s" % (what, r.stdout, r.stderr)
    ids = {json.loads(l)["region"] for l in lethe("log", "--json", "--type", "region.allocated").stdout.splitlines()}
    for place in ("memory", "pids", "cpuacct"):
        for base, dirs, _ in os.walk("/sys/fs/cgroup/" + place):
            left = [d for d in dirs if d[6:] in ids]
            assert not left, "%s: control groups %s are left" % (what, left)


def all_calls():
    n = calls()
    runs = codes = 0
    seen = collections.Counter()
    for call, count in sorted(n.items()):
        if call in LEAVE:
            continue
        for i in range(1, count + 1):
            what = "%s number %d of %d fails" % (call, i, count)
            prefix = ["strace", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=%s:error=%s:when=%d" % (call, DISK.get(call, "ENOMEM"), i)]
            r = run(prefix)
            check(what, r)
            seen[r.returncode] += 1
            make_good(what)
            runs += 1
        audit(call)
    print("# %d calls failed; exit codes %s" % (runs, dict(seen)))
    assert seen[125] > 20, "hardly anything failed: is the fault injected at all?"


def main():
    adopt()
    print("TAP version 13\n1..1", flush=True)
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "/bin/true"], stderr=subprocess.DEVNULL).returncode != 0:
        print("ok 1 - every call fails once # SKIP strace is not there or may not trace")
        return 0
    try:
        all_calls()
        print("ok 1 - every call fails once")
        return 0
    except AssertionError as e:
        print("not ok 1 - every call fails once\n# %s" % str(e).replace("\n", "\n# "))
        return 1
    finally:
        remove(DIR)


sys.exit(main())
