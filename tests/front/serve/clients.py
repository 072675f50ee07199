#!/usr/bin/python3
"""`lethe serve` and users who are not its own: without the policy's word nobody, with it what it names, and of others nothing. TAP.

usage: clients.py LETHE
"""
import array
import base64
import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys

from others import ALICE, BOB, EVE, POLICY, Daemon, as_user, become, connections, hold, need_root, policy, runs_of, skill
from served import SOCKET
from tap import DIR, ENV, LETHE, STORE, ask_daemon, case, check, lethe, log, main, processes_below, same, start_daemon, stop_daemon, wait_for

def ask(uid, *requests):
    """The answers to requests on one connection of that user, in order."""
    def fn():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(120)
            s.connect(SOCKET)
            f = s.makefile("rwb")
            out = []
            for i, (method, params) in enumerate(requests):
                try:
                    f.write(json.dumps({"jsonrpc": "2.0", "id": i, "method": method, "params": params}).encode() + b"\n")
                    f.flush()
                except BrokenPipeError:
                    pass
                line = f.readline()
                out.append(json.loads(line) if line else None)
            return out
    return as_user(uid, fn)


def word(a):
    return a["error"]["data"]["code"]


def regions_of(uid):
    return [region for x in runs_of(uid) for region in x["regions"]]


