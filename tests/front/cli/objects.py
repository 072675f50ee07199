#!/usr/bin/python3
"""Objects of the kernel that are not a region's alone, and memory that hangs where no process shows it: locks, watches, shared memory. TAP.

usage: objects.py LETHE root|user
"""
import ctypes  # noqa: F401  tiers.py and tap.py need these, and a Python of root's own is out of reach for an ordinary user
import errno  # noqa: F401
import fcntl
import json
import os
import resource
import socket  # noqa: F401
import struct
import subprocess
import sys

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ROOT, Skip, alone, case, case_when, check, lethe, log, main, processes_below, run, same, start_daemon, stop_daemon  # noqa: E402
from tiers import TIERS  # noqa: E402

PY = "/usr/bin/python3"
os.chmod(DIR, 0o755)  # in tier landlock root's regions are those of another user


def program(name, text):
    path = os.path.join(DIR, name + ".py")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def python(name, text, *options, args=(), **kw):
    path = program(name, text)
    return run(*options, "-v", path + ":" + path, "--exec", PY, path, *args, **kw)


def is_locked(path):
    """Whether somebody holds a lock of any kind on it, as another process of the host sees it."""
    with open(path, "rb") as f:
        asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        if struct.unpack("hhqqi4x", fcntl.fcntl(f, fcntl.F_OFD_GETLK, asked))[0] != fcntl.F_UNLCK:
            return True
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


# Two threads: one keeps putting the file of the host and one of the region's own at one descriptor, the other locks that descriptor. Each lock that it
# gets is kept, by a copy of the descriptor.
SWAPS = """
import ctypes, fcntl, os, sys, threading
dup2 = ctypes.CDLL(None).dup2   # lets the other thread go on after each call
theirs, own = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_RDWR | os.O_CREAT, 0o644)
at, stop = os.dup(theirs if sys.argv[3] == "direct" else own), sys.argv[3] == "direct"
def swap():
    while not stop:
        dup2(theirs, at); dup2(own, at)
t = threading.Thread(target=swap)
t.start()
for i in range(1 if stop else int(sys.argv[3])):
    for how in (lambda: fcntl.lockf(at, fcntl.LOCK_SH | fcntl.LOCK_NB), lambda: fcntl.flock(at, fcntl.LOCK_SH | fcntl.LOCK_NB),
                lambda: fcntl.fcntl(at, 37, fcntl_read)):
        try:
            how()
        except OSError:
            pass
stop = True
t.join()
print("done", flush=True)
sys.stdin.read()
""".replace("fcntl_read", "__import__('struct').pack('hhqqi4x', fcntl.F_RDLCK, 0, 0, 0, 0)")


def race(argv, path):
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV)
    try:
        same(p.stdout.readline(), b"done\n", argv)
        return is_locked(path)
    finally:
        p.communicate()


@case
def no_thread_slips_a_file_of_the_host_under_a_lock():  # I-68
    path, target = program("swaps", SWAPS), os.path.join(DIR, "target")
    with open(target, "w", encoding="utf-8") as f:
        f.write("x")
    # Without Lethe, and without chance: the file of the host is what is locked.
    check(race([PY, path, target, os.path.join(DIR, "mine"), "direct"], target), "the control holds no lock")
    for how in ("direct", "300"):
        check(not race([LETHE, "run", "-v", path + ":" + path, "-v", target + ":" + target, "--exec", PY, path, target, "/work/own", how], target),
              "a region holds a lock of a file that it may only read")


