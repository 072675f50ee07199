#!/usr/bin/python3
"""`lethe serve` from its start to its end: places, policy, one that takes over from another, what it gives up, and how it ends. TAP.

usage: life.py LETHE root|user
"""
import json
import os
import signal
import socket
import subprocess
import sys
import threading

from served import SOCKET, Client, Daemon, alive, nothing_is_left, wait_alive, word
from tap import DIR, ENV, LETHE, case, check, lethe, log, main, same, wait_for

ENV["LETHE_SOCKET"] = SOCKET
ENV["LETHE_SERVE"] = "1"


@case
def the_policy_is_read_again():
    policy = os.path.join(DIR, "policy.json")

    def write(o):
        with open(policy, "w") as f:
            f.write(o if isinstance(o, str) else json.dumps(o))
    write({"version": 1})
    with Daemon("--policy", policy) as d, Client() as c:
        def memory():
            r = c.run("/bin/true")["result"]["region"]
            return [e for e in log("--region", r) if e["type"] == "region.allocated"][0]["grant"]["budgets"]["memory_bytes"]
        standard = memory()
        write({"version": 1, "max": {"memory": "20m"}})
        same(memory(), standard)
        os.kill(d.pid, signal.SIGHUP)
        wait_for(lambda: memory() == 20 << 20, "the new policy")
        write("not a policy")
        r = c.call("reload")
        same(word(r), "policy", r)
        same(memory(), 20 << 20, "the old one stays")
        write({"version": 1, "max": {"memory": "30m"}})
        same(c.call("reload")["result"], {"policy": policy, "earlier": 0})
        same(memory(), 30 << 20)


@case
def stopping():
    with Daemon("--drain", "20s") as d:  # what runs is waited for
        c = Client()
        r, w = os.pipe()
        c.send("run", exec="/bin/sh", args=["-c", "read x; echo done"], stdio=["stdin"], fds=[r], receipt=False)
        os.close(r)
        wait_alive(1)
        d.p.terminate()
        wait_for(lambda: not os.path.exists(SOCKET), "that it stops")
        same(word(c.run("/bin/true")), "stopping")
        os.close(w)
        same(c.read()["result"]["stdout"], "done\n")
        d.p.wait(60)
        same(d.p.returncode, 0)
    for drain, second in (("500ms", False), ("60s", True)):
        with Daemon("--drain", drain) as d:
            c = Client()
            c.send("run", exec="/bin/sleep", args=["600"])
            wait_alive(1)
            region = alive()[0]["region"]
            d.p.terminate()
            if second:
                wait_for(lambda: not os.path.exists(SOCKET), "that it took the first")
                d.p.terminate()
            same(c.read()["result"]["exit_code"], 143)
            d.p.wait(60)
            same(d.p.returncode, 0)
            same([e["outcome"] for e in log("--region", region) if e["type"] == "invocation.ended"], ["cancelled"])
            check("lethe serve ends" in json.dumps(log("--region", region)), "A-62: stopped by the daemon, which is nobody's cancel", log("--region", region))
    with Daemon() as d, Client() as c:
        same(c.call("stop")["result"], {})
        d.p.wait(60)
        same(d.p.returncode, 0)


@case
def one_place_one_daemon():
    with Daemon():
        p = subprocess.run([LETHE, "serve"], env=ENV, stderr=subprocess.PIPE, timeout=60)
        same(p.returncode, 125, p)
        check(b"answers there already" in p.stderr, p)
        same(lethe("run", "--exec", "/bin/echo", "x").out, b"x\n")
    s = socket.socket(socket.AF_UNIX)
    s.bind(SOCKET)  # a name that a dead one left
    s.close()
    with Daemon(), Client() as c:
        check("result" in c.call("ping"))
    for argv, why in ((["--max-running", "0"], b"--max-running"), (["--drain", "x"], b"--drain"), (["--wings"], b"--wings"), (["x"], b"x"), (["--socket", ""], b"--socket")):
        p = subprocess.run([LETHE, "serve", *argv], env=ENV, stderr=subprocess.PIPE, timeout=60)
        same(p.returncode, 2, argv, p)
        check(why in p.stderr, p)


@case
def places_may_be_relative():
    """Invocations have working folders of their own: the daemon's is where it was started."""
    env = {"LETHE_STORE": "", "LETHE_ANCHOR": "", "LETHE_SOCKET": ""}
    here = os.getcwd()
    os.chdir(DIR)
    try:
        with Daemon("--store", "near", "--anchor", "near.anchor", "--socket", "near.socket", **env), Client(os.path.join(DIR, "near.socket")) as c:
            for cwd in ("/", DIR, "/usr"):
                same(c.run("/bin/echo", "x", cwd=cwd)["result"]["stdout"], "x\n", cwd)
    finally:
        os.chdir(here)
    near = os.path.join(DIR, "near")
    same(sorted(n for n in os.listdir(DIR) if n.startswith("near")), ["near", "near.anchor", "near.socket.lock"])
    same(subprocess.run([LETHE, "audit", "--store", near, "--anchor", near + ".anchor"], stdout=subprocess.DEVNULL).returncode, 0)


