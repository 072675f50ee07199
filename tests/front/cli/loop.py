#!/usr/bin/python3
"""The cognitive loop around the skill of a session, from outside: what a turn observes, what the skill gets, what the next turn has of it. TAP.

usage: loop.py LETHE root|user
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

from account import use

use(sys.argv[2])
from tap import DIR, ENV, LETHE, alone, case, check, lethe, log, main, python_skill, same, wait_for  # noqa: E402

KILLS = int(os.environ.get("LETHE_TEST_KILLS", "8"))  # 500 for a long run
ROLE = {"goal": "Restore the gateway", "constraints": ["Never restart the primary database."]}
AGENT = """import json, os, sys, time
import lethe
s = lethe.ccs_read()
def refused(fn, *a, **kw):
    try:
        return fn(*a, **kw)
    except lethe.LetheError as e:
        return e.code
if "Hang" in s.input:
    print("Hanging.", flush=True)
    time.sleep(600)
"""
LOG = "".join("2026-03-01T10:%02d:%02d gw7 upstream timeout request=%08x status=504\n" % (i // 60, i % 60, i * 2654435761 % 2 ** 32) for i in range(400))
os.chmod(DIR, 0o755)


def agent(name, code, **session):
    cognition = session.pop("cognition", {"role": json.dumps(ROLE)})
    python_skill(name, AGENT + code, session=dict({"cognition": cognition}, **session))


def open_(name, code=0):
    r = lethe("session", "open", name, "--json")
    same(r.code, code, r)
    return json.loads(r.out)["session"] if code == 0 else r


def turn(s, text, *options, code=0):
    r = lethe("session", "turn", *options, s, "--", *text.split(" "))
    same(r.code, code, r)
    return r.out.decode(errors="replace")


def start(s, text):
    return subprocess.Popen([LETHE, "session", "turn", s, "--", text], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def close(s):
    r = lethe("session", "close", s)
    same(r.code, 0, r)


def ccs(verb, s, *argv, say=None, code=0):
    p = subprocess.run([LETHE, "ccs", verb, "ccs-" + s, *argv, "--json"], env=ENV, text=True, timeout=120, input=None if say is None else json.dumps(say),
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    same(p.returncode, code, (verb, p.stdout[-500:], p.stderr[-500:]))
    return json.loads(p.stdout)


def history(s):
    return [(t["turn"], t.get("undecided")) for t in ccs("history", s)["turns"]]


def field(text, name):
    lines = text.split("\n")
    at = next(i for i, l in enumerate(lines) if l.startswith(name + ":"))
    found = [lines[at].split(":", 1)[1].strip()]
    for l in lines[at + 1:]:
        if not l.startswith(" "):
            break
        found.append(l.strip())
    return [l for l in found if l]


def holds():
    for verb in ("verify", "audit"):
        r = lethe(verb)
        same(r.code, 0, r)
    r = lethe("rebuild")
    check(r.code == 0 and b" 0 rows differed" in r.out, r)


agent("talk", """
if "Fail" in s.input:
    lethe.ccs_tool("nothing of this turn is kept xyzzy")
    sys.exit(3)
print(s.turn, s.input)
print(json.dumps(s.ccs))
if "Probe" in s.input:
    lethe.ccs_tool("the lag of db1 is 3 s", "probe")
