#!/usr/bin/python3
"""`lethe session` from outside: turns, what is carried, and what becomes of a session when a turn, a client, its time or its host ends. TAP.

usage: session.py LETHE root|user
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, STORE, alone, case, check, lethe, main, python_skill, same, wait_for  # noqa: E402

LAB = """import os, sys, time
import lethe
def have(section):
    try:
        return lethe.carry_read(section)
    except lethe.LetheError as e:
        return e.code
def refused(*args, **kw):
    try:
        return lethe.carry_write(*args, **kw)
    except lethe.LetheError as e:
        return e.code
exec(sys.argv[1])
"""
SECTIONS = {"count": {"schema": {"type": "integer"}, "bytes": "1k"}, "text": {"schema": {"type": "string"}, "bytes": "2k"}}
COUNT = "n = have('count'); n = 0 if n == 'no_value' else n; lethe.carry_write('count', n + 1); print(n)"
HANG = COUNT + "; sys.stdout.flush(); time.sleep(600)"
KILLS = int(os.environ.get("LETHE_TEST_KILLS", "8"))  # 500 for a long run
os.chmod(DIR, 0o755)


def skill(name, **session):
    python_skill(name, LAB, session=dict({"sections": SECTIONS}, **session))


skill("talk")
skill("keep", on_crash="resume")
skill("brief", idle="500ms")
skill("short", turns=2)
python_skill("plain", LAB)


def open_(name):
    r = lethe("session", "open", name, "--json")
    same(r.code, 0, r)
    return json.loads(r.out)["session"]


def turn(session, code, *options):
    r = lethe("session", "turn", *options, session, "--", code)
    r.out = r.out.decode() or r.err.decode()
    return r


def start(session, code):
    p = subprocess.Popen([LETHE, "session", "turn", session, "--", code], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    return p


def close(session):
    r = lethe("session", "close", session)
    same(r.code, 0, r)


def show(session):
    r = lethe("session", "show", session, "--json")
    return json.loads(r.out) if r.code == 0 else None


def events(session, *types):
    r = lethe("log", "--session", session, "--json")
    same(r.code, 0, r)
    return [e for e in map(json.loads, r.out.splitlines()) if not types or e["type"] in types]


def holds():
    for verb in ("verify", "audit"):
        r = lethe(verb)
        same(r.code, 0, r)


def count(session):
    r = lethe("session", "carry", session, "count")
    while b"reset by peer" in r.err or b"has ended" in r.err or b"cannot be asked" in r.err:  # the host was just dying
        r = lethe("session", "carry", session, "count")
    check(r.code == 0 or b"no value" in r.err, r)
    return int(r.out) if r.code == 0 else 0


@case
def carried_alone_reaches_the_next_turn():  # I-46, I-47, I-48, I-84
    s = open_("talk")
    same(turn(s, "open('/tmp/left', 'w').write('x'); " + COUNT).out, "0\n")
    same(turn(s, "print(os.path.exists('/tmp/left')); " + COUNT).out, "False\n1\n")
    same(turn(s, "print(refused('count', 'x'), refused('none', 1), refused('text', 'x' * 3000), refused('count', 5, expect=1))").out,
         "schema undeclared_section too_large conflict\n")
    same(turn(s, "lethe.carry_write('count', 7); print(have('count'))").out, "7\n")
    same(count(s), 7)
    same(lethe("session", "carry", s, "count", "40").code, 0)
    same(lethe("session", "carry", s, "count", '"x"').code, 1)
    same(turn(s, COUNT).out, "40\n")
    close(s)
    same(show(s), None)
    same(turn(s, COUNT).code, 125)
    allocated = events(s, "region.allocated")
    same([e.get("turn") for e in allocated], [None, 1, 2, 3, 4, 5])  # I-87
    check(all(e["session"] == s and e["parent"] == s for e in allocated[1:]), allocated)
    all_ = events(s)
    same([e["type"] for e in all_[-3:]], ["session.ended", "region.released", "invocation.ended"])  # the turns ended before
    released = all_[-2]["teardown"]
    check(released["bytes_held"] > 0 and released["bytes_verified"] == released["bytes_held"], released)
    check(not any("body" in e for e in all_ if e["type"] == "session.carried"), all_)  # in no file
    holds()


@case
def a_shell_in_a_turn_carries_too():  # I-48
    s = open_("talk")
    turn(s, COUNT)
    same(turn(s, "import subprocess; sh = lambda line: subprocess.run(['/bin/sh', '-c', line], stdout=subprocess.PIPE, check=True).stdout.decode(); "
                 "print(sh('lethe-slot carry read count; lethe-slot carry read count --version; lethe-slot carry write count 6; lethe-slot carry write text --text hello'))").out.split(),
         ["1", "1", "2", "1"])
    same(turn(s, "print(have('count'), have('text'), lethe.carry_value('count').version)").out, "6 hello 2\n")
    close(s)


@case
def a_turn_without_success_leaves_the_session_as_before():  # I-86
    s = open_("talk")
    turn(s, COUNT)
    same(turn(s, COUNT + "; sys.exit(3)").code, 3)
    same(turn(s, COUNT + "; os.kill(os.getpid(), 9)").code, 137)
    same(turn(s, COUNT + "; sys.stdout.flush(); time.sleep(60)", "--timeout", "1s").code, 124)
    same(turn(s, COUNT).out, "1\n")
    same([e["reason"] for e in events(s, "session.dropped")], ["not_success", "signaled", "timed_out"])
    close(s)
    holds()


@case
def the_receipt_and_the_certificate_name_session_and_turn():  # I-87
    s = open_("talk")
    path = os.path.join(DIR, "receipt.json")
    turn(s, COUNT)
    same(turn(s, COUNT, "--receipt", path).code, 0)
    receipt = json.load(open(path))
    same((receipt["session"], int(receipt["turn"]), receipt["outcome"]), (s, 2, "exited"))
    close(s)
    for region in (receipt["region"], s):
        same(lethe("certificate", region, "-o", os.path.join(DIR, "c.json")).code, 0)


@case
def why_tells_the_session_and_each_turn():  # I-87
    s = open_("talk")
    turn(s, COUNT)
    turn(s, COUNT + "; sys.exit(3)")
    same(lethe("session", "carry", s, "count", "9").code, 0)
    alive = json.loads(lethe("why", "--session", s, "--json").out)
    same((alive["alive"], alive["reason"], alive["skill"]["name"]), (True, None, "talk"))
    close(s)
    r = lethe("why", "--session", s, "--json")
    same(r.code, 0, r)
    told = json.loads(r.out)
    same((told["alive"], told["reason"], told["session"]), (False, "closed", s))
    same([(t["turn"], t["outcome"], t["exit_code"], [(c["section"], c["version"]) for c in t["carried"]], t["dropped"]) for t in told["turns"]],
         [(1, "exited", 0, [("count", 1)], None), (2, "exited", 3, [], {"count": 1, "reason": "not_success"})])
    same([(b["type"], b["section"], b["version"]) for b in told["between"]], [("session.carried", "count", 2)])
    check(told["between"][0]["who"].startswith("uid:"), told)
    text = lethe("why", "--session", s).out.decode()
    check("closed by uid:" in text and "carried count@1" in text and "1 dropped: not_success" in text and text.count("after turn 2: uid:") == 1, text)
    of_turn = json.loads(lethe("why", "--json", told["turns"][1]["region"]).out)
    same((of_turn["session"], of_turn["turn"], of_turn["exit_code"]), (s, 2, 3))
    check("%s, turn 2" % s in lethe("why", told["turns"][1]["region"]).out.decode())
    same(lethe("why", "--session", told["turns"][1]["region"]).code, 1)  # a turn is no session
    same([lethe("why", "--session", *words).code for words in (("x",), (s, "--last"), (s, s))], [2, 2, 2])


@case
def clients_come_one_after_the_other_and_may_go():  # I-85
    s = open_("talk")
    many = [subprocess.Popen([LETHE, "session", "turn", s, "--", COUNT], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(6)]
    same(sorted(int(p.communicate()[0]) for p in many), list(range(6)))
    p = start(s, HANG)
    p.kill()
    p.communicate()
    same(turn(s, COUNT).out, "6\n")
    p = start(s, HANG)
    p.send_signal(signal.SIGTERM)
    p.communicate()
    same(p.returncode, 143)
    p = start(s, HANG)
    close(s)  # takes the turn down first
    p.communicate()
    same(events(s, "session.ended")[0]["reason"], "closed")
    holds()


@case
def idle_sessions_and_used_ones_end():  # I-85
    s = open_("brief")
    wait_for(lambda: show(s) is None, "the end of an idle session")
    same(events(s, "session.ended")[0]["reason"], "idle")
    s = open_("short")
    same([turn(s, COUNT).code for _ in range(3)], [0, 0, 125])
    close(s)
    s = open_("plain")
    same(turn(s, "print(have('count'), refused('count', 1))").out, "undeclared_section undeclared_section\n")
    close(s)
    r = lethe("session", "open", "nobody")
    same(r.code, 1, r)


def kill_host(session):
    os.kill(int(show(session)["host"]), signal.SIGKILL)


@case
@alone
def a_host_that_dies_ends_its_sessions_or_they_go_on():  # I-85
    a, b = open_("talk"), open_("keep")
    same([turn(s, COUNT).code for s in (a, b)], [0, 0])
    p = start(b, HANG)
    kill_host(b)
    p.communicate()
    same(turn(b, COUNT).out, "1\n")  # nothing of the killed turn
    wait_for(lambda: lethe("run", "plain", "--", "0").code == 0 and show(a) is None, "recovery")
    same(events(a, "session.ended")[0]["reason"], "supervisor_died")
    same(len(events(b, "session.resumed")), 1)
    holds()
    close(b)
    same(events(b)[-2]["teardown"]["grade"], "partial")  # the first host's memory was not overwritten
    holds()


@case
@alone
def kills_at_any_moment_lose_nothing_that_was_carried():  # I-85
    s = open_("keep")
    done = 0
    for i in range(KILLS):
        p = subprocess.Popen([LETHE, "session", "turn", s, "--", COUNT], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        host = (show(s) or {}).get("host")
        time.sleep(random.random() * 0.15)
        victim = p.pid if i % 2 else int(host)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.communicate()
        now = count(s)
        check(done <= now <= done + 1 and (now == done + 1 or p.returncode != 0), i, done, now, p.returncode)
        done = now
    close(s)
    holds()


def hosts():
    return [p for p in os.listdir("/proc") if p.isdigit() and STORE.encode() in read("/proc/%s/cmdline" % p)]


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


@case
def a_private_host_ends_with_its_last_session():
    s = open_("talk")
    close(s)
    if not os.environ.get("LETHE_TEST_SERVE"):
        wait_for(lambda: not hosts(), "the end of all hosts")


main()
