#!/usr/bin/python3
"""Regions below a region, from outside: sub-skills (skill.run). What they may use, in which order they end, and what is left when one of them, or the
supervisor, does not behave. TAP.

usage: tree.py LETHE root|user
"""
import json
import os
import signal

from lab import RAW, SEES_MARKS, below, clean, ended, events, lab, mark, policy_with_marks, refused, skill, start, until, wait_alive
from tap import DIR, alone, case, check, lethe, log, main, processes_below, run, same, sleeps_of, state_of, wait_for
from tiers import TIERS

policy_with_marks()


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
    # The kernel tells processor time in hundredths of a second, and each kind of it rounded down.
    r = lab('while time.process_time() < 0.2: pass\nlethe.result(lethe.run("helper", ["1"])["region"])', "--memory", "128m", "--pids-limit", "16", "--timeout", "20s",
            "--cpu-time", "10s", "--scratch", "32m", "--nofile", "99", "--file-size", "3m")
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
t = threading.Thread(target=lambda: lethe.run("helper", ["mark('lent'); time.sleep(60)"]))
t.start()
until('lent')
x = bytearray(100 << 20)
os._exit(0)""", "--memory", "192m")
    same((r.receipt["outcome"], r.receipt["limiting_resource"]), ("out_of_region", "memory"), r)
    same([ended(c)["outcome"] for c in below(r.receipt["region"])], ["cancelled"])
    r = lab('lethe.run("helper", ["1"])\nx = bytearray(100 << 20)\nos._exit(0)', "--memory", "192m")
    same(r.receipt["outcome"], "exited", "what was lent came back", r)
    r = lab("""import threading
x = bytearray(120 << 20)
del x
t = threading.Thread(target=lambda: lethe.run("helper", ["mark('lent-later'); time.sleep(60)"]))
t.start()
until('lent-later')
os._exit(3)""", "--memory", "192m")
    same((r.receipt["outcome"], r.code), ("exited", 3), "what was used before the loan is none of it", r)
    clean()


@case
def time_of_sub_skills_counts_for_the_one_above():
    r = lab('for i in range(50): lethe.run("helper", ["t = time.process_time()\\nwhile time.process_time() < t + 0.3: pass"])', "--cpu-time", "1s")
    if b"no_budget: cpu" not in r.err:  # less than any region needs may be left between two of them
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


@case
def sixteen_at_once_and_the_rest_is_refused():
    """Those that run go on until the others were refused."""
    r = lab(RAW + """
for i in range(1, 31): ask(i, "until('refused')", "small")
got = [answer() for i in range(14)]
mark('refused')
got += [answer() for i in range(16)]
words = sorted(a["error"]["data"]["code"] for a in got if "error" in a)
done = [a["result"]["outcome"] for a in got if "result" in a]
lethe.result([words, done])""", "--memory", "2g", "--pids-limit", "2000", "--timeout", "5m", "--scratch", "1g")
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
    # A region that breaks another budget has time for that; the time ends the region that breaks none.
    budgets = {"memory": "48m", "processes": 6, "output": "200k", "scratch": "8m", "file_size": "16m"}
    skill("wild", {"budgets": dict(budgets, wall="50s")})
    skill("endless", {"budgets": dict(budgets, wall="2s")})
    names = list(hostile)
    r = lab(RAW + """
codes = json.loads(sys.stdin.read())
def one(i):
    ask(2 * i + 1, codes[i][0], codes[i][1])
    ask(2 * i + 2, "print('good')", "small")
    return {a["id"]: a["result"] for a in (answer(), answer())}
out = []
for i in range(len(codes)):
    got = one(i)
    bad, good = got[2 * i + 1], got[2 * i + 2]
    out.append([bad["outcome"], bad.get("result"), good["outcome"], good["output"]])
lethe.result(out)""", "--memory", "512m", "--pids-limit", "100", "--timeout", "5m", "--cpu-time", "5m", "--scratch", "64m",
            stdin=None, input=json.dumps([(code, "endless" if end == "timed_out" else "wild") for code, end in hostile.values()]).encode())
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
ask(1, "until('listed')")
os.write(4, b'{"jsonrpc":"2.0","id":2,"method":"slot.list"}\\n')
first = answer()["id"]
mark('listed')
lethe.result([first, answer()["id"]])""")
    same(r.receipt["result"], [2, 1], r)