""")


@case
def the_state_is_committed_before_the_skill_runs():  # C-1, C-3, C-34, C-39, C-41
    s = open_("talk")
    zero = ccs("show", s)
    same((zero["turn"], field(zero["ccs"], "constraints")), (0, ["must_not(operator, restart primary database)"]))
    for i, text in enumerate(("Probe the lag of db1 in Concord.", "Never touch db2.", "And the lag of db1?"), 1):
        out = turn(s, text).split("\n")
        same(out[0], "%d %s" % (i, text))
        same(json.loads(out[1]), ccs("show", s)["ccs"])  # what the skill had is what was committed
    state = ccs("show", s)
    check(any("db2" in c for c in field(state["ccs"], "constraints")) and len(field(state["ccs"], "constraints")) == 2, state)
    same(history(s), [(0, None), (1, None), (2, None), (3, None)])
    events = log("--session", s)
    turns = [e for e in events if e["type"] == "region.allocated" and e.get("turn")]
    saved = [t["seq"] for t in ccs("history", s)["turns"]]
    same(len(saved), 4)
    for e, at in zip(turns, saved[1:]):
        ended = [x["seq"] for x in log("--region", e["region"]) if x["type"] == "invocation.ended"][0]
        check(e["seq"] < at < ended, e, at)
    close(s)
    holds()


@case
def decision_and_tools_are_evidence_of_the_next_turn():  # C-20, C-34, C-35
    s = open_("talk")
    turn(s, "Probe the lag of db1 in Concord.")
    turn(s, "What is the lag of db1?")
    evidence = {e["id"]: e for e in ccs("show", s)["evidence"]}
    check(evidence["out1_1"]["label"] == "probe" and evidence["out1_1"]["source"] == "tool" and evidence["out1_1"]["qualified"], evidence)
    check("probe(out1_1@1)" in field(ccs("show", s)["ccs"], "retrieved_artifacts"), evidence)
    close(s)


@case
def older_states_and_evidence_are_out_of_the_skills_reach():  # C-1, C-2, C-36
    agent("spy", """
print(json.dumps([refused(lethe._pipe.call, "ccs.read", {"turn": 0}), refused(lethe._pipe.call, "ccs.show", {}), refused(lethe.memory_load, "ccs", "state"),
                  refused(lethe.memory_search, "lag"), refused(lethe.memory_history, "evidence", "in1"), sorted(lethe._pipe.call("ccs.read", {}))]))
""")
    s = open_("spy")
    turn(s, "Look at the lag.")
    got = json.loads(turn(s, "And again."))
    same(got, ["invalid_params", "unknown_method", "not_granted", "not_granted", "not_granted", ["ccs", "input", "turn"]])
    close(s)
    python_skill("alien", AGENT.split("s = lethe")[0] + """
for fn in (lethe.ccs_read, lambda: lethe.ccs_tool("x")):
    try:
        fn()
    except lethe.LetheError as e:
        print(e.code)
""", session={})
    s = open_("alien")
    same(turn(s, "x"), "not_granted\nnot_granted\n")
    close(s)
    same(lethe("run", "alien").out, b"not_granted\nnot_granted\n")


@case
def a_turn_that_fails_has_no_decision_and_the_session_goes_on():  # C-41, I-86
    s = open_("talk")
    turn(s, "Look at db1.")
    turn(s, "Fail on db1.", code=3)
    turn(s, "Hang on db1.", "--timeout", "1s", code=124)
    turn(s, "Look at db1 again.")
    same(history(s), [(0, None), (1, None), (2, None), (3, 2), (4, 3)])
    with open(os.path.join(ENV["LETHE_STORE"], "data.mdb"), "rb") as f:
        check(b"xyzzy" not in f.read())
    check(not any(e["id"] in ("said2", "said3", "out2_1") for e in ccs("show", s)["evidence"]), ccs("show", s))
    close(s)
    holds()


@case
def nobody_else_drives_the_turns():  # C-36, C-37
    s = open_("talk")
    turn(s, "Look at db1.")
    before = ccs("show", s)
    for _ in range(2):
        same(ccs("turn", s, say={"input": "x"}, code=1)["error"]["code"], "driven")
        same(ccs("decide", s, say={"decision": "x"}, code=1)["error"]["code"], "driven")
        same(ccs("show", s), before)
        lethe("session", "close", s)  # both end; what was is there for the auditor
    same(lethe("session", "turn", s, "--", "x").code, 125)
    same(lethe("scope", "delete", "ccs-" + s).code, 0)
    same(ccs("show", s, code=1)["error"]["code"], "no_session")
    holds()


@case
def clients_at_once_take_their_turns_one_after_the_other():  # C-37, I-85
    s = open_("talk")
    many = [start(s, "Look at host h%d." % i) for i in range(6)]
    same(sorted(int(p.communicate()[0].split()[0]) for p in many), [1, 2, 3, 4, 5, 6])
    same(history(s), [(i, None) for i in range(7)])
    close(s)


@case
def outputs_of_any_kind_are_bounded_decisions():  # C-35
    agent("noise", """
