#!/usr/bin/python3
"""SIGKILL at any moment of a cycle with effects: of the command at each call that writes, of the command, the daemon, and each process of a region at random
moments. Each effect is there exactly once (a slot's version and a record of memory for each success, and none for anything else), every object goes on, the
store is whole. LETHE_OBJECT_KILLS: how many (20). TAP.

usage: object-kills.py LETHE root|user
"""
import collections
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, LETHE, Skip, case, check, main, processes_below, same, wait_for  # noqa: E402
from node import Node, check_chain, kinds, outcomes  # noqa: E402
from orphans import adopt, none_left  # noqa: E402

KILLS = int(os.environ.get("LETHE_OBJECT_KILLS", "20"))
SEED = int(os.environ.get("LETHE_TEST_SEED", str(int(time.time()))))
OBJECTS = 3
KILLS_OF_ONE = 25  # beside a daemon that never rests a history grows with time, and each look reads all of it: then other objects go on
M = "knowledge_projections"
# Two effects of one execution. A second record of one number would be refused, and the outcome would be no success.
TALLY = """import sys
import lethe
slot = "tally.%s" % sys.argv[1]
try:
    n = lethe.read(slot)
except lethe.LetheError as e:
    if e.code != "no_value":
        raise
    n = 0
lethe.memory_save("knowledge_projections", {"title": "tally", "text": "number %d" % (n + 1)}, id="tally-%s-%d" % (sys.argv[1], n + 1), expect=0)
lethe.write(slot, n + 1, expect=n)
print(n + 1)
"""
# Calls of the command's own thread that a state on the disk, a region or an answer hangs on.
POINTS = ("pwrite64", "pwritev", "write", "fdatasync", "fsync", "msync", "ftruncate", "sendmsg", "clone3", "clone", "vfork", "waitid", "openat", "unlinkat", "epoll_wait",
          "ppoll", "poll")