@case
def the_end_of_one_leaves_its_siblings_alone():
    """In tier landlock what a region left behind is hunted among our own children, where the workers of the others are."""
    for tier in reversed(TIERS):
        r = lab(RAW + """
tier = %r
for i in range(3): ask(i, "mark('%%s-%%d'); until('%%s-%%d-ends')" %% (tier, i, tier, i), "small")
for i in range(3): until("%%s-%%d" %% (tier, i))
ended = []
for i in range(3):  # all three run when the first ends, and two when the second does
    mark("%%s-%%d-ends" %% (tier, i))
    a = answer()
    ended.append((a["id"], a["result"]["outcome"]))
lethe.result(ended)""" % tier, "--tier", tier, "--memory", "512m")
        same((r.code, (r.receipt or {}).get("result")), (0, [[i, "exited"] for i in range(3)]), tier, r)
    clean()


@case
def a_child_does_not_outlive_its_parent():  # children before parents
    r = lab(RAW + """
ask(1, "lethe.run('helper', ['mark(\\"deep\\"); time.sleep(600)'])", "inner")
ask(2, "mark('beside'); time.sleep(600)")
until("deep")
until("beside")
os._exit(5)""", "--memory", "512m")
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


@case
@alone
def nothing_begins_below_a_region_that_has_ended():  # I-12, I-15
    """The request is in the pipe, and the one that wrote it is gone, before the supervisor looks at either."""
    path = os.path.join(DIR, "last.json")
    p = start("--receipt", path, "lab", "--", RAW + "print('ready', flush=True)\nuntil('stopped')\nask(1, 'time.sleep(60)')\nos._exit(5)")
    same(p.stdout.readline(), b"ready\n")
    p.send_signal(signal.SIGSTOP)
    os.waitpid(p.pid, os.WUNTRACED)  # it stands
    guard = [x for x, name in processes_below(p.pid) if name == "lethe-guard"][0]
    slept = sleeps_of(guard)  # nothing but the program's end wakes it
    mark("stopped")
    wait_for(lambda: sleeps_of(guard) > slept and all(state_of(x) in "tZ" for x, name in processes_below(p.pid) if name.startswith("python")), "its end, and the guard's word")
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
        mine = [json.loads(line)["region"] for line in lethe("ps", "--json").out.splitlines()]
        same(len(mine), n)
        p.kill()
        p.communicate(timeout=60)
        same(run("--exec", "/bin/true").code, 0)
        same([len(events(region, "region.recovered")) for region in mine], [1] * n)
        clean()


@case
@alone
def who_ends_a_dead_supervisors_region_ends_those_below_first():  # I-15, I-60
    p = start("--memory", "512m", "lab", "--", 'lethe.run("inner", ["lethe.run(\'helper\', [\'time.sleep(60)\'])"])')
    wait_alive(3)
    mine = [json.loads(line)["region"] for line in lethe("ps", "--json").out.splitlines()]
    p.kill()
    p.communicate(timeout=60)
    top = next(region for region in mine if not any(region in below(other) for other in mine))
    r = lethe("kill", top)
    same(r.code, 0, r)
    same([len(events(region, "region.recovered")) for region in mine], [1] * 3)
    clean()


@case
def a_key_does_not_go_with_the_output():  # I-11, I-26
    r = lab("""a = lethe.run("helper", ["h = lethe._pipe.call('hello', {'protocol': 1})\\nprint(h.get('key', 'none'))"])
lethe.result([a["output"], a["output_cut"]])""")
    same(r.receipt["result"], ["", True], r)
    child = below(r.receipt["region"])[0]
    check([e for e in events(child, "request.refused") if e["code"] == "key_escape"], log("--region", child))
    same(refused('lethe.run("helper", [lethe._pipe.call("hello", {"protocol": 1})["key"]])'), "key_escape")


main()
