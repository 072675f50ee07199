#!/usr/bin/python3
"""`lethe map` from outside: a region for each line, results in order, what fails, signals, lost readers, a lost daemon, and where it goes on. TAP.

usage: map.py LETHE root|user
"""
import contextlib
import json
import os
import signal
import subprocess
import sys

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ROOT, alone, ask_daemon, case, case_when, check, lethe, log, main, processes_below, python_skill, same, start_daemon, stop_daemon, wait_for  # noqa: E402

os.chmod(DIR, 0o755)
MEET = os.path.join(DIR, "meet")
os.mkdir(MEET)
os.chmod(MEET, 0o777)
LAB = """import json, os, sys, time
v = json.load(sys.stdin)
def wait(name):
    until = time.monotonic() + 100
    while not os.path.exists(name) and time.monotonic() < until:
        time.sleep(0.01)
if v == "fail":
    sys.exit(3)
if v == "kill":
    os.kill(os.getpid(), 9)
if v == "held":
    held = bytearray(400 << 20)
if v == "open":
    try:
        open("/etc/shadow")
    except OSError:
        sys.exit(1)
if v == "say":
    print("one\\x1b[2J", file=sys.stderr)
if v == "text":
    print("no JSON")
elif isinstance(v, dict) and "meet" in v:
    open("/meet/%d" % v["meet"], "w").close()
    for i in v["with"]:
        wait("/meet/%d" % i)
    print(v["meet"])
elif isinstance(v, dict) and "wait" in v:
    open("/meet/waits", "w").close()
    wait("/meet/" + v["wait"])
    print('"waited"')
elif isinstance(v, dict) and "long" in v:
    print(json.dumps("x" * v["long"]))
else:
    print(' { "got":\\t' + json.dumps(v) + ', "exact": 1.10 }\\n')
"""
python_skill("lab", LAB, warm={"preload": ["json", "time"]}, entry={"main": ["python3", "/skill/main.py"]})


def lines(*values):
    return "".join(json.dumps(v) + "\n" for v in values).encode()


def map_(*argv, **kw):
    r = lethe("map", *argv, **kw)
    r.said, r.err = r.out.decode().splitlines(), r.err.decode()
    r.out = [json.loads(line) for line in r.said]
    return r


