#!/usr/bin/python3
"""Three agents over ten turns on a project: a ferry line whose ticket service pays refunds twice. Each agent is a session, and each turn acts on what it reads in its
region alone: kernels, shared belief, the notes of its run and their fate, what waits. An issue comes back, an old word about it must not end it, an advisor lies,
two constraints contradict each other. Each turn is checked: what the agent saw, what it did, and what shared belief became. TAP.

usage: story.py LETHE root|user
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, case, check, lethe, log, main, python_skill, run, same  # noqa: E402

os.chmod(DIR, 0o755)

# One program for the three: what it does follows from what it reads, and from what somebody told it. It says what it saw, for the test.
AGENT = r'''import json, sys
import lethe

role, heard = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
context = lethe.context_read()
belief = context["belief"]
rows = {bucket: {row["id"]: row for row in belief.get(bucket, [])} for bucket in ("issues", "decisions", "constraints", "results", "task_state")}
mine, waits = lethe.note_list().notes, lethe.pending_list().items
did = []


def note(text):
    lethe.note_add(text)
    did.append(text.split(":")[0])


def words(text):
    return {w.strip(".,").lower() for w in text.split() if len(w) > 4}


def ended_by_me(issue):
    return any(n["outcome"] == "committed" and n.get("operation") == "resolve" and n.get("id") == issue for n in mine)


def planner():
    if "plan" not in belief:
        service = [s for s in lethe.kernel_read("world", section="services").rules if s["predicate"] == "pays refunds through"][0]
        note("plan: " + heard)
        note("issue refund_twice: %s pays a refund twice through %s" % (service["subject"], service["object"]))
        note("constraint keys_stay: refund keys must be kept for a week")
    elif heard:
        note("issue payout_twice: " + heard)
    elif not rows["issues"] and any(r["payload"].get("outcome") == "passed" for r in rows["results"].values()):
        note("learning keys_outlive_retries: a key has to outlive the retries")
        note("plan: done, no issue is open")


def builder():
    for issue in sorted(rows["issues"]):
        if ended_by_me(issue) and "keys_for_a_week" not in rows["decisions"]:
            note("decision keys_for_a_week: refund keys are kept for a week\nwhy: %s came back" % issue)
        elif not rows["decisions"]:
            note("decision use_keys: a refund carries a key\nwhy: " + rows["issues"][issue]["payload"]["title"])
            note("resolve payout_twice: payouts carry a key")  # there is no such issue yet: it waits
        elif any(r.get("disputed") for r in rows["constraints"].values()):
            return  # what to build is not clear: somebody has to decide first
        else:
            note("resolve %s: %s" % (issue, sorted(r["payload"]["decision"] for r in rows["decisions"].values())[0]))
    if did and did[-1].startswith("resolve") and len(rows["decisions"]) > 1:
        note("result: 200 retries, none is paid twice\noutcome: passed")


def reviewer():
    if heard.startswith("seen:"):  # which issue is it? the one that is over and shares the most words
        over = lethe.canon_read(bucket="issues", state="resolved").rows
        best = max(over, key=lambda r: len(words(r["payload"]["title"]) & words(heard)))
        note("issue %s: %s" % (best["id"], heard[5:].strip()))
    elif heard:
        note(heard)


{"planner": planner, "builder": builder, "reviewer": reviewer}[role]()
print(json.dumps({"did": did, "issues": sorted(rows["issues"]), "decisions": sorted(rows["decisions"]), "withheld": [x["tier"] for x in context["withheld"]],
                  "disputed": sorted(i for i, r in rows["constraints"].items() if r.get("disputed")), "core": [r["id"] for r in context["core"]],
                  "fates": [[n["text"].split(":")[0], n["outcome"]] for n in mine], "waits": [[w["note"].split(":")[0], w["now"]["reason"]] for w in waits]}))
'''
# An advisor that says of each note that it ends the issue.
LIAR = r'''import json, sys
sys.stdin.readline()
print(json.dumps({"decision": "accept", "bucket": "issues", "operation": "resolve", "target_id": "refund_twice", "payload": {"resolution": "it is over"}, "confidence": 1}))
'''
GRANTS = {"session": {"sections": {}}, "notes": {"scope": "ferry", "read": True}, "canon": {"scope": "ferry"}}
python_skill("planner", AGENT, kernels={"scope": "ferry"}, **GRANTS)
python_skill("builder", AGENT, **GRANTS)
python_skill("reviewer", AGENT, **GRANTS)
python_skill("liar", LIAR)
python_skill("stranger", """import lethe
for read in (lethe.context_read, lethe.note_list, lethe.pending_list, lethe.canon_read, lambda: lethe.kernel_read("world"), lambda: lethe.context_read(scope="ferry")):
    try:
        print(read())
    except lethe.LetheError as e:
        print(e.code)
