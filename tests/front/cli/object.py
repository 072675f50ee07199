#!/usr/bin/python3
"""`lethe object` from outside: jobs with real skills, what becomes of each kind of end, and of those who are killed in the middle. TAP.

usage: object.py LETHE root|user
"""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ROOT, STORE, case, case_when, check, lethe, log, main, processes_below, python_skill, same, wait_for  # noqa: E402

LAB = """import os, sys, time
import lethe
def have(slot):
    try:
        return lethe.read(slot)
    except lethe.LetheError as e:
        return e.code
def add():
    try:
        was = lethe.read_value("total")
        lethe.write("total", was.value + 1, expect=was.version)
    except lethe.LetheError as e:
        if e.code != "no_value":
            raise
        lethe.write("total", 1, expect=0)
exec(sys.argv[1])
"""
SLOTS = {"total": {"type": "integer"}, "other": {"type": "integer"}}
KILLS = int(os.environ.get("LETHE_TEST_KILLS", "8"))  # 2000 for a long run
os.chmod(DIR, 0o755)
python_skill("lab", LAB, slots=SLOTS, reads=["total", "other"], writes=["total", "other"])
python_skill("sub", "import lethe\ntry:\n    lethe.write('other', 5)\nexcept lethe.LetheError as e:\n    lethe.result(e.code)\n", writes=["other"])
python_skill("parent", "import lethe\nlethe.result(lethe.run('sub').get('result'))\n", sub_skills=["sub"], writes=["other"])
python_skill("slow-end", LAB, slots=SLOTS, cancel_bound="9s", writes=["total"], reads=["total"])
for _slot in SLOTS:
    same(lethe("slot", "define", _slot, "--schema", "-", input=b'{"type": "integer"}').code, 0)
ALL = {"skills": "*", "reads": "*", "writes": "*"}
TOTAL = {"skills": ["lab"], "reads": ["total"], "writes": ["total"]}


def intent(code, skill="lab", **more):
    return dict({"do": {"skill": skill, "args": [code]}}, **more)


