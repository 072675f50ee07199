"""What `lethe validate` predicts of a teardown, and what a cancel takes: the part `bound` of scripts/bench."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import bench_serve

MEMORY = (("0.2 MB", 200000), ("10 MB", 10000000), ("100 MB", 100000000), ("500 MB", 500000000), ("2 GB", 2000000000))
# Processes, and how they come to be: forked with memory of their own, with a program of their own, or forked with all memory in common.
WAYS = ((1, ""), (10, ""), (100, ""), (100, "apart"), (100, "shared"), (1000, ""), (1000, "apart"), (1000, "shared"))
DISCIPLINES = ("zero", "multipass:3")
DECLARED = "250ms"  # what a skill declares that wants to be refused where the usual bound is too short
SHARED_MOST = 100000000000  # bytes that the processes map together
TRIES = 3           # budgets of a row
EACH = 300000       # bytes that a process takes beside what it holds
REGION = ("hold", "lethe-worker")
STANDS_SEC = 0.2    # the tree does nothing for so long before it is ended


class Skill:
    """The program `hold` with its part of memory, and budgets like those that a skill declares which knows what it needs."""

    def __init__(self, lethe, folder, program, processes, held, discipline, how):
        self.how = how
        self.lethe, self.folder, self.program, self.processes, self.held, self.discipline = lethe, folder, program, processes, held, discipline
        os.makedirs(folder, exist_ok=True)
        with open(folder + "/SKILL.md", "w", encoding="utf-8") as f:
            f.write("---\nname: %s\ndescription: Holds memory.\n---\n" % os.path.basename(folder))
        shutil.copy(program, folder + "/hold")

    def declare(self, memory, bound=None):
        manifest = {"version": 1, "entry": {"main": ["./hold", str(self.processes), str(self.held), *self.how]}, "teardown": {"discipline": self.discipline},
                    "budgets": {"memory": memory, "processes": -(-self.processes * 6 // 5), "wall": "10m", "cpu": "10m"}}
        with open(self.folder + "/lethe.json", "w", encoding="utf-8") as f:
            json.dump(manifest | ({"cancel_bound": bound} if bound else {}), f)

    def validate(self):
        """What is predicted, and why a run would be refused, or None."""
        p = subprocess.run([self.lethe, "validate", "--json", self.folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
        o = json.loads(p.stdout)
        wrong = [f["message"] for f in o["findings"] if f["level"] == "error"]
        return o.get("teardown"), wrong[0] if wrong else None

    def run(self):
        """Cancelled when all of it is there. Returns the receipt, or None and what was said, and the processor's time from the signal on."""
        p = subprocess.Popen([self.lethe, "run", "--no-serve", "--quiet", "--receipt", self.folder + "/../receipt", self.folder], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        there = p.stdout.read(1)
        inside = others = 0
        if there:
            time.sleep(STANDS_SEC)
            inside, others = bench_serve.processor_usec(p.pid, REGION)
            p.send_signal(signal.SIGTERM)
        said = p.stderr.read().decode()
        _, status, used = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        p.stdout.close()
        p.stderr.close()
        with open(self.folder + "/../receipt", encoding="utf-8") as f:
            receipt = json.load(f)
        # The kernel adds the region's processes to nobody's: its control group has their time.
        return receipt, said, int((used.ru_utime + used.ru_stime) * 1e6) - others + max(0, receipt["usage"]["cpu_usec"] - inside)


def available():
    with open("/proc/meminfo", encoding="utf-8") as f:
        return next(int(l.split()[1]) * 1024 for l in f if l.startswith("MemAvailable"))


def allocated(lethe, region):
    p = subprocess.run([lethe, "log", "--json", "--region", region, "--type", "region.allocated"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return json.loads(p.stdout.splitlines()[0])["grant"]


def cell(skill, name, rounds):
    """One row, or None: what the region needs is measured first, with budgets that are too large."""
    skill.declare(skill.held * 2 + skill.processes * 4 * EACH + (32 << 20))
    first, said, _ = skill.run()
    if first["outcome"] != "cancelled":
        return left_out(name, first, said)
    memory = max(first["usage"]["peak_memory_bytes"] * 6 // 5, 1 << 20)
    for _ in range(TRIES):
        row, receipt, said = cell_within(skill, name, rounds, memory)
        if row:
            return row
        if receipt["outcome"] != "out_of_region":
            sys.exit("%s: %s %s %s" % (name, receipt["outcome"], receipt.get("reason"), said))
        memory = max(memory, receipt["usage"]["peak_memory_bytes"]) * 6 // 5  # without a control group the first peak was looked at now and then
    return left_out(name, receipt, said)


def left_out(name, receipt, said):
    print("%s: %s %s: left out" % (name, receipt["outcome"], receipt.get("reason") or said.strip()), file=sys.stderr)


def cell_within(skill, name, rounds, memory):
    """The row, the last receipt, and what was said; no row: the region did not come to its cancel."""
    skill.declare(memory, DECLARED)
    _, refused = skill.validate()
    skill.declare(memory)
    predicted, wrong = skill.validate()
    if wrong:
        sys.exit("%s: %s" % (name, wrong))
    took = []
    for _ in range(rounds):
        receipt, said, processor = skill.run()
        if receipt["outcome"] != "cancelled":
            return None, receipt, said
        t = receipt["teardown"]
        took.append((t["usec"], processor, t["usec"] > t["bound_usec"], t["scrub_usec"]))
        g = allocated(skill.lethe, receipt["region"])
        if (g["teardown_predicted_usec"], g["cancel_bound_usec"]) != (predicted["predicted_usec"], predicted["bound_usec"]):
            sys.exit("%s: region.allocated and lethe validate do not agree: %s, %s" % (name, g, predicted))
    usec = sorted(t[0] for t in took)
    r = {"name": name, "n": rounds, "memory_bytes": predicted["memory_bytes"], "predicted_usec": predicted["predicted_usec"], "bound_usec": predicted["bound_usec"],
         "measured": predicted["measured"], "usec": usec[rounds // 2], "least_usec": usec[0], "most_usec": usec[-1], "processor_usec": sorted(t[1] for t in took)[rounds // 2],
         "bound_passed": sum(t[2] for t in took), "refused": refused}
    r["ratio"] = round(r["predicted_usec"] / r["usec"], 2)
    r["processor_ratio"] = round(r["predicted_usec"] / max(r["processor_usec"], 1), 2)
    return r, receipt, said


def bound(args, work):
    """Each region is cancelled when it holds all of its memory. A skill that declares DECLARED is refused where that is too short."""
    lethe, store = args.build + "/lethe", work + "/bound-store"
    os.environ["LETHE_STORE"] = store
    subprocess.run([lethe, "run", "--no-serve", "--quiet", "--exec", "/usr/bin/true"], stdin=subprocess.DEVNULL, check=True)
    print("\nA cancel by SIGTERM: what lethe validate predicts, and what is recorded (ms)")
    print("%-34s %8s %9s %9s %17s %9s %6s %7s %s" % ("held, discipline, processes", "budget", "predicted", "measured", "least..most", "processor", "ratio", "bound",
                                                    "passed; with a bound of %s" % DECLARED))
    rows, left = [], available() // 2
    try:
        for size, held in MEMORY:
            for discipline in DISCIPLINES:
                for n, how in WAYS:
                    name = " ".join(("%s, %s, %d" % (size, discipline, n), how)).strip()
                    if how == "apart" and n == 1000 and discipline != "zero":
                        continue  # each execve is overwritten before it is made: the start alone takes minutes
                    if how == "shared" and n * held > SHARED_MOST:
                        continue  # fork and teardown alone take minutes
                    if held * 6 // 5 + n * EACH > left:
                        print("%s does not fit the machine: left out" % name, file=sys.stderr)
                        continue
                    skill = Skill(lethe, "%s/hold-%d" % (work, n), args.build + "/tests/bench/hold", n, held, discipline, [how] if how else [])
                    r = cell(skill, name, max(1, min(5, args.n // 20)))
                    if r:
                        rows.append(r)
                        print("%-34s %5.0f MB %9.1f %9.1f %8.1f..%-7.1f %9.1f %6.2f %7.0f %d of %d; %s" % (
                            name, r["memory_bytes"] / 1e6, r["predicted_usec"] / 1e3, r["usec"] / 1e3, r["least_usec"] / 1e3, r["most_usec"] / 1e3,
                            r["processor_usec"] / 1e3, r["ratio"], r["bound_usec"] / 1e3, r["bound_passed"], r["n"], "refused" if r["refused"] else "let in"), flush=True)
    finally:
        del os.environ["LETHE_STORE"]
    for r in rows:
        if r["refused"]:
            print("refused beforehand: %s: %s" % (r["name"], r["refused"]))
    judged = [r for r in rows if not r["name"].endswith("shared")]  # how often a page is mapped, the budgets do not say
    off = [r["name"] for r in judged if not 0.5 <= r["ratio"] <= 2]
    print("(ratio: predicted divided by measured, the median; processor: of supervisor, guard and region from the signal on, the recording with it)")
    print("%d of %d rows without shared pages are off by more than a factor of two; %d runs of all %d rows passed their bound" % (
        len(off), len(judged), sum(r["bound_passed"] for r in rows), len(rows)), flush=True)
    return rows
