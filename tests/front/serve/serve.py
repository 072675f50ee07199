#!/usr/bin/python3
"""`lethe serve` from outside: methods, descriptors, clients that mean harm, its end, and what must not be left behind. TAP.

usage: serve.py LETHE root|user
"""
import array
import collections
import json
import os
import re
import socket
import subprocess
import sys

import served
from served import SOCKET, Client, alive, nothing_is_left, wait_alive, word
from tap import DIR, ENV, LETHE, STORE, Skip, case, cgroups_left, check, lethe, log, main, same, wait_for

ENV["LETHE_SOCKET"] = SOCKET
ENV["LETHE_SERVE"] = "1"


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except FileNotFoundError:
        return ""


def children_of(pid):
    found = []
    for t in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/children" % (pid, t)) as f:
                found += [int(p) for p in f.read().split()]
        except FileNotFoundError:
            continue
    return found


class Daemon(served.Daemon):
    def open_now(self):
        """What its descriptors are, without the file that an anchor is on its way in; groups: those of which it keeps the files open; guards: that wait
        for the next region."""
        found, groups = collections.Counter(), set()
        for fd in os.listdir("/proc/%d/fd" % self.pid):
            try:
                to = os.readlink("/proc/%d/fd/%s" % (self.pid, fd))
            except FileNotFoundError:
                continue
            if to.startswith("/sys/fs/cgroup/"):
                groups.add(os.path.basename(os.path.dirname(to)))
            elif not to.endswith(".tmp"):
                found[re.sub(r"\[\d+\]", "", to)] += 1
        names = [comm(p) for p in children_of(self.pid)]
        return found, len(groups), max(0, names.count("lethe-guard") - 1), names.count("lethe-first")

    def fds(self):
        """But those of up to 32 control groups, which stay open from one region to the next, with two for what the kernel tells of them and of the one above; a guard
        that waits for the next region is a process and a socket, and a template, of which a view may have several, two sockets."""
        found, groups, guards, templates = self.open_now()
        check(groups <= 32, groups)
        return found - collections.Counter({"anon_inode:[eventfd]": 2 * groups, "anon_inode:[pidfd]": guards, "socket:": guards + 2 * templates})

    def baseline(self):
        """Descriptors, once it has run something: some things are kept for the next one. When an answer comes the run's own are not all put away."""
        with Client() as c:
            for _ in range(3):
                same(c.run("/bin/true", receipt=False)["result"]["exit_code"], 0)
        self.quiet()
        self.idle_threads = self.threads() + 15  # up to 16 wait for another invocation
        return self.fds()

    def threads(self):
        return len(os.listdir("/proc/%d/task" % self.pid))

    def settled(self, fds):
        """Everything that came with clients is gone again."""
        self.quiet()
        try:
            wait_for(lambda: not self.fds() - fds and self.threads() <= self.idle_threads, "what it had before")
        except AssertionError as e:
            raise AssertionError("%s; %d threads of %d; more: %s" % (e, self.threads(), self.idle_threads, self.fds() - fds)) from e


@case
def methods():
    with Daemon() as d, Client() as c:
        same(c.call("ping")["result"], {"protocol": 1, "version": lethe("version").out.decode().split()[1], "pid": d.pid, "store": os.path.realpath(STORE),
                                        "anchor": ENV["LETHE_ANCHOR"], "policy": None})
        r = c.run("/bin/sh", "-c", "cat; echo err >&2; exit 3", stdin="in\n")["result"]
        same((r["exit_code"], r["stdout"], r["stderr"], r["receipt"]["exit_code"]), (3, "in\n", "err\n", 3))
        same(r["region"], r["receipt"]["region"])
        check("receipt" not in c.run("/bin/true", receipt=False)["result"])
        s = c.call("status")["result"]
        same((s["served"], s["running"], s["queued"], s["clients"], s["stopping"]), (2, 0, 0, 1, False))
        same(c.call("ps")["result"], {"runs": []})
        r = c.run("/bin/sh", "-c", "printf 'a\\377b\\000c'")["result"]
        same(r["stdout"], "a\ufffdb\ufffdc")