""")
same(lethe("scope", "create", "ferry").code, 0)
same(lethe("kernel", "state", "world", "tickets-refunds", "the ticket service", "pays refunds through", "PayFerry", "--section", "services", "--source", "the contract of 2025",
           "--base", "1", "--scope", "ferry").code, 0)
agents = {}
for name in ("planner", "builder", "reviewer"):
    opened = lethe("session", "open", name, "--json")
    same(opened.code, 0, opened)
    agents[name] = json.loads(opened.out)["session"]


def turn(name, heard="", advisor=None):
    """A turn of the agent, and the promotion of what it noted: what it said."""
    r = lethe("session", "turn", agents[name], "--", name, heard)
    same(r.code, 0, r)
    saw = json.loads(r.out)
    if saw["did"]:
        p = lethe("promote", *(("--advisor", advisor) if advisor else ()), agents[name])
        same(p.code, 0, p)
    return saw


def belief(bucket):
    r = lethe("canon", "list", "--scope", "ferry", "--bucket", bucket, "--json")
    same(r.code, 0, r)
    return {row["id"]: row for row in json.loads(r.out)["rows"]}


def states(bucket):
    return {i: r["state"] for i, r in belief(bucket).items()}


@case
def one_the_planner_reads_its_world():  # M-68 G-73: the issue names what a statement of the kernel says
    saw = turn("planner", "refunds of tickets are paid once")
    same((saw["core"], saw["did"], saw["withheld"]), (["tickets-refunds"], ["plan", "issue refund_twice", "constraint keys_stay"], ["memory", "knowledge", "skill"]))
    same(states("issues"), {"refund_twice": "open"})
    check("the ticket service pays a refund twice through PayFerry" in belief("issues")["refund_twice"]["payload"]["title"])


@case
def two_the_builder_decides():  # G-73: it has no kernels, and sees the planner's issue, not the planner's notes
    saw = turn("builder")
    same((saw["issues"], saw["fates"], saw["core"], saw["withheld"][0]), (["refund_twice"], [], [], "core"))
    same(saw["did"], ["decision use_keys", "resolve payout_twice"])
    same((states("decisions"), states("issues")), ({"use_keys": "active"}, {"refund_twice": "open"}))


@case
def three_the_builder_knows_what_became_of_its_notes():  # G-75: the turn before was another region of the same run
    saw = turn("builder")
    same(saw["fates"], [["decision use_keys", "committed"], ["resolve payout_twice", "pending"]])
    same([w[0] for w in saw["waits"]], ["resolve payout_twice"])
    same((saw["did"], states("issues")), (["resolve refund_twice"], {"refund_twice": "resolved"}))


@case
def four_the_issue_comes_back():  # G-62: the same row is open again, in another incarnation
    before = belief("issues")["refund_twice"]["version"]
    saw = turn("reviewer", "seen: a refund of the ticket service was paid twice again, an hour later")
    same((saw["issues"], saw["did"]), ([], ["issue refund_twice"]))
    now = belief("issues")["refund_twice"]
    same((now["state"], now["version"] > before), ("open", True))


@case
def five_an_issue_that_an_old_word_is_about():  # G-62: said before the row was there, so that it ends nothing
    saw = turn("planner", "payouts to harbours are paid twice, too")
    same(saw["did"], ["issue payout_twice"])
    same(states("issues"), {"refund_twice": "open", "payout_twice": "open"})


@case
def six_the_builder_sees_that_its_end_was_none():  # G-64 G-73: by the fate of its own notes and the row that is open again
    saw = turn("builder")
    check(["resolve refund_twice", "committed"] in saw["fates"], saw)
    same(saw["waits"], [["resolve payout_twice", "other_incarnation"]])
    same((saw["issues"], saw["did"][:2]), (["payout_twice", "refund_twice"], ["resolve payout_twice", "decision keys_for_a_week"]))
    check("resolve refund_twice" not in saw["did"], saw)
    same(states("issues"), {"refund_twice": "open", "payout_twice": "resolved"})  # by the note of now, that names what is there


@case
def seven_an_advisor_lies():  # G-65: the note says nothing of the kind
    turn("reviewer", "What a nice day, I had lunch.", advisor="liar")
    same(states("issues")["refund_twice"], "open")
    items = json.loads(lethe("pending", "list", "--scope", "ferry", "--json").out)["items"]
    same([i["reason"] for i in items if i["run"] == agents["reviewer"]], ["uncorroborated"])


@case
def eight_the_reviewer_contradicts():  # G-73: and sees that its lunch waits; nobody else does
    saw = turn("reviewer", "constraint keys_go: refund keys must not be kept for a week")
    same(saw["waits"], [["What a nice day, I had lunch.", "uncorroborated"]])
    same(states("constraints"), {"keys_stay": "active", "keys_go": "active"})
    held = turn("builder")  # G-69: it sees that two rows say opposite things, and builds nothing on either
    same((held["disputed"], held["did"], held["issues"]), (["keys_go", "keys_stay"], [], ["refund_twice"]))
    same([w[0] for w in held["waits"]], ["resolve payout_twice"])


@case
def nine_the_builder_ends_what_is_open():
    same(lethe("pending", "drop", [str(i["pending"]) for i in json.loads(lethe("pending", "list", "--scope", "ferry", "--json").out)["items"] if i["run"] == agents["reviewer"]][0],
               "--reason", "lunch is no fix").code, 0)
    same(lethe("canon", "settle", "constraints/keys_go", "--keep", "constraints/keys_stay", "--scope", "ferry").code, 0)
    same(turn("builder")["did"], ["resolve refund_twice", "result"])
    same((set(states("issues").values()), states("constraints")), ({"resolved"}, {"keys_stay": "active", "keys_go": "invalidated"}))
    same([r["payload"]["outcome"] for r in belief("results").values()], ["passed"])
    same(turn("reviewer")["waits"], [])


@case
def a_stranger_sees_nothing_of_it():  # G-73: without a grant
    r = run("stranger")
    same((r.code, r.out.split()), (0, [b"not_granted"] * 6), r)


@case
def ten_the_planner_is_done():
    saw = turn("planner")
    same((saw["issues"], saw["did"]), ([], ["learning keys_outlive_retries", "plan"]))
    same(belief("plan")["main"]["payload"]["content"], "done, no issue is open")


@case
def all_of_it_can_be_shown():  # I-77: who read whose notes; G-13: the tables follow from the ledger
    by = {name: sorted({e["region"] for e in log("--type", "note.read") if e["run"] == agents[name]}) for name in agents}
    check(all(by.values()), by)
    for name in agents:
        for e in log("--type", "note.read"):
            if e["run"] == agents[name]:
                others = {span["by"] for span in e["notes"]} & {r for n in agents if n != name for r in by[n]}
                same(others, set(), name)
    for name in agents:
        same(lethe("session", "close", agents[name]).code, 0)
    same([lethe(verb).code for verb in ("verify", "audit", "rebuild", "verify")], [0, 0, 0, 0])


main()