def create(what, scope=TOTAL, *options):
    path = os.path.join(DIR, "intent.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(what, f)
    r = lethe("object", "create", "--intent", path, *(["--scope", json.dumps(scope)] if scope else []), *options, "--json")
    same(r.code, 0, r)
    return json.loads(r.out)["object"]


def cycle(obj, *options, code=0):
    r = lethe("object", "cycle", obj, "--json", *options)
    same(r.code, code, r)
    same(r.out.count(b"\n"), 1, r)
    return json.loads(r.out)


def history(obj):
    r = lethe("object", "history", obj, "--json")
    same(r.code, 0, r)
    return [json.loads(line) for line in r.out.splitlines()]


def kinds(obj):
    return [e["kind"] for e in history(obj)]


def show(obj):
    r = lethe("object", "show", obj, "--json")
    same(r.code, 0, r)
    return json.loads(r.out)


def total():
    r = lethe("slot", "get", "total", "--json")
    return json.loads(r.out)["value"] if r.code == 0 else 0


def holds(obj=None):
    for what in (("verify",), ("audit",)) + ((("object", "verify", obj),) if obj else ()):
        r = lethe(*what)
        same(r.code, 0, what, r)


def start(obj, *options):
    return subprocess.Popen([LETHE, "object", "cycle", obj, "--json", *options], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(p):
    out, err = p.communicate(timeout=120)
    return p.returncode, out, err


def runs(p):
    """Until the skill of the cycle p executes."""
    wait_for(lambda: p.poll() is not None or any(name == "python3" for _, name in processes_below(p.pid)), "the skill runs")
    same(p.poll(), None, "the cycle still goes on")


def drain():
    r = lethe("object", "run", "--due")
    same(r.code, 0, r)


@case
def a_job_from_its_creation_to_its_end():  # O-1, O-2, O-10, O-14, O-19, O-21, O-35, O-37
    before = total()
    o = create(intent("add(); print('to nobody'); lethe.result({'done': 1})"))
    first = cycle(o)
    same((first["action"], first["state"], first["outcome"]["kind"], first["outcome"]["value"]), ("execution", "evaluation", "success", {"done": 1}))
    same(total(), before + 1)
    same(cycle(o)["action"], "termination")
    entries = history(o)
    same([e["kind"] for e in entries], ["instantiated", "evaluation", "started", "outcome", "terminated"])
    same([int(e["n"]) for e in entries], list(range(5)))
    same(entries[-1]["data"]["reason"], "satisfied")
    check(all(e["policy"]["ref"].startswith("sha256:") for e in entries if e["kind"] in ("evaluation", "started")), entries)
    region = [e for e in log("--type", "region.allocated") if e.get("object") == o]
    same([(e["region"], e["trace"]) for e in region], [(first["trace"], first["trace"])])  # the trace is the region's id
    holds(o)


@case
def a_terminated_object_is_final():  # O-20
    o = create(intent("pass"))
    cycle(o)
    cycle(o)
    before = history(o)
    r = lethe("object", "cycle", o, "--json")
    same((r.code, json.loads(r.out)["error"]["code"]), (1, "terminated"), r)
    same(history(o), before)
    same(lethe("object", "verify", o).code, 0)
    path = os.path.join(DIR, "ended")
    same(lethe("object", "export", o, path).code, 0)
    same(lethe("object", "verify", path).code, 0)


ENDS = [
    ("success", "add()", {}, "success", {}, 1),
    ("a value", "add(); lethe.result([1, 2])", {}, "success", {"value": [1, 2]}, 1),
    ("partial", "add(); lethe.result({'outcome': 'partial', 'remainder': ['pass']})", {}, "partial", {"remainder": ["pass"]}, 1),
    ("negative", "lethe.result({'outcome': 'negative', 'capability': 'a printer'})", {}, "negative", {"capability": "a printer"}, 0),
    ("negative after a write", "add(); lethe.result({'outcome': 'negative', 'capability': 'a printer'})", {}, "negative", {"capability": "a printer"}, 0),
    ("an exit code", "add(); sys.exit(3)", {}, "failure", {"exit_code": 3}, 0),
    ("exit code 124", "add(); sys.exit(124)", {}, "failure", {"exit_code": 124}, 0),
    ("a signal", "add(); os.kill(os.getpid(), 9)", {}, "failure", {"signal": 9}, 0),
    ("the deadline", "add(); time.sleep(600)", {"with": {"timeout": "1s"}}, "timeout", {}, 0),
    ("a result that is refused", "add(); lethe.result({'outcome': 'sunny'})", {}, "failure", {"exit_code": 0}, 0),
    ("a forbidden slot", "lethe.result(have('other'))", {}, "success", {"value": "not_granted"}, 0),
]


def ends(name, code, more, kind, members, effects):
    def run():
        before = total()
        o = create(intent(code, **more))
        answer = cycle(o)
        same((answer["action"], answer["outcome"]["kind"]), ("execution", kind), answer)
        same({k: answer["outcome"].get(k) for k in members}, members, answer)
        same(total(), before + effects)
        entry = [e for e in history(o) if e["kind"] == "outcome"]
        same([e["outcome"] for e in entry], [answer["outcome"]])
        check(int(entry[0]["outcome"]["latency_usec"]) > 0, entry)
        lethe("object", "end", o)
        holds(o)
    return run


for _row in ENDS:
    case_name = "an execution that ends with " + _row[0]
    fn = ends(*_row)  # O-14, O-21, O-48
    fn.__name__ = case_name.replace(" ", "_")
    case(fn)


STRANGE = [  # what a hostile skill answers: the outcome is there whatever it is
    "'a' + chr(0) + 'b'", "{'a' + chr(27): chr(0x202e)}", "1e300", "2**53 - 1", "[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]", "{'': ''}", "'x' * 65000", "'x' * 66000", "''",
    "{'outcome': 'partial', 'remainder': ['x' * 4096] * 9}", "{'outcome': 'negative', 'capability': 'x' * 257}", "{'next': {'sleep': 'x' * 70000}}", "{'next': {'end': chr(0)}}",
    "{'outcome': 'negative', 'capability': chr(0)}", "{'outcome': 'success', 'value': {chr(8238): [None, True, 0.1]}}",
]


@case
def strange_results_are_outcomes():  # O-14, O-48
    for answer in STRANGE:
        before = total()
        o = create(intent("add(); lethe.result(%s)" % answer))
        outcome = cycle(o)["outcome"]
        check(outcome["kind"] in ("success", "failure"), answer, outcome)
        same(total() - before, int(outcome["kind"] == "success"), answer, outcome)
        for verb in ("show", "history", "why", "verify"):
            r = lethe("object", verb, o)
            same(r.code, 0, verb, answer, r)
            check(b"\x1b" not in r.out and "\u202e".encode() not in r.out, verb, answer, r)
        cycle(o)
        lethe("object", "end", o)
    holds()


@case
def a_missing_skill_is_a_lack_of_this_node():  # O-2, O-48, O-49
    o = create({"do": {"skill": "nobody-has-it"}}, {"skills": ["nobody-has-it"]})
    answer = cycle(o)
    same((answer["action"], answer["outcome"]["kind"], answer["outcome"]["capability"]), ("execution", "negative", "skill:nobody-has-it"))
    check("nobody-has-it" in answer["outcome"]["reason"], answer)
    same((cycle(o)["action"], show(o)["state"]), ("dormancy", "dormant"))
    before = history(o)
    answer = cycle(o)
    same(answer["action"], "none")
    check(answer["unmet"], answer)
    same(history(o), before)  # O-33
    lethe("object", "end", o)


@case
def a_policy_that_refuses_the_skill_performs_nothing():  # O-15, O-45
    path = os.path.join(DIR, "policy.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "bounds": {"cancel_bound": {"ceiling": "1s"}}}, f)
    before = total()
    o = create(intent("add()", skill="slow-end"), dict(TOTAL, skills=["slow-end"]))
    answer = cycle(o, "--policy", path)
    same((answer["action"], answer["state"], answer["reason"]), ("dormancy", "dormant", "denied"), answer)
    entry = history(o)[-1]
    same((entry["kind"], entry["data"]["reason"], entry["policy"]["verdict"]), ("dormant", "denied", "denied"))
    check("cancel_bound" in entry["policy"]["rule"], entry)
    check("started" not in kinds(o), kinds(o))
    same(cycle(o, "--policy", path)["action"], "none")
    same(cycle(o)["action"], "reentry")  # another policy is in force
    same((cycle(o)["action"], total()), ("execution", before + 1))
    lethe("object", "end", o)
    holds(o)


POLICIES = [  # (what, "objects" of the policy, intent, action of the first cycle, its reason)
    ("an action that is not listed", {"actions": ["dormancy", "reentry", "termination"]}, {"do": {"skill": "lab", "args": ["add()"]}}, "dormancy", "denied"),
    ("a denial that ends", {"actions": ["dormancy", "termination"], "on_denied": "terminate"}, {"do": {"skill": "lab", "args": ["add()"]}}, "termination", "policy"),
    ("no delegation", {"actions": ["execution", "dormancy", "termination"]}, {"do": {"delegate": [{"do": {"skill": "lab", "args": ["add()"]}}]}}, "dormancy", "denied"),
    ("a delegation that is too wide", {"fanout": 1}, {"do": {"delegate": [{"do": {"skill": "lab", "args": ["add()"]}}] * 2}}, "dormancy", "denied"),
    ("a delegation that is too deep", {"depth": 0}, {"do": {"delegate": [{"do": {"skill": "lab", "args": ["add()"]}}]}}, "dormancy", "denied"),
]


@case
def the_policy_says_what_objects_may_do():  # O-15, O-25, O-45
    path = os.path.join(DIR, "objects.json")
    for what, objects, todo, action, reason in POLICIES:
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "objects": objects}, f)
        before = total()
        o = create(todo, dict(TOTAL, depth=1))
        answer = cycle(o, "--policy", path)
        same((answer["action"], answer["reason"]), (action, reason), what, answer)
        check("started" not in kinds(o) and "delegation" not in kinds(o), what, kinds(o))
        same(total(), before, what)
        lethe("object", "end", o)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "objects": {"max": 1}}, f)
    o = create({"do": {"wait": {"elapsed": {"for": "1h"}}}})
    r = lethe("object", "create", "--intent", '{"do": {"wait": {"elapsed": {"for": "1h"}}}}', "--policy", path, "--json")
    same((r.code, json.loads(r.out)["error"]["code"]), (1, "too_many"), r)
    lethe("object", "end", o)


