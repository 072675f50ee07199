#!/usr/bin/python3
"""Regions that `lethe serve` prepares ahead (policy "pool"): who gets one, what it holds, and what is left of it. TAP.

usage: pool.py LETHE root|user
"""
import json
import os
import re
import signal
import socket
import threading

import served
from served import SOCKET
from tap import DIR, ENV, STORE, Skip, ask_daemon, case, cgroups_left, check, lethe, log, main, processes_below, same, wait_for, wait_runs

POLICY = os.path.join(DIR, "policy.json")
ENV |= {"LETHE_SOCKET": SOCKET, "LETHE_SERVE": "1", "LETHE_POLICY": POLICY}


def policy(**pool):
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, **({"pool": pool} if pool else {})}, f)


def processes():
    """pid: (parent, name)"""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                head, _, rest = f.read().rpartition(")")
        except OSError:
            continue
        if name.isdigit():
            found[int(name)] = (int(rest.split()[1]), head.partition("(")[2])
    return found


def children(pid):
    return {child: name for child, (parent, name) in processes().items() if parent == pid}


def has_ended(pid):
    """Dead, whether or not its parent has noticed."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            return f.read().rpartition(") ")[2][0] in "ZX"
    except OSError:
        return True


class Daemon(served.Daemon):
    def __init__(self, **pool):
        super().__init__()
        policy(**pool)

    def regions(self):
        """The first processes that have one of their own: zygotes have none, and guards may wait for a region. A launcher has a spare."""
        all_of_them = {pid: (parent, name) for pid, (parent, name) in processes().items() if name not in ("lethe-proxy", "lethe-layer", "lethe-routes")}
        parents = {parent for parent, _ in all_of_them.values()}
        return sum(1 for pid, (parent, _) in all_of_them.items() if parent == self.pid and pid in parents)

    def waits(self, n):
        """Until the daemon holds n that the next invocation can take. With none also the kernel is through with those that were given up."""
        wait_for(lambda: ask_daemon("status")["ready_regions"] == n, f"{n} that wait")
        wait_for(lambda: n > 0 or self.regions() == 0, "the end of what was given up")

    def guard_is_ready(self):
        """The guard of the region that is over: until it has said that it is as new, the next region gets another one."""
        wait_for(lambda: ask_daemon("status")["ready_guards"] > 0, "a guard that is as new")


def run(*argv, options=(), **params):
    r = ask_daemon("run", exec=argv[0], args=list(argv[1:]), options=[list(o) for o in options], **params)
    return r | {"start": r["receipt"]["start"]}


def run_ahead(*argv, **kw):
    """One for which a region waits."""
    r = run(*argv, **kw)
    same(r["start"], "pool", r)
    return r


@case
def one_that_waits_is_taken_by_one_invocation_and_no_other():
    with Daemon(skills={"*": 2}) as d:
        same(run("/bin/sh", "-c", "true")["start"], "cold")
        seen = set()
        for i in range(6):
            d.waits(2)
            r = run_ahead("/bin/sh", "-c", "cat; echo $0 $1 $FOO; ls -A /tmp /work; touch /tmp/mark /work/mark", str(i), "b", options=[("env", f"FOO={i}x")], stdin="in\n")
            same((r["start"], r["exit_code"], r["stdout"]), ("pool", 0, f"in\n{i} b {i}x\n/tmp:\n\n/work:\n"))  # I-3
            seen.add(r["region"])
        same(len(seen), 6)  # I-1
        events = [json.loads(l) for l in lethe("log", "--region", r["region"], "--json").out.splitlines()]
        same((events[0]["type"], events[0]["start"]), ("region.allocated", "pool"))


@case
def who_comes_without_a_pause_finds_them_too():
    """They are prepared when nobody is in the way; when few are left, all the same."""
    with Daemon(skills={"*": 6}) as d:
        run("/bin/sh", "-c", "true")
        d.waits(6)
        starts, stop = [], threading.Event()

        def come():
            while not stop.is_set():
                starts.append(run("/bin/sh", "-c", "true")["start"])
        threads = [threading.Thread(target=come) for _ in range(3)]
        try:
            for t in threads:
                t.start()
            # However few of the processors' turns the pool's thread gets: the three go on until one of those that were made meanwhile was taken.
            wait_for(lambda: starts.count("pool") > 6, "a seventh from the pool")
        finally:
            stop.set()
            for t in threads:
                t.join()
        print(f"# {len(starts)} came, {starts.count('pool')} found one")
        same(starts[0], "pool")
        d.waits(6)


@case
def what_is_too_long_for_one_is_started_without():
    with Daemon(skills={"*": 1}) as d:
        run("/bin/sh", "-c", "true")
        d.waits(1)
        r = run("/bin/sh", "-c", "echo ${#0} ${#1}", "x" * 100000, "y" * 100000)
        same((r["start"], r["stdout"]), ("cold", "100000 100000\n"))
        d.waits(1)
        same(run_ahead("/bin/sh", "-c", "echo ${#0}", "x" * 30000)["stdout"], "30000\n")


@case
def only_a_grant_that_is_the_same_gets_one():
    with Daemon(skills={"*": 1}) as d:
        run("/bin/sh", "-c", "true")
        d.waits(1)
        other = [("memory", "100m")], [("network", "host")], [("pids-limit", "9")], [("workdir", "/tmp")], [("volume", "/etc/hostname:/h")], [("proc", None)]
        for n, options in enumerate(other, 2):
            same((run("/bin/sh", "-c", "true", options=options)["start"], run("/bin/true")["start"] if n == 2 else "cold"), ("cold", "cold"), options)
            d.waits(n + 1)
        run_ahead("/bin/sh", "-c", "true", options=[("workdir", "/tmp")])
        run_ahead("/bin/sh", "-c", "true")


def look_for(word, pid, name):
    """How many parts of its memory were looked through: it is in none."""
    looked = 0
    for path in [f"/proc/{pid}/cmdline", f"/proc/{pid}/environ"]:
        with open(path, "rb") as f:
            check(word not in f.read(), path, name)
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            a, b, rights = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
            if rights[0] != "r" or "[v" in line:
                continue
            mem.seek(int(a, 16))
            try:
                data = mem.read(int(b, 16) - int(a, 16))
            except OSError:
                continue
            check(word not in data, line)
            looked += 1
    return looked


def what_waits_holds_nothing_of_an_invocation():
    """I-3: memory, arguments, environment and descriptors of all that waits, after and while others run."""
    word = "canary-" + os.urandom(6).hex()
    with Daemon(skills={"*": 2}) as d:
        for _ in range(3):
            r = run("/bin/sh", "-c", "cat; echo $0 $A >/tmp/f; cat /tmp/f; sleep 0.2", word, options=[("env", "A=" + word)], stdin=word)
            check(word in r["stdout"], r)
        d.waits(2)
        d.quiet()
        looked = 0
        for pid, name in children(d.pid).items():
            try:
                looked += look_for(word.encode(), pid, name)
            except (FileNotFoundError, ProcessLookupError):
                wait_for(lambda pid=pid: has_ended(pid), f"the end of {pid} {name}")  # nobody needs it: it waits for nobody
        check(looked > 20, looked)


if os.getuid() == 0:  # nobody else looks into them
    case(what_waits_holds_nothing_of_an_invocation)


@case
def what_was_killed_or_replaced_is_nobodys():
    path = os.path.join(DIR, "given")
    with open(path, "w", encoding="utf-8") as f:
        f.write("one")
    os.chmod(DIR, 0o755)
    with Daemon(skills={"*": 1}) as d:
        argv, options = ["/bin/cat", "/g"], [("volume", path + ":/g")]
        same(run(*argv, options=options)["stdout"], "one")
        d.waits(1)
        with open(path + "-new", "w", encoding="utf-8") as f:
            f.write("two")
        os.rename(path + "-new", path)
        r = run(*argv, options=options)
        same((r["start"], r["stdout"]), ("cold", "two"))
        d.waits(1)
        killed = []
        for pid, name in children(d.pid).items():
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                if name == "lethe-worker" and re.search(r"NSpid:.*\t1\n", f.read()):  # first process of a region
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
        check(killed, children(d.pid))
        wait_for(lambda: all(has_ended(pid) for pid in killed), "their end")  # kill(2) returns before
        r = run(*argv, options=options)
        same((r["start"], r["stdout"], r["exit_code"]), ("cold", "two", 0))
        d.waits(1)
        same(run_ahead(*argv, options=options)["stdout"], "two")


@case
def another_policy_and_time_end_them():
    with Daemon(skills={"*": 3}) as d:
        run("/bin/true")
        d.waits(3)
        policy(skills={"true": 1, "*": 0})
        ask_daemon("reload")
        d.waits(0)
        same((run("/bin/true")["start"], run("/bin/false")["start"]), ("cold", "cold"))
        d.waits(1)
        policy(skills={"*": 2}, idle="1s")
        ask_daemon("reload")
        same(run("/bin/true")["start"], "cold")
        # Asked for until it is seen: on a slow machine a second passes before the first is made, and its kind is forgotten.
        wait_for(lambda: ask_daemon("status")["ready_regions"] > 0 or not run("/bin/true"), "one that waits")
        d.waits(0)
        policy(skills={"*": 200}, memory="5m")  # each counts for 2 MiB
        ask_daemon("reload")
        run("/bin/true")
        for _ in range(3):
            d.waits(2)
            run_ahead("/bin/true")
            check(ask_daemon("status")["ready_regions"] <= 2)
        d.waits(2)
        policy()
        ask_daemon("reload")
        d.waits(0)
        same(run("/bin/true")["start"], "cold")
        d.waits(0)
    same(cgroups_left(), [])


def stats_skill(name, **manifest):
    folder = os.path.join(DIR, name)
    os.mkdir(folder)
    with open(folder + "/SKILL.md", "w", encoding="utf-8") as f:
        f.write(f"---\nname: {name}\ndescription: Is counted.\n---\n")
    with open(folder + "/lethe.json", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "entry": {"main": ["/bin/sh", "-c", "echo $0"]}, "lineage": "stats"} | manifest, f)
    return folder


def recorded():
    return {json.loads(l)["region"] for l in lethe("ps", "--json").out.splitlines()}


def ahead(n):
    """The n regions that are recorded as alive, once it is so many."""
    wait_for(lambda: len(recorded()) == n, f"{n} that are alive")
    return recorded()


@case
def of_lineage_stats_it_is_recorded_when_it_is_prepared():
    """I-36, I-38, I-60: allocated durably before its skill starts, released once, whatever becomes of it; the invocation waits for its end's commit alone."""
    folder = stats_skill("counted")
    reads = stats_skill("reading", slots={"some": {}}, reads=["some"])

    def go(skill, *args, **params):
        r = ask_daemon("run", skill=skill, args=list(args), **params)
        return r["receipt"]["start"], r["stdout"], [(e["seq"], e["type"]) for e in log("--region", r["region"])]

    with Daemon(skills={"*": 2}) as d:
        same(go(folder, "first")[0], "cold")
        for i in range(4):
            d.waits(2)
            ahead(2)
            size = len(log())
            start, out, events = go(folder, str(i))
            same((start, out, [t for _, t in events]), ("pool", f"{i}\n", ["region.allocated", "region.released", "invocation.ended"]))
            check(events[0][0] < size <= events[1][0], events, size)
        d.waits(2)
        # What is of one invocation is recorded with it.
        same(go(folder, "x", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")[0], "cold")
        same(go(reads, "y")[0], "cold")
        d.waits(4)
        size = len(log())
        start, _, events = go(reads, "z")
        same(start, "pool")
        check(events[0][0] >= size, events, size)
        d.waits(4)
        unused = ahead(2)  # of the skill whose lineage is "stats"
    entries = log()
    for region in unused:
        own = [e for e in entries if e.get("region") == region]
        same([e["type"] for e in own if e["type"] != "region.cancelled"], ["region.allocated", "region.released", "invocation.ended"])
        same((own[0]["start"], own[-1]["outcome"], own[-2]["teardown"]["grade"] in ("cleared", "nothing_held")), ("pool", "cancelled", True), own)
    with Daemon(skills={"*": 2}) as d:
        go(folder, "again")
        d.waits(2)
        unused = ahead(2)
        d.p.kill()
        d.p.wait()
        d.p.drain.join(10)
        d.p.stderr.close()
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)
    for region in unused:
        same([e["type"] for e in log("--region", region)], ["region.allocated", "region.released", "region.recovered", "invocation.ended"])
    same((ahead(0), cgroups_left(), lethe("audit").code, lethe("audit", "regions", "unreleased").code), (set(), [], 0, 0))


@case
def the_last_region_is_one_that_somebody_asked_for():
    """A-11: a region that was recorded ahead and given up ends after the invocations that were asked for."""
    folder = stats_skill("asked-for")
    with Daemon(skills={"*": 2}) as d:
        for start in ("cold", "pool"):
            r = ask_daemon("run", skill=folder)
            same(r["receipt"]["start"], start)
            d.waits(2)
    e = [e for e in log("--type", "invocation.ended")]
    check(e[-1]["region"] != r["region"] and e[-1]["outcome"] == "cancelled", e[-3:])  # what waited was given up with the daemon
    same(json.loads(lethe("why", "--last", "--json").out)["region"], r["region"])


@case
def what_a_floor_raised_is_recorded_of_each():
    """I-73: a region that was recorded before its invocation says nothing of what policy raised. Such an invocation gets another one."""
    folder = stats_skill("raised")
    with Daemon(skills={"*": 2}) as d:
        same(ask_daemon("run", skill=folder)["receipt"]["start"], "cold")
        d.waits(2)
        same(ask_daemon("run", skill=folder)["receipt"]["start"], "pool")
        with open(POLICY, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "pool": {"skills": {"*": 2}}, "bounds": {"commit": {"floor": "success"}, "key_scope": {"floor": "invocation-tree"}}}, f)
        same(lethe("serve", "--reload", "--socket", SOCKET).code, 0)
        for _ in range(2):
            r = ask_daemon("run", skill=folder)
            g = log("--region", r["region"], "--type", "region.allocated")[0]["grant"]
            same([(c["field"], c["asked"], c["granted"]) for c in g.get("raised", [])], [("/key_scope", "invocation", "invocation-tree"), ("/commit", "any", "success")], r)
            d.waits(2)


