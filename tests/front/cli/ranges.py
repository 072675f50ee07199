#!/usr/bin/python3
"""The policy's floors and ceilings against what skills ask: for each row what ran, and what was recorded (I-73). TAP.

usage: ranges.py LETHE root|user
"""
import json
import os
import subprocess
import sys

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, STORE, add, check, lethe, log, main, run, same  # noqa: E402

os.chmod(DIR, 0o755)
FOLDER = os.path.join(DIR, "ranged")
POLICY = os.path.join(DIR, "ranges.policy")
CALLBACKS = {"entry": {"main": ["true"], "one": ["true"], "two": ["true"]}, "resources": ["seat"]}
ONE, TWO = [{"entry": "one"}], [{"entry": "one"}, {"entry": "two"}]


def floor(v):
    return {"floor": v}


def ceiling(v):
    return {"ceiling": v}


def between(a, b):
    return {"floor": a, "ceiling": b}


# name: (general ranges, ranges of the skill's row or None, whether the row has the digest, manifest, options,
#        what the grant has and what was raised: "FIELD ASKED -> GRANTED", or the words of the refusal)
DISCIPLINE = {
    "no range": ({}, None, False, {}, [], {"discipline": "zero", "passes": 1}, None),
    "a floor that is kept": ({"discipline": floor("zero")}, None, False, {}, [], {"discipline": "zero"}, None),
    "a floor above the default": ({"discipline": floor("multipass:2")}, None, False, {}, [], {"discipline": "multipass", "passes": 2},
                                  "/teardown/discipline zero -> multipass:2"),
    "a floor above what is asked": ({"discipline": floor("multipass")}, None, False, {"teardown": {"discipline": "multipass:2"}}, [], {"passes": 3},
                                    "/teardown/discipline multipass:2 -> multipass:3"),
    "a floor below what is asked": ({"discipline": floor("zero")}, None, False, {"teardown": {"discipline": "multipass:4"}}, [], {"passes": 4}, None),
    "none is raised, and needs no trust": ({"discipline": floor("zero")}, None, False, {"teardown": {"discipline": "none"}}, [], {"discipline": "zero"},
                                           "/teardown/discipline none -> zero"),
    "a floor of none trusts nobody": ({"discipline": floor("none")}, None, False, {"teardown": {"discipline": "none"}}, [], "trusted", None),
    "a ceiling below what is asked": ({"discipline": ceiling("multipass:3")}, None, False, {"teardown": {"discipline": "multipass:4"}}, [],
                                      "lethe.json#/teardown/discipline: multipass:4 is above the ceiling multipass:3", None),
    "on the ceiling": ({"discipline": ceiling("multipass:3")}, None, False, {"teardown": {"discipline": "multipass"}}, [], {"passes": 3}, None),
    "a ceiling below the default": ({"discipline": between("none", "none")}, None, True, {}, [], "trusted", None),
    "the command line is bounded, too": ({"discipline": ceiling("zero")}, None, False, {}, ["--discipline", "multipass"], "--discipline: multipass:3 is above", None),
    "the command line is raised, too": ({"discipline": floor("multipass:3")}, None, False, {}, ["--discipline", "multipass:2"], {"passes": 3},
                                        "--discipline multipass:2 -> multipass:3"),
    "both ends": ({"discipline": between("multipass:2", "multipass:4")}, None, False, {"teardown": {"discipline": "multipass:3"}}, [], {"passes": 3}, None),
}
LINEAGE = {
    "stats is raised": ({"lineage": floor("events")}, None, False, {"lineage": "stats"}, [], {"lineage": "events"}, "/lineage stats -> events"),
    "events is raised": ({"lineage": floor("handles")}, None, False, {}, [], {"lineage": "handles"}, "/lineage events -> handles"),
    "handles stays": ({"lineage": floor("events")}, None, False, {"lineage": "handles"}, [], {"lineage": "handles"}, None),
    "handles is too much": ({"lineage": ceiling("events")}, None, False, {"lineage": "handles"}, [], "/lineage: handles is above the ceiling events", None),
    "the default is too much": ({"lineage": ceiling("stats")}, None, False, {}, [], {"lineage": "stats"}, "-/lineage events -> stats"),
    "events that are asked are too much": ({"lineage": ceiling("stats")}, None, False, {"lineage": "events"}, [], "/lineage: events is above", None),
}
KEY = {
    "a key for the region alone": ({"key_scope": ceiling("invocation")}, None, False, {}, [], {"key_scope": "invocation"}, None),
    "a key for the tree is refused": ({"key_scope": ceiling("invocation")}, None, False, {"key_scope": "invocation-tree"}, [], "/key_scope: invocation-tree is above", None),
    "a key for the tree is allowed": ({"key_scope": ceiling("invocation-tree")}, None, False, {"key_scope": "invocation-tree"}, [], {"key_scope": "invocation-tree"}, None),
    "a key for the tree by default": ({"key_scope": floor("invocation-tree")}, None, False, {}, [], {"key_scope": "invocation-tree"}, "/key_scope invocation -> invocation-tree"),
    "a key for the tree is wanted": ({"key_scope": floor("invocation-tree")}, None, False, {"key_scope": "invocation"}, [], {"key_scope": "invocation-tree"},
                                     "/key_scope invocation -> invocation-tree"),
}
BOUND = {
    "a bound that is too short": ({"cancel_bound": floor("2s")}, None, False, {"cancel_bound": "1s"}, [], {"cancel_bound_usec": 2000000}, "/cancel_bound 1 s -> 2 s"),
    "a bound that is too long": ({"cancel_bound": ceiling("2s")}, None, False, {"cancel_bound": "3s"}, [], "/cancel_bound: 3 s is above the ceiling 2 s", None),
    "a bound between": ({"cancel_bound": between("1s", "9s")}, None, False, {"cancel_bound": "3s"}, [], {"cancel_bound_usec": 3000000}, None),
    "the default is raised": ({"cancel_bound": floor("1s")}, None, False, {}, [], {"cancel_bound_usec": 1000000}, "/cancel_bound 250 ms -> 1 s"),
    "the default is cut": ({"cancel_bound": ceiling("200ms")}, None, False, {"budgets": {"memory": "4m", "processes": 4}}, [], {"cancel_bound_usec": 200000},
                           "-/cancel_bound 250 ms -> 200 ms"),
    "the default is in the range": ({"cancel_bound": between("10ms", "60s")}, None, False, {"budgets": {"memory": "8m"}}, [], {"cancel_bound_usec": 250000}, None),
}
RELEASE = {
    "no callbacks": ({"callbacks": ceiling(0)}, None, False, {}, [], {"release": 0}, None),
    "callbacks are refused": ({"callbacks": ceiling(0)}, None, False, dict(CALLBACKS, release=ONE), [], "/release: 1 callback is above the ceiling 0 callbacks", None),
    "as many as may be": ({"callbacks": ceiling(1)}, None, False, dict(CALLBACKS, release=ONE), [], {"release": 1}, None),
    "more than may be": ({"callbacks": ceiling(1)}, None, False, dict(CALLBACKS, release=TWO), [], "/release: 2 callbacks is above", None),
    "fewer than must be": ({"callbacks": floor(1)}, None, False, {}, [], "/release: 0 callbacks is below the floor 1 callback", None),
    "as many as must be": ({"callbacks": between(2, 2)}, None, False, dict(CALLBACKS, release=TWO), [], {"release": 2}, None),
}
EMBODIMENT = {
    "a process": ({}, None, False, {"embodiment": "process"}, [], {"embodiment": "process"}, None),
    "an arena becomes a process": ({"embodiment": floor("process")}, None, False, {"embodiment": "arena"}, [], {"embodiment": "process"}, "/embodiment arena -> process"),
    "an arena, which is not there": ({}, None, False, {"embodiment": "arena"}, [], "embodiment arena", None),
    "a container is too much": ({"embodiment": ceiling("process")}, None, False, {"embodiment": "container"}, [], "/embodiment: container is above the ceiling process", None),
    "a ceiling that leaves no process": ({"embodiment": ceiling("arena")}, None, False, {}, [], "bounds/embodiment/ceiling: embodiment arena", None),
    "an arena becomes a container": ({"embodiment": floor("container")}, None, False, {"embodiment": "arena"}, [], "bounds/embodiment/floor: embodiment container", None),
    "a container, which is not there": ({"embodiment": floor("container")}, None, False, {}, [], "embodiment container", None),
}
COMMIT = {
    "any by default": ({}, None, False, {}, [], {"commit": "any"}, None),
    "success as asked": ({}, None, False, {"commit": "success"}, [], {"commit": "success"}, None),
    "success is wanted": ({"commit": floor("success")}, None, False, {"commit": "any"}, [], {"commit": "success"}, "/commit any -> success"),
    "any is wanted": ({"commit": ceiling("any")}, None, False, {"commit": "success"}, [], "/commit: success is above the ceiling any", None),
}
ROWS = {
    "a row without digest narrows the floor": ({"lineage": floor("stats")}, {"lineage": floor("handles")}, False, {}, [], {"lineage": "handles"},
                                               "/lineage events -> handles"),
    "a row without digest does not widen it": ({"lineage": floor("handles")}, {"lineage": floor("stats")}, False, {"lineage": "stats"}, [], {"lineage": "handles"},
                                               "/lineage stats -> handles"),
    "a row with digest takes its place": ({"lineage": floor("handles")}, {"lineage": floor("stats")}, True, {"lineage": "stats"}, [], {"lineage": "stats"}, None),
    "a row without digest narrows the ceiling": ({"cancel_bound": ceiling("9s")}, {"cancel_bound": ceiling("2s")}, False, {"cancel_bound": "3s"}, [],
                                                 "#/skills/ranged/bounds/cancel_bound/ceiling", None),
    "a row with digest widens the ceiling": ({"cancel_bound": ceiling("2s")}, {"cancel_bound": ceiling("9s")}, True, {"cancel_bound": "3s"}, [],
                                             {"cancel_bound_usec": 3000000}, None),
    "a row with digest allows callbacks": ({"callbacks": ceiling(0)}, {"callbacks": ceiling(1)}, True, dict(CALLBACKS, release=ONE), [], {"release": 1}, None),
    "a row with digest leaves the other end": ({"lineage": between("stats", "events")}, {"lineage": floor("events")}, True, {"lineage": "handles"}, [],
                                               "#/bounds/lineage/ceiling", None),
    "nothing between with a digest": ({"commit": ceiling("any")}, {"commit": floor("success")}, True, {}, [], "nothing lies between them", None),
    "nothing between": ({"commit": ceiling("any")}, {"commit": floor("success")}, False, {}, [], "nothing lies between them", None),
    "several at once": ({"commit": floor("success"), "lineage": floor("events"), "discipline": floor("multipass:1")}, None, False, {"lineage": "stats"}, [],
                        {"commit": "success", "lineage": "events", "discipline": "multipass"}, "/lineage stats -> events"),
}


