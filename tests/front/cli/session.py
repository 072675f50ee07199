#!/usr/bin/python3
"""`lethe session` from outside: turns, what is carried, and what becomes of a session when a turn, a client, its time or its host ends. TAP.

usage: session.py LETHE root|user
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ROOT, STORE, Skip, alone, case, case_when, check, lethe, main, processes_below, python_skill, same, wait_for  # noqa: E402
from folder import remove  # noqa: E402

LAB = """import os, sys, time
import lethe
def have(section):
    try:
        return lethe.carry_read(section)
    except lethe.LetheError as e:
        return e.code
def refused(*args, **kw):
    try:
        return lethe.carry_write(*args, **kw)
    except lethe.LetheError as e:
        return e.code
exec(sys.argv[1])
"""
SECTIONS = {"count": {"schema": {"type": "integer"}, "bytes": "1k"}, "text": {"schema": {"type": "string"}, "bytes": "2k"}}
COUNT = "n = have('count'); n = 0 if n == 'no_value' else n; lethe.carry_write('count', n + 1); print(n)"
HANG = COUNT + "; sys.stdout.flush(); time.sleep(600)"
KILLS = int(os.environ.get("LETHE_TEST_KILLS", "8"))  # 500 for a long run
os.chmod(DIR, 0o755)


def skill(name, **session):
    python_skill(name, LAB, session=dict({"sections": SECTIONS}, **session))


skill("talk")
skill("keep", on_crash="resume")
skill("brief", idle="500ms")
skill("short", turns=2)
python_skill("plain", LAB)
ROLE = {"role": "Never share the address."}
skill("loop", cognition=ROLE)
skill("forget", idle="500ms", cognition=dict(ROLE, erase=True))
python_skill("slow", "import time; time.sleep(600)")
skill("advised", cognition=dict(ROLE, compressor="slow"))


def open_(name):
    r = lethe("session", "open", name, "--json")
    same(r.code, 0, r)
    return json.loads(r.out)["session"]


def turn(session, code, *options):
    r = lethe("session", "turn", *options, session, "--", code)
    r.out = r.out.decode() or r.err.decode()
    return r


def start(session, code):
    p = subprocess.Popen([LETHE, "session", "turn", session, "--", code], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    return p


def close(session):
    r = lethe("session", "close", session)
    same(r.code, 0, r)


def show(session):
    r = lethe("session", "show", session, "--json")
    return json.loads(r.out) if r.code == 0 else None


def events(session, *types):
    r = lethe("log", "--session", session, "--json")
    same(r.code, 0, r)
    return [e for e in map(json.loads, r.out.splitlines()) if not types or e["type"] in types]


def holds():
    for verb in ("verify", "audit"):
        r = lethe(verb)
        same(r.code, 0, r)


def count(session):
    r = lethe("session", "carry", session, "count")
    while b"reset by peer" in r.err or b"has ended" in r.err or b"cannot be asked" in r.err:  # the host was just dying
        r = lethe("session", "carry", session, "count")
    check(r.code == 0 or b"no value" in r.err, r)
    return int(r.out) if r.code == 0 else 0


@case
def carried_alone_reaches_the_next_turn():  # I-46, I-47, I-48, I-84
    s = open_("talk")
    same(turn(s, "open('/tmp/left', 'w').write('x'); " + COUNT).out, "0\n")
    same(turn(s, "print(os.path.exists('/tmp/left')); " + COUNT).out, "False\n1\n")
    same(turn(s, "print(refused('count', 'x'), refused('none', 1), refused('text', 'x' * 3000), refused('count', 5, expect=1))").out,
         "schema undeclared_section too_large conflict\n")
    same(turn(s, "lethe.carry_write('count', 7); print(have('count'))").out, "7\n")
    same(count(s), 7)
    same(lethe("session", "carry", s, "count", "40").code, 0)
    same(lethe("session", "carry", s, "count", '"x"').code, 1)
    same(turn(s, COUNT).out, "40\n")
    close(s)
    same(show(s), None)
    same(turn(s, COUNT).code, 125)
    allocated = events(s, "region.allocated")
    same([e.get("turn") for e in allocated], [None, 1, 2, 3, 4, 5])  # I-87
    check(all(e["session"] == s and e["parent"] == s for e in allocated[1:]), allocated)
    all_ = events(s)
    same([e["type"] for e in all_[-3:]], ["session.ended", "region.released", "invocation.ended"])  # the turns ended before
    released = all_[-2]["teardown"]
    check(released["bytes_held"] > 0 and released["bytes_verified"] == released["bytes_held"], released)
    check(not any("body" in e for e in all_ if e["type"] == "session.carried"), all_)  # in no file
    holds()


@case
def a_shell_in_a_turn_carries_too():  # I-48
    s = open_("talk")
    turn(s, COUNT)
    same(turn(s, "import subprocess; sh = lambda line: subprocess.run(['/bin/sh', '-c', line], stdout=subprocess.PIPE, check=True, close_fds=False).stdout.decode(); "
                 "print(sh('lethe-slot carry read count; lethe-slot carry read count --version; lethe-slot carry write count 6; lethe-slot carry write text --text hello'))").out.split(),
         ["1", "1", "2", "1"])
    same(turn(s, "print(have('count'), have('text'), lethe.carry_value('count').version)").out, "6 hello 2\n")
    close(s)


@case
def a_turn_without_success_leaves_the_session_as_before():  # I-86
    s = open_("talk")
    turn(s, COUNT)
    same(turn(s, COUNT + "; sys.exit(3)").code, 3)
    same(turn(s, COUNT + "; os.kill(os.getpid(), 9)").code, 137)
    same(turn(s, COUNT + "; sys.stdout.flush(); time.sleep(60)", "--timeout", "1s").code, 124)
    same(turn(s, COUNT).out, "1\n")
    same([e["reason"] for e in events(s, "session.dropped")], ["not_success", "signaled", "timed_out"])
    close(s)
    holds()


@case
def the_receipt_and_the_certificate_name_session_and_turn():  # I-87
    s = open_("talk")
    path = os.path.join(DIR, "receipt.json")
    turn(s, COUNT)
    same(turn(s, COUNT, "--receipt", path).code, 0)
    receipt = json.load(open(path))
    same((receipt["session"], int(receipt["turn"]), receipt["outcome"]), (s, 2, "exited"))
    close(s)
    for region in (receipt["region"], s):
        same(lethe("certificate", region, "-o", os.path.join(DIR, "c.json")).code, 0)


@case
def why_tells_the_session_and_each_turn():  # I-87
    s = open_("talk")
    turn(s, COUNT)
    turn(s, COUNT + "; sys.exit(3)")
    same(lethe("session", "carry", s, "count", "9").code, 0)
    alive = json.loads(lethe("why", "--session", s, "--json").out)
    same((alive["alive"], alive["reason"], alive["skill"]["name"]), (True, None, "talk"))
    close(s)
    r = lethe("why", "--session", s, "--json")
    same(r.code, 0, r)
    told = json.loads(r.out)
    same((told["alive"], told["reason"], told["session"]), (False, "closed", s))
    same([(t["turn"], t["outcome"], t["exit_code"], [(c["section"], c["version"]) for c in t["carried"]], t["dropped"]) for t in told["turns"]],
         [(1, "exited", 0, [("count", 1)], None), (2, "exited", 3, [], {"count": 1, "reason": "not_success"})])
    same([(b["type"], b["section"], b["version"]) for b in told["between"]], [("session.carried", "count", 2)])
    check(told["between"][0]["who"].startswith("uid:"), told)
    text = lethe("why", "--session", s).out.decode()
    check("closed by uid:" in text and "carried count@1" in text and "1 dropped: not_success" in text and text.count("after turn 2: uid:") == 1, text)
    of_turn = json.loads(lethe("why", "--json", told["turns"][1]["region"]).out)
    same((of_turn["session"], of_turn["turn"], of_turn["exit_code"]), (s, 2, 3))
    check("%s, turn 2" % s in lethe("why", told["turns"][1]["region"]).out.decode())
    same(lethe("why", "--session", told["turns"][1]["region"]).code, 1)  # a turn is no session
    same([lethe("why", "--session", *words).code for words in (("x",), (s, "--last"), (s, s))], [2, 2, 2])


@case
def reports_and_counters_name_sessions():  # I-87
    counters = lambda: json.loads(lethe("metrics", "--json").out)["series"]
    was = counters()
    s = open_("talk")
    for code in (COUNT, COUNT, COUNT + "; sys.exit(3)"):
        turn(s, code)
    more = lambda name, now: now.get(name, 0) - was.get(name, 0)
    now = counters()
    same([more(n, now) for n in ("lethe_sessions_open", "lethe_sessions_opened_total", "lethe_session_turns_total", "lethe_session_carried_total",
                                 'lethe_session_dropped_total{reason="not_success"}')], [1, 1, 3, 2, 1])
    close(s)
    now = counters()
    same([more(n, now) for n in ("lethe_sessions_open", 'lethe_sessions_ended_total{reason="closed"}')], [0, 1])
    os.unlink(os.path.join(STORE, "cache", "metrics"))
    same(counters()["lethe_session_turns_total"], now["lethe_session_turns_total"])  # counted anew
    rows = {r["region"]: r for r in json.loads(lethe("audit", "regions", "--json").out)["regions"]}
    same([(r["session"], r["turn"]) for r in rows.values() if r["session"] == s], [(s, 1), (s, 2), (s, 3)])
    same((rows[s]["session"], rows[s]["tier"]), (None, "session"))
    path = os.path.join(DIR, "report.html")
    same(lethe("report", "-o", path).code, 0)
    with open(path, encoding="utf-8") as f:
        page = f.read()
    check("turn 3 of session <span class=\"mono\"><bdi>%s</bdi>" % s in page and "<small> a session</small>" in page, page[page.find("of session") - 300:][:900])


@case
def clients_come_one_after_the_other_and_may_go():  # I-85
    s = open_("talk")
    many = [subprocess.Popen([LETHE, "session", "turn", s, "--", COUNT], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(6)]
    same(sorted(int(p.communicate()[0]) for p in many), list(range(6)))
    p = start(s, HANG)
    p.kill()
    p.communicate()
    same(turn(s, COUNT).out, "6\n")
    p = start(s, HANG)
    p.send_signal(signal.SIGTERM)
    p.communicate()
    same(p.returncode, 143)
    p = start(s, HANG)
    close(s)  # takes the turn down first
    p.communicate()
    same(events(s, "session.ended")[0]["reason"], "closed")
    holds()


@case
def idle_sessions_and_used_ones_end():  # I-85
    s = open_("brief")
    wait_for(lambda: show(s) is None, "the end of an idle session")
    same(events(s, "session.ended")[0]["reason"], "idle")
    s = open_("short")
    same([turn(s, COUNT).code for _ in range(3)], [0, 0, 125])
    close(s)
    s = open_("plain")
    same(turn(s, "print(have('count'), refused('count', 1))").out, "undeclared_section undeclared_section\n")
    close(s)
    r = lethe("session", "open", "nobody")
    same(r.code, 1, r)


@case
def a_close_is_not_held_up_by_turns_that_wait():  # I-85
    s = open_("talk")
    first = start(s, HANG)
    later = [subprocess.Popen([LETHE, "session", "turn", s, "--", HANG], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(18)]
    wait_for(lambda: len([p for p in later if p.poll() is not None]) == 2, "two refusals: at most 16 wait")
    close(s)  # another turn would go on for ten minutes, and no further place to wait is there
    first.communicate()
    same(first.returncode, 143)
    for p in later:
        told = p.communicate()[1]
        check(p.returncode == 125 and any(w in told for w in (b"is being closed", b"has ended", b"wait for the turn of session")), p.returncode, told)
    holds()


@case
def kill_closes_a_session():  # I-85
    s = open_("talk")
    check(s in [r["region"] for r in map(json.loads, lethe("ps", "--json").out.splitlines())], s)
    p = start(s, HANG)
    same(lethe("kill", s).code, 0)
    p.communicate()
    same((p.returncode, show(s)), (143, None))
    same(events(s, "session.ended")[0]["reason"], "closed")


@case
def kill_of_a_compressor_s_region_ends_the_turn():  # I-85, C-28
    s = open_("advised")
    p = subprocess.Popen([LETHE, "session", "turn", s, "--", COUNT], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    of_slow = lambda: [r["region"] for r in map(json.loads, lethe("ps", "--json").out.splitlines()) if r["skill"]["name"] == "slow"]
    wait_for(of_slow, "the compressor's region")
    same(lethe("kill", "--wait", of_slow()[0]).code, 0)
    told = p.communicate()
    same(p.returncode, 143, told)
    same((show(s)["turns"], show(s).get("turn")), (0, None))  # the state is as before, and the session goes on
    close(s)
    holds()


@case
def a_key_in_the_output_is_no_decision():  # I-10, I-11, C-34: evidence is kept in the store, and the region's key is gone when that is recorded
    s = open_("loop")
    r = turn(s, "lethe.ccs_tool('nothing of it'); print('the key is', lethe.hello()['key'])")
    key = r.out.split()[-1]
    same((r.code, len(key)), (0, 32))  # standard output itself is the caller's
    same([(e["method"], e["code"]) for e in events(s, "request.refused")], [("output", "key_escape")])
    turn(s, "print(lethe.ccs_read().turn)")
    for folder, _, files in os.walk(STORE):
        for file in files:
            check(key.encode() not in read(os.path.join(folder, file)), folder, file)
    same(lethe("session", "close", "--erase", s).code, 0)


def scopes():
    return [x["session"] for x in json.loads(lethe("ccs", "list", "--json").out)["sessions"]]


@case
def the_loop_goes_with_its_session_when_somebody_wants_that():  # I-85, M-24
    s, kept, brief = open_("loop"), open_("loop"), open_("forget")
    for x in (s, kept, brief):
        check("ccs-" + x in scopes(), x)
    same(turn(s, "print(lethe.ccs_read().turn)").out, "1\n")
    r = lethe("scope", "delete", "ccs-" + s, "--json")  # the next turn would have nothing to go on from
    same((r.code, json.loads(r.out)["error"]["code"]), (1, "driven"))
    same(turn(s, "print(lethe.ccs_read().turn)").out, "2\n")
    same(lethe("session", "close", "--erase", s).code, 0)
    same(events(s, "session.ended")[0]["erased"], 7)  # the state, two inputs, two decisions, and the scope's two kernels
    check("the loop is erased" in lethe("why", "--session", s).out.decode())
    close(kept)
    wait_for(lambda: show(brief) is None, "the end of an idle session")
    same([x for x in (s, kept, brief) if "ccs-" + x in scopes()], [kept])
    same(events(kept, "session.ended")[0].get("erased"), None)
    same(lethe("scope", "delete", "ccs-" + kept).code, 0)
    holds()


@case
def a_folder_is_the_same_from_every_working_folder():  # I-84
    def there(folder, *argv):
        r = subprocess.run([LETHE, "session", *argv], cwd=folder, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        return r.returncode, r.stdout.decode().strip(), r.stderr.decode()
    folder = os.path.join(DIR, "in")
    os.makedirs(os.path.join(folder, "unregistered"))
    for file in ("SKILL.md", "main.py", "lethe.json"):
        with open(os.path.join(folder, "unregistered", file), "w", encoding="utf-8") as f:
            f.write(read(os.path.join(DIR, "talk", file)).decode().replace("name: talk", "name: unregistered"))
    code, s, told = there(folder, "open", "unregistered")
    same(code, 0, told)
    same(there("/", "turn", s, "--", COUNT), (0, "0", ""))
    same(show(s)["target"], os.path.join(os.path.realpath(folder), "unregistered"))
    close(s)


@case
def words_of_refusals_and_lists():  # I-84, I-87
    s = open_("talk")
    turn(s, COUNT)
    line = [l for l in lethe("session", "list").out.decode().splitlines() if l.startswith(s)][0]
    check(" 1 turns " in line, line)
    text = lethe("why", "--session", s).out.decode()
    check("exited with code 0" in text and "by signal" not in text, text)
    for argv, code, word in ((["turn"], 125, "lethe session turn: no session: give SESSION"), (["turn", "xyz"], 125, "'xyz' is not a session's id (26 characters of 0-9 a-z)"),
                             (["turn", "--exec", "/bin/true", s], 125, "lethe session turn: --exec"), (["turn", "--nothing", s], 125, "--nothing is no option of session turn"),
                             (["turn", s, "--", "ok", os.fsdecode(b"a\xff")], 125, "argument 2 is not UTF-8 at byte 1, which is 0xff")):
        r = lethe("session", *argv)
        check(r.code == code and word in r.err.decode(), argv, r)
    close(s)
    for argv in (["turn", s], ["carry", s, "count"], ["show", s], ["close", s]):
        r = lethe("session", *argv)
        check("there is no open session %s: `lethe why --session %s` says how a session ended" % (s, s) in r.err.decode(), argv, r)


@case
def a_skill_that_has_changed_gets_no_further_turn():  # I-84: the carried values have the types of one digest
    python_skill("changes", LAB, session={"sections": SECTIONS})
    s = open_("changes")
    same(turn(s, COUNT).out, "0\n")
    python_skill("changes", LAB + "# another one\n", session={"sections": SECTIONS})
    r = turn(s, COUNT)
    check(r.code == 125 and "is not the one with which the session was opened" in r.out, r)
    same(count(s), 1)
    close(s)
    holds()


SECRET = "bytes((i * 7 + 3) % 26 + 97 for i in range(40))"  # is in no argument and no file
LEAVE = ("import json; json.left = " + SECRET + ".decode() * 50; os.environ['LEFT'] = json.left; sys.path.append('/left'); sys.setrecursionlimit(777); "
         "open('/tmp/left', 'w').write(json.left); open('/work/left', 'w').write(json.left); n = have('count'); lethe.carry_write('count', 1 if n == 'no_value' else n + 1)")
LOOK = ("import json; print(hasattr(json, 'left'), 'LEFT' in os.environ, '/left' in sys.path, sys.getrecursionlimit() == 777, os.listdir('/tmp'), os.listdir('/work'), "
        "have('count'))")


def holding(host, text):
    """The mappings of the host and of the processes below it that may be written and have the text."""
    found = []
    for p, name in [(host, "host")] + processes_below(host):
        try:
            with open("/proc/%d/maps" % p, encoding="utf-8") as maps, open("/proc/%d/mem" % p, "rb", 0) as mem:
                ranges = [([int(x, 16) for x in at.split("-")], at) for at, rights in (line.split()[:2] for line in maps) if rights.startswith("rw")]
                for (first, end), at in ranges:
                    try:
                        mem.seek(first)
                        found += [(p, name, at)] if text in mem.read(end - first) else []
                    except OSError:
                        pass  # memory that nobody can read
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found


@case
def turns_share_an_interpreter_and_nothing_of_each_other():  # I-47, I-84
    python_skill("warmly", LAB, warm={"preload": ["json", "re", "random"]}, session={"sections": SECTIONS})
    s = open_("warmly")
    path = os.path.join(DIR, "warm-receipt.json")
    starts = []
    for i in range(3):
        same(turn(s, LEAVE, "--receipt", path).code, 0)
        with open(path, encoding="utf-8") as f:
            starts.append(json.load(f)["start"])
        same(turn(s, LOOK).out, "False False False False [] [] %d\n" % (i + 1))
    check("warm" in starts[1:], starts)
    same([turn(s, "import random; print(random.random())").out for _ in range(2)].count("0"), 0)
    if ROOT:
        host = show(s)["host"]
        # while the session and the interpreter live; an answer says how a turn ended, and what its invocation had is put away after that
        wait_for(lambda: holding(host, eval(SECRET)) == [], "that no turn is in any process")
        turn(s, "lethe.carry_write('text', %s.decode())" % SECRET)
        wait_for(lambda: [name for _, name, _ in holding(host, eval(SECRET))] == ["host"], "that what is carried is in its section alone")
    close(s)
    if ROOT:
        wait_for(lambda: holding(host, eval(SECRET)) == [], "that what was carried is gone with its session")
    holds()


def elsewhere(name, policy, wrap=()):
    """A function like lethe() with a store of its own, a host of its own and this policy."""
    file = os.path.join(DIR, name + ".policy")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1}, **policy), f)
    os.chmod(file, 0o644)
    env = {"LETHE_STORE": os.path.join(DIR, name), "LETHE_SERVE": "0", "LETHE_POLICY": file}

    def there(*argv):
        if not wrap:
            return lethe(*argv, env=env)
        full = {k: v for k, v in dict(ENV, **env).items() if k != "LETHE_ANCHOR"}
        return subprocess.run([*wrap, LETHE, *argv], env=full, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    for skill_name in ("talk", "brief", "plain"):
        same(there("skill", "add", os.path.join(DIR, skill_name)).returncode if wrap else there("skill", "add", os.path.join(DIR, skill_name)).code, 0)
    return there


@case
def the_policy_bounds_idle_time_and_number():  # I-73, I-85
    there = elsewhere("bounded", {"max_sessions": 2, "bounds": {"session_idle": {"ceiling": "10m", "floor": "1m"}}})
    s = [there("session", "open", "plain").out.decode().strip() for _ in range(2)]
    shown = json.loads(there("session", "show", s[0], "--json").out)
    same(shown["idle_usec"], 600000000)  # the default is cut, for a skill that says nothing
    r = there("session", "open", "plain")
    check(r.code == 1 and b"user %d has 2 sessions open: policy allows 2 of a user at once (max_sessions)" % os.geteuid() in r.err, r)
    same(there("session", "close", s[0]).code, 0)
    raised = there("session", "open", "brief").out.decode().strip()
    same(json.loads(there("session", "show", raised, "--json").out)["idle_usec"], 60000000)
    grant = json.loads(there("log", "--session", raised, "--type", "region.allocated", "--json").out.splitlines()[0])["grant"]
    same([(c["field"], c["asked"], c["granted"]) for c in grant["raised"]], [("/session/idle", "500 ms", "60 s")])
    for x in (s[1], raised):
        same(there("session", "close", x).code, 0)
    python_skill("long", LAB, session={"idle": "2h"})
    same(there("skill", "add", os.path.join(DIR, "long")).code, 0)
    r = there("session", "open", "long")
    check(r.code == 1 and b"lethe.json#/session/idle: 7200 s is above the ceiling 600 s of" in r.err, r)
    there = elsewhere("alone", {"concurrency": {"*": 1}})
    s = [there("session", "open", "talk").out.decode().strip() for _ in range(2)]  # a session between two turns is no region that runs
    same(there("session", "turn", s[0], "--", COUNT).code, 0)
    for x in s:
        same(there("session", "close", x).code, 0)
    same(there("audit").code, 0)


SESSIONS = int(os.environ.get("LETHE_TEST_SESSIONS", "24"))  # 500 for a long run


@case
def many_sessions_are_open_at_once():  # I-84
    s = [open_("talk") for _ in range(SESSIONS)]
    for i in (0, SESSIONS // 2, SESSIONS - 1):
        same(lethe("session", "carry", s[i], "count", str(i)).code, 0)
        same(turn(s[i], COUNT).out, "%d\n" % i)
    listed = json.loads(lethe("session", "list", "--json").out)["sessions"]
    check(set(s) <= {x["session"] for x in listed}, len(listed))
    for x in s:
        close(x)
    holds()


@case_when(not ROOT)
def a_limit_of_locked_memory_is_told():  # I-84; root's memory has no such limit
    there = elsewhere("locked", {}, wrap=("prlimit", "--memlock=24576:24576"))
    s = [there("session", "open", "talk").stdout.decode().strip() for _ in range(9)]  # opening takes none of it
    carried = [there("session", "carry", x, "count", "1") for x in s]
    done = [r.returncode for r in carried].index(1)  # the signing key has a page of it
    check(2 <= done <= 6, carried)  # keys of the store and of regions have pages of it, too
    check(b"session section count: 4096 bytes cannot be locked in memory: RLIMIT_MEMLOCK (ulimit -l)" in carried[done].stderr, carried[done])
    r = there("session", "turn", s[8], "--", "print(refused('count', 5))")
    same((r.stdout, r.returncode), (b"no_budget\n", 0), r.stderr)
    for x in s[:done]:
        same(there("session", "close", x).returncode, 0)
    same(there("session", "turn", s[8], "--", "print(refused('count', 5))").stdout, b"1\n")  # their memory
    for x in s[done:]:
        same(there("session", "close", x).returncode, 0)
    same(there("audit").returncode, 0)


@case
@alone
def of_clients_at_once_after_a_host_s_death_one_makes_the_next_host():  # I-85: two hosts would have two sessions of one id
    s = open_("keep")
    same(turn(s, COUNT).out, "0\n")
    for i in range(3):
        host = show(s)["host"]
        kill_host(s)
        wait_for(lambda: read("/proc/%d/stat" % host).split(b") ")[-1][:1] in b"ZX", "the death of the host")  # else a request could be lost with it
        many = [subprocess.Popen([LETHE, "session", "turn", s, "--", COUNT], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) for _ in range(3)]
        same(sorted(int(p.communicate()[0]) for p in many), [3 * i + 1, 3 * i + 2, 3 * i + 3])
    same(len(events(s, "session.resumed")), 3)
    close(s)
    holds()


@case
@alone
def a_host_that_dies_between_connect_and_request_loses_no_turn():  # I-85: the request of such a client was never taken
    if not shutil.which("strace"):
        raise Skip("strace is not there")
    s = open_("keep")
    same(turn(s, COUNT).out, "0\n")
    host, trace = int(show(s)["host"]), os.path.join(DIR, "trace-connect")
    # Each send is held up for two seconds; where that is too short for the kill, the host dies with the request unread, and the result is the same.
    p = subprocess.Popen(["strace", "-o", trace, "-e", "trace=connect,sendmsg", "-e", "inject=sendmsg:delay_enter=2000000", LETHE, "session", "turn", s, "--", COUNT],
                         env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: os.path.exists(trace) and " = 0" in open(trace, errors="replace").read(), "the client's connection")
    os.kill(host, signal.SIGKILL)
    out, err = p.communicate()
    same((p.returncode, out), (0, b"1\n"), err)
    close(s)
    holds()


def kill_host(session):
    os.kill(int(show(session)["host"]), signal.SIGKILL)


@case
@alone
def a_host_that_dies_ends_its_sessions_or_they_go_on():  # I-85
    a, b = open_("talk"), open_("keep")
    same([turn(s, COUNT).code for s in (a, b)], [0, 0])
    p = start(b, HANG)
    kill_host(b)
    p.communicate()
    same(turn(b, COUNT).out, "1\n")  # nothing of the killed turn
    wait_for(lambda: lethe("run", "plain", "--", "0").code == 0 and show(a) is None, "recovery")
    same(events(a, "session.ended")[0]["reason"], "supervisor_died")
    same(len(events(b, "session.resumed")), 1)
    holds()
    close(b)
    same(events(b)[-2]["teardown"]["grade"], "partial")  # the first host's memory was not overwritten
    holds()


@case
@alone
def kills_at_any_moment_lose_nothing_that_was_carried():  # I-85
    s = open_("keep")
    done = 0
    for i in range(KILLS):
        p = subprocess.Popen([LETHE, "session", "turn", s, "--", COUNT], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        host = (show(s) or {}).get("host")
        time.sleep(random.random() * 0.15)
        victim = p.pid if i % 2 else int(host)
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.communicate()
        now = count(s)
        check(done <= now <= done + 1 and (now == done + 1 or p.returncode != 0), i, done, now, p.returncode)
        done = now
    close(s)
    holds()


@case
def a_private_host_ends_with_its_store():
    if os.environ.get("LETHE_TEST_SERVE"):
        return
    there = elsewhere("deleted", {})
    s = there("session", "open", "talk").out.decode().strip()
    host = json.loads(there("session", "show", s, "--json").out)["host"]
    check(os.path.exists("/proc/%d" % host), host)
    remove(os.path.join(DIR, "deleted"))
    wait_for(lambda: not os.path.exists("/proc/%d" % host), "the end of the host of a deleted store")


def hosts():
    return [p for p in os.listdir("/proc") if p.isdigit() and STORE.encode() in read("/proc/%s/cmdline" % p)]


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


@case
def a_private_host_ends_with_its_last_session():
    s = open_("talk")
    close(s)
    if not os.environ.get("LETHE_TEST_SERVE"):
        wait_for(lambda: not hosts(), "the end of all hosts")


main()
