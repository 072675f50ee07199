#!/usr/bin/python3
"""For a client of another user `lethe serve` uses none of its own rights: not on what the client has opened, not on what the client names. TAP.

usage: rights.py LETHE
"""
import array
import base64
import ctypes
import json
import mmap
import os
import signal
import socket
import stat
import struct
import subprocess
import threading

import others
from others import ALICE, Daemon, as_user, policy, skill
from served import SOCKET, Connection, word
from tap import DIR, ENV, LETHE, STORE, ask_daemon, case, check, lethe, main, same, state_of, wait_for

SAY = 'if [ "$1" = flood ]; then yes 0123456789abcde | head -c 3000000; exit 3; fi; printf %s "$1"; cat; [ "$1" != err ] || echo bad >&2\n'


def as_alice(*argv, **kw):
    """`lethe run` of that user."""
    return subprocess.Popen(["/usr/bin/setpriv", "--reuid=%d" % ALICE, "--regid=%d" % ALICE, "--clear-groups", LETHE, "run", "--store", STORE, *argv],
                            env={k: v for k, v in ENV.items() if k != "LETHE_POLICY"}, cwd="/", **kw)


def service():
    """A datagram socket that is told who sends, as systemd's notify socket and the journal are; and one that is connected to it."""
    name = "\0lethe-rights-%d" % os.getpid()
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    s.bind(name)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    s.setblocking(False)
    to = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    to.connect(name)
    return s, to


def heard(s):
    """Text and user of each datagram that came."""
    out = []
    while True:
        try:
            data, ancillary, _, _ = s.recvmsg(4096, 256)
        except BlockingIOError:
            return out
        out += [(data, struct.unpack("3i", value)[1]) for _, kind, value in ancillary if kind == socket.SCM_CREDENTIALS]


