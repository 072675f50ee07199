#!/usr/bin/python3
"""Regions below a region, from outside: sub-skills (skill.run) and release callbacks. What they may use, in which order they end, and what is
left when one of them, or the supervisor, does not behave. TAP.

usage: tree.py LETHE root|user
"""
import json
import os
import random
import signal
import subprocess
import sys
import time

if sys.argv[2] == "user" and os.getuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    os.environ.pop("TMPDIR", None)

from tap import DIR, ENV, LETHE, Skip, alone, case, cgroups_left, check, lethe, log, main, run, same, wait_for, wait_runs  # noqa: E402
from tiers import TIERS, WHY_NOT  # noqa: E402

PYTHON = "/usr/bin/python3"
os.chmod(DIR, 0o755)  # in tier landlock root's regions are those of another user
MAIN = {"main": [PYTHON, "/skill/main.py"]}
# What it is told to do stands in its first argument.
LAB = "import json, os, sys, time\nimport lethe\nexec(sys.argv[1])\n"
# A process that is let go on at its limit takes at least so much: the kernel charges 64 pages at once.
ONE_CHARGE = 64 * 4096


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


skill("helper")
skill("small", {"budgets": {"memory": "24m", "processes": 4}})
skill("bomb", {"sub_skills": ["bomb"]}, {"main.py": """import lethe, sys
try:
    r = lethe.run("bomb")
    sys.stdout.write(str(1 + int(r["output"])))
except lethe.LetheError as e:
    assert e.code in ("too_many", "no_budget"), e.code
    sys.stdout.write("1")
"""})
skill("inner", {"sub_skills": ["helper"]})
skill("stranger")
skill("entries", {"entry": dict(MAIN, other=["/bin/echo", "from the other entry"])})
skill("lab", {"sub_skills": ["helper", "small", "bomb", "inner", "entries", "absent", "changing", "wild", "gated"], "sections": {"notes": {"schema": {}}}})


@case
def the_answer_says_how_it_ended_and_what_it_said():
    r = lab("""a = lethe.run("helper", ["print(sys.argv[2:], sys.stdin.read()); print('aside', file=sys.stderr); lethe.result([1]); sys.exit(3)", "a", ""], input="text é")
lethe.result(a)""")
    same(r.code, 0, r)
    a = r.receipt["result"]
    same({k: v for k, v in a.items() if k != "region"},
         {"outcome": "exited", "exit_code": 3, "signal": None, "limiting_resource": None, "result": [1], "output": "['a', ''] text é\n",
          "output_cut": False})
    same(r.out, b"", "its standard output is not ours")
    check(b"aside" in r.err, r)
    same(below(r.receipt["region"]), [a["region"]])
    same(ended(a["region"])["exit_code"], 3)
    clean()


@case
def output_is_text_and_bounded():
    r = lab("""a = lethe.run("helper", ["sys.stdout.buffer.write(b'a\\\\xff\\\\0b')"])
b = lethe.run("helper", ["sys.stdout.write('x' * 100000)"])
lethe.result([a["output"], a["output_cut"], b["output"] == "x" * 65536, b["output_cut"]])""")
    same(r.receipt["result"], ["a\ufffd\ufffdb", False, True, True], r)


@case
def each_sub_skill_has_a_region_of_its_own():  # I-1, I-3
    r = lab("""open("/work/mine", "w").write("secret")
look = "lethe.result([os.path.exists('/work/mine'), os.getpid(), os.environ['LETHE_REGION']])"
lethe.result([lethe.run("helper", [look])["result"] for i in range(2)])""")
    a, b = r.receipt["result"]
    same((a[0], b[0], a[1] == b[1]), (False, False, True), r)
    check(len({a[2], b[2], r.receipt["region"]}) == 3, r)


@case
def what_the_manifest_does_not_name_is_refused():  # I-18
    same(refused('lethe.run("stranger", ["1"])'), "not_granted")
    same(refused('lethe.run("absent", ["1"])'), "no_skill")
    same(refused('lethe.run("entries", entry="nowhere")'), "no_skill")
    r = lab('lethe.result(lethe.run("entries", entry="other")["output"])')
    same(r.receipt["result"], "from the other entry\n", r)


@case
def a_gate_that_is_closed_is_a_refusal():  # I-50
    with open(os.path.join(DIR, "gate.json"), "w") as f:
        json.dump({"type": "integer"}, f)
    same(lethe("slot", "define", "approved", "--schema", os.path.join(DIR, "gate.json")).code, 0)
    skill("gated", {"reads": ["approved"], "gates": [{"slot": "approved", "schema": {"const": 1}}]})
    same(lethe("slot", "put", "approved", "0").code, 0)
    skill("approver", {"sub_skills": ["gated"], "reads": ["approved"]})
    ask = "try:\n  lethe.result(lethe.run('gated', ['lethe.result(lethe.section(\"gate.approved\").read())'])['result'])\nexcept lethe.LetheError as e:\n  lethe.result(e.code)\n"
    same(run("approver", "--", ask).receipt["result"], "refused")
    same(lethe("slot", "put", "approved", "1").code, 0)
    same(run("approver", "--", ask).receipt["result"], 1)
    # I-23: what the gate shows is in a slot that `lab` may not read, and neither may what it starts
    same(refused('lethe.run("gated", ["1"])'), "refused")