node = Node("node")
slots = ["tally.%d" % i for i in range(OBJECTS * (1 + (KILLS + 3) // 4 // KILLS_OF_ONE + 1))]
node.skill("tally", TALLY, reads=slots, writes=slots, slots={s: {"type": "integer"} for s in slots},
           memory=[{"scope": "default", "read": [M], "write": [M]}])
node.must("scope", "create", "default")
os.chmod(DIR, 0o755)
adopt()
objects, ended = [], []  # of now, and of before
first_slot = 0


def intent(i):
    return {"do": {"skill": "tally", "args": [str(i)]}, "until": "never",
            "with": {"rest": {"elapsed": {"for": "1ms"}}, "pace": {"base": "1ms", "min": "10ms", "max": "10ms"}, "timeout": "20s"}}


def records(i):
    return [r["id"] for r in node.json("memory", "list", "--json")["records"] if r["id"].startswith("tally-%d-" % (first_slot + i))]


def successes(history):
    return [e for e in history if e["kind"] == "outcome" and e["outcome"]["kind"] == "success"]


def effects_once(i, *what):
    """How many successes the object has. O-38: each has the slot's version and the record of its number, and nothing else has any. A daemon may be at work: what is
    read first is a beginning of what is read last."""
    id = objects[i]
    first, slot, last = node.history(id), node.run("slot", "history", "tally.%d" % (first_slot + i), "--json"), node.history(id)
    versions = json.loads(slot.out)["history"] if slot.code == 0 else []
    check_chain(id, last, *what)
    same([e["hash"] for e in first], [e["hash"] for e in last[:len(first)]], id, "entries of the history were changed", *what)
    done = successes(last)
    same(len({e["trace"] for e in done}), len(done), id, "a trace that succeeded twice", *what)
    check(len(successes(first)) <= len(versions) <= len(done), id, "versions of the slot, and successes", len(versions), len(done), *what)
    same([v["region"] for v in sorted(versions, key=lambda v: v["version"])], [e["data"].get("region") for e in done[:len(versions)]], id, "regions that wrote, and those that succeeded", *what)
    if not node.daemon:
        same(len(versions), len(done), id, "versions of the slot, and successes", *what)
        same(sorted(records(i)), sorted("tally-%d-%d" % (first_slot + i, k) for k in range(1, len(done) + 1)), id, "records of memory, and successes", *what)
    return len(successes(first))


def begin():
    scope = {"skills": ["tally"], "reads": "*", "writes": "*", "depth": 0, "fanout": 1}
    objects.extend(node.create(intent(first_slot + i), scope) for i in range(OBJECTS))


def others_go_on():
    global first_slot
    for id in objects:
        node.must("object", "end", id)
    ended.extend(objects)
    objects.clear()
    first_slot += OBJECTS
    begin()


def settle():
    """What a killed command left is recovered by the next one; nothing of it runs on."""
    for id in objects:
        node.must("object", "cycle", id)
    none_left("after a kill", time.monotonic() + 120)


def before_execution(id):
    """Cycles until the next one executes."""
    for _ in range(200):
        if node.next_action(id) == "execution":
            return
        did = node.cycle(id)
        time.sleep(0.002)
    raise AssertionError("%s never comes to an execution: %s" % (id, did))


def points():
    """(call, how often) of a cycle that executes and of nothing that follows it."""
    before_execution(objects[0])
    path = DIR + "/trace"
    p = subprocess.run(["strace", "-o", path, LETHE, "object", "cycle", "--json", objects[0]], env=node.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    if p.returncode != 0 and b"ptrace" in p.stderr:
        raise Skip("strace cannot trace here: %s" % p.stderr[-200:])
    same(p.returncode, 0, p.stderr)
    same(json.loads(p.stdout)["action"], "execution")
    with open(path, encoding="utf-8", errors="replace") as f:
        n = collections.Counter(m.group(1) for m in (re.match(r"([a-z_0-9]+)\(", line) for line in f) if m)
    return [(call, k) for call in POINTS for k in range(1, n[call] + 1)]


@case
def objects_with_effects_are_there():  # O-21
    begin()
    for i, id in enumerate(objects):
        before_execution(id)
        effects_once(i, "before any kill")


@case
def killed_at_each_call_that_writes():  # O-36 O-37 O-38: the place is chosen, the kill is certain
    all_points = points()
    half = max(1, KILLS // 2)
    chosen = [all_points[k * len(all_points) // half] for k in range(half)]  # all of them, some again, where there are more kills than places
    killed = 0
    for k, (call, when) in enumerate(chosen):
        i = k % OBJECTS
        before_execution(objects[i])
        before = effects_once(i, "before the kill at %s %d" % (call, when))
        p = subprocess.run(["strace", "-o", "/dev/null", "-e", "trace=" + call, "-e", "inject=%s:signal=SIGKILL:when=%d" % (call, when), LETHE, "object", "cycle", "--json", "--verbose", objects[i]],
                           env=node.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        killed += p.returncode != 0
        settle()
        after = effects_once(i, "after the kill at %s %d" % (call, when), p.stderr[-300:])
        check(before <= after <= before + 2, "at %s %d: %d successes, then %d" % (call, when, before, after))
        check(p.returncode != 0 or after > before, "at %s %d: not disturbed, and no success" % (call, when), p.stdout, p.stderr)
    print("# %d kills at %d of %d places of a cycle" % (killed, len(chosen), len(all_points)), flush=True)
    check(killed > 0, "nothing was killed")


def victim(chance, pid):
    """The process itself, or one of a region below it."""
    below = processes_below(pid)
    return chance.choice([("main", pid)] + ([chance.choice(below)[::-1], chance.choice(below)[::-1]] if below else []))


def kill(chance, pid, killed):
    what, which = victim(chance, pid)
    try:
        os.kill(which, signal.SIGKILL)
    except ProcessLookupError:
        what = "nobody"
    killed[what] += 1
    return what


@case
def killed_at_random_moments_of_the_command():  # O-36 O-38
    chance, killed = random.Random(SEED), collections.Counter()
    for k in range((KILLS + 3) // 4):
        i = chance.randrange(OBJECTS)
        before_execution(objects[i])
        p = subprocess.Popen([LETHE, "object", "cycle", "--json", "--verbose", objects[i]], env=node.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(chance.random() * chance.choice((0.02, 0.1, 0.3)))
        what = kill(chance, p.pid, killed)
        p.communicate()
        settle()
        effects_once(i, "seed %d, kill %d of %s" % (SEED, k, what))
    print("# seed %d; killed: %s" % (SEED, ", ".join("%s %d" % x for x in sorted(killed.items()))), flush=True)


@case
def killed_at_random_moments_of_the_daemon_while_others_evaluate():  # O-36 O-43: the daemon and commands that do not ask it, at the same objects
    chance, killed = random.Random(SEED + 1), collections.Counter()
    for k in range((KILLS + 3) // 4):
        if k % KILLS_OF_ONE == KILLS_OF_ONE - 1:
            others_go_on()
        if node.daemon is None:
            node.start()
        other = subprocess.Popen([LETHE, "object", "cycle", "--json", chance.choice(objects)], env=node.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        time.sleep(chance.random() * chance.choice((0.03, 0.3)))
        what = kill(chance, node.daemon.pid, killed)
        other.communicate()
        if what == "main":
            node.stop(signal.SIGKILL)
        for i in range(OBJECTS):
            effects_once(i, "seed %d, kill %d of %s" % (SEED + 1, k, what))
    print("# seed %d; killed: %s" % (SEED + 1, ", ".join("%s %d" % x for x in sorted(killed.items()))), flush=True)


@case
def every_object_goes_on():  # O-36: with the daemon alone, nobody asks
    before = [effects_once(i) for i in range(OBJECTS)]
    if node.daemon is None:
        node.start()
    for i in range(OBJECTS):
        wait_for(lambda: outcomes(node.history(objects[i])).count("success") >= before[i] + 2, "two more successes of %s" % objects[i], every=0.1)
    node.stop()
    for i in range(OBJECTS):
        done = effects_once(i, "at the end")
        same(node.must("slot", "get", "tally.%d" % (first_slot + i)).strip(), str(done))


@case
def the_store_is_whole():  # O-7 O-46
    node.whole(objects + ended)
    for id in objects:
        history = node.history(id)
        print("# %s: %d entries, %s" % (id, len(history), dict(collections.Counter(outcomes(history)))), flush=True)
        check("terminated" not in kinds(history), id)
        check(len(history) <= 65 or "checkpoint" in kinds(history), id, "O-54: a long history without a fold to begin at")


main()