@case
def what_refuses_a_run_says_so_as_lethe_run_does():
    with Daemon(), Client() as c:
        for argv, code in ((["/no/such"], 127), (["/etc/passwd"], 126), (["/usr"], 126)):
            r = c.run(*argv)["result"]
            same((r["exit_code"], r["receipt"]["outcome"], "region" in r and r["region"]), (code, "setup_failed", None), r)
            check(argv[0] in r["refusal"]["message"], r)
        r = c.call("run", exec="/bin/true", options=[["memory", "lots"]])["result"]
        same((r["exit_code"], r["refusal"]["usage"]), (125, True), r)
        r = c.call("run", skill="no-such")["result"]
        same(r["exit_code"], 127, r)


@case
def each_wrong_request_has_its_error():
    wrong = [
        (b"x", "parse", ""), (b"[]", "batch", ""), (b"1", "invalid_request", "object"), (b"{}", "invalid_request", "jsonrpc"),
        (b'{"jsonrpc":"2.0"}', "invalid_request", "method"), (b'{"jsonrpc":"2.0","id":1,"method":"fly"}', "unknown_method", "fly"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', "invalid_params", "params"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1}}', "invalid_params", "a"),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', "duplicate_key", "id"),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', "invalid_request", "id"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","more":1}', "invalid_request", "more"),
        (b"[" * 40 + b"]" * 40, "depth", ""),
        # I-81: a string with a zero byte is not the one that ends before it.
        (b'{"jsonrpc":"2.0","id":1,"method":"ping\\u0000x"}', "invalid_request", "method"), (b'{"jsonrpc":"2.0\\u0000","id":1,"method":"ping"}', "invalid_request", "jsonrpc"),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a\\u0000b":1}}', "parse", "NUL"),
        (b'{"jsonrpc":"2.0","method":"run","params":{"exec":"/bin/true"}}', "invalid_request", "id"),
    ]
    params = [
        ({}, "skill, exec"), ({"exec": "/bin/true", "skill": "a"}, "skill, exec"), ({"exec": 1}, "exec"), ({"exec": "a\0b"}, "exec"),
        ({"exec": "/bin/true", "args": "x"}, "args"), ({"exec": "/bin/true", "args": [1]}, "args"), ({"exec": "/bin/true", "cwd": "here"}, "cwd"),
        ({"exec": "/bin/true", "cwd": "/no/such"}, "cwd"), ({"exec": "/bin/true", "options": [["a"]]}, "options"),
        ({"exec": "/bin/true", "options": [["env", "HOME"]]}, "env"), ({"exec": "/bin/true", "options": [["memory", None]]}, "options"),
        ({"exec": "/bin/true", "options": [["proc", "1"]]}, "options"), ({"exec": "/bin/true", "stdio": ["in"]}, "stdio"),
        ({"exec": "/bin/true", "stdio": "stdin"}, "stdio"), ({"exec": "/bin/true", "stdin": 1}, "stdin"), ({"exec": "/bin/true", "quiet": 1}, "quiet"),
        ({"exec": "/bin/true", "what": 1}, "what"), ({"exec": "/bin/true", "receipt": "/tmp/x"}, "receipt"),
    ]
    with Daemon() as d:
        fds = d.baseline()
        before = len(log())
        for line, code, names in wrong:
            with Client() as c:
                c.s.sendall(line + b"\n")
                r = c.read()
                same(word(r), code, line, r)
                check(names in r["error"]["message"], line, r)
        with Client() as c:
            for p, names in params:
                r = c.call("run", **p)
                same(word(r), "invalid_params", p, r)
                check(names in r["error"]["message"], p, r)
            whole = {"exec": "/bin/true", "args": ["a"], "cwd": "/", "store": STORE, "anchor": ENV["LETHE_ANCHOR"], "traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01",
                     "options": [["timeout", "5s"], ["env", "A=b"]]}
            for key, value in whole.items():
                shorter = [*value[:-1], [value[-1][0], value[-1][1] + "\0x"]] if key == "options" else [value[0] + "\0x"] if key == "args" else value + "\0x"
                r = c.call("run", **{**whole, key: shorter})
                same(word(r), "invalid_params", key, r)
                check(key in r["error"]["message"], key, r)
            same(word(c.call("run", exec="/bin/true", store="/elsewhere")), "other_store")
            same(word(c.call("run", exec="/bin/true", policy="/elsewhere")), "other_store")
            for method, p, words in (
                ("kill", {"region": 7}, "params: region is an integer, 7: it is to be string"), ("kill", {}, "params: region is missing: it is to be string"),
                ("kill", {"region": "x", "sig": 9}, 'params: "sig" is no parameter: they are to be {region: string, discard?: boolean}'), ("kill", {"region": None}, "region is null"),
                ("cancel", {"signal": 15}, "params: id is missing"), ("cancel", {"id": 1, "signal": "TERM"}, 'signal is a string, "TERM": it is to be integer'),
                ("cancel", {"id": 1, "signal": 2**32 + 15}, "signal 4294967311: must be 15"), ("ping", {"a": 1}, '"a" is no parameter: they are to be {}'),
                ("kill", {"region": "0" * 26 + "\0x"}, "region holds the character U+0000"), ("working.get", {"store": "/", "scope": "x\0y"}, "scope holds the character U+0000"),
                ("working.get", {"store": [1], "scope": "x"}, "store is an array, [1]"), ("working.set", {"store": "/", "scope": "x"}, "value is missing: it is to be any"),
            ):
                r = c.call(method, **p)
                same(word(r), "invalid_params", method, p, r)
                check(words in r["error"]["message"] and "unpack" not in r["error"]["message"], method, p, r)
            same(word(c.call("kill", region="x")), "invalid_params")
            same(word(c.call("kill", region="0" * 26)), "no_region")
            same(word(c.call("cancel", id=77)), "no_request")
            same(word(c.call("cancel", id=77, signal=9)), "invalid_params")
        same(len(log()), before, "nothing ran")
        with Client() as c:
            same(c.call("run", **whole)["result"]["exit_code"], 0, "what was changed in one place runs when it is not")
        d.settled(fds)


