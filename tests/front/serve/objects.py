#!/usr/bin/python3
"""Objects of `lethe serve`: what is due is woken, by time and by what happened, and executions are jobs of the daemon. TAP.

usage: objects.py LETHE root|user [FILL-OBJECT]
"""
import json
import os
import signal
import subprocess
import sys

from served import Client, Daemon, nothing_is_left
from tap import DIR, ENV, LETHE, ROOT, STORE, ask_daemon, case, case_when, check, lethe, log, main, same, wait_for

os.chmod(DIR, 0o711)
POLICY, GATES = os.path.join(DIR, "policy.json"), os.path.join(DIR, "gates")
FILL = next((os.path.abspath(a) for a in sys.argv[2:] if a not in ("root", "user")), None)
ENV |= {"LETHE_SOCKET": os.path.join(DIR, "socket"), "LETHE_SERVE": "1", "LETHE_POLICY": POLICY}
FILES = [{"path": GATES, "access": "read", "at": "/gate"}]
WAITS = 'while ! [ -e "/gate/$1" ]; do sleep 0.02; done\n'


def policy(**more):
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "files": [{"path": GATES, "access": "read"}], **more}, f)


def skill(name, script, **manifest):
    d = os.path.join(DIR, name)
    os.mkdir(d)
    for file, text in (("SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name), ("main.sh", script),
                       ("lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/sh", "/skill/main.sh"]}, **manifest}))):
        with open(os.path.join(d, file), "w", encoding="utf-8") as f:
            f.write(text)
    same(lethe("skill", "add", d).code, 0)


def answer(*argv, **kw):
    r = lethe("object", *argv, "--json", **kw)
    same(r.code, 0, argv, r)
    return json.loads(r.out)


def create(do, **more):
    """A new object's id."""
    return answer("create", "--intent", "-", input=json.dumps({"do": do, **more}).encode())["object"]


def slot_is(name, **more):
    return {"prerequisite": {"slot": name, **more}}


def waits_for(trigger):
    return create({"wait": trigger})


def history(name):
    return [json.loads(line) for line in lethe("object", "history", name, "--json").out.splitlines()]


def kinds(name):
    return [e["kind"] for e in history(name)]


def state(name):
    return answer("show", name)["state"]


def objects(wanted=None):
    return {o["object"]: o for o in answer("list", *(["--state", wanted] if wanted else []))["objects"]}


def wait_state(wanted, *names):
    wait_for(lambda: set(names) <= set(objects(wanted)), "%s: %s; now %s" % (wanted, names[:3], [kinds(n)[-3:] for n in names[:3]]))


def put(name, value="true"):
    same(lethe("slot", "put", name, value).code, 0)


def define(name):
    same(lethe("slot", "define", name, "--schema", "-", input=b"{}").code, 0)


def open_gate(name):
    with open(os.path.join(GATES, name), "w", encoding="utf-8"):
        pass


def time_of(name, kind, number=0):
    """The time of an entry, microseconds."""
    return [int(e["time"]) for e in history(name) if e["kind"] == kind][number]


def once_each(*names):
    """O-37: one beginning each, and a chain that holds."""
    for n in names:
        same(kinds(n).count("instantiated"), 1, n)
        same(lethe("object", "verify", n).code, 0, n)


@case
def skills_and_slots_are_there():
    os.mkdir(GATES)
    policy()
    skill("waits", WAITS, files=FILES)
    skill("quick", "exit 0\n")
    for name in ("flag", "other", "many", "child", "unset"):
        define(name)


@case
def by_time():  # O-29, O-30
    with Daemon():
        name = waits_for({"elapsed": {"for": "300ms"}})
        wait_state("terminated", name)
        same(kinds(name)[-1], "terminated")
        check(time_of(name, "reentry") >= time_of(name, "dormant") + 300000, history(name))
        print("# %d us after the time" % (time_of(name, "reentry") - time_of(name, "dormant") - 300000), flush=True)
        same([e["data"]["trigger"].get("elapsed") is not None for e in history(name) if e["kind"] == "reentry"], [True])
    once_each(name)


@case
def by_what_another_process_writes():  # O-30, O-31, O-32
    with Daemon():
        slot, event, wrong = waits_for(slot_is("flag")), waits_for({"event": {"type": "slot.written", "match": {"slot": "flag"}}}), \
            waits_for({"event": {"type": "slot.written", "match": {"slot": "other"}}})
        wait_state("dormant", slot, event, wrong)
        put("flag")
        wait_state("terminated", slot, event)
        same([e["data"]["evidence"] != {} for n in (slot, event) for e in history(n) if e["kind"] == "reentry"], [True, True])
        same((state(wrong), kinds(wrong).count("reentry")), ("dormant", 0))  # whatever was due then is done
        put("other")
        wait_state("terminated", wrong)
    once_each(slot, event, wrong)


