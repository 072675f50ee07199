#!/usr/bin/python3
"""The ends that keep the proposals of an invocation: `commit` of the manifest, and `lethe kill --discard` (I-78). TAP.

usage: commits.py LETHE root|user
"""
import json
import os

from lab import MAIN, PYTHON, SEES_MARKS, below, clean, events, mark, policy_with_marks, skill, start, until
from tap import DIR, ENV, alone, ask_daemon, case, check, lethe, log, main, run, same, start_daemon, stop_daemon

policy_with_marks()

SLOTS = ["c/one", "c/back", "c/sub", "c/ruled"]
WRITES = """import json, os, signal, sys, time
import lethe
def mark(name): open(%r + "/" + name, "w").close()
def until(name):
    while not os.path.exists(%r + "/" + name): time.sleep(0.01)
def all_of(v):
    lethe.write("c/one", v)
    lethe.note_add("issue broken: " + v)
    lethe.memory_save("memory_substrate", {"subject": v, "predicate": "is", "object": "there"}, id=v, type="semantic")
exec(sys.argv[1])
""" % ((os.path.join(DIR, "marks"),) * 2)
ASKS = {"writes": SLOTS, "slots": {s: {"type": "string"} for s in SLOTS[:3]}, "notes": True, "memory": [{"scope": "default", "read": ["memory_substrate"], "write": ["memory_substrate"]}],
        "cancel_bound": "60s", "sub_skills": ["below"], **SEES_MARKS}
for name, commit in (("any", {}), ("sure", {"commit": "success"})):
    skill(name, dict(ASKS, **commit), {"main.py": WRITES})
    skill(name + "-back", dict(ASKS, entry=dict(MAIN, back=[PYTHON, "/skill/back.py"]), release=[{"entry": "back"}], **commit),
          {"main.py": WRITES, "back.py": "import lethe\nlethe.write('c/back', 'from the callback')\n"})
skill("below", ASKS, {"main.py": WRITES})
same(lethe("slot", "define", "c/ruled", '{"type":"string"}', "--arbitrate", "last").code in (0, 2), True)


def now(slot="c/one"):
    r = lethe("slot", "get", slot)
    return json.loads(r.out) if r.code == 0 else None


def record(name):
    return lethe("memory", "load", "memory", name).code == 0


def fates(region):
    return [(e["type"], e.get("reason", "")) for e in log("--region", region) if e["type"] in ("slot.written", "slot.discarded", "memory.save", "memory.discarded")]


@case
def any_end_but_a_breach_keeps_by_default():  # I-78
    for i, (how, code) in enumerate((("sys.exit(0)", 0), ("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGTERM)", 143))):
        r = run("any", "--", "all_of('any%d')\n%s" % (i, how))
        same((r.code, now(), record("any%d" % i), r.receipt.get("discarded"), r.receipt["notes"]["dropped"]), (code, "any%d" % i, True, None, 0), r)
        same(events(r.receipt["region"], "region.allocated")[0]["grant"]["commit"], "any")
    clean()


@case
def success_keeps_for_exit_code_0_alone():  # I-78
    before = now()
    for i, (how, code) in enumerate((("sys.exit(3)", 3), ("os.kill(os.getpid(), signal.SIGTERM)", 143), ("os.kill(os.getpid(), signal.SIGKILL)", 137))):
        r = run("sure", "--", "all_of('sure%d')\n%s" % (i, how))
        same((r.code, now(), record("sure%d" % i), r.receipt["discarded"], r.receipt["notes"]["dropped"]), (code, before, False, "not_success", 1), r)
        same(fates(r.receipt["region"]), [("memory.discarded", "not_success"), ("slot.discarded", "not_success")])
        same(events(r.receipt["region"], "invocation.ended")[0]["discarded"], "not_success")
        check(b"nothing that it proposed is kept" in r.err, r)
    r = run("sure", "--", "all_of('good')")
    same((r.code, now(), record("good"), r.receipt.get("discarded")), (0, "good", True, None), r)
    r = run("--output-limit", "64k", "sure", "--", "all_of('breach')\nos.write(1, bytes(1 << 17))\ntime.sleep(60)")
    same((r.receipt["outcome"], now(), fates(r.receipt["region"])),
         ("output_exceeded", "good", [("memory.discarded", "output_exceeded"), ("slot.discarded", "output_exceeded")]), r)
    clean()


@case
def a_cancel_is_no_success():  # I-78
    before = now()
    p = start("--receipt", os.path.join(DIR, "cancel.json"), "sure", "--", "all_of('cut')\nmark('cut')\ntime.sleep(600)")
    until("cut")
    region = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    same(lethe("kill", "--wait", region).code, 0)
    p.communicate(timeout=60)
    same((now(), events(region, "invocation.ended")[0]["discarded"]), (before, "not_success"))
    clean()


@case
def a_sub_skill_is_told_and_is_an_invocation_of_its_own():  # I-78
    r = run("--memory", "512m", "sure", "--", """all_of("above")
print(lethe.run("below", ["lethe.write('c/sub', 'below')"]).get("discarded"))
sys.exit(4)""")
    same((r.code, r.out, now("c/sub")), (4, b"None\n", "below"), r)
    same(fates(below(r.receipt["region"])[0]), [("slot.written", "")])
    clean()


