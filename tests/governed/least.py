#!/usr/bin/python3
"""Runs: tests. least.py LETHE WHO: the least probability of a bucket in policy.json, through the command line (G-71)."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from notes import begin, fresh, note, said, told  # noqa: E402
from tap import DIR, case, check, lethe, main, same  # noqa: E402

ISSUES = ("issue queue_leak: the queue reader leaks memory after a restart", "issue disk_full: the disk of server one is full")
FIXED = "fixed: the queue reader leaked memory after each restart"


def policy(**least):
    path = os.path.join(DIR, "policy-least.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"version": 1, "pending": {"least": least}}, f)
    return "--policy", path


def end_a_row(*argv):
    """The outcome of a note that ends a row by likeness."""
    fresh()
    run = begin()
    for text in (*ISSUES, FIXED):
        same(note(run, text).code, 0, text)
    return [json.loads(line) for line in said("promote", run, "--json", *argv).splitlines()][2]


def reference(outcome):
    return {k: outcome["source_ref"].get(k) for k in ("least", "resolution_reason")}


# G-71: the bucket's least probability decides, is recorded with the decision, and a rebuild has the same bytes
@case
def a_bucket_has_its_own():
    bound = end_a_row()
    same((bound["outcome"], reference(bound)), ("committed", {"least": 970, "resolution_reason": "score"}))
    waits = end_a_row(*policy(issues=1000))
    same((waits["outcome"], reference(waits)), ("pending", {"least": 1000, "resolution_reason": "weak"}))
    same(waits["source_ref"]["probability"], bound["source_ref"]["probability"])
    same(told("canon", "show", "issues", "queue_leak")["state"], "open")
    check(told("verify")["intact"] and lethe("audit").code == 0)
    same(told("rebuild")["differed"], 0)
    other = end_a_row(*policy(plan=1000, decisions=1))  # the control: of other buckets
    same((other["outcome"], reference(other)["least"]), ("committed", 970))


# G-71: a retry of what waits decides by the policy, too; --least goes before it
@case
def what_waits_is_tried_with_it():
    strict = policy(issues=1000)
    item = end_a_row(*strict)["pending"]
    same(told("pending", "retry", *strict)["resolved"], 0)
    same(told("pending", "list", *strict)["items"][0]["now"]["reason"], "weak")
    same(told("pending", "retry")["resolved"], 1)
    same(told("canon", "show", "issues", "queue_leak")["state"], "resolved")
    check(item not in [i["pending"] for i in told("pending", "list")["items"]], item)
    same(end_a_row(*strict, "--least", "0.9")["outcome"], "committed")


# G-71: settling a contradiction tries what waits by the operator's policy, and not without one that can be read
@case
def settling_reads_the_policy():
    _, path = policy(issues=1001)
    end_a_row()
    r = lethe("canon", "settle", "--rule", "newest", env={"LETHE_POLICY": path})
    check(r.code == 1 and b"/pending/least/issues" in r.err, r)


main()