@case
def a_skill_that_was_changed_is_refused():
    d = skill("changing")
    with open(os.path.join(d, "main.py"), "a") as f:
        f.write("# changed\n")
    same(refused('lethe.run("changing", ["1"])'), "no_skill")


@case
def the_policy_holds_for_sub_skills():
    path = os.path.join(DIR, "policy.json")
    with open(path, "w") as f:
        json.dump({"version": 1, "skills": {"helper": {"digest": "sha256:" + "0" * 64}}}, f)
    r = lab('try: lethe.run("helper", ["1"])\nexcept lethe.LetheError as e: lethe.result([e.code, str(e)])', "--policy", path)
    same(r.receipt["result"][0], "refused", r)
    check(DIR not in r.receipt["result"][1] and path in r.err.decode(), "a region hears nothing of the host", r)
    with open(path, "w") as f:
        json.dump({"version": 1, "max_regions": 1}, f)
    r = lab('try: lethe.run("helper", ["1"])\nexcept lethe.LetheError as e: lethe.result(e.code)', "--policy", path)
    same(r.receipt["result"], "too_many", r)


@case
def a_sub_skill_gets_no_more_than_is_left():  # I-23
    r = lab('lethe.result(lethe.run("helper", ["1"])["region"])', "--memory", "128m", "--pids-limit", "16", "--timeout", "20s", "--cpu-time", "10s",
            "--scratch", "32m", "--nofile", "99", "--file-size", "3m")
    same(r.code, 0, r)
    g = events(r.receipt["result"], "region.allocated")[0]["grant"]["budgets"]
    check(16 << 20 < g["memory_bytes"] <= 96 << 20 and 4 <= g["processes"] <= 12 and g["wall_usec"] < 20000000 and g["cpu_usec"] < 10000000 and
          g["scratch_bytes"] <= 24 << 20, g)
    same((g["open_files"], g["file_size_bytes"]), (99, 3 << 20))
    same(refused('lethe.run("small", ["x = bytearray(64 << 20)\\nlethe.result(1)"])["outcome"] == "out_of_region" and lethe.result("broken")'), "broken")
    same(refused('lethe.run("small", ["[os.fork() or time.sleep(5) for i in range(9)]"])["outcome"] == "pids_exceeded" and lethe.result("broken")'), "broken")


@case
def scratch_that_is_full_is_not_lent():  # I-23
    """In tier landlock, too, where nobody but ourselves adds up what is in it."""
    for tier in TIERS:
        r = lab("""open(os.path.join(os.environ["TMPDIR"], "f"), "wb").write(b"x" * (20 << 20))
lethe.result(lethe.run("small", ["f = open(os.path.join(os.environ['TMPDIR'], 'f'), 'wb')\\nfor i in range(256): f.write(b'x' * 65536)"]))""", "--tier", tier, "--scratch", "32m")
        same((r.code, r.receipt["outcome"]), (0, "exited"), tier, r)
        a = r.receipt["result"]
        check(events(a["region"], "region.allocated")[0]["grant"]["budgets"]["scratch_bytes"] <= 9 << 20, tier)
        check(a["outcome"] == "scratch_exceeded" or a["exit_code"] == 1, tier, a)
    clean()


@case
def a_sub_skill_has_no_right_that_the_one_above_has_not():  # I-21, I-28
    """Unless a row of the policy grants it to this very skill, and then the ledger and the audit say so."""
    data, path = os.path.join(DIR, "data"), os.path.join(DIR, "rights.json")
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(data, "f"), "w") as f:
        f.write("held dear")
    os.chmod(data, 0o777)
    ask = {"files": [{"path": data, "access": "write"}], "network": {"connect": ["127.0.0.1:9"]}}
    skill("wanting", ask)
    asker = {"asks-too": ask, "asks-nothing": {}}
    for name, manifest in asker.items():
        skill(name, dict(manifest, sub_skills=["wanting"]))
    digest = json.loads(lethe("validate", "--json", os.path.join(DIR, "wanting")).out)["digest"]
    general = {"files": [{"path": data, "access": "write"}], "network": {"connect": ["127.0.0.1:9"]}}
    row = {"skills": {"wanting": dict(general, digest=digest)}}
    look = """a = lethe.run("wanting", [%r])\nlethe.result([a["region"], a["result"]])""" % (
        "import socket\nout = []\n"
        "for f in (lambda: open(%r).read(), lambda: open(%r, 'a').close(), lambda: socket.socket().connect(('127.0.0.1', 9))):\n"
        "  try: f(); out.append('had')\n"
        "  except ConnectionRefusedError: out.append('had')\n"
        "  except OSError: out.append('no')\nlethe.result(out)" % (data + "/f", data + "/f"))
    beyond = ["connect 127.0.0.1:9", "write " + data]
    for above, options, policy, want, more in (
            ("asks-nothing", (), general, ["no"] * 3, None), ("asks-too", (), general, ["had"] * 3, None),
            ("asks-too", ("-v", "%s:%s:ro" % (data, data)), general, ["had", "no", "had"], None),
            ("asks-too", ("--network", "none"), dict(general, **row), ["had", "had", "no"], None),
            ("asks-nothing", ("--network", "none"), row, ["had", "had", "no"], beyond[1:]), ("asks-nothing", (), row, ["had"] * 3, beyond)):
        with open(path, "w") as f:
            json.dump(dict({"version": 1}, **policy), f)
        r = run("--policy", path, *options, above, "--", look)
        same(r.code, 0, above, r)
        child, got = r.receipt["result"]
        same(got, want, above, options, policy)
        same(events(child, "region.allocated")[0]["grant"].get("beyond_parent"), more)
        listed = [x for x in json.loads(lethe("audit", "regions", "relaxed", "--json").out)["regions"] if x["region"] == child]
        same([x["beyond_parent"] for x in listed], [more] if more else [])
    clean()


