#!/usr/bin/python3
"""What the supervisor may wait for (I-62, I-63, I-64): never for a name that a region chose, nor for a file system that somebody mounted.

Each case has a file system whose server (holder.c) writes down all requests and never answers some of them. It answers none before the case is over, so that
a supervisor which waits for it is seen without a clock: `lethe` has ended, and the server still holds the request."""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from holding import PROGRAMS, ROOT_AT_FIRST, begin as begin_holding, end_holder, held_by, hold, said  # noqa: E402

CONNECTOR = os.path.join(PROGRAMS, "connector")
WHO = sys.argv[3] if len(sys.argv) > 3 else "root"

# Calls whose words the supervisor reads.
CALLS = {"lock": "libc.fcntl(os.open('own', os.O_RDWR | os.O_CREAT), fcntl.F_SETLK, at)", "watch": "libc.inotify_add_watch(libc.inotify_init(), at, 2)",
         "open": "libc.open(at, 0)", "exec": "libc.execve(at, None, None)", "connect": "libc.connect(socket.socket().fileno(), at, 16)"}

if begin_holding():
    LOOKUP = hold("lookup", "LOOKUP:slow")
    OWN, BELOW = hold("own", "READ:data"), hold("below", "READ:data")
    OF_USER = {user: hold("of-%d" % user, "closed", "user=%d" % user) for user in (0, 1234)}
    SOCKET = hold("socket", "LOOKUP:slow")
    DEAD, BROKEN = hold("dead", "READ:data"), hold("broken", "READ:data")
    WORDS = {call: hold("w-" + call, "READ:data") for call in CALLS}
    GRANTED = [(name, hold("g-" + name, *requests), what) for name, requests, what in (
        ("lookup", ["LOOKUP:slow"], ["/bin/cat", "/data/slow"]),
        ("open", ["OPEN:data"], ["/bin/cat", "/data/data"]),
        ("read", ["READ:data"], ["/bin/cat", "/data/data"]),
        ("page", ["READ:data"], ["/usr/bin/python3", "-c", "import mmap\nm = mmap.mmap((f := open('/data/data', 'rb')).fileno(), 4096, prot=mmap.PROT_READ)\nprint(m[0])"]),
        ("thread", ["READ:data"], ["/usr/bin/python3", "-c", "import threading, time\nthreading.Thread(target=lambda: open('/data/data').read()).start()\nwhile True: time.sleep(9)"]),
        ("program", ["READ:true"], ["/bin/sh", "-c", "/data/true"]),
        ("flush", ["FLUSH:data"], ["/usr/bin/head", "-c1", "/data/data"]),
        ("child", ["FLUSH:data"], ["/bin/sh", "-c", "head -c1 /data/data & wait"]),
        ("lock", ["FLUSH:data"], ["/usr/bin/python3", "-c", "import fcntl, os\nfcntl.lockf(os.open('/data/data', os.O_RDWR), fcntl.LOCK_EX)"]),
        ("multi-unlink", ["LOOKUP:slow"], ["/usr/bin/python3", "-c", "import os\nos.unlink('/data/slow')"]),
        ("multi-truncate", ["LOOKUP:slow"], ["/usr/bin/python3", "-c", "import os\nos.truncate('/data/slow', 0)"]),
        ("multi-exec", ["READ:true"], ["/usr/bin/python3", "-c", "import os\nos.symlink('/data/true', 'link')\nos.execv('link', ['link'])"]),
        ("write", ["WRITE:data"], ["/bin/dd", "if=/dev/zero", "of=/data/data", "bs=1", "count=1", "conv=notrunc"]))]

from account import use  # noqa: E402

use(WHO)

from tap import DIR, ENV, LETHE, STORE, Skip, alone, case, cgroups_left, check, end_daemon, lethe, log, main, python_skill, run, same, wait_for  # noqa: E402

PY = "/usr/bin/python3"
NOT_LOOKED_AT = "paths outside of the region, not examined on the host"


def served(fn):
    """A case that needs the file systems."""
    def ask():
        if not ROOT_AT_FIRST:
            raise Skip("needs root: mounts a file system of its own")
        fn()
    ask.__name__ = fn.__name__
    return case(ask)


