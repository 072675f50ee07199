#!/usr/bin/python3
"""Programs that are hostile to whoever overwrites their memory, each in a region of its own: it ends, all that it held was overwritten or the
record says what was not, within the bound or with the breach recorded, and nothing outside has changed. TAP.

usage: foes.py --build BUILD [--as root|user] [--tier namespaces|landlock] [--only NAME,NAME]
"""
import argparse
import atexit
import ctypes  # noqa: F401  tiers.py and tap.py need these, and a Python of root's own is out of reach for an ordinary user
import errno  # noqa: F401
import json
import mmap
import os
import shutil
import signal
import socket  # noqa: F401
import subprocess
import sys
import tempfile

options = argparse.ArgumentParser()
options.add_argument("--build", required=True)
options.add_argument("--as", dest="who", default="root")
options.add_argument("--tier", default="namespaces")
options.add_argument("--only", default="")
O = options.parse_args()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from account import use  # noqa: E402

use(O.who)
sys.argv[1] = os.path.join(O.build, "lethe")
from tap import DIR, ENV, LETHE, ROOT, STORE, Skip, add, cgroups_left, check, lethe, log, main, processes_below, run, same, wait_for  # noqa: E402
from tiers import TIERS, WHY_NOT  # noqa: E402

if O.tier not in TIERS:
    print("1..0 # SKIP " + WHY_NOT)
    sys.exit(0)

FOE = os.path.join(os.path.abspath(O.build), "tests", "isolation", "scrub", "foe")
ROOTLESS, LANDLOCK = not ROOT, O.tier == "landlock"
MB = 1 << 20


def has_guards():
    """Of shared memory, since Linux 6.15."""
    try:
        mmap.mmap(-1, MB).madvise(102)
    except OSError:
        return False
    return True


GUARDS = ROOTLESS and has_guards()
CLEARED = ("cleared", "cleared_early", "cleared_kernel")
os.chmod(DIR, 0o711)
WITNESS = os.path.join(DIR, "witness")
with open(WITNESS, "wb") as f:
    f.write(b"this stays as it is " * 1000)
