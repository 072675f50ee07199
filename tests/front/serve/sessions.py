#!/usr/bin/python3
"""Sessions of `lethe serve` and users who are not its own: each has its own sessions, and to others there are none, also after a crash. TAP.

usage: sessions.py LETHE
"""
import json
import os
import signal
import socket
import sys

from others import ALICE, BOB, EVE, Daemon, as_user, need_root, policy, skill
from served import SOCKET
from tap import case, check, lethe, log, main, same

SECTIONS = {"sections": {"count": {"schema": {"type": "integer"}}}}
SCRIPT = 'n=$(lethe-slot carry read count 2>/dev/null || echo 0); lethe-slot carry write count $((n + 1)) >/dev/null; echo $n\n'


def ask(uid, method, **params):
    """One answer: the result, or the error's word."""
    def fn():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.settimeout(120)
            s.connect(SOCKET)
            s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
            with s.makefile("rb") as f:
                a = json.loads(f.readline())
        return a["result"] if "result" in a else a["error"]["data"]["code"]
    return as_user(uid, fn)


def turn(uid, session, **more):
    a = ask(uid, "run", session=session, **more)
    return a if isinstance(a, str) else (a["exit_code"], a["stdout"])


def clients():
    policy({"uid": ALICE}, {"uid": BOB}, max_sessions=3)


@case
def skills_are_there():
    need_root()
    policy()
    skill("counts", SCRIPT, session=SECTIONS)
    skill("lasts", SCRIPT, session=dict(SECTIONS, on_crash="resume"))


@case
def to_other_users_there_is_no_session():  # I-85
    clients()
    with Daemon():
        opened = ask(ALICE, "session.open", skill="counts")
        s = opened["session"]
        same([turn(ALICE, s), turn(ALICE, s)], [(0, "0\n"), (0, "1\n")])
        for method, more in (("run", {}), ("run", {"key": opened["key"]}), ("session.carry", {"section": "count"}), ("session.carry", {"section": "count", "value": 9}),
                             ("session.close", {})):
            same(ask(BOB, method, session=s, **more), "no_session", method, more)
        same(turn(ALICE, s), (0, "2\n"))
        same(ask(ALICE, "session.carry", session=s, section="count"), {"value": 3, "version": 3})
        same(lethe("session", "carry", s, "count", "8").code, 0)  # root's are all
        same(turn(ALICE, s, key=opened["key"]), (0, "8\n"))
        same(turn(ALICE, s, key="0" * 32), "not_allowed")
        same(turn(ALICE, s), (0, "9\n"))
        same(ask(ALICE, "session.close", session=s), {"session": s})
        same(turn(ALICE, s), "no_session")


def cli(uid, *argv):
    def fn():
        r = lethe(*argv)
        return [r.code, r.out.decode(), r.err.decode()]
    return as_user(uid, fn)


@case
def a_user_of_clients_has_the_command_line_too():  # I-85: without a right to read the store
    clients()
    with Daemon():
        code, out, err = cli(ALICE, "session", "open", "counts")
        same(code, 0, err)
        s = out.strip()
        same([cli(ALICE, "session", "turn", s)[:2] for _ in range(2)], [[0, "0\n"], [0, "1\n"]])
        same(cli(ALICE, "session", "carry", s, "count")[:2], [0, "2\n"])
        same([cli(BOB, "session", *argv)[0] for argv in (["turn", s], ["carry", s, "count"], ["close", s])], [125, 1, 1])
        same(cli(ALICE, "session", "close", s)[:2], [0, "session %s is closed\n" % s])
        code, _, err = cli(EVE, "session", "open", "counts")
        check(code == 1 and "cannot be started: " in err and "invocations at once" not in err, err)  # the reason, not a note before it


@case
def each_method_has_its_own_parameters():  # I-85
    clients()
    with Daemon():
        s = ask(ALICE, "session.open", skill="counts")["session"]
        for method, params in (("session.open", {"skill": "counts", "session": s}), ("session.open", {}), ("session.carry", {"session": s}), ("session.carry", {"section": "count"}),
                               ("session.close", {"session": s, "args": []}), ("session.close", {"session": s, "erase": 1}), ("session.close", {"session": 5}), ("session.close", {}),
                               ("run", {"session": s, "section": "count"}), ("run", {"session": s, "erase": True})):
            same(ask(ALICE, method, **params), "invalid_params", method, params)
        same(turn(ALICE, s), (0, "0\n"))
        same(ask(ALICE, "session.close", session=s, erase=True), {"session": s})


@case
def each_user_has_so_many():  # I-85
    clients()
    with Daemon():
        mine = [ask(ALICE, "session.open", skill="counts")["session"] for _ in range(3)]
        same(ask(ALICE, "session.open", skill="counts"), "refused")
        other = ask(BOB, "session.open", skill="counts")["session"]
        for uid, s in [(ALICE, x) for x in mine] + [(BOB, other)]:
            same(ask(uid, "session.close", session=s), {"session": s})


@case
def after_a_crash_it_is_still_its_user_s():  # I-85
    clients()
    with Daemon(code=-signal.SIGKILL) as d:
        s = ask(ALICE, "session.open", skill="lasts")["session"]
        same(turn(ALICE, s), (0, "0\n"))
        os.kill(d.pid, signal.SIGKILL)
        d.p.wait()
    with Daemon():
        same([ask(uid, "run", session=s) for uid in (BOB, BOB)], ["no_session"] * 2)
        same([e for e in log("--session", s) if e["type"] == "session.resumed"], [])  # nobody else has it resumed
        same(turn(ALICE, s), (0, "1\n"))
        same(ask(BOB, "session.close", session=s), "no_session")
        same(ask(ALICE, "session.close", session=s), {"session": s})
    same(lethe("audit").code, 0)


@case
def a_right_that_was_taken_away_ends_the_turns():  # I-3, I-85
    clients()
    with Daemon():
        s = ask(ALICE, "session.open", skill="counts")["session"]
        policy({"uid": ALICE, "skills": ["lasts"]}, {"uid": BOB})
        same(lethe("serve", "--reload").code, 0)
        same(turn(ALICE, s), "no_session")
        same(lethe("session", "close", s).code, 0)


main()