@case
def constraints_make_the_scope_smaller():  # O-22, O-23
    code = "try:\n    lethe.write('total', 0)\nexcept lethe.LetheError as e:\n    lethe.result(e.code)"
    o = create(intent(code, constraints=[{"slots_write": ["other"]}]))
    same(cycle(o)["outcome"]["value"], "not_granted")
    lethe("object", "end", o)


@case
def the_deadline_of_an_execution_is_in_its_grant():  # O-21, O-50
    o = create(intent("pass", **{"with": {"timeout": "3s"}}))
    cycle(o)
    grant = [e for e in log("--type", "region.allocated") if e.get("object") == o][0]["grant"]
    check(int(grant["budgets"]["wall_usec"]) <= 3000000, grant["budgets"])


@case
def a_lack_is_tried_again_when_somebody_speaks_or_a_skill_is_registered():  # O-49, O-50
    o = create({"do": {"skill": "later"}}, {"skills": ["later"]})
    same(cycle(o)["outcome"]["kind"], "negative")
    same([cycle(o)["reason"], cycle(o)["action"]], ["negative", "none"])
    same(lethe("object", "input", o, "try again").code, 0)
    same([cycle(o)["action"], cycle(o)["outcome"]["kind"], cycle(o)["reason"]], ["reentry", "negative", "negative"])
    python_skill("later", "import lethe\nlethe.result('here')\n")
    same([cycle(o)["action"], cycle(o)["outcome"]["value"]], ["reentry", "here"])
    lethe("object", "end", o)