def served_to_root(fn):
    """What root believes is its subject."""
    return served(fn) if WHO == "root" else fn


@served
def a_name_that_is_held_holds_who_asks():
    """The control: whoever looks at the host waits."""
    p = subprocess.Popen(["/bin/cat", LOOKUP + "/slow"], stderr=subprocess.DEVNULL)
    wait_for(lambda: "held LOOKUP slow" in said(LOOKUP), "the request")
    check(p.poll() is None)
    p.kill()  # it dies with the file system


@served_to_root
def what_a_users_server_says_of_owners_is_not_believed():  # I-65, I-82, I-93
    """Each says that all in it is root's, and that root alone can write it; the other one was mounted by root, who may say so. A copy is run of either: neither
    is a system folder."""
    os.chmod("/mnt", 0o755)
    copied, policies = {}, {}
    for user, folder in OF_USER.items():
        r = run("--no-serve", "--exec", folder + "/true")
        same(r.code, 0, r)
        copied[user] = os.path.exists(os.path.join(STORE, "programs", r.receipt["skill"]["digest"].replace(":", "-")))
        policies[user] = b"user 1234 serves the file system" in run("--no-serve", "--policy", folder + "/data", "--exec", "/bin/true").err
        r = run("--no-serve", "-v", "%s:%s" % (folder, folder), "--exec", "/bin/true")
        same(r.code, 0, r)
    same((copied, policies), ({0: True, 1234: True}, {0: False, 1234: True}), "a copy is run, and no policy of the user's taken")


@served
def names_outside_of_a_region_reach_nobody():  # I-62, I-64
    seen = said(LOOKUP)
    for options in ([], ["--discipline", "multipass"]):
        for program in (["/bin/cat", LOOKUP + "/slow"], ["/bin/cat", "/usr/../" + LOOKUP + "/slow/x"], ["/bin/sh", "-c", "cd /; cat mnt/lookup/slow"],
                        ["/bin/sh", "-c", "echo x >%s/slow" % LOOKUP], ["/bin/sh", "-c", "mkdir -p %s/slow/x" % LOOKUP], ["/bin/sh", "-c", LOOKUP + "/slow/x"],
                        [PY, "-c", "import os\nos.symlink('%s', 'link')\nopen('link/slow')" % LOOKUP]):
            r = run("--timeout", "20s", *options, "--exec", *program)
            same(r.receipt["outcome"], "exited", program, r)
            check(r.code != 0, program, r)
            same(said(LOOKUP), seen, program)


@served
def what_nobody_looked_at_is_said():  # I-64
    r = run("--exec", "/bin/cat", LOOKUP + "/slow", "/etc/no-such-file", "/etc/shadow")
    same([(d["object"], d["count"]) for d in r.receipt["denials"]], [("/etc/shadow", 1), (NOT_LOOKED_AT, 1)], r)


@case
def a_denied_path_ends_the_region_by_its_own_end():  # I-64
    """To be ended at the open would tell a region what the host has: it goes on, and the record says the same."""
    python_skill("strict", "import sys\nfor p in sys.argv[1:]:\n  try: open(p)\n  except OSError as e: print(e.errno)\n", on_denial="end")
    r = run("strict", "--", "/etc/shadow", "/etc/no-such-file")
    same((r.out, r.receipt["outcome"], r.code), (b"2\n2\n", "denied", 137), r)
    r = run("strict", "--", "/etc/no-such-file")
    same((r.out, r.receipt["outcome"], r.code, r.receipt["denials"]), (b"2\n", "exited", 0, []), r)


WALL = "read"  # the one that its time ends; on a machine that has other things to do it may be over before the request