@case
def callbacks_keep_what_their_region_keeps():  # I-78, I-35
    for name, code, want in (("any-back", 0, "slot.written"), ("any-back", 3, "slot.written"), ("sure-back", 0, "slot.written"), ("sure-back", 3, "slot.discarded")):
        r = run("--memory", "256m", name, "--", "sys.exit(%d)" % code)
        c = r.receipt["teardown"]["callbacks"][0]
        same((c["outcome"], c.get("discarded", False), [k for k, _ in fates(c["region"])]), ("exited", want == "slot.discarded", [want]), r)
    clean()


@case
@alone
def nobody_saw_how_it_ended():  # I-78, I-60
    """The supervisor died: the exit code is not known, and what holds for exit code 0 alone is not kept."""
    for name, keeps in (("any-back", True), ("sure-back", False)):
        p = start("--memory", "256m", name, "--", "lethe.write('c/one', 'orphan')\nmark('%s')\ntime.sleep(600)" % name)
        until(name)
        region = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
        p.kill()
        p.communicate(timeout=60)
        same(lethe("run", "--exec", "/bin/true").code, 0)
        kinds = [k for r in (region, below(region)[0]) for k, _ in fates(r)]
        same(kinds, ["slot.written" if keeps else "slot.discarded"] * 2)
        same(events(region, "invocation.ended")[0].get("discarded"), None if keeps else "not_success")
    clean()


def killed(*argv, how="600"):
    """A region that proposed, and whose callback would; it is ended by `lethe kill` with these arguments. Returns its id."""
    name = "k%d" % len(os.listdir(os.path.join(DIR, "marks")))
    p = start("--memory", "256m", "--timeout", "600s", "any-back", "--", "all_of('unwanted')\nmark('%s')\ntime.sleep(%s)" % (name, how))
    until(name)
    region = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    r = lethe("kill", *argv, region)
    same(r.code, 0, r)
    p.communicate(timeout=60)
    return region


@case
def kill_keeps_and_kill_discard_does_not():  # I-78
    lethe("slot", "put", "c/back", '"before"')
    region = killed("--wait")
    same((now(), now("c/back")), ("unwanted", "from the callback"))
    lethe("slot", "put", "c/one", '"before"')
    lethe("slot", "put", "c/back", '"before"')
    region = killed("--discard", "--wait")
    same((now(), now("c/back")), ("before", "before"))
    types = [e["type"] for e in log("--region", region)]
    same(types.count("region.discard_asked"), 1)
    check(types.index("region.discard_asked") < types.index("slot.discarded"), types)
    same(fates(region), [("memory.discarded", "discard_asked"), ("slot.discarded", "discard_asked")])
    same(fates(below(region)[0]), [("slot.discarded", "discard_asked of " + region)])
    same(events(region, "invocation.ended")[0]["discarded"], "discard_asked")
    check(b"discard_asked" in lethe("why", region).out, lethe("why", region).out)
    r = lethe("kill", "--discard", region)
    check(r.code == 1 and b"not alive" in r.err, r)
    clean()


@case
@alone
def kill_discard_of_an_orphan():  # I-78, I-60
    lethe("slot", "put", "c/one", '"before"')
    p = start("--memory", "256m", "any", "--", "all_of('lost')\nmark('lost')\ntime.sleep(600)")
    until("lost")
    region = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    p.kill()
    p.communicate(timeout=60)
    same(lethe("kill", "--discard", region).code, 0)
    same((now(), fates(region)), ("before", [("slot.discarded", "discard_asked")]))
    clean()


@case
def kill_discard_of_what_stands_below_takes_all_of_the_invocation():  # I-78
    lethe("slot", "put", "c/one", '"before"')
    lethe("slot", "put", "c/sub", '"before"')
    p = start("--memory", "512m", "--timeout", "600s", "any", "--", "all_of('whole')\nlethe.run('below', [\"lethe.write('c/sub', 'x'); mark('deep'); time.sleep(600)\"])")
    until("deep")
    child = next(e for e in reversed(log("--type", "region.allocated")) if e.get("parent"))
    same(lethe("kill", "--discard", "--wait", child["region"]).code, 0)
    p.communicate(timeout=60)
    same((now(), now("c/sub")), ("before", "before"))
    same(fates(child["region"]), [("slot.discarded", "discard_asked of " + child["parent"])])
    clean()


@case
@alone
def discard_over_the_socket():  # I-78
    """A client of the daemon that has no store asks for it, also when the end is known and only its callback runs."""
    skill("slow-back", dict(ASKS, entry=dict(MAIN, back=[PYTHON, "/skill/back.py"]), release=[{"entry": "back"}]),
          {"main.py": WRITES, "back.py": WRITES.replace("exec(sys.argv[1])", "mark('in-back')\nuntil('asked')")})
    daemon = start_daemon(ENV)
    try:
        for name, code, at in (("any", "all_of('socket')\nmark('socket')\ntime.sleep(600)", "socket"), ("slow-back", "all_of('socket')", "in-back")):
            lethe("slot", "put", "c/one", '"before"')
            del ENV["LETHE_SERVE"]
            p = start("--memory", "256m", "--timeout", "600s", name, "--", code)
            ENV["LETHE_SERVE"] = "0"
            until(at)
            region = ask_daemon("ps")["runs"][0]["regions"][0]
            same(ask_daemon("kill", region=region, discard=True), {})
            if at == "in-back":
                mark("asked")  # the callback waits for this mark, so that it must not stand there before
            p.communicate(timeout=60)
            same((now(), fates(region)), ("before", [("memory.discarded", "discard_asked"), ("slot.discarded", "discard_asked")]), name)
            same(len(events(region, "region.discard_asked")), 1)
    finally:
        stop_daemon(daemon)
    clean()


main()