@case
def proposals_of_a_skill_count_as_far_as_the_intent_says():  # O-44, O-47
    o = create(intent("lethe.result({'next': {'end': 'enough'}})", until="never", **{"with": {"may": ["end"]}}))
    cycle(o)
    same((cycle(o)["action"], history(o)[-1]["data"]["by"], history(o)[-1]["data"]["why"]), ("termination", "skill", "enough"))
    o = create(intent("lethe.result({'next': {'end': 'enough'}})", until="never"))
    cycle(o)
    same(cycle(o)["action"], "dormancy")
    check("refused_next" in history(o)[-1]["data"], history(o)[-1])
    lethe("object", "end", o)


@case
def delegation_goes_through_three_levels():  # O-24, O-25, O-26, O-27
    before = total()
    leaf = intent("add(); lethe.result(1)", **{"with": {"pace": {"base": "1ms", "min": "10ms", "max": "10ms"}}})
    inner = {"do": {"delegate": [leaf, leaf], "gather": {"mode": "all"}}}
    o = create({"do": {"delegate": [inner, leaf], "gather": {"mode": "all"}}}, dict(TOTAL, depth=2))
    wait_for(lambda: drain() or show(o)["state"] == "terminated", "the parent has ended")
    same(total(), before + 3)
    entries = history(o)
    same(entries[-1]["data"]["reason"], "satisfied", entries)
    children = [e["data"]["child"] for e in entries if e["kind"] == "child"]
    same((len(children), len(set(children))), (2, 2), entries)
    for child in children:  # linked in both directions
        same(show(child)["context"]["parent"]["object"], o)
        check(show(child)["context"]["scope"]["depth"] < 2, show(child)["context"])
        holds(child)
    holds(o)


@case
def the_trust_scope_is_narrower_than_the_skill_wishes():  # O-3, O-21, O-25
    o = create(intent("lethe.result([have('total'), have('other'), [x['name'] for x in lethe.list_slots()]])"), {"skills": ["lab"]})
    same(cycle(o)["outcome"]["value"][:2], ["not_granted", "not_granted"])
    grant = [e for e in log("--type", "region.allocated") if e.get("object") == o][0]
    same((grant["reads"], grant["writes"], grant["grant"]["commit"]), ([], [], "success"))
    check(any("trust scope" in x["rule"] and x["asked"] == "total" for x in grant["grant"]["reductions"]), grant)
    o = create(intent("try:\n    lethe.write('other', 1)\nexcept lethe.LetheError as e:\n    lethe.result(e.code)"))
    same(cycle(o)["outcome"]["value"], "not_granted")


@case
def a_region_below_an_execution_writes_nothing():  # O-38
    before = lethe("slot", "get", "other").out
    o = create({"do": {"skill": "parent"}}, {"skills": ["parent", "sub"], "reads": "*", "writes": "*"})
    answer = cycle(o)
    same((answer["outcome"]["kind"], answer["outcome"]["value"]), ("success", "not_granted"), answer)
    same(lethe("slot", "get", "other").out, before)
    holds(o)


REFUSED = [  # O-2, O-23, O-31
    ("no JSON", "{", None, "syntax"),
    ("a list", "[]", None, "bad_intent"),
    ("nothing to do", "{}", None, "bad_intent"),
    ("an unknown member", '{"do": {"skill": "lab"}, "when": 1}', None, "bad_intent"),
    ("two actions", '{"do": {"skill": "lab", "wait": {"elapsed": {"for": "1s"}}}}', None, "bad_intent"),
    ("a number as the skill", '{"do": {"skill": 7}}', None, "bad_intent"),
    ("an argument that is no text", '{"do": {"skill": "lab", "args": [1]}}', None, "bad_intent"),
    ("a trigger without a kind", '{"do": {"wait": {}}}', None, "bad_intent"),
    ("a trigger that never can come", '{"do": {"wait": {"any": []}}}', None, "bad_intent"),
    ("a duration without a unit", '{"do": {"skill": "lab"}, "with": {"timeout": "5"}}', None, "bad_intent"),
    ("a skill beyond the scope", '{"do": {"skill": "lab"}}', '{"skills": ["other"]}', "beyond_scope"),
    ("a delegation beyond the scope", '{"do": {"delegate": [{"do": {"skill": "lab"}}]}}', '{"skills": ["lab"], "depth": 0}', "beyond_scope"),
    ("a scope that is no scope", '{"do": {"skill": "lab"}}', '{"skills": 1}', "bad_intent"),
]


def refused(name, text, scope, code):
    def run():
        before = lethe("object", "list", "--json").out
        r = lethe("object", "create", "--intent", "-", *(["--scope", scope] if scope else []), "--json", input=text.encode())
        same((r.code, json.loads(r.out)["error"]["code"]), (1, code), name, r)
        check(len(r.err) > 20, r)
        same(lethe("object", "list", "--json").out, before)
    return run


for _row in REFUSED:
    fn = refused(*_row)
    fn.__name__ = "an_intent_is_refused:_" + _row[0].replace(" ", "_")
    case(fn)