def begin(name, folder, program):
    """Runs a program that waits for the folder's server."""
    path = os.path.join(DIR, os.path.basename(folder) + ".json")
    p = subprocess.Popen([LETHE, "run", "--receipt", path, "--timeout", "3s" if name == WALL else "10m", "--volume", folder + ":/data:rw",
                          "--discipline", "multipass" if name.startswith("multi-") else "zero", "--exec", *program], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return p, path


def left_behind(name, folder, p, path):
    """Its budget or a cancel ends it, the caller has its answer, and the record says what was not done. Returns the region and its outcome, or None."""
    if name != WALL:
        wait_for(lambda: held_by(folder) or p.poll() is not None, "the request")
        p.terminate()
    out, err = p.communicate(timeout=120)
    with open(path, encoding="utf-8") as f:
        receipt = json.load(f)
    if name == WALL and not held_by(folder):
        print("# its time was over before its request")
        same((p.returncode, receipt["outcome"], receipt["teardown"]["grade"]), (124, "timed_out", "cleared"), err, receipt)
        return None
    check(held_by(folder), said(folder), p.returncode, out, err)
    outcome = "timed_out" if name == WALL else "cancelled"
    same((p.returncode, receipt["outcome"]), (124 if name == WALL else 128 + signal.SIGTERM, outcome), folder, err, receipt)
    check(receipt["teardown"]["grade"] in ("unscrubbed", "partial"), folder, receipt)
    same((receipt["ledger"]["released"], receipt["ledger"]["ended"]), (None, None), receipt)
    check(b"cannot be killed" in err or outcome.encode() in err, err)
    left = [e for e in log("--region", receipt["region"]) if e["type"] == "region.left"]
    same([(e["outcome"], e["teardown"]["grade"]) for e in left], [(outcome, receipt["teardown"]["grade"])], folder, receipt)
    check(left[0]["tasks"] > 0, left)
    return folder, receipt["region"], outcome


LEFT = []


@served
def a_granted_file_system_that_never_answers_holds_nobody():  # I-62, I-63
    runs = [(name, folder, begin(name, folder, program)) for name, folder, program in GRANTED]  # at once: each takes the seconds after which it is left behind
    LEFT.extend(filter(None, [left_behind(name, folder, p, path) for name, folder, (p, path) in runs]))
    check(len(LEFT) >= len(GRANTED) - 1, LEFT)


@served
def words_in_a_page_that_never_comes_hold_nobody():  # I-62, I-63
    """The program passes an address in a file whose server gives no byte of it."""
    head = "import ctypes, fcntl, os, socket, time\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
    page = "at = ctypes.c_void_p(libc.mmap(None, 4096, 1, 2, os.open('/data/data', os.O_RDONLY), 0))\n"
    runs = []
    for call, code in CALLS.items():
        path = os.path.join(DIR, "words-%s.json" % call)
        runs.append((call, path, subprocess.Popen([LETHE, "run", "--receipt", path, "--timeout", "10m", "--connect", "127.0.0.1:9", "--volume", WORDS[call] + ":/data:rw",
                                                   "--exec", PY, "-c", head + page + code + "\nwhile True: time.sleep(9)\n"],
                                                  env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)))
    for call, path, p in runs:
        wait_for(lambda: held_by(WORDS[call]) or p.poll() is not None, "the request of " + call)
        p.terminate()
        out, err = p.communicate(timeout=120)
        with open(path, encoding="utf-8") as f:
            receipt = json.load(f)
        check(held_by(WORDS[call]), call, said(WORDS[call]), out, err)
        same((p.returncode, receipt["outcome"]), (128 + signal.SIGTERM, "cancelled"), call, err, receipt)


@served
def a_socket_below_a_name_that_is_held_holds_nobody():  # A-7, I-62
    """The supervisor looks the path of a connect up, in a task that it leaves behind. The region goes on and ends by itself."""
    r = run("--network", "loopback", "--volume", SOCKET + ":/data:rw", "--exec", PY, "-c",
            "import socket\ntry:\n    socket.socket(socket.AF_UNIX).connect('/data/slow/socket')\nexcept OSError as e:\n    print(e.errno)")
    check(held_by(SOCKET), said(SOCKET), r)
    same((r.code, r.out, r.receipt["teardown"]["grade"]), (0, b"13\n", "cleared"), r)


@served
def what_was_left_behind_holds_no_later_start():  # I-63
    same(run("--exec", "/bin/true").receipt["teardown"]["grade"], "cleared")
    for _, region, _ in LEFT:
        same([e["type"] for e in log("--region", region)][-1], "region.left")


@served
def what_was_left_behind_is_finished_when_it_can_be():  # I-63
    """The servers end, and the kernel answers for them: the guards overwrite what there is, and the next start records it."""
    end_daemon()
    for folder, _, _ in LEFT:
        end_holder(folder)

    def recovered():
        lethe("run", "--exec", "/bin/true")
        return all(log("--region", region)[-1]["type"] in ("region.recovered", "invocation.ended") for _, region, _ in LEFT)

    wait_for(recovered, "the record of those that were left")
    for folder, region, outcome in LEFT:
        ends = [e for e in log("--region", region) if e["type"] == "region.released"]
        # A file that is still open for writing cannot be looked at when its server is gone.
        same([(e["teardown"]["by"], e["teardown"]["grade"]) for e in ends], [("guard", "partial" if folder.endswith("/g-lock") else "cleared")], region, ends)
        same([(e["outcome"], e["reason"]) for e in log("--region", region) if e["type"] == "invocation.ended"], [(outcome, "left_behind")], region)
    same(lethe("ps", "--json").out, b"")
    same(cgroups_left(), [])
    same(lethe("audit").code, 0)


@contextlib.contextmanager
def listening(backlog=None):
    """A server on this machine that echoes; with a backlog one that accepts nobody, and whose backlog is full."""
    s, waiting = socket.create_server(("127.0.0.1", 0), backlog=16 if backlog is None else backlog), []

    def echo(c):
        with c:
            while data := c.recv(64):
                c.sendall(data)

    def accept():
        while True:
            try:
                threading.Thread(target=echo, args=(s.accept()[0],), daemon=True).start()
            except OSError:
                return

    if backlog is None:
        threading.Thread(target=accept, daemon=True).start()
    while backlog is not None:
        c = socket.socket()
        c.setblocking(False)
        c.connect_ex(s.getsockname())
        waiting.append(c)
        if not select.select([], [c], [], 0.2)[1] and len(waiting) > backlog + 1:  # the control: this one waits, as the region's will
            break
    try:
        yield "%s:%d" % s.getsockname()
    finally:
        s.shutdown(socket.SHUT_RDWR)
        for c in [*waiting, s]:
            c.close()


@case
def a_connect_that_nobody_takes_holds_nobody():  # I-62, I-63
    """While a thread of the region makes its socket blocking again and again."""
    with listening(0) as address:
        for _ in range(4):
            r = run("--timeout", "300ms", "--connect", address, "--exec", CONNECTOR, *address.split(":"), timeout=60)
            same((r.code, r.receipt["outcome"], r.receipt["teardown"]["grade"]), (124, "timed_out", "cleared"), r)


CONNECTS = r"""
import asyncio, errno, fcntl, os, select, socket, sys
a = (sys.argv[1], int(sys.argv[2]))
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
os.set_inheritable(s.fileno(), True)
assert s.connect_ex(a) == 0
assert s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1 and s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 131072
assert fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK == 0 and fcntl.fcntl(s, fcntl.F_GETFD) == 0 and s.getpeername() == a
assert s.connect_ex(a) == errno.EISCONN
s.sendall(b"a")
assert s.recv(1) == b"a"
n = socket.socket()
n.setblocking(False)
assert n.connect_ex(a) in (0, errno.EINPROGRESS)
assert fcntl.fcntl(n, fcntl.F_GETFL) & os.O_NONBLOCK and fcntl.fcntl(n, fcntl.F_GETFD) == fcntl.FD_CLOEXEC
select.select([], [n], [])
assert n.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
n.sendall(b"b")
select.select([n], [], [])
assert n.recv(1) == b"b"
async def many():
    async def one(i):
        r, w = await asyncio.open_connection(*a)
        w.write(b"%d" % (i % 10))
        assert await r.read(1) == b"%d" % (i % 10)
        w.close()
    await asyncio.gather(*map(one, range(40)))
asyncio.run(many())
assert socket.socket().connect_ex((a[0], 1)) == errno.EPERM
r, w = os.pipe()
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
address = a[1].to_bytes(2, "big")
address = socket.AF_INET.to_bytes(2, sys.byteorder) + address + socket.inet_aton(a[0]) + bytes(8)
assert libc.connect(r, address, 16) == -1 and ctypes.get_errno() == errno.ENOTSOCK
assert libc.connect(77, address, 16) == -1 and ctypes.get_errno() == errno.EBADF
print("all")
"""
NODE = """
const c = require('net').connect({host: process.argv[1], port: process.argv[2]}, () => c.write('n'));
c.on('data', d => { console.log(String(d)); c.end(); });
"""


@case
def programs_connect_as_they_know_it():  # I-62
    with listening() as address:
        host, port = address.split(":")
        r = run("--connect", address, "--exec", PY, "-c", CONNECTS, host, port)
        same((r.code, r.out), (0, b"all\n"), r)
        if os.path.exists("/usr/bin/node"):
            r = run("--connect", address, "--memory", "512m", "--exec", "/usr/bin/node", "-e", NODE, host, port)
            same((r.code, r.out), (0, b"n\n"), r)
    r = run("--connect", address, "--exec", PY, "-c", "import socket, sys\nprint(socket.socket().connect_ex((sys.argv[1], int(sys.argv[2]))))", host, port)
    same(r.out, b"111\n", "nobody listens", r)


HELD = "import lethe\nlethe.write('sub/held', 'x')\nopen('/data/data').read()\n"
ABOVE = """import json, os, sys, time
def say(method, **params): os.write(4, (json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\\n").encode())
say("hello", protocol=1)
say("skill.run", skill="held", args=[])
sys.stdin.readline()
for _ in range(80): os.write(4, b"no json\\n")
time.sleep(60)
"""


def begin_tree(folder):
    """Runs a region that breaks a rule of its pipe when it is told to, and below it one that waits for the folder's server: (process, region, region)."""
    policy = os.path.join(DIR, "held.policy")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "files": [{"path": folder, "access": "read"}]}, f)
    slots = ["sub/held"]
    python_skill("held", HELD, slots={n: {"type": "string"} for n in slots}, writes=slots, files=[{"path": folder, "access": "read", "at": "/data"}])
    python_skill("above", ABOVE, sub_skills=["held"], writes=slots)
    p = subprocess.Popen([LETHE, "run", "--policy", policy, "--memory", "512m", "-v", folder + ":/data", "above"], env=ENV, stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: held_by(folder) or p.poll() is not None, "the request")
    below = [e for e in log("--type", "region.allocated") if e.get("parent")][-1]
    same((p.poll(), below["skill"]["name"]), (None, "held"))
    return p, below["parent"], below["region"]


