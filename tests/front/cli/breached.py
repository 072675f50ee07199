#!/usr/bin/python3
"""What is kept of what stands below a region that broke its budget: nothing (I-98). And a reference that ends a record needs the right to save it. TAP.

usage: breached.py LETHE root|user
"""
import json
import os

from lab import MAIN, PYTHON, below, clean, events, skill, start
from tap import DIR, alone, case, check, lethe, log, main, run, same

BACK = """import json, lethe, os
said = [lethe.hello(), lethe._pipe.call("slot.write", {"name": "given/back", "value": "after " + os.environ["LETHE_OUTCOME"]}),
        lethe._pipe.call("note.add", {"text": "the ticket was given back"}),
        lethe.memory_save("memory_substrate", {"subject": "ticket", "predicate": "was", "object": "given back"}, id="back", type="semantic")]
open(2, "w").write("told %s\\n" % json.dumps([s.get("discarded", False) for s in said]))
"""
ASKS = {"entry": dict(MAIN, back=[PYTHON, "/skill/back.py"]), "resources": ["ticket"], "release": [{"entry": "back"}], "cancel_bound": "60s", "notes": True,
        "writes": ["own", "given/back"], "slots": {"own": {"type": "string"}, "given/back": {"type": "string"}},
        "memory": [{"scope": "default", "read": ["memory_substrate"], "write": ["memory_substrate"]}]}
WRITE = "import lethe, os, time\nlethe.write('own', 'from the region')\n"
BREACHES = {"timed_out": "time.sleep(60)", "denied": "\nfor _ in range(80): os.write(4, b'no json\\n')\ntime.sleep(60)", "out_of_region": "x = bytearray(1 << 29)",
            "output_exceeded": "os.write(1, bytes(1 << 17))\ntime.sleep(60)"}
LIMITS = ("--timeout", "5m", "--output-limit", "64k", "--memory", "64m")


def kept():
    """What of all this is there now."""
    slots = {n: lethe("slot", "get", n) for n in ("own", "given/back")}
    record = lethe("memory", "load", "memory_substrate", "back")
    return [n for n, r in slots.items() if r.code == 0] + (["record"] if record.code == 0 else [])


def fates(region):
    return sorted((e["type"], e.get("reason") or "") for e in log("--region", region) if e["type"] in ("slot.written", "slot.discarded", "memory.save", "memory.discarded"))


@case
def what_a_callback_proposes_after_a_breach_is_discarded():  # I-98 I-24 I-35
    for outcome, how in BREACHES.items():
        d = skill("breaker", ASKS, {"main.py": WRITE + how, "back.py": BACK}, register=False)
        limits = ("--timeout", "1s") + LIMITS[2:] if outcome == "timed_out" else LIMITS
        r = run(*limits, d)
        back = r.receipt["teardown"]["callbacks"][0]
        same((r.receipt["outcome"], back["outcome"], back["exit_code"], back.get("discarded")), (outcome, "exited", 0, True), r)
        same(kept(), [], outcome)
        why = "%s of %s" % (outcome, r.receipt["region"])
        same(fates(back["region"]), [("memory.discarded", why), ("slot.discarded", why)], outcome)
        same(events(back["region"], "region.allocated")[0]["discards"], why)
        same([(e["notes"], e["dropped"]) for e in events(back["region"], "run.ended")], [(1, 1)], outcome)
        check(b"told [true, true, true, true]" in r.err, r)
    clean()


@case
def what_a_callback_proposes_after_a_good_end_is_kept():
    """The same skill, and the same callback."""
    r = run(skill("breaker", ASKS, {"main.py": WRITE, "back.py": BACK}, register=False))
    back = r.receipt["teardown"]["callbacks"][0]
    same((r.receipt["outcome"], "discarded" in back, kept()), ("exited", False, ["own", "given/back", "record"]), r)
    check("discards" not in events(back["region"], "region.allocated")[0], back)
    check(b"told [false, false, false, false]" in r.err, r)
    same(lethe("slot", "get", "given/back").out.strip(), b'"after exited"')


