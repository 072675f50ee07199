#!/usr/bin/python3
"""`lethe run` from outside: exit codes, streams, cancellation, slots, receipts, and what must not be left behind. TAP.

usage: run.py LETHE WRITER
"""
import ctypes
import fcntl
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

from tap import DIR, ENV, LETHE, ROOT, STORE, Skip, alone, case, case_when, cgroups_left, check, end_daemon, lethe, log, main, run, same, wait_for
from tiers import TIERS, WHY_NOT

WRITER = os.path.abspath(sys.argv[2])
PY = "/usr/bin/python3"


def skill(name, manifest, files=None):
    """Makes a skill's folder."""
    d = os.path.join(DIR, name)
    os.makedirs(d, exist_ok=True)
    with open(os.path.join(d, "SKILL.md"), "w") as f:
        f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
    with open(os.path.join(d, "lethe.json"), "w") as f:
        json.dump(dict({"version": 1}, **manifest), f)
    shutil.copy(WRITER, os.path.join(d, "writer"))
    for file, text in (files or {}).items():
        with open(os.path.join(d, file), "w") as f:
            f.write(text)
        os.chmod(os.path.join(d, file), 0o755)
    return d


def counter():
    return skill("counter", {"entry": {"main": ["writer"], "stays": ["/bin/sh", "-c", "/skill/writer $1 200; sleep 60", "sh"]},
                             "writes": ["count"], "slots": {"count": {"type": "integer"}}})


def start(*argv, **kw):
    receipt = os.path.join(DIR, "started.json")
    if os.path.exists(receipt):
        os.unlink(receipt)
    kw.setdefault("stdin", subprocess.DEVNULL)
    kw.setdefault("stdout", subprocess.PIPE)
    p = subprocess.Popen([LETHE, "run", "--receipt", receipt, *argv], stderr=subprocess.PIPE, env=ENV, **kw)
    p.receipt = lambda: json.load(open(receipt))
    return p


def alive():
    return [json.loads(l) for l in lethe("ps", "--json").out.splitlines()]


def wait_alive(n=1):
    for _ in range(2000):
        rows = alive()
        if len(rows) == n:
            return rows
        time.sleep(0.005)
    raise AssertionError("%d regions alive, want %d" % (len(alive()), n))


@case
def the_receipt_has_every_member_of_the_contract():
    r = run("--exec", "/bin/true")
    o = r.receipt
    same(r.code, 0, r)
    same(r.out + r.err, b"", "a run that goes well says nothing")
    want = {"version": int, "region": str, "skill": dict, "outcome": str, "exit_code": int, "tier": str, "usage": dict, "denials": list,
            "teardown": dict, "ledger": dict, "timings_usec": dict}
    for k, t in want.items():
        check(isinstance(o[k], t), k, o)
    check(o["signal"] is None and o["limiting_resource"] is None, o)
    same(sorted(o["skill"]), ["digest", "name"])
    for k in ("peak_memory_bytes", "cpu_usec", "wall_usec"):
        check(isinstance(o["usage"][k], int) and o["usage"][k] > 0, k, o)
    t = o["teardown"]
    same((t["discipline"], t["passes"], t["method"], t["by"], t["callbacks"], t["handles_unbound"], t["bytes_missed"]),
         ("zero", 1, "exit_stop", "supervisor", [], 0, {}))  # I-29
    check(t["grade"] in ("cleared", "cleared_kernel") and t["bytes_held"] == t["bytes_overwritten"] == t["bytes_verified"] > 0, t)  # I-16
    check("anonymous_memory" not in t["not_covered"] and t["usec"] > 0 and t["bound_usec"] >= 250000, t)  # computed: more where overwriting is slow (I-72)
    check(o["ledger"]["allocated"] < o["ledger"]["released"] < o["ledger"]["ended"], o)  # I-15
    same(sorted(o["timings_usec"]), ["run", "spawn", "teardown", "total"])


@case
def exit_codes():
    for code, outcome, argv in [
            (0, "exited", ["/bin/true"]), (1, "exited", ["/bin/false"]), (124, "exited", ["/bin/sh", "-c", "exit 124"]),
            (139, "signaled", ["/bin/sh", "-c", "kill -SEGV $$"]), (137, "signaled", ["/bin/sh", "-c", "kill -KILL $$"]),
            (127, "setup_failed", ["/no/such/program"]), (126, "setup_failed", ["/etc/passwd"]), (126, "setup_failed", ["/usr"])]:
        r = run("--exec", *argv)
        same((r.code, r.receipt["outcome"]), (code, outcome), argv, r)
        same(r.receipt["exit_code"], code if outcome == "exited" else None, argv)
        same(r.receipt["signal"], code - 128 if outcome == "signaled" else None, argv)


