#!/usr/bin/python3
"""lethe audit regions, lethe log --region and lethe certificate about regions that ran: what an auditor asks, one command each. TAP.

usage: regions.py LETHE MANUAL-PAGE COOKBOOK COMPLETIONS-FOLDER
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, run, same, wait_for  # noqa: E402

POLICY = os.path.join(DIR, "policy.json")
FILES = {"left": "/etc/shadow", "right": "/etc/gshadow"}
ran = {}  # the region of each kind


def skill(name, **manifest):
    d = os.path.join(DIR, name)
    os.makedirs(d)
    with open(os.path.join(d, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
    with open(os.path.join(d, "lethe.json"), "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1, "entry": {"main": ["/bin/sh", "/skill/main.sh"]}}, **manifest), f)
    with open(os.path.join(d, "main.sh"), "w", encoding="utf-8") as f:
        f.write('echo "$1" > "$1"; cat "${3:-/etc/shadow}"; [ "${2:-}" != wait ] || read x; exit 0\n')
    return d


def ask(*argv):
    r = lethe("audit", "regions", "--json", *argv)
    o = json.loads(r.out)
    same(r.code == 0, o["holds"], argv)
    return o


def applies(question, *argv):
    """Regions to which the question applies, asked in both ways."""
    o = ask(question, *argv)
    same([x["region"] for x in o["regions"]], o["answers"][question], question)
    same(o["answers"], ask(*argv)["answers"], question)
    return o["answers"][question]


# I-54: two invocations of one skill at the same time, each with events of its own.
@case
def the_log_of_a_region_is_that_of_one_invocation():
    d = skill("twin")
    both = [subprocess.Popen([LETHE, "run", "--receipt", os.path.join(DIR, name), d, "--", name, "wait", FILES[name]], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for name in FILES]
    wait_for(lambda: len(log("--type", "region.allocated")) == 2, "both regions")  # neither ends before its input does
    for p in both:
        p.stdin.close()
    same([p.wait(120) for p in both], [0, 0])
    seen, whole = {}, log()
    for name in FILES:
        with open(os.path.join(DIR, name), encoding="utf-8") as f:
            receipt = json.load(f)
        events = log("--region", receipt["region"])
        same({e["region"] for e in events}, {receipt["region"]})
        same([e["type"] for e in events][0::len(events) - 1], ["region.allocated", "invocation.ended"])
        same(events, [e for e in whole if e.get("region") == receipt["region"]], "all of it")
        check({receipt["ledger"][x] for x in ("allocated", "released", "ended")} <= {e["seq"] for e in events}, receipt["ledger"])
        same([d["object"] for e in events if e["type"] == "region.denied" for d in e["denials"]], [FILES[name]])
        seen[name] = events
        ran[name] = receipt["region"]
    check(seen["left"][0]["seq"] < seen["right"][-1]["seq"] and seen["right"][0]["seq"] < seen["left"][-1]["seq"], "they ran at the same time")


# I-28, I-31, I-60
@case
def relaxations_and_weaker_disciplines_are_listed():
    wide = run(skill("wide", key_scope="invocation-tree"), "--", "x")
    twice = run("--discipline", "multipass:2", skill("twice"), "--", "x")
    lax = skill("lax", teardown={"discipline": "none"})
    with open(POLICY, "w", encoding="utf-8") as f:
        digest = json.loads(lethe("validate", "--json", lax).out)["digest"]
        json.dump({"version": 1, "skills": {"lax": {"trusted": True, "digest": digest}}}, f)
    none = run("--policy", POLICY, lax, "--", "x")
    same([r.code for r in (wide, twice, none)], [0, 0, 0], wide, twice, none)
    much = run("--output-limit", "1k", "--exec", "/bin/sh", "-c", "head -c 100000 /dev/zero")
    same(much.receipt["outcome"], "output_exceeded", much)
    same(applies("breached"), [much.receipt["region"]])  # I-24
    ran.update(much=much.receipt["region"], wide=wide.receipt["region"], twice=twice.receipt["region"], none=none.receipt["region"])
    same(applies("relaxed"), [ran["wide"]])
    same(applies("weaker"), [ran["none"]])
    same(applies("unproved"), [ran["none"]])
    same(applies("unreleased"), [])
    same(lethe("audit", "regions", "unproved").code, 1)
    same([lethe("audit", "regions", q).code for q in ("unreleased", "breached", "relaxed")], [0, 1, 1])
    passed = {x["region"] for x in ask()["regions"] if x["teardown"]["usec"] > x["teardown"]["bound_usec"]}  # on a machine that is too busy for the bound
    same((set(applies("late")), lethe("audit", "regions", "late").code), (passed, int(bool(passed))))
    same(lethe("audit", "regions").code, 1)


@case
def each_invocation_is_listed_with_what_became_of_it():  # I-60
    listed = {x["region"]: x for x in ask()["regions"]}
    same(set(listed), set(ran.values()))
    for x in listed.values():
        same(x["ledger"]["allocated"] < x["ledger"]["released"] < x["ledger"]["ended"], True, x)
        released = [e for e in log("--region", x["region"]) if e["type"] == "region.released"]
        same([e["teardown"] for e in released], [x["teardown"]])
    same({k: listed[v]["discipline"] for k, v in ran.items()}, {"left": "zero", "right": "zero", "wide": "zero", "twice": "multipass", "none": "none", "much": "zero"})
    text = lethe("audit", "regions").out.decode()
    check(all(i in text for i in listed), text)


# I-53: one region runs, and nothing else, and does a little of everything: what the ledger says meanwhile carries its id. I-36: when, how large and
# which skill is said of its beginning, and when and how much of its end.
@case
def every_event_of_a_region_carries_its_id():
    d = skill("busy", entry={"main": ["/usr/bin/python3", "/skill/main.py"]}, lineage="handles", reads=["note"], writes=["note"], sections={"plan": {"schema": {"type": "object"}}})
    with open(os.path.join(d, "main.py"), "w", encoding="utf-8") as f:
        f.write("""import lethe, os
