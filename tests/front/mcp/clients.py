#!/usr/bin/python3
"""Other people's clients with `lethe mcp` (A-40, A-43, A-44): SDK 1, SDK 2, and the Inspector in three eras list, call, follow progress, cancel and verify
skills. The clients come from npm; without npm and registry their cases are skipped, and the last case still replays what they said once (tests/data/mcp),
with our answers compared in their shape. LETHE_TEST_RECORD=FOLDER writes new recordings. TAP.

usage: clients.py LETHE DATA root|user
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "cli"))
from account import use  # noqa: E402

import npm  # noqa: E402

DATA = os.path.abspath(sys.argv[2])
NPM, WHY = npm.folder()  # before the user changes, who may not install
use(sys.argv[3])

from tap import DIR, ENV, LETHE, STORE, Skip, case, check, log, main, python_skill, same, wait_for  # noqa: E402

os.chmod(DIR, 0o755)
RECORD = os.environ.get("LETHE_TEST_RECORD")
python_skill("lab", """import json, sys, time
import lethe
q = json.load(sys.stdin)
for n in q.get("progress", []):
    lethe.progress(n, 10)
if "sleep" in q:
    time.sleep(q["sleep"])
if "exit" in q:
    sys.exit(q["exit"])
lethe.result({"sum": q.get("a", 0) + q.get("b", 0)})
""", output={"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}})
python_skill("greeting", "import json, sys\nprint('Greet ' + json.load(sys.stdin)['whom'])", mcp={"as": "prompt", "name": "greet"},
             input={"type": "object", "required": ["whom"], "properties": {"whom": {"type": "string"}}})
python_skill("city", "import json, sys\nprint('in ' + json.load(sys.stdin)['city'], end='')", mcp={"as": "resource", "uri": "weather://{city}"})


def server(name):
    """The server's command; a client gives it an environment of its own, so that all is in the arguments."""
    argv = [LETHE, "mcp", "--store", STORE, "--anchor", ENV["LETHE_ANCHOR"], "--no-serve"]
    return ["/usr/bin/python3", os.path.join(HERE, "record.py"), os.path.join(RECORD, name + ".jsonl"), *argv] if RECORD else argv


def node(script, *argv):
    if not NPM:
        raise Skip(WHY)
    bare = {"PATH": "/usr/bin:/bin", "HOME": DIR}
    return subprocess.run([npm.node(NPM), script, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd=DIR, env=bare, check=False)


def sdk(which):
    if NPM and not os.path.lexists(os.path.join(DIR, "node_modules")):
        os.symlink(os.path.join(NPM, "node_modules"), os.path.join(DIR, "node_modules"))
        with open(os.path.join(HERE, "client.mjs"), encoding="utf-8") as f, open(os.path.join(DIR, "client.mjs"), "w", encoding="utf-8") as to:
            to.write(f.read())
    before = len([e for e in log("--type", "invocation.ended") if e["outcome"] == "cancelled"])
    r = node(os.path.join(DIR, "client.mjs"), which, *server(which))
    same(r.returncode, 0, r.stderr[-1500:])
    said = json.loads(r.stdout)
    same(said, {"tools": ["lethe_run", "lethe_why", "lab"], "sum": {"sum": 42}, "progress": [1, 2, 3], "failed": True, "unknown": -32602, "cancelled": "cancelled", "after": {"sum": 1},
                "prompt": "Greet Ada\n", "resource": "in Bern"})
    wait_for(lambda: len([e for e in log("--type", "invocation.ended") if e["outcome"] == "cancelled"]) == before + 1, "the end of the cancelled call")


@case
def clients_of_the_first_sdk():  # A-40 A-44 A-45
    sdk("sdk1")


@case
def clients_of_the_second_sdk():  # A-40 A-44 A-45
    sdk("sdk2")


def inspect(era, *argv):
    program = NPM and npm.program(NPM, "@modelcontextprotocol/inspector", "mcp-inspector")
    return node(program, "--cli", "--protocol-era", era, *server("inspector-" + era), *argv)


@case
def the_inspector_in_three_eras():  # A-40 A-43 A-44
    for era in ("legacy", "modern", "auto"):
        r = inspect(era, "--method", "tools/list")
        same((r.returncode, [t["name"] for t in json.loads(r.stdout)["tools"]] if r.returncode == 0 else r.stderr[-900:]), (0, ["lethe_run", "lethe_why", "lab"]), era)
        r = inspect(era, "--method", "tools/call", "--tool-name", "lab", "--tool-arg", "a=20", "--tool-arg", "b=22")
        same((r.returncode, json.loads(r.stdout)["structuredContent"] if r.returncode == 0 else r.stderr[-900:]), (0, {"sum": 42}), era)
        r = inspect(era, "--method", "tools/call", "--tool-name", "lab", "--tool-arg", "exit=3")
        same(r.returncode, 5, era, r.stderr[-900:])
        r = inspect(era, "--method", "skills/list", "--verify")
        same(r.returncode, 0, era, r.stdout[-900:], r.stderr[-900:])


def shape(v):
    """What a value is like: members and kinds. A list is like its first item."""
    if isinstance(v, dict):
        return {k: shape(x) for k, x in v.items()}
    if isinstance(v, list):
        return [shape(v[0])] if v else []
    return "number" if isinstance(v, (int, float)) and not isinstance(v, bool) else type(v).__name__


def like(got, want, at=""):
    """The recorded shape is there; members may have been added since."""
    if isinstance(want, dict):
        for k in want:
            check(isinstance(got, dict) and k in got, "%s/%s is missing" % (at, k), got)
            like(got[k], want[k], at + "/" + k)
    elif isinstance(want, list):
        check(isinstance(got, list) and bool(got) == bool(want), at, got)
        for a, b in zip(got, want):
            like(a, b, at + "/0")
    else:
        same(got, want, at)


def replay(path):
    """Says what the client said, each line after the answers that the client had then."""
    with open(path, encoding="utf-8") as f:
        recorded = [json.loads(line) for line in f]
    p = subprocess.Popen([LETHE, "mcp", "--no-serve"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    compared = 0
    for r in recorded:
        m = r["message"]
        if r["from"] == "client":
            p.stdin.write(json.dumps(m).encode() + b"\n")
            p.stdin.flush()
            continue
        line = p.stdout.readline()
        check(line, path, "no answer", m)
        got = json.loads(line)
        same((got.get("id"), got.get("method"), got.get("error", {}).get("code")), (m.get("id"), m.get("method"), m.get("error", {}).get("code")), path)
        like(shape(got), shape(m), os.path.basename(path))
        compared += 1
    p.stdin.close()
    same((p.stdout.read(), p.wait(120)), (b"", 0), path)
    p.stdout.close()
    return compared


@case
def recorded_clients_get_the_same_answers():  # A-40 A-43 A-44 A-45
    paths = sorted(os.path.join(DATA, name) for name in os.listdir(DATA) if name.endswith(".jsonl"))
    same([os.path.basename(p) for p in paths], ["inspector-auto.jsonl", "inspector-legacy.jsonl", "inspector-modern.jsonl", "sdk1.jsonl", "sdk2.jsonl"])
    for path in paths:
        check(replay(path) > 3, path)


main()