def types(region):
    return [e["type"] for e in log("--region", region)]


def left_below(above, held):
    """The one above is over, the one below is left behind, once."""
    same((types(above)[-1], types(held)[-1]), ("invocation.ended", "region.left"))
    same([e["outcome"] for e in log("--region", held) if e["type"] == "region.left"], ["cancelled"])
    same(lethe("run", "--exec", "/bin/true").code, 0)
    same(types(held).count("region.left"), 1)
    r = lethe("audit")
    check(r.code == 1 and b"after the end of its processes records that" in r.out + r.err and b"recovers it" not in r.out + r.err, r)


def finished(folder, held):
    """The server has ended, and a start has recorded what became of the region."""
    end_holder(folder)
    wait_for(lambda: lethe("run", "--exec", "/bin/true").code == 0 and types(held)[-1] == "invocation.ended", "the record of the one that was left")
    same(lethe("ps", "--json").out, b"")
    same(cgroups_left(), [])
    r = lethe("audit")
    same(r.code, 0, r)


ENDS = """import os
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, b"x")
    open("/data/data").read()
os.read(r, 1)
os.read(0, 1)
os.write(1, b"said")
os._exit(7)
"""


@served
@alone
def what_ended_by_itself_has_its_own_result():  # I-63
    """Its end is the program's, although a process that it started cannot be killed."""
    path = os.path.join(DIR, "own.json")
    p = subprocess.Popen([LETHE, "run", "--receipt", path, "-v", OWN + ":/data", "--exec", PY, "-c", ENDS], env=ENV, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: held_by(OWN) or p.poll() is not None, "the request")
    out, err = p.communicate(b"go", timeout=120)
    with open(path, encoding="utf-8") as f:
        receipt = json.load(f)
    same((p.returncode, out, receipt["outcome"], receipt["exit_code"]), (7, b"said", "exited", 7), err, receipt)
    check(receipt["teardown"]["grade"] in ("unscrubbed", "partial"), receipt)
    same([e["outcome"] for e in log("--region", receipt["region"]) if e["type"] == "region.left"], ["exited"], receipt)


