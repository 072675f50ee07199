#!/usr/bin/python3
"""`lethe object verify|import FILE` with files that are whole, and with files that are not: the code says why, and a store keeps nothing of them. TAP.

usage: object-files.py LETHE MAKE-BUNDLE
"""
import functools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "state", "object"))

from damage import CONTEXT, EMPTY, FIRST, HEAD, KEYS, SCHEMAS, bundle, foreign, set_line, swap  # noqa: E402
from tap import DIR, STORE, case, check, lethe, log, main, same  # noqa: E402

MAKE = sys.argv[2]
FILE = os.path.join(DIR, "file")
made = functools.partial(bundle, MAKE)


def write(data):
    with open(FILE, "wb") as f:
        f.write(data)


DAMAGE = {
    "an empty file": (lambda lines: lines.__setitem__(slice(None), [b""]), "bad_bundle"),
    "another kind of file": (lambda lines: lines.__setitem__(slice(None), [b"{}", b""]), "bad_bundle"),
    "a newer version": (set_line(HEAD, b"/1", b"/2"), "newer_version"),
    "a head with blanks": (set_line(SCHEMAS, b"{", b"{ "), "bad_bundle"),
    "a line too many": (lambda lines: lines.insert(EMPTY, b""), "bad_bundle"),
    "an entry with blanks": (set_line(FIRST, b'{"data"', b'{ "data"'), "bad_bundle"),
    "a member twice": (set_line(FIRST + 1, b'"n":1', b'"n":1,"n":1'), "bad_bundle"),
    "U+0000 in a member's name": (set_line(FIRST + 1, b'"n":1', b'"n":1,"n\\u0000":1'), "bad_bundle"),
    "bytes behind the end": (lambda lines: lines.append(b"more"), "bad_bundle"),
    "a wider scope": (set_line(CONTEXT, b'"depth":3', b'"depth":9'), "bad_chain"),
    "cut between two lines": (lambda lines: lines.__setitem__(slice(FIRST + 2, None), [b""]), "bad_chain"),
    "cut in a line": (lambda lines: lines.__setitem__(slice(FIRST + 2, None), [lines[FIRST + 2][:40]]), "bad_chain"),
    "the first entry away": (lambda lines: lines.pop(FIRST), "bad_chain"),
    "an entry in the middle away": (lambda lines: lines.pop(FIRST + 2), "bad_chain"),
    "the last entry away": (lambda lines: lines.pop(-3), "bad_chain"),
    "two entries in each other's place": (swap(FIRST + 1, FIRST + 2), "bad_chain"),
    "an entry twice": (lambda lines: lines.insert(FIRST + 2, lines[FIRST + 1]), "bad_chain"),
    "an entry of another object": (foreign(MAKE), "bad_chain"),
    "another time": (set_line(FIRST + 1, b'"time":1', b'"time":2'), "bad_signature"),
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