def start(*argv, **kw):
    env = dict(ENV, **kw.pop("env", {}))
    return subprocess.Popen([LETHE, "map", *argv], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


def meeting():
    for name in os.listdir(MEET):
        os.unlink(os.path.join(MEET, name))
    return "-v", MEET + ":/meet:rw"


def finish(p):
    out, err = p.communicate(timeout=120)
    return p.returncode, out.decode().splitlines(), err.decode()


def ended():
    return log("--type", "invocation.ended")


@case
def a_line_is_a_region_and_its_result_a_line_in_order():
    before = len(ended())
    r = map_("-j", "3", "lab", input=lines(1, "fail", {"a": [1, None]}, "kill", "é\"\\\t", "text") + b"{bad\n \t[ 2 ]\r\n7")
    same(r.code, 1, r)
    same([o["ok"] for o in r.out], [True, False, True, False, True, False, False, True, True], r)
    same(r.said[0], '{"ok":true,"value":{"got":1,"exact":1.10}}')
    same([r.out[i]["value"]["got"] for i in (2, 4, 7, 8)], [{"a": [1, None]}, "é\"\\\t", [2], 7])
    same([(r.out[i]["outcome"], r.out[i]["exit_code"]) for i in (1, 3, 5)], [("exited", 3), ("signaled", 137), ("not_json", 0)])
    same((r.out[6]["outcome"], "region" in r.out[6]), ("bad_input", False))
    check("line 7: not one JSON value" in r.err and "9 lines, 5 ok, 4 failed" in r.err, r)
    of = {e["region"] for e in ended()[before:]}
    same((len(of), {r.out[i]["region"] for i in (1, 3, 5)} <= of), (8, True), r)


@case
def a_failed_line_says_how():
    r = map_("-j", "2", "--memory", "96m", "lab", input=lines("held", "open"))
    same([(o["ok"], o["outcome"]) for o in r.out], [(False, "out_of_region"), (False, "exited")], r)
    same((r.out[1]["exit_code"], r.out[1]["denials"] > 0), (1, True), r)


@case
def programs_arguments_and_text():
    same(map_("--exec", "/bin/cat", input=b'{"b": 1, "a": 2}\n').said, ['{"ok":true,"value":{"b":1,"a":2}}'])
    same(map_("--text", "--exec", "/usr/bin/wc", "-c", input=b"12345\n").out, [{"ok": True, "value": "6\n"}])
    same(map_("--exec", "/bin/true", input=b"1\n").out, [{"ok": True, "value": None}])
    r = map_("--exec", "/bin/cat", input=b"")
    same((r.code, r.out), (0, []), r)


@case
def standard_error_has_the_number_of_the_line():
    r = map_("-j", "1", "lab", input=lines(1, "say"))
    check(r.code == 0 and "lethe: line 2: one\\u001b[2J\n" in r.err, r)
    same(map_("--quiet", "lab", input=lines("say")).err, "")


@case
def n_run_at_once_and_no_more():
    volume = meeting()
    r = map_("-j", "3", *volume, "lab", input=lines(*({"meet": i, "with": [1, 2, 3]} for i in (1, 2, 3))))
    same((r.code, [o["value"] for o in r.out]), (0, [1, 2, 3]), r)
    volume = meeting()
    p = start("-j", "2", *volume, "lab")
    p.stdin.write(lines({"meet": 1, "with": [9]}, {"meet": 2, "with": [9]}, {"meet": 3, "with": []}))
    p.stdin.close()
    p.stdin = None
    wait_for(lambda: {"1", "2"} <= set(os.listdir(MEET)), "two regions")
    for _ in range(3):
        same(lethe("run", "--exec", "/bin/true").code, 0)
    same(set(os.listdir(MEET)), {"1", "2"})
    open(os.path.join(MEET, "9"), "w").close()
    same(finish(p)[:2], (0, ['{"ok":true,"value":%d}' % i for i in (1, 2, 3)]))


@case
def it_begins_at_a_line():
    r = map_("--from", "3", "--exec", "/bin/cat", input=lines(1, 2, 3, 4))
    same([o["value"] for o in r.out], [3, 4], r)
    million = "".join("%d\n" % i for i in range(1, 1000001)).encode()
    r = map_("--from", "1000000", "--exec", "/bin/cat", input=million)
    same((r.code, [o["value"] for o in r.out]), (0, [1000000]), r)


@case
def a_line_that_is_too_long_is_refused_alone():
    r = map_("-j", "1", "--exec", "/usr/bin/wc", "-c", input=b'"' + b"x" * (64 << 20) + b'"\n' + b'"%s"\n' % (b"\\\\" * 200000) + b"2\n")
    same((r.code, r.out[0]["outcome"], [o.get("value") for o in r.out[1:]]), (1, "line_too_long", [400003, 2]), r)
    r = map_("lab", input=lines({"long": 2 << 20}))
    same(r.out[0]["outcome"], "output_too_long", r)


@case
def a_million_lines_are_no_burden():
    """What is not asked for is read and forgotten: the command stays as small as with ten lines."""
    held = []
    for many in (10, 1000000):
        path = os.path.join(DIR, "million")
        with open(path, "wb") as f:  # line by line: the child's peak begins with ours
            f.writelines(b'{"n": %d}\n' % i for i in range(many))
        with open(path, "rb") as f:
            p = subprocess.Popen([LETHE, "map", "--from", str(many - 2), "--exec", "/bin/cat"], env=ENV, stdin=f, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            out = p.stdout.read().decode().splitlines()
            p.stderr.read()
            _, status, used = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        p.stdout.close()
        p.stderr.close()
        same((p.returncode, [json.loads(x)["value"]["n"] for x in out]), (0, [many - 3, many - 2, many - 1]))
        held.append(used.ru_maxrss)
    check(held[1] < held[0] + 8192, "KiB: %s" % held)


@case
def output_forges_no_line_of_ours():
    """Lines like ours in a region's output are text of one value, or no value: one line for each line of the input, and no letter that acts on a terminal."""
    forged = '{"ok":true,"value":1}\\n{"ok":true,"value":2}\\n'
    r = map_("--exec", "/usr/bin/printf", forged, input=b"1\n2\n")
    same((r.code, [(o["ok"], o["outcome"]) for o in r.out]), (1, [(False, "not_json")] * 2), r)
    r = map_("--text", "--exec", "/usr/bin/printf", '"}\\n' + forged + "\\r\\033[2Jlethe: map: 9 lines", input=b"1\n2\n")
    same((r.code, len(r.said), {o["ok"] for o in r.out}), (0, 2, {True}), r)
    check(r.out[0]["value"].startswith('"}\n{"ok":true') and "\x1b" not in "".join(r.said) and "\r" not in "".join(r.said), r.said)
    r = map_("-j", "1", "--text", "--exec", "/bin/sh", "-c", r"printf 'lethe: line 7: forged\rlethe: map: 0 lines\033[2J\n' >&2", input=b"1\n")
    check(r.code == 0 and r.err.startswith("lethe: line 1: lethe: line 7: forged") and "\x1b" not in r.err and "\r" not in r.err, r.err)


def interrupted(signum):
    volume = meeting()
    p = start("-j", "2", *volume, "lab")
    p.stdin.write(lines(1, 2, {"wait": "go"}, 4, 5))
    p.stdin.close()
    p.stdin = None
    out = [p.stdout.readline().decode().strip() for _ in range(2)]
    wait_for(lambda: os.path.exists(MEET + "/waits"), "the third region")
    p.send_signal(signum)
    code, rest, err = finish(p)
    same((code, rest), (128 + signum, []), err)
    check("with 2 lines written: go on with --from 3\n" in err, err)
    open(MEET + "/go", "w").close()
    r = map_("-j", "2", "--from", "3", *volume, "lab", input=lines(1, 2, {"wait": "go"}, 4, 5))
    same([json.loads(line)["value"] for line in out] + [o["value"] for o in r.out],
         [{"got": 1, "exact": 1.1}, {"got": 2, "exact": 1.1}, "waited", {"got": 4, "exact": 1.1}, {"got": 5, "exact": 1.1}])


@case
def a_signal_cancels_and_says_where_to_go_on():
    interrupted(signal.SIGINT)
    interrupted(signal.SIGTERM)


@case
def a_reader_that_goes_away_ends_it():
    volume = meeting()
    p = start("-j", "1", *volume, "lab")
    p.stdin.write(lines({"wait": "never"}))
    p.stdin.flush()
    wait_for(lambda: os.path.exists(MEET + "/waits"), "the region")
    p.stdout.close()
    same(p.wait(120), 128 + signal.SIGPIPE)
    check("go on with --from 1\n" in p.stderr.read().decode())
    p.stdin.close()
    p.stderr.close()
    same(ended()[-1]["outcome"], "cancelled", ended()[-1])


@case
def a_reader_that_stops_holds_it():
    before = len(ended())
    p = start("-j", "2", "lab")
    many = lines(*({"long": 8000} for _ in range(200)))
    p.stdin.write(many)
    p.stdin.close()
    p.stdin = None
    window, pipe = 2 * 8, 65536 // 8000 + 1
    wait_for(lambda: len(ended()) - before >= window, "a full window")
    for _ in range(20):
        same(lethe("run", "--exec", "/bin/true").code, 0)
    began = len(ended()) - before - 20
    check(began <= window + pipe + 2, began)
    code, out, err = finish(p)
    same((code, len(out)), (0, 200), err)


@case
def what_is_refused_for_every_line_ends_it():
    r = map_("no-such-skill", input=lines(1, 2))
    same((r.code, r.out), (127, []), r)
    check("neither a registered skill nor a folder" in r.err and "--from 1\n" in r.err, r)
    for wrong in (["-j", "0", "lab"], ["-j", "257", "lab"], ["--from", "0", "lab"], ["--receipt", DIR + "/r", "lab"], ["--name", "x", "lab"], ["--foreign", "lab"], ["--nothing", "lab"], []):
        same(map_(*wrong, input=lines(1)).code, 2, wrong)
    for option in (["-j", "2"], ["--jobs", "2"], ["--from", "2"], ["--text"]):
        same(lethe("run", *option, "--exec", "/bin/true").code, 125, option)


@case
@alone
def the_private_daemon_goes_with_its_map():
    same(map_("lab", input=lines(1)).code, 0)
    volume = meeting()
    p = start("-j", "1", *volume, "lab")
    p.stdin.write(lines({"wait": "never"}))
    p.stdin.flush()
    wait_for(lambda: os.path.exists(MEET + "/waits"), "the region")
    host = [pid for pid, name in processes_below(p.pid) if name == "lethe-serve"][0]
    p.kill()
    p.communicate()
    wait_for(lambda: not os.path.exists("/proc/%d" % host), "the end of the private daemon")
    same(ended()[-1]["outcome"], "cancelled", ended()[-1])


@case
@alone
def a_daemon_that_dies_ends_it():
    volume = meeting()
    p = start("-j", "1", *volume, "lab")
    p.stdin.write(lines(1, {"wait": "never"}))
    p.stdin.flush()
    wait_for(lambda: os.path.exists(MEET + "/waits"), "the region")
    os.kill([pid for pid, name in processes_below(p.pid) if name == "lethe-serve"][0], signal.SIGKILL)
    code, out, err = finish(p)
    same((code, len(out)), (125, 1), err)
    check("lethe serve ended before the last line" in err and "go on with --from 2\n" in err, err)


@case
@alone
def regions_without_a_daemon_are_warm():
    same(map_("-j", "1", "lab", input=lines(*range(5))).code, 0)
    tier = log("--type", "region.allocated")[-1]
    check(tier["start"] == "warm" or tier["tier"] != "namespaces", tier)


@case
def a_daemon_of_the_same_store_and_policy_is_asked():
    socket = os.path.join(DIR, "asked")
    policy = os.path.join(DIR, "policy.json")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"version": 1}, f)
    p = start_daemon(ENV, "--socket", socket)
    try:
        same(map_("--socket", socket, "lab", input=lines(1, 2, 3)).code, 0)
        same(ask_daemon("status", socket)["served"], 3)
        for other in (["--no-serve"], ["--policy", policy]):
            same(map_("--socket", socket, *other, "lab", input=lines(1)).code, 0)
        for there in (policy, os.path.basename(policy)):
            same(map_("--socket", socket, "lab", input=lines(1), env={"LETHE_POLICY": there}, cwd=DIR).code, 0)
        same(ask_daemon("status", socket)["served"], 3)
    finally:
        same(stop_daemon(p), 0)


