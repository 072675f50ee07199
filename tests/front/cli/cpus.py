#!/usr/bin/python3
"""A-15: `lethe run --cpus N`: held by the kernel where it can be, else refused. TAP.

usage: cpus.py LETHE root|user
"""
import json
import os
import sys

from account import use

use(sys.argv[2])

from tap import DIR, ENV, case, cgroups_left, check, lethe, log, main, python_skill, run, same  # noqa: E402

PYTHON = "/usr/bin/python3"
BUSY = "import time\nwhile time.process_time() < 0.3: pass"
HELD = next(c["status"] for c in json.loads(lethe("doctor", "--json").out)["checks"] if c["name"] == "budget-cpus") == "ok"


def throttled(r):
    """The counters of the kernel: never more processor time than the share of the wall time, but for what a period lets through; and it stood still for that."""
    same(r.code, 0, r)
    u = r.receipt["usage"]
    check(u["cpu_usec"] >= 300000 and u["cpu_usec"] <= 0.1 * u["wall_usec"] + 50000 and u["cpu_throttled_usec"] > 0, u)


@case
def the_share_is_held_or_refused():
    for options in (("--cpus", "0.1"), ("--cpus", ".1", "--discipline", "multipass")):
        r = run(*options, "--timeout", "5m", "--exec", PYTHON, "-c", BUSY)
        if HELD:
            throttled(r)
            same(log("--region", r.receipt["region"], "--type", "region.allocated")[0]["grant"]["budgets"]["cpus_milli"], 100)
            same(log("--region", r.receipt["region"], "--type", "region.released")[0]["usage"]["cpu_throttled_usec"], r.receipt["usage"]["cpu_throttled_usec"])
        else:
            check(r.code == 125 and b"budgets.cpus: 0.1: the share cannot be held here" in r.err and b"run without --cpus" in r.err, r)
            same(r.receipt["outcome"], "setup_failed")
    same(run("--cpus", "none", "--exec", "/bin/true").code, 0)
    r = run("--exec", "/bin/true")
    check("cpu_throttled_usec" not in r.receipt["usage"], r)


@case
def a_bad_share_is_told():
    for text in ("0", "0.009", "abc", "1.2345", "-1", "1025", "2.", ".", "", "1e3", "nan", "0x1"):
        r = run("--cpus", text, "--exec", "/bin/true")
        check(r.code == 125 and b"--cpus: cpus " in r.err and b"must be " in r.err, text, r)


@case
def manifest_and_policy_bound_it():
    for n, value in enumerate((0.5, "0.5")):
        python_skill("half%d" % n, "print(1)\n", budgets={"cpus": value})
        same(json.loads(run("--dry-run", "--json", "half%d" % n).out)["budgets"]["cpus_milli"], 500)
        same(json.loads(run("--dry-run", "--json", "--cpus", "0.25", "half%d" % n).out)["budgets"]["cpus_milli"], 250)
        same(json.loads(run("--dry-run", "--json", "--cpus", "2", "half%d" % n).out)["budgets"]["cpus_milli"], 500)
    path = os.path.join(DIR, "policy")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "max": {"cpus": 0.1}}, f)
    o = json.loads(run("--policy", path, "--dry-run", "--json", "--cpus", "2", "--exec", "/bin/true").out)
    same(o["budgets"]["cpus_milli"], 100)
    check(any("cpus" in x["field"] and x["granted"] == "0.1" for x in o["reductions"]), o["reductions"])
    r = run("--policy", path, "--exec", PYTHON, "-c", BUSY)  # nobody asked: the policy bounds it all the same
    if HELD:
        throttled(r)
    else:
        same(r.code, 125, r)


@case
def a_sub_skill_has_the_share_of_its_caller_at_most():  # A-15, I-18
    """A bound of its own: while it computes, its caller may compute, too."""
    python_skill("share-below", BUSY + "\nimport lethe\nlethe.result(1)\n", budgets={"cpus": 2})
    python_skill("share-caller", "import lethe\nlethe.result(lethe.run('share-below'))\n", sub_skills=["share-below"])
    r = run("--cpus", "0.1", "--timeout", "5m", "--cpu-time", "100s", "share-caller")
    if not HELD:
        same(r.code, 125, r)
        return
    same((r.code, r.receipt["result"]["result"]), (0, 1), r)
    below = r.receipt["result"]["region"]
    same(log("--region", below, "--type", "region.allocated")[0]["grant"]["budgets"]["cpus_milli"], 100)
    u = log("--region", below, "--type", "region.released")[0]["usage"]
    check(u["cpu_usec"] >= 300000 and u["cpu_throttled_usec"] > 0 and u["cpu_usec"] <= 0.1 * u["wall_usec"] + 50000, u)


@case
def a_throttled_region_ends_whole():  # A-15, I-33
    if not HELD:
        return
    # Sixteen processes that always stand still for their share: an end by time, and a cancel.
    spin = "for i in $(seq 16); do while :; do :; done & done; wait"
    r = run("--cpus", "0.01", "--timeout", "1s", "--exec", "/bin/sh", "-c", spin)
    same((r.code, r.receipt["outcome"], r.receipt["teardown"]["grade"]), (124, "timed_out", "cleared"), r)
    r = lethe("audit", "regions")
    same(r.code, 0, r)
    same(lethe("ps", "--json").out, b"")
    same(cgroups_left(), [])


main()