@case
def by_another_policy():  # O-15, O-30
    policy(skills={"quick": {"digest": "sha256:" + "0" * 64}})
    with Daemon():
        before = create({"skill": "quick"})
        wait_state("dormant", before)
    policy()
    with Daemon():  # another policy since the last daemon
        wait_state("terminated", before)
    policy(skills={"quick": {"digest": "sha256:" + "0" * 64}})
    with Daemon() as d:
        name = create({"skill": "quick"})
        wait_state("dormant", name)
        same([(e["data"]["reason"], e["policy"]["verdict"]) for e in history(name) if e["kind"] == "dormant"], [("denied", "denied")])
        same(lethe("serve", "--reload").code, 0)  # the same policy again: nothing to do
        sentinel = create({"skill": "waits", "args": ["policy"]})
        wait_state("execution", sentinel)
        same((state(name), kinds(name).count("started")), ("dormant", 0))
        same([e for e in log("--type", "object.woken") if name in e["objects"]], [])
        open_gate("policy")
        wait_state("terminated", sentinel)
        policy()
        os.kill(d.pid, signal.SIGHUP)
        wait_state("terminated", name)
        same(kinds(name).count("started"), 1)
    once_each(before, name)


@case
def by_the_end_of_children():  # O-24, O-26, O-30
    with Daemon():
        name = create({"delegate": [{"do": {"wait": slot_is("child")}}, {"do": {"skill": "quick"}}]})
        wait_state("dormant", name)
        wait_for(lambda: [e["data"]["status"] for e in history(name) if e["kind"] == "child"] == ["success"] or
                 sorted(o["state"] for o in objects().values() if o.get("parent") == name) == ["dormant", "terminated"], "that a child ended")
        same(state(name), "dormant")
        put("child")
        wait_state("terminated", name)
        same([e["data"]["reason"] for e in history(name) if e["kind"] == "terminated"], ["satisfied"])
        same([e["data"]["status"] for e in history(name) if e["kind"] == "child"], ["success"] * 2)
    once_each(name)


@case
def a_daemon_that_was_killed_settles_what_ran():  # O-36, O-37, O-38
    with Daemon(code=-signal.SIGKILL) as d:
        name = create({"skill": "waits", "args": ["killed"]}, **{"with": {"pace": {"base": "1ms", "min": "10ms", "max": "10ms"}}})
        wait_state("execution", name)
        wait_for(lambda: json.loads(lethe("ps", "--json").out.splitlines()[0]).get("pid") if lethe("ps", "--json").out else False, "that a region runs")
        os.kill(d.pid, signal.SIGKILL)
        d.p.wait()
    same(state(name), "execution")
    open_gate("killed")
    with Daemon():
        wait_state("terminated", name)
    same([e["outcome"]["kind"] for e in history(name) if e["kind"] == "outcome"], ["interrupted", "success"])
    same(kinds(name).count("started"), 2)
    once_each(name)
    same(lethe("audit").code, 0)


