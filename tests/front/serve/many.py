#!/usr/bin/python3
"""What a daemon leaves that ran many invocations, had many alive at once, or was killed while it ran many. TAP.

usage: many.py LETHE root|user

LETHE_MANY_RUNS (400), LETHE_MANY_ALIVE (60), LETHE_KILL_ROUNDS (3): how many. What is counted is printed, before and after.
"""
import collections
import json
import os
import re
import sys
import threading
import time

# Mounts and /dev/shm are the whole machine's, where others come and go: root looks at its own ones.
OWN = "LETHE_MANY_OWN" in os.environ
if os.getuid() == 0 and not OWN:
    os.environ["LETHE_MANY_OWN"] = "1"
    os.execvp("unshare", ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o mode=1777 none /dev/shm && exec "$@"', "sh", sys.executable, *sys.argv])

from served import SOCKET, Connection, Daemon  # noqa: E402
from tap import DIR, ENV, STORE, ask_daemon, case, cgroups_left, check, lethe, log, main, same, wait_for  # noqa: E402

POLICY = os.path.join(DIR, "policy.json")
ENV |= {"LETHE_SOCKET": SOCKET, "LETHE_SERVE": "1", "LETHE_POLICY": POLICY}
RUNS, ALIVE, ROUNDS = (int(os.environ.get(name, n)) for name, n in (("LETHE_MANY_RUNS", 400), ("LETHE_MANY_ALIVE", 60), ("LETHE_KILL_ROUNDS", 3)))
CLIENTS, WRITERS, POOL = 8, 24, 8
GUARDS_KEPT, GUARD_FDS = 32, 2  # those of regions that are over, for others (spawn/spawner-private.h)
TEMPLATES_MAX, TEMPLATE_NAMESPACES, TEMPLATE_FDS = 8, 7, 16  # spawn/spawner.c; of each, with the files of its control group that stay open
WAIT = 600  # seconds: after that it hangs
WRITER = """i=0
while [ $i -lt 40 ]; do
        v=$(lethe-slot write "out$1" "$i") || exit 1
        echo "out$1 $v"
        i=$((i + 1))
done
"""


def skill(name, file, text, **manifest):
    folder = os.path.join(DIR, name)
    os.mkdir(folder)
    files = {"SKILL.md": "---\nname: %s\ndescription: One of many.\n---\n" % name, file: text, "lethe.json": json.dumps({"version": 1} | manifest)}
    for path, content in files.items():
        with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
            f.write(content)
    same(lethe("skill", "add", folder).code, 0)


def skills():
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "pool": {"skills": {"many-pool": POOL // 2, "many-stats": POOL // 2}}}, f)
    os.chmod(DIR, 0o711)
    for name, manifest in (("many-cold", {}), ("many-pool", {}), ("many-stats", {"lineage": "stats"})):
        skill(name, "main.sh", "echo $0\n", entry={"main": ["sh", "/skill/main.sh"]}, **manifest)
    skill("many-fail", "main.sh", "kill -SEGV $$\n", entry={"main": ["sh", "/skill/main.sh"]})
    skill("many-warm", "main.py", "print(json.dumps([1]))\n", entry={"main": ["python3", "/skill/main.py"]}, warm={"preload": ["json"]})
    skill("many-write", "main.sh", WRITER, entry={"main": ["sh", "/skill/main.sh"]}, writes=["out%d" % i for i in range(WRITERS)],
          slots={"out%d" % i: {"type": "integer"} for i in range(WRITERS)})


class Client(Connection):
    def __init__(self):
        super().__init__(wait=WAIT)

    def read(self):
        answer = json.loads(self.f.readline())
        check("result" in answer, answer)
        return answer["result"]


def processes(pid):
    """Of the daemon, by name: its helpers, regions and guards, without what runs in the regions."""
    found = collections.Counter()
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                head, _, rest = f.read().rpartition(")")
            if int(rest.split()[1]) == pid:
                found[head.partition("(")[2]] += 1
        except (OSError, IndexError):
            pass
    return dict(found)


def namespaces(pids):
    found = set()
    for pid in pids:
        try:
            found |= {os.readlink("/proc/%s/ns/%s" % (pid, n)) for n in os.listdir("/proc/%s/ns" % pid)}
        except OSError:
            pass
    return len(found)


def below(pid):
    pids = [pid]
    for p in pids:
        try:
            for t in os.listdir("/proc/%d/task" % p):
                with open("/proc/%d/task/%s/children" % (p, t), encoding="utf-8") as f:
                    pids += [int(c) for c in f.read().split()]
        except OSError:
            pass
    return pids


def named(pids, name):
    n = 0
    for pid in pids:
        try:
            with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
                n += f.read().strip() == name
        except OSError:
            pass
    return n


def status(pid, field):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return int(re.search(r"^%s:\s+(\d+)" % field, f.read(), re.M).group(1))


def shown():
    """Mounts and files in /dev/shm, when they are nobody else's."""
    if not OWN:
        return {}
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return {"mounts": len(f.readlines()), "/dev/shm": sorted(os.listdir("/dev/shm"))}


def of_machine():
    """What is not the daemon's, and would stay when it has ended."""
    return {"our groups": cgroups_left(), "run": sorted(os.listdir(STORE + "/run")), **shown()}


def counts(pid):
    names = processes(pid)
    return {"descriptors": len(os.listdir("/proc/%d/fd" % pid)), "threads": len(os.listdir("/proc/%d/task" % pid)), "guards": names.pop("lethe-guard", 0),
            "processes": names, "namespaces": namespaces(below(pid)), **shown()}


def is_more(was, now):
    if isinstance(was, dict):
        return any(n > was.get(name, 0) for name, n in now.items())
    return not set(now) <= set(was) if isinstance(was, list) else now > was


def more(before, after):
    """What there is more of than there was. A guard that is kept for another region has some descriptors of the daemon's; a view may get another template, of
    which there are only so many. The warm interpreter of the one skill that has one is of such a template, which another one may have displaced before."""
    templates = max(0, after["processes"].get("lethe-first", 0) - before["processes"].get("lethe-first", 0))
    names = {"lethe-worker": before["processes"].get("lethe-worker", 0) + templates, "lethe-warm": 1}
    most = dict(before, guards=max(before["guards"], GUARDS_KEPT + POOL), processes=before["processes"] | names | {"lethe-first": TEMPLATES_MAX},
                namespaces=before["namespaces"] + TEMPLATE_NAMESPACES * templates,
                descriptors=before["descriptors"] + GUARD_FDS * max(0, after["guards"] - before["guards"]) + TEMPLATE_FDS * templates)
    return {k: (v, after[k]) for k, v in most.items() if is_more(v, after[k])}


def settled(pid, before):
    """The counts, when they are no more than they were, or do not become so. What waits in a pool comes and goes."""
    for _ in range(600):
        now = counts(pid)
        if not more(before, now):
            break
        time.sleep(0.1)
    return now


def tell(what, **values):
    print("# %s: %s" % (what, "; ".join("%s %s" % (k.replace("_", " "), v) for k, v in values.items())), flush=True)


def one(c, i):
    """The i-th of a mix. Returns its receipt."""
    way = i % 10
    if way in (0, 1):
        r = c.call("run", exec="/bin/sh", args=["-c", "exit 3"])
    elif way == 9:
        n = c.send("run", exec="/bin/sleep", args=["600"])
        time.sleep(0.002 * (i % 7))
        c.send("cancel", id=n)
        a, b = json.loads(c.f.readline()), json.loads(c.f.readline())
        r = (a if a["id"] == n else b)["result"]
    else:
        r = c.call("run", skill=("many-pool", "many-stats", "many-warm", "many-cold", "many-pool", "many-stats", "many-fail")[way - 2])
    return r["receipt"]


def mix(n):
    """n invocations by several clients. Returns what became of each region."""
    seen, broken, turns = {}, [], iter(range(n))

    def work():
        try:
            with Client() as c:
                for i in turns:
                    r = one(c, i)
                    seen[r["region"]] = r["outcome"]
        except Exception as e:
            broken.append(repr(e))
    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same(broken, [])
    return seen


@case
def many_in_a_row_leave_nothing():
    with Daemon() as d:
        first = mix(100)
        d.quiet()
        wait_for(lambda: ask_daemon("status")["ready_regions"] == POOL, "what waits in the pools")
        before, anonymous, machine = counts(d.pid), status(d.pid, "RssAnon"), of_machine()
        began = time.monotonic()
        seen = mix(RUNS)
        took = time.monotonic() - began
        after = settled(d.pid, before)
        grown = status(d.pid, "RssAnon") - anonymous
        tell("before", memory_kB=anonymous, **before)
        tell("after %d" % RUNS, memory_kB=anonymous + grown, **after)
        tell("outcomes", a_second=round(RUNS / took), **collections.Counter(seen.values()))
        same(len(seen), RUNS)
        same(set(seen.values()), {"exited", "signaled", "cancelled"})
        same(more(before, after), {})
        check(grown < 16 << 10, "%d kB more" % grown)
    left = of_machine()
    same(left, machine | {"run": left["run"], "our groups": []})
    same([n for n in left["run"] if not re.match("alive|gate|lock|pages", n)], [], "of regions")
    same((seen.keys() | first.keys()) - {e["region"] for e in log("--type", "region.released")}, set())
    same(lethe("audit").code, 0)


@case
def many_alive_at_once():
    """All of their programs are there; those of one client that leaves are ended, and nobody else's."""
    null = os.open("/dev/null", os.O_RDWR)
    # A fifth of the places is kept from who has most of them already.
    with Daemon("--max-running", str(ALIVE * 5 // 4 + 16), "--max-queued", str(ALIVE)) as d:
        with Client() as c:
            for _ in range(3):  # what is made for one that comes again
                c.call("run", exec="/bin/true")
        d.quiet()
        before = counts(d.pid)
        clients = [Client() for _ in range(10)]
        began = time.monotonic()
        for i in range(ALIVE):
            clients[i % 10].send("run", fds=[null] * 3, exec="/bin/sleep", args=["1000"], stdio=["stdin", "stdout", "stderr"], receipt=False,
                                 options=[["timeout", "20m"]])
        wait_for(lambda: d.p.poll() is not None or named(below(d.pid), "sleep") >= ALIVE, "all of them", WAIT, 0.5)
        took = time.monotonic() - began
        with Client() as c:
            same(c.call("status")["running"], ALIVE)
            tell("%d alive" % ALIVE, seconds=round(took, 1), memory_kB=status(d.pid, "RssAnon"), **counts(d.pid))
            same(len(json.loads("[%s]" % ",".join(lethe("ps", "--json").out.decode().split("\n")[:-1]))), ALIVE)
            clients.pop().close()
            wait_for(lambda: c.call("status")["running"] == ALIVE - ALIVE // 10, "the end of one client's", WAIT, 0.1)
            same(c.call("run", exec="/bin/echo", args=["one more"])["stdout"], "one more\n")
            same(c.call("status")["running"], ALIVE - ALIVE // 10)
            for x in clients:
                x.close()
            wait_for(lambda: c.call("status")["running"] == 0, "the end of all", WAIT, 0.1)
        after = settled(d.pid, before)
        tell("before", **before)
        tell("after", **after)
        same(more(before, after), {})
    os.close(null)
    same(cgroups_left(), [])
    ended = collections.Counter(e["outcome"] for e in log("--type", "invocation.ended"))
    check(ended["cancelled"] >= ALIVE, ended)


def load(told, written):
    """Asks for all kinds at once, until the daemon is gone. told: receipts; written: slot and version of writes that were answered."""
    r, w = os.pipe()
    clients = [Client() for _ in range(6)]
    for k in range(12):
        for i, c in enumerate(clients[:4]):
            c.send("run", **({"exec": "/bin/sh", "args": ["-c", "sleep 0.0%d" % (k % 7)]}, {"skill": "many-pool"}, {"skill": "many-stats"}, {"skill": "many-warm"})[i])
        for i, c in enumerate(clients[4:]):
            c.send("run", fds=[w], skill="many-write", args=[str(2 * k + i)], stdio=["stdout"], receipt=False)
    os.close(w)

    def receipts():
        for c in clients:
            try:
                while True:
                    told.append(json.loads(c.f.readline())["result"].get("receipt"))
            except (OSError, ValueError, KeyError):
                pass  # the end, or half a line: nobody was told
            c.close()

    def writes():
        with os.fdopen(r) as f:
            for line in f:
                if line.endswith("\n"):
                    written.append(tuple(line.split()))
    return [threading.Thread(target=f) for f in (receipts, writes)]


@case
def killed_under_load():
    """SIGKILL: the guards overwrite, the next start records, nobody who was told of an end was told wrong, no write that was answered is lost."""
    told, written, took = [], [], []
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)  # the store is there
    machine = of_machine()
    for i in range(ROUNDS):
        began = time.monotonic()
        with Daemon() as d:
            took.append(time.monotonic() - began)
            threads = load(told, written)
            for t in threads:
                t.start()
            time.sleep(0.2 + 0.1 * (i % 8))
            if i == ROUNDS - 1:  # on a slow machine none came so far that it wrote: the last one may
                wait_for(lambda: written, "a write that is answered")
            d.p.kill()
            d.p.wait()
            for t in threads:
                t.join()
    with Daemon():
        same(lethe("ps", "--json").out, b"")
    tell("%d kills" % ROUNDS, receipts=len(told), writes_answered=len(written), longest_start_seconds=round(max(took), 2))
    same(lethe("audit").code, 0)
    entries = log()
    ended = {e["region"]: e for e in entries if e["type"] == "invocation.ended"}
    for r in told:
        if r and r["region"]:
            same((ended[r["region"]]["seq"], ended[r["region"]]["outcome"]), (r["ledger"]["ended"], r["outcome"]))
    there = {(e["slot"], str(e["version"])) for e in entries if e["type"] == "slot.proposed"}
    same(set(written) - there, set(), "writes that were answered and are not there")
    check(len(written) > 0, "nothing was written")
    allocated = {e["region"] for e in entries if e["type"] == "region.allocated"}
    same(allocated - set(ended), set())
    same(allocated - {e["region"] for e in entries if e["type"] in ("region.released", "region.recovered")}, set())
    same(lethe("audit", "regions", "unreleased").code, 0)
    left = of_machine()
    tell("left", **left)
    same(left, machine)


skills()
main()