@case
def the_sleep_of_an_object_changes_nothing():  # O-29, O-30, O-33, O-34
    o = create({"do": {"steps": [{"wait": {"prerequisite": {"slot": "other", "above": 40}}}, {"skill": "lab", "args": ["add()"]}]}})
    same(cycle(o)["state"], "dormant")
    drain()  # what others left
    before, size = history(o), len(log())
    for _ in range(3):
        same(cycle(o)["action"], "none")
    drain()
    same((history(o), len(log())), (before, size))
    told = json.loads(lethe("object", "why", o, "--json").out)
    same(told["next"]["action"], "none")
    check(told["next"]["unmet"], told)
    text = lethe("object", "why", o).out.decode()
    check("slot other is above 40" in text and "tried: not yet" in text, text)
    same((history(o), len(log())), (before, size))  # why asks, and changes nothing
    r = lethe("slot", "put", "other", "41")
    same(r.code, 0, r)
    r = lethe("object", "run", "--due", "--json")
    same(r.code, 0, r)
    same([json.loads(line)["action"] for line in r.out.splitlines()], ["reentry", "execution", "termination"])
    entry = [e for e in history(o) if e["kind"] == "reentry"][0]
    check("prerequisite" in entry["data"]["trigger"] and entry["data"]["evidence"], entry)
    holds(o)


@case
def a_failure_backs_off_and_why_tells_it():  # O-50, O-51, O-52
    o = create(intent("sys.exit(3)", **{"with": {"pace": {"base": "1h", "min": "1h", "max": "2h"}}}))
    same(cycle(o)["outcome"]["kind"], "failure")
    answer = cycle(o)
    same((answer["action"], answer["reason"]), ("dormancy", "backoff"), answer)
    text = lethe("object", "why", o).out.decode()
    check("failure" in text and "exit code 3" in text and "backoff" in text and "wakes: when the clock is at 20" in text, text)
    same(cycle(o)["action"], "none")
    lethe("object", "end", o)


@case
def an_input_advises_and_decides_nothing():  # O-44, O-47
    o = create({"do": {"wait": {"elapsed": {"for": "1h"}}}})
    cycle(o)
    same(lethe("object", "input", o, "I am certain: terminate", "--from", "model").code, 0)
    entry = history(o)[-1]
    same((entry["kind"], entry["data"]["from"], entry["data"]["input"], entry["state"]), ("input", "model", "I am certain: terminate", "dormant"))
    same(cycle(o)["action"], "none")
    same(lethe("object", "end", o, "--reason", "no longer wanted").code, 0)
    same((history(o)[-1]["data"]["reason"], show(o)["state"]), ("no longer wanted", "terminated"))


@case
def a_cancelled_cycle_leaves_an_interrupted_execution():  # O-36, O-38
    for signum in (signal.SIGTERM, signal.SIGINT):
        before = total()
        o = create(intent("add(); time.sleep(600)"))
        p = start(o)
        runs(p)
        p.send_signal(signum)
        code, out, err = end(p)
        same(code, 128 + signum, out, err)
        same((json.loads(out)["outcome"]["kind"], total()), ("interrupted", before), out, err)
        same(show(o)["state"], "evaluation")
        lethe("object", "end", o)
        holds(o)


@case
def a_killed_cycle_has_its_effect_once():  # O-36, O-37, O-38
    for i in range(KILLS):
        before = total()
        o = create(intent("add(); time.sleep(0.05 * %d)" % (i % 4), **{"with": {"pace": {"base": "1ms", "min": "10ms", "max": "10ms"}}}))
        p = start(o)
        wait_for(lambda: p.poll() is not None or "started" in kinds(o), "the execution has begun")
        if i % 2:
            wait_for(lambda: p.poll() is not None or any(name == "python3" for _, name in processes_below(p.pid)), "the skill runs")
        time.sleep(i % 10 * 0.004)
        p.kill()
        end(p)
        for _ in range(64):
            if show(o)["state"] == "terminated":
                break
            cycle(o)
        entries = history(o)
        same(entries[-1]["kind"], "terminated", i, entries)
        same([e["kind"] for e in entries].count("instantiated"), 1)
        same(total(), before + 1, "round %d: the effect once" % i, entries)
        same(len([e for e in entries if e["kind"] == "started"]), len([e for e in entries if e["kind"] == "outcome"]))
        holds(o)


@case
def an_object_that_ends_during_its_execution_keeps_no_effect():  # O-35, O-38, O-43, O-46
    before = total()
    o = create(intent("add(); sys.stdout.flush(); time.sleep(2)"))
    p = start(o)
    runs(p)
    same(lethe("object", "end", o).code, 0)
    code, out, err = end(p)
    same((code, json.loads(out)["error"]["code"]), (1, "conflict"), out, err)
    same((total(), kinds(o)[-1]), (before, "terminated"))
    holds(o)


