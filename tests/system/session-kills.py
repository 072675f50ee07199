#!/usr/bin/python3
"""SIGKILL at any moment of a turn: of the host, of the client, of a process of a region (guard, worker, program) or of the interpreter that regions share.
Whatever is killed: a session goes on from the last turn that was carried, or is ended and recorded; both sections are of one turn; nothing of another turn is
there; the store is whole. LETHE_TEST_KILLS: how many (20). TAP.

usage: session-kills.py LETHE root|user
"""
import collections
import json
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, ENV, LETHE, case, cgroups_left, check, lethe, main, processes_below, python_skill, same, state_of, wait_for  # noqa: E402

KILLS = int(os.environ.get("LETHE_TEST_KILLS", "20"))
SEED = int(os.environ.get("LETHE_TEST_SEED", str(int(time.time()))))
os.chmod(DIR, 0o755)
LAB = """import os, sys, time
import lethe
def have(section):
    try:
        return lethe.carry_read(section)
    except lethe.LetheError as e:
        if e.code != "no_value":
            raise
        return 0
n = have("count")
assert n == have("twin"), (n, have("twin"))
assert not os.path.exists("/tmp/left")
open("/tmp/left", "w").write("left by %d" % n)
lethe.carry_write("count", n + 1)
time.sleep(float(sys.argv[1]))
lethe.carry_write("twin", n + 1)
print(n)
"""
SECTIONS = {"count": {"schema": {"type": "integer"}}, "twin": {"schema": {"type": "integer"}}}
KINDS = {"resume": dict(on_crash="resume"), "end": {}}
for kind, more in KINDS.items():
    python_skill(kind, LAB, warm={"preload": ["json"]}, session=dict({"sections": SECTIONS}, **more))


def open_(kind):
    r = lethe("session", "open", kind, "--json")
    same(r.code, 0, r)
    return json.loads(r.out)["session"]


def show(session):
    r = lethe("session", "show", session, "--json")
    return json.loads(r.out) if r.code == 0 else None


def value(session, section):
    """0 before the first; None: there is no such session any more."""
    for _ in range(50):  # the host that is asked may be the one that was killed
        r = lethe("session", "carry", session, section)
        if r.code == 0:
            return int(r.out)
        if b"no value" in r.err:
            return 0
        if b"no open session" in r.err or b"ended with its host" in r.err:
            return None
        time.sleep(0.05)
    raise AssertionError(r)


def ended(session):
    return [e["reason"] for e in map(json.loads, lethe("log", "--session", session, "--type", "session.ended", "--json").out.splitlines())]


def end_dead(session):
    """Closes a session whose host died; where recovery was faster, there is no session any more."""
    r = lethe("session", "close", session)
    check(r.code == 0 or b"no open session" in r.err, r)
    same(ended(session), ["supervisor_died"])


def victim(chance, client, host):
    """What is killed: by what it is, and its number."""
    makers = [pid for task in os.listdir("/proc/%d/task" % host) for pid in open("/proc/%d/task/%s/children" % (host, task), encoding="utf-8").read().split()]
    below = [(name, pid) for pid, name in processes_below(host) if str(pid) not in makers]  # without a zygote and its spare a host makes no regions any more
    return chance.choice([("client", client), ("host", host)] + ([chance.choice(below), chance.choice(below)] if below else []))


def kill_one(chance, kind, session, done, killed):
    """The number of turns that are carried then; None: the session has ended."""
    host = show(session)["host"]
    p = subprocess.Popen([LETHE, "session", "turn", session, "--", str(chance.choice((0, 0, 0.05)))], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    time.sleep(chance.random() * chance.choice((0.03, 0.3)))
    what = "nobody"
    try:
        what, pid = victim(chance, p.pid, host)
        os.kill(pid, signal.SIGKILL)
    except (FileNotFoundError, ProcessLookupError):
        what = "nobody"
    out, err = p.communicate()
    killed[what] += 1
    if what == "host":
        wait_for(lambda: state_of(host) in "ZX", "the host's end")
    now, twin = value(session, "count"), value(session, "twin")
    same(now, twin, what, out, err)
    if now is None:
        check(kind == "end" and what == "host", kind, what, err)
        end_dead(session)
        return None
    check(done <= now <= done + 1, what, done, now, err)
    check(p.returncode != 0 or (now == done + 1 and out == b"%d\n" % done), what, done, now, out)  # what was told is kept
    return now


@case
def a_session_goes_on_or_is_ended_and_recorded():  # I-85, I-86
    chance, killed = random.Random(SEED), collections.Counter()
    sessions = {kind: [open_(kind), 0] for kind in KINDS}
    for i in range(KILLS):
        kind = chance.choice(list(KINDS))
        session, done = sessions[kind]
        try:
            now = kill_one(chance, kind, session, done, killed)
        except AssertionError as e:
            raise AssertionError("seed %d, kill %d: %s" % (SEED, i, e)) from e
        if now is None:
            sessions[kind] = [open_(kind), 0]
        else:
            sessions[kind][1] = now
        other = [k for k in KINDS if k != kind][0]
        if value(sessions[other][0], "count") is None:  # hosted by the same one
            check(other == "end", other)
            end_dead(sessions[other][0])
            sessions[other] = [open_(other), 0]
        elif i % 10 == 9:
            same(lethe("audit").code, 0, "seed %d, kill %d" % (SEED, i))
    print("# seed %d; killed: %s" % (SEED, ", ".join("%s %d" % x for x in sorted(killed.items()))), flush=True)
    for kind, (session, done) in sessions.items():
        same([value(session, s) for s in SECTIONS], [done] * 2)
        same(lethe("session", "turn", session, "--", "0").out, b"%d\n" % done)
        same(lethe("session", "close", session).code, 0)
        same(ended(session), ["closed"])


@case
def the_store_is_whole_and_nothing_is_left():
    same(lethe("run", "--quiet", "resume", "--", "0").code, 1)  # no turn; and recovers what is left
    for verb in ("verify", "audit"):
        r = lethe(verb)
        same(r.code, 0, r)
    same(json.loads(lethe("session", "list", "--json").out)["sessions"], [])
    wait_for(lambda: cgroups_left() == [], "that no control group is left")


main()
