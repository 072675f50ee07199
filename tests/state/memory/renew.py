#!/usr/bin/env python3
"""A store whose index an older Lethe wrote: whoever writes makes it anew, when nobody else has the store open; who reads is told the truth before. TAP.

usage: renew.py LETHE AGE-STORE
"""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tap import DIR, ENV, STORE, case, check, lethe, main, same, start_daemon, stop_daemon, wait_for  # noqa: E402

AGE = os.path.abspath(sys.argv[2])
ALL = "auto:broken_ref,superseded_by,retired_dependency"
FACT = json.dumps({"summary": "the rack is cold"})


def call(verb, *argv, code=0):
    r = lethe(verb, *argv, "--json")
    same(r.code, code, verb, *argv, r.err)
    return json.loads(r.out.splitlines()[-1]) if code == 0 and r.out else r.err.decode()


def save(ident, refs="[]"):
    return call("memory", "save", "memory", FACT, "--id", ident, "--type", "episodic", "--refs", refs)


def removed():
    return [r["id"] for r in call("memory", "list", "state:removed")["records"]]


def age(version="2"):
    same(subprocess.run([AGE, STORE, version], env=ENV, check=False, capture_output=True, timeout=60).stdout, b"aged\n")


def hold(version="2"):
    p = subprocess.Popen([AGE, STORE, version, "--hold"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    same(p.stdout.readline(), b"aged\n")
    return p


def let_go(p):
    p.communicate(timeout=60)
    same(p.returncode, 0)


def intact():
    return call("verify")["intact"]


@case
def records_that_were_removed():  # M-13, M-38
    save("page")
    for ident in ("one", "two"):
        save(ident, json.dumps([{"kind": "memory_substrate", "id": "page", "strength": "weak", "role": "about"}]))
    call("memory", "delete", "memory", "page")
    for _ in range(2):
        call("digest", "run", "--apply", "--approve", ALL)
    same(removed(), ["one", "two"])
    run = call("note", "begin", "--agent", "alice")["run"]
    call("note", "add", run, "issue disk_full: the disk of the rack is full")
    call("promote", run)
    check(intact())


VERBS = {
    "memory": lambda: save("later"),
    "scope": lambda: call("scope", "create", "another"),
    "note": lambda: call("note", "begin", "--agent", "bob"),
    "pending": lambda: call("pending", "retry"),
    "run": lambda: same(lethe("run", "--exec", "/bin/true").code, 0),
}


@case
def every_verb_that_writes_makes_it_anew():  # M-13, G-29
    for name, verb in VERBS.items():
        age()
        same(lethe("verify").code, 1, name)
        same(removed(), ["one", "two"], name)
        verb()
        check(intact(), name)
        same(removed(), ["one", "two"], name)


@case
def a_daemon_makes_it_anew():  # M-13
    age()
    stop_daemon(start_daemon(dict(ENV, LETHE_SOCKET=os.path.join(DIR, "renew-socket"))))
    check(intact())


# A store of version 3 had no claims: what was written before the renewal is opposed to what comes after it.
@case
def claims_of_a_store_of_version_3():  # M-65
    def birthday(ident, day):
        return call("memory", "save", "memory", json.dumps({"subject": "Ann", "predicate": "birthday", "object": day}),
                    "--id", ident, "--type", "semantic")

    birthday("ann-1", "11 March")
    age("3")
    same(lethe("verify").code, 1)
    birthday("ann-2", "12 April")
    check(intact())
    same([d["id"] for d in call("memory", "load", "memory", "ann-2")["record"]["disputed"]], ["ann-1"])


# An older Lethe that has it open would go on writing rows of the older form.
@case
def not_while_somebody_else_has_it_open():  # G-17, G-20, M-13
    p = hold()
    try:
        run = call("note", "begin", "--agent", "carol")["run"]
        call("note", "add", run, "The disk of the rack is fine again.")
        said = call("promote", run, code=1)
        check("process %d has it open" % p.pid in said and "older" in said, said)
        check("old_index" in call("pending", "retry", code=1))
        save("meanwhile")
        same(removed(), ["one", "two"])
    finally:
        let_go(p)
    same(call("promote", run)["notes"], 1)
    check(intact())


@case
def a_daemon_makes_it_anew_when_it_is_let():  # G-17, M-13
    p = hold()
    socket = os.path.join(DIR, "late-socket")
    daemon = None
    try:
        daemon = start_daemon(dict(ENV, LETHE_SOCKET=socket))
        same(lethe("verify").code, 1)
        let_go(p)
        p = None
        wait_for(lambda: lethe("verify").code == 0, "the tables made anew: it looks after the store now and then", 300, 0.1)
        check(intact())
        run = call("note", "begin", "--agent", "dora")["run"]
        call("note", "add", run, "issue fan_stuck: the fan of the rack is stuck")
        same(call("promote", run)["committed"], 1)
    finally:
        if p:
            let_go(p)
        if daemon:
            stop_daemon(daemon)


# What is open in an older Lethe while a newer one makes the store its own: here this one is the older.
@case
def a_newer_lethe_was_here_meanwhile():  # G-25
    socket = os.path.join(DIR, "older-socket")
    p = start_daemon(dict(ENV, LETHE_SOCKET=socket))
    try:
        age("5")
        r = lethe("run", "--socket", socket, "--exec", "/bin/true")
        check(r.code == 125 and b"made by a newer Lethe (version 5, this one knows 4)" in r.err, r)
        r = lethe("memory", "list")
        check(r.code == 1 and b"made by a newer Lethe" in r.err, r)
    finally:
        stop_daemon(p)


main()