BREAKS_WHEN_HELD = """import os, threading, time
threading.Thread(target=lambda: open("/data/data").read(), daemon=True).start()
while not os.path.exists("/marks/held"):
    time.sleep(0.01)
os.write(1, bytes(1 << 17))
time.sleep(600)
"""
ASKS = """import json, os, sys
def say(method, **params): os.write(4, (json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\\n").encode())
lines = os.fdopen(3)
say("hello", protocol=1)
lines.readline()
say("skill.run", skill="below", args=[])
answer = json.loads(lines.readline())["result"]
print(answer["outcome"])
sys.exit(5)
"""


@served
@alone
def what_is_left_below_leaves_the_one_above_its_result():  # I-63
    """The sub-skill is ended at its budget and left behind; the skill that started it hears so, and ends as it likes. It breaks its budget when its request is
    held, and not at a time."""
    policy, marks = os.path.join(DIR, "below.policy"), os.path.join(DIR, "below-marks")
    os.mkdir(marks)
    shown = [{"path": BELOW, "access": "read", "at": "/data"}, {"path": marks, "access": "read", "at": "/marks"}]
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "files": [{"path": s["path"], "access": "read"} for s in shown]}, f)
    python_skill("below", BREAKS_WHEN_HELD, files=shown, budgets={"output": "64k"})
    python_skill("asks", ASKS, sub_skills=["below"])
    path = os.path.join(DIR, "asks.json")
    p = subprocess.Popen([LETHE, "run", "--receipt", path, "--policy", policy, "--memory", "512m", "-v", BELOW + ":/data", "-v", marks + ":/marks", "asks"], env=ENV,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: held_by(BELOW) or p.poll() is not None, "the request")
    open(marks + "/held", "w", encoding="utf-8").close()
    out, err = p.communicate(timeout=120)
    check(held_by(BELOW), p.returncode, out, err)
    with open(path, encoding="utf-8") as f:
        receipt = json.load(f)
    same((p.returncode, out, receipt["outcome"]), (5, b"output_exceeded\n", "exited"), err, receipt)
    same(types(receipt["region"])[-1], "invocation.ended")
    below = [e["region"] for e in log("--type", "region.allocated") if e.get("parent") == receipt["region"]]
    same([types(r)[-1] for r in below], ["region.left"])