@case
def a_line_that_is_too_long_or_not_whole():
    with Daemon() as d:
        fds = d.baseline()
        with Client() as c:
            c.s.sendall(b"x" * (1 << 20) + b"yyyy")
            same(word(c.read()), "line_too_long")
            c.s.sendall(b"\n")
            check("result" in c.call("ping"), "the next line is a request")
        with Client() as c:
            c.s.sendall(b'{"jsonrpc":"2.0","id":1,"method"')
            with Client() as other:
                check("result" in other.call("ping"))
            c.s.sendall(b':"ping"}\n')
            check("result" in c.read())
        with Client() as c:  # the last request may be followed by the end
            c.s.sendall(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % i for i in range(100)))
            c.send("run", exec="/bin/true", receipt=False)
            c.s.shutdown(socket.SHUT_WR)
            answers = [c.read() for _ in range(101)]
            same([a["id"] for a in answers[:100]], list(range(100)))
            same(answers[100]["result"]["exit_code"], 0)
            same(c.read(), None, "it hangs up when all is answered")
        d.settled(fds)


@case
def descriptors_of_every_kind():
    r, w = os.pipe()
    folder = os.open("/", os.O_RDONLY)
    path = os.open("/dev/null", os.O_PATH)
    wrong = [(["stdin"], [w], "reading"), (["stdout"], [r], "writing"), (["stdout"], [folder], "must be"), (["stdin"], [folder], "must be"), (["stdout"], [path], "O_PATH"),
             (["stdin", "stdout"], [r], "2 streams"), (["stdin"], [r, w], "1 streams"), ([], [r], "0 streams"), (["stderr"], [], "1 streams")]
    with Daemon() as d:
        fds = d.baseline()
        with Client() as c:
            for names, passed, why in wrong:
                a = c.run("/bin/true", stdio=names, fds=passed)
                same(word(a), "streams", names, a)
                check(why in a["error"]["message"], names, a)
            event = int(subprocess.run([sys.executable, "-c", "import select, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                                        "e = select.epoll(); socket.send_fds(s, [b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"run\",\"params\":{\"exec\":\"/bin/true\",\"stdio\":[\"stdin\"]}}\\n'], "
                                        "[e.fileno()]); print(b'streams' in s.recv(4096) and 1 or 0)", SOCKET], stdout=subprocess.PIPE).stdout)
            same(event, 1, "what is no stream at all")
        with Client() as c:
            c.s.sendmsg([b" " * 8], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r] * 40))])
            same(word(c.read()), "streams", "more than three")
            same(c.read(), None)
        with Client() as c:
            for _ in range(20):
                try:
                    c.s.sendmsg([b" "], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [r, r, r]))])
                except OSError:
                    break
            same(word(c.read()), "streams", "kept without a request")
        with Client() as c:  # and the right ones: to the request that they came with
            out = [os.memfd_create("a"), os.memfd_create("b")]
            for i, fd in enumerate(out):
                c.send("run", fds=[fd], exec="/bin/echo", args=[str(i)], stdio=["stdout"], receipt=False)
            same({c.read()["result"]["exit_code"] for _ in out}, {0})
            same([os.pread(fd, 10, 0) for fd in out], [b"0\n", b"1\n"])
        d.settled(fds)
    for fd in (r, w, folder, path):
        os.close(fd)