kind = s.input.split()[0]
if kind == "Long":
    sys.stdout.write("\\u20ac" * 200000)
elif kind == "Bytes":
    sys.stdout.buffer.write(bytes(range(256)))
elif kind == "Tools":
    print(len([lethe.ccs_tool("x" * 1000) for _ in range(64)]), refused(lethe.ccs_tool, "x"), file=sys.stderr)
elif kind == "Large":
    print(refused(lethe.ccs_tool, "x" * 262145), [refused(lethe.ccs_tool, "x" * 262144) for _ in range(5)][-1], file=sys.stderr)
""")
    s = open_("noise")
    same(turn(s, "Long one."), "\u20ac" * 200000)  # the client has all of it
    turn(s, "Bytes one.")
    r = lethe("session", "turn", s, "--", "Tools", "one.")
    same((r.code, r.out, r.err), (0, b"", b"64 too_many\n"))
    r = lethe("session", "turn", s, "--", "Large", "one.")
    same((r.code, r.err), (0, b"too_large too_large\n"))
    turn(s, "Nothing here.")
    turn(s, "The end.")
    same(history(s), [(i, None) for i in range(6)] + [(6, 5)])  # no output and no tool: no decision
    close(s)
    holds()


@case
def a_state_beyond_the_bound_refuses_the_turn():  # C-33
    agent("tight", "print(s.turn)", cognition={"role": json.dumps(dict(ROLE, bound={"bytes": 330, "tokens": 90}))})
    s = open_("tight")
    n = 0
    while lethe("session", "turn", s, "--", "Never touch host db%d-prodprod." % n).code == 0:
        n += 1
    r = lethe("session", "turn", s, "--", "Never touch host db99-prodprod.")
    check(r.code == 125 and b"over_budget" in r.err, r)
    same(ccs("show", s)["turn"], n)
    check(any(e["type"] == "mutation.refused" and e.get("code") == "over_budget" for e in log()))
    same(turn(s, "Look."), "%d\n" % (n + 1))
    close(s)
    holds()


COMPRESSOR = """import json, sys, time, os
told = json.loads(sys.stdin.readline())
if "Wait" in told["input"]["text"]:
    time.sleep(600)
keep = told["keep"]
if "Lie" in told["input"]["text"]:
    keep["constraints"] = []
print(json.dumps({"ccs": "episodic_trace:\\nsemantic_gist: check(gateway)\\nfocal_entities:\\n service(gateway)\\nrelational_map:\\ngoal_orientation: %s\\nconstraints:\\n%s"
    "predictive_cue:\\n look(gateway)\\nuncertainty_signal:\\n level(low)\\nretrieved_artifacts:\\n"
    % (" & ".join(keep["goal_orientation"]), "".join(" %s\\n" % c for c in keep["constraints"]))}))