def row(general, own, has_digest, manifest, options, want, change):
    with open(os.path.join(FOLDER, "lethe.json"), "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1, "entry": {"main": ["true"]}}, **manifest), f)
    skill = {"bounds": own} if own else {}
    if has_digest:
        skill["digest"] = json.loads(lethe("validate", "--json", FOLDER).out)["digest"]
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "bounds": general, "skills": {"ranged": skill} if skill else {}}, f)
    before = len(log())
    r = run("--policy", POLICY, *options, FOLDER)
    events = log()[before:]
    if isinstance(want, str):
        same((r.code, r.receipt["outcome"], r.receipt["region"]), (125, "denied", None), r)
        check(want in r.receipt["reason"] and want.encode() in r.err, r)
        if "trusted" not in want:  # refused by the policy's ranges: that is recorded
            same([e["type"] for e in events], ["region.refused"], r)
            same((events[0]["code"], events[0]["skill"]["name"], events[0]["message"]), ("policy", "ranged", r.receipt["reason"]))
        return
    same(r.code, 0, r)
    g = next(e for e in events if e["type"] == "region.allocated" and not e.get("callback"))["grant"]
    for key, value in want.items():
        same(len(g[key]) if key == "release" else g[key], value, key, g)
    t = r.receipt["teardown"]
    same((t["discipline"], t["passes"], t["bound_usec"], len(t.get("callbacks", []))), (g["discipline"], g["passes"], g["cancel_bound_usec"], len(g["release"])), r)
    told = ["%s%s %s -> %s" % (sign, c["field"], c["asked"], c["granted"]) for sign, key in (("", "raised"), ("-", "reductions")) for c in g.get(key, [])]
    if change:
        check(change in told, told)
        check(all("ranges.policy#/" in c["rule"] for key in ("raised", "reductions") for c in g.get(key, [])), g)
    else:
        same(told, [], g)


