#!/usr/bin/python3
"""Each budget broken, by a small program and by Python: the outcome, the resource, and nothing committed. TAP.

usage: budgets.py LETHE BREACH
"""
import json
import os
import subprocess
import sys

from tap import DIR, ENV, LETHE, ROOT, Skip, add, case, case_when, cgroups_left, check, lethe, log, main, run, same

BREACH = os.path.abspath(sys.argv[2])
PY = "/usr/bin/python3"

# name, outcome, resource, exit code, options, what runs
TABLE = [
    ("memory at once", "out_of_region", "memory", 137, ["--memory", "64m"], [BREACH, "memory-at-once"]),
    ("memory in small pieces", "out_of_region", "memory", 137, ["--memory", "64m"], [BREACH, "memory-in-small-pieces"]),
    ("memory of many processes", "out_of_region", "memory", 137, ["--memory", "64m"], [BREACH, "memory-of-many"]),
    ("memory that is shared", "out_of_region", "memory", 137, ["--memory", "64m"], [BREACH, "memory-shared"]),
    ("memory that only system calls touch", "out_of_region", "memory", 137, ["--memory", "64m"], [BREACH, "memory-by-the-kernel"]),
    ("memory in python", "out_of_region", "memory", 137, ["--memory", "64m"], [PY, "-c", "x = [bytearray(1 << 20) for _ in range(300)]"]),
    ("memory in python, caught", "out_of_region", "memory", 137, ["--memory", "64m"],
     [PY, "-c", "try:\n  x = bytearray(300 << 20)\nexcept MemoryError: pass"]),
    ("scratch files are memory", "out_of_region", "memory", 137, ["--memory", "32m", "--scratch", "64m"],
     [PY, "-c", "import time; f = open('/work/x', 'wb'); f.write(bytes(48 << 20)); f.flush(); time.sleep(60)"]),
    ("scratch files are memory that only system calls touch", "out_of_region", "memory", 137, ["--memory", "32m", "--scratch", "64m", "--file-size", "64m"],
     [BREACH, "memory-by-a-file"]),
    ("cpu", "cpu_exceeded", "cpu", 137, ["--cpu-time", "300ms"], [BREACH, "cpu"]),
    ("cpu of children that nobody waits for", "cpu_exceeded", "cpu", 137, ["--cpu-time", "500ms", "--timeout", "20s"], [BREACH, "cpu-of-children"]),
    ("cpu in python", "cpu_exceeded", "cpu", 137, ["--cpu-time", "300ms"], [PY, "-c", "while True: pass"]),
    ("wall, all signals ignored", "timed_out", "wall", 124, ["--timeout", "300ms"], [BREACH, "wall"]),
    ("wall in python", "timed_out", "wall", 124, ["--timeout", "300ms"], [PY, "-c", "import time; time.sleep(60)"]),
    ("processes", "pids_exceeded", "processes", 137, ["--pids-limit", "10"], [BREACH, "processes"]),
    ("threads", "pids_exceeded", "processes", 137, ["--pids-limit", "10"], [BREACH, "threads"]),
    ("processes in python", "pids_exceeded", "processes", 137, ["--pids-limit", "10"],
     [PY, "-c", "import os, time\nfor _ in range(30):\n  try:\n    if os.fork() == 0: time.sleep(60)\n  except OSError: pass"]),
    ("output", "output_exceeded", "output", 137, ["--output-limit", "100k"], [BREACH, "output"]),
    ("output in python", "output_exceeded", "output", 137, ["--output-limit", "10"], [PY, "-c", "print('x' * 10)"]),
    ("scratch, with room made again", "scratch_exceeded", "scratch", 137, ["--scratch", "2m"], [BREACH, "scratch"]),
    ("scratch in python", "scratch_exceeded", "scratch", 137, ["--scratch", "1m"],
     [PY, "-c", "try:\n  f = open('/tmp/x', 'wb', 0)\n  while f.write(bytes(4096)) == 4096: pass\nexcept OSError: pass"]),
    ("file size, signal ignored", "file_size_exceeded", "file_size", 137, ["--file-size", "1m"], [BREACH, "file-size"]),
    ("file size of a sparse file", "file_size_exceeded", "file_size", 137, ["--file-size", "1m"], [BREACH, "file-size-sparse"]),
    ("file size in python", "file_size_exceeded", "file_size", 137, ["--file-size", "1m"],
     [PY, "-c", "try:\n  f = open('/work/x', 'wb', 0); f.write(bytes(3 << 20)); f.write(b'x')\nexcept OSError: pass"]),
    ("open files", "denied", "open_files", 137, ["--nofile", "64"], [BREACH, "open-files"]),
    ("duplicated descriptors", "denied", "open_files", 137, ["--nofile", "64"], [BREACH, "duplicates"]),
    ("open files in python", "denied", "open_files", 137, ["--nofile", "64"],
     [PY, "-c", "l = []\ntry:\n  while True: l.append(open('/dev/null'))\nexcept OSError: pass"]),
]


