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
import time

import served
from served import SOCKET
from tap import DIR, ENV, STORE, Skip, ask_daemon, case, cgroups_left, check, lethe, log, main, same, wait_for

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


class Daemon(served.Daemon):
    def __init__(self, **pool):
        super().__init__()
        policy(**pool)

    def regions(self):
        """The first processes that have one of their own: nurseries have none, and guards may wait for a region."""
        all_of_them = processes()
        parents = {parent for parent, _ in all_of_them.values()}
        return sum(1 for pid, (parent, _) in all_of_them.items() if parent == self.pid and pid in parents)

    def waits(self, n):
        for _ in range(2000):
            if self.regions() == n:
                time.sleep(0.3)  # the last one may yet have to be held by it
                if self.regions() == n:
                    return
            time.sleep(0.01)
        raise AssertionError(f"{self.regions()} wait, want {n}; {children(self.pid)}")


def run(*argv, options=(), **params):
    r = ask_daemon("run", exec=argv[0], args=list(argv[1:]), options=[list(o) for o in options], **params)
    return r | {"start": r["receipt"]["start"]}


def run_soon(*argv, **kw):
    """What is prepared may take its time on a busy machine."""
    for _ in range(50):
        r = run(*argv, **kw)
        if r["start"] == "pool":
            return r
        time.sleep(0.2)
    raise AssertionError("never from the pool")


@case
def one_that_waits_is_taken_by_one_invocation_and_no_other():
    with Daemon(skills={"*": 2}) as d:
        same(run("/bin/sh", "-c", "true")["start"], "cold")
        seen = set()
        for i in range(6):
            d.waits(2)
            r = run_soon("/bin/sh", "-c", "cat; echo $0 $1 $FOO; ls -A /tmp /work; touch /tmp/mark /work/mark", str(i), "b", options=[("env", f"FOO={i}x")], stdin="in\n")
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
        starts = []
        threads = [threading.Thread(target=lambda: starts.extend(run("/bin/sh", "-c", "true")["start"] for _ in range(40))) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        same((starts[0], len(starts)), ("pool", 120))
        check("pool" in starts[60:], starts)
        d.waits(6)


@case
def what_is_too_long_for_one_is_started_without():
    with Daemon(skills={"*": 1}) as d:
        run("/bin/sh", "-c", "true")
        d.waits(1)
        r = run("/bin/sh", "-c", "echo ${#0} ${#1}", "x" * 100000, "y" * 100000)
        same((r["start"], r["stdout"]), ("cold", "100000 100000\n"))
        same(run_soon("/bin/sh", "-c", "echo ${#0}", "x" * 30000)["stdout"], "30000\n")


@case
def only_a_grant_that_is_the_same_gets_one():
    with Daemon(skills={"*": 1}) as d:
        run("/bin/sh", "-c", "true")
        d.waits(1)
        other = [("memory", "100m")], [("network", "host")], [("pids-limit", "9")], [("workdir", "/tmp")], [("volume", "/etc/hostname:/h")], [("proc", None)]
        for n, options in enumerate(other, 2):
            same((run("/bin/sh", "-c", "true", options=options)["start"], run("/bin/true")["start"] if n == 2 else "cold"), ("cold", "cold"), options)
            d.waits(n + 1)
        run_soon("/bin/sh", "-c", "true", options=[("workdir", "/tmp")])
        run_soon("/bin/sh", "-c", "true")


def what_waits_holds_nothing_of_an_invocation():
    """I-3: memory, arguments, environment and descriptors of all that waits, after and while others run."""
    word = "canary-" + os.urandom(6).hex()
    with Daemon(skills={"*": 2}) as d:
        for _ in range(3):
            r = run("/bin/sh", "-c", "cat; echo $0 $A >/tmp/f; cat /tmp/f; sleep 0.2", word, options=[("env", "A=" + word)], stdin=word)
            check(word in r["stdout"], r)
        d.waits(2)
        looked = 0
        for pid, name in children(d.pid).items():
            for path in [f"/proc/{pid}/cmdline", f"/proc/{pid}/environ"]:
                with open(path, "rb") as f:
                    check(word.encode() not in f.read(), path, name)
            with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
                for line in maps:
                    a, b, rights = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
                    if rights[0] != "r" or "[v" in line:
                        continue
                    mem.seek(int(a, 16))
                    try:
                        check(word.encode() not in mem.read(int(b, 16) - int(a, 16)), line)
                        looked += 1
                    except OSError:
                        pass
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
        for pid, name in children(d.pid).items():
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                if name == "lethe-worker" and re.search(r"NSpid:.*\t1\n", f.read()):  # first process of a region
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)
        r = run(*argv, options=options)
        same((r["start"], r["stdout"], r["exit_code"]), ("cold", "two", 0))
        same(run_soon(*argv, options=options)["stdout"], "two")


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
        d.waits(2)
        d.waits(0)
        policy(skills={"*": 200}, memory="5m")  # each counts for 2 MiB
        ask_daemon("reload")
        run("/bin/true")
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


