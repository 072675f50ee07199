#!/usr/bin/python3
"""The first calls of a guard and of a worker meet a fault each (I-79): EIO, ENOSPC, EMFILE, EINTR, EPERM. After each fault `lethe run` ends with a code of its own within ten
seconds, it never says `cleared` of memory that was not overwritten, what was acknowledged is in the ledger, and the next start makes all good. TAP.

usage: parts.py LETHE INJECT [all] [lethe-guard|lethe-worker]

INJECT (inject.c) traces the guard or the worker itself, which no strace can be started for. all: five errors at each of the first 40 distinct calls; else one of them at
each. As root: the program (INJECT, too) holds a text in all that a region holds; is it there when the guard gives it up?
"""
import collections
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from folder import remove
from orphans import adopt, faults_of, none_left

LETHE, INJECT = (os.path.abspath(p) for p in sys.argv[1:3])
ALL = "all" in sys.argv[3:]
ONLY = os.environ.get("LETHE_CASES")  # tests/hostile/mutations.py
PARTS = [p for p in ("lethe-guard", "lethe-worker") if p in sys.argv[3:] or (ONLY and "faults of " + p in ONLY.split(","))] or ["lethe-guard", "lethe-worker"]
DIR = tempfile.mkdtemp(prefix="parts-")
ENV = {"PATH": "/usr/bin:/bin", "HOME": DIR, "LETHE_STORE": DIR + "/store", "LETHE_ANCHOR": DIR + "/anchor", "LETHE_SERVE": "0"}
TEXT = "Jr jvyy or birejevggra, nyy bs hf"
FIRST, HANG = 40, 10
SEES = os.geteuid() == 0  # nobody else may look into a guard, or at its files
ERRORS = ["EIO", "ENOSPC", "EMFILE", "EINTR", "EPERM"]


def build(part):
    """A folder as the build's, in which INJECT stands for one part."""
    folder = os.path.join(DIR, "bin-" + part)
    for path in (DIR, os.path.dirname(DIR)):  # a region of root's is another user
        if os.stat(path).st_uid == os.geteuid() and path != "/tmp":
            os.chmod(path, 0o711)
    os.makedirs(folder + "/real")
    for name in ("lethe", "lethe-guard", "lethe-worker"):
        shutil.copy(os.path.join(os.path.dirname(LETHE), name), folder + "/real" if name == part else folder)
    shutil.copy(INJECT, os.path.join(folder, part))
    os.symlink(os.path.join(os.path.dirname(LETHE), "shim-root"), folder + "/shim-root")
    return folder