@case
def what_is_recorded_ahead_does_not_count_until_it_is_taken():
    """P1: as many invocations at once as policy allows, no fewer and no more."""
    folder = stats_skill("limited")
    with Daemon(skills={"*": 2}) as d:
        with open(POLICY, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "max_regions": 2, "pool": {"skills": {"limited": 2, "*": 0}}}, f)
        ask_daemon("reload")
        same(ask_daemon("run", skill=folder, args=["a"])["exit_code"], 0)
        d.waits(2)
        ahead(2)
        others = []
        for _ in range(2):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.connect(SOCKET)
            s.sendall(b'{"id":1,"jsonrpc":"2.0","method":"run","params":{"exec":"/bin/sleep","args":["60"]}}\n')
            others.append(s)
            ahead(2 + len(others))
        for _ in range(2):
            r = ask_daemon("run", skill=folder, args=["b"])
            same((r["exit_code"], r["receipt"]["outcome"], r["stdout"]), (125, "denied", ""))
            check("max_regions" in r["receipt"]["reason"], r)
        for s in others:
            s.close()
        wait_for(lambda: not any(r["regions"] for r in ask_daemon("ps")["runs"]), "their end")
        d.quiet()
        same(ask_daemon("run", skill=folder, args=["c"])["stdout"], "c\n")
    same(lethe("audit").code, 0)


