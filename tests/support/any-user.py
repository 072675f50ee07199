#!/usr/bin/python3
"""any-user.py SOURCES BUILD: tests of suite any-user run once, as root, and not again as an ordinary user. So nothing in them, and nothing of what they test,
may come out differently for another user: no file of theirs names a user or a mode, and in base/, schema/ and state/ the files that ask for the user are known."""
import json
import os
import re
import sys

# Opening a store and its anchor (store-open, store-anchor and every suite of the command line run for both users), the name of the operator, and owners of files.
KNOWN = {"supervisor/state/ledger/sign-checkpoint.c", "supervisor/state/ledger/anchor.c", "supervisor/state/store/open.c", "supervisor/state/store/write-lock.c"}
ASKS = r"\b(get|set)(e|res|re|fs)?[ug]id\b|\b[fl]?ch(own|mod)(at)?\(|\bowner_(check|alone|refuse)\(|SO_PEERCRED|\bcap_"
TEST_ASKS, CODE_ASKS = re.compile(ASKS + r"|\b(eu|f?)access(at)?\(|\bE(ACCES|PERM)\b"), re.compile(ASKS)
FOLDERS = ("supervisor/state", "supervisor/schema", "schema")


def main():
    sources, build = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
    with open(build + "/meson-info/intro-tests.json", encoding="utf-8") as f:
        tests = [t for t in json.load(f) if "lethe:any-user" in t["suite"]]
    with open(build + "/meson-info/intro-targets.json", encoding="utf-8") as f:
        targets = {t["id"]: t for t in json.load(f)}
    paths = set()
    for t in tests:
        paths |= {os.path.realpath(os.path.join(build, word)) for word in t["cmd"] if word.endswith((".py", ".sh"))}
        for target in t["depends"]:
            paths |= {os.path.realpath(path) for group in targets[target].get("target_sources", []) for path in group.get("sources", [])}
    paths = {path for path in paths if path.startswith(sources + "/tests/") and not path.startswith(sources + "/tests/support/")}
    for folder in FOLDERS:
        paths |= {os.path.join(at, name) for at, _, names in os.walk(os.path.join(sources, folder)) for name in names if name.endswith((".c", ".h"))}
    bad = 0
    for path in sorted(paths):
        name = os.path.relpath(path, sources)
        with open(path, encoding="utf-8") as f:
            asks = TEST_ASKS if name.startswith("tests/") else CODE_ASKS
            found = [(i, line.strip()) for i, line in enumerate(f, 1) if asks.search(line)]
        for i, line in found if name not in KNOWN else ():
            print("%s:%d: asks for a user or a mode: %s" % (name, i, line))
            bad += 1
    print("%d tests, %d files: %d lines ask for a user or a mode" % (len(tests), len(paths), bad))
    sys.exit(1 if bad or not tests else 0)


main()
