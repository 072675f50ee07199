#!/usr/bin/python3
"""The first calls of a command meet a fault each: an error, or a stop (I-79). After each fault the command ends with a code of its own, nothing acknowledged is lost, no
fault reads as damage, and the next start makes all good. TAP.

usage: calls.py LETHE [all] [run|put|save|audit|export|begin|turn|decide ...]

all: five errors and SIGSTOP at each of the first 40 distinct calls, 2,000 runs in five minutes; else one fault at each fifth of them. Only the first process is traced: a
guard must trace the program itself. Faults of guards and workers: parts.py; stopped ones: tests/front/cli/stopped.py.
"""
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from folder import remove
from orphans import adopt, faults_of, none_left

LETHE = os.path.abspath(sys.argv[1])
ALL = "all" in sys.argv[2:]
DIR = tempfile.mkdtemp(prefix="calls-")
ENV = {"PATH": "/usr/bin:/bin", "HOME": DIR, "LETHE_STORE": DIR + "/store", "LETHE_ANCHOR": DIR + "/anchor", "LETHE_SERVE": "0"}
FIRST = 40
HANG = 10
ERRORS = ["EIO", "ENOSPC", "EMFILE", "EINTR", "EPERM"]
# Not failed: what cannot fail, what ends the process, and what the C library or libsodium end the process for.
LEAVE = {"exit_group", "execve", "brk", "arch_prctl", "set_tid_address", "set_robust_list", "rseq", "prlimit64", "munmap", "getpid", "geteuid", "getegid", "getuid", "getgid",
         "restart_syscall", "rt_sigreturn", "exit", "getrandom", "mprotect", "futex"}
COMMANDS = {
    "run": ["run", "--receipt", DIR + "/receipt", "--exec", "/bin/sh", "-c", "echo out"],
    "put": ["slot", "put", "t/n"],
    "save": ["memory", "save"],
    "audit": ["audit"],
    "export": ["export"],
    "begin": ["ccs", "begin", "--role", DIR + "/role", "--json"],
    "turn": ["ccs", "turn", "--json"],
    "decide": ["ccs", "decide", "--json"],
}
SAYS = {"turn": {"input": "What is the replica lag of db1 in Concord?", "tools": ["db1 is well"]}, "decide": {"decision": "It is 3 s.", "tools": [{"name": "lag", "output": "3 s"}]}}
CCS = ("begin", "turn", "decide")
number = 0
session = None


def argv(command):
    """Each time another value, so that what was acknowledged can be told from what was there."""
    global number
    number += 1
    if command == "put":
        return COMMANDS[command] + [str(number)], str(number)
    if command == "save":
        return COMMANDS[command] + ["knowledge_projections", json.dumps({"title": "matrix%d" % number, "text": "matrix%d" % number})], "matrix%d" % number
    if command == "export":
        shutil.rmtree(DIR + "/out", ignore_errors=True)
        return COMMANDS[command] + [DIR + "/out"], None
    if command == "turn":
        return COMMANDS[command] + [session], turn_now() + 1
    if command == "decide":
        whole_turn()
        return COMMANDS[command] + [session], turn_now()
    return COMMANDS[command], None


def turn_now():
    return json.loads(lethe("ccs", "show", session, "--json").stdout)["turn"]


def whole_turn():
    """A turn after a fault: exactly the next one."""
    want = turn_now() + 1
    r = lethe("ccs", "turn", session, "--json", says=dict(SAYS["turn"], turn=want))
    assert r.returncode == 0 and json.loads(r.stdout)["turn"] == want, "the next turn of the session: %s" % r


def given(says):
    """Standard input: of ccs alone, a file, which a stopped process cannot block."""
    if says is None:
        return subprocess.DEVNULL
    with open(DIR + "/says", "w") as f:
        json.dump(says, f)
    return open(DIR + "/says")


def lethe(*args, prefix=(), timeout=60, says=None):
    return subprocess.run([*prefix, LETHE, *args], stdin=given(says), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, timeout=timeout)


def strace_there():
    return shutil.which("strace") and subprocess.run(["strace", "-o", "/dev/null", "/bin/true"], stderr=subprocess.DEVNULL).returncode == 0


def calls(command):
    """The first distinct calls, by name and the path or text in front: [(name, its number among those of that name)]."""
    args, _ = argv(command)
    r = lethe(*args, prefix=["strace", "-qq", "-s", "200", "-o", DIR + "/trace"], says=SAYS.get(command))
    assert r.returncode == 0, (command, r.stderr)
    count, seen, found = collections.Counter(), set(), []
    for line in open(DIR + "/trace", errors="replace"):
        m = re.match(r"([a-z_0-9]+)\(", line)
        if not m:
            continue
        count[m[1]] += 1
        text = re.search(r'"([^"]*)"', line)
        what = (m[1], re.sub(r"[0-9a-f]{6,}|[0-9]+", "N", text[1]) if text else "")
        if m[1] not in LEAVE and what not in seen:
            seen.add(what)
            found.append((m[1], count[m[1]]))
    return found[:FIRST]


def stopped_child(tracer):
    try:
        with open("/proc/%d/task/%d/children" % (tracer.pid, tracer.pid)) as f:
            return [int(p) for p in f.read().split()]
    except FileNotFoundError:
        return []


def is_stopped():
    try:
        with open(DIR + "/log", errors="replace") as f:
            return "--- stopped by SIGSTOP" in f.read()
    except FileNotFoundError:  # strace has not begun
        return False