MEMORY = mmap.mmap(-1, MB)
MEMORY.write(b"ours" * (MB // 4))


def outside_is_as_it_was():
    with open(WITNESS, "rb") as f:
        same(f.read(), b"this stays as it is " * 1000)
    check(MEMORY[:] == b"ours" * (MB // 4), "our memory has changed")
    same(cgroups_left(), [])
    same([n for n in os.listdir(os.path.join(STORE, "guard")) if n != "lock"], [])
    with open("/proc/self/task/%d/children" % os.getpid()) as f:
        same(f.read().split(), [])


def start(*argv, more=()):
    receipt = os.path.join(DIR, "started.json")
    if os.path.exists(receipt):
        os.unlink(receipt)
    p = subprocess.Popen([LETHE, "run", "--quiet", "--tier", O.tier, "--receipt", receipt, *more, "--exec", FOE, *map(str, argv)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    p.receipt = lambda: json.load(open(receipt, encoding="utf-8"))
    return p


def below(pid, name):
    """The processes of that name below pid."""
    return [child for child, its_name in processes_below(pid) if its_name == name]


def ready(p):
    same(p.stdout.readline(), b"ready\n", p.stderr.read() if p.poll() is not None else "")


def finish(p, sig=signal.SIGTERM):
    if sig:
        p.send_signal(sig)
    p.communicate(timeout=120)
    return p.receipt()


def judge(r, least, missed=None, files=0, registers=False, unstopped=False):
    """missed: the reasons that the record has to give; registers: those of threads that end without a stop may be among them; unstopped: so may processes
    (the kernel leaves out the exit stop of one that is killed between its own exit and that stop)."""
    t = r["teardown"]
    c = t["counts"]
    if unstopped and c["processes_missed"] > 0:
        check(c["processes_missed"] <= c["registers_missed"], t)
        missed, registers = sorted([*(missed or []), "processes"]), True
    released = [e for e in log("--region", r["region"]) if e["type"] == "region.released"]
    same(len(released), 1)
    said = released[0]["teardown"]
    same((said["grade"], sorted(said["bytes_missed"]), int(said["counts"]["processes_missed"])), (t["grade"], sorted(t["bytes_missed"]), c["processes_missed"]))
    same(t["bytes_held"], t["bytes_overwritten"] + sum(t["bytes_missed"].values()), t)
    same(t["bytes_verified"], t["bytes_overwritten"], t)
    check(t["bytes_overwritten"] >= least, "at least %d" % least, t)
    # The descriptors of a thread that has left its stop cannot be looked at any more: a page is counted for it.
    # A thread that ends in a call which may have been the last to hold a file is a page that is missed; a scratch on the host's disk never tells that there was none,
    # so that files can be missed there without any registers.
    most = MB + (4096 * c["threads"] if LANDLOCK else 0)
    unknown = {"file"} if registers and (LANDLOCK or c["registers_missed"] > 0) and t["bytes_missed"].get("file", most) < most else set()
    lost = registers and (c["registers_missed"] > 0 or LANDLOCK and "file" in t["bytes_missed"])
    same(sorted(set(t["bytes_missed"]) - unknown) + ["processes"] * (c["processes_missed"] > 0), sorted(missed or []), t)
    check(registers or missed or c["registers_missed"] == 0, t)
    check((t["grade"] == "partial") if missed or lost else (t["grade"] in CLEARED), t)
    check(c["deleted_files"] >= files, "%d deleted files" % files, t)
    why = lethe("why", r["region"]).out  # each reason of the grade is told
    same([word in why for word in (b"missed: the memory of ", b"missed: the registers of ", *(b"(%s)" % x.encode() for x in t["bytes_missed"]))],
         [c["processes_missed"] > 0, c["registers_missed"] > 0, *(True for _ in t["bytes_missed"])], why)
    passed = [e for e in log("--region", r["region"]) if e["type"] == "region.bound_passed"]
    same(len(passed), int(t["usec"] > t["bound_usec"]), t)
    outside_is_as_it_was()


def foe(name, *argv, outcome=("exited",), ends=None, least=0, more=(), user_misses=None, root_misses=None, **kw):
    """It ends by itself, or is ended once it is ready."""
    def case():
        if ends is None:
            r = run("--tier", O.tier, *more, "--exec", FOE, *argv)
            check(r.receipt is not None, r)
            receipt = r.receipt
        else:
            p = start(*argv, more=more)
            ready(p)
            receipt = finish(p, ends)
        check(receipt["outcome"] in outcome, "outcome", receipt["outcome"], receipt)
        check(receipt["outcome"] != "exited" or receipt["exit_code"] == 0, "ended with", receipt["exit_code"])
        judge(receipt, least, missed=user_misses if ROOTLESS else root_misses, **kw)
    rows.append((name, case))


rows = []
TERM = signal.SIGTERM
CANCELLED = ("cancelled",)
KILLED = ("signaled",)
# What is hard to reach.
foe("areas", "areas", 10000, least=10000 * 4096)
foe("mlock", "lock", 8, outcome=KILLED, least=9 * MB)
foe("huge", "huge", 16, least=16 * MB)
foe("huge-fork", "huge-fork", 16, least=16 * MB)
foe("shared", "shared", 8, outcome=CANCELLED, ends=TERM, least=9 * MB, user_misses=["unmapped"])
foe("shared-objects", "objects", 1000, outcome=CANCELLED, ends=TERM, least=1000 * 4096)
foe("shared-read-only", "readonly", 1, least=0, user_misses=["denied"])
foe("advice", "advice", 0, outcome=KILLED, least=5 * MB)
foe("advice-crash", "advice", 1, outcome=KILLED, least=5 * MB)
foe("heap-1g", "big", 1000, outcome=CANCELLED, ends=TERM, least=1000 * MB, more=["--memory", "1200m"])
foe("hidden-memory", "hidden", least=MB)
foe("registers", "registers", outcome=CANCELLED, ends=TERM)
foe("unreadable", "unreadable", outcome=KILLED if ROOTLESS else ("exited",), user_misses=["file", "processes"])
foe("long-path", "deep", 30, least=3 * MB // 2)
foe("deleted-mapped", "unnamed", least=2 * MB, files=1, user_misses=["file"] if LANDLOCK else None)
foe("deleted-thread", "thread-file", least=MB, files=1)
foe("sent-stream", "sent", 0, least=2 * MB, files=2)
foe("sent-packet", "sent", 1, least=2 * MB, files=2)
foe("sent-nested", "sent-nested", least=MB, files=1)
foe("sent-child", "sent-child", outcome=CANCELLED, ends=TERM, least=2 * MB, files=2)
foe("sent-by", "sent-by", least=MB, files=1)
foe("sent-deep", "sent-deep", 6, more=["--nofile", "1024"], least=MB, files=1)
foe("sent-wide-kept", "sent-wide", 100, more=["--nofile", "1024"], least=MB, files=1)
if not LANDLOCK:
    foe("sent-waiting", "sent-waiting", more=["--network", "private"], least=MB, files=1)
    foe("long-links", "links", 20, root_misses=["scratch"], user_misses=["scratch"])
foe("executed", "executed", least=MB, files=1)
# Bytes that no descriptor of a process shows (I-69). Each sees for itself that its bytes are there.
foe("thread-queue", "thread-queue", 0, least=MB, files=1)
foe("thread-queue-killed", "thread-queue", 1, outcome=CANCELLED, ends=TERM, least=MB, files=1)
foe("leader-gone", "leader-gone", 0, least=MB, files=1)
foe("leader-gone-killed", "leader-gone", 1, outcome=CANCELLED, ends=TERM, least=MB, files=1)
foe("sent-urgent", "sent-urgent", 0, least=MB, files=1)
foe("sent-urgent-nested", "sent-urgent", 1, least=MB, files=1)
foe("one-page", "one-page", 0, least=4096 if ROOTLESS else MB, user_misses=["unmapped"])
foe("one-page-killed", "one-page", 1, outcome=CANCELLED, ends=TERM, least=4096 if ROOTLESS else MB, user_misses=["unmapped"])
foe("one-page-multipass", "one-page", 0, more=("--discipline", "multipass"), least=4096 if ROOTLESS else MB, user_misses=["unmapped"])
foe("one-page-file", "one-page-file", 0, least=0 if ROOTLESS else MB, user_misses=["file"])
if not LANDLOCK:
    foe("thread-waiting-killed", "thread-waiting", 1, more=["--network", "private"], outcome=CANCELLED, ends=TERM, least=MB, files=1)
    foe("call", "call", 0, root_misses=["file"], user_misses=["file"])
    for name, n in (("call-write", 0), ("call-poll", 1)):
        foe(name, "call-socket", n, root_misses=["file"], user_misses=["file"])
foe("queues", "queues", 20, least=MB)
# Memory out of reach for a look through descriptors and mappings (I-69).
foe("locked", "locked", 0, least=2 * MB)
foe("locked-description", "locked", 1, least=MB)
BEHIND = 1100 if ROOT else 200  # an ordinary user's sockets have no room for more than some 270
foe("behind-messages", "behind", BEHIND, least=2 * MB, files=1)
foe("behind-empty-messages", "behind-empty", BEHIND, least=2 * MB, files=1)
foe("path-only", "path-only", 0, least=2 * MB, files=1)
foe("path-only-sent", "path-only", 1, least=2 * MB, files=1)
foe("many-sockets", "sockets", 700, more=["--nofile", "2048"], least=2 * MB, files=1)
foe("many-deleted", "many-deleted", 4, outcome=CANCELLED, ends=TERM, least=4 * MB, files=800)
foe("private-page", "private-page", 0, outcome=CANCELLED, ends=TERM, least=MB, user_misses=["file"])
foe("one-page-each", "pages", 200, outcome=CANCELLED, ends=TERM, least=200 * 4096, user_misses=["unmapped"])
foe("sealed-memory", "sealed", least=2 * MB)
foe("doubled-memory", "doubled", 0, least=MB)
foe("doubled-and-moved", "doubled", 1, least=MB)
foe("guarded-pages", "marks", least=MB // 2)
foe("guarded-shared", "guarded", 0, least=0 if GUARDS else MB // 2, user_misses=["denied"] if GUARDS else None)
foe("guarded-shared-early", "guarded", 0, more=("--discipline", "multipass"), least=0 if GUARDS else MB // 2, user_misses=["denied"] if GUARDS else None)
# What ends in a way that is hard to catch.
foe("storm", "storm", 300, outcome=CANCELLED + ("pids_exceeded",), ends=TERM, least=MB, unstopped=True)
foe("threads-end", "threads", 60, least=60 * 64 * 4096, registers=True)
foe("vfork", "vfork", 1, least=3 * MB)
foe("exec", "exec", 30, least=64 * 4096)
foe("stopped", "stop", 6, outcome=CANCELLED, ends=TERM, least=MB)
foe("orphans", "orphans", 8, least=MB + 8 * 16 * 4096)
foe("many", "many", 100, outcome=CANCELLED, ends=TERM, more=["--pids-limit", "200"], least=MB + 100 * 16 * 4096)
foe("cpu-limit", "cpu", outcome=("signaled", "cpu_exceeded"), least=MB)
foe("filter-kill", "filter", outcome=("signaled", "denied"), least=MB)
foe("out-of-memory", "grow", outcome=("out_of_region",), more=["--memory", "64m"], least=8 * MB)


def raced(way, n, least, registers=True):
    """Some are killed between their own exit and the stop where they would be seen; the record says how many, and is not better for it. How many it are is chance,
    and only counted."""
    r = run("--tier", O.tier, "--exec", FOE, way, n)
    same(r.code, 0, r)
    c = r.receipt["teardown"]["counts"]
    check(c["processes"] + c["processes_missed"] >= n + 1, c)
    missed = c["processes_missed"]
    judge(r.receipt, least, missed=["processes"] if missed else None, registers=registers or missed > 0)
    print("# %d of %d were killed in between" % (missed, n))


def killed_at_exit():
    """Where none is killed in between, nothing at all is missed."""
    raced("kill", 200, MB, registers=False)


def killed_between_exit_and_its_stop():
    raced("window", 300, MB)


def killed_while_a_thread_executes():
    raced("thread-exec", 800, MB)


def out_of_sight(*argv):
    """What nobody looked into while the region goes on is missed: a page of each, because nothing is known of it."""
    def case():
        r = run("--tier", O.tier, "--nofile", "2048", "--exec", FOE, *argv)
        same(r.code, 0, r)
        judge(r.receipt, 4096, missed=["file"])
    return case


def given_back_together(how, least=40):
    """I-30: whichever of two processes is the last to have a page, its bytes are overwritten, and counted once at least."""
    def case():
        t = run("--tier", O.tier, "--discipline", "multipass", "--exec", FOE, "together", how).receipt["teardown"]
        check(t["early"]["overwritten"] + t["bytes_overwritten"] >= least * MB, t)
        same((t["early"]["unheld"], t["early"]["racing"], t["bytes_missed"]), (0, 0, {}))
        check(how == 3 or t["grade"] in CLEARED[1:], t)
    return case


def a_call_is_cut_short_by_the_kill():
    """I-69: the file that only it held is gone before anybody could look, and is missed to its last byte."""
    p = start("call", 1)
    ready(p)
    r = finish(p)
    judge(r, 4096, missed=["file"])
    check(r["teardown"]["bytes_missed"]["file"] >= MB, r["teardown"])


def a_connection_that_only_a_thread_can_accept():
    """I-69: whether the thread or the first one of its process is gone first is the kernel's business. Its connections are looked into, or missed."""
    r = run("--tier", O.tier, "--network", "private", "--exec", FOE, "thread-waiting", 0)
    same(r.code, 0, r)
    t = r.receipt["teardown"]
    judge(r.receipt, 4096, missed=["file"] if t["counts"]["deleted_files"] == 0 else None)


def shared_memory_goes_with_its_image():
    r = run("--tier", O.tier, "--discipline", "multipass", "--exec", FOE, "shared-exec")
    t = r.receipt["teardown"]
    same((r.code, t["grade"]), (0, "cleared"), r)
    check("freed_memory" in t["not_covered"] and t["early"]["missed"] >= MB, t)


def first_process_is_killed():
    """The region's first process, by the operator."""
    p = start("storm", 30)
    ready(p)
    workers = below(p.pid, "lethe-worker") or below(p.pid, "lethe-init")
    check(len(workers) >= 1, "no first process")
    os.kill(workers[0], signal.SIGKILL)
    judge(finish(p, None), MB, unstopped=True)


def supervisor_is_killed():
    """With folders that are closed to their owner, and nested deeper than anybody has descriptors; an eye of ours is on two files."""
    p = start("closed", 50 if LANDLOCK else 1500)
    ready(p)
    worker = below(p.pid, "foe")[0]
    guard = below(p.pid, "lethe-guard")[0]
    eye = os.open("/proc/%d/cwd/last" % worker, os.O_RDONLY)
    check(os.pread(eye, 8, 0).strip(b"\0"), "nothing to look for")
    p.kill()
    p.communicate(timeout=60)
    wait_for(lambda: not os.path.exists("/proc/%d" % guard), "the guard's end")
    check(not os.pread(eye, MB, 0).strip(b"\0"), "a file deep below is as it was")
    os.close(eye)
    r = run("--exec", "/bin/true")
    same(r.code, 0, r)
    recovered = [e for e in log("--type", "region.recovered")][-1]
    t = recovered.get("teardown") or [e for e in log("--region", recovered["region"]) if "teardown" in e][-1]["teardown"]
    check(t["by"] == "guard" and t["grade"] in CLEARED and t["counts"]["scratch_files"] >= 3, t)
    check("supervisor_memory" in t["not_covered"] or t["grade"] == "cleared_kernel", t)


def supervisor_is_killed_with_a_file_in_its_hands():
    """I-69: a deleted file that the supervisor alone had open, because it made a lock on it, is gone with it and overwritten by nobody."""
    p = start("locked", 2)
    ready(p)
    guard = below(p.pid, "lethe-guard")[0]
    p.kill()
    p.communicate(timeout=60)
    wait_for(lambda: not os.path.exists("/proc/%d" % guard), "the guard's end")
    same(run("--exec", "/bin/true").code, 0)
    recovered = [e for e in log("--type", "region.recovered")][-1]
    t = recovered.get("teardown") or [e for e in log("--region", recovered["region"]) if "teardown" in e][-1]["teardown"]
    same((t["by"], t["grade"]), ("guard", "partial"), t)
    check(t["bytes_missed"]["file"] >= 4096, t)


def used(pid):
    """Processor time, in hundredths of a second."""
    with open("/proc/%d/stat" % pid) as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:13]))


def guard_is_killed_after_a_part_of_it():
    """One process of two is overwritten, and gone; the other one is as it was when the guard is killed, which ends it."""
    p = start("pair", 64)
    ready(p)
    of = {pid: int(open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[1]) for pid in below(p.pid, "foe")}
    child = [pid for pid, parent in of.items() if parent in of]
    same(len(child), 1, of)
    os.kill(child[0], signal.SIGKILL)
    wait_for(lambda: not os.path.exists("/proc/%d" % child[0]), "the child's end")
    os.kill(below(p.pid, "lethe-guard")[0], signal.SIGKILL)
    t = finish(p, None)["teardown"]
    check(t["grade"] in ("unscrubbed", "partial") and t["bytes_verified"] <= t["bytes_overwritten"] < 64 * MB, t)
    check("anonymous_memory" in t["not_covered"], t)
    outside_is_as_it_was()


def guard_is_killed_while_it_works():
    """Unless it was done before: a guard is quick, and the one that kills it may not get the processor. Then the record is whole, and rightly so."""
    p = start("big", 600, more=["--memory", "800m"])
    ready(p)
    guard = below(p.pid, "lethe-guard")[0]
    before = used(guard)
    p.terminate()
    wait_for(lambda: p.poll() is not None or used(guard) >= before + 2, "that it works")
    if p.poll() is None:
        os.kill(guard, signal.SIGKILL)
    r = finish(p, None)
    t = r["teardown"]
    if t["grade"] in CLEARED:
        print("# it was done before it was killed")
        judge(r, 600 * MB)
        return
    check(t["grade"] in ("unscrubbed", "partial") and t["bytes_verified"] <= t["bytes_overwritten"] < 600 * MB, t)
    check("anonymous_memory" in t["not_covered"], t)
    outside_is_as_it_was()


def guard_is_stopped():
    """Nothing waits for it forever."""
    p = start("big", 8)
    ready(p)
    os.kill(below(p.pid, "lethe-guard")[0], signal.SIGSTOP)
    r = finish(p)
    t = r["teardown"]
    same((t["grade"], t["counts"]["processes"]), ("unscrubbed", 0), t)
    check("anonymous_memory" in t["not_covered"], t)
    outside_is_as_it_was()


def somebody_outside_writes_meanwhile():
    """Into the region's shared memory, through a mapping that only root can have: what is read back is not what was written. The guard is stopped behind
    each of its writes to a file, and goes on when all of that memory was written to."""
    p = start("one-page", 1)
    ready(p)
    pid, guard = below(p.pid, "foe")[0], below(p.pid, "lethe-guard")[0]
    with open("/proc/%d/maps" % pid) as f:
        area = [x.split()[0] for x in f if "/dev/zero" in x]
    same(len(area), 1)
    fd = os.open("/proc/%d/map_files/%s" % (pid, area[0]), os.O_RDWR)
    view, calls = mmap.mmap(fd, MB), os.path.join(DIR, "calls")
    os.close(fd)
    tracer = subprocess.Popen(["strace", "-o", calls, "-p", str(guard), "-e", "trace=pwrite64", "-e", "inject=pwrite64:signal=SIGSTOP"],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    check(b"attached" in tracer.stderr.readline(), "strace does not trace the guard")
    p.terminate()
    written = 0

    def is_over():
        nonlocal written
        with open(calls) as f:
            stops = f.read().count("stopped by SIGSTOP")
        if stops > written:
            view[:] = b"outside " * (MB // 8)
            written = stops
            os.kill(guard, signal.SIGCONT)
        return p.poll() is not None

    wait_for(is_over, "its end")
    r = finish(p, None)
    tracer.communicate()
    view.close()
    check(written > 0, "it wrote nothing")
    judge(r, 4096, missed=["verify"])


def a_file_that_cannot_be_written():
    """The operator made a file of the scratch immutable."""
    p = start("closed", 3)
    ready(p)
    path = "/proc/%d/cwd/last" % below(p.pid, "foe")[0]
    if subprocess.run(["chattr", "+i", path], stderr=subprocess.PIPE).returncode != 0:
        finish(p)
        raise Skip("this kernel has no such files in memory")
    judge(finish(p), 1, missed=["scratch"])


def beside():
    """A folder on the scratch's file system in tier landlock, where /tmp in an argument would be the scratch's."""
    folder = tempfile.mkdtemp(prefix="lethe-foes-", dir="/var/tmp")
    os.chmod(folder, 0o777)
    atexit.register(shutil.rmtree, folder, True)
    return folder


def deleted_outside_while_mapped():
    """A library that the host replaces while a region has it mapped is still other processes'."""
    path = os.path.join(beside(), "library")
    with open(path, "wb") as f:
        f.write(b"code" * 10000)
    eye = os.open(path, os.O_RDONLY)
    p = start("mapped", path, more=["-v", "%s:%s" % (path, path)])
    ready(p)
    os.unlink(path)
    r = finish(p)
    same(os.pread(eye, 1 << 20, 0), b"code" * 10000)
    os.close(eye)
    judge(r, MB)


def pipe_of_the_host():
    folder = beside()
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    os.chmod(fifo, 0o666)
    ours = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    os.write(ours, b"for somebody ")
    r = run("--tier", O.tier, "-v", "%s:%s:rw" % (folder, folder), "--exec", FOE, "fifo", fifo)
    same((r.code, os.read(ours, 1 << 16)), (0, b"for somebody from the region "), r)
    os.close(ours)
    judge(r.receipt, MB)


def read_out_of_band():
    """Descriptors that nobody can take any more are not read for until the supervisor gives the guard up, which is after ten seconds."""
    policy = os.path.join(DIR, "five-seconds.json")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "bounds": {"cancel_bound": {"floor": "5s"}}}, f)
    r = run("--tier", O.tier, "--memory", "200m", "--policy", policy, "--exec", FOE, "read-urgent", 8)
    same((r.code, r.receipt["outcome"], r.receipt["teardown"]["bound_usec"]), (0, "exited", 5000000), r)
    judge(r.receipt, 0, missed=["file"])
    same([e for e in log("--region", r.receipt["region"]) if e["type"] == "region.bound_passed"], [])


rows.append(("read-urgent", read_out_of_band))
# An empty message that was looked at before is not seen, whatever else is seen twice, or lies in another socket; and of sockets in a socket there can be too many.
rows += [("sent-seen", out_of_sight("sent-seen", 0)), ("sent-seen-nested", out_of_sight("sent-seen", 1)), ("sent-wide", out_of_sight("sent-wide", 600)),
         ("shared-exec", shared_memory_goes_with_its_image), ("kill-at-exit", killed_at_exit), ("in-the-window", killed_between_exit_and_its_stop), ("thread-exec", killed_while_a_thread_executes),
         ("first-process-killed", first_process_is_killed), ("supervisor-killed", supervisor_is_killed),
         ("supervisor-killed-locked", supervisor_is_killed_with_a_file_in_its_hands),
         ("guard-killed-at-work", guard_is_killed_while_it_works), ("guard-killed-half-way", guard_is_killed_after_a_part_of_it), ("guard-stopped", guard_is_stopped),
         ("deleted-outside", deleted_outside_while_mapped), ("fifo-outside", pipe_of_the_host)]
if not LANDLOCK:
    rows += [("together-" + name, given_back_together(how)) for how, name in enumerate(("munmap", "advice", "exit", "exec", "shared")[:5 if ROOT else 4])]
    rows += [("call-killed", a_call_is_cut_short_by_the_kill), ("thread-waiting", a_connection_that_only_a_thread_can_accept)]
if ROOT: # what only root can do to a region from outside
    rows += [("written-outside", somebody_outside_writes_meanwhile)]
if ROOT and not LANDLOCK: # and only where the scratch is a file system of its own
    rows += [("immutable-file", a_file_that_cannot_be_written)]
chosen = set(filter(None, O.only.split(",")))
for row, function in rows:
    if not chosen or row in chosen:
        add(row, function)
main()