@case
def two_processes_have_one_execution():  # O-43, O-53
    before = total()
    o = create(intent("add(); time.sleep(1)"))
    both = [start(o), start(o)]
    answers = [json.loads(end(p)[1]) for p in both]
    same(sorted(a["action"] for a in answers), ["execution", "none"], answers)
    same([a["reason"] for a in answers if a["action"] == "none"], ["running"])
    same(total(), before + 1)
    same(kinds(o).count("started"), 1)
    holds(o)


@case
def a_performer_that_stands_still_is_alive():  # O-38, O-43
    before = total()
    python_skill("heavy", LAB, slots=SLOTS, reads=["total"], writes=["total"])
    with open(os.path.join(DIR, "heavy", "data"), "wb") as f:  # the look at its files makes the time before the region long
        f.truncate(96 << 20)
    same(lethe("skill", "add", os.path.join(DIR, "heavy")).code, 0)
    o = create(intent("add()", skill="heavy"), dict(TOTAL, skills=["heavy"]))
    p = start(o)
    wait_for(lambda: p.poll() is not None or "started" in kinds(o), "the execution has begun")
    p.send_signal(signal.SIGSTOP)  # before its region is recorded, or after: nobody else may take the execution for dead
    try:
        stopped = kinds(o)[-1] == "started"
        print("# stopped %s" % ("after the end" if not stopped else "with a region" if any(e.get("object") == o for e in log("--type", "region.allocated")) else "before the region"), flush=True)
        answer = cycle(o) if stopped else {"action": "none", "reason": "running"}
        same((answer["action"], answer["reason"]), ("none", "running"), answer)
        same(lethe("object", "why", o, "--json").code, 0)
        same(kinds(o).count("outcome"), 0 if stopped else 1)
    finally:
        p.send_signal(signal.SIGCONT)
    code, out, err = end(p)
    same((code, json.loads(out)["outcome"]["kind"], total()), (0, "success", before + 1), out, err)
    lethe("object", "end", o)
    holds(o)