@case
def the_end_of_a_connection_cancels_what_it_asked_for():
    with Daemon() as d:
        fds = d.baseline()
        c = Client()
        for _ in range(3):
            c.send("run", exec="/bin/sleep", args=["600"])
        wait_alive(3)
        same(len(c.call("ps")["result"]["runs"]), 3)
        regions = [r["region"] for r in alive()]
        c.close()
        wait_alive(0)
        same({e["outcome"] for r in regions for e in log("--region", r) if e["type"] == "invocation.ended"}, {"cancelled"})
        d.settled(fds)


@case
def cancel_and_kill():
    with Daemon(), Client() as c:
        a, b, z = (c.send("run", exec="/bin/sleep", args=["600"]) for _ in range(3))
        wait_alive(3)
        regions = {tuple(r["regions"]) for r in c.call("ps")["result"]["runs"]}
        same(len(regions), 3)
        c.send("cancel", id=a, signal=2)
        got = [c.read(), c.read()]
        same({(g["id"], g["result"].get("exit_code")) for g in got}, {(a, 130), (c.n, None)}, got)
        left = [r["region"] for r in alive()]
        same(lethe("kill", "--wait", left[0]).code, 0)
        check(left[0] not in {r["region"] for r in alive()})
        same(c.read()["result"]["exit_code"], 143)
        same(word(c.call("cancel", id=a)), "no_request")
        same(lethe("kill", "--wait", left[1]).code, 0)
        c.read()


