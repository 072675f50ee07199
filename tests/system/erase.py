#!/usr/bin/python3
"""What is erased is gone: slots, rows of governed memory, their notes and pending items. The store's files are searched for the bytes. TAP.

usage: erase.py LETHE root|user [KILL-AT]"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402
from folder import remove  # noqa: E402

KILL_AT = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
use(sys.argv[2])

from tap import DIR, ENV, LETHE, STORE, case, case_when, check, lethe, log, main, python_skill, run, same  # noqa: E402

TEXT = {"type": "string"}


def call(*argv, code=0, **kw):
    r = lethe(*argv, "--json", **kw)
    same(r.code, code, argv, r)
    return json.loads(r.out.splitlines()[-1]) if r.out else None


def refused(code, *argv):
    same(call(*argv, code=1)["error"]["code"], code, argv)


def holds(store=STORE, **kw):
    for verb in ("verify", "audit"):
        r = lethe(verb, "--store", store, **kw)
        same(r.code, 0, verb, r)
    same(call("rebuild", "--store", store, **kw)["differed"], 0)


def found(word, store=STORE):
    """The files of the store that have the word, in any case: the index has it in lower case."""
    have = []
    for base, _, names in os.walk(store):
        for name in names:
            with open(os.path.join(base, name), "rb") as f:
                if word.lower().encode() in f.read().lower():
                    have.append(name)
    return have


def gone(*words, store=STORE):
    same(lethe("compact", "--store", store).code, 0)
    for word in words:
        same(found(word, store), [], word)


def define(name, schema=TEXT):
    same(lethe("slot", "define", name, "--schema", "-", input=json.dumps(schema).encode()).code, 0)


def note(run_id, *texts):
    for text in texts:
        same(lethe("note", "add", run_id, text).code, 0)
    r = lethe("promote", run_id, "--json")
    same(r.code, 0, r)
    return [json.loads(line) for line in r.out.splitlines()][:-1]


def begin(scope="default"):
    return call("note", "begin", "--agent", "scribe", "--scope", scope)["run"]


@case
def a_slots_versions_are_erased_one_by_one_or_all():  # M-66
    define("box")
    for i in range(1, 5):
        call("slot", "put", "box", '"boxed-%d-Xylo"' % i)
    check(found("boxed-2-Xylo"))
    same(call("slot", "erase", "box", "--version", "2", "--reason", "wrong address")["erased"], 1)
    refused("erased", "slot", "get", "box", "--version", "2")
    same([call("slot", "get", "box", "--version", str(v))["value"] for v in (1, 3, 4)], ["boxed-%d-Xylo" % v for v in (1, 3, 4)])
    gone("boxed-2-Xylo")
    holds()
    same(call("slot", "erase", "box", "--older")["erased"], 2)
    gone("boxed-1-Xylo", "boxed-3-Xylo")
    same(call("slot", "get", "box")["value"], "boxed-4-Xylo")
    same([v.get("erased", False) for v in call("slot", "history", "box")["history"]], [True, True, True, False])
    same(call("slot", "erase", "box")["erased"], 1)
    gone("Xylo")
    refused("erased", "slot", "get", "box")
    refused("no_value", "slot", "erase", "box")
    for argv in (("--version", "9"), ("--older", "--reason", "x")):
        refused("no_value", "slot", "erase", "box", *argv)
    refused("undefined_slot", "slot", "erase", "nobox")
    refused("bad_name", "slot", "erase", "No Box")
    same(lethe("slot", "erase", "box", "--older", "--version", "1").code, 2)
    holds()
    same(call("slot", "put", "box", '"again"', "--expect", "4")["slot_version"], 5)
    same(call("slot", "get", "box")["value"], "again")
    holds()


@case
def what_a_region_wrote_and_read_is_erased_too():  # M-66
    define("post")
    python_skill("poster", "import sys, lethe\nlethe.write('post', sys.argv[1])\n", slots={}, writes=["post"], reads=["post"])
    python_skill("getter", "import lethe\nprint(lethe.read('post'))\n", reads=["post"])
    for i in (1, 2):
        same(run("poster", "--", "posted-%d-Yeti" % i).code, 0)
    same(run("getter").out, b"posted-2-Yeti\n")
    same(call("slot", "erase", "post")["erased"], 2)
    r = run("getter")
    check(r.code != 0 and b"no_value" in r.err, r)
    same(run("poster", "--", "after").code, 0)
    gone("Yeti")
    holds()


@case
def values_of_an_arbitrated_slot_are_erased():  # M-66
    same(lethe("slot", "define", "vote", "--schema", "-", "--arbitrate", "first/2", input=json.dumps(TEXT).encode()).code, 0)
    python_skill("voter", "import sys, lethe\nlethe.write('vote', sys.argv[1])\n", writes=["vote"])
    for i in (1, 2):
        same(run("voter", "--", "voted-%d-Zeppelin" % i).code, 0)
    same(call("slot", "get", "vote")["value"], "voted-1-Zeppelin")
    same(call("slot", "erase", "vote")["erased"], 1)
    gone("Zeppelin")
    holds()


@case
def a_gate_finds_no_value_in_an_erased_slot():  # M-66, I-52
    define("gate")
    call("slot", "put", "gate", '"open"')
    python_skill("gated", "print('in')\n", reads=["gate"], gates=[{"slot": "gate", "schema": {"const": "open"}}])
    same(run("gated").code, 0)
    call("slot", "erase", "gate")
    r = run("gated")
    check(r.code == 125 and b"no value" in r.err, r)
    holds()


@case
def a_row_goes_with_all_its_versions_and_notes():  # M-66
    r = begin()
    said = note(r, "issue boot_fails: the Wolverine board does not boot", "constraint: stay under the Quagga budget")
    same([s["outcome"] for s in said], ["committed"] * 2)
    note(r, "issue boot_fails: the Wolverine board of Jackalope does not boot", "issue boot_fails is fixed: Jackalope was unplugged")
    check(found("Wolverine") and found("Jackalope"))
    same(call("canon", "erase", "issues", "boot_fails", "--check")["items"], [])
    e = call("canon", "erase", "issues", "boot_fails", "--reason", "asked for")
    same((e["erased"], e["items"], e["notes"]), (3, [], 3))
    gone("Wolverine", "Jackalope")
    same(len(found("Quagga")) > 0, True)
    refused("no_record", "canon", "show", "issues", "boot_fails")
    refused("no_record", "canon", "erase", "issues", "boot_fails")
    changes = call("canon", "history", "issues", "boot_fails")["changes"]
    same([c["operation"] for c in changes], ["upsert", "upsert", "resolve", "delete"])
    check(not any("payload" in c or "raw_input" in c for c in changes), changes)
    same(changes[-1]["reason"], "asked for")
    holds()
    same(note(r, "issue boot_fails: it does not boot, once more")[0]["created"], True)  # the id is free
    same(call("canon", "show", "issues", "boot_fails")["row_version"], 1)
    holds()
    same(lethe("note", "end", r).code, 0)


@case
def a_pending_item_that_became_a_row_goes_with_it():  # M-66
    r = begin()
    item = note(r, "resolved: the Narwhal cache is warm")[0]
    same(item["outcome"], "pending", item)
    note(r, "issue cold_cache: the disk is cold")
    same(call("pending", "bind", str(item["pending"]), "cold_cache")["outcome"], "committed")
    refused("bad_state", "pending", "erase", str(item["pending"]))  # resolved: with its row alone
    e = call("canon", "erase", "issues", "cold_cache")
    same((e["items"], e["notes"]), ([item["pending"]], 2))
    shown = call("pending", "show", str(item["pending"]))
    check("note" not in shown and "request" not in shown and shown["erased"] > 0 and shown["state"] == "resolved", shown)
    gone("Narwhal")
    holds()
    same(lethe("note", "end", r).code, 0)


@case
def a_dropped_item_is_erased_by_itself():  # M-66
    r = begin()
    item = str(note(r, "resolved: the Pangolin fence")[0]["pending"])
    same(lethe("note", "end", r).code, 0)
    refused("bad_state", "pending", "erase", item)
    call("pending", "drop", item, "--reason", "there is no Pangolin")
    call("pending", "erase", item)
    refused("bad_state", "pending", "erase", item)
    refused("no_record", "pending", "erase", "999999")
    gone("Pangolin")
    holds()


@case
def an_open_item_holds_its_row_or_goes_with_it():  # M-66, M-54
    r = begin()
    note(r, "issue login_page: the Okapi login page is slow", "issue login_form: the Okapi login form is slow")
    item = note(r, "resolved: the Okapi login is slow no more")[-1]
    same(item["outcome"], "pending", item)
    items = call("canon", "erase", "issues", "login_page", "--check")["items"]
    same([i["pending"] for i in items], [item["pending"]])
    refused("dependents", "canon", "erase", "issues", "login_page")
    holds()
    same(call("canon", "erase", "issues", "login_page", "--cascade")["items"], [item["pending"]])
    same(call("pending", "show", str(item["pending"]))["state"], "dropped")
    call("canon", "erase", "issues", "login_form")
    gone("Okapi")
    holds()
    same(lethe("note", "end", r).code, 0)


@case
def erasing_is_the_operators_alone():  # M-66
    define("own")
    call("slot", "put", "own", '"mine"')
    python_skill("eraser", "import lethe\n"
                 "for m, p in (('slot.erase', {'name': 'own'}), ('canon.erase', {'bucket': 'issues', 'id': 'boot_fails'}), ('canon.delete', {'bucket': 'issues', 'id': 'boot_fails'}),\n"
                 "             ('pending.erase', {'pending': 1}), ('memory.delete', {'kind': 'issues', 'id': 'boot_fails'})):\n"
                 "    try:\n"
                 "        lethe._pipe.call(m, p)\n"
                 "        print(m, 'done')\n"
                 "    except lethe.LetheError as e:\n"
                 "        print(m, e.code)\n", reads=["own"], writes=["own"], canon={"scope": "default"},
                 memory=[{"scope": "default", "read": ["memory_substrate"], "delete": ["memory_substrate"]}])
    before = len([e for e in log() if e["type"] in ("slot.erased", "canon.delete", "pending.erased", "memory.delete")])
    r = run("eraser")
    same(r.out.decode().split("\n")[:-1], ["slot.erase unknown_method", "canon.erase unknown_method", "canon.delete unknown_method", "pending.erase unknown_method",
                                           "memory.delete not_granted"], r)
    same(len([e for e in log() if e["type"] in ("slot.erased", "canon.delete", "pending.erased", "memory.delete")]), before)
    same(call("slot", "get", "own")["value"], "mine")


@case_when(KILL_AT)
def a_kill_at_each_call_erases_all_or_nothing():  # M-66
    define("kill")
    for i in range(3):
        call("slot", "put", "kill", '"killed-%d-Vicuna"' % i)
    r = begin()
    note(r, "issue kill_row: the Uakari row", "issue kill_row: the Uakari row, longer")
    verbs = (("slot", "erase", "kill"), ("canon", "erase", "issues", "kill_row"))
    for verb in verbs:
        at, n, whole, none = os.path.join(DIR, "killed"), 0, 0, 0
        while True:
            n += 1
            if os.path.exists(at):
                remove(at)
            shutil.copytree(STORE, at)
            env = dict(ENV, LETHE_ANCHOR=at + "-anchor")
            if os.path.exists(env["LETHE_ANCHOR"]):
                os.unlink(env["LETHE_ANCHOR"])
            p = subprocess.run([KILL_AT, str(n), LETHE, *verb, "--store", at], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
            holds(at, env=env)
            erased = [e for e in map(json.loads, lethe("log", "--json", "--store", at, env=env).out.splitlines())
                      if e["type"] == "slot.erased" and e["slot"] == "kill" or e["type"] == "canon.delete" and e["id"] == "kill_row"]
            same(lethe("compact", "--store", at, env=env).code, 0)
            words = [bool(found(w, at)) for w in (("killed-0-Vicuna", "killed-1-Vicuna", "killed-2-Vicuna") if verb[0] == "slot" else ("Uakari row", "uakari row, longer"))]
            same(words, [not erased] * len(words), verb, n, p.stderr)
            whole, none = whole + bool(erased), none + (not erased)
            if p.returncode == 0:
                break
            same(p.returncode, 137, p.stderr)
        check(whole > 0 and none > 0, verb, whole, none)
        print("# %s: %d calls, %d before the commit" % (verb[0], n - 1, none), flush=True)


main()