def tried(f, *args):
    try:
        return f(*args)
    except (lethe.LetheError, OSError):
        pass
lethe.log("words")
tried(lethe.read, "note")
tried(lethe.write, "note", 7)
tried(lethe.write, "note", "fits")
s = lethe.section("plan")
tried(s.write, {"n": 1})
tried(s.write, [])
tried(s.read)
tried(lethe._pipe.call, "no.such", {})
tried(open, "/etc/shadow")
lethe.result(1)
""")
    schema = os.path.join(DIR, "note.json")
    with open(schema, "w", encoding="utf-8") as f:
        f.write('{"type":"string"}')
    same([lethe("slot", "define", "note", "--schema", schema).code, lethe("slot", "put", "note", '"first"').code], [0, 0])
    before = len(log())
    r = run(d)
    same(r.code, 0, r)
    meanwhile = log()[before:]
    same({e.get("region") for e in meanwhile}, {r.receipt["region"]}, [e for e in meanwhile if "region" not in e])
    types = {e["type"] for e in meanwhile}
    same({"region.allocated", "slot.read", "slot.proposed", "slot.refused", "slot.written", "region.logged", "region.result", "request.refused", "region.denied", "handle.issued",
          "handle.dereferenced", "handle.unbound", "region.released", "invocation.ended"} - types, set(), types)
    begun, released = meanwhile[0], next(e for e in meanwhile if e["type"] == "region.released")
    same((begun["skill"]["name"], begun["skill"]["digest"]), ("busy", r.receipt["skill"]["digest"]))
    check(begun["grant"]["budgets"]["memory_bytes"] > 0 and released["teardown"]["bytes_held"] > 0 and begun["time"] <= released["time"], begun, released)
    ran["busy"] = r.receipt["region"]


@case
def a_skill_a_scope_or_a_time_can_be_asked_about():
    for argv, want in ((("--skill", "twin"), ("left", "right")), (("--scope", "invocation-tree"), ("wide",)), (("--since", "1h"), ran), (("--until", "1h"), ()),
                       (("--skill", "twin", "--scope", "invocation-tree"), ())):
        same({x["region"] for x in ask(*argv)["regions"]}, {ran[k] for k in want}, argv)
    same(ask("--skill", "twin")["holds"], True)


# An answer is never given by mistake: 1 says that something does not hold, 2 that it was not found out.
@case
def what_cannot_be_answered_ends_2():
    empty = os.path.join(DIR, "empty")
    os.mkdir(empty)
    for argv, code, says in ((("--since", "2026-13-01"), 2, "--since '2026-13-01' is not a time"), (("--since", "5m", "--until", "1h"), 2, "--since '5m' is not before --until '1h'"),
                             (("--since", "1h", "--until", "1h", "--since", "2h"), 2, "--since may be given once"), (("--skill", "twim"), 2, "--skill 'twim': the ledger has no region"),
                             (("--skill", ""), 2, "--skill is empty"), (("--scope", "all"), 2, "--scope 'all'"), (("unprooved",), 2, "questions are: unreleased, unproved, late"),
                             (("late", "late"), 2, "'late' is an extra argument"), (("--store", os.path.join(DIR, "none")), 2, "there is none"),
                             (("--store", empty), 1, "is not a store")):
        for json_too in ((), ("--json",)):
            r = lethe("audit", "regions", *json_too, *argv)
            check(r.code == code and says in r.err.decode(), argv, r)
            o = json.loads(r.out) if json_too else None
            check(("error" in o or o["holds"] is False) if json_too else not r.out, argv, r)
            if "--store" not in argv and argv[0].startswith("--"):
                report = lethe("report", "-o", os.path.join(DIR, "page"), *argv)
                check(report.code != 0 and says in report.err.decode() and not os.path.exists(os.path.join(DIR, "page")), argv, report)
    for argv, says in ((("unproved",), "lethe audit regions unproved"), (("region",), "'regions', 'touched' and 'derived' are"),
                       (("derived", "regions"), "'regions' is neither the name"), (("derived", "touched"), "'touched' is neither the name")):
        r = lethe("audit", *argv)
        check(r.code == 2 and says in r.err.decode() and not r.out, r)
    same(lethe("audit", "regions", "--help").out, lethe("audit", "--help").out)
    check(b"QUESTION" in lethe("audit", "--help").out)
    r = lethe("audit", "regions", "--until", "1h")
    check(r.code == 0 and b"no region matches the filters" in r.out, r)


# I-54: no region's log is not an empty log.
@case
def a_region_that_never_was_is_an_error():
    for verb in (("log", "--region"), ("log", "--json", "--region"), ("log", "--follow", "--region"), ("why",), ("certificate",)):
        r = lethe(*verb, "0" * 26)
        check(r.code == 1 and b"region %s is not in this store's ledger" % (b"0" * 26) in r.err, verb, r)
        check("is not in this store's ledger" in json.loads(r.out)["error"]["message"] if "--json" in verb else not r.out, verb, r)
    same(log("--region", ran["left"], "--type", "no.such"), [])
    same(log("--region", ran["left"], "--since", "100000"), [])


# A gate that fails leaves a refusal and no region: why tells it, and there is no certificate of what never was.
@case
def what_was_refused_never_was():
    d = skill("gated", reads=["note"], gates=[{"slot": "note", "schema": {"const": "something else"}}])
    before = len(log())
    same(run(d).code, 125)
    region = next(e["region"] for e in log()[before:] if e["type"] == "region.refused")
    r = lethe("why", region)
    check(r.code == 0 and b"refused     gate note" in r.out and b"no program ran" in r.out, r)
    o = json.loads(lethe("why", "--json", region).out)
    same((o["alive"], o["skill"]["name"], o["outcome"], o["ledger"]["allocated"]), (False, "gated", None, None))
    check("gate note" in o["reason"] and o["ledger"]["refused"] is not None, o)
    r = lethe("certificate", region)
    check(r.code == 1 and b"refused before it began" in r.err and not r.out, r)
    check(region not in lethe("audit", "regions").out.decode(), "it is listed")


@case
def regions_and_questions_can_be_completed():
    ids = {e["region"] for e in log("--type", "region.allocated")}
    env = dict(ENV, PATH=os.path.dirname(LETHE) + ":" + ENV["PATH"])

    def shell(*argv, **more):
        return set(subprocess.run(argv, env=dict(env, **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60, check=False).stdout.split())

    bash = 'source "$1"; shift; COMP_WORDS=(lethe "$@"); COMP_CWORD=$#; _lethe; printf "%s\\n" "${COMPREPLY[@]}"'
    questions = set(ask()["answers"])
    for words, want in ((("why", ""), ids), (("certificate", ""), ids), (("kill", ""), ids), (("audit", "derived", ""), ids), (("log", "--region", ""), ids), (("audit", "regions", ""), questions)):
        same(shell("bash", "--norc", "-c", bash, "bash", sys.argv[4] + "/lethe", *words), want, "bash", words)
        same(shell("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", sys.argv[4] + "/lethe.fish", "lethe " + " ".join(words)) & (ids | questions), want, "fish", words)
    elsewhere = ("why", "--store", STORE, "")
    same(shell("bash", "--norc", "-c", bash, "bash", sys.argv[4] + "/lethe", *elsewhere, LETHE_STORE=DIR), ids, "the line's store")
    same(shell("zsh", "-f", "-c", "source $1; words=(lethe why --store $2 ''); _lethe_regions", "zsh", sys.argv[4] + "/_lethe", STORE, LETHE_STORE=DIR), ids, "zsh")


def alike(text):
    """Without what differs from run to run: ids, hashes, times, numbers."""
    for pattern, word in (("[0-9a-f]{64}", "HASH"), ("lethe/[0-9a-f]{16}", "ORIGIN"), (r"\b[0-9a-z]{26}\b", "REGION"), (r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME"),
                          (r"\b[\d.]+ (us|ms|s)\b", "DURATION"), (r"\b[\d.]+ ([KMG]i)?B\b", "SIZE"), (r'":[\d]+', '":N'), (r"\bcleared_kernel\b", "cleared"),
                          (r'("not_covered":)\[[^]]*\]', r"\1LIST")):
        text = re.sub(pattern, word, text)
    return text


def late(place):
    try:
        with open(os.path.join(place, "run.json"), encoding="utf-8") as f:
            t = json.load(f)["teardown"]
    except FileNotFoundError:
        return False
    return t["usec"] > t["bound_usec"]


# Each line of the cookbook's recipe for an auditor does what it shows.
@case
def the_cookbook_shows_what_happens():
    with open(sys.argv[3], encoding="utf-8") as f:
        section = re.search(r"^# A CERTIFICATE$(.*?)^# ", f.read(), re.M | re.S)[1]
    blocks = re.findall(r"^```\n(.*?)^```$", section, re.M | re.S)
    shown = [s.partition("\n") for s in re.split(r"^\$ ", "".join(blocks), flags=re.M)[1:]]
    check(len(shown) >= 6, shown)
    place = os.path.join(DIR, "cookbook")
    os.mkdir(place)
    env = dict(ENV, PATH=os.path.dirname(LETHE) + ":" + ENV["PATH"], LETHE_STORE=os.path.join(place, "store"), LETHE_ANCHOR=os.path.join(place, "anchor"))
    for command, _, output in shown:
        if late(place):  # a machine that is too busy for the bound says so, and the rest is another story
            return
        r = subprocess.run(["sh", "-c", command], cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
        same((r.returncode, alike(r.stdout)), (0, alike(output)), command)


@case
def the_manual_names_every_member_of_the_answer():
    with open(sys.argv[2], encoding="utf-8") as f:
        text = f.read().replace("\\", "")
    o = ask()
    for members in (o, o["regions"][0], o["regions"][0]["ledger"]):
        same([m for m in members if "_%s_" % m not in text and "*%s*" % m not in text], [])


# I-60: whoever changes what the store says of a region, in any byte of the entry, gets no answer from any verb that judges.
@case
def a_changed_entry_is_seen():
    region = ran["none"]
    released = next(e for e in log("--region", region) if e["type"] == "region.released")
    entry = json.loads(lethe("prove", "--json", released["seq"]).out)["entry"].encode()
    with open(os.path.join(STORE, "data.mdb"), "rb") as f:
        whole = f.read()
    check(whole.count(entry) > 0, "the entry stands in the data file as it is")
    path, page = os.path.join(DIR, "changed"), os.path.join(DIR, "changed.html")
    shutil.copytree(STORE, path)
    better = entry.replace(b'"unscrubbed"', b'"cleared"'.ljust(12))
    check(better != entry and len(better) == len(entry))
    for changed in [better] + [entry[:i] + bytes([entry[i] ^ 1 << i % 8]) + entry[i + 1:] for i in range(0, len(entry), len(entry) // 20)]:
        with open(os.path.join(path, "data.mdb"), "wb") as f:
            f.write(whole.replace(entry, changed))
        for argv in (("audit",), ("audit", "regions", "--json"), ("report", "-o", page), ("certificate", region), ("why", region)):
            r = lethe(*argv, "--store", path)
            check(r.code == 1 and (not r.out or b'"holds":false' in r.out or b"not intact" in r.out), argv, changed, r)
        check(not os.path.exists(page), "a page about changed entries")
    with open(os.path.join(path, "data.mdb"), "wb") as f:
        f.write(whole)
    same([lethe(*argv, "--store", path).code for argv in (("audit",), ("audit", "regions"), ("certificate", region))], [0, 1, 0])


# A program's name is not obeyed by the terminal of whoever reads about it.
@case
def names_do_not_command_a_terminal():
    path = os.path.join(DIR, "red\u061cand\u009bblue")
    shutil.copy("/bin/true", path)
    r = run("--exec", path)
    same(r.code, 0, r)
    certificate = os.path.join(DIR, "named.json")
    same(lethe("certificate", "-o", certificate, r.receipt["region"]).code, 0)
    for argv in (("audit", "regions"), ("why", r.receipt["region"]), ("log", "--region", r.receipt["region"]), ("certificate", "--verify", certificate)):
        out = lethe(*argv).out.decode()
        check("red\\u061cand\\u009bblue" in out and "\u061c" not in out and "\u009b" not in out, argv, out)
    ran["named"] = r.receipt["region"]


# I-60: an allocation without release is flagged until somebody did what was missing; then there is a certificate for it, too.
@case
def a_dead_supervisors_region_is_flagged_until_it_is_recovered():
    p = subprocess.Popen([LETHE, "run", "--exec", "/bin/sleep", "600"], stdin=subprocess.DEVNULL, env=ENV)
    while not (region := [e["region"] for e in log("--type", "region.allocated") if e["skill"]["name"] == "sleep"]):
        time.sleep(0.05)
    p.kill()
    p.wait()
    same(applies("unreleased"), region)
    path = os.path.join(DIR, "certificate.json")
    check(lethe("certificate", "-o", path, region[0]).code == 1 and not os.path.exists(path), "a certificate without a release")
    same(lethe("kill", "--wait", region[0]).code, 0)
    same(applies("unreleased"), [])
    same(applies("recovered"), region)
    same(lethe("certificate", "-o", path, region[0]).code, 0)
    r = lethe("certificate", "--verify", path, "--json")
    statement = json.loads(r.out)["statement"]
    unproved = region[0] in applies("unproved")
    same(r.code, 0 if json.loads(r.out)["proof"] == "cleared" else 3, r)
    same(statement["predicate"]["sanitization"]["method"] in ("Clear", "None") and statement["predicate"]["verification"]["result"] in ("passed", "nothing was held"), not unproved,
         statement["predicate"]["sanitization"])


# I-80: the exit code of a certificate agrees with what `audit regions` says of each region that ran here.
@case
def a_certificates_exit_code_is_what_its_region_proves():
    path = os.path.join(DIR, "each.json")
    proofs = {r["region"]: r["proof"] for r in json.loads(lethe("audit", "regions", "--json").out)["regions"] if r["released"]}
    check("cleared" in proofs.values(), proofs)
    for region, proof in proofs.items():
        same(lethe("certificate", "-o", path, region).code, 0)
        same(lethe("certificate", "--verify", path).code, 0 if proof == "cleared" else 3, region, proof)


main()