@case
def one_takes_the_place_of_another():
    with Daemon("--drain", "60s") as old:
        c = Client()
        r, w = os.pipe()
        c.send("run", exec="/bin/sh", args=["-c", "read x; echo old"], stdio=["stdin"], fds=[r], receipt=False)  # until the pipe is closed
        os.close(r)
        wait_alive(1)
        region = alive()[0]["region"]
        asks, stop = [], []

        def ask():
            while not stop:
                try:
                    with Client() as x:
                        asks.append(x.call("ping")["result"]["pid"])
                except Exception as e:
                    asks.append(repr(e))
        t = threading.Thread(target=ask)
        t.start()
        wait_for(lambda: len(asks) > 0, "an answer of the old one")
        with Daemon("--replace") as new:
            same(lethe("run", "--exec", "/bin/echo", "new").out, b"new\n")
            with Client() as x:
                same(x.call("status")["result"]["pid"], new.pid)
                same(x.call("status")["result"]["served"], 1)
            same([r["orphan"] for r in alive()], [False], "what the old one runs is no orphan of the new one's")
            same(word(c.run("/bin/true")), "stopping")
            wait_for(lambda: asks[-1] == new.pid, "an answer of the new one")
            os.close(w)
            same(c.read()["result"]["stdout"], "old\n")
            same(old.p.wait(60), 0)
            stop.append(1)
            t.join()
            check(os.path.exists(SOCKET), "the name is the new one's")
            same(set(asks), {old.pid, new.pid}, "nobody was refused in between")
    same([e["outcome"] for e in log("--region", region) if e["type"] == "invocation.ended"], ["exited"])
    with Daemon("--replace"), Client() as c:  # when there is none
        check("result" in c.call("ping"))


@case
def socket_activation():
    path = os.path.join(DIR, "given")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path)
    os.chmod(path, 0o666)  # as lethe.socket makes it
    listener.listen(16)
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(os.path.join(DIR, "notify"))
    notify.settimeout(60)
    with Client(path) as c:  # asks before anybody serves
        c.send("ping")
        code = 'import os, sys; os.dup2(int(sys.argv[1]), 3); os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1"); os.execv(sys.argv[2], sys.argv[2:])'
        p = subprocess.Popen([sys.executable, "-c", code, str(listener.fileno()), LETHE, "serve"], env=dict(ENV, NOTIFY_SOCKET=os.path.join(DIR, "notify")),
                             pass_fds=[listener.fileno(), 3], stderr=subprocess.PIPE)
        listener.close()
        check(b"READY=1" in notify.recv(4096))
        same(oct(os.stat(path).st_mode & 0o777), "0o600", "its policy names no clients")
        same(c.read()["result"]["pid"], p.pid)
        p.send_signal(signal.SIGHUP)
        check(b"RELOADING=1" in notify.recv(4096))
        check(b"READY=1" in notify.recv(4096))
        p.terminate()
        check(b"STOPPING=1" in notify.recv(4096))
        same(p.wait(60), 0)
        p.stderr.close()
    check(os.path.exists(path), "the socket is not ours")
    notify.close()


def status_of(pid, task):
    with open("/proc/%d/task/%s/status" % (pid, task)) as f:
        return dict(l.rstrip("\n").split(":\t", 1) for l in f if ":\t" in l)


@case
def it_has_given_up_what_it_does_not_need():
    """And its regions have not: they are bound by their own filter, and bound by ours they could not even start."""
    with Daemon() as d, Client() as c:
        r, w = os.pipe()
        c.send("run", exec="/bin/cat", stdio=["stdin"], fds=[r], receipt=False)  # until the pipe is closed
        os.close(r)
        wait_alive(1)
        tasks = os.listdir("/proc/%d/task" % d.pid)
        check(len(tasks) >= 3, tasks)
        for t in tasks:
            s = status_of(d.pid, t)
            same((s["NoNewPrivs"], s["Seccomp"]), ("1", "2"), t)
            for cap in (16, 12, 13, 25):  # CAP_SYS_MODULE, CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_TIME
                if t == str(d.pid):
                    check(not int(s["CapPrm"], 16) & 1 << cap, s["CapPrm"])
        os.close(w)
        same(c.read()["result"]["exit_code"], 0)


@case
def a_zygote_that_dies_ends_it():
    """What is confined could not make another one: then it does not go on without."""
    with Daemon(code=125) as d:
        r = {"result": {"exit_code": 0}}
        while r and "result" in r and r["result"]["exit_code"] == 0:  # a zygote that was being made while the others were looked up takes one more
            children = set()
            for t in os.listdir("/proc/%d/task" % d.pid):
                with open("/proc/%d/task/%s/children" % (d.pid, t)) as f:
                    children |= set(f.read().split())
            for pid in children:
                os.kill(int(pid), signal.SIGKILL)
            try:
                with Client() as c:
                    r = c.run("/bin/true")
            except ConnectionError:
                r = None
        # The daemon finds out when it needs one, or looks after them by itself before: then it takes nothing more.
        if r and "result" in r:
            same((r["result"]["exit_code"], r["result"]["receipt"]["outcome"]), (125, "setup_failed"), r)
        else:
            check(r is None or word(r) == "stopping", r)
        same(d.p.wait(60), 125)
    same(lethe("run", "--exec", "/bin/echo", "x").out, b"x\n", "and without it")


case(nothing_is_left)
main()