def fault(command, call, n, kind):
    """Makes the fault. Returns the exit code; 'stopped' for a command that was stopped, and then killed."""
    args, acknowledged = argv(command)
    what = "%s: %s number %d: %s" % (command, call, n, kind)
    how = "signal=SIGSTOP" if kind == "SIGSTOP" else "error=" + kind
    for old in (DIR + "/receipt", DIR + "/log"):  # what an earlier fault left says nothing of this one
        if os.path.exists(old):
            os.unlink(old)
    began = time.monotonic()
    p = subprocess.Popen(["strace", "-qq", "-o", DIR + "/log", "-e", "trace=" + call, "-e", "inject=%s:%s:when=%d" % (call, how, n), LETHE, *args], stdin=given(SAYS.get(command)),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    stopped = False
    while kind == "SIGSTOP" and p.poll() is None and not stopped and time.monotonic() < began + 60:
        stopped = is_stopped()
        time.sleep(0.002)
    if stopped:
        other = lethe("audit")  # a reader is in nobody's way, unless the record of a dead one is to be brought in
        assert other.returncode in (0, 2), "%s: meanwhile: %s" % (what, other)
        for pid in stopped_child(p):
            os.kill(pid, signal.SIGKILL)
    try:
        out, err = p.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        p.kill()
        raise AssertionError(what + ": never ends")
    took = time.monotonic() - began
    told = "%s: exit %d after %.1f s: %s" % (what, p.returncode, took, (out + err).decode(errors="replace")[-500:])
    good(command, p.returncode, out, err, told, stopped)
    if p.returncode == 0 and acknowledged:
        kept(command, acknowledged, told)
    if command in SAYS:
        goes_on(command, acknowledged, told)
    return "stopped" if stopped else p.returncode, took, what


def goes_on(command, acknowledged, told):
    """A turn or a decision is there as a whole, or not at all, and the session goes on."""
    now, one_commit = turn_now(), json.loads(lethe("ccs", "history", session, "--json").stdout)["turns"]
    assert now in ((acknowledged - 1, acknowledged) if command == "turn" else (acknowledged,)), told + ": turn %d" % now
    assert [t["turn"] for t in one_commit] == list(range(now + 1)), told + ": %s" % one_commit
    try:
        whole_turn()
    except AssertionError as e:
        raise AssertionError(told + ": " + str(e)) from None


def kept(command, acknowledged, told):
    if command == "turn":
        assert turn_now() == acknowledged, told + ": acknowledged, and lost"
        return
    if command == "decide":
        r = lethe("ccs", "decide", session, "--json", says=SAYS["decide"])
        assert r.returncode == 1 and b'"decided"' in r.stdout, told + ": acknowledged, and lost: %s" % r
        return
    r = lethe("slot", "get", "t/n") if command == "put" else lethe("memory", "search", acknowledged)
    assert acknowledged.encode() in r.stdout, told + ": acknowledged, and lost: %s" % r


def good(command, code, out, err, told, stopped):
    if stopped:
        return
    # 127 would say that the program is not there.
    # Of an audit 1 would say that something does not hold.
    codes = (0, 125, 126, 137) if command == "run" else (0, 2, 4) if command == "audit" else (0, 1, 2, 4)
    assert code in codes, told + ": no code of its own"
    assert code == 0 or err.strip(), told + ": failed without a word"
    if command == "run" and code == 0:
        assert out == b"out\n" and os.path.exists(DIR + "/receipt"), told + ": lost"
        with open(DIR + "/receipt") as f:
            assert json.load(f)["ledger"]["ended"], told


def make_good(what):
    deadline = time.monotonic() + 60
    r = lethe("run", "--quiet", "--exec", "/bin/true")
    assert r.returncode == 0, "%s: the next run: %d %s" % (what, r.returncode, r.stderr)
    none_left(what, deadline)


def command_of(command):
    """Returns why it is left out, or None."""
    if not strace_there():
        return "strace is not there or may not trace"
    codes, slow, bad, n = collections.Counter(), [], [], 0
    points = calls(command)
    every = [*ERRORS[:4], "ENOMEM" if command in CCS else ERRORS[4], "SIGSTOP"]
    for i, (call, number_) in enumerate(points):
        kinds = every if ALL else [every[i % 6]] if i % 5 == 0 else []
        for kind in kinds:
            try:
                code, took, what = fault(command, call, number_, kind)
                codes[code] += 1
                n += 1
                if took > HANG:
                    slow.append("%s: %.0f s" % (what, took))
                make_good(what)
            except (AssertionError, subprocess.TimeoutExpired) as e:
                bad.append(str(e))
    r = lethe("audit")
    if r.returncode != 0:
        bad.append("%s: audit: %s" % (command, r))
    print("# %s: %d faults at %d calls; exit codes %s; beyond %d s (printed, the machine may have other things to do): %s" % (command, n, len(points), dict(codes), HANG, slow), flush=True)
    assert not bad, "\n".join(bad)
    return None


def main():
    adopt()
    global session
    commands = [c for c in COMMANDS if c in sys.argv[2:]] or list(COMMANDS)
    print("TAP version 13\n1..%d" % len(commands), flush=True)
    with open(DIR + "/schema", "w") as f:
        f.write('{"type": "integer"}')
    lethe("slot", "define", "t/n", "--schema", DIR + "/schema")
    lethe("run", "--exec", "/bin/true")
    with open(DIR + "/role", "w") as f:
        f.write("Never restart the primary database.\n")
    session = json.loads(lethe(*COMMANDS["begin"]).stdout)["session"]
    code = faults_of(commands, command_of)
    remove(DIR)
    return code


sys.exit(main())