class Run:
    """`lethe run` with a fault at one call; call 0: none."""
    def __init__(self, folder, part, call, name):
        self.what = "%s: call %d: %s" % (part, call, name)
        log, sock, receipt = DIR + "/log", folder + "/inject.sock", DIR + "/receipt"
        for path in (log, sock, receipt):
            if os.path.exists(path):
                os.unlink(path)
        inject = subprocess.Popen([INJECT, sock, part, str(call), str(getattr(errno, name, 0)), TEXT, log], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert inject.stdout.readline() == b"ready\n", self.what
        os.chmod(sock, 0o666)
        began = time.monotonic()
        try:
            r = subprocess.run([folder + "/lethe", "run", "--receipt", receipt, "--exec", INJECT, "keep", TEXT], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=ENV, timeout=120)
        except subprocess.TimeoutExpired:
            inject.kill()
            raise AssertionError(self.what + ": never ends") from None
        self.took = time.monotonic() - began
        inject.stdin.close()
        inject.stdout.close()
        inject.wait(60)
        self.code, self.out, self.err = r.returncode, r.stdout, r.stderr
        with open(log) as f:
            self.log = [line.split() for line in f]
        self.receipt = None
        if os.path.exists(receipt):
            with open(receipt) as f:
                self.receipt = json.load(f)
        self.told = "%s (%s): exit %d after %.1f s: %s; receipt %s" % (self.what, self.call(call), self.code, self.took, self.err.decode(errors="replace")[-500:],
                                                                    json.dumps(self.receipt))

    def call(self, n):
        return " ".join(next((line[2:] for line in self.log if line[:2] == ["call", str(n)]), ["not reached"]))

    def lines(self, head):
        return [line[1:] for line in self.log if line[0] == head]

    def outcome(self):
        return self.receipt and self.receipt["outcome"]

    def grade(self):
        return (self.receipt or {}).get("teardown", {}).get("grade", "none")


def is_overwritten(run):
    """All that held the text was seen without it when it was given up. A program that never came so far held it nowhere."""
    last = {}
    for kind in ("memory", "file"):
        for which, how in run.lines(kind):
            last[kind + which] = how
    held = [kind + w[0] for w in run.lines("held") for kind in (["file"] if ":" in w[0] else ["memory"])]
    seen = not run.out or (len([k for k in last if k[0] == "m"]) >= 2 and any(k[0] == "f" for k in last))
    return seen and all(how == "clean" for how in last.values()) and all(h in last for h in held)


def check(run, part):
    codes = {"lethe-guard": (0, 125, 137), "lethe-worker": (0, 125, 126, 127, 137)}[part]
    assert run.code in codes, run.told + ": no code of its own"
    assert b"does not answer" not in run.err, run.told + ": it was waited for until the end of a wait"
    assert run.code == 0 or run.err.strip(), run.told + ": failed without a word"
    if run.code == 0:
        assert run.out == b"kept\n" and run.outcome() == "exited" and run.receipt["ledger"]["ended"], run.told + ": lost"
    elif run.code == 125:
        assert run.outcome() in (None, "setup_failed", "cancelled"), run.told
    elif run.code == 137:
        assert run.outcome() in ("guard_lost", "signaled", "cancelled"), run.told
    if SEES and part == "lethe-guard" and run.grade().startswith("cleared"):
        assert is_overwritten(run), "%s: it says %s: %s" % (run.told, run.grade(), run.log)


def make_good(what):
    deadline = time.monotonic() + 60
    r = subprocess.run([LETHE, "run", "--quiet", "--exec", "/bin/true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, timeout=60)
    assert (r.returncode, r.stderr) == (0, b""), "%s: the next run: %d %s" % (what, r.returncode, r.stderr)
    none_left(what, deadline)


def part_of(part):
    folder = build(part)
    whole = Run(folder, part, 0, "no fault")
    assert whole.code == 0 and whole.lines("call"), whole.told + " %s" % whole.log
    if SEES and part == "lethe-guard":
        assert whole.grade() == "cleared" and is_overwritten(whole), "%s: %s" % (whole.told, whole.log)
        held = {":" in line[0] for line in whole.lines("held")}
        assert held == {True, False}, "%s: memory and file were not seen to hold the text: %s" % (whole.told, whole.log)
    n = min(FIRST, len(whole.lines("call")))
    codes, grades, bad, faults, slow = collections.Counter(), collections.Counter(), [], 0, []
    for call in range(1, n + 1):
        for name in ERRORS if ALL else [ERRORS[call % len(ERRORS)]]:
            try:
                run = Run(folder, part, call, name)
                faults += len(run.lines("fault"))
                codes[run.code] += 1
                grades[run.grade()] += 1
                if run.took > HANG:
                    slow.append("%s: %.0f s" % (run.told, run.took))
                check(run, part)
                make_good(run.told)
            except (AssertionError, subprocess.TimeoutExpired) as e:
                bad.append(str(e))
    r = subprocess.run([LETHE, "audit"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENV, timeout=60)
    if r.returncode != 0:
        bad.append("%s: audit: %s" % (part, r))
    print("# %s: %d faults at %d of its calls; exit codes %s; grades %s; beyond %d s: %s" % (part, faults, n, dict(codes), dict(grades), HANG, slow), flush=True)
    assert not bad, "\n".join(bad)


def main():
    adopt()
    print("TAP version 13\n1..%d" % len(PARTS), flush=True)
    code = faults_of(PARTS, part_of)
    remove(DIR)
    return code


sys.exit(main())