"""


@case
def the_manifest_names_a_compressor():  # C-26, C-28, C-29
    agent("advised", "print(s.turn)", cognition={"role": json.dumps(ROLE), "compressor": "squeeze", "k": 2})
    r = open_("advised", code=1)
    check(b"squeeze" in r.err, r)
    python_skill("squeeze", COMPRESSOR)
    s = open_("advised")
    same(turn(s, "The gateway is slow."), "1\n")
    state = ccs("show", s)
    same((state["degraded"], field(state["ccs"], "predictive_cue"), state["compressor"]), (False, ["look(gateway)"], "squeeze"))
    same(turn(s, "Lie about the gateway."), "2\n")
    state = ccs("show", s)
    same((state["degraded"], state["proposal"]["fault"]["code"], len(field(state["ccs"], "constraints"))), (True, "lost", 1))
    p = start(s, "Wait for the gateway.")
    wait_for(lambda: any(json.loads(x)["skill"]["name"] == "squeeze" for x in lethe("ps", "--json").out.splitlines()), "the compressor")
    p.send_signal(signal.SIGTERM)
    p.communicate()
    same(p.returncode, 143)
    same(ccs("show", s)["turn"], 2)
    same(turn(s, "The gateway is well."), "3\n")
    close(s)
    holds()


@case
def bad_manifests_are_refused():
    for n, (bad, word) in enumerate((({"role": "x", "role_file": "y"}, b"role"), ({"compressor": "No Name"}, b"compressor"), ({"k": 17}, b"/k"), ({"more": 1}, b"more"),
                                     ({"role_file": "none.txt"}, b"role_file"), ({"role": "x" * 8193}, b"role"))):
        d = os.path.join(DIR, "bad-%d" % n)
        os.makedirs(d)
        with open(d + "/SKILL.md", "w", encoding="utf-8") as f:
            f.write("---\nname: bad-%d\ndescription: A test.\n---\n" % n)
        with open(d + "/lethe.json", "w", encoding="utf-8") as f:
            json.dump({"version": 1, "entry": {"main": ["/usr/bin/true"]}, "session": {"cognition": bad}}, f)
        r = lethe("skill", "add", d)
        check(r.code == 1 and word in r.err, bad, r)
    agent("bad-role", "", cognition={"role": '{"goal": 1}'})
    check(b"role" in open_("bad-role", code=1).err)
    d = os.path.join(DIR, "filed")
    os.makedirs(d)
    with open(d + "/role.md", "w", encoding="utf-8") as f:
        f.write("Never restart the primary database.\n")
    agent("filed", "print(s.ccs)", cognition={"role_file": "role.md"})
    s = open_("filed")
    check("must_not(operator, restart primary database)" in turn(s, "Look."))
    close(s)


def host(s):
    return int(json.loads(lethe("session", "show", s, "--json").out)["host"])


@case
@alone
def kills_at_any_moment_keep_one_commit_a_turn():  # C-37, C-41, I-85
    agent("keep", "print(s.turn, flush=True)", on_crash="resume")
    s = open_("keep")
    R = random.Random(15)
    at = 0
    for i in range(KILLS):
        p = start(s, "Look at host h%d." % i)
        victim = p.pid if i % 2 else host(s)
        time.sleep(R.random() * 0.15)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.communicate()
        now = ccs("show", s)["turn"]
        check(at <= now <= at + 1 and (now == at + 1 or p.returncode != 0), i, at, now, p.returncode)
        at = now
    for again in range(100):  # the last host may be just dying
        r = lethe("session", "turn", s, "--", "Go on.")
        if r.code == 0:
            break
    same(int(r.out), ccs("show", s)["turn"], again)
    same([t for t, _ in history(s)], list(range(int(r.out) + 1)))
    close(s)
    holds()


@case
def a_planning_dialogue():  # C-42, C-43
    agent("planner", """
did = {"Plan": ("Option A is a dump and restore, option B is logical replication.", "estimate", "option A: 95 minutes downtime; option B: 8 minutes downtime"),
       "Option": ("The change board has to approve. I ask for approval CHG-4411.", "ticket", "CHG-4411 state: pending, approver: change board")}
for word, (said, name, output) in did.items():
    if s.input.startswith(word):
        print(said)
        lethe.ccs_tool(output + "\\n" + "detail " * 3000, name)
