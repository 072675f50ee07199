#!/usr/bin/python3
"""Release callbacks, from outside: when each runs, with what, in which order, and what is left when one of them, or the supervisor, does not behave. TAP.

usage: callbacks.py LETHE root|user
"""
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import time

from lab import MAIN, MARKS, PYTHON, RAW, SEES_MARKS, UNTIL, below, clean, ended, events, mark, policy_with_marks, skill, start, until
from tap import DIR, Skip, alone, case, check, lethe, log, main, run, same, sleeps_of, wait_for, wait_runs
from tiers import TIERS, WHY_NOT

policy_with_marks()

# A process that is let go on at its limit takes at least so much: the kernel charges 64 pages at once.
ONE_CHARGE = 64 * 4096

BOOK = "#!/bin/sh\n"


def booker(name, release, main="exit 3", bound="60s", register=False, **scripts):
    """A skill whose callbacks say their name on standard error. The bound is for cases that are about it; the others must not depend on how busy the machine is."""
    files = {"main.sh": BOOK + main + "\n"}
    for r in release:
        files[r["entry"] + ".sh"] = BOOK + scripts.get(r["entry"], "echo called %s >&2" % r["entry"]) + "\n"
    entry = {f[:-3]: [f] for f in files}
    return skill(name, {"entry": entry, "resources": ["seat"], "cancel_bound": bound, "release": release, **SEES_MARKS}, files, register)


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
    what they take between two looks is told. The kernel may move a page to another frame meanwhile: such bytes are recorded as `moved`, and are no growth."""
    many = "import os, time\nx = bytearray(%d << 20)\nfor i in range(12):\n  if os.fork() == 0:\n    %s\n    time.sleep(99)\ntime.sleep(99)"
    for name, code in (("one", "x = bytearray(160 << 20)"), ("many", many % (1, "x = bytearray(40 << 20)")),
                       ("common", many % (50, "for j in range(0, len(x), 4096): x[j] = i"))):
        for tier in TIERS:
            r = run("--memory", "128m", "--tier", tier, "--exec", PYTHON, "-c", code)
            same(r.receipt["outcome"], "out_of_region", name, tier, r)
            check(os.getuid() != 0 or r.receipt["usage"]["peak_memory_bytes"] < (128 << 20) + ONE_CHARGE, name, tier, r)
            missed = dict(r.receipt["teardown"]["bytes_missed"])
            if "moved" in missed:
                print("# %s, %s: %d bytes were moved" % (name, tier, missed.pop("moved")))
            same(missed, {}, name, tier, r)
    clean()


@case
def callbacks_of_sub_skills_count_for_the_one_above():  # I-24, I-35
    booker("spender", [{"entry": "one"}], "exit 0", bound="9s", register=True, one="exec yes >&2")
    skill("frugal", {"sub_skills": ["spender"], "cancel_bound": "9s"})
    r = run("--output-limit", "100k", "frugal", "--", "for i in range(9): lethe.run('spender')")
    same(r.receipt["outcome"], "output_exceeded", r)
    same(len([c for c in below(r.receipt["region"])]), 1, r)
    clean()


@case
def callbacks_share_the_cancel_bound():  # I-33, I-35, I-74
    """One that hangs takes its own part of the time, and those after it run."""
    d = booker("slow", [{"entry": "first"}, {"entry": "second"}, {"entry": "third"}], bound="12s", second="sleep 60")
    r = run(d)
    ran = r.receipt["teardown"]["callbacks"]
    walls = [events(c["region"], "region.allocated")[0]["grant"]["budgets"]["wall_usec"] for c in ran]
    same([c["entry"] for c in ran], ["third", "second", "first"], r)
    for c, wall in zip(ran, walls):  # on a machine that has other things to do a whole part may be over before one of the two has spoken
        used = events(c["region"], "region.released")[0]["usage"]["wall_usec"]
        late = c["outcome"] == "timed_out" and used >= wall
        check(late if c["entry"] == "second" else late or (c["outcome"], c["exit_code"]) == ("exited", 0), c, used, wall, r)
        print("# %s: %s after %d of %d ms" % (c["entry"], c["outcome"], used // 1000, wall // 1000))
    check(all(w <= 9000000 // n for w, n in zip(walls, (3, 2, 1))), "three quarters of the bound, in equal parts for those that are still to come", walls)
    clean()


@case
def a_callback_that_did_not_run_is_tried_again_once():  # I-74
    """The program of one is not there before another one has made it: it cannot be started, and is tried again when the region's storage is given back."""
    tool = os.path.join(MARKS, "tool")
    make = "printf '#!/bin/sh\\necho called late >&2\\n' > %s; chmod 755 %s" % (tool, tool)
    d = skill("again-once", {"entry": {"main": ["main.sh"], "make": ["make.sh"], "late": [tool], "never": [os.path.join(MARKS, "nothing")]}, "resources": ["seat"], "cancel_bound": "60s",
                             "release": [{"entry": "make"}, {"entry": "late"}, {"entry": "never"}], **SEES_MARKS},
              {"main.sh": BOOK + "exit 0\n", "make.sh": BOOK + make + "\n"}, register=False)
    r = run(d)
    same((r.code, callbacks(r)), (0, [("never", "setup_failed", None), ("late", "setup_failed", None), ("make", "exited", 0)]), r)
    got = {c["entry"]: c.get("retry") for c in r.receipt["teardown"]["callbacks"]}
    same((got["make"], got["late"]["outcome"], got["late"]["exit_code"], got["never"]["outcome"]), (None, "exited", 0, "setup_failed"), r)
    same([l for l in r.err.split(b"\n") if l == b"called late"], [b"called late"], r)
    first = r.receipt["region"]
    mine = below(first)
    same(sorted(events(c, "region.allocated")[0]["callback"] for c in mine), ["late", "late", "make", "never", "never"])
    released = events(first, "region.released")[0]
    same(released["teardown"]["callbacks"], r.receipt["teardown"]["callbacks"])
    check(all(ended(c)["seq"] < released["seq"] for c in mine), mine)
    os.unlink(tool)
    clean()