@case
def a_handle_of_another_region_of_the_daemon():  # I-75, I-8: told apart from one whose region has ended, and recorded on both sides
    program = """import sys
import lethe
if len(sys.argv) > 1:
    key = lethe.hello()["key"]
    try:
        lethe._pipe.call("handle.read", {"handle": sys.argv[1], "key": key})
    except lethe.LetheError as e:
        print(e.code)
else:
    print(lethe.section("plan").handle, flush=True)
    sys.stdin.read()
"""
    folder = served.skill("handles", ["/usr/bin/python3", "/skill/main.py"], {"main.py": program}, lineage="handles", sections={"plan": {"schema": {}}})
    with Daemon():
        keeper = subprocess.Popen([LETHE, "run", folder], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        handle = keeper.stdout.readline().decode().strip()
        owner = handle.split(".")[0]
        r = lethe("run", folder, "--", handle)
        same((r.code, r.out), (0, b"bad_key\n"), r)
        keeper.communicate()
        same(keeper.returncode, 0)
        r = lethe("run", folder, "--", handle)
        same((r.code, r.out), (0, b"stale\n"), r)
        refused = [e for e in log("--type", "handle.refused")]
        same([(e["region"] == owner, e.get("by") or e.get("of"), e["handle"], e["code"]) for e in refused],
             [(False, owner, handle, "bad_key"), (True, refused[0]["region"], handle, "bad_key"), (False, owner, handle, "stale")])


@case
def the_command_line_is_the_same_through_it():
    def both(*argv, **kw):
        out = []
        for serve in ("0", "1"):
            receipt = os.path.join(DIR, "r%s.json" % serve)
            if os.path.exists(receipt):
                os.unlink(receipt)
            r = lethe("run", "--receipt", receipt, *argv, env={"LETHE_SERVE": serve, "FROM": "here"}, **kw)
            with open(receipt) as f:
                text = f.read()
            o = json.loads(text)
            names = [l.split(":")[0] for l in text.splitlines()]
            out.append((r.code, r.out.replace((o["region"] or "-").encode(), b"R"), r.err.replace((o["region"] or "-").encode(), b"R"), o["outcome"], re.sub("used [0-9.]+", "used N", o["reason"].replace(o["region"] or "-", "R")) if o.get("reason") else None,
                        [n for n in names if '"' in n and "usage" not in n]))
        same(out[1][:5], out[0][:5], argv)
        same(out[1][5], out[0][5], argv)
        return out[0]
    with Daemon():
        both("--exec", "/bin/sh", "-c", "echo o; echo e >&2; exit 7")
        both("--exec", "/no/such")
        both("--exec", "/etc/passwd")
        both("-e", "FROM", "-e", "B=c", "--exec", "/usr/bin/env")
        both("-e", "NOT_SET", "--exec", "/usr/bin/env")
        both("-v", "/no/such:/mnt", "--exec", "/bin/true")
        both("--timeout", "300ms", "--quiet", "--exec", "/bin/sleep", "9")
        both("--exec", "./true", cwd="/bin")
        both("--network", "host", "--verbose", "--exec", "/bin/true")
        served = Client().call("status")["result"]["served"]
        check(served >= 7, served)


@case
def the_command_line_without_it():
    same(lethe("run", "--exec", "/bin/echo", "x").out, b"x\n", "nobody listens")
    other = os.path.join(DIR, "other")
    with Daemon(), Client() as c:
        n = c.call("status")["result"]["served"]
        same(lethe("run", "--store", other, "--exec", "/bin/echo", "x", env={"LETHE_ANCHOR": other + ".anchor"}).out, b"x\n", "another store")
        # who named none is told that the daemon has another.
        r = lethe("run", "--exec", "/bin/echo", "x", env={"LETHE_STORE": "", "XDG_STATE_HOME": other, "LETHE_ANCHOR": other + ".anchor2"})
        same(r.out, b"x\n")
        check("lethe serve has another store" in r.err.decode() and STORE in r.err.decode(), r.err)
        same(lethe("run", "--no-serve", "--exec", "/bin/echo", "x").out, b"x\n")
        policy = os.path.join(DIR, "p.json")
        with open(policy, "w") as f:
            json.dump({"version": 1}, f)
        same(lethe("run", "--policy", policy, "--exec", "/bin/echo", "x").out, b"x\n")
        same(lethe("run", "--exec", "/bin/echo", "x", env={"LETHE_POLICY": policy}).out, b"x\n", "another policy")
        p = subprocess.run([LETHE, "run", "--exec", "/bin/echo", b"\xff"], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        same((p.returncode, p.stdout), (0, b"\xff\n"), "what no request can say")
        same(c.call("status")["result"]["served"], n)
        same(lethe("run", "--exec", "/bin/echo", "x").out, b"x\n")
        same(c.call("status")["result"]["served"], n + 1)


@case
def a_daemon_with_mounts_of_its_own():
    """A-62: ProtectSystem= and the like give a service a mount namespace: the client's files have other mounts' numbers there, and the same device."""
    if os.geteuid() != 0:
        return
    with Daemon(wrap=["unshare", "--mount"]), Client() as c:
        n = c.call("status")["result"]["served"]
        path = os.path.join(DIR, "regular")
        with open(path, "wb") as f:
            same(subprocess.run([LETHE, "run", "--exec", "/bin/echo", "x"], env=ENV, stdin=subprocess.DEVNULL, stdout=f, check=False).returncode, 0)
        with open(path, "rb") as f:
            same(f.read(), b"x\n")
        same(c.call("status")["result"]["served"], n + 1)


@case
def a_daemon_that_dies_is_told():
    with Daemon() as d:
        p = subprocess.Popen([LETHE, "run", "--exec", "/bin/sleep", "600"], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_alive(1)
        d.p.kill()
        out = p.communicate(timeout=60)
        same(p.returncode, 125, out)
        check(b"lethe serve ended" in out[1], out)
        d.p.wait()
    same([r["orphan"] for r in alive()], [True])
    with Daemon() as d:
        same(alive(), [])
    same(lethe("audit").code, 0)


@case
def clients_that_mean_harm_harm_nobody_else():
    with Daemon("--max-queued", "64", "--max-running", "20") as d:
        fds = d.baseline()
        good = Client()
        bad = [Client() for _ in range(20)]
        for i, c in enumerate(bad):
            c.s.settimeout(0.2)
            try:
                if i % 4 == 0:
                    c.s.sendall(os.urandom(200000).replace(b"\n", b"x"))
                elif i % 4 == 1:
                    for _ in range(100000):  # and never reads
                        c.s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"status"}\n' * 64)
                elif i % 4 == 2:
                    c.s.sendall(b"\n".join([b"garbage"] * 1000) + b"\n")
                else:
                    for _ in range(200):
                        c.send("run", exec="/bin/sleep", args=["600"], receipt=False)
            except OSError:
                pass
            check("result" in good.call("ping"), i)
            s = good.call("status")["result"]
            check(s["queued"] <= 64 and s["running"] <= 20, s)
        bad[3].s.settimeout(60)
        same(word(bad[3].read()), "busy")  # 200 asked for, of which at most 84 may run and wait, and none ends
        check(good.call("status")["result"]["refused"] > 0)
        for c in bad:
            c.close()
        wait_alive(0)
        same(good.run("/bin/echo", "still")["result"]["stdout"], "still\n")
        good.close()
        d.settled(fds)
        with open("/proc/%d/status" % d.pid) as f:
            rss = int([l for l in f if l.startswith("VmRSS")][0].split()[1])
        check(rss < 200000, "%d kB" % rss)


@case
def a_flood_of_one_process_leaves_room_for_another():
    """Places: 20, of which 16 are for who has fewer. Turns: one of each process."""
    flood, code = None, [sys.executable, "-c", """
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
for i in range(300):
    s.sendall((json.dumps({"jsonrpc": "2.0", "id": i, "method": "run", "params": {"exec": "/bin/sleep", "args": ["600"], "receipt": False}}) + "\\n").encode())
print("sent", flush=True)
while s.recv(65536):
    pass
""", SOCKET]
    try:
        with Daemon("--max-queued", "100", "--max-running", "24"):
            flood = subprocess.Popen(code, stdout=subprocess.PIPE)
            same(flood.stdout.readline(), b"sent\n")
            wait_alive(16)
            same(lethe("run", "--exec", "/bin/echo", "x").out, b"x\n")
            with Client() as c:
                ids = [c.send("run", exec="/bin/true", receipt=False) for _ in range(30)]
                same({c.read()["result"]["exit_code"] for _ in ids}, {0})
            flood.kill()
            flood.wait()
            wait_alive(0)
    finally:
        if flood:
            flood.kill()
            flood.wait()
            flood.stdout.close()


@case
def too_many_connections():
    with Daemon("--max-clients", "16") as d:
        fds = d.baseline()
        clients = [Client()]
        wait_for(lambda: clients[0].call("status")["result"]["clients"] == 1, "the end of all earlier connections")
        clients += [Client() for _ in range(15)]
        check("result" in clients[15].call("ping"))
        with Client() as c:
            same(word(c.read()), "busy", "all of them are this process's")
        same(lethe("run", "--exec", "/bin/echo", "x").out, b"x\n", "another process's takes the place of one that asks nothing")
        for c in clients:
            c.close()
        d.settled(fds)


@case
def nothing_for_input_and_for_output():
    null = os.open("/dev/null", os.O_RDWR)
    with Daemon() as d, Client() as c:
        fds = d.baseline()

        def own():
            return sorted(f for f in os.listdir("/proc/%d/fd" % d.pid) if os.path.realpath("/proc/%d/fd/%s" % (d.pid, f)) == "/dev/null")

        before = own()
        for _ in range(3):
            r = c.run("/bin/sh", "-c", "cat; echo out; echo err >&2", receipt=False, stdio=["stdin", "stdout", "stderr"], fds=[null] * 3)["result"]
            same((r["exit_code"], "stdout" in r, "stderr" in r), (0, False, False))
            same(c.run("/bin/sh", "-c", "cat; echo out", receipt=False, stdio=["stdin"], fds=[null])["result"]["stdout"], "out\n")
        d.settled(fds)
        same(own(), before)
    os.close(null)


@case
def few_descriptors():
    """Who passes pipes takes more of them: fewer run at once, the others wait, and nobody fails for want of one."""
    if os.geteuid() == 0:
        return  # it would raise its limit
    ends = [os.pipe() for _ in range(3)]
    child = ["sh", "-c", "ulimit -n 2700; exec \"$0\" \"$@\""]
    with Daemon(wrap=child) as d, Client() as c, Client() as other:
        check("at most 79 invocations" in d.p.early, d.p.early)
        for _ in range(70):  # each runs until its input ends
            c.send("run", exec="/bin/cat", receipt=False, stdio=["stdin", "stdout", "stderr"], fds=[ends[0][0], ends[1][1], ends[2][1]])
        most, seen = 1272 // 23, {}

        def all_have_come():
            seen.update(other.call("status")["result"])
            check(seen["running"] <= most, seen)
            return seen["running"] + seen["queued"] == 70 and seen["running"] == most
        wait_for(all_have_come, "as many as there are descriptors for, and the others queued")
        os.close(ends[0][1])
        same({c.read()["result"]["exit_code"] for _ in range(70)}, {0})
    for fd in (ends[0][0], *ends[1], *ends[2]):
        os.close(fd)


@case
def control_groups_serve_one_region_after_another():
    with Daemon() as d:
        before = d.baseline()
        idle = cgroups_left()
        with Client() as c:
            for _ in range(20):
                same(c.run("/bin/true", receipt=False)["result"]["exit_code"], 0)
                d.quiet()  # the group goes back after the answer: who is faster gets another one
        same(cgroups_left(), idle)
        same([e["region"] for e in log("--type", "region.denied")], [])
        d.settled(before)
        # Killed with some of them idle: the next start knows where they are.
        d.p.kill()
        d.p.wait()
    same(cgroups_left(), idle)
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)
    same(cgroups_left(), [])
    with Daemon():
        pass  # takes away the dead one's socket
    with open("/proc/self/cgroup") as f:
        first_version = any(":memory:" in line for line in f)
    if os.geteuid() == 0 and not first_version:
        raise Skip("this kernel has no memory control group of version 1: others are not kept for the next region")
    check(idle or os.geteuid() != 0, "root had none: the case showed nothing")


def stacks_hold(pid, what):
    """Places in the daemon's memory, but its first heap, where these bytes are."""
    found = []
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as mem:
        for line in maps:
            a, b = (int(x, 16) for x in line.split()[0].split("-"))
            if " rw-p" in line and "[heap]" not in line:
                try:
                    data = os.pread(mem.fileno(), b - a, a)
                except OSError:
                    continue
                if what in data:
                    found.append("%s at %x" % (line.strip(), a + data.index(what)))
    return found


@case
def a_region_is_told_of_when_its_record_is_in_the_redo_file():  # and that is allowed to a daemon that has confined itself
    with Daemon(), Client() as c:
        def written():
            with open(os.path.join(STORE, "redo"), "rb") as f:
                return f.read()
        before = written()
        same(c.run("/bin/true", receipt=False)["result"]["exit_code"], 0)
        check(written() != before, "nothing was written there")


@case
def a_thread_keeps_nothing_of_the_invocation_before():
    folders = [os.path.join(DIR, "folder-%d" % i) for i in range(2)]
    for f in folders:
        os.mkdir(f)
        with open(os.path.join(f, "where"), "w") as w:
            w.write("#!/bin/sh\necho %s\n" % f)
        os.chmod(os.path.join(f, "where"), 0o755)
    with Daemon() as d, Client() as c:
        d.baseline()
        threads = set(os.listdir("/proc/%d/task" % d.pid))
        for f in folders * 2:
            same(c.run("./where", cwd=f, receipt=False)["result"]["stdout"], f + "\n")
        check("refusal" in c.run("./where", receipt=False)["result"])
        check("refusal" in c.run("/no-such-program-" + "x" * 16, receipt=False)["result"])
        wait_for(lambda: not stacks_hold(d.pid, b"/no-such-program-xxxx"), "that it gives up its stack, once all is told")
        check(threads <= set(os.listdir("/proc/%d/task" % d.pid)), "it was one and the same thread")
        wait_for(lambda: not [t for t in threads if os.readlink("/proc/%d/task/%s/cwd" % (d.pid, t)) in folders], "that none stands in what could not be unmounted")


case(nothing_is_left)
main()
