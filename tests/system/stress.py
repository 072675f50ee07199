#!/usr/bin/env python3
"""stress-ng in a region, one stressor a run: each works, ends inside its budget, leaves the supervisor unharmed and the ledger intact
(I-24). Usage: stress.py LETHE WORKER GUARD root|user. Prints TAP."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from folder import remove

# Without a memory cgroup (the ordinary user) what a process reserves counts like what it uses: thread stacks, unused heap.
MEMORY = {"root": 256 << 20, "user": 1 << 30}
WALL_USEC = 30_000_000
NOBODY = 65534

# (what it exercises, options, operations): the operations take some tenths of a second of a processor, and end after a second at the latest; the size fits the
# budget.
STRESSORS = [
    ("memory", "--malloc 1 --malloc-bytes 1m --malloc-max 64", 20000), ("memory", "--vm 1 --vm-bytes 64m", 200),
    ("memory", "--brk 1", 80000), ("memory", "--memcpy 1", 120), ("memory", "--stack 1", 4), ("memory", "--mremap 1 --mremap-bytes 8m", 40),
    ("memory", "--mincore 1", 300), ("memory", "--madvise 1", 8), ("memory", "--shm 1 --shm-bytes 1m", 60), ("memory", "--fault 1", 1500),
    ("memory", "--mlock 1", 6000),
    ("process", "--fork 1", 300), ("process", "--vfork 1", 10000), ("process", "--clone 1 --clone-max 64", 20), ("process", "--kill 1", 15000),
    ("process", "--daemon 1", 200), ("process", "--nice 1", 200),
    ("process", "--pthread 1 --pthread-max 32", 1500), ("process", "--zombie 1 --zombie-max 32", 300),
    ("process", "--switch 1", 100000), ("process", "--wait 1", 300), ("process", "--sigq 1", 100000),
    ("filesystem", "--hdd 1 --hdd-bytes 8m", 4000), ("filesystem", "--dir 1", 400), ("filesystem", "--dentry 1", 600), ("filesystem", "--link 1", 4),
    ("filesystem", "--symlink 1", 4), ("filesystem", "--rename 1", 3000), ("filesystem", "--seek 1", 6000), ("filesystem", "--chmod 1", 400),
    ("filesystem", "--utime 1", 9000), ("filesystem", "--flock 1", 300000), ("filesystem", "--fallocate 1 --fallocate-bytes 8m", 10),
    ("ipc", "--pipe 1", 100000), ("ipc", "--fifo 1", 100000), ("ipc", "--sem 1", 5000),
    ("ipc", "--eventfd 1", 50000), ("ipc", "--futex 1", 10000), ("ipc", "--poll 1", 20000),
]
# Stressors that want more than there is: the breach that must come of it.
BREACHES = [
    ("--bigheap 1 --bigheap-growth 64m", "out_of_region", "memory"), ("--vm 4 --vm-bytes 2g --vm-keep", "out_of_region", "memory"),
    ("--fork 1 --fork-max 4096", "pids_exceeded", "processes"), ("--zombie 1 --zombie-max 4096", "pids_exceeded", "processes"),
]


def main():
    lethe, worker, guard, who = sys.argv[1:5]
    stress = shutil.which("stress-ng")
    if stress is None or (who == "root") != (os.getuid() == 0) and who == "root":
        print("1..0 # SKIP " + ("stress-ng is not there" if stress is None else "needs root"))
        return 0
    prefix = []
    if who == "user" and os.getuid() == 0:
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    base = tempfile.mkdtemp(prefix="lethe-stress-", dir="/var/tmp")
    failed = 0
    try:
        for path in (lethe, worker, guard):
            shutil.copy2(path, base)
        if prefix:
            os.chown(base, NOBODY, NOBODY)
        lethe, store, receipt = (os.path.join(base, x) for x in ("lethe", "store", "receipt"))
        env = {"PATH": os.environ["PATH"], "HOME": base, "XDG_STATE_HOME": os.path.join(base, "state"), "LANG": "C.UTF-8"}

        def run(options, seconds):
            p = subprocess.run([*prefix, lethe, "run", "--quiet", "--store", store, "--receipt", receipt, "--memory", str(MEMORY[who]), "--scratch", "200m",
                                "--timeout", "30s", "--pids-limit", "96", "--nofile", "1024", "--proc", "--exec", stress, *options.split(), "--timeout",
                                seconds, "--temp-path", "/work", "--seed", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, env=env, check=False)
            with open(receipt, encoding="utf-8") as f:
                return p, json.load(f)

        def report(n, name, problem, said=b""):
            nonlocal failed
            failed += problem is not None
            print(f"{'ok' if problem is None else 'not ok'} {n} - {name}", flush=True)
            if problem is not None:
                print(f"# {problem}")
                for text in said.decode(errors="replace").splitlines()[-12:]:
                    print(f"#   {text}")

        print(f"1..{len(STRESSORS) + len(BREACHES) + 1}", flush=True)
        n = 0
        for kind, options, operations in STRESSORS:
            n += 1
            p, r = run(f"{options} {options.split()[0]}-ops {operations}", "1s")
            problem = None
            if p.returncode != 0 or r["outcome"] != "exited" or r["exit_code"] != 0:
                problem = f"{r['outcome']} {r['limiting_resource']} {p.returncode}"
            elif r["usage"]["peak_memory_bytes"] > MEMORY[who] or r["usage"]["wall_usec"] > WALL_USEC:
                problem = f"outside of its budget: {r['usage']}"
            report(n, f"{kind} {options}", problem, p.stdout)
        for options, outcome, resource in BREACHES:
            n += 1
            p, r = run(options, "25s")
            good = (r["outcome"], r["limiting_resource"]) == (outcome, resource) and p.returncode > 0
            report(n, f"breach {options}", None if good else f"{r['outcome']} {r['limiting_resource']} {p.returncode}", p.stdout)
        p = subprocess.run([*prefix, lethe, "audit", "--store", store], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, check=False)
        report(n + 1, "the ledger is intact afterwards", None if p.returncode == 0 else f"audit ended {p.returncode}", p.stdout)
    finally:
        remove(base)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