# 320 MB in eight processes, in pieces that are too small to be asked for.
GROWS = """
import os, time
for i in range(8):
    if os.fork() == 0:
        x = []
        for j in range(400):
            x.append(bytearray(b"x" * 100000))
            time.sleep(0.002)
        time.sleep(60)
time.sleep(60)
"""
NUMBERS = ("limit", "used", "lent", "asked", "refused")


# I-66: each number was measured. No group holds more than its limit, so that a breach of it is what the kernel refused; nobody's own sum is `used`.
def is_measured(r, *what):
    limit, used = r["limit"], r.get("used")
    check(used is None or used > limit or r.get("asked", 0) > limit or "more was refused" in r["reason"], *what)
    check(used is None or r["limiting_resource"] != "memory" or used <= r["usage"]["peak_memory_bytes"], *what)
    check(used is None or r["limiting_resource"] != "processes" or used <= limit or "refused" not in r, *what)
    check(used is not None or r["limiting_resource"] == "file_size", *what)


def breach(row):
    name, outcome, resource, code, options, what = row

    def fn():
        r = run(*options, "--exec", *what)
        check(r.receipt, r)
        same((r.receipt["outcome"], r.receipt["limiting_resource"], r.code), (outcome, resource, code), r)
        is_measured(r.receipt, r)
        check(r.receipt["exit_code"] is None and r.receipt["signal"] is None, r)
        events = log("--region", r.receipt["region"])
        types = [e["type"] for e in events]
        # How long the end took is no question here: a machine that has other things to do passes the bound, and says so.
        same([t for t in types if t not in ("region.denied", "region.bound_passed")], ["region.allocated", "region.faulted", "region.released", "invocation.ended"], r)
        fault = events[types.index("region.faulted")]
        same([fault.get(x) for x in ("resource", *NUMBERS)], [r.receipt.get(x) for x in ("limiting_resource", *NUMBERS)])
        check(r.out.count(b"x") <= 102400, "output beyond its budget came out")
        check(b"lethe why" in r.err, r)
    return fn


for row in TABLE:
    add("breach: " + row[0], breach(row))  # I-24


@case
def standing_at_the_limit_is_no_breach():
    for options, what in [
            (["--output-limit", "10"], [PY, "-c", "print('x' * 9)"]),
            (["--file-size", "1m"], [PY, "-c", "open('/work/x', 'wb').write(bytes(1 << 20))"]),
            (["--pids-limit", "3"], ["/bin/sh", "-c", "sleep 0.2 & sleep 0.2 & wait"]),
            (["--scratch", "1m"], [PY, "-c", "open('/tmp/x', 'wb').write(bytes((1 << 20) - 4096 * 4))"]),
            (["--nofile", "64"], [PY, "-c", "import os\nwhile os.dup(0) < 63: pass"])]:
        r = run(*options, "--exec", *what)
        same((r.receipt["outcome"], r.code), ("exited", 0), options, r)


# I-66: /proc tells a process's memory behind the groups of its user, who may have thousands.
@case_when(ROOT)
def memory_of_a_user_with_many_groups():
    own = os.path.join(DIR, "groups")
    os.mkdir(own)
    os.chown(own, 65534, 65534)
    os.chmod(DIR, 0o711)
    for groups in ([], list(range(4000000000, 4000000600))):
        r = lethe("run", "--no-serve", "--store", own + "/store", "--receipt", own + "/receipt", "--memory", "64m", "--exec", PY, "-c", GROWS,
                  env={"HOME": own}, user=65534, group=65534, extra_groups=groups)
        with open(own + "/receipt", encoding="utf-8") as f:
            receipt = json.load(f)
        same((receipt["outcome"], receipt["limiting_resource"], r.code), ("out_of_region", "memory", 137), len(groups), r)
        check(receipt["usage"]["peak_memory_bytes"] > 64 << 20, len(groups), receipt["usage"])


# What the limit refused, it did without. Where no group counts memory, files of the scratch are looked at, and count.
@case
def who_gets_along_with_its_memory_breaks_no_budget():
    if os.geteuid() != 0 or not os.path.exists("/sys/fs/cgroup/memory"):
        raise Skip("this kernel has no memory control group of version 1 for this user")
    r = run("--memory", "32m", "--scratch", "64m", "--file-size", "64m", "--exec", BREACH, "gets-along")
    same((r.receipt["outcome"], r.code), ("exited", 0), r)