def pass_to_run(fds, **params):
    """The answer to a run of `say` with these descriptors, and whether the connection goes on."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(120)
        s.connect(SOCKET)
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"skill": "say", **params}}).encode() + b"\n"
        s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        with s.makefile("rb") as f:
            first = json.loads(f.readline())
            try:
                s.sendall(b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n')
                return [first, f.readline() != b""]
            except (BrokenPipeError, ConnectionResetError):
                return [first, False]


@case
def skills_are_there():
    others.need_root()
    policy()
    skill("say", SAY)


@case
def the_daemon_speaks_on_no_socket_of_theirs():  # I-95
    policy({"uid": ALICE})
    s, to = service()
    with Daemon():
        a = pass_to_run([to.fileno()], args=["MAINPID=1"], stdio=["stdout"])[0]
        same((a["result"]["exit_code"], heard(s)), (0, [(b"MAINPID=1", 0)]), "of its own user's socket it is the daemon that is heard: that is what others must not get")
        a, goes_on = as_user(ALICE, lambda: pass_to_run([to.fileno()], args=["MAINPID=2"], stdio=["stdout"]))
        same((word(a), goes_on, heard(s)), ("streams", False, []), a)
        a = as_user(ALICE, lambda: pass_to_run([to.fileno()], args=["MAINPID=3"]))[0]
        same((word(a), heard(s)), ("streams", []), a)
        p = as_alice("say", "MAINPID=4", stdin=subprocess.DEVNULL, stdout=to)
        same((p.wait(60), heard(s)), (0, [(b"MAINPID=4", ALICE)]), "its own client writes with its own rights")
    s.close()
    to.close()


@case
def no_special_mode_bit_is_kept():  # I-95
    policy({"uid": ALICE})
    path = os.path.join(DIR, "special")
    with Daemon():
        for who, want in ((0, 0o4777), (ALICE, 0o777)):
            with open(path, "w", encoding="utf-8") as f:
                f.write("before")
            os.chmod(path, 0o4777)
            with open(path, "r+b") as f:
                if who == 0:
                    r = subprocess.run([LETHE, "run", "--store", STORE, "say", "bytes"], env=ENV, stdin=subprocess.DEVNULL, stdout=f, timeout=60, check=False).returncode
                else:
                    r = as_alice("say", "bytes", stdin=subprocess.DEVNULL, stdout=f).wait(60)
            with open(path, "rb") as f:
                same((r, f.read(), oct(stat.S_IMODE(os.stat(path).st_mode))), (0, b"bytese", oct(want)), who)


@case
def nothing_that_they_name_is_looked_up():  # I-95
    policy({"uid": ALICE})
    there, missing = os.path.join(DIR, "secret"), os.path.join(DIR, "secret", "missing")
    os.makedirs(there, exist_ok=True)
    os.chmod(there, 0o700)
    with Daemon():
        for name in ("store", "anchor", "policy"):
            params = [{"skill": "say", name: path} for path in (there, missing, STORE, "", "/")]
            with Connection() as c:
                messages = {c.call("run", **p)["error"]["message"].replace(p[name], "") for p in params if p[name] not in ("", STORE)}
            check(len(messages) >= 1)

            def fn():
                with Connection() as c:
                    return [c.call("run", **p) for p in params]  # pylint: disable=cell-var-from-loop
            answers = as_user(ALICE, fn)
            same({word(a) for a in answers}, {"not_allowed"})
            same(len({a["error"]["message"] for a in answers}), 1, answers)
        # The owner's is looked up: the same folder by another name is the same store.
        os.symlink(STORE, os.path.join(DIR, "alias"))
        with Connection() as c:
            same(c.call("run", skill="say", args=["x"], store=os.path.join(DIR, "alias"))["result"]["stdout"], "x")


@case
def streams_go_over_the_connection():  # I-95
    policy({"uid": ALICE})

    def talk():
        with Connection() as c:
            out = {"stdout": b"", "stderr": b""}
            run = c.send("run", skill="say", args=["err"], stream=["stdin", "stdout", "stderr"], receipt=False)
            opened = []
            for i in range(40):
                n = c.send("input", id=run, **({"data": base64.b64encode(b"%05d" % i * 8000).decode()} if i < 39 else {"end": True}))
                while True:
                    a = c.read()
                    if a.get("method") == "output":
                        out[a["params"]["stream"]] += base64.b64decode(a["params"]["data"])
                    elif a["id"] == n:
                        opened.append(a["result"]["open"])
                        break
                    else:
                        raise AssertionError(a)
            while True:
                a = c.read()
                if a.get("method") != "output":
                    break
                out[a["params"]["stream"]] += base64.b64decode(a["params"]["data"])
            want = b"err" + b"".join(b"%05d" % i * 8000 for i in range(39))
            return [a["id"] == run, a["result"]["exit_code"], out["stdout"] == want, out["stderr"].decode(), opened == [True] * 39 + [False], a["result"].keys() & {"stdout", "stderr"} == set()]

    with Daemon():
        same(as_user(ALICE, talk), [True, 0, True, "bad\n", True, True])
        same(talk(), [True, 0, True, "bad\n", True, True], "of the daemon's own user, too")


@case
def a_run_of_theirs_looks_like_any_other():  # I-95
    policy({"uid": ALICE})
    text = os.urandom(300000)
    path = os.path.join(DIR, "input")
    with open(path, "wb") as f:
        f.write(text)
    with Daemon():
        with open(path, "rb") as f:
            p = as_alice("say", "", stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            same((p.communicate(timeout=60), p.returncode), ((text, b""), 0))
        p = as_alice("say", "err", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        same((p.communicate(text, timeout=60), p.returncode), ((b"err" + text, b"bad\n"), 0))
        p = as_alice("say", "flood", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        out = p.communicate(timeout=60)[0]
        same((len(out), out[:32], p.returncode), (3000000, b"0123456789abcde\n" * 2, 3))
        p = as_alice("say", "flood", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        p.stdout.read(16)
        p.stdout.close()
        same(p.wait(60), 128 + signal.SIGPIPE)
        p = as_alice("say", "some", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        same(p.stdout.read(4), b"some", "what is written is told at once")
        p.send_signal(signal.SIGTERM)
        same(p.wait(60), 128 + signal.SIGTERM)
        p.stdin.close()
        p.stdout.close()


@case
def input_is_taken_piece_by_piece():  # I-95
    with Daemon(), Connection() as c:
        run = c.send("run", skill="say", args=[""], stream=["stdin", "stdout"])
        wrong = [({"id": 99}, "no_request"), ({"id": run, "data": "*"}, "invalid_params"), ({"id": run, "data": "A" * 100000}, "invalid_params"), ({"data": ""}, "invalid_params")]
        same([word(c.call("input", **p)) for p, _ in wrong], [w for _, w in wrong])
        same(c.call("input", id=run, end=True)["result"], {"open": False})
        same(c.read()["result"]["exit_code"], 0)
        same(word(c.call("input", id=run, data="")), "no_request", "it is over")
        for params in ({"stream": ["stdin"], "stdin": "x"}, {"stream": ["stdin", "stdin"]}, {"stream": ["x"]}, {"stream": "stdin"}):
            same(word(c.call("run", skill="say", **params)), "invalid_params", params)
        run = c.send("run", skill="say", args=[""])
        same(word(c.call("input", id=run, data="")), "invalid_params", "its input is no stream")
        c.read()


@case
def who_does_not_read_holds_up_only_its_own():  # I-95
    policy({"uid": ALICE})
    with Daemon() as d:
        def flood():
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.connect(SOCKET)
            for i in range(4):
                s.sendall(json.dumps({"jsonrpc": "2.0", "id": i, "method": "run", "params": {"skill": "say", "args": ["flood"], "stream": ["stdout"]}}).encode() + b"\n")
            return s
        end = others.hold(ALICE, flood)
        wait_for(lambda: len(others.runs_of(ALICE)) == 4, "four runs")
        r = lethe("run", "--store", STORE, "say", "me")
        same((r.code, r.out), (0, b"me"))
        end()
        wait_for(lambda: others.runs_of(ALICE) == [], "their end: their client went away")
        del d


def peak(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


@case
def what_is_captured_is_bounded():  # I-95, I-25
    policy({"uid": ALICE})
    skill("flood", "yes 0123456789abcde | head -c $1\n")

    def run(n, size):
        """That many runs at once on connections of their own, nothing read before all are over; lengths of what then comes."""
        all_of_them = [Connection() for _ in range(n)]
        for c in all_of_them:
            c.send("run", skill="flood", args=[str(size)], options=[["output-limit", "60g"]], receipt=False)
        wait_for(lambda: others.runs_of_peer(os.getuid()) == [], "their end")
        answers = []
        for c in all_of_them:
            try:
                answers.append(c.read())
            except (ConnectionResetError, ValueError):  # given up, maybe in the middle of a line
                answers.append(None)
        return [[len(a["result"]["stdout"]), a["result"].get("stdout_cut", False)] if a and "result" in a else None for a in answers]

    with Daemon() as d:
        same(as_user(ALICE, lambda: run(1, 1 << 20)), [[1 << 20, False]])
        before = peak(d.pid)
        same(as_user(ALICE, lambda: run(1, 200 << 20)), [[1 << 20, True]])
        check(peak(d.pid) < before + 16384, before, peak(d.pid), "KiB: 200 MiB were written")
        lengths = as_user(ALICE, lambda: run(40, 1 << 20))
        check(isinstance(lengths, list), lengths)
        kept = sum(a[0] for a in lengths if a)
        check(0 < kept <= 24 << 20 and all(a is None or a[1] == (a[0] < 1 << 20) for a in lengths), kept, lengths)
        same(run(4, 1 << 20), [[1 << 20, False]] * 4, "the owner has room")
        same(as_user(ALICE, lambda: run(1, 1 << 20)), [[1 << 20, False]], "and it was given back")


@case
def whoever_comes_finds_a_place():  # I-95
    policy({"uid": ALICE}, {"uid": others.BOB})
    skill("held", "echo up; sleep 600\n")

    def ask(n):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(SOCKET)
        for i in range(n):
            s.sendall(json.dumps({"jsonrpc": "2.0", "id": i, "method": "run", "params": {"skill": "held"}}).encode() + b"\n")
        return s

    def states(uid):
        return sorted(r["state"] for r in others.runs_of(uid))

    with Daemon("--max-running", "4", "--max-queued", "8"):
        one = others.hold(ALICE, lambda: ask(20))
        # Of three places, one more than the owner's, two; of the queue half, and half of what is then left to the next.
        wait_for(lambda: states(ALICE) == ["queued"] * 4 + ["running"] * 2, "what Alice may have")
        two = others.hold(others.BOB, lambda: ask(20))
        wait_for(lambda: states(others.BOB) == ["queued"] * 2 + ["running"], "what Bob may have")
        same(states(ALICE), ["queued"] * 4 + ["running"] * 2)
        r = lethe("run", "--store", STORE, "say", "me")
        same((r.code, r.out), (0, b"me"), "the owner has its own")
        one()
        two()


MANY = r"""import json, os, sys
lines = os.fdopen(3)
def say(i, method, **params): os.write(4, (json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}) + "\n").encode())
say(0, "hello", protocol=1)
lines.readline()
for i in range(1, 5): say(i, "skill.run", skill="lasts", args=[])
for i in range(2): print(json.loads(lines.readline())["error"]["message"].split()[-1], flush=True)
lines.readline()
"""


@case
def regions_below_count_as_those_of_their_user():  # I-95
    policy({"uid": ALICE}, {"uid": others.BOB})
    skill("lasts", "sleep 60\n", budgets={"memory": "4m"})
    skill("many", "exec /usr/bin/python3 -c '%s'\n" % MANY, sub_skills=["lasts"])

    def ask():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(60)
        s.connect(SOCKET)
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"skill": "many", "stream": ["stdout"]}}).encode() + b"\n")
        f = s.makefile()
        while b"".join(said).count(b"\n") < 2:
            line = json.loads(f.readline())
            said.append(base64.b64decode(line.get("params", {}).get("data", "")))
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "run", "params": {"skill": "say"}}).encode() + b"\n")
        return s

    said = []
    with Daemon("--max-running", "8"):
        # Of six places, two less than all, three and no more than are left free: the invocation and two that it started; two were refused, and its second waits.
        one = others.hold(ALICE, ask)
        wait_for(lambda: sorted(r["state"] for r in others.runs_of(ALICE)) == ["queued", "running"], "the second one")
        same(as_user(others.BOB, lambda: Connection().call("run", skill="say", args=["x"])["result"]["exit_code"]), 0, "another user finds a place")
        one()


@case
def nobody_pushes_the_owners_pool_out():  # I-95
    policy({"uid": ALICE}, pool={"skills": {"say": 1}, "memory": "1g"})

    def vary(seconds):
        with Connection() as c:
            return [c.call("run", skill="say", args=["x"], options=[["timeout", "%ds" % i]], receipt=True)["result"]["receipt"]["start"] for i in seconds]

    with Daemon() as d:
        same(vary([5]), ["cold"])
        wait_for(lambda: ask_daemon("status")["ready_regions"] == 1, "one that waits for the owner")
        same(set(as_user(ALICE, lambda: vary(range(10, 90)))), {"cold"}, "80 grants of one client")
        same(vary([5]), ["pool"], "it waited all the time")
        with Connection() as c:
            check(c.call("status")["result"]["served"] >= 80)
        # Requests that wait for the owner are the owner's, and those of a client its own.
        same(as_user(ALICE, lambda: vary([5])), ["cold"])


@case
def three_descriptors_come_with_a_request():  # I-95
    with Daemon():
        n = os.open("/dev/null", os.O_RDWR)
        same(pass_to_run([n, n, n], stdio=["stdin", "stdout", "stderr"])[0]["result"]["exit_code"], 0)
        for more in (4, 5, 250):
            same(word(pass_to_run([n] * more, stdio=["stdin", "stdout", "stderr"])[0]), "streams", more)
        os.close(n)


class Lock:
    """A pipe that a reader keeps locked in the kernel: it reads into a page that nobody provides (userfaultfd(2))."""

    def __init__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.syscall(323, os.O_CLOEXEC)
        check(self.fd >= 0, os.strerror(ctypes.get_errno()))
        self.call(0xC018AA3F, struct.pack("QQQ", 0xAA, 0, 0))  # UFFDIO_API
        self.page = mmap.mmap(-1, 4096)
        self.at = ctypes.addressof(ctypes.c_char.from_buffer(self.page))
        self.call(0xC020AA00, struct.pack("QQQQ", self.at, 4096, 1, 0))  # UFFDIO_REGISTER, missing pages
        self.read, self.write = os.pipe()
        os.write(self.write, b"x" * 100)
        libc.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        self.thread = threading.Thread(target=libc.read, args=(self.read, self.at, 100), daemon=True)
        self.thread.start()
        os.read(self.fd, 32)  # the fault: the reader waits, and holds the pipe

    def call(self, number, data):
        libc = ctypes.CDLL(None, use_errno=True)
        check(libc.ioctl(self.fd, ctypes.c_ulong(number), ctypes.create_string_buffer(data)) == 0, os.strerror(ctypes.get_errno()))

    def release(self):
        self.call(0xC020AA04, struct.pack("QQQQ", self.at, 4096, 0, 0))  # UFFDIO_ZEROPAGE
        self.thread.join()
        os.close(self.fd)
        os.close(self.read)


@case
def what_they_send_is_released_by_nobody_who_has_work():  # I-95
    policy({"uid": ALICE})
    with Daemon() as d:
        locks = [Lock() for _ in range(3)]
        gate, go = os.pipe()
        pid = os.fork()
        if pid == 0:  # who drops the last reference waits for the reader
            for k in locks[1:]:
                os.close(k.write)
            os.read(gate, 1)
            os.close(locks[0].write)
            os._exit(0)
        os.close(locks[0].write)
        os.write(go, b"x")
        os.close(go)
        os.close(gate)
        wait_for(lambda: state_of(pid) == "D", "a process that waits in close(2)")

        def send(k, line):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.connect(SOCKET)
            s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [locks[k].write]))])
            for each in locks[1:]:
                os.close(each.write)
            return s

        # Two messages whose references become the last ones: one that asks, and one that never ends its line, goes away and leaves them behind.
        d.p.send_signal(signal.SIGSTOP)
        ends = [others.hold(ALICE, lambda: send(1, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')), others.hold(ALICE, lambda: send(2, b"x"))]
        os.close(locks[1].write)
        os.close(locks[2].write)
        ends[1]()
        d.p.send_signal(signal.SIGCONT)
        wait_for(lambda: others.connections() == 1, "both connections are given up")
        ends[0]()
        same(lethe("run", "--store", STORE, "say", "me").out, b"me")
        d.p.send_signal(signal.SIGTERM)
        same(d.p.wait(60), 0, "it ends, too")
        for k in locks:
            k.release()
        os.waitpid(pid, 0)
        d.p.drain.join(10)
        d.p.stderr.close()


main()