OWN = """
import fcntl, os, sqlite3, threading
def other(what):
    r, w = os.pipe()
    if os.fork() == 0:
        try: what(); out = b"yes"
        except OSError as e: out = type(e).__name__.encode()
        os.write(w, out); os._exit(0)
    os.close(w)
    with os.fdopen(r, "rb") as f: text = f.read().decode()
    os.wait()
    return text
def opened(how, flags): return lambda: how(open("own", "r+"), flags)
EX = fcntl.LOCK_EX | fcntl.LOCK_NB
f, g = open("own", "w+"), open("own", "r+")
fcntl.lockf(f, EX); fcntl.lockf(g, EX)
print("record, same process and another one:", other(opened(fcntl.lockf, EX)))
f.close(); g.close()
print("record, closed:", other(opened(fcntl.lockf, EX)))
f = open("own", "r+")
fcntl.lockf(f, EX, 10, 100)
print("record, other range:", other(lambda: fcntl.lockf(open("own", "r+"), EX, 10, 0)), other(lambda: fcntl.lockf(open("own", "r+"), EX, 10, 109)))
fcntl.lockf(f, fcntl.LOCK_UN)
fcntl.flock(f, EX)
print("flock:", other(opened(fcntl.flock, EX)), other(lambda: fcntl.flock(f, EX)))
ready, go = os.pipe()
if os.fork() == 0:
    h = open("own", "r+")
    os.write(go, b"x")
    fcntl.flock(h, fcntl.LOCK_SH)   # waits
    os.write(go, b"y"); os._exit(0)
os.read(ready, 1)
fcntl.flock(f, fcntl.LOCK_UN)
print("waited:", os.read(ready, 1)); os.wait()
db = sqlite3.connect("d", isolation_level=None); db.execute("create table t(x)")
def write(n):
    c = sqlite3.connect("d", timeout=60, isolation_level=None)
    for i in range(n): c.execute("insert into t values(?)", (i,))
    c.close()
threads = [threading.Thread(target=write, args=(10,)) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
print("rows:", db.execute("select count(*) from t").fetchone()[0], other(lambda: write(5)), db.execute("select count(*) from t").fetchone()[0])
"""
OWN_SAYS = """record, same process and another one: BlockingIOError
record, closed: yes
record, other range: yes BlockingIOError
flock: BlockingIOError yes
waited: b'y'
rows: 30 yes 35
"""


@case
def locks_of_its_own_are_as_without_it():  # I-68
    p = program("own", OWN)
    r = subprocess.run([PY, p], cwd=DIR, stdout=subprocess.PIPE, check=True, env=ENV)
    same(r.stdout.decode(), OWN_SAYS)
    for tier in TIERS:
        r = python("own", OWN, "--tier", tier)
        same((r.code, r.out.decode()), (0, OWN_SAYS), tier, r)
        same([d for d in r.receipt["denials"] if d["rule"] == "locks"], [], tier)