@case
@alone
def a_later_start_tries_again_as_well():  # I-74, I-60
    tool = os.path.join(MARKS, "tool")
    make = "printf '#!/bin/sh\\nexit 0\\n' > %s; chmod 755 %s" % (tool, tool)
    d = skill("again-later", {"entry": {"main": ["main.sh"], "make": ["make.sh"], "late": [tool]}, "resources": ["seat"], "cancel_bound": "60s",
                              "release": [{"entry": "make"}, {"entry": "late"}], **SEES_MARKS},
              {"main.sh": BOOK + "echo ready; sleep 600\n", "make.sh": BOOK + make + "\n"}, register=True)
    p = start(d)
    same(p.stdout.readline(), b"ready\n")
    p.kill()
    p.communicate(timeout=60)
    first = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    recover()
    got = [(c["entry"], c["outcome"], c.get("retry", {}).get("outcome")) for c in events(first, "region.released")[0]["teardown"]["callbacks"]]
    same(got, [("late", "setup_failed", "exited"), ("make", "exited", None)])
    os.unlink(tool)
    clean()


@case
def a_callback_cannot_begin_another_region():
    skill("again", {"entry": dict(MAIN, back=[PYTHON, "/skill/back.py"]), "sub_skills": ["helper", "again"], "resources": ["seat"], "cancel_bound": "60s",
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
    """One that takes long to go holds up nobody: its sibling runs from begin to end meanwhile. Its callback goes on until that has happened."""
    booker("slow-to-go", [{"entry": "one"}], "exit 0", register=True, one="> %s/goes; " % MARKS + UNTIL % "served")
    skill("busy", {"sub_skills": ["slow-to-go", "small"], "cancel_bound": "60s", **SEES_MARKS})
    r = run("--memory", "512m", "busy", "--", RAW + """
ask(1, "", "slow-to-go")
until("goes")
os.write(4, b'{"jsonrpc":"2.0","id":2,"method":"slot.list"}\\n')
ask(3, "lethe.result(3)", "small")
got = [answer()["id"], answer()["id"]]
mark("served")
lethe.result(got + [answer()["id"]])""")
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
    booker("held", [{"entry": "one"}], "sleep 600 & sleep 600", register=True, one="> %s/held; " % MARKS + UNTIL % "sibling-gone")
    skill("mixed", {"sub_skills": ["held", "small"], "cancel_bound": "60s", **SEES_MARKS})
    path = os.path.join(DIR, "mixed.json")
    p = start("--tier", "landlock", "--memory", "512m", "--receipt", path, "mixed", "--", RAW + """
ask(1, "mark('sibling'); until('held')", "small")  # it ends while the callback of the other one runs, and that one goes on until it has ended
until("sibling")
ask(2, "", "held")
first = answer()["id"]
mark("sibling-gone")
lethe.result([first, answer()["id"]])""")
    until("sibling")
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
    booker("slow-to-go", [{"entry": "one"}, {"entry": "two"}], "exit 0", register=True, one="sleep 1", two="> %s/second; sleep 50" % MARKS)
    skill("hasty", {"sub_skills": ["slow-to-go"], "cancel_bound": "2s", **SEES_MARKS})
    r = run("--memory", "512m", "hasty", "--", RAW + 'ask(1, "", "slow-to-go")\nuntil("second")\nos._exit(4)')
    same(r.code, 4, r)
    slow = [c for c in below(r.receipt["region"])][0]
    same([(c["entry"], c["outcome"]) for c in events(slow, "region.released")[0]["teardown"]["callbacks"]][0], ("two", "timed_out"))
    check(ended(slow)["seq"] < events(r.receipt["region"], "region.released")[0]["seq"])
    same(events(slow, "invocation.ended")[0]["outcome"], "exited")
    clean()


@case
def nobody_reads_what_a_callback_says():  # I-14, I-35
    """The region is overwritten and recorded all the same; what was said waits until somebody reads. The one that waits for a reader is ended at its time; the
    other one fills its pipe, and goes on."""
    d = booker("talks", [{"entry": "one"}, {"entry": "stuck", "budgets": {"wall": "500ms"}}], "exit 0", stuck="exec yes >&2",
               one="dd if=/dev/zero bs=4096 count=75 oflag=nonblock >&2 2>/dev/null\nexit 0")
    p = start(d)
    fcntl.fcntl(p.stderr, fcntl.F_SETPIPE_SZ, 4096)  # far less than the pipe that it fills
    wait_for(lambda: [e for e in log("--type", "region.allocated") if e["skill"]["name"] == "talks" and not e.get("callback") and
                      events(e["region"], "invocation.ended")], "its end in the ledger")
    check(p.poll() is None, "what is left to be said waits")
    out = p.communicate(timeout=60)
    same(p.returncode, 0, out[0])
    check(len(out[1]) >= 65536, len(out[1]))
    region = [e["region"] for e in log("--type", "region.allocated") if e["skill"]["name"] == "talks" and not e.get("callback")][0]
    same([(c["entry"], c["outcome"]) for c in events(region, "region.released")[0]["teardown"]["callbacks"]], [("stuck", "timed_out"), ("one", "exited")])
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
def one_at_a_time_finishes_what_a_dead_supervisor_left():  # I-35, I-60
    """While one start runs the callbacks of a dead supervisor's region, another one waits for its turn. Else it took them for interrupted, and recorded the
    region's end while one of them lived."""
    d = booker("turns", [{"entry": "one"}, {"entry": "two"}], "echo ready; sleep 600", register=True, two="> %s/in-turn; " % MARKS + UNTIL % "turn-over")
    p = start(d)
    same(p.stdout.readline(), b"ready\n")
    p.kill()
    p.communicate(timeout=60)
    first = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    has_turn = start("--exec", "/bin/true")
    until("in-turn")
    waits = start("--exec", "/bin/true")
    wait_for(lambda: waits.poll() is not None or sleeps_of(waits.pid) > 300, "the second start")  # far more than a start has: it looks again and again
    same((waits.poll(), events(first, "region.released")), (None, []), "it does not wait")
    mark("turn-over")
    said = [x.communicate(timeout=120) for x in (has_turn, waits)]
    same((has_turn.returncode, waits.returncode), (0, 0), said)
    same([(c["entry"], c["outcome"]) for c in events(first, "region.released")[0]["teardown"]["callbacks"]], [("two", "exited"), ("one", "exited")])
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
    """SIGKILL or SIGTERM to the supervisor of regions that start others with callbacks: the next start finishes all of it, and no callback begins twice. The
    moments are drawn; all that is asserted holds for each."""
    booker("any", [{"entry": "one"}, {"entry": "two"}], "sleep 0.1", bound="5s", register=True, one="sleep 0.1", two="sleep 0.05")
    skill("many", {"sub_skills": ["any", "small", "helper"], "cancel_bound": "5s", "sections": {"n": {"schema": {}}}, "key_scope": "invocation-tree"})
    code = RAW + """
for i in range(3):
    ask(1, "", "any")
    ask(2, "time.sleep(0.1)", "small")
    ask(3, "lethe._pipe.call('hello', {'protocol': 1})")
    for k in range(3): answer()
"""
    seed = random.randrange(1 << 30)
    print("# seed %d" % seed)
    pick = random.Random(seed)
    for i in range(8):
        how = (pick.choice(TIERS), pick.uniform(0.05, 1.5), pick.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)))
        p = start("--tier", how[0], "--memory", "512m", "many", "--", code)
        time.sleep(how[1])
        p.send_signal(how[2])
        out = p.communicate(timeout=60)
        # Before the signal is taken over nothing was made, and it ends the process as it would any other.
        check(how[2] == signal.SIGKILL or p.returncode in (143, 0, -signal.SIGTERM), how, p.returncode, out)
        recover()
        clean()
    begun = [(e["parent"], e["callback"]) for e in log("--type", "region.allocated") if e.get("callback") and not e["skill"]["name"].startswith("again-")]
    same(len(begun), len(set(begun)))


@case
@alone
def a_skill_that_was_changed_meanwhile_is_called_as_it_ran():  # I-65
    """The callbacks of a dead supervisor's region are those of the copy that ran: what became of the folder, also that it is gone, is no matter."""
    for n, change in enumerate(("append", "remove")):
        d = booker("meanwhile%d" % n, [{"entry": "one"}], "echo ready; sleep 60")
        p = start(d)
        same(p.stdout.readline(), b"ready\n")
        p.kill()
        p.communicate(timeout=60)
        first = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
        if change == "append":
            with open(os.path.join(d, "one.sh"), "a") as f:
                f.write("echo called another >&2\n")
        else:
            shutil.rmtree(d)
        r = recover()
        check(b"called one" in r.err and b"another" not in r.err, r)
        same([(c["outcome"], c["exit_code"]) for c in events(first, "region.released")[0]["teardown"]["callbacks"]], [("exited", 0)])
    clean()


main()