@case
def what_is_lent_the_lender_cannot_use():
    """Both together never have more than the budget of the one above."""
    r = lab("""import threading
t = threading.Thread(target=lambda: lethe.run("helper", ["time.sleep(20)"]))
t.start()
time.sleep(1)
x = bytearray(100 << 20)
os._exit(0)""", "--memory", "192m")
    same((r.receipt["outcome"], r.receipt["limiting_resource"]), ("out_of_region", "memory"), r)
    same([ended(c)["outcome"] for c in below(r.receipt["region"])], ["cancelled"])
    r = lab('lethe.run("helper", ["1"])\nx = bytearray(100 << 20)\nos._exit(0)', "--memory", "192m")
    same(r.receipt["outcome"], "exited", "what was lent came back", r)
    r = lab("""import threading
x = bytearray(120 << 20)
del x
t = threading.Thread(target=lambda: lethe.run("helper", ["time.sleep(20)"]))
t.start()
time.sleep(1)
os._exit(3)""", "--memory", "192m")
    same((r.receipt["outcome"], r.code), ("exited", 3), "what was used before the loan is none of it", r)
    clean()


@case
def time_of_sub_skills_counts_for_the_one_above():
    r = lab('for i in range(50): lethe.run("helper", ["t = time.process_time()\\nwhile time.process_time() < t + 0.3: pass"])', "--cpu-time", "1s")
    same(r.receipt["outcome"], "cpu_exceeded", r)
    check(len(below(r.receipt["region"])) < 5, below(r.receipt["region"]))
    r = lab('lethe.run("helper", ["time.sleep(30)"])', "--timeout", "1s")
    same((r.code, r.receipt["outcome"]), (124, "timed_out"), r)
    clean()


@case
def output_of_sub_skills_counts_for_the_one_above():
    r = lab('for i in range(50): lethe.run("helper", ["print(\'x\' * 30000)"])', "--output-limit", "100k")
    same(r.receipt["outcome"], "output_exceeded", r)
    check(len(below(r.receipt["region"])) <= 4, r)


@case
def a_bomb_of_sub_skills_goes_eight_deep():
    r = run("--memory", "1g", "--pids-limit", "500", "bomb")
    same((r.code, r.out), (0, b"8"), r)
    clean()


RAW = """
def ask(i, code, skill="helper"):
    os.write(4, (json.dumps({"jsonrpc": "2.0", "id": i, "method": "skill.run", "params": {"skill": skill, "args": [code]}}) + "\\n").encode())
answers = os.fdopen(3)
def answer(): return json.loads(answers.readline())
os.write(4, b'{"jsonrpc":"2.0","id":0,"method":"hello","params":{"protocol":1}}\\n')
answer()
"""


@case
def sixteen_at_once_and_the_rest_is_refused():
    r = lab(RAW + """
for i in range(1, 31): ask(i, "time.sleep(2)", "small")
got = [answer() for i in range(30)]
words = sorted(a["error"]["data"]["code"] for a in got if "error" in a)
done = [a["result"]["outcome"] for a in got if "result" in a]
lethe.result([words, done])""", "--memory", "2g", "--pids-limit", "2000", "--timeout", "60s", "--scratch", "1g")
    same(r.code, 0, r)
    words, done = r.receipt["result"]
    check(len(words) == 14 and set(words) <= {"too_many", "no_budget"} and "too_many" in words, words)
    same(done, ["exited"] * 16)
    clean()