@case
def an_entry_that_cannot_run():
    bad = skill("bad-format", {"entry": {"main": ["prog"]}}, {"prog": "\x00\x01\x02 not a program"})
    r = run(bad)
    same((r.code, r.receipt["outcome"]), (126, "setup_failed"), r)
    bad = skill("bad-interpreter", {"entry": {"main": ["prog"]}}, {"prog": "#!/no/such/interpreter\n"})
    r = run(bad)
    same((r.code, r.receipt["outcome"]), (127, "setup_failed"), r)
    r = run(os.path.join(DIR, "no-such-skill"))
    same((r.code, r.receipt["outcome"]), (127, "setup_failed"), r)


@case
def usage_errors_end_125_and_run_nothing():
    before = len(log())
    for argv in [[], ["--memory"], ["--memory", "lots", "--exec", "/bin/true"], ["--no-such-option", "x"], ["--json", "--exec", "/bin/true"],
                 ["--cpuset", "1", "--exec", "/bin/true"], ["-v", "nonsense", "--exec", "/bin/true"], ["--network", "moon", "--exec", "/bin/true"]]:
        r = lethe("run", *argv)
        same(r.code, 125, argv, r)
        check(r.err.startswith(b"lethe run: "), r)
        same(r.out, b"")
    for argv in [["--memory", "lots", "--receipt", "R", "--exec", "/bin/true"], ["--receipt", "R", "--no-such-option"], ["--receipt", "R"]]:
        path = os.path.join(DIR, "usage.json")
        with open(path, "w") as f:
            f.write("of an earlier run")
        r = lethe("run", *[path if a == "R" else a for a in argv])
        with open(path) as f:
            receipt = json.load(f)
        same((r.code, receipt["outcome"], receipt["region"]), (125, "setup_failed", None), argv, r)
        check(receipt["reason"].encode() in r.err, argv, r)
    same(len(log()), before)


@case
def a_name_of_any_bytes_is_refused_with_a_receipt():
    """It had none, so that the one of an earlier run stood there."""
    folder = skill("bytes", {"version": 1, "entry": {"main": ["true"]}})
    for argv in (["--exec", "./b\udcff"], ["--exec", "/nope/\udcff"], ["no\udcff"], ["/no\udcff/x"], ["--entry", "e\udcff", folder], ["-v", "/x\udcff:/x", "--exec", "/bin/true"]):
        r = run(*argv)
        check(r.code in (125, 127) and r.receipt and r.receipt["outcome"] == "setup_failed" and r.receipt["region"] is None, argv, r)
        check(all(line.partition(b": ")[2] for line in r.err.splitlines() if line.startswith(b"lethe: ")), argv, r)
        check(b"\\xff" in r.err, argv, r)


@case
def what_never_ran_has_no_time_of_running():
    r = run("-w", "/no/such/folder", "--exec", "/bin/true")
    same((r.code, r.receipt["outcome"], r.receipt["timings_usec"]["run"]), (125, "setup_failed", 0), r)
    t = r.receipt["timings_usec"]
    check(0 < t["spawn"] <= t["total"] - t["teardown"], t)


@case
def options_end_at_the_skill():
    r = run("--exec", "/bin/echo", "--memory", "--receipt", "-v", "--")
    same((r.code, r.out), (0, b"--memory --receipt -v --\n"), r)
    r = run(skill("echo", {"entry": {"main": ["/bin/echo"]}}), "--", "--store", "x")
    same((r.code, r.out), (0, b"--store x\n"), r)


@case
def streams_are_the_skills_own():
    r = run("--exec", "/bin/sh", "-c", "cat; echo err >&2", input=b"in" * 100000, stdin=None)
    same((r.code, r.out, r.err), (0, b"in" * 100000, b"err\n"))
    r = run("--exec", "/usr/bin/wc", "-c")
    same(r.out, b"0\n", "standard input is /dev/null")
    r = run("--exec", "/bin/sh", "-c", "exec 0<&- 1>&- 2>&-; exit 4")
    same(r.code, 4, r)


@case
def a_program_that_may_not_be_looked_up_is_not_called_missing():  # I-79
    hidden = os.path.join(DIR, "hidden")
    os.makedirs(hidden, exist_ok=True)
    shutil.copy("/bin/true", hidden + "/true")
    os.chmod(hidden, 0)
    r = lethe("run", "--exec", hidden + "/true", **({"user": 65534, "group": 65534, "extra_groups": []} if ROOT else {}))
    os.chmod(hidden, 0o700)
    check(r.code == 126 and b"Permission denied" in r.err, r)
    r = run("--exec", "/no/such/program")
    same((r.code, r.receipt["outcome"], r.receipt["skill"]["name"]), (127, "setup_failed", "/no/such/program"), r)


