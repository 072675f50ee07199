#!/usr/bin/python3
"""Teardown from outside: every end is torn down alike, what was held is overwritten, the record says so and no more, and without a guard
nothing runs. TAP.

usage: teardown.py LETHE
"""
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from tap import DIR, ENV, LETHE, ROOT, STORE, Skip, alone, case, check, lethe, log, main, processes_below, run, same, state_of, wait_for, wait_runs
from tiers import TIERS, WHY_NOT

PY = "/usr/bin/python3"
CLEARED = ("cleared", "cleared_kernel")
HELD = ["anonymous_memory", "shared_memory", "scratch_files", "registers"]
# Fills memory, a shared mapping and a file, says so, and then does what argv[1] says.
HOLD = """
import mmap, os, sys, time, signal
block = b"teardown-secret-" * 65536
shared = mmap.mmap(-1, 1 << 20)
shared.write(block)
with open("file", "wb") as f:
    f.write(block)
os.write(1, b"ready\\n")
exec(sys.argv[1])
"""


def skill(name, manifest, program):
    d = os.path.join(DIR, name)
    os.makedirs(d, exist_ok=True)
    for file, text in (("SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name),
                       ("lethe.json", json.dumps(dict({"version": 1, "entry": {"main": [PY, "/skill/main.py"]}}, **manifest))), ("main.py", program)):
        with open(os.path.join(d, file), "w") as f:
            f.write(text)
    return d


def start(*argv, env=None, executable=None, preexec_fn=None, stdin=subprocess.DEVNULL):
    receipt = os.path.join(DIR, "started.json")
    if os.path.exists(receipt):
        os.unlink(receipt)
    p = subprocess.Popen([executable or LETHE, "run", "--receipt", receipt, *argv], stdin=stdin, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=env or ENV, preexec_fn=preexec_fn)
    p.receipt = lambda: json.load(open(receipt))
    return p


def guard_of(p):
    guards = [pid for pid, name in processes_below(p.pid) if name == "lethe-guard"]
    same(len(guards), 1)
    return guards[0]


def whole(t, *what):
    """All that was held was overwritten and read back."""
    check(t["grade"] in CLEARED and t["method"] == "exit_stop", t, *what)
    check(t["bytes_held"] == t["bytes_overwritten"] == t["bytes_verified"] > 0 and t["bytes_missed"] == {}, t, *what)
    same([c for c in t["not_covered"] if c in HELD], [], *what)


def holds(pid):
    """Has a file of our store open."""
    try:
        return any(os.readlink("/proc/%s/fd/%s" % (pid, n)).startswith(STORE) for n in os.listdir("/proc/%s/fd" % pid))
    except OSError:
        return False


ENDS = [
    ("exited", "pass", []), ("exited", "sys.exit(3)", []), ("exited", "os._exit(0)", []), ("signaled", "os.abort()", []),
    ("signaled", "os.kill(os.getpid(), signal.SIGKILL)", []), ("signaled", "os.kill(os.getpid(), signal.SIGSEGV)", []),
    ("timed_out", "time.sleep(30)", ["--timeout", "1500ms"]), ("timed_out", "while True: pass", ["--timeout", "1500ms"]),
    ("out_of_region", "x = b'a' * (200 << 20); time.sleep(30)", ["--memory", "96m"]),
    ("cpu_exceeded", "while True: pass", ["--cpu-time", "500ms"]),
    ("output_exceeded", "os.write(1, bytes(1 << 20)); time.sleep(30)", ["--output-limit", "64k"]),
    ("exited", "os.fork() or time.sleep(30)", []), ("exited", "[os.fork() for _ in range(3)]; os.setsid() if os.getpid() > 9 else 0", []),
]


def every_end(tier):
    for outcome, what, options in ENDS:
        r = run("--tier", tier, *options, "--exec", PY, "-c", HOLD, what)
        same(r.receipt["outcome"], outcome, what, r)
        whole(r.receipt["teardown"], what)
        events = [(e["type"], e["seq"]) for e in log("--region", r.receipt["region"])]
        types = [t for t, _ in events]
        same((types.count("region.released"), types.count("invocation.ended")), (1, 1), what)
        same(types[-2:], ["region.released", "invocation.ended"], what)  # I-15


@case
def every_end_is_torn_down_alike_in_namespaces():  # I-12, I-15, I-16, I-29
    every_end("namespaces")


@case
def every_end_is_torn_down_alike_in_landlock():  # I-12, I-15, I-16, I-29
    if "landlock" not in TIERS:
        raise Skip(WHY_NOT)
    every_end("landlock")


@case
def a_cancel_needs_no_help_of_the_skill():  # I-12, I-33, I-34
    for what in ("time.sleep(30)", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: pass", "os.kill(os.getpid(), signal.SIGSTOP)",
                 "[os.fork() for _ in range(3)]\nos.write(1, b'.')\nwhile True: pass"):
        p = start("--quiet", "--exec", PY, "-c", HOLD, what)
        same(p.stdout.readline(), b"ready\n")
        if "fork" in what:
            same(p.stdout.read(8), b"........")
        p.terminate()
        out, err = p.communicate(timeout=60)
        r = p.receipt()
        same((p.returncode, r["outcome"]), (143, "cancelled"), what, err)
        whole(r["teardown"], what)
        passed = [e for e in log("--region", r["region"]) if e["type"] == "region.bound_passed"]
        same(len(passed), int(r["teardown"]["usec"] > r["teardown"]["bound_usec"]), what)


@case
def a_bound_that_was_passed_is_an_event():  # I-33
    """Its guard stands still for longer than the bound, from a moment at which the region's end is known."""
    d = skill("late", {"cancel_bound": "50ms", "budgets": {"memory": "8m", "processes": 1}, "entry": {"main": ["sleep", "600"]}}, "")
    p = start("--quiet", d)
    wait_runs(p, "sleep")
    pids = {name: pid for pid, name in processes_below(p.pid)}
    os.kill(pids["lethe-guard"], signal.SIGSTOP)
    p.terminate()
    wait_for(lambda: state_of(pids["sleep"]) in "tZ", "the exit stop of what was killed")
    time.sleep(0.06)
    os.kill(pids["lethe-guard"], signal.SIGCONT)
    p.communicate(timeout=60)
    r = p.receipt()
    t = r["teardown"]
    check(r["outcome"] == "cancelled", r)
    check(t["bound_usec"] == 50000 < t["usec"] and t["scrub_usec"] > 0, t)
    events = {e["type"]: e for e in log("--region", r["region"])}
    e = events["region.bound_passed"]
    same((int(e["bound_usec"]), int(e["usec"])), (50000, t["usec"]))
    check(e["seq"] < events["region.released"]["seq"], events)
    whole(t)  # late, but whole
    check("longer than the bound" in lethe("why", r["region"]).out.decode(), "why")


@case
def files_are_overwritten_before_their_names_go():  # I-29
    """An eye of ours on the file, opened while it lives, sees what became of its bytes."""
    for tier in TIERS:
        p = start("--tier", tier, "--quiet", "--exec", PY, "-c", HOLD, "f = open('gone', 'wb'); f.write(block); f.flush(); os.unlink('gone'); "
                  "os.write(1, b'2\\n'); time.sleep(30)")
        same((p.stdout.readline(), p.stdout.readline()), (b"ready\n", b"2\n"))
        python = [pid for pid, name in processes_below(p.pid) if name.startswith("python")][0]
        kept = open("/proc/%d/cwd/file" % python, "rb")
        fds = "/proc/%d/fd" % python
        gone = [open(os.path.join(fds, n), "rb") for n in os.listdir(fds) if os.readlink(os.path.join(fds, n)).endswith("gone (deleted)")]
        same(len(gone), 1)
        for f in (kept, *gone):
            check(b"teardown-secret" in os.pread(f.fileno(), 4096, 0), "nothing to look for")
        p.terminate()
        p.communicate(timeout=60)
        whole(p.receipt()["teardown"], tier)
        for f in (kept, *gone):
            size = os.fstat(f.fileno()).st_size
            check(size >= 1 << 20 and not os.pread(f.fileno(), size, 0).strip(b"\0"), tier, f.name, "is not overwritten")
            f.close()


@case
def more_passes_are_taken_and_recorded():  # I-30
    r = run("--discipline", "multipass:4", "--exec", PY, "-c", HOLD, "pass")
    t = r.receipt["teardown"]
    same((t["discipline"], t["passes"]), ("multipass", 4))
    check(t["bytes_held"] == t["bytes_overwritten"] == t["bytes_verified"] > 0 and t["grade"].startswith("cleared"), t)


@case
def no_discipline_only_for_the_trusted_and_said_so():  # I-31, I-57
    d = skill("trusted", {"teardown": {"discipline": "none"}}, "print('ran')\n")
    r = run(d)
    same((r.code, r.receipt["outcome"]), (125, "denied"), r)
    policy = os.path.join(DIR, "policy.json")
    digest = re.search(rb"sha256:[0-9a-f]{64}", r.err).group().decode()  # the message says what the policy would have to name
    with open(policy, "w") as f:
        json.dump({"version": 1, "skills": {"trusted": {"trusted": True, "digest": digest}}}, f)
    r = run("--policy", policy, d)
    t = r.receipt["teardown"]
    same((r.code, t["discipline"], t["grade"], t["method"], t["by"]), (0, "none", "unscrubbed", "none", "nobody"), r)
    same((t["bytes_overwritten"], t["bytes_verified"], t["passes"]), (t["sections"]["bytes_overwritten"], t["sections"]["bytes_verified"], 0))
    check(t["bytes_held"] > 0 and set(HELD) <= set(t["not_covered"]), t)


@case
def the_next_begins_after_the_last_was_overwritten():  # I-57
    """While the next one runs, the storage of the one before is looked at, which we kept from going back to the kernel."""
    p = start("--quiet", "--exec", PY, "-c", HOLD, "time.sleep(30)")
    same(p.stdout.readline(), b"ready\n")
    python = [pid for pid, name in processes_below(p.pid) if name.startswith("python")][0]
    kept = [open("/proc/%d/cwd/file" % python, "rb")]
    for name in os.listdir("/proc/%d/map_files" % python) if ROOT else []:
        path = "/proc/%d/map_files/%s" % (python, name)
        if "/dev/zero" in os.readlink(path):
            kept.append(open(path, "rb"))
    same(len(kept), 2 if ROOT else 1)
    check(all(b"teardown-secret" in os.pread(f.fileno(), 4096, 0) for f in kept), "nothing to look for")
    p.terminate()
    p.communicate(timeout=60)
    first = p.receipt()
    whole(first["teardown"])
    q = start("--quiet", "--exec", PY, "-c", HOLD, "time.sleep(30)")
    same(q.stdout.readline(), b"ready\n")
    for f in kept:
        check(not os.pread(f.fileno(), os.fstat(f.fileno()).st_size, 0).strip(b"\0"), f.name, "is as it was")
        f.close()
    q.terminate()
    q.communicate(timeout=60)
    check(first["ledger"]["released"] < q.receipt()["ledger"]["allocated"], first, q.receipt())
    seqs = []
    for _ in range(3):
        r = run("--exec", PY, "-c", HOLD, "pass")
        whole(r.receipt["teardown"])
        seqs += [r.receipt["ledger"]["allocated"], r.receipt["ledger"]["released"], r.receipt["ledger"]["ended"]]
    same(seqs, sorted(seqs))


@case
def it_is_done_when_it_returns():  # I-14
    r = run("--exec", PY, "-c", HOLD, "[os.fork() for _ in range(3)]; time.sleep(0.1)")
    whole(r.receipt["teardown"])
    same(processes_below(os.getpid()), [])
    same([pid for pid in filter(str.isdigit, os.listdir("/proc")) if pid != str(os.getpid()) and holds(pid)], [], "somebody still works on it")
    same(os.listdir(os.path.join(STORE, "guard")), ["lock"])


@case
@alone
def its_beginning_does_not_stay_in_the_redo_file():
    def begun(**env):
        r = lethe("log", "--json", env=env)
        return {e["region"] for e in map(json.loads, r.out.splitlines()) if e["type"] == "region.allocated"} if r.code == 0 else set()

    copy = os.path.join(DIR, "tables-alone")
    run("--exec", "/bin/true")  # there is a store
    before, now = begun(), set()
    p = start("--exec", PY, "-c", "import sys; print('ready', flush=True); sys.stdin.read()", stdin=subprocess.PIPE)
    try:
        same(p.stdout.readline(), b"ready\n")
        until = time.monotonic() + 120  # ends a hang
        while not now - before and time.monotonic() < until:  # nobody else reads or writes the store meanwhile
            shutil.rmtree(copy, ignore_errors=True)
            os.mkdir(copy)
            for name in ("data.mdb", "key"):
                shutil.copy(os.path.join(STORE, name), copy)
            now = begun(LETHE_STORE=copy, LETHE_ANCHOR=os.path.join(DIR, "no-anchor"))
        same(len(now - before), 1)
    finally:
        p.communicate(timeout=60)
        shutil.rmtree(copy, ignore_errors=True)


@case
def callbacks_come_before_the_overwriting():  # I-13
    """While the callback runs, until it is told to end, the program stands at its exit stop and its memory is as it was."""
    if not ROOT:
        raise Skip("needs root: reads a stopped process's memory")
    d = skill("order", {"entry": {"main": [PY, "/skill/main.py"], "give-back": [PY, "/skill/wait.py"]}, "resources": ["seat"],
                        "release": [{"entry": "give-back"}], "cancel_bound": "60s", "budgets": {"memory": "128m"}},
              "secret = bytearray(b'teardown-order-' * 1000)\nimport os\nprint(id(secret), flush=True)\nos._exit(0)\n")
    with open(os.path.join(d, "wait.py"), "w") as f:
        f.write("import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nsys.stderr.write('callback\\n')\nsys.stderr.flush()\nsignal.pause()\n")
    p = start(d)
    p.stdout.readline()
    line = p.stderr.readline()
    check(b"callback" in line, "no callback", line)
    states = {}
    for pid, name in processes_below(p.pid):
        with open("/proc/%d/stat" % pid) as f:
            states[pid] = (name, f.read().rsplit(")", 1)[1].split()[0])
    held = [pid for pid, (name, state) in states.items() if name.startswith("python") and state == "t"]
    same(len(held), 1, states)
    found = False
    with open("/proc/%d/maps" % held[0]) as maps, open("/proc/%d/mem" % held[0], "rb", 0) as mem:
        for line in maps:
            a, b = (int(x, 16) for x in line.split()[0].split("-"))
            if " rw" in line:
                try:
                    found = found or b"teardown-order-teardown-order" in os.pread(mem.fileno(), b - a, a)
                except OSError:
                    pass
    check(found, "the memory of what is held was overwritten before the callback was done")
    for pid, (name, _) in states.items():
        if name.startswith("python") and pid not in held:
            os.kill(pid, signal.SIGTERM)
    p.communicate(timeout=60)
    r = p.receipt()
    whole(r["teardown"])
    same([c["outcome"] for c in r["teardown"]["callbacks"]], ["exited"], r["teardown"])
    same(p.returncode, 0)


# Whose parent ends while it executes something: what the kernel gives back at that moment is held a little longer than it says.
EXECUTES = """
import os, time
block = os.urandom(1 << 20)
for i in range(200):
    if os.fork() == 0:
        own = bytearray(block)
        if os.fork() == 0:
            until = time.monotonic() + i % 8 * 0.0001
            while time.monotonic() < until:
                pass
            os.execv("/bin/true", ["true"])
        os._exit(0)
    os.wait()
"""


@case
def one_that_executes_keeps_no_page_of_another_from_being_overwritten():  # I-16, I-29
    r = run("--exec", PY, "-c", EXECUTES)
    t = r.receipt["teardown"]
    same((r.code, t["bytes_missed"], t["grade"] in CLEARED, t["counts"]["processes"] > 200), (0, {}, True, True), t)


@case
def without_a_guard_nothing_runs():  # I-29
    bare = os.path.join(DIR, "bare")
    os.mkdir(bare)
    for name in ("lethe", "lethe-worker"):
        shutil.copy(os.path.join(os.path.dirname(LETHE), name), bare)
    p = start("--exec", "/bin/echo", "ran", executable=os.path.join(bare, "lethe"))
    out, err = p.communicate(timeout=60)
    same((p.returncode, out), (125, b""), err)
    check(b"lethe-guard" in err and b"fix:" in err, err)
    same(p.receipt()["teardown"]["grade"], "nothing_held")


def deny_ptrace():
    """A seccomp filter as containers have it: ptrace is answered with EPERM."""
    class Prog(ctypes.Structure):
        _fields_ = [("n", ctypes.c_ushort), ("p", ctypes.c_void_p)]
    number = {"x86_64": 101, "aarch64": 117}[os.uname().machine]
    code = b"".join(struct.pack("HBBI", *x) for x in ((0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)))
    buf = ctypes.create_string_buffer(code, len(code))
    prog = Prog(4, ctypes.cast(buf, ctypes.c_void_p).value)
    libc = ctypes.CDLL(None)
    if libc.prctl(22, 2, ctypes.byref(prog), 0, 0) != 0:
        os._exit(99)


@case
def a_guard_that_may_not_trace_is_a_refusal():  # I-29
    if not ROOT:
        raise Skip("needs root: installs a filter without no_new_privs")
    for tier in TIERS:
        p = start("--tier", tier, "--exec", "/bin/echo", "ran", preexec_fn=deny_ptrace)
        out, err = p.communicate(timeout=60)
        same((p.returncode, out, p.receipt()["outcome"]), (125, b"", "setup_failed"), err)
        check(b"cannot trace" in err and b"fix:" in err, err)


@case
def a_guard_goes_before_other_sessions():  # I-72
    """Else a loaded machine overwrites late: with sessions of the scheduler's, a priority alone counts within the guard's own."""
    if not ROOT:
        raise Skip("needs root: raises a priority")
    p = start("--quiet", "--exec", PY, "-c", HOLD, "time.sleep(30)")
    same(p.stdout.readline(), b"ready\n")
    guard = guard_of(p)
    same(os.getpriority(os.PRIO_PROCESS, guard), -20)
    with contextlib.suppress(FileNotFoundError):  # a kernel without them
        with open("/proc/%d/autogroup" % guard, encoding="ascii") as f:
            said = f.read()
        check(said.endswith(" nice -20\n"), said)
        with open("/proc/self/autogroup", encoding="ascii") as f:
            check(f.read().split()[0] != said.split()[0], "of the guard's session alone", said)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    same(p.returncode, 128 + signal.SIGTERM)


@case
def a_guard_that_was_killed_lowers_the_grade():  # I-16
    for tier in TIERS:
        p = start("--tier", tier, "--quiet", "--exec", PY, "-c", HOLD, "time.sleep(30)")
        same(p.stdout.readline(), b"ready\n")
        os.kill(guard_of(p), signal.SIGKILL)
        out, err = p.communicate(timeout=60)
        r = p.receipt()
        t = r["teardown"]
        same((r["outcome"], p.returncode, "lethe-guard ended" in r["reason"]), ("guard_lost", 137, True), r)
        ours = t["sections"]["bytes_overwritten"] + t["counts"]["scratch_files"] * (1 << 20)  # what the supervisor itself overwrites
        same((t["grade"], t["bytes_overwritten"]), ("unscrubbed", ours), t)
        check(set(HELD) - {"scratch_files"} <= set(t["not_covered"]), t)
        check("unscrubbed" in lethe("why", r["region"]).out.decode(), "why")


main()
