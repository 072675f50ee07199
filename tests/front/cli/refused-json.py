#!/usr/bin/python3
"""Runs: tests. refused-json.py LETHE: with --json a verb that cannot do what it was asked for prints one object, which has a code. TAP."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import DIR, ENV, LETHE, case, check, lethe, main, same  # noqa: E402

REGION = "01" + "a" * 24
# What each verb could be asked for, were there a store with something in it.
ASKED = {
    "apply": [REGION, REGION + " a", "--drop " + REGION], "audit": ["", "regions"], "canon": ["list", "show issues x", "history issues x"], "capacity": [""],
    "ccs": ["show x", "show x --turn 1", "history x", "diff x 0 1", "list", "turn x", "decide x", "store x"], "certificate": [REGION, "--key", "--verify nowhere"],
    "checkpoint": [""], "compact": [""], "context": [""], "diff": [REGION], "digest": ["run", "passes", "why memory x"], "doctor": [""], "export": ["out"],
    "kernel": ["status", "show agent", "patch agent {} --base 1", "diff agent 1 2", "log agent"], "log": ["", "--region " + REGION],
    "memory": ["list", "load memory x", "search word", "history memory x", "view memory x", "refs", "restore memory x", "delete memory x", "working get"],
    "object": ["show " + REGION, "list", "history " + REGION, "why " + REGION, "cycle " + REGION, "run --due", "input %s x" % REGION, "end " + REGION, "verify " + REGION, "graph " + REGION,
               "export %s out" % REGION, "adopt %s ab" % REGION, "trust", "verify nowhere", "import nowhere"],
    "metrics": [""], "note": ["list x", "runs", "add x text", "end x"], "pending": ["list", "show 1", "retry", "bind 1 x", "drop 1 --reason r"], "promote": ["x"],
    "prove": ["0"], "ps": [""], "rebuild": [""], "report": ["-o page"], "scope": ["list", "delete x"],
    "session": ["show " + REGION, "list", "carry %s x" % REGION, "carry %s x 1" % REGION, "close " + REGION], "skill": ["list", "show x"],
    "slot": ["list", "get x", "show x", "history x", "put x 1", "decide x"], "trace": [""], "validate": ["nowhere"], "verify": [""], "wait": [REGION], "why": [REGION, "--session " + REGION],
}
# These make a store where there is none, or need none: what they say is looked at with one.
NEED_NONE = {"doctor", "ps", "capacity", "validate", "metrics"}


def verbs():
    words = re.findall(r"^  ([a-z]+) {2,}\S", lethe("--help").out.decode(), re.M)
    return [v for v in words if "--json" in lethe(v, "--help").out.decode() and v != "run"]


def refusal(r, *what):
    """The object of a verb that ended otherwise than with 0: the only line."""
    lines = r.out.decode().splitlines()
    same(len(lines), 1, *what, r)
    said = json.loads(lines[0])
    same(said["version"], 1, *what)
    return said["error"]


@case
def every_verb_is_looked_at():
    same(sorted(ASKED), sorted(verbs()))


@case
def a_wrong_command_line():
    for verb in verbs():
        for argv in ((verb, "--json", "--zork"), (verb, "--zork", "--json"), (verb, "--json", "--store", "", *ASKED[verb][0].split())):
            if "" in argv and verb in NEED_NONE | {"compact"}:
                continue
            r = lethe(*argv)
            same((r.code, refusal(r, *argv)["code"]), (2, "usage"), *argv)
        same(lethe(verb, "--zork").out, b"", verb)
    r = lethe("run", "--dry-run", "--json", "--zork")
    same((r.code, refusal(r)["code"]), (125, "usage"))
    same(lethe("run", "--json", "--zork").out, b"", "standard output is the program's")


@case
def a_wrong_value_in_front_of_json():
    for argv in (("promote", "x", "--tau", "2"), ("promote", "x", "--batch", "65"), ("promote", "x", "--most", "0"), ("context", "--lane", "101"), ("log", "--since", "x"),
                 ("log", "--region", "X"), ("audit", "regions", "--since", "x"), ("trace", "--region", "X"), ("slot", "get", "x", "--version", "0"),
                 ("slot", "watch", "x", "--count", "0"), ("kill", "x"), ("version",)):
        r = lethe(*argv, "--json")
        same((r.code, refusal(r, *argv)["code"]), (2, "usage"), *argv)
        same(lethe(*argv, "x", "--", "--json").out, b"", "that is no option")
    same(lethe("run", "--exec", "/bin/sh", "--", "-c", "exit 2", "sh", "--json").out, b"", "standard output is the program's")
    for argv, wrong in ((("memory", "search", "-anna"), "-anna"), (("memory", "list", "-s"), "-s"), (("memory", "--zork", "list"), "--zork"), (("log", "--store"), "--store")):
        check(("'%s' is not an option of the verb" % wrong).encode() in lethe(*argv).err, *argv)


@case
def who_changes_what_is_there_makes_no_store():
    empty = os.path.join(DIR, "empty")
    os.mkdir(empty)
    for verb, *asked in (("rebuild",), ("compact",), ("promote", "x"), ("digest", "run"), ("pending", "retry"), ("pending", "bind", "1", "x"),
                         ("pending", "drop", "1", "--reason", "r"), ("note", "add", "x", "text"), ("note", "end", "x"), ("memory", "delete", "memory", "x"),
                         ("memory", "restore", "memory", "x"), ("scope", "delete", "x"), ("slot", "put", "x", "1"), ("slot", "decide", "x"), ("skill", "list"), ("skill", "show", "x"), ("kernel", "patch", "agent", "{}", "--base", "1"),
                         ("object", "cycle", REGION), ("object", "run", "--due"), ("object", "end", REGION), ("object", "input", REGION, "x"), ("object", "why", REGION)):
        for folder in (os.path.join(DIR, "not-there"), empty):
            r = lethe(verb, *asked, "--json", "--store", folder)
            same((r.code, refusal(r)["code"]), (1, "no_store"), verb, asked)
    same((os.path.exists(os.path.join(DIR, "not-there")), os.listdir(empty)), (False, []))


@case
def no_store():
    for verb, all_of_it in ASKED.items():
        for asked in all_of_it:
            r = lethe(verb, *asked.split(), "--json", "--store", os.path.join(DIR, "none-%s-%s" % (verb, asked.split(" ")[0])))
            if r.code == 0:
                check(verb in NEED_NONE, verb, asked, r)
            elif verb == "audit":
                same(r.code, 2, r)
            else:
                error = refusal(r, verb, asked)
                check(error["code"] and error["message"] and error["message"].encode() in r.err, verb, asked, r)


@case
def what_is_not_there():
    same(lethe("scope", "create", "here").code, 0)
    for code, *argv in (("no_scope", "digest", "run", "--scope", "none"), ("no_scope", "digest", "passes", "--scope", "none"),
                        ("no_scope", "digest", "run", "--scope", "none", "--apply"), ("bad_operation", "digest", "why", "dreams", "x"),
                        ("no_record", "digest", "why", "memory", "x", "--scope", "here"), ("policy", "digest", "run", "--scope", "here", "--policy", "none"),
                        ("usage", "digest", "run", "--reasons", "age"), ("usage", "digest", "zork"), ("usage", "digest"),
                        ("no_serve", "memory", "working", "get", "--scope", "here"), ("no_scope", "context", "--scope", "none"),
                        ("no_scope", "memory", "list", "--scope", "none"), ("no_scope", "kernel", "status", "--scope", "none"),
                        ("no_record", "promote", "none"), ("policy", "promote", "none", "--advisor", "x", "--policy", "none"),
                        ("no_record", "note", "list", "none"), ("no_record", "pending", "show", "1"), ("usage", "pending", "drop", "1"),
                        ("usage", "pending", "show", "one"), ("no_scope", "pending", "list", "--scope", "none"), ("no_scope", "scope", "delete", "none"),
                        ("usage", "pending", "drop", "1", "--reason", ""), ("usage", "pending", "drop", "1", "--reason", " "), ("usage", "pending", "retry", "--most", "0"),
                        ("usage", "memory", "delete", "memory", "x", "--reason", "a\x1b[2J"), ("usage", "memory", "delete", "memory", "x", "--reason", "\udcff"),
                        ("usage", "scope", "delete", "none", "--reason", "a\u202eb"), ("usage", "scope", "delete", "none", "--reason", "\udcff"),
                        ("failed", "why", REGION), ("no_record", "why", "--session", REGION), ("no_session", "session", "show", REGION), ("no_session", "session", "close", REGION),
                        ("no_session", "session", "carry", REGION, "x"), ("refused", "session", "open", "none"), ("usage", "session", "show", "x"), ("failed", "skill", "show", "none"), ("syntax", "slot", "put", "none", "{"),
                        ("undefined_slot", "slot", "get", "none"), ("undefined_slot", "slot", "show", "none"), ("undefined_slot", "slot", "history", "none"),
                        ("undefined_slot", "slot", "put", "none", "1"), ("undefined_slot", "slot", "watch", "none"), ("bad_name", "slot", "get", "../x"),
                        ("failed", "certificate", "--verify", "none")):
        r = lethe(*argv, "--json")
        check(r.code != 0, *argv)
        same(refusal(r, *argv)["code"], code, *argv, r)
        same(lethe(*argv).out, b"", *argv)


@case
def bytes_and_numbers_that_cannot_be():  # G-23
    """The same wrong thing has one word, whichever verb meets it, and the message names field, value and rule."""
    run = lethe("note", "begin", "--agent", "alice").out.decode().strip()
    schema = os.path.join(DIR, "schema.json")
    with open(schema, "wb") as f:
        f.write(b'{"type": \n "obj')
    deep = "[" * 200 + "]" * 200
    for code, words, *argv in (("empty", "the note is empty: 1 to 32768 bytes are allowed", "note", "add", run, ""),
                               ("too_large", "add: the text has more than 32768 bytes", "note", "add", run, "x" * 32769), ("bad_utf8", "the note is not UTF-8 at byte 1, which is 0xff", "note", "add", run, "a\udcff"),
                               ("bad_utf8", "the value is not UTF-8 at byte 1, which is 0xff", "slot", "put", "x", '"\udcff"'),
                               ("bad_utf8", "the payload is not UTF-8 at byte 1, which is 0xff", "memory", "save", "memory", '"\udcff"'),
                               ("syntax", "the value is not JSON: line 1, column 1:", "slot", "put", "x", "{"), ("syntax", "line 2, column 5", "slot", "define", "x", "--schema", schema),
                               ("syntax", "line 1, column 1", "memory", "save", "memory", "{"), ("duplicate_key", '"a"', "slot", "put", "x", '{"a":1,"a":2}'),
                               ("duplicate_key", '"a"', "kernel", "patch", "agent", '{"a":1,"a":2}', "--base", "1"), ("too_deep", "200", "slot", "put", "x", deep),
                               ("too_deep", "200", "memory", "save", "memory", deep), ("usage", "--limit: '0' is not a number from 1 to 100", "memory", "search", "x", "--limit", "0"),
                               ("usage", "--limit: '101' is not a number from 1 to 100", "memory", "search", "x", "--limit", "101"),
                               ("usage", "--limit: '-1' is not a number", "memory", "search", "x", "--limit", "-1")):
        r = lethe(*argv, "--json")
        error = refusal(r, *argv)
        check(error["code"] == code and words in error["message"] and r.code == (2 if code == "usage" else 1), argv[:3], words, error)


@case
def what_was_written_is_told_with_its_rule():
    run = lethe("note", "begin", "--agent", "alice").out.decode().strip()
    for code, words, *argv in (
            ("usage", "--agent is 'a' and 'b': give the option a single time", "note", "begin", "--agent", "a", "--agent", "b"),
            ("usage", "--scope is 'x' and 'y': give the option a single time", "pending", "list", "--scope", "x", "--scope", "y"),
            ("usage", "list takes no argument: 'issues' is extra", "canon", "list", "issues"), ("usage", "show takes ID: '8' is extra", "pending", "show", "7", "8"),
            ("usage", "show takes agent or world: 'world' is extra", "kernel", "show", "agent", "world"), ("usage", "bind takes ID TARGET", "pending", "bind", "7"),
            ("usage", "--lane: '0' is not a number from 1 to 100", "context", "--lane", "0"), ("usage", "--depth: '17' is not a number from 1 to 16", "memory", "refs", "memory", "x", "--depth", "17"),
            ("usage", "--tau: '0x1p-1' is not a number from 0 to 1", "promote", run, "--tau", "0x1p-1"), ("usage", "--delta: ' 0.5' is not a number", "promote", run, "--delta", " 0.5"),
            ("usage", "--anchor is empty: the option names a file", "verify", "--anchor", ""), ("usage", "--anchor is empty", "note", "runs", "--anchor", ""),
            ("syntax", "the patch is not JSON: the text is empty", "kernel", "patch", "agent", " ", "--base", "1"), ("syntax", "the value is not JSON: the text is empty", "slot", "put", "x", ""),
            ("no_value", "there is no version 99 of agent_model_kernel: the newest is 1", "kernel", "show", "agent", "--at", "99"),
            ("no_value", "there is no version 7 of agent_model_kernel", "kernel", "patch", "agent", "{}", "--base", "7"),
            ("conflict", "the base is version 0", "kernel", "patch", "agent", "{}", "--base", "0"),
            ("bad_name", '"A B" is not an id of memory_substrate', "memory", "delete", "memory", "A B")):
        r = lethe(*argv, "--json")
        error = refusal(r, *argv)
        check(error["code"] == code and words in error["message"] and r.code == (2 if code == "usage" else 1), argv, error)
    same(lethe("note", "begin", "--agent", "a", "--agent", "a").code, 0, "the same twice is no question")
    r = lethe("help", "zork")
    check(r.code == 2 and r.out == b"" and b"'zork' is not a verb" in r.err, r)
    check(lethe("help", "note").out.startswith(b"Usage: lethe note"))


@case
def standard_output_that_is_not_there():
    run = lethe("note", "begin", "--agent", "alice").out.decode().strip()
    lethe("note", "add", run, "issue here: it is here")
    for verb in ("note runs", "note list " + run, "kernel show agent", "scope list", "verify", "rebuild", "context", "promote " + run, "memory list --json", "--help", "canon list"):
        for to in (">&-", ">/dev/full"):
            r = subprocess.run(["/bin/sh", "-c", '"$@" ' + to, "sh", LETHE, *verb.split()], env=ENV, check=False, capture_output=True, timeout=60)
            check(r.returncode == 1 and b"cannot write standard output" in r.stderr, verb, to, r)
    same(lethe("run", "--exec", "/bin/true").code, 0)


main()
