#!/usr/bin/python3
"""Very many dormant objects: what they take on the disk and in memory, what a daemon does while nothing is due, when those wake that are, and how long an event
takes that wakes a thousand. Prints what depends on the machine, and checks what may not: nobody wakes early, twice, or not at all, and sleep appends nothing.
LETHE_OBJECT_MANY: how many (2000); LETHE_OBJECT_REST: seconds at rest (5); LETHE_OBJECT_FILLED: a folder that gets the filled store, or has it from an earlier
run with the same LETHE_OBJECT_MANY: a million objects take minutes. TAP.

usage: object-many.py LETHE OBJECT-FILL root|user
"""
import datetime
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[3])

from tap import DIR, case, check, main, same, wait_for  # noqa: E402
from node import Node, kinds  # noqa: E402

FILL = os.path.abspath(sys.argv[2])
MANY = int(os.environ.get("LETHE_OBJECT_MANY", "2000"))
REST = float(os.environ.get("LETHE_OBJECT_REST", "5"))
WOKEN = min(1000, MANY // 2)  # by one event
FILLED = os.environ.get("LETHE_OBJECT_FILLED")
DUE = 20
FAR_ASLEEP = MANY - WOKEN - DUE  # in all as many as the policy allows by default, where MANY is a million
FAR = 4000000000 * 1000000  # the year 2096
os.chmod(DIR, 0o755)
node = Node("node")
woken, figures = [], {}


def fill(*argv):
    begun = time.monotonic()
    p = subprocess.run([FILL, node.store, *map(str, argv)], env=dict(node.env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    same(p.returncode, 0, p.stderr)
    took = time.monotonic() - begun
    os.sync()  # what the file system still has to write of gigabytes delays whoever writes next
    return p.stdout.split(), took


def on_disk():
    return os.stat(node.store + "/data.mdb").st_blocks * 512


def resident():
    with open("/proc/%d/status" % node.daemon.pid, encoding="utf-8") as f:
        fields = dict(line.split(":", 1) for line in f.read().splitlines())
    return {k: int(fields[k].split()[0]) * 1024 for k in ("RssAnon", "RssFile")}


def ticks(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
        return sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15]))


def size():
    """Entries of the ledger."""
    return int(node.must("checkpoint").splitlines()[1])


def usec(entry):
    return int(entry["time"])


def tell(text):
    print("# " + text, flush=True)


def copy(source, target):
    names = [name for name in ("store", "anchor", "woken") if os.path.exists(os.path.join(source, name))]
    subprocess.run(["cp", "-a", *(os.path.join(source, name) for name in names), target], check=True)
    os.sync()


@case
def many_objects_fall_asleep():  # O-29 O-30
    if FILLED and os.path.exists(FILLED + "/woken"):
        copy(FILLED, node.folder)
        with open(node.folder + "/woken", encoding="ascii") as f:
            woken.extend(f.read().split())
        same(len(set(woken)), WOKEN)
        tell("the objects of %s; data.mdb has %d bytes for each" % (FILLED, on_disk() // (FAR_ASLEEP + WOKEN)))
        return
    node.must("slot", "define", "go", "--schema", node.file({"type": "integer"}))
    before = on_disk()
    _, took = fill(FAR_ASLEEP, FAR)
    figures["disk"] = on_disk() - before
    woken.extend(fill(WOKEN, "event", "go")[0])
    same(len(set(woken)), WOKEN)
    tell("%d objects in %.1f s; data.mdb grew by %d bytes for each" % (FAR_ASLEEP, took, figures["disk"] // FAR_ASLEEP))
    if FILLED:
        with open(node.folder + "/woken", "w", encoding="ascii") as f:
            f.write("\n".join(woken))
        shutil.rmtree(FILLED, ignore_errors=True)
        os.makedirs(FILLED)
        copy(node.folder, FILLED)


@case
def nothing_happens_while_nothing_is_due():  # O-32 O-33: a daemon at rest appends nothing
    node.start()
    begun = resident()
    wait_for(lambda: ticks_settled(), "a daemon that has started", every=0.2)
    entries, used = size(), ticks(node.daemon.pid)
    time.sleep(REST)
    used = ticks(node.daemon.pid) - used
    same(size(), entries, "entries of the ledger after %g s of rest" % REST)
    now = resident()
    tell("at rest: %d ticks of processor time in %g s, %.3f %%" % (used, REST, 100.0 * used / os.sysconf("SC_CLK_TCK") / REST))
    tell("the daemon: %d bytes of its own, %d of files; %.1f of its own for each object (at the start %d)" % (now["RssAnon"], now["RssFile"], now["RssAnon"] / MANY,
                                                                                                            begun["RssAnon"]))


quiet = [None, 0]  # the ticks of the last look, and how many looks saw them and no thread at work


def ticks_settled():
    """A busy machine gives no processor for a while: then a thread has ticks of before, and is ready to run."""
    states = []
    for task in os.listdir("/proc/%d/task" % node.daemon.pid):
        with open("/proc/%d/task/%s/stat" % (node.daemon.pid, task), encoding="utf-8") as f:
            states.append(f.read().rsplit(")", 1)[1].split()[0])
    now = ticks(node.daemon.pid)
    quiet[:] = [now, quiet[1] + 1 if now == quiet[0] and set(states) == {"S"} else 0]
    return quiet[1] >= 3


@case
def those_that_are_due_wake_at_their_time_and_not_before():  # O-31 O-34
    due, late = {}, []
    for _ in range(DUE):
        at = (time.time_ns() // 1000) + 2000000
        due[node.create({"do": {"wait": {"elapsed": {"at": at}}}})] = at
    for id, at in due.items():
        time.sleep(max(0, at / 1e6 + 0.3 - time.time()))
        wait_for(lambda: node.show(id)["state"] == "terminated", "the end of %s" % id, every=0.05)
        history = node.history(id)
        same(kinds(history), ["instantiated", "evaluation", "dormant", "reentry", "evaluation", "terminated"], id)
        check(usec(history[3]) >= at, "%s woke %d us before its time" % (id, at - usec(history[3])))
        late.append(usec(history[3]) - max(at, usec(history[2])))  # the machine may be so busy that the object fell asleep after its time
    late.sort()
    tell("wake-up after the due time, of %d: median %.1f ms, most %.1f ms" % (DUE, late[DUE // 2] / 1e3, late[-1] / 1e3))


@case
def one_event_wakes_all_that_wait_for_it_and_nobody_else():  # O-30 O-31 O-34: settled in the commit of the event
    node.must("slot", "put", "go", "1")
    cause = node.lines("log", "--json", "--type", "slot.written")[-1]
    time.sleep(2)  # who asks takes processor time from those that wake
    for id in woken:
        wait_for(lambda: node.show(id)["state"] == "terminated", "the end of %s" % id, every=0.2)
    began = datetime.datetime.fromisoformat(cause["time"].replace("Z", "+00:00")).timestamp()
    first_end, last_wake, last_end = None, 0, 0
    for id in woken:
        history = node.history(id)
        same(kinds(history), ["instantiated", "evaluation", "dormant", "reentry", "evaluation", "terminated"], id)
        check("event" in history[3]["data"]["trigger"], id, history[3])
        end = usec(history[-1])
        last_wake, last_end, first_end = max(usec(history[3]), last_wake), max(end, last_end), min(end, first_end or end)
    named = [id for e in node.lines("log", "--json", "--type", "object.woken") if str(e["by"]) == str(cause["seq"]) for id in e["objects"]]
    same(sorted(named), sorted(woken), "named by object.woken")
    tell("%d objects woken by one event: the first ended %.1f ms after it, the last woke after %.1f ms and ended after %.1f ms" % (
        WOKEN, *((usec_ / 1e3 - began * 1e3) for usec_ in (first_end, last_wake, last_end))))


@case
def the_others_sleep_on_as_they_fell_asleep():  # O-29 O-33
    node.stop()
    rows = [line.split()[1:3] for line in node.must("object", "list").splitlines()]
    same(len(rows), MANY)
    asleep = [n for state, n in rows if state == "dormant"]
    same(len(asleep), FAR_ASLEEP)
    same(set(asleep), {"3"}, "entries of each")
    node.whole(woken[:3])


main()