@case
def a_sub_skill_that_a_breach_takes_with_it_keeps_nothing():  # I-98
    """It was still at work when the region that started it broke its budget; its own callback as well. What had ended before is an invocation of its own."""
    shared = os.path.join(DIR, "shared")
    os.mkdir(shared)
    slots = ["sub/done", "sub/late", "sub/back"]
    skill("worker", {"entry": dict(MAIN, back=[PYTHON, "/skill/back.py"]), "resources": ["ticket"], "release": [{"entry": "back"}], "cancel_bound": "60s", "writes": slots,
                     "slots": {n: {"type": "string"} for n in slots}, "files": [{"path": shared, "access": "write", "at": "/shared"}]},
          {"main.py": "import lethe, sys, time\nlethe.write(sys.argv[1], 'x')\nif sys.argv[1] == 'sub/late':\n  open('/shared/wrote', 'w')\n  time.sleep(60)\n",
           "back.py": "import lethe\nlethe.write('sub/back', 'x')\n"})
    skill("taker", {"sub_skills": ["worker"], "cancel_bound": "60s", "writes": slots})
    policy = os.path.join(DIR, "shares.json")
    with open(policy, "w") as f:
        json.dump({"version": 1, "files": [{"path": shared, "access": "write"}]}, f)
    r = run("--timeout", "60s", "--memory", "512m", "--output-limit", "64k", "--policy", policy, "-v", shared + ":/shared:rw", "taker", "--", """
lethe.run("worker", ["sub/done"])
if os.fork() == 0:
    while not os.path.exists("/shared/wrote"): time.sleep(0.01)
    os.write(1, bytes(1 << 17))
    os._exit(0)
lethe.run("worker", ["sub/late"])
""")
    same(r.receipt["outcome"], "output_exceeded", r)
    done, late = below(r.receipt["region"])
    backs = [below(x)[0] for x in (done, late)]
    why = "output_exceeded of %s" % r.receipt["region"]
    same(fates(done) + fates(backs[0]), [("slot.written", "")] * 2)
    same(fates(late) + fates(backs[1]), [("slot.discarded", why)] * 2)
    check(lethe("slot", "get", "sub/late").code != 0)
    clean()


@case
@alone
def a_callback_that_a_later_start_runs_keeps_nothing_either():  # I-98 I-60
    """The supervisor died while callbacks of a region that broke its budget ran."""
    d = skill("owing", dict(ASKS, entry=dict(ASKS["entry"], hold=[PYTHON, "/skill/hold.py"]), release=[{"entry": "back"}, {"entry": "hold"}], cancel_bound="60s"),
              {"main.py": WRITE + BREACHES["output_exceeded"], "back.py": BACK, "hold.py": "import sys, time\nprint('holds', file=sys.stderr, flush=True)\ntime.sleep(60)\n"},
              register=False)
    before = kept()
    lethe("slot", "put", "own", '"before"')
    p = start(*LIMITS, d)
    while b"holds" not in p.stderr.readline():
        check(p.poll() is None, "it runs its callback")
    p.kill()
    p.communicate(timeout=60)
    regions = [json.loads(x)["region"] for x in lethe("ps", "--json").out.splitlines()]
    same(lethe("run", "--exec", "/bin/true").code, 0)
    first = [x for x in regions if events(x, "region.faulted")]
    same(len(first), 1, regions)
    ran = [c for c in events(first[0], "region.released")[0]["teardown"]["callbacks"] if c["entry"] == "back"]
    same([(c["outcome"], c.get("discarded")) for c in ran], [("exited", True)])
    same({k for k, _ in fates(ran[0]["region"])}, {"memory.discarded", "slot.discarded"})
    same(lethe("slot", "get", "own").out.strip(), b'"before"', before)
    clean()


ENDS = """
def save(kind, payload, id, refs=None, **kw):
    try:
        lethe.memory_save(kind, payload, id=id, refs=refs, **kw)
        return "saved"
    except lethe.LetheError as e:
        return e.code
F = {"subject": "a", "predicate": "b", "object": "c"}
P = {"title": "page", "text": "another text"}
on = lambda kind, role: [{"kind": kind, "id": "theirs" if kind != "memory_substrate" else "mine", "strength": "weak", "role": role}]
print(save("memory_substrate", F, "new", on("knowledge_projections", "supersedes"), type="semantic"),
      save("memory_substrate", F, "new", on("skill_artifacts", "supersedes"), type="semantic"),
      save("memory_substrate", F, "new", on("agent_model_kernel", "supersedes"), type="semantic"),
      save("memory_substrate", F, "new", on("knowledge_projections", "tells_of"), type="semantic"),
      save("memory_substrate", F, "newer", on("memory_substrate", "supersedes"), type="semantic"))
"""


@case
def a_reference_that_ends_a_record_needs_its_family():  # I-98 M-23
    """A skill that reads two families and writes one. The digest, approved for `superseded_by`, may end what the skill could have written anew, and no more."""
    skill("ender", {"memory": [{"scope": "default", "read": ["memory_substrate", "knowledge_projections", "skill_artifacts"], "write": ["memory_substrate"]}]})
    for kind, payload, more in (("knowledge_projections", {"title": "page", "text": "a page"}, ()), ("memory_substrate", {"subject": "m", "predicate": "is", "object": "mine"},
                                                                                                   ("--type", "semantic"))):
        r = lethe("memory", "save", kind, json.dumps(payload), "--id", "mine" if more else "theirs", *more)
        same(r.code, 0, r)
    r = run("ender", "--", ENDS)
    same((r.code, r.out), (0, b"not_granted not_granted not_granted saved saved\n"), r)
    for _ in range(2):
        lethe("digest", "run", "--apply", "--approve", "auto:superseded_by")
    page = json.loads(lethe("memory", "load", "knowledge_projections", "theirs", "--json").out)["record"]
    same((page["state"], page["payload"]["text"]), ("active", "a page"))


main()
