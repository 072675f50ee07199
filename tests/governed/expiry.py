#!/usr/bin/python3
"""Runs: tests. expiry.py LETHE KILL_AT WHO: the age of what waits, through the command line (G-63)."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from notes import begin, fresh, note, promote, say, said, told  # noqa: E402
from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, same  # noqa: E402

KILL_AT = os.path.abspath(sys.argv[2])
KEPT = os.path.join(DIR, "kept")


def policy(text):
    path = os.path.join(DIR, "policy-pending.json")
    with open(path, "w") as f:
        json.dump({"version": 1, "pending": text}, f)
    return "--policy", path


def late():
    """A store with an item that the next change makes overdue, under the policy; its id, and a run with the change."""
    fresh()
    run = begin()
    named = "\nref: kettle hall\nalias: kettle hall"
    waits = say(run, "issue late_row: it does not work", "resolved: the kettle in the hall" + named)[1]
    same(waits["outcome"], "pending")
    same(note(run, "issue late_row: it does not work" + named).code, 0)
    same(note(run, "task some_task: begun").code, 0)
    return waits["pending"], run


# G-63: the policy's limit closes the item, with an event that names the writer; list, show and the ledger have it
@case
def the_policy_closes_what_is_too_old():
    item, run = late()
    p = policy({"commits": 1})
    outcomes = [json.loads(line) for line in said("promote", run, "--json", *p).splitlines()]
    # the first change decides the item in time: the control
    same((outcomes[-1]["resolved"], outcomes[-1]["expired"]), (1, 0))
    item, run = late()
    say(begin(), "task another_task: begun")
    outcomes = [json.loads(line) for line in said("promote", run, "--json", *p).splitlines()]
    same((outcomes[-1]["resolved"], outcomes[-1]["expired"]), (0, 1))
    same(told("pending", "list")["items"], [])
    listed = told("pending", "list", "--expired")["items"]
    same([(i["pending"], i["state"], i["expired"]["limit"], i["expired"]["commits"]) for i in listed],
         [(item, "expired", "commits", 1)])
    same([i["pending"] for i in told("pending", "list", "--all")["items"]], [item])
    same(told("pending", "show", item)["note"].splitlines()[0], "resolved: the kettle in the hall")
    check("beyond the limit pending.commits" in said("pending", "list", "--expired"))
    event = log("--type", "pending.expired")[-1]
    same((event["who"], event["expired"], event["limit"]), ("uid:%d" % os.getuid(), [item], "commits"))
    same(told("canon", "show", "issues", "late_row")["state"], "open")
    for argv in (("bind", item, "late_row"), ("drop", item, "--reason", "no")):
        r = lethe("pending", *argv)
        check(r.code == 1 and b"is expired" in r.err, r)
    same(told("pending", "retry"), {"tried": 0, "resolved": 0, "expired": 0, "damaged": 0, "version": 1})
    check(told("verify")["intact"] and lethe("audit").code == 0)
    same(told("rebuild")["differed"], 0)


# G-63: what is overdue is said so before it is closed; bind refuses it, retry closes it; no wider limit revives it
@case
def overdue_until_somebody_writes():
    item, run = late()
    p = policy({"commits": 1})
    say(begin(), "task another_task: begun", "task third_task: begun")
    same(told("pending", "list", *p)["items"][0]["now"]["reason"], "overdue")
    same(told("pending", "list")["items"][0]["now"]["reason"] == "overdue", False)
    r = lethe("pending", "bind", item, "late_row", *p)
    check(r.code == 1 and b"pending.commits" in r.err, r)
    same(told("pending", "retry", *p), {"tried": 0, "resolved": 0, "expired": 1, "damaged": 0, "version": 1})
    promote(run)
    same(told("pending", "show", item)["state"], "expired")
    same(told("canon", "show", "issues", "late_row")["state"], "open")
    r = lethe("pending", "retry", *policy({"commits": 0}))
    check(r.code == 1 and b"/pending/commits" in r.err, r)


# G-63: a kill at each call of the change that closes the item: it waits as before, or is closed with its event
@case
def killed_at_the_moment():
    item, run = late()
    say(begin(), "task another_task: begun", "task third_task: begun")
    p, was = policy({"commits": 1}), {"open": 0, "expired": 0}
    shutil.rmtree(KEPT, ignore_errors=True)
    shutil.copytree(STORE, KEPT)

    def killed(n):
        shutil.rmtree(STORE)
        shutil.copytree(KEPT, STORE)
        if os.path.isfile(ENV["LETHE_ANCHOR"]):
            os.unlink(ENV["LETHE_ANCHOR"])
        r = subprocess.run([KILL_AT, str(n), LETHE, "promote", run, *p], env=ENV, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=False)
        return r.returncode, r.stderr.decode().strip().split("\n")[-1]

    code, line = killed(0)
    same((code, line.split()[0]), (0, "calls"))
    for n in range(1, int(line.split()[1]) + 1):
        code, line = killed(n)
        if code == 0:
            continue
        same(code, 137, line)
        state = told("pending", "show", item, *p)["state"]
        was[state] += 1
        same(state == "expired", any(item in e["expired"] for e in log("--type", "pending.expired")), line)
        same(told("canon", "show", "issues", "late_row")["state"], "open", line)
        promote(run, *p)
        same(told("pending", "show", item)["state"], "expired", line)
        check(told("verify")["intact"], line)
    check(min(was.values()) > 0, was)
    print("# %s" % was)


main()