@case
def our_own_descriptors_may_be_closed():
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        p = subprocess.run(["/bin/sh", "-c", '"$0" run --exec /bin/sh -c "exit 3" ' + closed, LETHE], env=ENV, timeout=60)
        same(p.returncode, 3, closed)
    p = subprocess.run(["/bin/sh", "-c", '"$0" run --exec /bin/echo lost >&-', LETHE], env=ENV, timeout=60, stderr=subprocess.PIPE)
    check(p.returncode == 137 and b"standard output" in p.stderr, "output that nobody can have is no success", p)


@case
def a_slow_reader_loses_nothing():
    p = start("--exec", "/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")
    wait_for(lambda: struct.unpack("i", fcntl.ioctl(p.stdout, termios.FIONREAD, bytes(4)))[0] >= 4096, "output that nobody reads")
    same(len(p.stdout.read()), 3000000)
    same(p.wait(30), 0)


@case
def a_reader_that_goes_away_cancels():
    p = start("--exec", "/usr/bin/yes")
    p.stdout.read(10)
    p.stdout.close()
    same(p.wait(30), 128 + signal.SIGPIPE)
    same((p.receipt()["outcome"], p.receipt()["signal"]), ("cancelled", signal.SIGPIPE))


@case
def a_blocked_reader_does_not_stop_the_clock():
    r, w = os.pipe()
    def timed_out():
        return [e["region"] for e in log("--type", "invocation.ended") if e["outcome"] == "timed_out"]
    before = timed_out()
    p = start("--timeout", "500ms", "--exec", "/usr/bin/yes", stdout=w)
    os.close(w)
    wait_for(lambda: timed_out() != before, "its end in the ledger")
    same([x for x in alive()], [], "the region must have ended while nobody reads")
    while os.read(r, 65536):
        pass
    os.close(r)
    same(p.wait(30), 124)
    same(p.receipt()["outcome"], "timed_out")


@case
@alone
def systemd_is_told_by_its_name():
    """A-63: whoever has the name of systemd's manager is told as that, and nobody's cancel. Tests have no systemd."""
    p = start("--exec", "/bin/sleep", "600")
    wait_alive()
    code = "import ctypes, os, sys\nctypes.CDLL(None).prctl(15, b'systemd', 0, 0, 0)\nos.kill(int(sys.argv[1]), 15)\nsys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, str(p.pid)], stdin=subprocess.PIPE) as manager:  # it lives until it was looked at
        same(p.wait(30), 143)
        manager.stdin.close()
    o = p.receipt()
    check(o["outcome"] == "cancelled" and o["reason"].startswith("systemd (process %d of uid %d) stopped " % (manager.pid, os.geteuid())), o)


@case
def cancel_by_signal():
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        p = start("--exec", "/bin/sh", "-c", "trap '' TERM INT HUP; sleep 30 & sleep 30")
        wait_alive()
        p.send_signal(sig)
        same(p.wait(30), 128 + sig)
        o = p.receipt()
        same((o["outcome"], o["signal"], o["exit_code"]), ("cancelled", sig, None), o)
        types = [e["type"] for e in log("--region", o["region"])]
        check("region.cancelled" in types and "invocation.ended" in types, types)
        # I-33, I-34: without the skill's cooperation; a machine that has other things to do passes the bound, and says so
        same(types.count("region.bound_passed"), int(o["teardown"]["usec"] > o["teardown"]["bound_usec"]), o["teardown"])


@case
def cancel_at_any_moment():
    rng = random.Random(7)
    for i in range(40):
        p = start("--quiet", "--exec", "/bin/sleep", "30")
        time.sleep(rng.uniform(0, 0.03))
        p.send_signal(signal.SIGTERM)
        # Before the signal is taken over nothing was made, and it ends the process as it would any other.
        check(p.wait(30) in (143, -signal.SIGTERM), "round %d" % i, p.returncode, p.stderr.read())
    same(alive(), [])


@case
def a_second_signal_does_not_skip_teardown():
    p = start("--exec", "/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do sleep 30 & done; sleep 30")
    wait_alive()
    for _ in range(20):
        p.send_signal(signal.SIGTERM)
        p.send_signal(signal.SIGINT)
    same(p.wait(30), 128 + (signal.SIGINT if p.receipt()["signal"] == signal.SIGINT else signal.SIGTERM))
    check(p.receipt()["ledger"]["ended"], p.receipt())


@case
def kill_ends_a_region_by_its_id():
    p = start("--exec", "/bin/sleep", "30")
    region = wait_alive()[0]["region"]
    r = lethe("kill", "--wait", region)
    same((r.code, alive()), (0, []), r)
    same(p.wait(30), 143)
    same(lethe("kill", region).code, 1)
    same(lethe("kill", "X").code, 2)
    same(lethe("kill", "x").code, 1)
    same(lethe("kill").code, 2)


