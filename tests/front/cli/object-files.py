#!/usr/bin/python3
"""`lethe object verify|import FILE` with files that are whole, and with files that are not: the code says why, and a store keeps nothing of them. TAP.

usage: object-files.py LETHE MAKE-BUNDLE
"""
import json
import os
import subprocess
import sys

from tap import DIR, STORE, case, check, lethe, log, main, same

MAKE = sys.argv[2]
FILE = os.path.join(DIR, "file")
HEAD, INTENT, CONTEXT, KEYS, SCHEMAS, EMPTY, FIRST = range(7)


def made(seed, steps):
    return subprocess.run([MAKE, str(seed), str(steps)], check=True, stdout=subprocess.PIPE).stdout


def write(data):
    with open(FILE, "wb") as f:
        f.write(data)


def put(i, old, new):
    def change(lines):
        check(old in lines[i], (i, old))
        lines[i] = lines[i].replace(old, new, 1)
    return change


def swap(i, k):
    def change(lines):
        lines[i], lines[k] = lines[k], lines[i]
    return change


def foreign(lines):
    lines.insert(-2, made(6, 9).split(b"\n")[FIRST + 1])


DAMAGE = {
    "an empty file": (lambda lines: lines.__setitem__(slice(None), [b""]), "bad_bundle"),
    "another kind of file": (lambda lines: lines.__setitem__(slice(None), [b"{}", b""]), "bad_bundle"),
    "a newer version": (put(HEAD, b"/1", b"/2"), "newer_version"),
    "a head with blanks": (put(SCHEMAS, b"{", b"{ "), "bad_bundle"),
    "a line too many": (lambda lines: lines.insert(EMPTY, b""), "bad_bundle"),
    "an entry with blanks": (put(FIRST, b'{"data"', b'{ "data"'), "bad_bundle"),
    "a member twice": (put(FIRST + 1, b'"n":1', b'"n":1,"n":1'), "bad_bundle"),
    "U+0000 in a member's name": (put(FIRST + 1, b'"n":1', b'"n":1,"n\\u0000":1'), "bad_bundle"),
    "bytes behind the end": (lambda lines: lines.append(b"more"), "bad_bundle"),
    "a wider scope": (put(CONTEXT, b'"depth":3', b'"depth":9'), "bad_chain"),
    "cut between two lines": (lambda lines: lines.__setitem__(slice(FIRST + 2, None), [b""]), "bad_chain"),
    "cut in a line": (lambda lines: lines.__setitem__(slice(FIRST + 2, None), [lines[FIRST + 2][:40]]), "bad_chain"),
    "the first entry away": (lambda lines: lines.pop(FIRST), "bad_chain"),
    "an entry in the middle away": (lambda lines: lines.pop(FIRST + 2), "bad_chain"),
    "the last entry away": (lambda lines: lines.pop(-3), "bad_chain"),
    "two entries in each other's place": (swap(FIRST + 1, FIRST + 2), "bad_chain"),
    "an entry twice": (lambda lines: lines.insert(FIRST + 2, lines[FIRST + 1]), "bad_chain"),
    "an entry of another object": (foreign, "bad_chain"),
    "another time": (put(FIRST + 1, b'"time":1', b'"time":2'), "bad_signature"),
    "another signature": (lambda lines: lines.__setitem__(FIRST, lines[FIRST][:-88] + lines[FIRST + 1][-88:]), "bad_signature"),
    "no key": (lambda lines: lines.__setitem__(KEYS, b"keys {}"), "unknown_signer"),
}


def refused(name, code):
    for verb in ("verify", "import"):
        r = lethe("object", verb, FILE, "--json")
        same((r.code, json.loads(r.out)["error"]["code"]), (1, code), name, verb, r)


@case
def a_file_is_verified_without_a_store():  # O-7, O-40
    for seed in range(6):
        write(made(seed, 1 + 4 * seed))
        r = lethe("object", "verify", FILE, "--json")
        same((r.code, json.loads(r.out)["holds"]), (0, True), r)
    check(not os.path.exists(STORE), "verify made a store")


@case
def a_damaged_file_is_refused_for_its_reason():  # O-7, O-40, O-41
    same(lethe("slot", "define", "a", "--schema", "-", input=b"{}").code, 0)  # makes the store
    data = made(5, 9)
    before = log()
    for name, (change, code) in DAMAGE.items():
        lines = data.split(b"\n")
        change(lines)
        write(b"\n".join(lines))
        refused(name, code)
    with open(FILE, "wb") as f:
        f.truncate(100 * 1000 * 1000)
    refused("100 MB", "too_large")
    same(log(), before, "the ledger")
    same(lethe("object", "list", "--json").code, 0)


@case
def a_whole_file_of_strangers_is_kept_and_goes_nowhere():  # O-9
    write(next(data for data in (made(seed, 9) for seed in range(5, 50)) if b'"state":"terminated"' not in data))
    r = lethe("object", "import", FILE, "--json")
    same((r.code, json.loads(r.out)["eligible"]), (0, False), r)
    r = lethe("object", "cycle", json.loads(r.out)["object"], "--json")
    same((r.code, json.loads(r.out)["error"]["code"]), (1, "not_eligible"), r)


main()
