#!/usr/bin/python3
"""`lethe eval identity`: a small history of our own, and the real ones that others wrote (tests/data/README.md). TAP.

usage: identity.py LETHE DATA
"""
import json
import os
import sys
import time

from tap import DIR, case, check, lethe, main, same

DATA = sys.argv[2]
RATES = ("bound_rate", "wrong_rate", "pending_rate")


def measure(*argv):
    r = lethe("eval", "identity", "--json", *argv, timeout=300)
    same(r.code, 0, r)
    return json.loads(r.out)


def adds_up(part):
    check(abs(part["bound_rate"] + part["pending_rate"] - 1) < 1e-9 and 0 <= part["wrong_rate"] <= part["bound_rate"], part)


@case
def a_small_history_is_counted_to_the_note():  # G-15 G-16 G-19 G-55
    m = measure(os.path.join(DATA, "changes", "made.tsv"))
    same((m["version"], m["rows"]), (1, 16))
    same(m["plain"], {"notes": 6, "bound_rate": 1.0, "wrong_rate": 0.0, "pending_rate": 0.0})
    same((m["masked"]["notes"], round(m["masked"]["bound_rate"] * 6), m["masked"]["wrong_rate"]), (6, 4, 0))
    for part in (m["plain"], m["mentioned"], m["masked"], m["masked"]["without_memory"], *m["masked"]["halves"], *m["curve"]):
        adds_up(part)
    always = [p for p in m["curve"] if p["always_best"]]
    same([p["bound_rate"] for p in always], [1.0])


@case
def what_is_printed_is_what_is_measured():  # G-55
    r = lethe("eval", "identity", "--masked", "--curve", os.path.join(DATA, "changes", "made.tsv"))
    same(r.code, 0, r)
    check(b"\nmasked  " in r.out and b"the best match, always" in r.out and b"plain" not in r.out, r)
    r = lethe("eval", "identity", "--plain", os.path.join(DATA, "changes", "made.tsv"))
    check(b"\nplain" in r.out and b"masked" not in r.out, r)


@case
def the_curve_is_drawn():  # G-55
    svg = os.path.join(DIR, "curve.svg")
    r = lethe("eval", "identity", "--svg", svg, os.path.join(DATA, "changes", "made.tsv"))
    same(r.code, 0, r)
    with open(svg, encoding="utf-8") as f:
        text = f.read()
    check(text.startswith("<svg ") and text.endswith("</svg>\n") and text.count("<circle") == 2 * 9 + 1 + 3, text[:300])
    same(lethe("eval", "identity", "--svg", "-", os.path.join(DATA, "changes", "made.tsv")).out.decode(), text)


@case
def what_is_no_history_is_refused():  # G-55
    bad = os.path.join(DIR, "bad.tsv")
    for text, code, word in (("", 1, "no row"), ("a\t1\tx\t\n", 1, "line 1"), ("a\t1\tx\tb\ty\n", 1, "no row"), ("a\t1\tx\tb,\x7f\ty\n", 1, "line 1"), ("a\t1\tx\ta\ty\n", 1, "line 1"), ("a\t1\tx\t\t\n" * 2, 1, "line 2"),
                             ("a\t1\t\xff\t\t\n", 1, "UTF-8")):
        with open(bad, "wb") as f:
            f.write(text.encode("latin-1"))
        r = lethe("eval", "identity", bad)
        check(r.code == code and word in r.err.decode(), (text, r))
    for argv in (["eval"], ["eval", "speed", bad], ["eval", "identity"], ["eval", "identity", bad, bad], ["eval", "identity", "--pairs", bad, bad],
                 ["eval", "identity", "--plain", "--curve", bad], ["eval", "identity", "--json", "--svg", "-", bad]):
        r = lethe(*argv)
        check(r.code == 2 and r.err, (argv, r))
    same(lethe("eval", "identity", bad + ".none").code, 1)


@case
def of_the_real_history_few_are_wrong():  # G-16 G-19 G-55
    began = time.monotonic()
    m = measure(os.path.join(DATA, "identity", "dpdk-fixes.tsv"))
    print("# measured in %.1f s: %s" % (time.monotonic() - began, {k: m["masked"][k] for k in RATES}))
    same(m["plain"], {"notes": 1254, "bound_rate": 1.0, "wrong_rate": 0.0, "pending_rate": 0.0})
    same(m["mentioned"]["wrong_rate"], 0.0)
    check(m["masked"]["wrong_rate"] <= 0.01 and all(h["wrong_rate"] <= 0.01 for h in m["masked"]["halves"]), m["masked"])
    check(m["masked"]["bound_rate"] >= 0.045, m["masked"])
    always = next(p for p in m["curve"] if p["always_best"])
    check(always["wrong_rate"] > 0.6, always)
    for memory in (False, True):
        line = [p for p in m["curve"] if p["memory"] == memory and p["tau"] == m["tau"] and not p["always_best"]]
        line = sorted({p["delta"]: p for p in line}.items())
        same(len(line), 9)
        check(all(a[1]["bound_rate"] >= b[1]["bound_rate"] for a, b in zip(line, line[1:])), line)


@case
def titles_that_are_alike_are_not_merged():  # G-20
    bugs = os.path.join(DATA, "gitbugs")
    m = measure("--masked", "--titles", os.path.join(bugs, "hadoop-issues.tsv"), "--pairs", os.path.join(bugs, "hadoop-duplicates.csv"),
                os.path.join(DATA, "changes", "made.tsv"))
    t = m["titles"]
    same(t["titles"], t["created"] + t["pending"] + t["merged"] + t["invalid"])
    check(t["titles"] == 2503 and t["merged_not_listed"] <= 15, t)


main()
