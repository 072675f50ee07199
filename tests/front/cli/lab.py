"""What tree.py and callbacks.py have in common: skills that do what they are told, and what the ledger says of regions below a region."""
import json
import os
import subprocess
import sys
import time

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, cgroups_left, lethe, log, run, same, wait_for  # noqa: E402

PYTHON = "/usr/bin/python3"
os.chmod(DIR, 0o755)  # in tier landlock root's regions are those of another user
MAIN = {"main": [PYTHON, "/skill/main.py"]}
# Where regions and the test tell each other how far they are: marks are files in it. Whatever must come after something else waits for its mark, however long
# that takes; a wall budget or the suite's own limit ends what never comes.
MARKS = os.path.join(DIR, "marks")
os.makedirs(MARKS)
os.chmod(MARKS, 0o777)
SEES_MARKS = {"files": [{"path": MARKS, "access": "write"}]}


def policy_with_marks():
    """For files that use them: this policy, and so no other file of the host's."""
    ENV["LETHE_POLICY"] = os.path.join(DIR, "marks.policy")
    with open(ENV["LETHE_POLICY"], "w") as f:
        json.dump({"version": 1, **SEES_MARKS}, f)


# What it is told to do stands in its first argument.
LAB = """import json, os, sys, time
import lethe
def mark(name): open(%r + "/" + name, "w").close()
def until(name):
    while not os.path.exists(%r + "/" + name): time.sleep(0.01)
exec(sys.argv[1])
""" % (MARKS, MARKS)
UNTIL = "while ! [ -e " + MARKS + "/%s ]; do sleep 0.01; done"  # the same in the shell
RAW = """
def ask(i, code, skill="helper"):
    os.write(4, (json.dumps({"jsonrpc": "2.0", "id": i, "method": "skill.run", "params": {"skill": skill, "args": [code]}}) + "\\n").encode())
answers = os.fdopen(3)
def answer(): return json.loads(answers.readline())
os.write(4, b'{"jsonrpc":"2.0","id":0,"method":"hello","params":{"protocol":1}}\\n')
answer()
"""


def mark(name):
    open(os.path.join(MARKS, name), "w").close()


def until(name):
    wait_for(lambda: os.path.exists(os.path.join(MARKS, name)), "mark " + name)


def skill(name, manifest=None, files=None, register=True):
    d = os.path.join(DIR, name)
    os.makedirs(d, exist_ok=True)
    with open(os.path.join(d, "SKILL.md"), "w") as f:
        f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
    with open(os.path.join(d, "lethe.json"), "w") as f:
        json.dump(dict({"version": 1, "entry": MAIN}, **(manifest or {})), f)
    for file, text in (files or {"main.py": LAB}).items():
        with open(os.path.join(d, file), "w") as f:
            f.write(text)
        os.chmod(os.path.join(d, file), 0o755)
    if register:
        r = lethe("skill", "add", d)
        same(r.code, 0, r)
    return d


def lab(code, *options, **kw):
    """Runs the code in skill `lab`, which may run all of these; the result is what it passes to lethe.result."""
    return run(*options, "lab", "--", code, **kw)


def refused(code):
    """Runs code that must be refused; the word of the refusal."""
    r = lab("try:\n  %s\nexcept lethe.LetheError as e:\n  lethe.result(e.code)\n" % code)
    same(r.code, 0, r)
    return r.receipt["result"]


def events(region, kind):
    return [e for e in log("--region", region) if e["type"] == kind]


def below(region):
    return [e["region"] for e in log("--type", "region.allocated") if e.get("parent") == region]


def ended(region):
    e = events(region, "invocation.ended")
    same(len(e), 1, region)
    return e[0]


def clean():
    """All of it is gone, and the record holds."""
    same(lethe("ps", "--json").out, b"")
    same(cgroups_left(), [])
    r = lethe("audit")
    same(r.code, 0, r)


skill("helper", SEES_MARKS)
skill("small", {"budgets": {"memory": "24m", "processes": 4, "wall": "5m"}, **SEES_MARKS})
skill("bomb", {"sub_skills": ["bomb"]}, {"main.py": """import lethe, sys
try:
    r = lethe.run("bomb")
    sys.stdout.write(str(1 + int(r["output"])))
except lethe.LetheError as e:
    assert e.code in ("too_many", "no_budget"), e.code
    sys.stdout.write("1")
"""})
skill("inner", {"sub_skills": ["helper"], **SEES_MARKS})
skill("stranger")
skill("entries", {"entry": dict(MAIN, other=["/bin/echo", "from the other entry"])})
skill("lab", {"sub_skills": ["helper", "small", "bomb", "inner", "entries", "absent", "changing", "wild", "endless", "gated"], "sections": {"notes": {"schema": {}}}, **SEES_MARKS})


def start(*argv):
    return subprocess.Popen([LETHE, "run", *argv], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_alive(n):
    for _ in range(4000):
        if len(lethe("ps", "--json").out.splitlines()) >= n:
            return
        time.sleep(0.005)
    raise AssertionError("%d regions are not alive" % n)
