#!/usr/bin/python3
"""After a reload has answered, nothing runs with what it revoked: not what waited, not what was prepared, not what a pool makes next. TAP.

usage: revoke.py LETHE root|user
"""
import json
import os
import select
import signal
import socket
import subprocess

import served
from served import SOCKET, Connection, Daemon, descendants, traced, word
from tap import DIR, ENV, LETHE, STORE, ask_daemon, case, check, lethe, log, main, same, wait_for

POLICY = os.path.join(DIR, "policy.json")
GRANTED = os.path.join(DIR, "granted")
ENV |= {"LETHE_SOCKET": SOCKET, "LETHE_SERVE": "1", "LETHE_POLICY": POLICY}
DIGESTS = {}
PARENT = """import lethe, sys
sys.stdout.write("up\\n")
sys.stdout.flush()
sys.stdin.readline()
print(lethe.run("reader")["output"])
"""


def policy(files=False, **more):
    """With files: the folder may be granted, to the sub-skill as well."""
    roots = [{"path": GRANTED, "access": "read"}] if files else []
    skills = {"reader": {"digest": DIGESTS["reader"], "files": roots}} if "reader" in DIGESTS else {}
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "files": roots, "skills": skills, **more}, f)


def skill(name, program, text, **manifest):
    d = os.path.join(DIR, name)
    os.mkdir(d)
    for file, content in (("SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name), ("main", text),
                          ("lethe.json", json.dumps({"version": 1, "entry": {"main": [program, "/skill/main"]}, **manifest}))):
        with open(os.path.join(d, file), "w", encoding="utf-8") as f:
            f.write(content)
    r = lethe("skill", "add", d)
    same(r.code, 0, r)
    DIGESTS[name] = json.loads(lethe("skill", "show", "--json", name).out)["digest"]


def that_show_it(pid):
    """Processes below the daemon in which the granted folder is mounted."""
    found = []
    for p in descendants(pid):
        try:
            with open("/proc/%d/mountinfo" % p, encoding="utf-8", errors="replace") as f:
                if any(line.split()[4] == "/data" for line in f):
                    found.append(p)
        except OSError:
            pass
    return found


def that_wait_with_it(pid):
    """Those of them that have a guard: processes of regions, and no templates."""
    return [p for p in that_show_it(pid) if traced(p)]


def threads(pid):
    return set(os.listdir("/proc/%d/task" % pid))


def waits_for_a_zygote(pid, earlier):
    """A thread of the daemon that is none of the earlier ones is in poll(2): that of an invocation. The keeper of the zygotes is there all the time."""
    for task in threads(pid) - earlier:
        try:
            with open("/proc/%d/task/%s/syscall" % (pid, task), encoding="utf-8") as f:
                if f.read().split()[0] == "7":
                    return True
        except OSError:
            pass
    return False


def queued(n):
    wait_for(lambda: ask_daemon("status")["queued"] == n, "%d that wait" % n)


class Busy:
    """The daemon's only place is taken by a run that ends when it is told to."""

    def __init__(self):
        self.c = Connection()
        self.run = self.c.send("run", skill="wait", stream=["stdin", "stdout"], receipt=False)
        same(self.c.read()["method"], "output")

    def end(self):
        self.c.send("input", id=self.run, end=True)
        answers = {a["id"]: a for a in (self.c.read() for _ in range(2))}
        same(answers[self.run]["result"]["exit_code"], 0)
        self.c.close()


@case
def skills_are_there():
    os.mkdir(GRANTED)
    with open(os.path.join(GRANTED, "file"), "w", encoding="utf-8") as f:
        f.write("granted\n")
    os.chmod(DIR, 0o755)
    policy()
    skill("reader", "/bin/sh", "cat /data/file 2>/dev/null || echo nothing\n", files=[{"path": GRANTED, "at": "/data", "access": "read"}])
    skill("wait", "/bin/sh", "echo up; cat\n")
    skill("parent", "/usr/bin/python3", PARENT, sub_skills=["reader"])


@case
def what_waits_is_judged_when_its_turn_comes():  # I-96
    for revoked in (False, True):
        policy(files=True)
        with Daemon("--max-running", "1"), Connection() as c:
            busy = Busy()
            c.send("run", skill="reader", receipt=False)
            queued(1)
            if revoked:
                policy()
                same(ask_daemon("reload"), {"policy": POLICY, "earlier": 1})
            busy.end()
            same(c.read()["result"]["stdout"], "nothing\n" if revoked else "granted\n")


@case
def a_client_that_is_not_named_any_more_waits_for_nothing():  # I-96
    if os.getuid() != 0:
        return
    import others  # pylint: disable=import-outside-toplevel
    policy(clients=[{"uid": others.ALICE}, {"uid": others.BOB}])
    with Daemon("--max-running", "1"):
        busy = Busy()
        seen = len(log("--type", "region.allocated"))

        def ask():
            """Three requests, two for what stays and for what goes; the flag says that they wait."""
            with Connection() as c:
                ids = [c.send("run", skill=name, receipt=False) for name in ("reader", "parent", "wait")]
                return [[ids.index(a["id"]), word(a)] for a in (c.read() for _ in ids)]

        r, w = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(w, json.dumps(others.as_user(others.ALICE, ask)).encode())
            os._exit(0)
        os.close(w)
        queued(3)
        policy(clients=[{"uid": others.BOB}])
        same(ask_daemon("reload"), {"policy": POLICY, "earlier": 1})
        with os.fdopen(r) as f:
            same(json.load(f), [[0, "not_allowed"], [1, "not_allowed"], [2, "not_allowed"]], "they are told at once")
        os.waitpid(pid, 0)
        queued(0)
        busy.end()
    same(len(log("--type", "region.allocated")), seen)


@case
def nothing_that_was_prepared_is_left():  # I-96
    pool = {"skills": {"reader": 3}}
    policy(files=True, pool=pool)
    with Daemon() as d, Connection() as c:
        same(c.call("run", skill="reader", receipt=False)["result"]["stdout"], "granted\n")
        wait_for(lambda: len(that_show_it(d.pid)) >= 3, "regions that wait, with the folder in them")
        policy(pool=pool)
        same(ask_daemon("reload"), {"policy": POLICY, "earlier": 0})
        same(that_show_it(d.pid), [], "they are gone when it answers")
        for _ in range(3):
            same(c.call("run", skill="reader", receipt=False)["result"]["stdout"], "nothing\n")
            same(that_show_it(d.pid), [])
        policy(files=True, pool=pool)
        same(ask_daemon("reload"), {"policy": POLICY, "earlier": 0})
        same(c.call("run", skill="reader", receipt=False)["result"]["stdout"], "granted\n", "and it comes back")


@case
def who_is_being_started_is_waited_for():  # I-96
    """The invocation was judged by the old policy and has no region yet: nothing makes processes while its zygote stands still."""
    policy(files=True)  # without a pool, whose thread would be waited for as well
    with Daemon() as d, Connection() as c, Connection() as other:
        zygotes = [p for p in descendants(d.pid) if "discard" not in open("/proc/%d/comm" % p, encoding="utf-8").read()]
        for p in zygotes:
            os.kill(p, signal.SIGSTOP)
        earlier = threads(d.pid)
        c.send("run", skill="reader", receipt=False)
        wait_for(lambda: waits_for_a_zygote(d.pid, earlier), "its thread, which asks for a process")
        policy(pool={"skills": {"reader": 1}})
        other.send("reload")
        for _ in range(20):
            check(ask_daemon("ping")["pid"])
        same(select.select([other.s], [], [], 0)[0], [], "it is not done, and nobody else is held up")
        for p in zygotes:
            os.kill(p, signal.SIGCONT)
        a = other.read()["result"]
        check(a["earlier"] <= 1, a)
        allocated = len(log("--type", "region.allocated"))
        check(c.read()["result"]["stdout"] in ("granted\n", "nothing\n"))
        same(len(log("--type", "region.allocated")), allocated, "its region was there before the reload answered")
        for _ in range(3):
            same(c.call("run", skill="reader", receipt=False)["result"]["stdout"], "nothing\n")
        same(that_show_it(d.pid), [], "the pool makes no other one from the grant that came late")


@case
def what_a_region_starts_is_judged_anew():  # I-96, I-97
    for revoked in (False, True):
        policy(files=True)
        with Daemon(), Connection() as c:
            run = c.send("run", skill="parent", stream=["stdin", "stdout"], receipt=False)
            same(c.read()["method"], "output")
            if revoked:
                policy()
                same(ask_daemon("reload"), {"policy": POLICY, "earlier": 1}, "it goes on")
            c.send("input", id=run, end=True)
            out = ""
            while True:
                a = c.read()
                if a.get("id") == run:
                    break
                if a.get("method") == "output":
                    out += served.text_of(a)
            same((a["result"]["exit_code"], out), (0, "nothing\n\n" if revoked else "granted\n\n"))


@case
def a_script_can_wait_for_it():  # I-96
    policy(files=True, pool={"skills": {"reader": 2}})
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(os.path.join(DIR, "notify"))
    notify.settimeout(60)

    def told(word_):
        while True:
            text = notify.recv(4096)
            if word_ in text:
                return text

    def forget_what_was_told():
        while select.select([notify], [], [], 0)[0]:
            notify.recv(4096)

    with Daemon(NOTIFY_SOCKET=os.path.join(DIR, "notify")) as d, Connection() as c:
        for way in ("command", "signal"):
            policy(files=True, pool={"skills": {"reader": 2}})
            ask_daemon("reload")
            c.call("run", skill="reader", receipt=False)
            wait_for(lambda: len(that_show_it(d.pid)) >= 2, "regions that wait")
            policy(pool={"skills": {"reader": 2}})
            if way == "command":
                r = subprocess.run([LETHE, "serve", "--reload"], env=ENV, stderr=subprocess.PIPE, timeout=60, check=False)
                same((r.returncode, r.stderr, that_show_it(d.pid)), (0, b"", []))
            else:
                forget_what_was_told()
                d.p.send_signal(signal.SIGHUP)
                check(b"MONOTONIC_USEC=" in told(b"RELOADING=1"))
                told(b"READY=1")
                same(that_show_it(d.pid), [])
        with open(POLICY, "w", encoding="utf-8") as f:
            f.write("no policy")
        r = subprocess.run([LETHE, "serve", "--reload"], env=ENV, stderr=subprocess.PIPE, timeout=60, check=False)
        check(r.returncode == 1 and b"policy.json" in r.stderr, r)
        r = subprocess.run([LETHE, "serve", "--reload", "--socket", os.path.join(DIR, "none")], env=ENV, stderr=subprocess.PIPE, timeout=60, check=False)
        check(r.returncode == 1 and b"No such file" in r.stderr, r)
        policy()
    notify.close()


@case
def a_skill_that_is_registered_anew_waits_as_it_was_nowhere():  # I-96
    policy(files=True, pool={"skills": {"reader": 2}})
    with Daemon() as d, Connection() as c:
        same(c.call("run", skill="reader", receipt=False)["result"]["exit_code"], 0)
        wait_for(lambda: len(that_wait_with_it(d.pid)) >= 2, "regions that wait")
        with open(os.path.join(DIR, "reader", "more"), "w", encoding="utf-8") as f:
            f.write("x")
        same(lethe("skill", "add", os.path.join(DIR, "reader")).code, 0)
        wait_for(lambda: that_wait_with_it(d.pid) == [], "their end, though nobody asks")


@case
def nothing_is_left():
    policy()
    served.nothing_is_left()


main()