# Processes that may take more than the budget without a call: the guard watches them. Where there are many, it leaves one processor to those who look.
@case
def who_can_take_more_than_is_left_leaves_a_processor():
    code = '''
import mmap, os, time
before = len(os.sched_getaffinity(0))
m = mmap.mmap(-1, 40 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for _ in range(%d):
    if os.fork() == 0:
        time.sleep(60)
for _ in range(%d):
    if len(os.sched_getaffinity(0)) < before:
        break
    time.sleep(0.05)
print(before - len(os.sched_getaffinity(0)), flush=True)
os._exit(0)
'''
    alone = os.geteuid() == 0 and os.path.exists("/sys/fs/cgroup/memory")
    for many, less in ((2 * os.cpu_count() + 1, 0 if alone or os.cpu_count() < 2 else 1), (1, 0)):
        r = run("--memory", "64m", "--pids-limit", str(many + 2), "--exec", PY, "-c", code % (many, 600 if less else 20))
        same((r.code, r.out), (0, b"%d\n" % less), many, r)


@case
def an_end_is_no_breach_though_files_filled_the_memory():
    path = os.path.join(DIR, "file")
    for what, mode, end in (("crash-after-files", "ro", ("signaled", 11, 139)), ("read-and-drop", "rw", ("exited", None, 0))):
        with open(path, "wb") as f:
            f.write(bytes(48 << 20))
            os.fsync(f.fileno())
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # who reads it first pays for it
        r = run("--memory", "32m", "-v", path + ":/file:" + mode, "--exec", BREACH, what)
        same((r.receipt["outcome"], r.receipt["signal"], r.code), end, what, r)


@case
def what_was_asked_for_and_never_touched_is_not_held():
    code = "import mmap, os, time\nm = mmap.mmap(-1, 500 << 20)\nm[:1 << 20] = bytes(b'x') * (1 << 20)\ntime.sleep(0.1)"
    for end in ("", "\nos._exit(0)"):  # unmapped before the end, and not
        r = run("--memory", "1g", "--exec", PY, "-c", code + end)
        t = r.receipt["teardown"]
        same((r.receipt["outcome"], t["grade"], t["bytes_missed"]), ("exited", "cleared", {}), r)
        check(t["counts"]["shared_bytes"] == (1 << 20 if end else 0) and t["bytes_held"] < 100 << 20, r)
        check(r.receipt["usage"]["peak_memory_bytes"] < 100 << 20, r)
    if os.geteuid() == 0:
        return  # a control group counts what is there, and 500 MB of nothing are no breach
    r = run("--memory", "128m", "--exec", PY, "-c", code)
    same((r.receipt["outcome"], r.receipt["limit"]), ("out_of_region", 128 << 20), r)
    check(r.receipt["used"] < 64 << 20 and r.receipt["asked"] >= 500 << 20, r)


@case
def memory_is_measured():
    r = run("--memory", "256m", "--exec", PY, "-c", "x = bytearray(100 << 20); import os, time; time.sleep(0.1); os._exit(0)")
    same(r.code, 0, r)
    peak = r.receipt["usage"]["peak_memory_bytes"]
    check(100 << 20 <= peak <= 130 << 20, peak)
    check(r.receipt["teardown"]["bytes_held"] >= 100 << 20, r)


@case
def what_a_killed_region_used_is_measured():
    code = "import os, time\nt = time.process_time()\nwhile time.process_time() - t < 0.1: pass\nx = bytearray(100 << 20); os.write(1, b'x' * 20); time.sleep(9)"
    r = run("--memory", "256m", "--output-limit", "10", "--exec", PY, "-c", code)
    same(r.receipt["outcome"], "output_exceeded", r)
    check(100 << 20 <= r.receipt["usage"]["peak_memory_bytes"] <= 130 << 20, r)
    u = r.receipt["usage"]  # one thread
    check(100000 <= u["cpu_usec"] <= 2 * u["wall_usec"], r)
    r = run("--output-limit", "1", "--exec", "/bin/sh", "-c", "echo before the first tick; sleep 9")
    same(r.receipt["outcome"], "output_exceeded", r)
    check(r.receipt["usage"]["peak_memory_bytes"] > 0, r)


@case
def a_breach_ends_only_its_own_region():
    other = subprocess.Popen([LETHE, "run", "--exec", "/bin/sh", "-c", "echo here; read go; exit 7"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV)
    same(other.stdout.readline(), b"here\n")
    r = run("--memory", "32m", "--exec", BREACH, "memory-at-once")
    same(r.receipt["outcome"], "out_of_region", r)
    other.communicate(b"go\n", timeout=120)
    same(other.returncode, 7)


@case
def nothing_is_left_and_the_audit_holds():
    same(cgroups_left(), [])
    same(lethe("ps", "--json").out, b"")
    r = lethe("audit")
    same(r.code, 0, r)


main()