@case
@alone
def kill_clears_up_an_orphan():  # I-60
    p = start("--exec", "/bin/sleep", "30")
    region = wait_alive()[0]["region"]
    p.kill()
    p.wait()
    same([x["orphan"] for x in alive()], [True])
    check(b"orphan" in lethe("ps").out)
    r = lethe("kill", "--wait", region)
    same((r.code, alive()), (0, []), r)
    types = [e["type"] for e in log("--region", region)]
    same(types, ["region.allocated", "region.released", "region.recovered", "invocation.ended"])
    same(lethe("audit").code, 0)


@case
def slots_are_written_unless_a_budget_is_broken():  # I-24
    s = counter()
    r = run(s, "--", "1", "3")
    same((r.code, r.out), (0, b"acked 1\nacked 2\nacked 3\n"), r)
    same(lethe("slot", "get", "count").out, b"3\n")
    r = run("--output-limit", "1k", "--entry", "stays", s, "--", "100")  # each line is said after its write was acknowledged
    same((r.code, r.receipt["outcome"]), (137, "output_exceeded"), r)
    check(b"acked 100\n" in r.out, r)
    same(lethe("slot", "get", "count").out, b"3\n", "a region that broke its budget commits nothing")
    types = {e["type"] for e in log("--region", r.receipt["region"])}
    check("slot.discarded" in types and "slot.written" not in types, types)
    p = start("--entry", "stays", s, "--", "200")
    while p.stdout.readline() != b"acked 203\n":
        pass
    p.send_signal(signal.SIGTERM)
    p.stdout.read()
    same(p.wait(30), 143)
    check(int(lethe("slot", "get", "count").out) >= 203, "what was acknowledged before a cancel holds")
    r = run(skill("crash", {"entry": {"main": ["/bin/sh", "-c", "/skill/writer 500 1; kill -SEGV $$"]}, "writes": ["count"]}))
    same((r.receipt["outcome"], lethe("slot", "get", "count").out), ("signaled", b"500\n"), r)


@case
def lines_that_nobody_waits_for_are_judged():
    line = '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}\\n{"jsonrpc":"2.0","id":2,"method":"slot.write","params":{"name":"count","value":%d}}\\n'
    r = run(skill("hasty", {"entry": {"main": ["/bin/sh", "-c", "printf '%s' >&4" % (line % 900)]}, "writes": ["count"]}))
    same((r.code, lethe("slot", "get", "count").out), (0, b"900\n"), r)


@case
def a_result_is_in_the_receipt_and_nowhere_else():  # I-2
    line = '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}\\n{"jsonrpc":"2.0","id":2,"method":"result","params":{"value":{"secret-7f3a":1}}}\\n'
    r = run(skill("speaker", {"entry": {"main": ["/bin/sh", "-c", "printf '%s' >&4" % line]}}))
    same((r.code, r.receipt.get("result")), (0, {"secret-7f3a": 1}), r)
    check(b"secret-7f3a" not in lethe("log", "--json").out)


@case
def lies_on_the_pipe_end_only_this_region():
    r = run(skill("liar", {"entry": {"main": ["/bin/sh", "-c", "yes 'no json' >&4; sleep 20"]}}))
    same((r.code, r.receipt["outcome"], r.receipt["limiting_resource"]), (137, "denied", "pipe"), r)
    types = [e["type"] for e in log("--region", r.receipt["region"])]
    check("request.refused" in types and "region.faulted" in types, types)
    for what in ("printf 'half a line' >&4", "exec 3<&- 4>&-", "head -c 2000000 /dev/zero >&4"):
        r = run(skill("odd", {"entry": {"main": ["/bin/sh", "-c", what + "; exit 5"]}}))
        same((r.code, r.receipt["outcome"]), (5, "exited"), what, r)


@case
def denials_name_the_line_that_would_allow_them():
    secret = os.path.join(DIR, "secret.txt")
    with open(secret, "w") as f:
        f.write("s")
    os.chmod(DIR, 0o755)
    os.chmod(secret, 0o644)
    r = run("--exec", PY, "-c", "import sys\nfor _ in range(3):\n  try: open(%r)\n  except OSError: pass\nprint('done')" % secret)
    same((r.code, r.out), (0, b"done\n"), r)
    d = [x for x in r.receipt["denials"] if x["object"] == secret]
    same(len(d), 1, r)
    same((d[0]["count"], d[0]["allow_with"]), (3, '"files": [{"path": "%s", "access": "read"}]' % secret))
    why = lethe("why", r.receipt["region"]).out.decode()
    check(secret in why and d[0]["allow_with"] in why, why)
    o = json.loads(lethe("why", "--json", r.receipt["region"]).out)
    same((o["outcome"], o["denials"][0]["object"]), ("exited", r.receipt["denials"][0]["object"]))
    # And the line does what it says, once the operator grants it.
    r = run("-v", secret + ":" + secret, "--exec", "/bin/cat", secret)
    same((r.code, r.out, r.receipt["denials"]), (0, b"s", []), r)