if s.input == "":  # REFLECT, by the state alone
    print("stop" if "CHG-4411" in s.ccs else "wait")
""", cognition={"role": json.dumps({"goal": "Migrate the billing database", "policy": ["Never copy customer data to a laptop."], "constraints": [
        "Changes must stay within Saturday 22:00 to 02:00.", "Never migrate without approval of the change board.", "Only the release manager may inform customers."]})})
    s = open_("planner")
    hard = field(ccs("show", s)["ccs"], "constraints")
    same(len(hard), 4)
    check(all(any(w in c for c in hard) for w in ("22:00", "approval", "inform customers", "laptop")), hard)  # window, gate, communication, policy
    turn(s, "Plan the migration of billing-db to Postgres 16. The downtime must stay below 30 minutes.")
    turn(s, "Option B sounds good. Who approves?")
    state = ccs("show", s)["ccs"]
    check("name(B)" in state and "accepted(user)" in field(state, "episodic_trace"), state)  # the selected option is a commitment
    check("estimate(out1_1@1)" in field(state, "retrieved_artifacts"), state)  # a validated fact, with its provenance
    same(turn(s, ""), "wait\n")  # the ticket is what a tool said: nobody has approved
    turn(s, "CHG-4411 is approved. Continue.")
    same(turn(s, ""), "stop\n")
    end = ccs("show", s)
    rules = field(end["ccs"], "constraints")
    check(set(hard) < set(rules) and any("30 minutes" in c for c in rules) and "migrat" in " ".join(field(end["ccs"], "goal_orientation")).lower(), end)
    check("detail" not in end["ccs"] and end["tokens"] <= 512, end)
    close(s)


@case
def an_incident_triage_dialogue():  # C-44
    path = os.path.join(DIR, "gateway.log")
    with open(path, "w", encoding="utf-8") as f:
        f.write(LOG)
    agent("triage", """
LOG = %r
if "502" in s.input:
    print("I check the error log of gw7 first.")
    lethe.ccs_tool(LOG, "logs")
elif "region" in s.input:
    print("The timeouts come from upstream pool p3. Hypothesis: HTTP2 keepalive exhausts p3.")
    lethe.ccs_tool("pool p3 connections 512 of 512, pool p4 connections 20 of 512", "metrics")
else:
    print("Next I test gw7 with HTTP2 off for one host.")
""" % LOG, cognition={"role": json.dumps({"goal": "Restore the checkout gateway", "constraints": [
        "Never restart the primary database.", "Ask for approval before any rollback.", "Do not inform customers before 12:00."]})})
    s = open_("triage")
    hard = field(ccs("show", s)["ccs"], "constraints")
    same(len(hard), 3)
    turn(s, "502 errors on the checkout gateway gw7 since 10:05, after the HTTP2 rollout at 10:00.")
    turn(s, "Affected are only customers in region eu-west. Is it p3?")
    turn(s, "What do we do next about gw7 and pool p3?")
    turn(s, "And then?")
    end = ccs("show", s)
    text = end["ccs"]
    same(field(text, "constraints"), hard)
    entities = " ".join(field(text, "focal_entities"))
    check(all(w in entities for w in ("502", "gw7", "10:05", "eu-west")), text)  # verified entities and scope
    check(all(r.startswith("possible(") for r in field(text, "relational_map")), text)  # what the agent believes is no fact
    checks = " ".join(field(text, "retrieved_artifacts"))
    check("logs(out1_1@1)" in checks and "metrics(out2_1@1)" in checks, text)  # what was checked, by reference
    check("request=" not in text and "status=504" not in text and len(text) < 2048 and end["tokens"] < 250, text)  # 28 KB of log stay outside
    seen = field(ccs("show", s, "--turn", "2")["ccs"], "retrieved_artifacts")
    check("logs(out1_1@1)" in seen, seen)
    close(s)
    holds()


main()