def a_program():
    """--exec: the general ranges hold, a row does not, whatever its name."""
    bounds = {"discipline": floor("multipass:2"), "lineage": floor("handles"), "commit": floor("success"), "callbacks": ceiling(0)}
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "bounds": bounds, "skills": {"true": {"bounds": {"discipline": floor("multipass:5")}}}}, f)
    r = run("--policy", POLICY, "--exec", "/bin/true")
    same((r.code, r.receipt["teardown"]["passes"]), (0, 2), r)
    g = log("--region", r.receipt["region"])[0]["grant"]
    same(sorted("%s %s" % (c["field"], c["granted"]) for c in g["raised"]), ["/commit success", "/lineage handles", "/teardown/discipline multipass:2"], g)
    for bounds, options, text in (({"callbacks": floor(1)}, [], "--exec: /release: 0 callbacks is below the floor 1 callback"),
                                  ({"discipline": ceiling("zero")}, ["--discipline", "multipass"], "--discipline: multipass:3 is above the ceiling zero")):
        with open(POLICY, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "bounds": bounds}, f)
        r = run("--policy", POLICY, *options, "--exec", "/bin/true")
        same((r.code, r.receipt["outcome"], r.receipt["region"]), (125, "denied", None), r)
        check(r.receipt["reason"].startswith(text), text, r)
        e = log()[-1]
        same((e["type"], e["skill"]["name"], e["message"]), ("region.refused", "true", r.receipt["reason"]), r)