def what_gates_read_is_taken_off_its_memory():
    """I-5, I-50: its control groups were made before its gates were looked at."""
    limit = "/sys/fs/cgroup/memory/%s/memory.limit_in_bytes"
    with open(DIR + "/any.json", "w", encoding="utf-8") as f:
        f.write("{}")
    same(lethe("slot", "define", "wide", "--schema", DIR + "/any.json").code, 0)
    same(lethe("slot", "put", "--", "wide", json.dumps("x" * 100000)).code, 0)
    folder = stats_skill("gated", reads=["wide"], gates=[{"slot": "wide", "schema": {}}], entry={"main": ["/bin/sh", "-c", "sleep 1000 & echo $!; wait"]})
    found = {}

    def look(d, start):
        """Below this daemon alone: others of this name come and go."""
        for pid, name in processes_below(d.pid):
            try:
                with open("/proc/%d/cgroup" % pid, encoding="utf-8") as f:
                    own = re.search(r":memory:/(.*lethe-.*)", f.read()) if name == "sleep" else None
                if own:
                    with open(limit % own.group(1), encoding="utf-8") as f:
                        found[start] = int(f.read())
            except OSError:
                pass
            if name == "sleep":
                return True
        return False

    with Daemon(skills={"*": 1}) as d:
        for start in ("cold", "pool"):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.connect(SOCKET)
            s.sendall(json.dumps({"id": 1, "jsonrpc": "2.0", "method": "run", "params": {"skill": folder}}).encode() + b"\n")
            wait_for(lambda: look(d, start), "the skill")
            s.close()
            d.quiet()
            same([e["start"] for e in log("--type", "region.allocated")][-1], start)
            d.waits(1)
    if not found:
        raise Skip("this kernel has no control groups of version 1 for this user")
    same(found["pool"], found["cold"])