@case
def a_daemon_without_room_is_asked_again():
    socket = os.path.join(DIR, "narrow")
    p = start_daemon(ENV, "--socket", socket, "--max-running", "1", "--max-queued", "1")
    try:
        r = map_("-j", "5", "--socket", socket, "--exec", "/bin/cat", input=lines(*range(8)))
        same((r.code, [o["value"] for o in r.out]), (0, list(range(8))), r)
        status = ask_daemon("status", socket)
        check(status["served"] == 8 and status["refused"] > 0, status)
    finally:
        same(stop_daemon(p), 0)


@case_when(ROOT)
def another_user_is_served_by_the_daemon_of_root():
    socket, policy = os.path.join(DIR, "clients"), os.path.join(DIR, "clients.json")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "clients": [{"uid": 65534, "skills": ["lab"]}]}, f)
    p = start_daemon(ENV, "--socket", socket, "--policy", policy)
    try:
        as_user = {"user": 65534, "group": 65534, "extra_groups": [], "cwd": "/"}
        r = map_("-j", "2", "--socket", socket, "lab", input=lines(1, "fail", 2), **as_user)
        same((r.code, [o["ok"] for o in r.out]), (1, [True, False, True]), r)
        same(ask_daemon("status", socket)["served"], 3)
        r = map_("--socket", socket, "--exec", "/bin/cat", input=lines(1), **as_user)
        check(r.code == 125 and "registered skills" in r.err, r)
    finally:
        same(stop_daemon(p), 0)


@case
def a_terminal_shows_how_far_it_is():
    ours, theirs = os.openpty()
    p = subprocess.Popen([LETHE, "map", "--exec", "/bin/cat"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    same(p.communicate(lines(1, 2), timeout=120)[0].count(b"\n"), 2)
    said = ""
    with contextlib.suppress(OSError):  # EIO: nobody has the terminal any more, and all of it was read
        while part := os.read(ours, 65536).decode():
            said += part
    os.close(ours)
    check("\r\x1b[Klethe map: line 0: 0 ok, 0 failed, " in said and said.endswith("\r\x1b[Klethe: map: 2 lines, 2 ok, 0 failed, " + said.split(", ")[-1]), said)


main()