@case
def many_processes_drain_one_set():  # O-43, O-53
    before = total()
    # two regions at once do not hold one slot: who comes second fails, and tries again
    objects = [create(intent("add()", **{"with": {"pace": {"base": "1ms", "min": "10ms", "max": "10ms"}}})) for _ in range(6)]
    all_ = [subprocess.Popen([LETHE, "object", "run", "--due", "--json"], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for p in all_:
        out, err = p.communicate(timeout=240)
        same(p.returncode, 0, out, err)
    wait_for(lambda: drain() or all(show(o)["state"] == "terminated" for o in objects), "all have ended")
    for o in objects:
        entries = history(o)
        same([e["outcome"]["kind"] for e in entries if e["kind"] == "outcome"].count("success"), 1, entries)
        same([e["kind"] for e in entries].count("started"), [e["kind"] for e in entries].count("outcome"), entries)
    same(total(), before + 6)
    holds()


@case
def run_has_at_most_as_many_cycles_as_asked():  # O-32
    objects = [create(intent("pass")) for _ in range(3)]
    r = lethe("object", "run", "--due", "--most", "2", "--json")
    same((r.code, r.out.count(b"\n")), (0, 2), r)
    drain()
    same([show(o)["state"] for o in objects], ["terminated"] * 3)
    same(lethe("object", "run", "--due", "--json").out, b"")


@case
def the_output_of_the_skill_is_not_the_verb_s():  # O-21
    o = create(intent("print('loud'); sys.stderr.write('louder')", **{"until": "never", "with": {"rest": {"elapsed": {"for": "1s"}}}}))
    r = lethe("object", "cycle", o, "--json")
    check(b"loud" not in r.out + r.err, r)
    same(json.loads(r.out)["outcome"]["kind"], "success")
    lethe("object", "end", o)
    o = create(intent("print('loud'); sys.stderr.write('louder')"))
    r = lethe("object", "cycle", o, "--json", "--verbose")
    check(b"loud" not in r.out and b"loud" in r.err and b"louder" in r.err, r)
    o = create({"do": {"skill": "lab", "args": ["lethe.result(sys.stdin.read())"], "input": "two\nlines"}})
    same(cycle(o)["outcome"]["value"], "two\nlines")


@case
def a_file_proves_itself_without_a_store():  # O-7, O-39, O-40, O-41
    o = create(intent("lethe.result(1)"))
    cycle(o)
    path = os.path.join(DIR, "bundle")
    same(lethe("object", "export", o, path).code, 0)
    away = {"LETHE_STORE": os.path.join(DIR, "nowhere")}
    r = lethe("object", "verify", path, "--json", env=away)
    told = json.loads(r.out)
    same((r.code, told["holds"], told["object"], int(told["entries"])), (0, True, o, 4), r)
    check(not os.path.exists(away["LETHE_STORE"]))
    with open(path, "rb") as f:
        text = f.read()
    lines = text.splitlines(True)
    for name, wrong in (("a letter", text.replace(b"success", b"successs", 1)), ("cut", b"".join(lines[:-2])), ("reordered", b"".join(lines[:7] + lines[8:6:-1] + lines[9:])),
                        ("empty", b""), ("a newer version", text.replace(b"lethe-object/1", b"lethe-object/2", 1))):
        with open(path + "-wrong", "wb") as f:
            f.write(wrong)
        r = lethe("object", "verify", path + "-wrong", env=away)
        same(r.code, 1, name, r)
        check(len(r.err) > 20, name, r)
    r = lethe("object", "verify", path + "-none", env=away)
    check(r.code == 2 and b"-none' is neither a file nor an object's id" in r.err, r)
    same(lethe("object", "verify", o, env=away).code, 2)
    r = lethe("object", "import", path, "--json")
    same((r.code, json.loads(r.out)["how"]), (0, "equal"), r)
    lethe("object", "end", o)


@case
def a_moved_object_goes_on_elsewhere():  # O-13, O-36, O-39
    o = create({"do": {"steps": [{"wait": {"elapsed": {"for": "1ms"}}}, {"wait": {"elapsed": {"for": "1h"}}}]}}, {"skills": []})
    cycle(o)
    path, there = os.path.join(DIR, "moved"), {"LETHE_STORE": os.path.join(DIR, "elsewhere")}
    same(lethe("object", "export", o, path, "--move").code, 0)
    r = lethe("object", "cycle", o, "--json")
    same((r.code, json.loads(r.out)["error"]["code"]), (1, "not_eligible"), r)
    check(b"away" in r.err, r)
    r = lethe("object", "import", path, "--json", env=there)
    same((r.code, json.loads(r.out)["how"], json.loads(r.out)["eligible"]), (0, "new", False), r)  # O-9: nobody trusts that key yet
    key = [k for k in json.loads(lethe("object", "trust", "--json").out)["keys"] if k["state"] == "own"][0]["vkey"]
    check(key in lethe("object", "why", "--last", env=there).out.decode())  # the key to compare
    line = next(x for x in lethe("object", "trust").out.decode().splitlines() if x.startswith("own"))
    same(lethe("object", "trust", line, env=there).code, 0)  # a line as it was listed
    r = lethe("object", "cycle", o, "--json", env=there)
    same(r.code, 0, r)
    check(json.loads(r.out)["action"] in ("reentry", "none"), r)
    same(lethe("object", "trust", key, "--revoke", env=there).code, 0)
    r = lethe("object", "cycle", o, "--json", env=there)
    same((r.code, json.loads(r.out)["error"]["code"]), (1, "not_eligible"), r)


NEWCOMER = [  # (words, exit code, what the message says)
    ([], 2, "which action"),
    (["begin"], 2, "no action of the verb"),
    (["create"], 2, "--intent"),
    (["create", "--intent", "/nowhere"], 2, "/nowhere"),
    (["create", "x.json"], 2, "extra"),
    (["cycle"], 2, "OBJECT"),
    (["cycle", "my-job"], 2, "my-job"),
    (["cycle", "0" * 26], 1, "no_object"),
    (["why", "0" * 26], 1, "no_object"),
    (["show", "0" * 26], 1, "no_object"),
    (["history", "0" * 26], 1, "no_object"),
    (["end", "0" * 26], 1, "no_object"),
    (["input", "0" * 26, "x"], 1, "no_object"),
    (["export", "0" * 26, "/dev/null"], 1, "no_object"),
    (["verify", "0" * 26], 2, "no_object"),
    (["adopt", "0" * 26, "ab"], 1, "no_object"),
    (["run"], 2, "--due"),
    (["run", "--due", "--most", "0"], 2, "--most"),
    (["list", "--state", "asleep"], 2, "asleep"),
    (["trust", "--revoke"], 2, "VKEY"),
    (["trust", "no key"], 1, "key"),
    (["export", "0" * 26, "-", "--move"], 2, "FILE"),
    (["show", "0" * 26, "--due"], 2, "--due"),
    (["show", "--last", "0" * 26], 2, "extra"),
    (["list", "--last"], 2, "--last"),
    (["why", "zzz"], 1, "beginning"),
    (["create", "--intent", '{"do":{"skill":"lab"}}', "--scope", '{"writes":"total"}'], 1, 'scope.writes: "total"'),
    (["create", "--intent", '{"do":{"skill":"lab"}}', "--scope", '["total"]'], 2, "neither a file nor"),
    (["create", "--intent", '{"do":{"skill":"lab"}}', "--meta", "ticket"], 2, "neither a file nor"),
]


@case
def mistakes_of_a_newcomer_are_explained():
    for words, code, message in NEWCOMER:
        r = lethe("object", *words)
        same(r.code, code, words, r)
        check(message in r.err.decode(), words, r)
        r = lethe("object", *words, "--json")
        check(json.loads(r.out)["error"]["message"], words, r)


@case
def an_object_by_the_beginning_of_its_id_and_as_the_last():  # O-33
    older = create(intent("pass"))
    parent = create({"do": {"delegate": [intent("pass"), intent("sys.exit(3)")]}}, dict(TOTAL, depth=1))
    same(cycle("--last")["action"], "delegation")
    same(show("--last")["object"], parent)  # children are younger
    unique = next(parent[:n] for n in range(1, 27) if not older.startswith(parent[:n]) and lethe("object", "show", parent[:n]).code == 0)
    same(show(unique)["object"], parent)
    check(older in lethe("object", "show", older[:4], "--json").err.decode() or "more than 4" in lethe("object", "show", older[:4]).err.decode())
    drain()
    text = lethe("object", "why", "--last").out.decode()
    for child in (o["object"] for o in json.loads(lethe("object", "list", "--json").out)["objects"] if o.get("parent") == parent):
        told = json.loads(lethe("object", "why", child, "--json").out)["tried"][0]
        status = "success" if told["outcome"]["kind"] == "success" else show(child)["state"]
        check("child: %s  %s\n" % (child, status) in text, text)
        if status != "success":  # a way from the object to the region
            line = lethe("object", "why", child).out.decode()
            check("failure" in line and "`lethe why %s` tells more" % told["region"] in line, line)
            check("region " + told["region"] in lethe("object", "history", child).out.decode())
    same(lethe("object", "input", "--last", "the first line\nand another", "--from", "me").code, 0)
    check("me: the first line …" in lethe("object", "history", "--last").out.decode())
    same(lethe("object", "verify", "--last").code, 0)
    same(lethe("object", "end", "--last").code, 0)
    same(show(parent)["state"], "terminated")
    holds(parent)


def mount_small(place):
    libc = ctypes.CDLL(None, use_errno=True)
    os.makedirs(place)
    same(libc.unshare(0x20000), 0)  # CLONE_NEWNS
    same(libc.mount(b"none", b"/", None, 0x44000, None), 0)  # MS_REC | MS_PRIVATE
    same(libc.mount(b"none", place.encode(), b"tmpfs", 0, b"size=12m"), 0)


def fill(path, room):
    with open(path, "wb", buffering=0) as f:
        try:
            while f.write(b"x" * 4096):
                pass
        except OSError:
            pass
        f.truncate(max(0, os.fstat(f.fileno()).st_size - room))


@case_when(ROOT)
def a_full_disk_in_the_middle_of_a_cycle_loses_nothing():  # O-14, O-36, O-38
    place = os.path.join(DIR, "small")
    mount_small(place)
    there = {"LETHE_STORE": place + "/store", "LETHE_ANCHOR": place + "/anchor"}
    same(lethe("skill", "add", os.path.join(DIR, "lab"), env=there).code, 0)
    path = os.path.join(DIR, "small.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(intent("add()", **{"with": {"pace": {"base": "1ms", "min": "10ms", "max": "10ms"}}}), f)
    codes = set()
    for i, room in enumerate((0, 4, 8, 16, 24, 40, 64, 100, 200, 400)):
        r = lethe("object", "create", "--intent", path, "--scope", json.dumps(TOTAL), env=there)
        same(r.code, 0, r)
        o = r.out.decode().strip()
        fill(place + "/fill", room * 1024)
        r = lethe("object", "cycle", o, env=there)
        codes.add(r.code)
        check(r.code in (0, 1, 4) and b"damaged" not in r.err, room, r)
        os.unlink(place + "/fill")
        for _ in range(64):
            if json.loads(lethe("object", "show", o, "--json", env=there).out)["state"] == "terminated":
                break
            r = lethe("object", "cycle", o, "--json", env=there)
            same(r.code, 0, room, r)
        same(json.loads(lethe("slot", "get", "total", "--json", env=there).out)["value"], i + 1, room)
        for what in (("verify",), ("audit",), ("object", "verify", o)):
            r = lethe(*what, env=there)
            same(r.code, 0, what, room, r)
    check(4 in codes, codes)
    same(ctypes.CDLL(None).umount2(place.encode(), 2), 0)  # MNT_DETACH


@case
def the_documentation_says_what_objects_are_not():  # O-55
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    for name in ("supervisor/front/cli/man/lethe-object.1.scd", "schema/object.md"):
        with open(os.path.join(top, name), encoding="utf-8") as f:
            text = f.read().lower().split("limits\n")[-1].split("\n# ")[0]
        for limit in ("replay", "no order", "nodes", "file brings", "key"):
            check(limit in text, name, limit)


@case
def nothing_is_left_of_all_that():  # I-28
    holds()
    same(lethe("ps", "--json").code, 0)
    check(STORE)


main()