def folder(**manifest):
    with open(os.path.join(FOLDER, "lethe.json"), "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1, "entry": {"main": ["true"]}}, **manifest), f)


def too_short():  # I-72
    """Declared, and not to be held by any machine: refused before anything runs, with the numbers, and lethe validate says so."""
    folder(cancel_bound="10ms", budgets={"memory": "4g"})
    before = len(log())
    r = run(FOLDER)
    same((r.code, r.receipt["outcome"], r.receipt["region"]), (125, "denied", None), r)
    for word in ("cancel bound 10 ms", "to overwrite ", "(zero)", "64 processes", "(measured: ", "declare a larger cancel_bound"):
        check(word in r.receipt["reason"], word, r.receipt["reason"])
    events = log()[before:]
    same([(e["type"], e["code"], e["message"]) for e in events], [("region.refused", "policy", r.receipt["reason"])])
    v = lethe("validate", "--json", FOLDER)
    o = json.loads(v.out)
    same((v.code, o["valid"], [(f["rule"], f["pointer"]) for f in o["findings"] if f["level"] == "error"]), (1, False, [("cancel-bound", "/cancel_bound")]), o)
    check(o["teardown"]["declared"] and o["teardown"]["measured"] and 2 * o["teardown"]["predicted_usec"] > o["teardown"]["bound_usec"] == 10000, o)
    check(b"about " in lethe("validate", FOLDER).out)
    check(os.path.exists(os.path.join(STORE, "cache", "overwrite")), "the numbers are kept")


def long_enough():  # I-72
    folder(cancel_bound="60s", budgets={"memory": "8m"}, teardown={"discipline": "multipass:3"})
    r = run(FOLDER)
    same((r.code, r.receipt["teardown"]["bound_usec"]), (0, 60000000), r)
    g = log("--region", r.receipt["region"])[0]["grant"]
    same((g["cancel_bound"], g["cancel_bound_usec"]), ("declared", 60000000), g)
    check(0 < 2 * g["teardown_predicted_usec"] <= 60000000, g)
    o = json.loads(lethe("validate", "--json", FOLDER).out)["teardown"]
    same((o["predicted_usec"], o["discipline"], o["passes"]), (g["teardown_predicted_usec"], "multipass", 3), "the same numbers")


def nobody_declared_it():  # I-72
    """As long as it takes: nothing is refused for a bound that nobody asked for."""
    for memory, least in (("8m", 250000), ("900g", 500000)):
        folder(budgets={"memory": memory})
        r = run(FOLDER)
        same(r.code, 0, r)
        g = log("--region", r.receipt["region"])[0]["grant"]
        same(g["cancel_bound"], "computed", g)
        check(g["cancel_bound_usec"] == r.receipt["teardown"]["bound_usec"] >= max(least, 2 * g["teardown_predicted_usec"]), g)
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "bounds": {"cancel_bound": ceiling("10ms")}}, f)
    folder(budgets={"memory": "900g"})
    r = run("--policy", POLICY, FOLDER)
    check(r.code == 125 and "(the policy's ceiling)" in r.receipt["reason"], r)