if os.getuid() == 0:  # who has control groups
    case(what_gates_read_is_taken_off_its_memory)


def guards_of(d):
    return {pid for pid, name in children(d.pid).items() if name == "lethe-guard"}


def kill_now(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@case
def guards_serve_one_region_after_another():
    with Daemon() as d:
        zygote = guards_of(d)
        run("/bin/true")
        d.guard_is_ready()
        first = guards_of(d) - zygote
        same(len(first), 1)
        held = []
        for i in range(20):
            r = run("/bin/sh", "-c", "echo $0", str(i))
            same((r["exit_code"], r["stdout"], r["receipt"]["teardown"]["counts"]["processes_missed"]), (0, f"{i}\n", 0))
            held.append(r["receipt"]["teardown"]["bytes_overwritten"])
            d.guard_is_ready()
        same(guards_of(d) - zygote, first)
        check(max(held) < 2 * min(held), held)  # what is told is of one region
        # A region that died meanwhile is nobody's. kill(2) returns before it is dead, and the daemon is to find a dead one.
        kill_now(first)
        wait_for(lambda: all(map(has_ended, first)), "its end")
        r = run("/bin/true")
        same((r["exit_code"], r["receipt"]["teardown"]["counts"]["processes_missed"]), (0, 0))
        d.guard_is_ready()
        before = guards_of(d)
        same((len(before - zygote), before & first), (1, set()))
        # Of a region that was ended it may have said more than that it is as new: then it serves no other one, and goes when the next is taken.
        run("/bin/sh", "-c", "sleep 100", options=[("timeout", "300ms")])
        for _ in range(2):
            run("/bin/true")
            d.guard_is_ready()
        check(len(guards_of(d) - before) <= 1, before, guards_of(d))


@case
def a_guard_that_dies_when_it_is_taken_is_told():
    """At the same moment nobody can say whether it dies before it is taken or with the region: then nothing ran, and the record says why."""
    told = []
    with Daemon() as d:
        zygote = guards_of(d)
        for _ in range(10):
            run("/bin/true")
            d.guard_is_ready()
            kill_now(guards_of(d) - zygote)
            r = run("/bin/sh", "-c", "echo ran")
            told.append(r["receipt"]["outcome"])
            check((r["exit_code"], r["stdout"]) == (0, "ran\n") or (r["exit_code"], r["stdout"], r["receipt"]["outcome"]) == (125, "", "setup_failed"), r)
            d.quiet()
            wait_for(lambda: all(not has_ended(p) for p in guards_of(d)), "the dead one's funeral")
    print(f"# {told.count('exited')} of {len(told)} ran")
    same(lethe("audit").code, 0)


@case
def a_region_of_a_guard_that_served_others_is_recovered():
    with Daemon() as d:
        zygote = guards_of(d)
        run("/bin/true")
        d.guard_is_ready()
        first = guards_of(d) - zygote
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(SOCKET)
            s.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"exec": "/bin/sh", "args": ["-c", "sleep 100"]}}\n')
            wait_runs(d.p, "sleep")
            same(guards_of(d) - zygote, first)
            d.p.kill()
            d.p.wait()
            d.p.drain.join(10)
            d.p.stderr.close()
    r = lethe("run", "--no-serve", "--exec", "/bin/true")
    same(r.code, 0)
    events = [json.loads(l) for l in lethe("log", "--json").out.splitlines()]
    region = [e for e in events if e["type"] == "region.recovered"][-1]["region"]
    released = next(e for e in events if e["type"] == "region.released" and e["region"] == region)
    teardown = released["teardown"]
    same((teardown["by"], teardown["counts"]["processes_missed"], teardown["bytes_missed"]), ("guard", 0, {}))
    check(0 < teardown["counts"]["processes"] <= 2 and teardown["bytes_overwritten"] == teardown["bytes_held"], teardown)
    same([f for f in os.listdir(STORE + "/guard") if f != "lock"], [])


@case
def a_daemon_that_is_killed_leaves_nothing():
    for _ in range(3):
        with Daemon(skills={"*": 4}) as d:
            run("/bin/true")
            d.waits(4)
            left = children(d.pid)
            d.p.kill()
            d.p.wait()
            d.p.drain.join(10)
            d.p.stderr.close()
        wait_for(lambda: all(map(has_ended, left)), f"the end of {left}")
        same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)
        same((cgroups_left(), [f for f in os.listdir(STORE + "/run") if f.endswith(".groups")], lethe("audit").code), ([], [], 0))
        same([f for f in os.listdir(STORE + "/guard") if f != "lock"], [])


main()
