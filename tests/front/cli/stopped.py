#!/usr/bin/python3
"""A process that stops or dies anywhere holds up others for a bounded time (I-79): they are told who it is, end on SIGTERM, and go on when it is gone.

usage: stopped.py LETHE root|user [all]   all: a writer stops at each of its calls, not at a few of them; strace stops it
"""
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ROOT, STORE, Skip, alone, case, case_when, check, lethe, main, processes_below, run, same, start_daemon, state_of, wait_for  # noqa: E402

ALL = "all" in sys.argv[3:]
TRACE = os.path.join(DIR, "trace")
# Calls of a writer inside its transaction, each with the words that it is to stop at: before LMDB's pages, at their flush, at the page that makes them count.
FEW = {"put": [("fdatasync", 1), ("pwritev", 1), ("pwrite64", -1)], "run": [("pwritev2", 1), ("fdatasync", 1)]}
VALUE = [0]


def start(*argv, **kw):
    p = subprocess.Popen([LETHE, *argv], env=dict(ENV, LETHE_SERVE=kw.pop("serve", "0")), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    p.said = b""

    def drain():
        while chunk := os.read(p.stderr.fileno(), 4096):
            p.said += chunk
    p.drain = threading.Thread(target=drain, daemon=True)
    p.drain.start()
    return p


def end(p, bound=60, whole=True):
    """The process ends by itself, or the case fails. Returns its exit code and output; not whole: a stopped daemon has a copy of its standard error."""
    code = p.wait(bound)
    if whole:
        p.drain.join(bound)
    return code, p.said.decode()


def until_said(p, words):
    wait_for(lambda: words.encode() in p.said or p.poll() is not None, "%r of %s" % (words, p.args))
    check(words.encode() in p.said, words, p.said, p.poll())


def trace_needed():
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "/bin/true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("strace is not there or may not trace")


def next_value():
    VALUE[0] += 1
    return str(VALUE[0])


def writer(kind):
    return ["slot", "put", "t/n", next_value()] if kind == "put" else ["run", "--no-serve", "--exec", "/bin/true"]


def calls(kind):
    """Each call of a writer while it has the gate, and how many of the same name came before it."""
    count, found, inside = {}, [], False
    r = subprocess.run(["strace", "-qq", "-o", TRACE, LETHE, *writer(kind)], env=dict(ENV, LETHE_SERVE="0"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    same(r.returncode, 0, kind)
    for line in open(TRACE, errors="replace"):
        m = re.match(r"([a-z_0-9]+)\(", line)
        if not m:
            continue
        count[m[1]] = count.get(m[1], 0) + 1
        inside |= "run/gate" in line
        if inside and m[1] not in ("exit", "exit_group", "execve", "rt_sigreturn", "munmap", "close"):
            found.append((m[1], count[m[1]]))
    if ALL:
        return found
    return [(name, n if n > 0 else count[name] + 1 + n) for name, n in FEW[kind] if name in count]


class Stopped:
    """A writer that stands at this call of its own; main: only the first process is traced."""
    def __init__(self, kind, call, n, exe=LETHE):
        self.path = TRACE + ".stop"
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.tracer = subprocess.Popen(["strace", "-q", "-o", self.path, "-e", "trace=" + call, "-e", "inject=%s:signal=SIGSTOP:when=%d" % (call, n), exe, *writer(kind)],
                                       env=dict(ENV, LETHE_SERVE="0"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: self.tracer.poll() is not None or self.stands(), "%s number %d of %s" % (call, n, kind))
        below = [pid for pid, name in processes_below(self.tracer.pid) if name == os.path.basename(exe)]
        self.pid = below[0] if below and self.tracer.poll() is None else None

    def stands(self):
        try:
            with open(self.path, errors="replace") as f:
                return "--- stopped by SIGSTOP" in f.read()
        except FileNotFoundError:
            return False

    def kill(self):
        """Also waits for the processes below the writer: its guard ends the region and writes evidence into the store after the writer is dead."""
        if self.pid:
            below = [pid for pid, _ in processes_below(self.pid)]
            os.kill(self.pid, signal.SIGKILL)
            self.pid = None
            wait_for(lambda: all(state_of(pid) == "Z" for pid in below), "the end of the processes below the writer: %s" % below)
        self.tracer.wait(60)


def reached(kind, call, n):
    """Where somebody serves a file system, `lethe run` does its work in a process below the one that is traced (cli/front.h)."""
    w = Stopped(kind, call, n)
    if w.pid:
        return w
    w.tracer.wait(60)
    raise Skip("%s of %s is made by another process" % (call, kind))


def one(kind, call, n):
    what = "%s stops at %s number %d" % (kind, call, n)
    w = Stopped(kind, call, n) if ALL else reached(kind, call, n)
    if w.pid is None:
        return "not reached"
    try:
        return others_of(w, kind, what)
    finally:
        w.kill()


def others_of(w, kind, what):
    others = [start("slot", "put", "t/other", next_value()), start("run", "--exec", "/bin/true")]
    waits = start("slot", "put", "t/n", next_value())
    last = str(VALUE[0])
    held = 0
    for p, code in zip(others, (-signal.SIGTERM, 128 + signal.SIGTERM)):
        wait_for(lambda: b"waiting for process" in p.said or p.poll() is not None, what + ": another one is told, or goes on")
        if p.poll() is not None:  # it has nothing that others need any more
            same(end(p)[0], 0, what, p.said)
            continue
        held += 1
        writes = ("waiting for process %d (lethe %s" % (w.pid, kind if kind == "run" else "slot put")).encode() in p.said and b"and is stopped" in p.said
        check(writes or b"waiting for process %d, which finishes what a dead supervisor left" % w.pid in p.said, what, p.said)
        p.terminate()
        same(end(p)[0], code, what, p.said)
    wait_for(lambda: b"waiting for process %d" % w.pid in waits.said or waits.poll() is not None, what + ": the last one is told, or goes on")
    w.kill()
    code, said = end(waits)
    same(code, 0, what, said)
    r = lethe("slot", "get", "t/n", "--json")
    check(last in r.out.decode(), what, "acknowledged and lost", r)
    return "held" if held else "went on"


def stops(kind):
    trace_needed()
    points = calls(kind)
    if len(points) < 2:
        raise Skip("the calls of %s are made by another process" % kind)
    seen = {}
    for call, n in points:
        how = one(kind, call, n)
        seen[how] = seen.get(how, 0) + 1
        if not ALL:
            print("# %s number %d: %s" % (call, n, how), flush=True)
    print("# %s: %s" % (kind, seen), flush=True)
    check(seen.get("held"), "none held others up: is it stopped at all?", seen)
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0, "what is left is recovered")
    r = lethe("audit")
    same(r.code, 0, r)
    same(lethe("verify").code, 0)


@case
def slots_of_the_test():
    with open(DIR + "/schema", "w") as f:
        f.write('{"type": "integer"}')
    for name in ("t/n", "t/other"):
        same(lethe("slot", "define", name, "--schema", DIR + "/schema").code, 0, name)
    same(run("--exec", "/bin/true").code, 0)


@case
def a_writer_that_is_stopped_is_named_and_outlived():  # I-79
    stops("put")


@case
def a_run_that_is_stopped_while_it_writes_is_named_and_outlived():  # I-79
    stops("run")


def daemon():
    env = dict(ENV, LETHE_SOCKET=DIR + "/stopped-socket")
    ENV["LETHE_SOCKET"] = env["LETHE_SOCKET"]
    return start_daemon(env)


@case
def a_writer_that_was_called_by_another_name_is_seen():  # I-79
    """Its process has the name of the link, and is stopped all the same."""
    trace_needed()
    link = DIR + "/other-name"
    os.symlink(LETHE, link)
    w = Stopped("put", "pwrite64", 1, link)
    try:
        p = start("slot", "put", "t/other", next_value())
        until_said(p, "waiting for process %d (lethe slot put), which has been writing since" % w.pid)
        check(b"and is stopped" in p.said, p.said)
    finally:
        w.kill()
    code, said = end(p)
    same(code, 0, said)


@case_when(ROOT)
def a_gate_that_root_makes_is_its_owners():  # I-79
    """After a power cut root looks at the store of somebody else first, and brings in what was left; whose store it is can use the gate afterwards."""
    trace_needed()
    w = reached("run", "pwritev2", 1)
    w.kill()
    theirs = DIR + "/theirs"
    shutil.copytree(STORE, theirs)
    os.unlink(theirs + "/run/gate")
    for base, folders, files in os.walk(theirs):
        for path in [base, *(os.path.join(base, f) for f in folders + files)]:
            os.chown(path, 4321, 4321)
    r = lethe("audit", "--store", theirs)
    st = os.stat(theirs + "/run/gate")
    same((st.st_uid, st.st_gid, st.st_mode & 0o7777), (4321, 4321, 0o600), r)
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)


@case
def a_daemon_that_waits_at_its_start_ends_on_sigterm():  # I-79
    """It has its signals blocked from the beginning. A region of a dead supervisor is to be recovered, and another process writes."""
    trace_needed()
    w = reached("run", "pwritev2", 1)
    w.kill()
    w = reached("put", "pwrite64", 1)
    try:
        d = start("serve", "--socket", DIR + "/at-start")
        until_said(d, "waiting for process %d (lethe slot put" % w.pid)
        d.terminate()
        code, said = end(d)
        same(code, 125, said)
        check("a signal ended the wait for process %d" % w.pid in said, said)
    finally:
        w.kill()
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)


@case
def a_daemon_that_stands_in_its_start_is_named():  # I-79
    path = DIR + "/two-start"
    with open(path + ".lock", "w") as f:
        f.write("%d\n" % os.getpid())
        f.flush()
        fcntl.flock(f, fcntl.LOCK_EX)
        d = start("serve", "--socket", path)
        until_said(d, "waiting for process %d, which is about to serve there" % os.getpid())
        d.terminate()
        code, said = end(d)
        same(code, 125, said)


@case
def a_record_of_a_dead_writer_that_was_damaged_is_told_of():  # I-79
    """A record that was written ahead, and is not in the tables, is brought in, or its damage is said; never dropped without a word. A sector that was never written is no damage: nobody
    was told of that commit."""
    trace_needed()
    flips = [(8 * at + at % 8, "damaged") for at in (3, 14, 20, 30, 50, 90, 120, 140, 150, 200, 512, 700)]  # magic to sums, rows
    for at, how in [(None, ""), *flips, ("first", "torn"), ("last", "torn"), ("version 1", ""), ("version 1, flipped", "does not hold together")]:
        with open(STORE + "/redo", "rb") as f:
            old = f.read()
        w = reached("run", "pwritev2", 1)
        w.kill()
        w.tracer.wait(60)
        with open(STORE + "/redo", "r+b") as f:
            new = f.read()
            sectors = [i for i in range(512, len(new), 512) if new[i:i + 512] != old[i:i + 512]]
            if isinstance(at, int):
                os.pwrite(f.fileno(), bytes([new[at // 8] ^ 1 << at % 8]), at // 8)
            elif at and at.startswith("version 1"):  # as an older lethe writes it: without sums
                rows = new[512:512 + int.from_bytes(new[32:40], "big")]
                head = new[:8] + (1).to_bytes(8, "big") + new[16:104]
                os.pwrite(f.fileno(), head + hashlib.blake2b(head + rows, digest_size=32).digest() + rows[:-1] + bytes([rows[-1] ^ ("flipped" in at)]), 0)
            elif at:
                i = sectors[0 if at == "first" else -1]
                os.pwrite(f.fileno(), old[i:i + 512], i)
        r = lethe("audit")
        same((b"damaged after" in r.err, b"torn while it was written; the commit was never" in r.err, b"does not hold together" in r.err), (how == "damaged", how == "torn", how[:4] == "does"), at, r)
        same(r.code, 0 if how else 1, "a region that was begun", at, r)
        same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)
        r = lethe("audit")
        same((r.code, r.err), (0, b""), at, r)


@case
def a_daemon_that_is_stopped_is_named_and_outlived():  # I-79
    """A command that waits for the daemon's answer ends on SIGTERM. A run that the daemon never took is done without it when it is killed."""
    d = daemon()
    same(lethe("run", "--exec", "/bin/true").code, 0)
    d.send_signal(signal.SIGSTOP)
    wait_for(lambda: state_of(d.pid) == "T", "the stop")
    a, b = (start("run", "--exec", "/bin/echo", x, serve="1") for x in ("a", "b"))
    for p in (a, b):
        until_said(p, "(process %d, which is stopped) does not answer" % d.pid)
    a.terminate()
    code, said = end(a, whole=False)
    same(code, 128 + signal.SIGTERM, said)
    d.kill()
    code, said = end(b)
    same((code, b.stdout.read()), (0, b"b\n"), said)
    d.wait(60)
    d.drain.join(10)
    d.stderr.close()
    r = lethe("audit")
    same(r.code, 0, r)


@case
def a_daemon_that_is_stopped_and_goes_on_takes_back_what_was_ended():  # I-79
    d = daemon()
    regions = len(lethe("log", "--json", "--type", "region.allocated").out.splitlines())
    d.send_signal(signal.SIGSTOP)
    wait_for(lambda: state_of(d.pid) == "T", "the stop")
    p = start("run", "--exec", "/bin/sleep", "1000", serve="1")
    until_said(p, "does not answer")
    p.terminate()
    same(end(p, whole=False)[0], 128 + signal.SIGTERM)
    d.send_signal(signal.SIGCONT)
    same(lethe("run", "--exec", "/bin/true").code, 0)
    d.terminate()
    same(d.wait(60), 0)
    d.drain.join(10)
    d.stderr.close()
    check(len(lethe("log", "--json", "--type", "region.allocated").out.splitlines()) <= regions + 2)
    same((lethe("ps", "--json").out, lethe("audit").code), (b"", 0))


def helper_stopped(name, outcome, code):
    p = start("run", "--timeout", "10m", "--receipt", DIR + "/stopped.json", "--exec", "/bin/sleep", "600")
    wait_for(lambda: p.poll() is not None or [n for _, n in processes_below(p.pid)].count("sleep") > 0, "the program")
    pid = [x for x, n in processes_below(p.pid) if n == name][0]
    os.kill(pid, signal.SIGSTOP)
    until_said(p, "waiting for process %d (%s), which is stopped" % (pid, name))
    got, said = end(p)
    same(got, code, said)
    with open(DIR + "/stopped.json") as f:
        same(json.load(f)["outcome"], outcome, said)
    r = lethe("audit")
    same(r.code, 0, r)


@case
def a_guard_that_is_stopped_is_named_and_killed():  # I-79
    helper_stopped("lethe-guard", "guard_lost", 137)


@case
def a_worker_that_is_stopped_is_named_and_killed():  # I-79
    helper_stopped("lethe-worker", "signaled", 137)


def guard_sleeps_alone(pid):
    """Of the region nobody lives but its guard, which has done its work."""
    states = sorted((name == "lethe-guard", state_of(child)) for child, name in processes_below(pid))
    return states[-1:] == [(True, "S")] and all(s == (False, "Z") for s in states[:-1])


@case
def a_process_that_just_opens_the_store_keeps_its_file():  # M-56, I-79
    """LMDB takes the number of the last commit from the lock file. An opener that waited in LMDB for a compaction had the old number and the new file: an older state of it."""
    trace_needed()
    stop = [LETHE, "slot", "put", "t/n", next_value()]
    env = dict(ENV, LETHE_SERVE="0")
    same(subprocess.run(["strace", "-qq", "-o", TRACE, "-e", "trace=flock", *stop], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False).returncode, 0)
    with open(TRACE, encoding="utf-8") as f:
        begins = next(i for i, line in enumerate(f, 1) if "LOCK_SH" in line)  # LMDB's open comes next
    p = subprocess.Popen(["strace", "-q", "-o", TRACE, "-e", "trace=flock", "-e", "inject=flock:signal=SIGSTOP:when=%d" % begins, *stop], env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def stands():
        with open(TRACE, errors="replace") as f:
            return "--- stopped by SIGSTOP" in f.read()
    try:
        wait_for(lambda: p.poll() is not None or stands(), "the opener")
        opener = [pid for pid, name in processes_below(p.pid) if name == "lethe"][0]
        try:
            r = lethe("compact")
            check(r.code == 1 and b"another process has it open: try again" in r.err, r)
        finally:
            os.kill(opener, signal.SIGCONT)
        same(p.wait(60), 0, p.stderr.read())
    finally:
        if p.poll() is None:
            p.kill()
            p.wait()
        p.stderr.close()
    same(lethe("slot", "get", "t/n").out.decode().strip(), str(VALUE[0]))
    same((lethe("compact").code, lethe("audit").code, lethe("verify").code), (0, 0, 0))


@case
def a_store_that_is_slow_is_no_late_teardown():  # I-79, I-33
    """A region breaks its budget while another process has the store for longer than the cancel bound. Its teardown was over long before that is recorded."""
    trace_needed()
    p = subprocess.Popen([LETHE, "run", "--output-limit", "1k", "--receipt", DIR + "/slow.json", "--exec", "/bin/sh", "-c", "read x; yes"], env=dict(ENV, LETHE_SERVE="0"),
                         stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_for(lambda: p.poll() is not None or [n for _, n in processes_below(p.pid)].count("sh") > 0, "the program")
    try:
        w = reached("put", "pwrite64", 1)
        try:
            p.stdin.write(b"go\n")
            p.stdin.close()
            said = p.stderr.readline()  # after a second, four times the bound
            check(b"waiting for process %d" % w.pid in said, said)
            wait_for(lambda: p.poll() is not None or guard_sleeps_alone(p.pid), "the end of the teardown")
            same(p.poll(), None)
        finally:
            w.kill()
        said += p.stderr.read()
        same(p.wait(60), 137, said)
    finally:
        p.stderr.close()
        if p.poll() is None:
            p.kill()
            p.wait()
    with open(DIR + "/slow.json") as f:
        r = json.load(f)
    t = r["teardown"]
    same((r["outcome"], t["grade"]), ("output_exceeded", "cleared"), r)
    check(t["store_wait_usec"] > 0 and t["usec"] + t["store_wait_usec"] >= 1000000, t)  # from the end of the program on, until the store was free
    late = lethe("log", "--json", "--region", r["region"], "--type", "region.bound_passed").out
    same(late != b"", t["usec"] > t["bound_usec"], t, late)  # by its own time alone, whatever else this machine does


@case
def a_gate_of_another_boot_or_another_folder_is_made_anew():  # I-79
    """A copy of a store has its gate as it was, held by who does not know of the copy; so has a store after a power cut."""
    same(lethe("slot", "put", "t/n", next_value()).code, 0)
    with open(STORE + "/run/gate", "rb") as f:
        page = f.read()
    held = page[:72] + b"\xff" * 40 + page[112:]
    for bytes_ in (held[:8] + b"0" * 36 + held[44:], held[:56] + b"\x01" * 8 + held[64:], b"", page[:100]):
        with open(STORE + "/run/gate", "wb", buffering=0) as f:
            f.write(bytes_)
            inode = os.fstat(f.fileno()).st_ino
            open(STORE + "/run/gate.new.0123456789abcdef", "w").close()  # of a process that was killed while it made one
            r = lethe("slot", "put", "t/n", next_value())  # while this one is open its number is no other file's
        same((r.code, r.err), (0, b""), r)
        check(os.stat(STORE + "/run/gate").st_ino != inode and os.stat(STORE + "/run/gate").st_size == 4096, bytes_[:64])
    same([f for f in os.listdir(STORE + "/run") if "gate." in f], [])


@case
@alone
def what_stands_in_the_place_of_the_gate_is_put_away():  # I-79
    """Without a gate others would wait for a stopped writer without a word, and SIGTERM would not end them."""
    gate = STORE + "/run/gate"
    for make in (os.mkdir, lambda path: os.symlink("/nonexistent", path), lambda path: socket.socket(socket.AF_UNIX).bind(path), os.mkfifo):
        os.unlink(gate)
        make(gate)
        same(lethe("slot", "put", "t/n", next_value()).code, 0)
        check(os.path.isfile(gate) and not os.path.islink(gate), os.lstat(gate))
        same(os.stat(gate).st_size, 4096)
    same([f for f in os.listdir(STORE + "/run") if "gate." in f], [])


main()