@case
def writing_where_one_may_only_read_is_reported():
    r = run("--exec", "/bin/sh", "-c", "echo x > /usr/x 2>/dev/null; echo x > /work/x; exit 0")
    same([(d["object"]) for d in r.receipt["denials"]], ["/usr/x"], r)


@case
def calls_that_are_denied_are_reported():
    r = run("--exec", PY, "-c", "import socket\ntry: socket.socket()\nexcept OSError as e: print(e.errno)")
    check(r.out in (b"1\n", b"97\n", b"13\n"), r)
    check(any(d["operation"] == "socket" for d in r.receipt["denials"]), r)


@case
def on_denial_end():
    r = run(skill("strict", {"entry": {"main": [PY, "-c", "import socket, time\ntry: socket.socket()\nexcept OSError: pass\ntime.sleep(20)"]}, "on_denial": "end"}))
    same((r.code, r.receipt["outcome"]), (137, "denied"), r)
    check(r.receipt["denials"], r)


@case
def connect_only_where_it_is_granted():
    import socket
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    good, bad = ["127.0.0.1:%d" % s.getsockname()[1] for s in listeners]
    code = ("import socket, sys\nfor a in sys.argv[1:]:\n  h, p = a.rsplit(':', 1)\n  try:\n    s = socket.create_connection((h, int(p)), 5); "
            "s.sendall(b'x'); s.close(); print('yes')\n  except OSError as e: print('no')")
    r = run("--connect", good, "--exec", PY, "-c", code, good, bad)
    same((r.code, r.out), (0, b"yes\nno\n"), r)
    d = [x for x in r.receipt["denials"] if x["operation"] == "connect"]
    same([(x["object"], x["allow_with"]) for x in d], [(bad, '"network": {"connect": ["%s"]}' % bad)], r)
    same(listeners[0].accept()[0].recv(10), b"x")
    for s in listeners:
        s.close()
    r = run("--connect", good, "--exec", PY, "-c", code, good)
    same(r.out, b"no\n", "refused by the peer", r)


@case
def a_proc_that_was_granted_is_no_denial():
    code = "import os\nfor p in ('/proc/self/status', '/proc/thread-self/stat', '/proc/%d/maps' % os.getpid()): open(p).read()"
    r = run("--proc", "--exec", PY, "-c", code)
    same((r.code, r.receipt["denials"]), (0, []), r)
    r = run("--proc", "--exec", "/bin/sh", "-c", "cat /proc/self/mem >/proc/self/comm; cat /proc/kallsyms")
    same([(d["object"], d["allow_with"]) for d in r.receipt["denials"] if d["object"] in ("/proc/kallsyms", "/proc/self/comm")],
         [("/proc/self/comm", None), ("/proc/kallsyms", None)], r)


@case
def what_validate_would_refuse_is_warned_of():
    d = skill("lenient", {"entry": {"main": ["/bin/true"]}})
    with open(os.path.join(d, "SKILL.md"), "w") as f:
        f.write("---\nname: other\nextra: 1\n---\n")
    r = run(d)
    same(r.code, 0, r)
    for word in (b"warning: SKILL.md:2: ", b"name-folder", b"description", b"unknown-field"):
        check(word in r.err, word, r)
    same(run("--quiet", d).err, b"")
    for name in ("p\u0430yments", "../x"):  # a homoglyph, and what reads as a path, in SKILL.md or as the folder's name
        with open(os.path.join(d, "SKILL.md"), "w") as f:
            f.write("---\nname: %s\ndescription: x\n---\n" % name)
        r = run(d)
        same((r.code, r.receipt["outcome"]), (125, "setup_failed"), r)
        check(b'"%s": only the letters a-z' % name.encode() in r.err, r)
    with open(os.path.join(d, "SKILL.md"), "w") as f:
        f.write("---\ndescription: x\n---\n")
    other = os.path.join(DIR, "p\u0430yments")
    os.rename(d, other)
    r = run(other)
    check(r.code == 125 and b"rename the folder" in r.err, r)


@case
def a_python_skill_need_not_be_denied_anything():
    """Its modules' byte code has no place in a region (I-3: nothing of a run is left to the next one)."""
    d = skill("strict", {"entry": {"main": [PY, "/skill/main.py"]}, "on_denial": "end"},
              {"main.py": "import lethe, part\nlethe.result(part.N)\n", "part.py": "N = 7\n"})
    r = run(d)
    same((r.code, r.receipt["outcome"], r.receipt["denials"], r.receipt.get("result")), (0, "exited", [], 7), r)


