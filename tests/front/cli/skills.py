#!/usr/bin/python3
"""lethe validate, skill and capacity, from outside: exit codes, both outputs, the event. TAP.

usage: skills.py LETHE
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

lethe = sys.argv[1]
temp = tempfile.mkdtemp()  # below reap's own, which removes it: the store's copies are in folders that nobody may write to, an ordinary user neither
env = {"PATH": "/usr/bin:/bin", "HOME": temp, "LETHE_STORE": temp + "/store", "LETHE_ANCHOR": temp + "/anchor", "LANG": "C.UTF-8"}
cases = []


def run(*argv):
    p = subprocess.run([lethe, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=60)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def case(name, good, detail=""):
    cases.append((name, bool(good), detail))


def put(path, text, mode=0o644):
    path = os.path.join(temp, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w" if isinstance(text, str) else "wb") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def skill(name, manifest='{"version":1,"entry":{"main":["run.sh"]}}', md=None):
    put(name + "/SKILL.md", md or f"---\nname: {name}\ndescription: Does it.\n---\nBody\n")
    put(name + "/run.sh", "#!/bin/sh\necho hi\n", 0o755)
    if manifest is not None:
        put(name + "/lethe.json", manifest)
    return os.path.join(temp, name)


# validate: exit 0, 1, 2; every error of one reading with its place and rule.
good = skill("good")
code, out, err = run("validate", good)
case("validate: a good skill", code == 0 and "good: valid, 3 files, sha256:" in out and "exposure: 0 of 100 (low)" in out, (code, out, err))
code, out, err = run("validate", "--json", good)
answer = json.loads(out)
case("validate --json: a good skill", code == 0 and answer["version"] == 1 and answer["valid"] is True and answer["findings"] == []
     and answer["exposure"]["score"] == 0 and answer["name"] == "good" and len(answer["digest"]) == 71, out)

bad = [
    ("strict about SKILL.md", dict(md="---\nname: Bad_Name\ndescription: x\nextra: 1\n---\n"), ["SKILL.md:2:", "[name-characters]", "[name-folder]", "SKILL.md:4:", "[unknown-field]"]),
    ("no front matter", dict(md="# x\n"), ["SKILL.md:1:", "[front-matter]"]),
    ("all faults of lethe.json", dict(manifest='{"version":1,"x":1,"budgets":{"memory":"0"}}'), ["lethe.json#/x:", "lethe.json#/budgets/memory:", "must be from 1 MiB"]),
    ("a value as it was written", dict(manifest='{"version":1,"min_tier":"foo"}'), ["#/min_tier: \"foo\": must be"]),
    ("a key twice", dict(manifest='{"version":1,"proc":true,"proc":true}'), ["duplicate object key near '\"proc\"'"]),
    ("entry that is not there", dict(manifest='{"version":1,"entry":{"main":["gone.sh"],"b":["./gone"]}}'), ["lethe.json#/entry/b/0:", "[entry-missing]"]),
    ("entry that is not executable", dict(manifest='{"version":1,"entry":{"main":["/skill/SKILL.md"]}}'), ["lethe.json#/entry/main/0:", "[entry-executable]"]),
    ("escape in a name", dict(md="---\nname: \"\\e[31mred\"\ndescription: x\n---\n"), ["\\x1b[31mred"]),
]
for i, (what, kw, pieces) in enumerate(bad):
    code, out, err = run("validate", skill(f"bad{i}", **kw))
    case("validate: " + what, code == 1 and all(p in out for p in pieces) and "\033" not in out and "not valid" in out, (code, out, err))
    code, out, err = run("validate", "--json", os.path.join(temp, f"bad{i}"))
    case("validate --json: " + what, code == 1 and json.loads(out)["valid"] is False and len(json.loads(out)["findings"]) > 0, out)
code, out, err = run("validate", skill("hosted", '{"version":1,"entry":{"main":["sh"],"a":["lethe-slot"],"b":["/bin/sh"],"c":["no-such-x"],"d":["/no/such"],"e":["/x/y"]},'
                                       '"files":[{"path":"/usr","access":"read","at":"/x"}]}'))
case("validate: programs that this host has not", code == 0 and out.count("[entry-host]") == 2 and "/entry/c/0: \"no-such-x\": not in the skill's folder" in out
     and "/entry/d/0:" in out, (code, out, err))
os.symlink("/etc/passwd", skill("leaver") + "/x")
code, out, err = run("validate", os.path.join(temp, "leaver"))
case("validate: a symlink out of the folder", code == 1 and "/etc/passwd" in out and "outside" in out, (code, out, err))
os.mkfifo(skill("fifo") + "/x")
case("validate: a FIFO does not block", run("validate", os.path.join(temp, "fifo"))[0] == 1)
for what, argv in [("no folder", ["validate"]), ("two folders", ["validate", good, good]), ("missing folder", ["validate", temp + "/gone"]),
                   ("a file", ["validate", good + "/SKILL.md"]), ("unknown option", ["validate", "--fix", good])]:
    code, out, err = run(*argv)
    case("validate: usage, " + what, code == 2 and err.startswith("lethe validate: ") and out == "", (code, out, err))
code, out, err = run("validate", skill("noted", '{"version":1,"entry":{"main":["sh","run.sh"]},"slots":{"a":true},"files":[{"path":"/nowhere/x","access":"read"}]}'))
case("validate: notes are no errors", code == 0 and "write /skill/run.sh" in out and "[slot-unused]" in out and "[file-missing]" in out, (code, out, err))

# skill: no store is no registry (its folder is a mistake), then events. I-28: a changed manifest is an event of its own.
code, out, err = run("skill", "list")
case("skill list: no store", code == 1 and out == "" and "there is none" in err and not os.path.exists(env["LETHE_STORE"]), (code, out, err))
code, out, err = run("skill", "show", "good")
case("skill show: no store", code == 1 and "there is none" in err, (code, out, err))
code, out, err = run("skill", "add", good)
case("skill add", code == 0 and "good registered, event 1" in out, (code, out, err))
code, out, err = run("skill", "add", "--json", good)
case("skill add: the same again is no event", code == 0 and json.loads(out)["new"] is False and json.loads(out)["seq"] == 1, (code, out, err))
code, out, err = run("skill", "add", skill("another", None))
case("skill add: without lethe.json", code == 0 and "event 2" in out, (code, out, err))
code, out, err = run("skill", "list", "--json")
rows = json.loads(out)["skills"]
case("skill list --json", [r["name"] for r in rows] == ["another", "good"] and rows[0]["manifest"] is None and rows[1]["manifest"].startswith("sha256:"), out)
code, out, err = run("skill", "show", "--json", "good")
shown = json.loads(out)
case("skill show --json", code == 0 and shown["unchanged"] is True and [f["path"] for f in shown["files"]] == ["SKILL.md", "lethe.json", "run.sh"], out)
put("good/lethe.json", '{"version":1,"entry":{"main":["run.sh"]},"writes":["x"]}')
code, out, err = run("skill", "show", "good")
case("skill show: changed", code == 1 and "lethe.json has another content" in out, (code, out, err))
code, out, err = run("skill", "add", good)
case("skill add: changed", code == 0 and "event 3" in out, (code, out, err))
code, out, err = run("log", "--json")
events = [json.loads(line) for line in out.splitlines()]
last = events[-1]
case("the event (I-28)", last["type"] == "skill.registered" and last["skill"]["name"] == "good" and last["who"] == f"uid:{os.getuid()}" and
     last["replaces"] == {"seq": 1, "digest": shown["digest"], "manifest_changed": True} and last["files"] == 3, last)
shutil.rmtree(os.path.join(temp, "good"))
code, out, err = run("skill", "show", "good")
case("skill show: the folder is gone", code == 1 and "registered at" in out, (code, out, err))
code, out, err = run("audit")
case("audit after all that", code == 0, (code, out, err))
for what, argv, want in [("bad folder", ["skill", "add", temp + "/gone"], 1), ("bad skill", ["skill", "add", temp + "/bad1"], 1),
                         ("odd name", ["skill", "add", temp + "/bad0"], 1), ("no action", ["skill"], 2), ("bad action", ["skill", "remove", "x"], 2),
                         ("no name", ["skill", "show"], 2), ("too much", ["skill", "list", "x"], 2)]:
    code, out, err = run(*argv)
    case("skill: " + what, code == want and err.startswith("lethe skill: "), (code, out, err))
code, out, err = run("log", "--json")
case("refusals leave no event", len(out.splitlines()) == len(events), out)

# capacity: I-25.
policy = put("policy.json", '{"version":1,"max":{"memory":"64m"},"max_regions":8,"concurrency":{"*":2,"big":3},"skills":{"small":{"max":{"memory":"16m"}}}}')
code, out, err = run("capacity", "--json", "--policy", policy, "big", "other:4", "small:1")
answer = json.loads(out)
MIB = 1 << 20
case("capacity (I-25)", code == 0 and [r["total_bytes"] for r in answer["skills"]] == [192 * MIB, 256 * MIB, 16 * MIB] and answer["sum_bytes"] == 464 * MIB
     and answer["regions"] == 8 and answer["worst_bytes"] == 464 * MIB, out)
code, out, err = run("capacity", "--policy", policy)
case("capacity: all that policy and store name", code == 0 and all(n in out for n in ["big", "small", "another", "good"]) and "the worst case is 464 MiB" in out, (code, out, err))
code, out, err = run("capacity", "--policy", policy, "big:100")
case("capacity: never more than max_regions", code == 0 and "At most 8 regions" in out and "512 MiB" in out and "up to 256 MiB besides" in out, (code, out, err))
for what, argv, want in [("bad name", ["capacity", "A"], 2), ("bad count", ["capacity", "a:0"], 2), ("twice", ["capacity", "a", "a:2"], 2),
                         ("no policy there", ["capacity", "--policy", temp + "/gone.json", "a"], 2),
                         ("bad policy", ["capacity", "--policy", put("bad.json", '{"version":1,"max":[]}'), "a"], 2)]:
    code, out, err = run(*argv)
    case("capacity: " + what, code == want and err.startswith("lethe capacity: "), (code, out, err))

# I-31: the discipline none is refused at registration unless the policy says that this content is trusted. I-32: it stands in the manifest.
lax = skill("lax", '{"version":1,"entry":{"main":["run.sh"]},"teardown":{"discipline":"none"}}')
code, out, err = run("validate", "--json", lax)
answer = json.loads(out)
digest = answer["digest"]
case("validate: none without trust (I-31)", code == 1 and [(f["pointer"], f["rule"]) for f in answer["findings"]] == [("/teardown/discipline", "trusted")], out)
code, out, err = run("skill", "add", lax)
case("skill add: none without trust (I-31)", code == 1 and "/teardown/discipline" in err and digest in err, (code, out, err))
for what, row in [("another content", {"trusted": True, "digest": "sha256:" + "0" * 64}), ("trusted false", {"trusted": False, "digest": digest})]:
    policy = put("trust.json", json.dumps({"version": 1, "skills": {"lax": row}}))
    case("skill add: none, " + what, run("skill", "add", "--policy", policy, lax)[0] == 1 and run("validate", "--policy", policy, lax)[0] == 1)
code, out, err = run("skill", "list")
case("skill add: what was refused is not there", "lax" not in out, out)
policy = put("trust.json", json.dumps({"version": 1, "skills": {"lax": {"trusted": True, "digest": digest}}}))
case("validate: none with trust", run("validate", "--policy", policy, lax)[0] == 0)
code, out, err = run("skill", "add", "--policy", policy, lax)
case("skill add: none with trust", code == 0 and "lax registered" in out, (code, out, err))
case("run: none without trust", run("run", "--dry-run", "lax")[0] == 125)
code, out, err = run("run", "--dry-run", "--json", "--policy", policy, "lax")
case("run: none with trust", code == 0 and json.loads(out)["discipline"] == "none" and json.loads(out)["passes"] == 0, (code, out, err))
code, out, err = run("run", "--dry-run", "--discipline", "multipass:4", "lax")
case("run: more than the skill asks", code == 0 and "multipass:4" in out, (code, out, err))
code, out, err = run("skill", "list", "--policy", policy)
case("skill: --policy goes with add", code == 2, (code, out, err))

for i, (name, good, detail) in enumerate(cases, 1):
    print(f"{'ok' if good else 'not ok'} {i} - {name}")
    if not good:
        print(f"# {detail}")
print(f"1..{len(cases)}")
sys.exit(0 if all(c[1] for c in cases) else 1)