@case
def hostile_sub_skills_change_nothing_else():  # I-21, I-24, I-34
    """Each beside a sibling that behaves, which has to end as ever; the one above hears how they ended, and goes on."""
    hostile = {
        "hang": ("import signal\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass", "timed_out"),
        "stop": ("os.kill(os.getpid(), 19)", "timed_out"),
        "fork": ("while True:\n  try: os.fork()\n  except OSError: pass", "pids_exceeded"),
        "talk": ("while True: os.write(1, b'x' * 65536)", "output_exceeded"),
        "eat": ("x = bytearray(1 << 30)", "out_of_region"),
        "fill": ("f = open('/work/x', 'wb')\nwhile True: f.write(b'x' * 65536)", ("scratch_exceeded", "file_size_exceeded", "out_of_region")),
        "orphan": ("os.fork() or time.sleep(60)", "exited"),
        "garbage": ("for i in range(200): os.write(4, b'\\xff{]\\n')\ntime.sleep(60)", "denied"),
        "unread": ("for i in range(100000): os.write(4, b'{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1}}\\n')", "timed_out"),
        "results": ("for v in ('x' * 600000, float('1e308'), 'fine', 'twice'):\n  try: lethe.result(v)\n  except (lethe.LetheError, ValueError): pass", "exited"),
        "half": ("os.write(4, b'{\"jsonrpc\":\"2.0\",\"id\":1,\"meth')\nos.write(1, b'\\xf0\\x9f')", "exited"),
    }
    skill("wild", {"budgets": {"wall": "2s", "memory": "48m", "processes": 6, "output": "200k", "scratch": "8m", "file_size": "16m"}})
    names = list(hostile)
    r = lab(RAW + """
codes = json.loads(sys.stdin.read())
def one(i):
    ask(2 * i + 1, codes[i], "wild")
    ask(2 * i + 2, "print('good')", "small")
    return {a["id"]: a["result"] for a in (answer(), answer())}
out = []
for i in range(len(codes)):
    got = one(i)
    bad, good = got[2 * i + 1], got[2 * i + 2]
    out.append([bad["outcome"], bad.get("result"), good["outcome"], good["output"]])
lethe.result(out)""", "--memory", "512m", "--pids-limit", "100", "--timeout", "60s", "--cpu-time", "60s", "--scratch", "64m",
            stdin=None, input=json.dumps([hostile[n][0] for n in names]).encode())
    same(r.code, 0, r)
    for name, (outcome, result, good, said) in zip(names, r.receipt["result"]):
        want = hostile[name][1]
        check(outcome in want if isinstance(want, tuple) else outcome == want, name, outcome)
        same((good, said), ("exited", "good\n"), name)
        check(result is None or name == "results" and result in (1e308, "fine"), name, result)
    clean()


@case
def other_requests_are_answered_meanwhile():
    r = lab(RAW + """
ask(1, "time.sleep(1)")
os.write(4, b'{"jsonrpc":"2.0","id":2,"method":"slot.list"}\\n')
lethe.result([answer()["id"], answer()["id"]])""")
    same(r.receipt["result"], [2, 1], r)


@case
def the_end_of_one_leaves_its_siblings_alone():
    """In tier landlock what a region left behind is hunted among our own children, where the workers of the others are."""
    for tier in reversed(TIERS):
        r = lab(RAW + """
for i, t in enumerate((0.2, 0.8, 1.2)): ask(i, "time.sleep(%s)" % t, "small")
lethe.result([answer()["result"]["outcome"] for i in range(3)])""", "--tier", tier, "--memory", "512m")
        same((r.code, (r.receipt or {}).get("result")), (0, ["exited"] * 3), tier, r)
    clean()


@case
def a_child_does_not_outlive_its_parent():  # children before parents
    r = lab(RAW + 'ask(1, "lethe.run(\'helper\', [\'time.sleep(50)\'])", "inner")\nask(2, "time.sleep(50)")\ntime.sleep(2)\nos._exit(5)', "--memory", "512m")
    same((r.code, r.receipt["outcome"]), (5, "exited"), r)
    first = r.receipt["region"]
    children = below(first)
    deep = [c for child in children for c in below(child)]
    same((len(children), len(deep)), (2, 1))
    same([ended(c)["outcome"] for c in children + deep], ["cancelled"] * 3)
    check(max(ended(c)["seq"] for c in children) < events(first, "region.released")[0]["seq"])
    parent = [c for c in children if below(c)][0]
    check(ended(deep[0])["seq"] < events(parent, "region.released")[0]["seq"])
    clean()