@case
def a_policy_says_no():
    policy = os.path.join(DIR, "policy.json")
    with open(policy, "w") as f:
        json.dump({"version": 1, "max": {"memory": "64m"}, "max_regions": 1}, f)
    r = run("--policy", policy, "--memory", "1g", "--exec", "/bin/true")
    check(r.code in (0, 125), r)
    p = start("--exec", "/bin/sleep", "30")
    wait_alive()
    r = run("--policy", policy, "--exec", "/bin/true")
    same((r.code, r.receipt["outcome"], r.receipt["region"], r.receipt["ledger"]["allocated"]), (125, "denied", None, None), r)
    check(b"max_regions" in r.err, r)
    p.terminate()
    same(p.wait(30), 143)
    r = run("--policy", os.path.join(DIR, "no-such-policy"), "--exec", "/bin/true")
    same((r.code, r.receipt["outcome"]), (125, "setup_failed"), r)


@case
def dry_run_changes_nothing():
    store = os.path.join(DIR, "none")
    r = lethe("run", "--store", store, "--dry-run", "--json", "--exec", "/bin/true")
    same(r.code, 0, r)
    check(isinstance(json.loads(r.out), dict))
    check(not os.path.exists(store))
    check(b"memory" in lethe("run", "--dry-run", "--exec", "/bin/true").out)


@case
def a_receipt_that_cannot_be_written_is_told_before_anything_runs():
    before = len(log())
    for path in (os.path.join(DIR, "no/such/folder/r"), DIR, "-", ""):
        r = lethe("run", "--receipt", path, "--exec", "/bin/true")
        same(r.code, 125, path, r)
    same(len(log()), before)


@case
def a_store_that_cannot_be_used():
    for name, make in [("file", lambda p: open(p, "w").close()), ("garbage", lambda p: (os.mkdir(p), open(p + "/data.mdb", "w").write("x" * 9000)))]:
        path = os.path.join(DIR, "bad-" + name)
        make(path)
        r = run("--store", path, "--exec", "/bin/true")
        same((r.code, r.receipt["outcome"]), (125, "setup_failed"), name, r)
        check(r.err, r)