@served
@alone
def what_was_left_by_these_is_finished_too():  # I-63
    for folder in (OWN, BELOW):
        end_holder(folder)
    wait_for(lambda: lethe("run", "--exec", "/bin/true").code == 0 and lethe("ps", "--json").out == b"", "the record of those that were left")
    same(cgroups_left(), [])
    same(lethe("audit").code, 0)


@served
@alone
def what_a_dead_supervisor_leaves_in_the_kernel_ends_after_the_one_above():  # I-15, I-60, I-63
    """Both are recovered by the next start, those below first: one that cannot die yet is recorded as left before the one above is released."""
    p, above, held = begin_tree(DEAD)
    p.kill()
    p.wait(60)
    p.stdin.close()
    same(lethe("run", "--exec", "/bin/true").code, 0)
    left_below(above, held)
    finished(DEAD, held)
    same(lethe("slot", "get", "sub/held").out.strip(), b'"x"')  # it was acknowledged, and nobody broke anything


@served
@alone
def what_is_left_below_a_breach_keeps_nothing():  # I-15, I-63, I-98
    """The supervisor leaves it behind and releases the one above: its row is gone before the end of the one below is recorded."""
    p, above, held = begin_tree(BROKEN)
    p.stdin.write(b"\n")
    p.stdin.close()
    same(p.wait(60), 137)
    same(lethe("run", "--exec", "/bin/true").code, 0)
    left_below(above, held)
    finished(BROKEN, held)
    same([(e["type"], e["reason"]) for e in log("--region", held) if e["type"] in ("slot.written", "slot.discarded")], [("slot.discarded", "denied of " + above)])


if __name__ == "__main__":
    main()