def ahead(n):
    """The n regions that are recorded as alive, once it is so many."""
    for _ in range(1000):
        regions = {json.loads(l)["region"] for l in lethe("ps", "--json").out.splitlines()}
        if len(regions) == n:
            return regions
        time.sleep(0.01)
    raise AssertionError(f"{len(regions)} are alive, want {n}")


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
            ahead(2)
            size = len(log())
            start, out, events = go(folder, str(i))
            same((start, out, [t for _, t in events]), ("pool", f"{i}\n", ["region.allocated", "region.released", "invocation.ended"]))
            check(events[0][0] < size <= events[1][0], events, size)
        ahead(2)
        # What is of one invocation is recorded with it.
        same(go(folder, "x", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")[0], "cold")
        same(go(reads, "y")[0], "cold")
        d.waits(4)
        size = len(log())
        start, _, events = go(reads, "z")
        same(start, "pool")
        check(events[0][0] >= size, events, size)
        d.waits(4)
        unused = ahead(2)
    entries = log()
    for region in unused:
        own = [e for e in entries if e.get("region") == region]
        same([e["type"] for e in own if e["type"] != "region.cancelled"], ["region.allocated", "region.released", "invocation.ended"])
        same((own[0]["start"], own[-1]["outcome"], own[-2]["teardown"]["grade"] in ("cleared", "nothing_held")), ("pool", "cancelled", True), own)
    with Daemon(skills={"*": 2}) as d:
        go(folder, "again")
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
def what_is_recorded_ahead_does_not_count_until_it_is_taken():
    """P1: as many invocations at once as policy allows, no fewer and no more."""
    folder = stats_skill("limited")
    with Daemon(skills={"*": 2}) as d:
        with open(POLICY, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "max_regions": 2, "pool": {"skills": {"limited": 2, "*": 0}}}, f)
        ask_daemon("reload")
        same(ask_daemon("run", skill=folder, args=["a"])["exit_code"], 0)
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
        for _ in range(1000):
            r = ask_daemon("run", skill=folder, args=["c"])
            if r["exit_code"] == 0:
                break
        same(r["stdout"], "c\n")
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

    def look(start):
        p = {pid for pid, (_, name) in processes().items() if name == "sleep"} - before
        if not p:
            return False
        with open("/proc/%d/cgroup" % p.pop(), encoding="utf-8") as f:
            own = re.search(r":memory:/(.*lethe-.*)", f.read())
        if own:
            with open(limit % own.group(1), encoding="utf-8") as f:
                found[start] = int(f.read())
        return True

    with Daemon(skills={"*": 1}) as d:
        for start in ("cold", "pool"):
            before = {pid for pid, (_, name) in processes().items() if name == "sleep"}
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.connect(SOCKET)
            s.sendall(json.dumps({"id": 1, "jsonrpc": "2.0", "method": "run", "params": {"skill": folder}}).encode() + b"\n")
            wait_for(lambda: look(start), "the skill")
            s.close()
            wait_for(lambda: not lethe("ps", "--json").out, "its end")
            same([e["start"] for e in log("--type", "region.allocated")][-1], start)
            d.waits(1)
    if not found:
        raise Skip("this kernel has no control groups of version 1 for this user")
    same(found["pool"], found["cold"])


if os.getuid() == 0:  # who has control groups
    case(what_gates_read_is_taken_off_its_memory)


def guards_of(d):
    return {pid for pid, name in children(d.pid).items() if name == "lethe-guard"}


@case
def guards_serve_one_region_after_another():
    with Daemon() as d:
        nursery = guards_of(d)
        run("/bin/true")
        first = guards_of(d) - nursery
        same(len(first), 1)
        held = []
        for i in range(20):
            r = run("/bin/sh", "-c", "echo $0", str(i))
            same((r["exit_code"], r["stdout"], r["receipt"]["teardown"]["counts"]["processes_missed"]), (0, f"{i}\n", 0))
            held.append(r["receipt"]["teardown"]["bytes_overwritten"])
        check(len(guards_of(d) - nursery) <= 4, guards_of(d))  # on a busy machine one is not always as new in time
        check(max(held) < 2 * min(held), held)  # what is told is of one region
        # Those that died meanwhile are nobody's.
        idle = guards_of(d) - nursery
        for pid in idle:
            os.kill(pid, signal.SIGKILL)
        r = run("/bin/true")
        same((r["exit_code"], r["receipt"]["teardown"]["counts"]["processes_missed"]), (0, 0))
        wait_for(lambda: not idle & guards_of(d), "the end of the guards that were killed")  # the kernel takes its time with a dead one
        before = guards_of(d)
        run("/bin/sh", "-c", "sleep 100", options=[("timeout", "300ms")])
        run("/bin/true")
        run("/bin/true")
        check(len(guards_of(d)) <= len(before) + 1, (before, guards_of(d)))


@case
def a_region_of_a_guard_that_served_others_is_recovered():
    with Daemon() as d:
        nursery = guards_of(d)
        run("/bin/true")
        first = guards_of(d) - nursery
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(SOCKET)
            s.sendall(b'{"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"exec": "/bin/sh", "args": ["-c", "sleep 100"]}}\n')
            for _ in range(2000):
                if "sleep" in {name for _, name in processes().values()} and d.regions() == 1:
                    break
                time.sleep(0.01)
            check(first <= guards_of(d), first)
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
        for _ in range(1000):
            if not any(os.path.exists(f"/proc/{p}") for p in left):
                break
            time.sleep(0.01)
        check(not any(os.path.exists(f"/proc/{p}") for p in left), left)
        same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)
        same((cgroups_left(), [f for f in os.listdir(STORE + "/run") if f.endswith(".groups")], lethe("audit").code), ([], [], 0))
        same([f for f in os.listdir(STORE + "/guard") if f != "lock"], [])


main()
