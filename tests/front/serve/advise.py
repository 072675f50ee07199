#!/usr/bin/python3
"""Advisors that are skills, in their regions: good, bad, slow, silent, broken, hostile ones. TAP.

usage: advise.py LETHE ASK-ADVISOR root|user
"""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[3])
from tap import DIR, ENV, LETHE, STORE, add, case, check, lethe, log, main, same, wait_for, wait_runs  # noqa: E402

ASK = os.path.abspath(sys.argv[2])
NOTE = "The parser is fixed."
GOOD = {"decision": "accept", "bucket": "issues", "operation": "resolve", "payload": {}, "reference_text": "from the advisor", "confidence": 0.9}


def skill(name, code, manifest=None):
    """A skill in Python: `line` is what it was told."""
    folder = os.path.join(DIR, name)
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/SKILL.md", "w", encoding="utf-8") as f:
        f.write("---\nname: %s\ndescription: An advisor.\n---\n" % name)
    with open(folder + "/advise.py", "w", encoding="utf-8") as f:
        f.write("import json, os, sys, time\nline = sys.stdin.readline()\ntold = json.loads(line)\ngood = %r\n%s\n" % (GOOD, code))
    with open(folder + "/lethe.json", "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1, "entry": {"main": ["python3", "/skill/advise.py"]}}, **(manifest or {})), f)
    return folder


def start(name, note, *argv, env=None):
    return subprocess.Popen([ASK, STORE, name, note, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(ENV, LETHE_BUILD=os.path.dirname(LETHE), **(env or {})))


def ask(name, note=NOTE, *argv, **kw):
    p = start(name, note, *argv, **kw)
    out, err = p.communicate(timeout=120)
    same(p.returncode, 0, out, err)
    answer = json.loads(out)
    answer["stderr"] = err
    return answer


def by_the_skill(a):
    return a["r"] == 0 and a["code"] == "ok" and a["request"]["reference_text"] == "from the advisor" and a["outcome"]["by"] == "skill" and not a["outcome"]["degraded"]


def degraded(a, code):
    return a["r"] == 0 and a["code"] == "ok" and a["request"]["reference_text"] == "parser" and a["outcome"]["by"] == "built_in" and a["outcome"]["degraded"] \
        and a["outcome"]["fault"]["code"] == code


# G-12
@case
def a_good_advisor_is_asked_in_a_region_of_its_own():
    context = {"issues": [{"id": "parser_crash", "title": "x"}], "decisions": [], "constraints": []}
    code = "assert told == %r, told\nprint(json.dumps(good))" % {"version": 1, "note": {"text": NOTE, "role": "agent"}, "context": context}
    a = ask(skill("good", code), NOTE, "--context", json.dumps(context))
    check(by_the_skill(a), a)
    same(json.loads(a["outcome"]["raw"][0]), GOOD)
    check("fault" not in a["outcome"] and a["stderr"] == "", a)
    events = [e for e in log("--region", a["region"])]
    check(events[0]["type"] == "region.allocated" and events[-1]["type"] == "invocation.ended", events)


# G-12
@case
def a_registered_skill_is_found_by_its_name():
    folder = skill("registered", "print(json.dumps(good))")
    same(lethe("skill", "add", folder).code, 0)
    check(by_the_skill(ask("registered")))


# G-12
@case
def without_an_advisor_the_built_in_one_speaks():
    a = ask("-")
    check(a["code"] == "ok" and a["outcome"] == {"by": "built_in", "degraded": False, "repaired": False} and a["region"] == "", a)


# G-11
@case
def one_repair():
    code = ("if 'repair' in told:\n    assert told['repair']['code'] == 'syntax' and told['repair']['answer'].startswith('I would'), told\n    print(json.dumps(good))\n"
            "else:\n    print('I would resolve it')")
    a = ask(skill("repairs", code))
    check(by_the_skill(a) and a["outcome"]["repaired"] and len(a["outcome"]["raw"]) == 2, a)


BAD = [
    # name, code, fault, how many answers are kept, manifest
    ("words twice", "print('I would resolve it')", "syntax", 2, None),
    ("a fence", "print('```json'); print(json.dumps(good)); print('```')", "advisor_lines", 0, None),
    ("two lines", "print(json.dumps(good)); print(json.dumps(good))", "advisor_lines", 0, None),
    ("nothing", "", "advisor_lines", 0, None),
    ("NUL", "sys.stdout.write(json.dumps(good) + '\\0')", "advisor_lines", 0, None),
    ("no UTF-8", "sys.stdout.buffer.write(b'\\xff\\xfe\\n')", "bad_utf8", 2, None),
    ("terminal commands", "print(json.dumps(dict(good, rationale='\\x1b[2J')))", "control_character", 2, None),
    ("a field of the service", "print(json.dumps(dict(good, applied_successfully=True)))", "service_metadata", 2, None),
    ("another scope", "print(json.dumps(dict(good, target_id='payments/parser')))", "bad_target", 2, None),
    ("sure beyond measure", "print(json.dumps(dict(good, confidence=17)))", "out_of_range", 2, None),
    ("1 MB", "print('x' * (1 << 20))", "advisor_too_long", 0, None),
    ("one byte too long", "print(json.dumps(good).ljust(262145))", "advisor_too_long", 0, None),
    ("10000 levels", "print('[' * 10000)", "too_deep", 2, None),
    ("an exit code", "print(json.dumps(good)); sys.exit(3)", "advisor_exit", 0, None),
    ("the supervisor's exit code", "print(json.dumps(good)); sys.exit(125)", "advisor_exit", 0, None),
    ("a signal", "print(json.dumps(good), flush=True); os.kill(os.getpid(), 11)", "advisor_exit", 0, None),
    ("out of memory", "x = bytearray(1 << 30)", "advisor_exit", 0, {"budgets": {"memory": "48m"}}),
    ("slow", "time.sleep(3600)", "advisor_timeout", 0, {"budgets": {"wall": "1s"}}),
    ("slow and endless", "while True: pass", "advisor_timeout", 0, {"budgets": {"wall": "1s"}}),
    ("no entry", "", "advisor_refused", 0, {"entry": {"other": ["python3"]}}),
    ("an interpreter that is not there", "", "advisor_refused", 0, {"entry": {"main": ["no-such-program"]}}),
]


def bad(i, name, code, fault, kept, manifest):
    a = ask(skill("bad-%d" % i, code, manifest))
    check(degraded(a, fault), a)
    same(len(a["outcome"].get("raw", [])), kept, a)
    if fault == "advisor_exit" and "exit code" in name:
        check("exit code" in a["outcome"]["fault"]["message"], a)


# G-11 G-12
for number, row in enumerate(BAD):
    add("bad advisor: " + row[0], lambda number=number, row=row: bad(number, *row))


# G-12
@case
def what_it_says_on_standard_error_is_told():
    a = ask(skill("complains", "print('no \\x1b[31mmodel', file=sys.stderr); sys.exit(4)"))
    check(degraded(a, "advisor_exit") and a["outcome"]["fault"]["message"] == "the advisor ended with exit code 4: no \\x1b[31mmodel", a)


# G-7
@case
def a_note_without_a_cue_is_invalid_when_the_advisor_failed():
    a = ask(os.path.join(DIR, "complains"), "hello")
    check(a["code"] == "advisor_exit" and a["request"] is None and a["outcome"]["degraded"], a)


# G-12
@case
def an_advisor_that_is_not_there():
    check(degraded(ask("no-such-skill"), "advisor_refused"))


# G-2
@case
def an_advisor_sees_nothing_of_the_host_and_of_what_was_asked_before():
    code = ("seen = [p for p in ('%s', '/root', '/home', '/proc/1') if os.path.exists(p)]\nseen += os.listdir('/work') + os.listdir('/tmp')\n"
            "open('/work/left', 'w').write(line)\nseen += [k for k in os.environ if 'STORE' in k or 'ANCHOR' in k or 'BUILD' in k]\n"
            "import socket\ntry:\n    socket.create_connection(('127.0.0.1', 9), 1)\n    seen.append('network')\nexcept OSError:\n    pass\n"
            "print(json.dumps(dict(good, reference_text='from the advisor', rationale=repr(seen))))" % STORE)
    folder = skill("curious", code)
    for _ in range(2):
        a = ask(folder)
        check(by_the_skill(a) and a["request"]["rationale"] == "[]", a)


# G-12
@case
def a_signal_ends_the_question_and_nothing_is_made_of_the_note():
    folder = skill("sleeps", "time.sleep(3600)")
    p = start(folder, NOTE)
    wait_runs(p, "python3")
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=120)
    same(p.returncode, 0, out, err)
    same(json.loads(out), {"r": -125}, err)
    same(log()[-1]["type"], "invocation.ended")


def newest_of_tables():
    """Number of the transaction that data.mdb is at, by its two meta pages."""
    with open(os.path.join(STORE, "data.mdb"), "rb") as f:
        pages = f.read(4096 + 152)
    return max(int.from_bytes(pages[at + 144:at + 152], sys.byteorder) for at in (0, 4096))


def newest_of_redo():
    with open(os.path.join(STORE, "redo"), "rb") as f:
        return int.from_bytes(f.read(24)[16:24], "big")


# I-60 G-12: what a region's beginning left in the redo file is brought into the tables while the region runs, whoever started it
@case
def what_a_question_leaves_is_seen_to_while_it_lasts():
    folder = skill("second", "if 'first' not in line:\n    os.execvp('sleep', ['sleep', '3600'])\nprint(json.dumps(good))")
    for first in ((), ("--first", "This is the first note.")):
        p = start(folder, NOTE, *first)
        wait_runs(p, "sleep")
        same(p.poll(), None)
        wait_for(lambda: newest_of_redo() <= newest_of_tables(), "the second question's record in the tables")
        p.send_signal(signal.SIGTERM)
        out, err = p.communicate(timeout=120)
        same((p.returncode, json.loads(out)), (0, {"r": -125}), err)


main()