def start(uid, name):
    """A run that sleeps, asked for by that user, and its region once it is alive."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        become(uid)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.connect(SOCKET)
            s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"skill": name, "args": ["sleep"]}}).encode() + b"\n")
            line = s.makefile("rb").readline()
            os.write(w, line)
        os._exit(0)
    os.close(w)
    wait_for(lambda: regions_of(uid), "a region of %d" % uid)
    return pid, r, regions_of(uid)[0]


def answer(pid, r):
    with os.fdopen(r) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text)


@case
def skills_are_there():
    need_root()
    policy()
    skill("greet", 'if [ "$1" = sleep ]; then sleep 600; fi; id -u; echo "hello $*"; cat\n')
    skill("other", "echo other\n")


@case
def without_policy_nobody_else_is_served():  # I-3
    policy()
    with Daemon():
        same(oct(os.stat(SOCKET).st_mode & 0o777), "0o600")
        check("PermissionError" in ask(ALICE, ("ping", {}))["exception"])
        os.chmod(SOCKET, 0o666)  # as a socket unit of the operator's may make it
        a = ask(ALICE, ("run", {"skill": "greet"}))
        same(word(a[0]), "not_allowed")
        check("its own user and root" in a[0]["error"]["message"], a)
        for _ in range(8):  # which the command line says, also when it was hung up on before it had asked
            r = subprocess.run([LETHE, "memory", "working", "get", "--json", "--store", "/"], user=ALICE, group=ALICE, extra_groups=[], cwd="/",
                               env={"PATH": "/usr/bin:/bin", "LETHE_SOCKET": SOCKET}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            same((r.returncode, json.loads(r.stdout)["error"]["code"]), (1, "not_allowed"), r)
        # `lethe run` says so before it goes on by itself, and where nobody may even ask.
        home = os.path.join(DIR, "refused")
        os.mkdir(home)
        os.chown(home, ALICE, ALICE)
        for mode, said in ((0o666, "refuses the user: this daemon serves its own user and root"), (0o600, "cannot be asked: %s: Permission denied" % SOCKET)):
            os.chmod(SOCKET, mode)
            r = subprocess.run(["/usr/bin/setpriv", "--reuid=%d" % ALICE, "--regid=%d" % ALICE, "--clear-groups", LETHE, "run", "--exec", "/bin/echo", "alone"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/", check=False,
                               env={"PATH": "/usr/bin:/bin", "LETHE_SOCKET": SOCKET, "HOME": home})
            same((r.returncode, r.stdout), (0, b"alone\n"), r)
            check(said in r.stderr.decode() and "continues without lethe serve" in r.stderr.decode(), r.stderr)
    same(log("--type", "region.allocated"), [])


@case
def who_is_named_may_have_what_is_named_run():
    policy({"uid": ALICE, "skills": ["greet"]}, {"uid": BOB})
    with Daemon():
        a = ask(ALICE, ("run", {"skill": "greet", "args": ["you"], "stdin": "in\n"}), ("run", {"skill": "other"}), ("ping", {}))
        same(a[0]["result"]["stdout"].splitlines()[1:], ["hello you", "in"])
        same((word(a[1]), "does not let user %d" % ALICE in a[1]["error"]["message"]), ("not_allowed", True))
        check("result" in a[2])
        same(ask(BOB, ("run", {"skill": "other"}))[0]["result"]["stdout"], "other\n")
        same(word(ask(EVE, ("run", {"skill": "greet"}))[0]), "not_allowed")
        region = a[0]["result"]["region"]
        same(log("--region", region)[0]["by"]["client_uid"], ALICE)
        certificate = json.loads(lethe("certificate", region).out)
        same(json.loads(base64.b64decode(certificate["payload"]))["predicate"]["person"], {"uid": ALICE})
        # `lethe run` of that user comes to the same.
        r = subprocess.run(["/usr/bin/setpriv", "--reuid=%d" % ALICE, "--regid=%d" % ALICE, "--clear-groups", LETHE, "run", "--store", STORE, "greet", "there"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={k: v for k, v in ENV.items() if k != "LETHE_POLICY"},
                           check=False)
        same((r.returncode, r.stdout.decode().splitlines()[1:]), (0, ["hello there"]), r)


@case
def nothing_is_looked_up_with_the_daemons_rights():  # I-3
    policy({"uid": ALICE})
    with open(os.path.join(DIR, "secret"), "w", encoding="utf-8") as f:
        f.write("root's own")
    os.chmod(os.path.join(DIR, "secret"), 0o600)
    bad = [{"exec": "/bin/cat", "args": ["/etc/shadow"]}, {"skill": os.path.join(DIR, "greet")}, {"skill": "./greet", "cwd": DIR}, {"skill": "."},
           {"skill": "greet/"}, {"skill": ""}]
    bad += [{"skill": "greet", "options": [o]} for o in (["volume", DIR + "/secret:/data/s"], ["env", "LD_PRELOAD=/x"], ["workdir", "/tmp"], ["network", "host"],
                                                         ["connect", "127.0.0.1:1"], ["tier", "landlock"], ["proc", None], ["nonsense", "1"])]
    bad += [{"skill": "greet", "promote": True}]  # G-9: what is believed is for the owner to say
    bad += [{"skill": "greet", "detach": True}]  # what goes on without its connection is the owner's
    with Daemon():
        seen = len(log("--type", "region.allocated"))
        for params in bad:
            a = ask(ALICE, ("run", params))
            same(word(a[0]), "not_allowed", params, a)
        # A folder of that name where it asks from is none of the registered ones, whoever made it.
        os.makedirs(os.path.join(DIR, "place", "planted"))
        a = ask(ALICE, ("run", {"skill": "planted", "cwd": os.path.join(DIR, "place")}))
        same((a[0]["result"]["exit_code"], "no skill is registered" in a[0]["result"]["refusal"]["message"]), (127, True), a)
        same(len(log("--type", "region.allocated")), seen)
        a = ask(ALICE, ("run", {"skill": "greet", "options": [["timeout", "10s"], ["memory", "64m"], ["discipline", "zero"]], "cwd": "/nowhere"}))
        same(a[0]["result"]["exit_code"], 0, a)


@case
def nobody_reaches_anothers_region():  # I-3
    policy({"uid": ALICE}, {"uid": BOB})
    with Daemon():
        pid, r, region = start(ALICE, "greet")
        a = ask(BOB, ("ps", {}), ("kill", {"region": region}), ("cancel", {"id": 1}))
        same(a[0]["result"], {"runs": []})
        same((word(a[1]), word(a[2])), ("no_region", "no_request"))
        same([x["regions"] for x in ask(ALICE, ("ps", {}))[0]["result"]["runs"]], [[region]])
        same([x["uid"] for x in ask_daemon("ps")["runs"]], [ALICE])
        same(ask(ALICE, ("kill", {"region": region}))[0]["result"], {}, "another connection of the same user")
        same(answer(pid, r)["result"]["exit_code"], 143)
        detached = ask_daemon("run", exec="/bin/sleep", args=["100"], detach=True)["region"]
        same([word(ask(BOB, (method, {"region": detached}))[0]) for method in ("kill", "attach")], ["no_region", "not_allowed"])
        same(ask_daemon("kill", region=detached), {})
        for method in ("status", "reload", "stop", "takeover"):
            same(word(ask(BOB, (method, {}))[0]), "not_allowed", method)
        check(ask_daemon("ping")["pid"])


def run_with(uid, path, stream, argument):
    """The answer to a run of greet with that file as its stream, opened by that user, and what then is in the user's own oom_score_adj."""
    def fn():
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: the change of ids has made its own /proc files root's
        fd = os.open(path, os.O_RDWR if stream != "stdin" and not path.startswith("/proc/1/") else os.O_RDONLY)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(120)
            s.connect(SOCKET)
            line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"skill": "say", "args": [argument], "stdio": [stream]}}).encode() + b"\n"
            s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
            with open("/proc/self/oom_score_adj", encoding="utf-8") as f:
                return json.loads(s.makefile("rb").readline()), f.read().strip()
    return as_user(uid, fn)