@case_when(ROOT)
def a_store_that_is_mounted_noexec_is_named():
    at = os.path.join(DIR, "noexec")
    os.mkdir(at)
    folder = os.path.join(DIR, "starts-itself")
    os.mkdir(folder)
    for name, text in (("SKILL.md", "---\nname: starts-itself\ndescription: A test.\n---\n"), ("main.sh", "#!/bin/sh\necho ran\n"),
                       ("lethe.json", '{"version": 1, "entry": {"main": ["/skill/main.sh"]}}')):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    os.chmod(os.path.join(folder, "main.sh"), 0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", at], check=True)
    try:
        r = run(folder, env={"LETHE_STORE": at + "/store"})
        same(r.code, 126, r)
        check(b"mounted noexec" in r.err and b"LETHE_STORE" in r.err and "mounted noexec" in r.receipt["reason"], r)
        same(run("--exec", "/bin/echo", "ran", env={"LETHE_STORE": at + "/store"}).code, 0, "what only root can write is not copied")
        subprocess.run(["mount", "-o", "remount,exec", at], check=True)
        r = run(folder, env={"LETHE_STORE": at + "/store"})
        same((r.code, r.out), (0, b"ran\n"), r)
    finally:
        subprocess.run(["umount", at], check=True)


@case
def a_full_store_is_no_success():
    if not ROOT:
        raise Skip("mounting needs root")
    at = os.path.join(DIR, "small")
    os.mkdir(at)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", at], check=True)
    try:
        env = {"LETHE_STORE": at + "/store"}
        seen = set()
        s = counter()
        for i in range(200):
            r = run(s, "--", str(i * 1000), "50", env=env)
            if r.code in (125, 137):
                check(b"cannot" in r.err, r)
                same(r.code == 125, r.receipt["outcome"] == "setup_failed", r)
                check(r.receipt["ledger"]["ended"] is None, r)
                seen.add(r.receipt["outcome"])
                break
            same(r.code, 0, r)
        check(seen, "the store never filled up")
        r = lethe("audit", env=env)
        check(r.code == 0 or b"recovers it" in r.out + r.err, r)
        subprocess.run(["mount", "-o", "remount,size=8m", at], check=True)
        same(lethe("run", "--exec", "/bin/true", env=env).code, 0)
        same(lethe("audit", env=env).code, 0, "with room again, all is made good")
    finally:
        subprocess.run(["umount", at], check=True)


@case
def both_tiers():
    os.chmod(DIR, 0o755)  # in tier landlock root's regions are those of another user
    for tier in TIERS:
        policy = os.path.join(DIR, "tier.json")
        with open(policy, "w") as f:
            json.dump({"version": 1, "min_tier": "landlock"}, f)
        s = skill("tiers", {"entry": {"main": ["/bin/sh", "-c", "/skill/writer 7 1 2>/dev/null; echo x > $HOME/f; sleep 30 & (sleep 30 &) ; exit 3"]},
                            "min_tier": "landlock", "writes": ["count"]})
        r = run("--policy", policy, "--tier", tier, s)
        same((r.code, r.receipt["tier"], r.receipt["outcome"]), (3, tier, "exited"), r)
        same([d for d in os.listdir("/tmp") if d == "lethe-" + r.receipt["region"]], [])


@case
def what_the_region_s_user_cannot_reach_is_named():
    if "landlock" not in TIERS:
        raise Skip(WHY_NOT)
    if os.getuid() != 0:
        raise Skip("needs root: who runs regions under another user")
    os.chmod(DIR, 0o755)
    policy, closed = os.path.join(DIR, "tier.json"), os.path.join(DIR, "closed")
    os.makedirs(os.path.join(closed, "within"))
    os.chmod(closed, 0o700)
    with open(policy, "w") as f:
        json.dump({"version": 1, "min_tier": "landlock"}, f)
    s = skill("reaching", {"entry": {"main": ["/bin/true"]}, "min_tier": "landlock"})
    r = run("--policy", policy, "--tier", "landlock", "-v", "%s/within:%s/within" % (closed, closed), s)
    same((r.code, b'"%s/within"' % closed.encode() in r.err, b"Permission denied" in r.err, b"kernel of version" in r.err), (125, True, True, False), r)
    check(r.receipt["usage"]["scratch_bytes"] < 1 << 20, "what others have in that file system is not its own")


CUT_SHORT = """import ctypes, mmap, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
signals, cut, living = 0, {}, 0
def handler(*_):  # the kernel is told of no SA_RESTART
    global signals
    signals += 1
signal.signal(signal.SIGCHLD, handler)
signal.signal(signal.SIGALRM, handler)
def call(name, f):
    try:
        if f() == -1 and ctypes.get_errno() == 4:
            cut[name] = cut.get(name, 0) + 1
    except InterruptedError:
        cut[name] = cut.get(name, 0) + 1
def fork():
    global living
    if os.fork() == 0:
        os._exit(0)
    living += 1
def opened(path):
    fd = libc.open(path, os.O_RDONLY)
    if fd >= 0:
        os.close(fd)
    return fd
for i in range(300):
    call('fork', fork)
    call('mmap', lambda: mmap.mmap(-1, 4 << 20).close())
    call('open', lambda: opened(b'/dev/null'))
    call('open', lambda: opened(b'.'))
    call('unlink', lambda: libc.unlink(b'nothing'))
    while living > 8:
        os.wait()
        living -= 1
print(signals > 0, cut)  # how many children end before one of them is seen to is the machine's business
os.mkfifo('fifo')
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
print([(libc.open(p, os.O_RDONLY), ctypes.get_errno()) for p in (b'fifo', os.getcwdb() + b'/fifo')])
signal.setitimer(signal.ITIMER_REAL, 0)  # at the interpreter's end the signal would kill"""


@case
def a_call_that_is_asked_about_is_not_cut_short():
    """A signal before the supervisor has taken the question makes no call fail that does not fail so outside; an open that waits for the other end still does."""
    for tier in TIERS:
        r = run("--tier", tier, "--timeout", "5m", "--exec", PY, "-c", CUT_SHORT)
        same((r.code, r.out), (0, b"True {}\n[(-1, 4), (-1, 4)]\n"), tier, r)


ASKS = """import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGCHLD, lambda *_: None)
living = 0
for i in range(300):
    if os.fork() == 0:
        os._exit(0)
    living += 1
    libc.open(b'/asks/%d' % i, os.O_RDWR | os.O_CREAT, 0o600)
    while living > 8:
        os.wait()
        living -= 1"""


def answer_fuse(fuse, seen):
    """A file system in which nothing is, and nothing can be made; it notes by which programs it is asked."""
    INIT, GETATTR, LOOKUP = 26, 3, 1
    while True:
        try:
            q = os.read(fuse, 1 << 17)
        except OSError:
            return  # unmounted
        _, opcode, unique, _, _, _, pid, _ = struct.unpack_from("<IIQQIIII", q)
        try:
            with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
                seen.append((opcode, f.read().strip()))
        except OSError:
            pass
        error, body = 0, b""
        if opcode == INIT:
            body = struct.pack("<4I2H2I36x", 7, 31, 0, 0, 0, 0, 4096, 1)
        elif opcode == GETATTR:
            body = struct.pack("<QII", 1000, 0, 0) + struct.pack("<6Q10I", 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40777, 2, 0, 0, 0, 4096, 0)
        else:
            error = -2 if opcode == LOOKUP else -38
        try:
            os.write(fuse, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
        except OSError:
            pass


@case
def a_file_system_that_was_granted_is_not_asked_by_the_guard():
    """It may answer late or never, and who overwrites the memory waits for nobody."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        raise Skip("needs root: mounts a file system" if os.geteuid() else "this kernel has no FUSE")
    libc, where, seen = ctypes.CDLL(None, use_errno=True), os.path.join(DIR, "asks"), []
    os.mkdir(where)
    fuse = os.open("/dev/fuse", os.O_RDWR)
    if libc.mount(b"asks", where.encode(), b"fuse", 0, b"fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % fuse) != 0:
        raise Skip("a FUSE cannot be mounted")
    server = threading.Thread(target=answer_fuse, args=(fuse, seen))
    server.start()
    try:
        r = run("--tier", "namespaces", "--timeout", "5m", "-v", where + ":/asks:rw", "--exec", PY, "-c", ASKS)
        same(r.code, 0, r)
    finally:
        libc.umount2(where.encode(), 2)
        server.join(30)
        os.close(fuse)
    names = {name for _, name in seen}
    check("python3" in {n[:7] for n in names} and "lethe-guard" not in names, names)


@case
def descriptors_on_the_way_in_one_region_do_not_keep_another_from_starting():  # I-21
    hold = ("import socket, sys, time\n"
            "pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(25)]\n"
            "for a, _ in pairs:\n    for _ in range(6): socket.send_fds(a, [b'x'], [0])\n"
            "print('held', flush=True)\ntime.sleep(30)\n")
    p = subprocess.Popen([LETHE, "run", "--network", "private", "--nofile", "256", "--exec", "/usr/bin/python3", "-c", hold], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, env=ENV)
    try:
        same(p.stdout.readline(), b"held\n")
        same(lethe("run", "--nofile", "64", "--exec", "/bin/true").code, 0)
    finally:
        p.terminate()
        p.communicate(timeout=60)


@case
def a_working_folder_that_is_not_there_is_named():
    r = run("-w", "/nosuch", "--exec", "/bin/true")
    same(r.code, 125, r)
    assert b'"/nosuch" (-w, --workdir): No such file or directory' in r.err, r


@case
def nested_scratch_folders_are_overwritten_and_removed():  # I-29
    deep = ("i=0; while [ $i -lt 300 ]; do mkdir dddddddddd && cd dddddddddd && echo secret >f && mkdir e && chmod 0 e; i=$((i+1)); done; "
            "mkdir /tmp/x && ln -s /usr /tmp/x/l && echo secret >/tmp/x/f && chmod 0 /tmp/x")
    r = run("--timeout", "90s", "--cpu-time", "90s", "--exec", "/bin/sh", "-c", deep)
    t = r.receipt["teardown"]
    same((r.code, t["grade"], t["counts"]["scratch_files"], t["bytes_missed"]), (0, "cleared", 301, {}), r)


@case
def many_at_once():
    ps = [subprocess.Popen([LETHE, "run", "--exec", "/bin/sh", "-c", "exit 9"], stdin=subprocess.DEVNULL, env=ENV) for _ in range(24)]
    same([p.wait(120) for p in ps], [9] * 24)


@case
def nothing_is_left_and_the_audit_holds():
    end_daemon()
    same(cgroups_left(), [])
    same(alive(), [])
    same(sorted(set(os.listdir(STORE)) - {"data.mdb", "lock.mdb", "key", "vkey", "redo", "run", "cache", "scratch", "guard", "skills", "programs"}), [])
    same(set(os.listdir(os.path.join(STORE, "run"))) - {"pages"}, {"alive", "gate"})
    same(os.listdir(os.path.join(STORE, "guard")), ["lock"])
    r = lethe("audit")
    same(r.code, 0, r)


@case
def those_that_just_ended_are_not_recovered():  # I-60
    """Many supervisors of one store: each looks for what dead ones left, while others end and leave."""
    before = len(log("--type", "region.recovered"))
    loop = 'for i in $(seq 15); do "$0" run --exec /bin/true || exit 1; done'
    loops = [subprocess.Popen(["sh", "-c", loop, LETHE], stderr=subprocess.PIPE, env=ENV) for _ in range(8)]
    told = [p.communicate()[1] for p in loops]
    same([p.returncode for p in loops], [0] * 8, told)
    check(not any(told), told)
    same(len(log("--type", "region.recovered")), before)


main()
