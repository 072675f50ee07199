#!/usr/bin/python3
"""SIGKILL of `lethe run` at random moments, and in every tenth round behind a write that was acknowledged. After each: the next start recovers, nothing of any region runs, no control group, mount or
scratch is left, the audit holds, and every slot write that was acknowledged is there. TAP.

usage: kill-supervisor.py LETHE WRITER [HOW-MANY [SEED]]
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from folder import remove  # noqa: E402
from orphans import adopt, none_left  # noqa: E402
from tiers import TIERS  # noqa: E402

LETHE, WRITER = map(os.path.abspath, sys.argv[1:3])
if os.getuid() == 0 and "KILL_MOUNTS" not in os.environ:
    os.environ["KILL_MOUNTS"] = "own"
    os.execvp("unshare", ["unshare", "-m", "--propagation", "private", sys.executable, *sys.argv])
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 200
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
DIR = tempfile.mkdtemp(prefix="kill-")
STORE = os.path.join(DIR, "store")
SKILL = os.path.join(DIR, "counter")
ENV = {"PATH": "/usr/bin:/bin", "HOME": DIR, "LETHE_STORE": STORE, "LETHE_ANCHOR": os.path.join(DIR, "anchor")}

# What runs while the supervisor is killed. Every one but the first would run on for seconds.
KINDS = {
    "true": ["--exec", "/bin/true"],
    "writer": [SKILL, "--", "{first}", "100000"],
    "tree": ["--exec", "/bin/sh", "-c", "for i in 1 2 3 4 5 6; do (echo x > /work/$i; sleep 20) & done; sleep 20"],
    "busy": ["--exec", "/bin/sh", "-c", "while :; do :; done"],
    "breach": ["--timeout", "20ms", "--exec", "/bin/sleep", "20"],
    "output": ["--exec", "/usr/bin/yes"],
}


def lethe(*argv, timeout=60):
    return subprocess.run([LETHE, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, text=True,
                          timeout=timeout)


def must(*argv):
    r = lethe(*argv)
    if r.returncode != 0:
        raise AssertionError("lethe %s: exit %d: %s %s" % (" ".join(argv), r.returncode, r.stdout[-800:], r.stderr[-800:]))
    return r.stdout


def traces():
    """Control groups and scratch folders of any region of this store."""
    ids = {json.loads(l)["region"] for l in must("log", "--json", "--type", "region.allocated").splitlines()}
    found = [d for d in os.listdir("/tmp") if d[:6] == "lethe-" and d[6:] in ids]
    for place in ("memory", "pids", "cpuacct", "unified", ""):
        for base, dirs, _ in os.walk(os.path.join("/sys/fs/cgroup", place)):
            found += [os.path.join(base, d) for d in dirs if d[:6] == "lethe-" and d[6:] in ids]
            if place == "":
                dirs[:] = []
    scratch = os.path.join(STORE, "scratch")
    return found + (os.listdir(scratch) if os.path.isdir(scratch) else [])


def n_recovered():
    return len(must("log", "--json", "--type", "region.recovered").splitlines())


def mounts():
    """Of our own namespace: nobody else mounts there. An ordinary user cannot mount anything outside of one."""
    if os.getuid() != 0:
        return []
    with open("/proc/self/mountinfo") as f:
        return sorted(f.read().splitlines())


def one(rng, i, before):
    certain = i % 10 == 5  # that a region is there to be recovered does not depend on how fast the machine is
    kind = "writer" if certain else rng.choice(sorted(KINDS))
    wait = rng.choice((rng.uniform(0, 0.02), rng.uniform(0, 0.06), rng.uniform(0, 0.2)))
    argv = [a.format(first=i * 1000000) if a == "{first}" else a for a in KINDS[kind]]
    if rng.random() < 0.2:
        argv = ["--tier", TIERS[-1]] + argv if kind != "writer" else argv
    p = subprocess.Popen([LETHE, "run", "--quiet", *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
    if kind == "output":  # its reader goes on reading, or the supervisor would only wait
        drain = subprocess.Popen(["/bin/cat"], stdin=p.stdout, stdout=subprocess.DEVNULL)
        p.stdout.close()
    recovered = n_recovered() if certain else 0
    out = b""
    while certain and b"acked" not in out:
        out += os.read(p.stdout.fileno(), 4096)
    if not certain:
        time.sleep(wait)
    p.send_signal(signal.SIGKILL)
    if kind == "output":
        drain.wait(120)
    else:
        out += p.stdout.read()
    p.wait(120)
    what = "round %d, %s, killed after %.1f ms" % (i, kind, wait * 1000)

    # The next start; its own run must work too.
    r = lethe("run", "--exec", "/bin/true")
    assert r.returncode == 0, "%s: the next run: exit %d, %s" % (what, r.returncode, r.stderr)
    assert not certain or n_recovered() == recovered + 1, "%s: the region was not recovered" % what
    alive = must("ps", "--json")
    assert alive == "", "%s: still alive: %s" % (what, alive)
    none_left(what, time.monotonic() + 120)
    acked = [int(l.split()[1]) for l in out.decode().split("\n")[:-1] if l.startswith("acked ")]
    if acked:
        value = int(must("slot", "get", "count"))
        assert value >= acked[-1], "%s: %d was acknowledged, the slot has %d" % (what, acked[-1], value)
    if i % 10 == 9 or i == COUNT - 1:
        must("audit")
        left = traces()
        assert not left, "%s: left behind: %s" % (what, left)
        assert mounts() == before, "%s: mounts changed" % what
    return len(acked)


def descendants(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            children = [int(x) for x in f.read().split()]
    except FileNotFoundError:
        return []
    return [x for c in children for x in (c, *descendants(c))]


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid) as f:
            return f.read().strip()
    except FileNotFoundError:
        return ""


def what_its_guard_does(tier, guard_too):
    """I-60, I-16: a region whose supervisor is killed is overwritten by its guard, and recovery records that; with the guard killed, too, it records
    that nothing is known to be overwritten. The file in the scratch is looked at from here."""
    what = "%s, guard %s" % (tier, "killed, too" if guard_too else "alive")
    program = "open('f', 'wb').write(b'kill-secret-' * 50000); import sys; print('ready', flush=True); import time; time.sleep(60)"
    p = subprocess.Popen([LETHE, "run", "--quiet", "--tier", tier, "--exec", "/usr/bin/python3", "-c", program], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
    assert p.stdout.readline() == b"ready\n", what
    region = json.loads(must("ps", "--json").splitlines()[0])["region"]
    tree = descendants(p.pid)
    guard = [x for x in tree if comm(x) == "lethe-guard"]
    python = [x for x in tree if comm(x).startswith("python")]
    assert len(guard) == 1 and len(python) == 1, "%s: %s" % (what, [comm(x) for x in tree])
    with open("/proc/%d/cwd/f" % python[0], "rb") as kept:
        if guard_too:
            os.kill(p.pid, signal.SIGSTOP)  # so that it cannot see its guard die
            os.kill(guard[0], signal.SIGKILL)
        os.kill(p.pid, signal.SIGKILL)
        p.stdout.read()
        p.wait(10)
        must("run", "--exec", "/bin/true")
        released = [json.loads(l) for l in must("log", "--json", "--region", region).splitlines()]
        t = [e for e in released if e["type"] == "region.released"][0]["teardown"]
        if guard_too:
            assert (t["grade"], t["by"], t["bytes_overwritten"]) == ("unscrubbed", "nobody", 0), "%s: %s" % (what, t)
            assert "anonymous_memory" in t["not_covered"], "%s: %s" % (what, t)
        else:
            assert t["grade"] in ("cleared", "cleared_kernel") and t["by"] == "guard", "%s: %s" % (what, t)
            assert t["bytes_held"] == t["bytes_overwritten"] == t["bytes_verified"] > 600000, "%s: %s" % (what, t)
            size = os.fstat(kept.fileno()).st_size
            assert size >= 600000 and not os.pread(kept.fileno(), size, 0).strip(b"\0"), "%s: the scratch was not overwritten" % what
    assert os.listdir(os.path.join(STORE, "guard")) == ["lock"], what


def main():
    adopt()
    os.mkdir(SKILL)
    shutil.copy(WRITER, os.path.join(SKILL, "writer"))
    with open(os.path.join(SKILL, "SKILL.md"), "w") as f:
        f.write("---\nname: counter\ndescription: Counts in a slot.\n---\n")
    with open(os.path.join(SKILL, "lethe.json"), "w") as f:
        json.dump({"version": 1, "entry": {"main": ["writer"]}, "writes": ["count"], "slots": {"count": {"type": "integer"}}}, f)
    print("TAP version 13\n1..1\n# %d rounds, seed %d, uid %d" % (COUNT, SEED, os.getuid()), flush=True)
    rng = random.Random(SEED)
    before, acked, start = mounts(), 0, time.monotonic()
    try:
        for i in range(COUNT):
            acked += one(rng, i, before)
        for tier in TIERS:
            what_its_guard_does(tier, False)
            what_its_guard_does(tier, True)
        print("# %d writes acknowledged, %d regions recovered, %.1f s" % (acked, n_recovered(), time.monotonic() - start))
        print("ok 1 - kill of the supervisor at random moments")
        code = 0
    except AssertionError as e:
        print("not ok 1 - kill of the supervisor at random moments\n# seed %d\n# %s" % (SEED, str(e).replace("\n", "\n# ")))
        code = 1
    remove(DIR)
    sys.exit(code)


main()