@case
def what_asks_who_writes_is_no_stream_of_theirs():  # I-3
    """The kernel asks who reads and who writes such files, and that would be the daemon."""
    skill("say", 'printf %s "$1"; cat\n')
    policy({"uid": ALICE})
    with open("/proc/self/oom_score_adj", encoding="utf-8") as f:
        before = f.read().strip()
    with Daemon():
        a, now = run_with(ALICE, "/proc/self/oom_score_adj", "stdout", "-999")
        same((a.get("error", {}).get("data"), now), ({"code": "streams"}, before), a)
        for path, stream in (("/proc/1/stat", "stdin"), ("/proc/self/mem", "stdin"), ("/dev/tty0", "stdin"), ("/dev/ptmx", "stdin"), ("/dev/ptmx", "stdout")):
            if os.path.exists(path) and (path != "/dev/tty0" or os.stat(path).st_mode & 0o006):
                a, _ = run_with(ALICE, path, stream, "x")
                same(a.get("error", {}).get("data"), {"code": "streams"}, path, a)
        own = os.path.join(DIR, "alices")
        open(own, "w", encoding="utf-8").close()
        os.chown(own, ALICE, ALICE)
        for path, stream in ((own, "stdout"), (own, "stdin"), ("/dev/null", "stdin")):
            same(run_with(ALICE, path, stream, "x")[0].get("error", {}).get("data"), {"code": "streams"}, path)


def connect(n, line, fds=(), times=1):
    out = []
    for _ in range(n):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(SOCKET)
        try:
            for _ in range(times):
                s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        except (BrokenPipeError, ConnectionResetError):
            pass  # the daemon gave it up already
        if line.endswith(b'"ping"}\n'):
            s.recv(4096)  # what came before it was taken: the connection is no idle one
        out.append(s)
    return out


SLEEP = b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"skill":"greet","args":["sleep"]}}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n'