@case
def a_wait_for_a_lock_ends_with_a_signal_and_with_the_region():  # I-68, I-63
    text = """
import fcntl, os, signal
def alarm(*a): raise InterruptedError
signal.signal(signal.SIGALRM, alarm)
f, g = open("own", "w"), open("own", "w")
fcntl.flock(f, fcntl.LOCK_EX)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    fcntl.flock(g, fcntl.LOCK_EX)
except InterruptedError: print("interrupted", flush=True)
fcntl.flock(g, fcntl.LOCK_EX)
"""
    path, receipt = program("waits", text), os.path.join(DIR, "waits.json")
    p = subprocess.Popen([LETHE, "run", "--receipt", receipt, "-v", path + ":" + path, "--exec", PY, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=ENV)
    same(p.stdout.readline(), b"interrupted\n")
    p.terminate()
    p.communicate(timeout=120)
    with open(receipt, encoding="utf-8") as f:
        same((p.returncode, json.load(f)["outcome"]), (143, "cancelled"))


@case
def a_grant_to_write_is_one_to_lock():  # I-68: a lock there is for the host to see
    folder = os.path.join(DIR, "shared")
    os.makedirs(folder, exist_ok=True)
    path = program("granted", "import fcntl, sys\nf = open('/g/f', 'w')\nfcntl.lockf(f, fcntl.LOCK_EX)\nprint('done', flush=True)\nsys.stdin.read()\n")
    p = subprocess.Popen([LETHE, "run", "-v", path + ":" + path, "-v", folder + ":/g:rw", "--exec", PY, path], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, env=ENV)
    same(p.stdout.readline(), b"done\n")
    check(is_locked(folder + "/f"), "the host sees no lock")
    p.communicate()
    check(not is_locked(folder + "/f"), "the lock outlives its region")


@case
def the_number_of_locked_ranges_is_bounded():  # I-66, I-67
    r = python("ranges", """
import fcntl
f = open("own", "w")
try:
    for i in range(20000): fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * i)
except OSError as e: print(i, e.errno)
""")
    n, e = r.out.split()
    check(2000 < int(n) <= 4096 and int(e) == 37, r)
    same([(d["rule"], d["operation"]) for d in r.receipt["denials"]], [("locks", "fcntl")])


@case
def a_watch_is_for_the_scratch():  # I-67, I-68
    r = python("watch", """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
def add(path): return libc.inotify_add_watch(fd, path.encode(), 0x100)
def word(path): return add(path) > 0 or errno.errorcode[ctypes.get_errno()]
os.symlink("/usr", "to-usr")
print([word(p) for p in ("/work", "/tmp", ".", "/work/../work", "/work/none", "/usr", "/work/../usr", "to-usr", "/dev/null", "/none")])
open("seen", "w").close()
print(b"seen" in os.read(fd, 4096))
n = 0
while True:
    os.mkdir("/tmp/%d" % n)
    if add("/tmp/%d" % n) < 0: break
    n += 1
print(n, errno.errorcode[ctypes.get_errno()])
""", "--scratch", "32m")
    same(r.out.decode().splitlines(), ["[True, True, True, True, 'ENOENT', 'EACCES', 'EACCES', 'EACCES', 'EACCES', 'EACCES']", "True", "1022 ENOSPC"], r)


@case
def shared_memory_is_given_back_when_it_is_gone():  # I-66
    # Ten times the budget, one after the other; then a part of it stays mapped in a child.
    text = """
import mmap, os
for i in range(80):
    m = mmap.mmap(-1, 8 << 20)
    m[::4096] = b"x" * 2048
    m.close()
for i in range(500):  # quicker than any look
    mmap.mmap(-1, 8 << 20).close()
m = mmap.mmap(-1, 8 << 20)
m[:5] = b"hello"
if os.fork() == 0:
    m[5:10] = b" you "
    os._exit(0)
os.wait()
print(m[:10])
"""
    for tier in TIERS:
        r = python("shared", text, "--memory", "64m", "--tier", tier)
        same((r.code, r.out), (0, b"b'hello you '\n"), tier, r)
        check(r.receipt["usage"]["peak_memory_bytes"] <= 64 << 20, r)


def living(n, *options):
    """So many regions at once, each for as long as its standard input is open: who each one's program is on the host, and who owns its user namespace."""
    path = program("lives", "import sys\nprint('here', flush=True)\nsys.stdin.read()\n")
    runs = [subprocess.Popen([LETHE, "run", *options, "-v", path + ":" + path, "--exec", PY, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV)
            for _ in range(n)]
    found = []
    try:
        for p in runs:
            same(p.stdout.readline(), b"here\n")
            pid = [x for x, name in processes_below(p.pid) if name.startswith("python3")][0]
            with open("/proc/%d/ns/user" % pid, "rb") as f:
                owner = struct.unpack("I", fcntl.ioctl(f, 0xb704, b"\0" * 4))[0]  # NS_GET_OWNER_UID
            found.append((os.stat("/proc/%d" % pid).st_uid, owner))
    finally:
        for p in runs:
            p.communicate()
    return found


RANGE = range(1879048192, 1879048192 + 65536)


@case
def each_region_of_root_is_a_user_of_its_own():  # I-67
    if not ROOT:
        same(living(1), [(os.getuid(), os.getuid())])
        same(run("--exec", "/bin/true").receipt["host_user"], {"uid": os.getuid(), "of": "lethe"})
        return
    found = living(3)
    same(len(set(found)), 3, found)
    r = run("--exec", "/bin/true")
    same((r.receipt["host_user"]["of"], r.receipt["host_user"]["uid"] in RANGE), ("region", True), r)
    same([e["host_user"] for e in log("--region", r.receipt["region"]) if e["type"] == "region.released"], [r.receipt["host_user"]])
    for uid, owner in found:
        check(uid == owner and uid in RANGE, found)  # what is counted for the namespace's owner is not root's
    if "landlock" in TIERS:
        check(living(1, "--tier", "landlock")[0][0] in RANGE)


UNMAPPED = """
import ctypes, os, sys
ready, go = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    assert ctypes.CDLL(None).unshare(0x10020000) == 0  # CLONE_NEWUSER, CLONE_NEWNS
    os.write(ready[1], b"x"); os.read(go[0], 1)
    os.execv(sys.argv[1], sys.argv[1:])
os.read(ready[0], 1)
for name in ("uid_map", "gid_map"):
    with open("/proc/%d/%s" % (pid, name), "w") as f: f.write("0 0 1000\\n65534 65534 1\\n")
os.write(go[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


@case_when(ROOT)  # an ordinary user gives its regions no id
@alone
def a_user_that_regions_share_is_told():  # I-67: where the range of ids is not mapped
    path, receipt, env = program("unmapped", UNMAPPED), os.path.join(DIR, "unmapped.json"), dict(ENV, LETHE_STORE=os.path.join(DIR, "unmapped-store"))
    del env["LETHE_ANCHOR"]
    p = subprocess.run([PY, path, LETHE, "run", "--receipt", receipt, "--exec", "/bin/true"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, check=False)
    same(p.returncode, 0, p.stderr)
    with open(receipt, encoding="utf-8") as f:
        same(json.load(f)["host_user"], {"uid": 65534, "of": "nobody"})
    p = subprocess.run([PY, path, LETHE, "doctor", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=env, check=False)
    found = {c["name"]: c["status"] for c in json.loads(p.stdout)["checks"]}
    same(found["region-uids"], "warn", found)
    own = {c["name"]: c["status"] for c in json.loads(lethe("doctor", "--json").out)["checks"]}
    same(own["region-uids"], "ok", own)  # the control


WATCHES = """
import ctypes, sys
libc, n = ctypes.CDLL(None), 0
while n < 17 and libc.inotify_init1(0) >= 0: n += 1
print(n, flush=True)
sys.stdin.read()
"""


@case_when(ROOT)  # hides a folder of /proc
@alone
def where_inotify_cannot_be_limited_there_is_none():  # I-67
    path = program("one", "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nprint(l.inotify_init1(0) >= 0, ctypes.get_errno())\n")
    what = [LETHE, "run", "-v", path + ":" + path, "--exec", PY, path]
    for hidden, want in ((False, b"True 0\n"), (True, b"False 1\n")):
        hide = ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", 'mount -t tmpfs none /proc/sys/user && exec "$@"', "sh"] if hidden else []
        r = subprocess.run([*hide, *what], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, check=False)
        same((r.returncode, r.stdout), (0, want), hidden, r.stderr)


@case_when(ROOT)  # an ordinary user is the one of all its regions
@alone
def a_region_of_a_template_has_all_of_its_own_share():  # I-67: one more than a template's user has room for, all alive at once
    with open("/proc/sys/user/max_inotify_instances", encoding="utf-8") as f:
        room = int(f.read()) // 16
    if room > 16:
        raise Skip("this kernel has no scarce inotify: a user has room for %d regions" % room)
    path, env = program("watches", WATCHES), dict(ENV, LETHE_SOCKET=os.path.join(DIR, "share-socket"), LETHE_STORE=os.path.join(DIR, "share-store"))
    del env["LETHE_ANCHOR"], env["LETHE_SERVE"]
    what = ["-v", path + ":" + path, "--exec", PY, "-I", "-S", path]
    daemon, runs = start_daemon(env, "--max-running", "32"), []
    try:
        for _ in range(2):  # a view gets its template with the second region
            subprocess.run([LETHE, "run", *what], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=env, check=True)
        for i in range(room + 2):
            receipt = os.path.join(DIR, "share-%d.json" % i)
            runs.append((receipt, subprocess.Popen([LETHE, "run", "--receipt", receipt, *what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)))
        same([p.stdout.readline() for _, p in runs], [b"16\n"] * len(runs))
    finally:
        for _, p in runs:
            p.communicate()
        same(stop_daemon(daemon), 0)
    users = []
    for receipt, _ in runs:
        with open(receipt, encoding="utf-8") as f:
            users.append(json.load(f)["host_user"])
    shared = [u["uid"] for u in users if u["of"] == "template"]
    check(shared and max(shared.count(x) for x in shared) <= room, users)
    same({u["of"] for u in users} - {"template", "region"}, set())


# Ids of this process's own: another one that runs this file at the same time has others. Behind RANGE.
FREE = 1879200000 + os.getpid() * 32


@case
@alone
def the_range_of_ids_is_the_operators():  # I-67
    policy = os.path.join(DIR, "uids.json")

    def ruled(first, count):
        with open(policy, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "region_uids": {k: v for k, v in (("first", first), ("count", count)) if v is not None}}, f)

    for first, count, words in ((FREE, 1, None), (65000, 1000, "/etc/passwd has 65534"), (0, 1, "region_uids/first"), (1, None, "both needed"),
                                (4294967290, 10, "at most 4294967294")):
        ruled(first, count)
        if not ROOT and words and "passwd" in words:  # an ordinary user gives its regions no id
            words = None
        r = lethe("run", "--policy", policy, "--exec", "/bin/true")
        check(r.code != 0 and words.encode() in r.err if words else r.code == 0, first, count, r)
    if not ROOT:
        return
    for place, text, words in (("/etc/passwd", "free::%d:0::/:/bin/sh\n" % (FREE + 3), b"/etc/passwd has %d" % (FREE + 3)),
                               ("/etc/passwd", "free::%d:0::/:/bin/sh\n" % (FREE + 16), None),
                               ("/etc/subuid", "lent:%d:5000\n" % (FREE - 1000), b"/etc/subuid has %d" % (FREE - 1000))):
        ruled(FREE, 16)
        file = os.path.join(DIR, os.path.basename(place))
        with open(place, encoding="utf-8") as f, open(file, "w", encoding="utf-8") as g:
            g.write(f.read() + text)
        p = subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && shift 2 && exec "$@"', "sh", file, place, LETHE, "run", "--policy", policy,
                            "--exec", "/bin/true"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=ENV, check=False)
        check(p.returncode != 0 and words in p.stderr if words else p.returncode == 0, place, text, p)
    ruled(FREE, 1)
    path = program("lives", "import sys\nprint('here', flush=True)\nsys.stdin.read()\n")
    p = subprocess.Popen([LETHE, "run", "--policy", policy, "-v", path + ":" + path, "--exec", PY, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV)
    same(p.stdout.readline(), b"here\n")
    other = lethe("run", "--policy", policy, "--store", os.path.join(DIR, "other-store"), "--exec", "/bin/true")
    p.communicate()
    check(other.code == 125 and b"a living region has each of them" in other.err, other)
    same(lethe("run", "--policy", policy, "--exec", "/bin/true").code, 0)


# As many timers as it is given.
TIMERS = """
import ctypes, sys
libc, timer, n = ctypes.CDLL(None), ctypes.c_void_p(), 0
while n < 3000 and libc.timer_create(1, None, ctypes.byref(timer)) == 0:
    n += 1
print(n, flush=True)
sys.stdin.read()
"""


@case
@alone
def capacity_knows_the_limits_of_objects():  # I-67
    def objects(pending):
        before = resource.getrlimit(resource.RLIMIT_SIGPENDING)
        resource.setrlimit(resource.RLIMIT_SIGPENDING, (pending, before[1]))
        try:
            r = lethe("capacity", "--json", "any:1")
            text = lethe("capacity", "any:1").out.decode()
            path = program("timers", TIMERS)
            regions = [subprocess.Popen([LETHE, "run", "-v", path + ":" + path, "--exec", PY, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV)
                       for _ in range(3)]
        finally:
            resource.setrlimit(resource.RLIMIT_SIGPENDING, before)
        got = [int(p.stdout.readline()) for p in regions]
        for p in regions:
            p.communicate()
        said = json.loads(r.out)["objects"]
        return said, {row["object"]: row for row in said["limits"]}, text, got

    with open("/proc/sys/user/max_inotify_instances", encoding="utf-8") as f:
        instances = int(f.read())
    # Two regions of one user can have all of theirs, and a third one not.
    said, rows, text, got = objects(2048)
    watches = rows["inotify_instances"]
    same((watches["region"], watches["user"], watches["limit"]), (16, instances, "user.max_inotify_instances"))
    same((rows["signals_and_timers"]["region"], rows["signals_and_timers"]["user"]), (1024, 2048))
    same((rows["pipe_pages"]["region"], rows["pipe_pages"]["regions"], rows["message_queues"]["region"], rows["locked_ranges"]["region"]), (None, None, 0, 4096))
    if said["own_users"]:
        check(ROOT)
        same((said["regions"], rows["users"]["regions"], rows["signals_and_timers"]["regions"], watches["regions"]), (65536, 65536, None, None))
        same(got, [1024] * 3)
        return
    same((rows["signals_and_timers"]["regions"], watches["regions"], said["regions"]), (2, instances // 16, min(2, instances // 16)), said)
    check("1024 each, 2048 a user (RLIMIT_SIGPENDING): enough for 2 regions" in text, text)
    check(max(got) <= 1024 and sum(got) <= 2048, got)


main()