@case
def what_a_killed_command_left_is_settled_beside_the_daemon():  # O-38, O-53
    with Daemon("--max-objects", "1"):
        first = create({"skill": "waits", "args": ["first"]})
        wait_state("execution", first)  # the daemon's only place
        name = create({"skill": "waits", "args": ["left"]}, **{"with": {"pace": {"base": "1ms", "min": "10ms", "max": "10ms"}}})
        p = subprocess.Popen([LETHE, "object", "cycle", name], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_state("execution", name)
        p.kill()
        p.wait()
        for gate in ("left", "first"):
            open_gate(gate)
        wait_state("terminated", first, name)
        same([e["outcome"]["kind"] for e in history(name) if e["kind"] == "outcome"], ["interrupted", "success"])
    once_each(first, name)


@case
def many_at_once():  # O-30, O-53
    with Daemon():
        names = [waits_for(slot_is("many")) for _ in range(200)]
        wait_state("dormant", *names)
        before = len(log("--type", "object.woken"))
        put("many")
        wait_state("terminated", *names)
        same(len(log("--type", "object.woken")), before + 1)  # one event of the commit that woke them
        times = [time_of(n, "terminated") for n in (names[0], names[-1])]
        print("# from the first's end to the last's: %d us" % (max(times) - min(times)), flush=True)
    once_each(*names[::50])


@case
def one_that_could_always_wake_does_not_spin():  # O-31, O-33
    with Daemon():
        rest = slot_is("unset", **{"is": "unset"})
        name = create({"skill": "quick"}, until={"success": 3}, **{"with": {"rest": rest, "pace": {"min": "500ms"}}})
        wait_state("terminated", name)
    slept, woke = ([int(e["time"]) for e in history(name) if e["kind"] == kind] for kind in ("dormant", "reentry"))
    same(len(slept), len(woke))
    check(len(slept) >= 2, kinds(name))
    for a, b in zip(slept, woke):
        check(b >= a + 500000, "woke after %d us" % (b - a))
    same([e["object"] for e in log("--type", "object.armed") if e["object"] == name], [])  # nor was it looked at in vain


@case
def only_so_many_executions_at_once():  # O-53
    def running():
        return len(objects("execution"))
    with Daemon("--max-objects", "2"):
        names = [create({"skill": "waits", "args": ["places"]}) for _ in range(5)]
        wait_for(lambda: ask_daemon("status")["objects"] == 2 and len(lethe("ps", "--json").out.splitlines()) == 2, "that both places are taken")
        sleeper = waits_for(slot_is("unset", **{"is": "unset"}))  # younger than all who wait for a place
        wait_state("terminated", sleeper)
        same((ask_daemon("status")["objects"], running()), (2, 2))
        same(sum(kinds(n).count("started") for n in names), 2)
        open_gate("places")
        wait_state("terminated", *names)
        wait_for(lambda: ask_daemon("status")["objects"] == 0, "that no place is taken")
    same([kinds(n).count("started") for n in names], [1] * 5)
    once_each(*names)


@case
def an_execution_is_a_run_of_the_daemon():  # O-14
    with Daemon():
        name = create({"skill": "waits", "args": ["never"]}, **{"with": {"attempts": 1}})
        wait_state("execution", name)
        wait_for(lambda: [r["regions"] != [] for r in ask_daemon("ps")["runs"] if r.get("object") == name] == [True], "its region")
        region = [r["regions"][0] for r in ask_daemon("ps")["runs"] if r.get("object") == name][0]
        same(lethe("kill", region).code, 0)
        wait_state("terminated", name)
        same([e["outcome"]["kind"] == "success" for e in history(name) if e["kind"] == "outcome"], [False])
    once_each(name)


@case
def one_that_lost_its_place_in_the_queue_is_settled():  # O-14, O-38
    with Daemon("--max-running", "1", "--max-queued", "2", "--max-objects", "2"), Client() as c:
        holder = c.send("run", exec="/bin/sleep", args=["1000"], receipt=False)
        wait_for(lambda: ask_daemon("status")["running"] == 1, "that the only place is taken")
        names = [create({"skill": "quick"}, **{"with": {"pace": {"base": "1ms", "min": "10ms", "max": "10ms"}}}) for _ in range(2)]
        wait_for(lambda: ask_daemon("status")["queued"] == 2, "that both executions wait")
        late = c.send("run", exec="/bin/true", receipt=False)  # of a client that has less than its share: the newest execution gives way
        wait_for(lambda: [e["outcome"]["kind"] for n in names for e in history(n) if e["kind"] == "outcome"] == ["interrupted"], "the lost one's outcome")
        c.send("cancel", id=holder)
        wait_for(lambda: c.read()["id"] == late, "the late run's end")
        wait_state("terminated", *names)
    once_each(*names)


@case
def a_daemon_that_ends_waits_for_what_runs():  # O-36
    with Daemon("--drain", "60s") as d:
        name = create({"skill": "waits", "args": ["drain"]})
        wait_state("execution", name)
        later = waits_for({"elapsed": {"for": "10m"}})
        wait_state("dormant", later)
        d.p.send_signal(signal.SIGTERM)
        wait_for(lambda: not os.path.exists(ENV["LETHE_SOCKET"]), "that the end has begun")
        fresh = waits_for(slot_is("unset", **{"is": "unset"}))
        open_gate("drain")
        wait_for(lambda: d.p.poll() is not None, "the daemon's end")
    same([e["outcome"]["kind"] for e in history(name) if e["kind"] == "outcome"], ["success"])
    same(kinds(fresh), ["instantiated"])  # no cycle began behind the signal
    with Daemon():
        wait_state("terminated", name, fresh)
    same(lethe("object", "end", later).code, 0)


def waker_ran(pid):
    """Nanoseconds that the daemon's waker had a processor."""
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/comm" % (pid, task), encoding="utf-8") as f:
            if f.read() != "lethe-waker\n":
                continue
        with open("/proc/%d/task/%s/schedstat" % (pid, task), encoding="utf-8") as f:
            return int(f.read().split()[0])
    raise AssertionError("no waker")


def wait_still(pid):
    """Until the waker did nothing at all for more than a second."""
    seen = []

    def is_still():
        seen.append(waker_ran(pid))
        return len(seen) > 1 and seen[-1] == seen[-2]
    wait_for(is_still, "that the waker sleeps on", every=1.5)


@case
def a_sleeping_object_costs_nothing():  # O-32
    with Daemon() as d:
        name = waits_for({"any": [{"elapsed": {"for": "1d"}}, slot_is("other", version=1000)]})
        wait_state("dormant", name)
        wait_still(d.pid)
        put("other")  # wakes it in vain: it is armed again, and sleeps on
        wait_for(lambda: [e for e in log("--type", "object.armed") if e["object"] == name] != [], "that it is armed again")
        entries = kinds(name)
        wait_still(d.pid)
        same(kinds(name), entries)
        same(lethe("object", "end", name).code, 0)


@case
def the_metrics_have_it():
    series = json.loads(lethe("metrics", "--json").out)["series"]
    all_objects = objects()
    for wanted in ("dormant", "terminated", "execution"):
        same(series['lethe_objects{state="%s"}' % wanted], len([o for o in all_objects.values() if o["state"] == wanted]), wanted)
    check(int(series["lethe_objects_woken_total"]) >= 200, series)
    check(int(series['lethe_object_actions_total{action="termination"}']) == len(objects("terminated")), series)


case(nothing_is_left)


def fill(folder):
    """A file that takes all that is left of a file system."""
    path = os.path.join(folder, "filler")
    with open(path, "wb", buffering=0) as f:
        try:
            while True:
                f.write(b"x" * 4096)
        except OSError:
            return path


@case_when(ROOT)
def a_full_disk_is_waited_for_without_a_loop():  # O-36
    small = os.path.join(DIR, "small")
    os.mkdir(small)
    same(subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m,mode=700", "none", small], check=False).returncode, 0)
    try:
        there = {"LETHE_STORE": os.path.join(small, "store"), "LETHE_ANCHOR": os.path.join(small, "anchor")}
        with Daemon(**there) as d:
            def is_in(wanted):
                return json.loads(lethe("object", "show", name, "--json", env=there).out)["state"] == wanted
            name = lethe("object", "create", "--intent", "-", input=b'{"do":{"wait":{"elapsed":{"for":"5s"}}}}', env=there).out.decode().strip()
            wait_for(lambda: is_in("dormant"), "that it sleeps")
            os.kill(d.pid, signal.SIGSTOP)  # its time comes when the disk is full
            check(is_in("dormant"))
            filler = fill(small)
            wait_for(lambda: json.loads(lethe("object", "top", "--json", env=there).out)["due"] != [], "that it is due")
            before = waker_ran(d.pid)
            os.kill(d.pid, signal.SIGCONT)
            wait_for(lambda: waker_ran(d.pid) > before, "that the waker tries")
            wait_still(d.pid)
            check(is_in("dormant"))
            os.unlink(filler)
            wait_for(lambda: is_in("terminated"), "that it goes on")
        same(d.p.said.count("objects wait: "), 1, d.p.said)
    finally:
        subprocess.run(["umount", "-l", small], check=False)


@case_when(FILL)
def one_that_cannot_go_on_stops_no_other():  # O-53; its memory is no chain that could be: the store's audit is no longer clean
    same(subprocess.run([FILL, STORE, "none"], env=ENV, check=False).returncode, 0)
    bad = ["%026d" % n for n in (1, 2)]
    with Daemon() as d:
        good = [create({"skill": "quick"}), waits_for({"elapsed": {"for": "100ms"}})]
        wait_state("terminated", *good)
        wait_still(d.pid)  # no loop: the next try comes after more than a second
        same([kinds(n) for n in bad], [["instantiated", "evaluation", "delegation", "child", "dormant"]] * 2)
    said = d.p.early + d.p.said
    same([said.count("object %s: no cycle: " % n) for n in bad], [1, 1], said)


main()