def pages_in_common_are_counted():  # I-72
    """fork(2) maps all pages of the parent once more: the memory budget says nothing of that, but the teardown takes longer."""
    forks = "import os\nheld = bytearray(b'x') * (64 << 20)\nfor i in range(124):\n  if os.fork() == 0:\n    os.read(3, 1)\n    os._exit(0)\nos.read(3, 1)"
    asks = {"entry": {"main": ["/usr/bin/python3", "-c", forks]}, "budgets": {"memory": "200m", "processes": 128, "wall": "60s"}}
    folder(cancel_bound="60s")
    same(run(FOLDER).code, 0, "the machine's numbers are kept")
    folder(cancel_bound="60s", **asks)
    least = 2 * json.loads(lethe("validate", "--json", FOLDER).out)["teardown"]["predicted_usec"]
    folder(cancel_bound="%dms" % (least // 1000 + 1), **asks)
    r = run(FOLDER)
    same((r.code, r.receipt["outcome"], r.receipt["limiting_resource"]), (137, "out_of_region", "mappings"), r)
    end = log("--region", r.receipt["region"], "--type", "region.faulted")[-1]
    check(end["used"] > end["limit"] > 200 * 256, "more mappings than pages that the budget has", end)
    check(b"a larger cancel_bound of lethe.json allows more" in r.err, r)


def the_same_in_both():  # I-72
    """Whichever comes first, where no numbers are kept yet: lethe validate and region.allocated say the same."""
    path = os.path.join(STORE, "cache", "overwrite")
    folder(budgets={"memory": "300m", "processes": 100})
    for run_first in (True, False):
        if os.path.exists(path):
            os.unlink(path)
        said = None if run_first else json.loads(lethe("validate", "--json", FOLDER).out)["teardown"]
        r = run(FOLDER)
        g = log("--region", r.receipt["region"])[0]["grant"]
        said = said or json.loads(lethe("validate", "--json", FOLDER).out)["teardown"]
        check(said["measured"], said)
        same((g["teardown_predicted_usec"], g["cancel_bound_usec"]), (said["predicted_usec"], said["bound_usec"]), run_first)


def more_than_the_machine_has():  # I-72
    folder(budgets={"memory": "900g"})
    o = json.loads(lethe("validate", "--json", FOLDER).out)["teardown"]
    same(o["memory_bytes"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE"), o)


def a_measurement_that_is_cut_short():  # I-72
    """Killed in it, lethe leaves no process that holds what was open."""
    path = os.path.join(STORE, "cache", "overwrite")
    if os.path.exists(path):
        os.unlink(path)
    folder()
    p = subprocess.Popen(["strace", "-qq", "-o", "/dev/null", "-e", "trace=kill", "-e", "inject=kill:error=EPERM:signal=SIGKILL", LETHE, "validate", FOLDER], env=ENV,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out = p.communicate(timeout=60)[0]  # until nobody has its end of the pipe any more
    same(p.returncode, -9, out)


def none_that_is_raised():  # I-73
    """A skill that a floor of the policy raises is valid by that policy, and can be registered."""
    folder(teardown={"discipline": "none"})
    for bounds, code in ({"discipline": floor("zero")}, 0), ({"discipline": floor("none")}, 1), ({}, 1):
        with open(POLICY, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "bounds": bounds}, f)
        for verb in ("validate",), ("skill", "add"):
            same(lethe(*verb, "--policy", POLICY, FOLDER).code, code, verb, bounds)


def kept_numbers_that_are_damaged():  # I-72
    folder(cancel_bound="60s", budgets={"memory": "8m"})
    path = os.path.join(STORE, "cache", "overwrite")
    for text in (b"", b"x" * 400):
        with open(path, "wb") as f:
            f.write(text)
        r = run(FOLDER)
        same(r.code, 0, r)
        check(os.path.getsize(path) not in (0, 400), "measured again")


def below_another_region():  # I-72
    """A sub-skill that overwrites more often than the region above: its teardown is a part of that one's, and does not fit its bound."""
    below = os.path.join(DIR, "often")
    os.makedirs(below)
    for d, name, manifest in ((below, "often", {"teardown": {"discipline": "multipass:16"}, "budgets": {"memory": "1g"}}),):
        with open(os.path.join(d, "SKILL.md"), "w", encoding="utf-8") as f:
            f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
        with open(os.path.join(d, "lethe.json"), "w", encoding="utf-8") as f:
            json.dump(dict({"version": 1, "entry": {"main": ["true"]}}, **manifest), f)
    same(lethe("skill", "add", below).code, 0)
    above = {"sub_skills": ["often"], "budgets": {"memory": "1g"},
             "entry": {"main": ["/usr/bin/python3", "-c", "import lethe\ntry:\n  lethe.run('often')\nexcept lethe.LetheError as e:\n  lethe.result(e.code)"]}}
    folder(cancel_bound="60s", **above)
    predicted = json.loads(lethe("validate", "--json", FOLDER).out)["teardown"]["predicted_usec"]  # by the numbers that the run is judged by, too
    folder(cancel_bound="%dms" % (2 * predicted // 1000 + 1), **above)
    r = run(FOLDER)
    same((r.code, r.receipt.get("result")), (0, "refused"), r)
    check(b"(of the region above)" in r.err and b"multipass:16" in r.err, r)
    same([e["skill"]["name"] for e in log("--type", "region.refused")][-1], "often")


def side_by_side():  # I-72
    """Sub-skills that are overwritten more often than the region above, and of which each alone fits its bound."""
    two = '''
import json, lethe, os
lethe.hello()
answers = os.fdopen(3)
for i in (1, 2):
    os.write(4, (json.dumps({"jsonrpc": "2.0", "id": i, "method": "skill.run", "params": {"skill": "lasting", "args": []}}) + "\\n").encode())
got = json.loads(answers.readline())
lethe.result([got["id"], got.get("error", {}).get("data", {}).get("code")])
'''
    below = os.path.join(DIR, "lasting")
    os.makedirs(below)
    with open(os.path.join(below, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: lasting\ndescription: A test.\n---\n")
    takes = []
    for discipline in ("zero", "multipass:16"):
        with open(os.path.join(below, "lethe.json"), "w", encoding="utf-8") as f:
            json.dump({"version": 1, "entry": {"main": ["sleep", "600"]}, "teardown": {"discipline": discipline}, "budgets": {"memory": "256m", "processes": 4}}, f)
        takes.append(json.loads(lethe("validate", "--json", below).out)["teardown"]["predicted_usec"])
    same(lethe("skill", "add", below).code, 0)
    above = {"sub_skills": ["lasting"], "budgets": {"memory": "1g", "processes": 16}, "entry": {"main": ["/usr/bin/python3", "-c", two]}}
    folder(cancel_bound="60s", **above)
    own = json.loads(lethe("validate", "--json", FOLDER).out)["teardown"]["predicted_usec"]
    folder(cancel_bound="%dms" % (2 * (own + takes[1] - takes[0]) // 1000 + 1), **above)
    r = run(FOLDER)
    same((r.code, r.receipt.get("result")), (0, [2, "refused"]), r)
    check(b"(of the region above)" in r.err and b"all below it" in r.err, r)
    same([e["skill"]["name"] for e in log("--type", "region.refused")][-1], "lasting")


os.makedirs(FOLDER)
with open(os.path.join(FOLDER, "SKILL.md"), "w", encoding="utf-8") as md:
    md.write("---\nname: ranged\ndescription: A test.\n---\n")
n_rows = 0
for kind, rows in (("discipline", DISCIPLINE), ("lineage", LINEAGE), ("key scope", KEY), ("cancel bound", BOUND), ("callbacks", RELEASE), ("embodiment", EMBODIMENT),
                   ("commit", COMMIT), ("rows of skills", ROWS)):
    for name, what in rows.items():
        add("%s: %s" % (kind, name), lambda w=what: row(*w))
        n_rows += 1
assert n_rows >= 40, n_rows
add("programs: the general ranges", a_program)
for name, fn in (("a declared bound that is too short", too_short), ("a declared bound that is long enough", long_enough), ("a bound that nobody declared", nobody_declared_it),
                 ("pages that fork has in common", pages_in_common_are_counted),
                 ("kept numbers that are damaged", kept_numbers_that_are_damaged), ("the same in both", the_same_in_both), ("more than the machine has", more_than_the_machine_has),
                 ("a measurement that is cut short", a_measurement_that_is_cut_short), ("none that is raised", none_that_is_raised), ("a bound below another region", below_another_region),
                 ("regions side by side below another", side_by_side)):
    add("admission: " + name, fn)
main()
