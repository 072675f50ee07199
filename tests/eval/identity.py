#!/usr/bin/python3
"""The measurement of identity: a small history of our own, and the real ones that others wrote (tests/data/README.md). TAP.

usage: identity.py IDENTITY DATA
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from tap import DIR, case, check, main, same  # noqa: E402
from tap import lethe as identity  # noqa: E402

DATA = sys.argv[2]
RATES = ("bound_rate", "wrong_rate", "pending_rate")


def measure(*argv):
    r = identity("--json", *argv, timeout=300)
    same(r.code, 0, r)
    return json.loads(r.out)


def adds_up(part):
    check(abs(part["bound_rate"] + part["pending_rate"] - 1) < 1e-9 and 0 <= part["wrong_rate"] <= part["bound_rate"], part)


@case
def a_small_history_is_counted_to_the_note():  # G-15 G-16 G-19 G-55
    m = measure("--masked", "--plain", os.path.join(DATA, "changes", "made.tsv"))
    same((m["version"], m["rows"]), (1, 16))
    same(m["plain"], {"notes": 6, "bound_rate": 1.0, "wrong_rate": 0.0, "pending_rate": 0.0})
    same((m["masked"]["notes"], round(m["masked"]["bound_rate"] * 6), m["masked"]["wrong_rate"]), (6, 4, 0))
    for part in (m["plain"], m["mentioned"], m["masked"], m["masked"]["without_memory"], *m["masked"]["halves"], *m["curve"]):
        adds_up(part)
    always = [p for p in m["curve"] if p["always_best"]]
    same([p["bound_rate"] for p in always], [1.0])


@case
def what_is_printed_is_what_is_measured():  # G-55
    r = identity("--masked", "--curve", os.path.join(DATA, "changes", "made.tsv"))
    same(r.code, 0, r)
    check(b"\nmasked  " in r.out and b"the best match, always" in r.out and b"plain" not in r.out, r)
    r = identity("--plain", os.path.join(DATA, "changes", "made.tsv"))
    check(b"\nplain" in r.out and b"masked" not in r.out, r)


@case
def the_curve_is_drawn():  # G-55
    svg = os.path.join(DIR, "curve.svg")
    r = identity("--svg", svg, os.path.join(DATA, "changes", "made.tsv"))
    same(r.code, 0, r)
    with open(svg, encoding="utf-8") as f:
        text = f.read()
    check(text.startswith("<svg ") and text.endswith("</svg>\n") and text.count("<circle") == 2 * 9 + 1 + 3, text[:300])
    same(identity("--svg", "-", os.path.join(DATA, "changes", "made.tsv")).out.decode(), text)


@case
def what_is_no_history_is_refused():  # G-55
    bad = os.path.join(DIR, "bad.tsv")
    for text, code, word in (("", 1, "no row"), ("a\t1\tx\t\n", 1, "line 1"), ("a\t1\tx\tb\ty\n", 1, "no row"), ("a\t1\tx\tb,\x7f\ty\n", 1, 'line 1: fixes has "\\x7f": an id is 1 to'), ("a\t1\tx\ta\ty\n", 1, "line 1"),
                             ("a\t1\tx\t\t\n" * 2, 1, 'line 2: id is "a", as in an earlier line'), ("#\n\na\t1\t\xff\t\t\n", 1, "line 3: byte 0xff is not UTF-8"),
                             ("a\tnan\tx\t\t\n", 1, 'line 1: time is "nan": it is a whole number'), ("a\t-1\tx\t\t\n", 1, 'line 1: time is "-1"'),
                             ("a\t1.5\tx\t\t\n", 1, 'line 1: time is "1.5"'), ("a\t\tx\t\t\n", 1, 'line 1: time is ""'),
                             ("a\t99999999999999999999\tx\t\t\n", 1, "line 1: time is"), 
                             ("a\t1\tx\t\t\nb\t2\ty\ta,\t\n", 1, 'line 2: fixes has ""'), ("a\t1\tx\t\ty\r\n", 1, "line 1: body"), ("a\t1\tx\t\ty\r\n", 1, "line feed alone"),
                             ("a\t1\tx\x1b[2J\t\t\n", 1, "line 1: subject"), ("a\t1\t \t\t\n", 1, "line 1 has no subject"), ("a\x00b\t1\tx\t\t\n", 1, "line 1 has a NUL"),
                             ("a\n", 1, "line 1 has 1 column, not 5"), ("A\t1\tx\t\t\n", 1, 'line 1: id is "A"'), ("a\t1\t" + "x" * 1000000 + "\t\t\n", 1, "line 1 is longer than 262144"),
                             ("a\t1\tx\tb\t\nb\t2\ty\t\t\n", 1, 'line 1: fixes has "b", the id of a later line'), ("", 1, "empty")):
        with open(bad, "wb") as f:
            f.write(text.encode("latin-1"))
        r = identity(bad)
        check(r.code == code and word in r.err.decode(), (text, r))
    made, pairs = os.path.join(DATA, "changes", "made.tsv"), os.path.join(DIR, "pairs.csv")
    for titles, listed, word in (("", b"1,2\n", "bad.tsv has no row"), ("1\tx\t\tt\n", b"a,b\n\n1;2\n", 'pairs.csv: line 3: "1;2" is no pair'),
                                 ("1\tx\t\tt\n", b"1,2\0", "pairs.csv has a NUL"), ("1\tx\t\n", b"1,2\n", "bad.tsv: line 1 has 3 columns, not 4")):
        for path, data in ((bad, titles.encode()), (pairs, listed)):
            with open(path, "wb") as f:
                f.write(data)
        r = identity("--titles", bad, "--pairs", pairs, made)
        check(r.code == 1 and word in r.err.decode(), (titles, listed, r))
    for argv in ([], [bad, bad], ["--pairs", bad, bad], ["--plain", "--curve", bad], ["--svg", "-", "--json", bad], ["--zork", bad], ["-x", bad], [bad, "--svg"]):
        r = identity(*argv)
        check(r.code == 2 and r.err and b"identity --help" in r.err, (argv, r))
    same(identity(bad + ".none").code, 1)


@case
def with_json_a_refusal_is_an_object():
    made = os.path.join(DATA, "changes", "made.tsv")
    for argv, code, word in ((["--json", "none"], 1, "failed"), (["none", "--json"], 1, "failed"), (["--json", "--zork", made], 2, "usage"), (["--zork", "--json", made], 2, "usage"),
                             (["--json"], 2, "usage"), (["--json", "--svg", "-", made], 2, "usage"), (["--json", "--svg", "/dev/full", made], 4, "failed")):
        r = identity(*argv)
        lines = r.out.decode().splitlines()
        check(r.code == code and len(lines) == 1 and r.err, (argv, r))
        said = json.loads(lines[0])
        same((said["version"], said["error"]["code"]), (1, word), argv)
        check(said["error"]["message"].encode() in r.err, (argv, r))
    for argv in (["none"], ["--zork", made], ["--zork", "--", "--json"]):
        same(identity(*argv).out, b"", argv)
    r = subprocess.run(["/bin/sh", "-c", '"$@" >/dev/full', "sh", os.path.abspath(sys.argv[1]), "--json", made], check=False, capture_output=True, timeout=60)
    check(r.returncode == 1 and b"cannot write standard output" in r.stderr, r)


@case
def of_the_real_history_few_are_wrong():  # G-16 G-19 G-55
    began = time.monotonic()
    m = measure("--masked", "--plain", os.path.join(DATA, "identity", "dpdk-fixes.tsv"))
    print("# measured in %.1f s: %s" % (time.monotonic() - began, {k: m["masked"][k] for k in RATES}))
    same(m["back"], 238)  # of times, in the order of the lines
    same(m["plain"], {"notes": 1254, "bound_rate": 1.0, "wrong_rate": 0.0, "pending_rate": 0.0})
    same(m["mentioned"]["wrong_rate"], 0.0)
    # measured 0.56 %, 0.64 % and 0.48 % of the halves, 5.1 %
    check(m["masked"]["wrong_rate"] <= 0.0064 and all(h["wrong_rate"] <= 0.008 for h in m["masked"]["halves"]), m["masked"])
    check(m["masked"]["bound_rate"] >= 0.05, m["masked"])
    always = next(p for p in m["curve"] if p["always_best"])
    check(always["wrong_rate"] > 0.6, always)
    for memory in (False, True):
        line = [p for p in m["curve"] if p["memory"] == memory and p["tau"] == m["tau"] and not p["always_best"]]
        line = sorted({p["delta"]: p for p in line}.items())
        same(len(line), 9)
        check(all(a[1]["bound_rate"] >= b[1]["bound_rate"] for a, b in zip(line, line[1:])), line)


SETTINGS = {"all", "life_cycle", "life_cycle_files"}
SETTING_RATES = {"notes", "bound_rate", "wrong_rate", "precision", "absent_wrong_rate", "pending_rate", "right_within"}


@case
def three_settings_are_replayed():  # G-72
    """One note in five has no right row, and at the last word about a row the row is closed; files count in one setting alone."""
    wide = os.path.join(DIR, "wide.tsv")
    rows, notes = [], []
    for i in range(10):
        rows.append("aaaa%d\t%d\tp1\tp1,p2\tnet/x%d: add quasar%d telemetry\t\tCounts the frames of lens%d.\tnet/x%d/lens.c" % (i, i, i, i, i, i))
        notes.append("bbbb%d\t%d\tp1\tp1\tnet/x%d: fix quasar%d telemetry\taaaa%d,aaaa%d\tFrames of lens%d were lost.\tnet/x%d/lens.c" % (i, 100 + i, i, i, i, i, i, i))
    with open(wide, "w", encoding="ascii") as f:
        f.write("#id\ttime\n" + "\n".join(rows + notes) + "\n")
    m = measure(wide)
    same(set(m), SETTINGS)
    for s in m.values():
        same((set(s), set(s["right_within"]), s["notes"]), (SETTING_RATES, {"1", "2", "3"}, 10), s)
    life = m["life_cycle"]
    same((life["wrong_rate"], life["absent_wrong_rate"]), (0, 0), life)
    check(life["bound_rate"] >= 0.5 and life["precision"] == 1, life)
    r = identity("--least", "1001", wide)
    check(r.code == 2 and b"--least: '1001'" in r.err, r)
    features = os.path.join(DIR, "features")
    same(identity("--features", features, "--setting", "life_cycle_files", wide).code, 0)
    with open(features, encoding="ascii") as f:
        lines = f.read().splitlines()
    check(lines[0].startswith("features score overlap ") and lines[1].startswith("outside always "), lines[:2])
    heads = [line.split()[:3] for line in lines if line.startswith("note ")]
    same([h[2] for h in heads], ["0", "1"] * 10)  # with and without the right row
    for argv in (["--thin", "4", wide], ["--setting", "all", wide], ["--features", features, "--setting", "none", wide], ["--features", features, "--thin", "0", wide]):
        same(identity(*argv).code, 2, argv)


@case
def of_a_real_life_cycle_few_are_wrong():  # G-71 G-72
    m = measure(os.path.join(DATA, "identity", "dpdk-fixes.tsv"))
    print("# %s" % {k: {r: round(v[r], 4) for r in ("bound_rate", "wrong_rate", "precision", "absent_wrong_rate")} for k, v in m.items()})
    same(m["life_cycle"], m["life_cycle_files"])  # the file has no files
    # bodies of fixes alone; measured: life cycle 5.9 %, 0.1 %, 0 %, 98.3 %; all 2.1 %, 0.7 %, 0.8 %. A note is 0.1 %, without its row 0.4 %
    for name, bound, wrong, absent, precision in (("life_cycle", 0.055, 0.002, 0.004, 0.975), ("all", 0.019, 0.008, 0.008, 0.58)):
        s = m[name]
        same(s["notes"], 1254)
        check(s["bound_rate"] >= bound and s["wrong_rate"] <= wrong and s["absent_wrong_rate"] <= absent and s["precision"] >= precision, s)
    check(m["life_cycle"]["right_within"]["1"] >= 0.6, m["life_cycle"])


@case
def titles_that_are_alike_are_not_merged():  # G-20
    bugs = os.path.join(DATA, "gitbugs")
    m = measure("--masked", "--titles", os.path.join(bugs, "hadoop-issues.tsv"), "--pairs", os.path.join(bugs, "hadoop-duplicates.csv"),
                os.path.join(DATA, "changes", "made.tsv"))
    t = m["titles"]
    same(t["titles"], t["created"] + t["pending"] + t["merged"] + t["invalid"])
    check(t["titles"] == 2503 and t["merged_not_listed"] <= 15, t)


main()