def start(*argv):
    return subprocess.Popen([LETHE, "run", *argv], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_alive(n):
    for _ in range(4000):
        if len(lethe("ps", "--json").out.splitlines()) >= n:
            return
        time.sleep(0.005)
    raise AssertionError("%d regions are not alive" % n)


@case
@alone
def nothing_begins_below_a_region_that_has_ended():  # I-12, I-15
    """The request is in the pipe, and the one that wrote it is gone, before the supervisor looks at either."""
    path = os.path.join(DIR, "last.json")
    p = start("--receipt", path, "lab", "--", RAW + "print('ready', flush=True)\ntime.sleep(0.5)\nask(1, 'time.sleep(60)')\nos._exit(5)")
    same(p.stdout.readline(), b"ready\n")
    p.send_signal(signal.SIGSTOP)
    time.sleep(1)
    p.send_signal(signal.SIGCONT)
    out = p.communicate(timeout=60)
    same(p.returncode, 5, out)
    with open(path) as f:
        first = json.load(f)["region"]
    same(below(first), [])
    same([e["code"] for e in events(first, "request.refused")], ["refused"])
    clean()


@case
def a_cancel_takes_all_of_it_down():
    p = start("--memory", "512m", "lab", "--", 'lethe.run("inner", ["lethe.run(\'helper\', [\'time.sleep(60)\'])"])')
    wait_alive(3)
    p.send_signal(signal.SIGTERM)
    out = p.communicate(timeout=60)
    same(p.returncode, 143, out)
    last = log("--type", "invocation.ended")[-3:]
    same([e["outcome"] for e in last], ["cancelled"] * 3)
    clean()


@case
@alone
def a_killed_supervisor_leaves_nothing_below():  # I-60
    for n in (2, 3):
        p = start("--memory", "512m", "lab", "--", 'lethe.run("inner", ["%s"])' % ("time.sleep(60)" if n == 2 else "lethe.run('helper', ['time.sleep(60)'])"))
        wait_alive(n)
        p.kill()
        p.communicate(timeout=60)
        same(run("--exec", "/bin/true").code, 0)
        same(len(log("--type", "region.recovered")) % 5, 2 if n == 2 else 0)
        clean()


@case
def a_key_does_not_go_with_the_output():  # I-11, I-26
    r = lab("""a = lethe.run("helper", ["h = lethe._pipe.call('hello', {'protocol': 1})\\nprint(h.get('key', 'none'))"])
lethe.result([a["output"], a["output_cut"]])""")
    same(r.receipt["result"], ["", True], r)
    child = below(r.receipt["region"])[0]
    check([e for e in events(child, "request.refused") if e["code"] == "key_escape"], log("--region", child))
    same(refused('lethe.run("helper", [lethe._pipe.call("hello", {"protocol": 1})["key"]])'), "key_escape")


# Release callbacks

BOOK = "#!/bin/sh\n"


def booker(name, release, main="exit 3", bound="2s", register=False, **scripts):
    """A skill whose callbacks say their name on standard error."""
    files = {"main.sh": BOOK + main + "\n"}
    for r in release:
        files[r["entry"] + ".sh"] = BOOK + scripts.get(r["entry"], "echo called %s >&2" % r["entry"]) + "\n"
    entry = {f[:-3]: [f] for f in files}
    return skill(name, {"entry": entry, "resources": ["seat"], "cancel_bound": bound, "release": release}, files, register)


def callbacks(r):
    return [(c["entry"], c["outcome"], c["exit_code"]) for c in r.receipt["teardown"]["callbacks"]]


@case
def callbacks_run_once_in_reverse_order():  # I-35, I-13
    d = booker("order", [{"entry": "one"}, {"entry": "two"}, {"entry": "three"}], two="echo called two >&2; exit 7")
    r = run(d)
    same(r.code, 3, r)
    same(callbacks(r), [("three", "exited", 0), ("two", "exited", 7), ("one", "exited", 0)], r)
    same([l for l in r.err.split(b"\n") if b"called" in l], [b"called three", b"called two", b"called one"])
    first = r.receipt["region"]
    same(events(first, "region.released")[0]["teardown"]["callbacks"], r.receipt["teardown"]["callbacks"])
    mine = below(first)
    same([c["region"] for c in r.receipt["teardown"]["callbacks"]], mine)
    check(all(ended(c)["seq"] < events(first, "region.released")[0]["seq"] for c in mine), mine)
    same(sorted(events(c, "region.allocated")[0]["callback"] for c in mine), ["one", "three", "two"])
    clean()


@case
def callbacks_run_however_it_ends():  # I-12, I-35
    for main_, options, outcome in (("kill -9 $$", [], "signaled"), ("sleep 60", ["--timeout", "300ms"], "timed_out"),
                                    ("while :; do :; done", ["--cpu-time", "200ms"], "cpu_exceeded"),
                                    ("exec %s -c 'x = bytearray(1 << 30)'" % PYTHON, ["--memory", "64m"], "out_of_region"),
                                    ("while :; do echo '{' >&4; done", ["--timeout", "20s"], "denied"), ("yes", ["--output-limit", "64k"], "output_exceeded")):
        d = booker("ends", [{"entry": "one"}], main_, one='echo "called $LETHE_RELEASE $LETHE_OUTCOME" >&2')
        r = run(*options, d)
        same((r.receipt["outcome"], callbacks(r)), (outcome, [("one", "exited", 0)]), r)
        check(("called %s %s" % (r.receipt["region"], outcome)).encode() in r.err, r)
    d = booker("ends", [{"entry": "one"}], "echo ready; sleep 60")
    p = start("--receipt", os.path.join(DIR, "cancelled.json"), d)
    same(p.stdout.readline(), b"ready\n")
    p.send_signal(signal.SIGTERM)
    out = p.communicate(timeout=60)
    same(p.returncode, 143, out)
    check(b"called one" in out[1], out)
    clean()


@case
def a_skill_that_never_ran_has_nothing_to_give_back():
    d = booker("never", [{"entry": "one"}])
    os.unlink(os.path.join(d, "main.sh"))
    with open(os.path.join(d, "main.sh"), "w") as f:
        f.write("#!/nowhere/interpreter\n")
    os.chmod(os.path.join(d, "main.sh"), 0o755)
    r = run(d)
    check(r.code in (126, 127) and b"called" not in r.err, r)


@case
def hostile_callbacks_change_nothing_else():
    hostile = {
        "hang": "trap '' TERM INT HUP; while :; do sleep 100; done",
        "stop": "kill -STOP $$",
        "fork": "while :; do sleep 50 & done",
        "fill": "head -c 1G /dev/zero > /work/x",
        "talk": "yes >&2",
        "orphan": "(trap '' HUP; sleep 50) & exit 0",
        "die": "kill -9 $$",
        "eat": "exec python3 -c 'x = bytearray(1 << 30)'",
    }
    names = list(hostile)
    wall = {"hang": "400ms", "stop": "400ms"}  # the others break another budget, however long that takes
    d = booker("hostile", [{"entry": n, "budgets": {"wall": wall.get(n, "20s"), "memory": "32m", "processes": 8, "output": "64k"}} for n in names], bound="60s",
               **hostile)
    r = run(d, stdin=subprocess.DEVNULL)
    same((r.code, r.receipt["outcome"]), (3, "exited"), r)
    got = {c["entry"]: c["outcome"] for c in r.receipt["teardown"]["callbacks"]}
    same(list(got), names[::-1])
    same((got["hang"], got["stop"], got["fork"], got["talk"], got["orphan"], got["die"], got["eat"]),
         ("timed_out", "timed_out", "pids_exceeded", "output_exceeded", "exited", "signaled", "out_of_region"), got)
    check(got["fill"] in ("out_of_region", "scratch_exceeded", "file_size_exceeded"), got)
    clean()


@case
def the_memory_of_callbacks_is_inside_the_budget():  # I-25, I-35
    """The region holds what it held while a callback runs: both together never have more than the budget."""
    for budgets, outcome in (({"memory": "100m"}, "out_of_region"), ({"memory": "16m"}, "exited")):
        d = booker("inside", [{"entry": "one", "budgets": budgets}], "exec %s -c 'x = bytearray(80 << 20)'" % PYTHON,
                   one="exec %s -c 'x = bytearray(24 << 20)'" % PYTHON)
        r = run("--memory", "128m", d)
        had = min(int(budgets["memory"][:-1]), 64) << 20
        same((r.receipt["outcome"], callbacks(r)[0][1]), (outcome, "exited" if had > 32 << 20 else "out_of_region"), r)
        g = events(r.receipt["teardown"]["callbacks"][0]["region"], "region.allocated")[0]["grant"]
        same(g["budgets"]["memory_bytes"], had)
        check(r.receipt["usage"]["peak_memory_bytes"] + had < (128 << 20) + ONE_CHARGE, r)
    clean()


@case
def nothing_grows_after_the_breach():  # I-24, I-25
    """Who sleeps at the limit sleeps until it is killed: one process, many, and many that have pages in common; their memory can be overwritten all the
    same. What is beyond the limit is what the kernel takes without asking, a page for some of the processes. An ordinary user's regions are accounted, and
    what they take between two looks is told."""
    many = "import os, time\nx = bytearray(%d << 20)\nfor i in range(12):\n  if os.fork() == 0:\n    %s\n    time.sleep(99)\ntime.sleep(99)"
    for name, code in (("one", "x = bytearray(160 << 20)"), ("many", many % (1, "x = bytearray(40 << 20)")),
                       ("common", many % (50, "for j in range(0, len(x), 4096): x[j] = i"))):
        for tier in TIERS:
            for _ in range(3):
                r = run("--memory", "128m", "--tier", tier, "--exec", PYTHON, "-c", code)
                same(r.receipt["outcome"], "out_of_region", name, tier, r)
                check(os.getuid() != 0 or r.receipt["usage"]["peak_memory_bytes"] < (128 << 20) + ONE_CHARGE, name, tier, r)
                same(r.receipt["teardown"]["bytes_missed"], {}, name, tier, r)
    clean()


@case
def callbacks_of_sub_skills_count_for_the_one_above():  # I-24, I-35
    booker("spender", [{"entry": "one"}], "exit 0", bound="9s", register=True, one="while :; do echo x >&2; done")
    skill("frugal", {"sub_skills": ["spender"], "cancel_bound": "9s"})
    r = run("--output-limit", "100k", "frugal", "--", "for i in range(9): lethe.run('spender')")
    same(r.receipt["outcome"], "output_exceeded", r)
    same(len([c for c in below(r.receipt["region"])]), 1, r)
    clean()


@case
def callbacks_share_the_cancel_bound():  # I-33, I-35
    d = booker("slow", [{"entry": "first"}, {"entry": "second"}, {"entry": "third"}], bound="400ms", first="sleep 60", second="sleep 60", third="sleep 60")
    r = run(d)
    same(callbacks(r), [("third", "timed_out", None), ("second", "not_run", None), ("first", "not_run", None)], r)
    same([c["region"] is None for c in r.receipt["teardown"]["callbacks"]], [False, True, True])
    wall = events(r.receipt["teardown"]["callbacks"][0]["region"], "region.allocated")[0]["grant"]["budgets"]["wall_usec"]
    check(wall <= 300000, "three quarters of the bound: the rest is for overwriting", wall)
    clean()


@case
def a_callback_cannot_begin_another_region():
    skill("again", {"entry": dict(MAIN, back=[PYTHON, "/skill/back.py"]), "sub_skills": ["helper", "again"], "resources": ["seat"], "cancel_bound": "4s",
                    "release": [{"entry": "back"}]},
          {"main.py": "", "back.py": "import lethe, sys\ntry:\n  lethe.run('again')\nexcept lethe.LetheError as e:\n  sys.exit(9 if e.code == 'not_granted' else 1)\n"})
    r = run("again")
    same(callbacks(r), [("back", "exited", 9)], r)


@case
def callbacks_of_sub_skills_run_before_the_answer():
    booker("below", [{"entry": "one"}], register=True)
    skill("above", {"sub_skills": ["below"]})
    r = run("above", "--", "lethe.result(lethe.run('below')['region'])")
    child = r.receipt["result"]
    same([c["outcome"] for c in events(child, "region.released")[0]["teardown"]["callbacks"]], ["exited"], r)
    check(b"called one" in r.err, r)
    clean()


@case
def the_others_are_served_while_one_is_taken_down():  # I-14
    """One that takes long to go holds up nobody: its sibling runs from begin to end meanwhile."""
    booker("slow-to-go", [{"entry": "one"}], "exit 0", bound="20s", register=True, one="sleep 3")
    skill("busy", {"sub_skills": ["slow-to-go", "small"], "cancel_bound": "20s"})
    r = run("--memory", "512m", "busy", "--", RAW + """
ask(1, "", "slow-to-go")
time.sleep(1)
os.write(4, b'{"jsonrpc":"2.0","id":2,"method":"slot.list"}\\n')
ask(3, "lethe.result(3)", "small")
lethe.result([answer()["id"] for i in range(3)])""")
    same((r.code, r.receipt["result"]), (0, [2, 3, 1]), r)
    slow, small = [next(c for c in below(r.receipt["region"]) if events(c, "region.allocated")[0]["skill"]["name"] == n) for n in ("slow-to-go", "small")]
    same([c["outcome"] for c in events(slow, "region.released")[0]["teardown"]["callbacks"]], ["exited"])
    check(ended(small)["seq"] < ended(slow)["seq"])
    clean()


@case
@alone
def what_stands_still_is_left_alone():  # I-14, I-35
    """Tier landlock: the first process of a region is killed from outside, and those that it leaves to us are held until its callbacks have run. A
    sibling that ends meanwhile looks for its own orphans, and finds these: they are not its business."""
    if "landlock" not in TIERS:
        raise Skip(WHY_NOT)
    booker("held", [{"entry": "one"}], "sleep 60 & sleep 60", bound="20s", register=True, one="sleep 4")
    skill("mixed", {"sub_skills": ["held", "small"], "cancel_bound": "20s"})
    path = os.path.join(DIR, "mixed.json")
    p = start("--tier", "landlock", "--memory", "512m", "--receipt", path, "mixed", "--", RAW + """
ask(1, "time.sleep(3)", "small")
time.sleep(0.5)
ask(2, "", "held")
lethe.result([answer()["id"], answer()["id"]])""")
    wait_runs(p, "sleep", 2)
    workers = []
    with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
        for pid in f.read().split():
            with open("/proc/%s/stat" % pid) as s:
                name, rest = s.read().rsplit(")", 1)
            if name.endswith("(lethe-worker"):
                workers.append((int(rest.split()[19]), int(pid)))
    same(len(workers), 3)
    os.kill(max(workers)[1], signal.SIGKILL)
    out = p.communicate(timeout=60)
    same(p.returncode, 0, out)
    with open(path) as f:
        r = json.load(f)
    same(r["result"], [1, 2])
    held = [c for c in below(r["region"]) if events(c, "region.allocated")[0]["skill"]["name"] == "held"][0]
    t = events(held, "region.released")[0]["teardown"]
    same((t["grade"], [c["outcome"] for c in t["callbacks"]]), ("cleared", ["exited"]), t)
    clean()


@case
def callbacks_of_a_sub_skill_are_done_within_the_bound_above():  # I-33, I-35
    """The one above ends while a callback runs: it is not cut off, but has to be done within the bound above; and those end first."""
    booker("slow-to-go", [{"entry": "one"}, {"entry": "two"}], "exit 0", bound="60s", register=True, one="sleep 1", two="sleep 50")
    skill("hasty", {"sub_skills": ["slow-to-go"], "cancel_bound": "2s"})
    r = run("--memory", "512m", "hasty", "--", RAW + 'ask(1, "", "slow-to-go")\ntime.sleep(1)\nos._exit(4)')
    same(r.code, 4, r)
    slow = [c for c in below(r.receipt["region"])][0]
    same([(c["entry"], c["outcome"]) for c in events(slow, "region.released")[0]["teardown"]["callbacks"]], [("two", "timed_out"), ("one", "not_run")])
    check(ended(slow)["seq"] < events(r.receipt["region"], "region.released")[0]["seq"])
    same(events(slow, "invocation.ended")[0]["outcome"], "exited")
    clean()


@case
def nobody_reads_what_a_callback_says():  # I-14, I-35
    """The region is overwritten and recorded all the same; what was said waits until somebody reads."""
    d = booker("talks", [{"entry": "one"}], "exit 0", bound="1s", one="head -c 300000 /dev/zero >&2")
    p = start(d)
    wait_for(lambda: [e for e in log("--type", "region.allocated") if e["skill"]["name"] == "talks" and not e.get("callback") and
                      events(e["region"], "invocation.ended")], "its end in the ledger")
    check(p.poll() is None, "what is left to be said waits")
    out = p.communicate(timeout=60)
    same(p.returncode, 0, out[0])
    check(len(out[1]) >= 65536, len(out[1]))
    clean()


@case
@alone
def callbacks_that_a_later_start_runs_have_no_more_than_the_region():  # I-35, I-60
    """The command line that took the network away died with its supervisor."""
    path = os.path.join(DIR, "allows.json")
    with open(path, "w") as f:
        json.dump({"version": 1, "network": {"connect": ["127.0.0.1:9"]}}, f)
    d = booker("narrowed", [{"entry": "one"}], "echo ready; sleep 60", bound="4s", register=True)
    with open(os.path.join(d, "lethe.json")) as f:
        manifest = dict(json.load(f), network={"connect": ["127.0.0.1:9"]})
    with open(os.path.join(d, "lethe.json"), "w") as f:
        json.dump(manifest, f)
    same(lethe("skill", "add", d).code, 0)
    for options, mode in ((("--network", "none", "--discipline", "multipass:2", "--memory", "50m"), "none"), ((), "connect")):
        p = start("--policy", path, *options, d)
        same(p.stdout.readline(), b"ready\n")
        p.kill()
        p.communicate(timeout=60)
        first = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
        same(lethe("run", "--policy", path, "--exec", "/bin/true").code, 0)
        g = events(below(first)[0], "region.allocated")[0]["grant"]
        same((g["network"]["mode"], g["discipline"], g["passes"]), (mode, "multipass" if options else "zero", 2 if options else 1))
        same(g["budgets"]["memory_bytes"], (25 if options else 32) << 20)
    clean()


def recover():
    r = lethe("run", "--exec", "/bin/true")
    same(r.code, 0, r)
    return r


@case
@alone
def a_killed_supervisor_owes_the_callbacks():  # I-35, I-60
    d = booker("owed", [{"entry": "one"}, {"entry": "two"}], "echo ready; sleep 60", register=True)
    p = start(d)
    same(p.stdout.readline(), b"ready\n")
    p.kill()
    p.communicate(timeout=60)
    first = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    r = recover()
    same([l for l in r.err.split(b"\n") if b"called" in l], [b"called two", b"called one"], r)
    same([(c["entry"], c["outcome"]) for c in events(first, "region.released")[0]["teardown"]["callbacks"]], [("two", "exited"), ("one", "exited")])
    same(recover().err, b"", "once")
    clean()


@case
@alone
def none_begins_twice():  # I-35
    d = booker("twice", [{"entry": "one"}, {"entry": "two"}], "exit 0", bound="60s", two="echo called two >&2; sleep 60")
    p = start(d)
    same(p.stderr.readline(), b"called two\n")  # the callback stands beside the region that it is for
    p.kill()
    p.communicate(timeout=60)
    first = [json.loads(l)["region"] for l in lethe("ps", "--json").out.splitlines()]
    r = recover()
    same([l for l in r.err.split(b"\n") if b"called" in l], [b"called one"], r)
    done = [events(f, "region.released")[0]["teardown"]["callbacks"] for f in first]
    same([[(c["entry"], c["outcome"]) for c in d] for d in done if d], [[("two", "interrupted"), ("one", "exited")]])
    clean()


@case
def a_tree_is_killed_at_any_moment():  # I-15, I-35, I-60
    """SIGKILL or SIGTERM to the supervisor of regions that start others with callbacks: the next start finishes all of it, and no callback begins twice."""
    booker("any", [{"entry": "one"}, {"entry": "two"}], "sleep 0.1", bound="5s", register=True, one="sleep 0.1", two="sleep 0.05")
    skill("many", {"sub_skills": ["any", "small", "helper"], "cancel_bound": "5s", "sections": {"n": {"schema": {}}}, "key_scope": "invocation-tree"})
    code = RAW + """
for i in range(3):
    ask(1, "", "any")
    ask(2, "time.sleep(0.1)", "small")
    ask(3, "lethe._pipe.call('hello', {'protocol': 1})")
    for k in range(3): answer()
"""
    pick = random.Random(os.getpid())
    for i in range(12):
        how = (pick.choice(TIERS), pick.uniform(0.05, 1.5), pick.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
        p = start("--tier", how[0], "--memory", "512m", "many", "--", code)
        time.sleep(how[1])
        p.send_signal(how[2])
        out = p.communicate(timeout=60)
        check(how[2] == signal.SIGKILL or p.returncode in (143, 0), how, p.returncode, out)
        recover()
        clean()
    begun = [(e["parent"], e["callback"]) for e in log("--type", "region.allocated") if e.get("callback")]
    same(len(begun), len(set(begun)))


@case
@alone
def a_skill_that_was_changed_meanwhile_is_not_called():
    d = booker("meanwhile", [{"entry": "one"}], "echo ready; sleep 60")
    p = start(d)
    same(p.stdout.readline(), b"ready\n")
    p.kill()
    p.communicate(timeout=60)
    first = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    with open(os.path.join(d, "one.sh"), "a") as f:
        f.write("echo called another >&2\n")
    r = recover()
    check(b"called" not in r.err.replace(b"callbacks", b""), r)
    same([c["outcome"] for c in events(first, "region.released")[0]["teardown"]["callbacks"]], ["not_run"])
    clean()


main()
