#!/usr/bin/python3
"""Sentences with right answers: which row does the built-in interpreter change, and which ones should it leave alone (G-66)?

usage: sentences.py LETHE TABLE [--json] [--list] [--check]

A line of TABLE: a note, a tab, and "KIND OPERATION ROW", or "-" where nothing may change ("\\n" is a line feed).
Each note is promoted in a scope of its own, with the rows below open. Lines "+", a tab and a row give other rows to the
notes after them. A wrong commit is a change that is not the right one. --list prints each line
that is not answered as the table says;
--check is a test (TAP): at most 1 % of the sentences are wrong commits.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROWS = (
    "issue login_bug: login fails with a blank password\nalias: login bug",
    "issue pandas_import: pandas cannot be imported\nalias: pandas import problem",
    "issue disk_full: the disk of the build server is full",
    "issue flaky_tests: the network tests fail now and then",
    "constraint no_network: tests run without a network",
    "decision use_postgres: the store is postgres for all services",
)


def read(path):
    rows, named = ROWS, False
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.startswith("#") or not line.strip():
                continue
            cells = line.rstrip("\n").replace("\\n", "\n").split("\t")
            if len(cells) == 2 and cells[0] == "+":
                rows, named = (rows if named else ()) + (cells[1],), True
                continue
            if len(cells) != 2 or not cells[0] or (cells[1] != "-" and len(cells[1].split()) != 3):
                sys.exit("%s: line %d: a note, a tab, and \"KIND OPERATION ROW\" or \"-\"" % (path, number))
            named = False
            yield rows, cells[0], cells[1]


def measure(lethe, sentences):
    with tempfile.TemporaryDirectory(prefix="lethe-sentences.") as store:
        env = dict(os.environ, LETHE_STORE=store, LETHE_ANCHOR=os.path.join(store, "anchor"))

        def call(*argv):
            return subprocess.run([lethe, *argv], env=env, check=True, stdout=subprocess.PIPE, text=True).stdout

        for i, (rows, note, right) in enumerate(sentences):
            scope = "s%d" % i
            call("scope", "create", scope)
            run = call("note", "begin", "--agent", "reader", "--scope", scope).strip()
            for row in rows + (note,):
                call("note", "add", run, "--", row)
            said = [json.loads(line) for line in call("promote", run, "--json").splitlines()]
            made, last = said[:len(rows)], said[len(rows)]
            if any(o["outcome"] != "committed" for o in made):
                sys.exit("a row of this program is not accepted: %s" % made)
            got = " ".join((last["bucket"], last["operation"], last["id"])) if last["outcome"] == "committed" else "-"
            yield note, right, got, last


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lethe")
    p.add_argument("table")
    p.add_argument("--json", action="store_true")
    p.add_argument("--list", action="store_true")
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    n = clear = right_clear = wrong = 0
    for note, right, got, last in measure(os.path.abspath(a.lethe), read(a.table)):
        n += 1
        clear += right != "-"
        right_clear += right != "-" and got == right
        wrong += got not in ("-", right)
        if a.list and got != right:
            print("%-7s %s\n        wanted %s, got %s %s" % ("WRONG" if got != "-" else "waits", note, right, got, last.get("code", "")))
    if a.check:
        print("1..1\n%sok 1 - at most one wrong commit of a hundred sentences\n# %d of %d" % ("" if n and wrong * 100 <= n else "not ", wrong, n))
    elif a.json:
        print(json.dumps({"version": 1, "sentences": n, "clear": clear, "clear_committed": right_clear, "wrong": wrong}))
    else:
        print("%d sentences: %d wrong commits (%.1f %%); %d of %d clear ones committed (%.0f %%)" % (n, wrong, 100 * wrong / max(1, n), right_clear, clear, 100 * right_clear / max(1, clear)))


main()