@case
def they_take_no_place_from_those_who_could_end_them():  # I-3
    policy({"uid": ALICE}, {"uid": BOB})
    with Daemon("--max-running", "4", "--max-clients", "8"):
        end = hold(ALICE, lambda: connect(4, SLEEP))
        end_too = hold(BOB, lambda: connect(4, SLEEP))
        wait_for(lambda: len(ask_daemon("ps")["runs"]) == 8 and sum(1 for r in ask_daemon("ps")["runs"] if r["regions"]) == 3, "three that run of eight")
        same(sorted(r["state"] for r in ask_daemon("ps")["runs"]), ["queued"] * 5 + ["running"] * 3)
        r = subprocess.run([LETHE, "run", "--store", STORE, "greet", "me"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV,
                           timeout=50, check=False)
        same((r.returncode, r.stdout.decode().splitlines()[1:]), (0, ["hello me"]), r)
        end()
        end_too()


@case
def descriptors_of_half_requests_are_few():  # I-3
    policy({"uid": ALICE})
    with Daemon() as d:
        r = lethe("run", "--store", STORE, "greet", "me")  # what is kept for the next one
        d.quiet()
        folder = "/proc/%d/fd" % d.p.pid
        before = len(os.listdir(folder))
        end = hold(ALICE, lambda: connect(60, b"x", [0, 0, 0], 4))
        wait_for(lambda: connections() == 1, "the end of all 60: descriptors of another user are not taken")
        r = subprocess.run([LETHE, "run", "--store", STORE, "greet", "me"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV,
                           timeout=50, check=False)
        same((r.returncode, r.stdout.decode().splitlines()[1:]), (0, ["hello me"]), r)
        d.quiet()
        held = len(os.listdir(folder)) - before
        print("# %d more descriptors" % held)
        check(held < 60, held)  # of 720, but for what a second region leaves that is kept for a third: its view, another control group, another guard
        end()


@case
def a_policy_that_is_read_again_counts_at_once():
    policy({"uid": ALICE})
    with Daemon():
        def fn():
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                s.connect(SOCKET)
                f = s.makefile("rwb")
                out = []
                for i in range(2):
                    f.write(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % i)
                    f.flush()
                    out.append(json.loads(f.readline()))
                    if i == 0:
                        open(os.path.join(DIR, "flags", "asked"), "w", encoding="utf-8").close()
                        wait_for(lambda: os.path.exists(os.path.join(DIR, "flags", "read")), "the policy to be read again")
                return out
        os.mkdir(os.path.join(DIR, "flags"))
        os.chmod(os.path.join(DIR, "flags"), 0o777)
        pid = os.fork()
        if pid == 0:
            wait_for(lambda: os.path.exists(os.path.join(DIR, "flags", "asked")), "the first answer")
            policy({"uid": BOB})
            ask_daemon("reload")
            open(os.path.join(DIR, "flags", "read"), "w", encoding="utf-8").close()
            os._exit(0)
        a = as_user(ALICE, fn)
        os.waitpid(pid, 0)
        check("result" in a[0] and word(a[1]) == "not_allowed", a)
        check("result" in ask(BOB, ("ping", {}))[0])
        policy()
        ask_daemon("reload")
        same(oct(os.stat(SOCKET).st_mode & 0o777), "0o600")


def folder_of(uid, name):
    path = os.path.join(DIR, name)
    os.mkdir(path, 0o755)
    os.chown(path, uid, uid)
    return path


# A command that passes a socket to the program behind it, as systemd does (sd_listen_fds(3)).
PASSES = """import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.bind(sys.argv[1])
s.listen(8)
s.set_inheritable(True)
if s.fileno() != 3:
    os.dup2(s.fileno(), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])"""


@case
def a_socket_in_a_folder_of_another_user_is_none():  # I-3, I-82
    """Its owner could make the socket's name that of any file, whose mode the daemon would set."""
    need_root()
    policy()
    secret = os.path.join(DIR, "secret")
    with open(secret, "w", encoding="utf-8") as f:
        os.fchmod(f.fileno(), 0o600)
    p = subprocess.run([LETHE, "serve", "--socket", os.path.join(folder_of(ALICE, "hers"), "s")], env=ENV, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
    check(p.returncode == 125 and b"user %d can write" % ALICE in p.stderr, p)
    policy({"uid": ALICE})
    for given in (False, True):  # the daemon's own socket, and one that was passed to it (lethe.socket)
        folder = os.path.join(DIR, "given" if given else "own")
        path = os.path.join(folder, "s")
        os.mkdir(folder, 0o755)
        p = start_daemon(dict(ENV, LETHE_SOCKET=path), wrap=(sys.executable, "-c", PASSES, path) if given else ())
        same(oct(os.stat(path).st_mode & 0o777), "0o666", given)
        os.chown(folder, ALICE, ALICE)
        os.rename(path, path + ".old")
        os.symlink(secret, path)
        try:
            said = ask_daemon("reload", path + ".old")
        except RuntimeError as e:
            said = e.args[0]["message"]
        same(oct(os.stat(secret).st_mode & 0o777), "0o600", given)
        check(given or "user %d can write" % ALICE in said, said)
        same(stop_daemon(p), 0)
        check(not given or "its mode cannot be set: socket %s: user %d can write" % (path, ALICE) in p.said, p.said)


@case
def root_asks_no_daemon_of_another_user():  # I-82, I-95
    """Who listens there would have root's streams, and say of its run what it likes."""
    need_root()
    path = os.path.join(folder_of(EVE, "eve"), "s")

    def listens():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.bind(path)
        s.listen(8)
        return s
    end = hold(EVE, listens)
    policy()
    try:
        env = dict(ENV, LETHE_SOCKET=path)
        r = subprocess.run([LETHE, "run", "--exec", "/bin/echo", "alone"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
        same((r.returncode, r.stdout), (0, b"alone\n"), r)
        check(b"another user listens there" in r.stderr, r)
        for argv in (["serve", "--reload"], ["serve", "--replace"], ["memory", "working", "get"]):
            r = subprocess.run([LETHE, *argv], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
            check(r.returncode != 0 and (b"another user listens there" in r.stderr or b"user %d can write" % EVE in r.stderr), argv, r)
    finally:
        end()


def answer_at(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(120)
        s.connect(path)
        with contextlib.suppress(BrokenPipeError):  # it hangs up on whom it refuses
            s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"status"}\n')
        a = json.loads(s.makefile("rb").readline())
    return word(a) if "error" in a else "answered"


CLONE_NEWUSER = 0x10000000


def in_namespace(path, *argv):
    """lethe as BOB, who is user 65534 in a user namespace that maps root and him. Its process."""
    ready, go = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            become(BOB)
            libc = ctypes.CDLL(None)
            libc.prctl(4, 1, 0, 0, 0)
            os.write(ready[1], b"x" if libc.unshare(CLONE_NEWUSER) == 0 else b"-")
            os.read(go[0], 1)
            env = dict(ENV, LETHE_SOCKET=path + "/s", LETHE_STORE=path + "/store", LETHE_POLICY=path + "/policy.json", HOME=path)
            del env["LETHE_ANCHOR"]
            os.dup2(os.open(path + "/said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            os.execve(LETHE, [LETHE, *argv], env)
        finally:
            os._exit(1)
    same(os.read(ready[0], 1), b"x", "a user namespace")
    for name, text in (("setgroups", "deny"), ("gid_map", "0 0 1\n65534 %d 1" % BOB), ("uid_map", "0 0 1\n65534 %d 1" % BOB)):
        with open("/proc/%d/%s" % (pid, name), "w", encoding="utf-8") as f:
            f.write(text)
    os.write(go[1], b"x")
    for fd in (*ready, *go):
        os.close(fd)
    return pid


@case
def users_whom_a_namespace_does_not_map_are_nobody():  # I-3, I-82
    """There all of them look like user 65534, also to who is this user."""
    need_root()
    policy({"uid": ALICE})
    path = folder_of(BOB, "namespace")
    for name, uid in (("policy.json", BOB), ("eve.json", EVE)):
        shutil.copy(POLICY, os.path.join(path, name))
        os.chown(os.path.join(path, name), uid, uid)
    for name, code in (("policy.json", 0), ("eve.json", 125)):
        pid = in_namespace(path, "run", "--no-serve", "--policy", os.path.join(path, name), "--exec", "/bin/true")
        code_there = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with open(path + "/said", encoding="utf-8") as f:
            said = f.read()
        same(code_there, code, said)
        check(code == 0 or "does not map" in said, said)
    pid = in_namespace(path, "serve")
    try:
        wait_for(lambda: os.path.exists(path + "/s") and os.stat(path + "/s").st_mode & 0o777 == 0o666, "a daemon in a user namespace")
        same(as_user(EVE, lambda: answer_at(path + "/s")), "not_allowed")
        same(as_user(BOB, lambda: answer_at(path + "/s")), "answered")
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def with_descriptors(n):
    """Connections that bring descriptors, which nobody accepts yet. Held by who calls."""
    held = []
    for _ in range(n):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(SOCKET)
        with open("/dev/null", "rb") as f:
            s.sendmsg([b"{"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [f.fileno()]))])
        held.append(s)
    return held


def descriptors(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


BURST = 200


@case
def a_burst_of_connections_with_descriptors_shuts_nobody_out():  # I-3
    """All of them come at one moment, of a user whom the policy does not name; what closes them has a short queue."""
    policy({"uid": BOB})
    with Daemon() as d:
        before = descriptors(d.pid)
        for _ in range(3):
            os.kill(d.pid, signal.SIGSTOP)
            end = hold(EVE, lambda: with_descriptors(BURST))
            os.kill(d.pid, signal.SIGCONT)
            a = ask(BOB, ("run", {"skill": "greet"}))[0]
            same(a.get("result", {}).get("exit_code"), 0, a)
            end()
        d.quiet()
        check(descriptors(d.pid) < before + BURST, descriptors(d.pid), before)
        same(oct(os.stat(SOCKET).st_mode & 0o777), "0o666")
    check("cannot be closed" not in d.p.said, d.p.said)


@case
def when_nothing_can_be_closed_any_more_nobody_else_connects():  # I-3
    """Else who is refused would have a descriptor of the daemon's for each connection."""
    policy({"uid": BOB})
    with Daemon() as d:
        closes = [pid for pid, name in processes_below(d.pid) if name == "lethe-discard"]
        same(len(closes), 1)
        os.kill(closes[0], signal.SIGSTOP)
        os.kill(d.pid, signal.SIGSTOP)
        try:
            end = hold(EVE, lambda: with_descriptors(BURST))
            os.kill(d.pid, signal.SIGCONT)
            wait_for(lambda: os.stat(SOCKET).st_mode & 0o777 == 0o600, "that nobody else may connect")
            same(lethe("run", "--store", STORE, "greet").code, 0)
            check("PermissionError" in ask(EVE, ("ping", {}))["exception"])
            ask_daemon("reload")
            same(oct(os.stat(SOCKET).st_mode & 0o777), "0o600")
            check(descriptors(d.pid) < 2 * BURST + 100, descriptors(d.pid))
        finally:
            for pid in (closes[0], d.pid):
                os.kill(pid, signal.SIGCONT)
        end()
    check("cannot be closed" in d.p.said, d.p.said)


@case
def a_policy_that_is_not_in_order_is_refused():
    for clients, where in (({}, "/clients"), ([{"uid": 0}], "/clients/0/uid"), ([{"uid": "alice"}], "/clients/0/uid"), ([{"skills": []}], "/clients/0/uid"),
                           ([{"uid": 7}, {"uid": 7}], "/clients/1/uid"), ([{"uid": 7, "skills": ["../x"]}], "/clients/0/skills/0"),
                           ([{"uid": 7, "name": "x"}], "/clients/0/name"), ([{"uid": 4294967295}], "/clients/0/uid")):
        policy()
        with open(POLICY, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "clients": clients}, f)
        r = lethe("run", "--no-serve", "--exec", "/bin/true")
        check(r.code == 125 and where.encode() in r.err, clients, r)
    policy({"uid": ALICE, "skills": []})
    with Daemon():
        same(word(ask(ALICE, ("run", {"skill": "greet"}))[0]), "not_allowed", "an empty list names none")


main()
