#!/usr/bin/env python3
"""Runs the attacks of rows.py: first each one without Lethe, where it must succeed (--controls), or in a region, where it must be
contained, be named in the receipt, and leave the host as it was. Prints TAP.

    run.py --build BUILD --controls
    run.py --build BUILD --as root|user --tier namespaces|landlock [--lineage stats|events|handles] [--pool | --served [--warm]] [--only NAME,NAME]

With --lineage each attack that can be a skill is one, with that detail in its manifest, and has to end in the same way: the detail changes
what is recorded, not what occurs (I-38).

With --pool a `lethe serve` runs them, and each one again and again until it was in a region that had been prepared before.
"""

import argparse
import ctypes
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli")]
from controls import LACKS, Controls, on_terminal  # noqa: E402
from rows import LANDLOCK, NAMESPACES, ROOT, ROWS, USER  # noqa: E402
from tiers import TIERS, WHY_NOT  # noqa: E402
from world import CANARY, NOBODY, World, as_user  # noqa: E402

PR_SET_CHILD_SUBREAPER = 36
AUDIT_ROWS = 20
HOLDS_SECONDS = 600  # for so long an attack holds who waits for it
OUTCOMES = {"exited", "signaled", "timed_out", "out_of_region", "cpu_exceeded", "pids_exceeded", "output_exceeded", "scratch_exceeded",
            "file_size_exceeded", "denied", "cancelled", "guard_lost", "setup_failed"}


# From a warm interpreter: what the attack finds is what such a region gives to what runs in it.
WARM = {"entry": {"main": ["python3", "/skill/attack.py"]}, "warm": {"preload": ["json"]}}
FROM_WARM = "import os, sys\nif sys.argv[1:] != ['warm-up']:\n    os.execv('/skill/attack', ['/skill/attack'] + sys.argv[1:])\n"


class Bad(Exception):
    """What an attack achieved, or what the record of it lacks."""


def fill(text, words):
    return re.sub(r"\{([a-z]+)\}", lambda m: words[m.group(1)] if m.group(1) in words else m.group(0), text)


def arguments(given, words):
    """Text is split like a shell does; a list is taken as it is (JSON lines have braces of their own)."""
    return [fill(a, words) for a in shlex.split(given)] if isinstance(given, str) else \
        [a.encode("utf-8", "surrogateescape") for a in given]


class Attacker:
    def __init__(self, world, tier, lineage=None, warm=False):
        self.lineage = lineage
        self.warm = warm
        self.w = world
        self.tier = tier
        self.store = world.path("store")
        self.words = world.words() | {"store": self.store, "receipt": world.path("receipt.json"), "skilldir": world.path("no-skill")}
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": world.home, "XDG_STATE_HOME": world.state,
                    "LETHE_TOKEN": CANARY.decode(), "TOKEN": CANARY.decode(), "LD_BIND_NOW": "1", "LANG": "C.UTF-8"}
        if "ASAN_OPTIONS" in os.environ:
            self.env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
        self.daemon, self.pool = None, False

    # --- a daemon that it all goes through ---------------------------------------------------------------------------------------
    def serve(self, pool=False):
        """In the world, as the user who runs the attacks: it knows the operator's secrets, too."""
        folder = self.w.path("serve")
        os.mkdir(folder, 0o700)
        os.chown(folder, self.w.uid, self.w.uid)
        self.env["LETHE_SOCKET"] = os.path.join(folder, "socket")
        self.pool = pool
        if pool:
            self.env["LETHE_POLICY"] = os.path.join(folder, "policy.json")
            with open(self.env["LETHE_POLICY"], "w", encoding="utf-8") as f:
                # What is prepared when an attack begins is for the next try: no attack is longer than the wall budget.
                json.dump({"version": 1, "pool": {"skills": {"*": 1}, "idle": "30s"}}, f)
            os.chown(self.env["LETHE_POLICY"], self.w.uid, self.w.uid)
        self.daemon = subprocess.Popen(as_user(self.w.uid, [self.w.lethe, "serve", "--store", self.store]), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self.env, start_new_session=True)
        self.w.children.add(self.daemon.pid)
        self.w.daemons = {self.daemon.pid}
        said = []
        while not said or said[-1] and b" serves " not in said[-1]: # what it warns of comes first
            said.append(self.daemon.stderr.readline())
        if not said[-1]:
            raise Bad("lethe serve does not start: " + b"".join(said).decode(errors="replace").strip())

    def end_daemon(self):
        """Returns what is wrong with it, or None."""
        try:
            with socket.socket(socket.AF_UNIX) as s:
                s.settimeout(30)
                s.connect(self.env["LETHE_SOCKET"])
                s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"status"}\n')
                with s.makefile() as f:
                    served = json.loads(f.readline())["result"]["served"]
        except OSError as e:
            served = str(e)
        self.daemon.terminate()
        said = self.daemon.stderr.read().decode(errors="replace")
        code = self.daemon.wait(60)
        self.daemon.stderr.close()
        print(f"# the daemon served {served} runs and ended with {code}", flush=True)
        return None if code == 0 and isinstance(served, int) and served > 0 else said[-3000:]

    # --- one run of lethe ------------------------------------------------------------------------------------------------------
    def lethe(self, *argv, **kw):
        return subprocess.run(as_user(self.w.uid, [self.w.lethe, *argv]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=self.env, check=False, start_new_session=True, **kw)

    def program(self, row):
        return row.program if row.program.startswith("/") else os.path.join(self.w.attacks, row.program or row.name)

    def make_skill(self, row):
        """A skill's folder whose only program is the attack."""
        folder = self.w.path("skill-" + row.name)
        if self.pool and os.path.exists(folder):  # one that is made anew is another one, for which nothing is prepared
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        os.mkdir(os.path.join(folder, "sub"))
        config = dict(row.skill or {}, **({"lineage": self.lineage} if self.lineage else {}))
        link = config.pop("link", None)
        if link:
            os.symlink(fill(link, self.words), os.path.join(folder, "link-out"))
        with open(os.path.join(folder, "SKILL.md"), "w", encoding="utf-8") as f:
            f.write(f"---\nname: {os.path.basename(folder)}\ndescription: An attack.\n---\n")
        with open(os.path.join(folder, "lethe.json"), "w", encoding="utf-8") as f:
            json.dump({"version": 1, "entry": {"main": ["./attack"]}, **config, **(WARM if self.warm else {})}, f)
        if self.warm:
            with open(os.path.join(folder, "attack.py"), "w", encoding="utf-8") as f:
                f.write(FROM_WARM)
        shutil.copy2(self.program(row), os.path.join(folder, "attack"))
        for top, _, names in os.walk(folder):
            for p in [top] + [os.path.join(top, n) for n in names]:
                os.chown(p, self.w.uid, self.w.uid, follow_symlinks=False)
        return folder

    def attack(self, row, receipt=None, more_opts=()):
        words = self.words | ({"skilldir": "/skill" if self.tier == NAMESPACES else self.w.path("skill-" + row.name)} if row.skill is not None
                              else {})
        receipt = receipt or words["receipt"]
        if os.path.lexists(receipt) and receipt == words["receipt"]:
            os.unlink(receipt)
        # A rule of its own in the tier's name: "namespaces" is what is there without being asked for.
        tier = ["--tier", self.tier] if self.tier == LANDLOCK else []
        argv = ["run", "--store", self.store, "--receipt", receipt, *tier, *arguments(row.opts, words), *more_opts]
        argv += [self.make_skill(row), "--"] if row.skill is not None or self.lineage or self.warm else ["--exec", self.program(row)]
        if self.warm:  # the first one is executed
            self.lethe(*[a for a in argv if a not in (receipt, "--receipt")], "warm-up")
        args = row.landlock.get("args", row.args) if self.tier == LANDLOCK else row.args
        argv = as_user(self.w.uid, [self.w.lethe, *argv, *arguments(args, words)])
        started = time.monotonic()
        if row.tty:
            code, out = on_terminal(argv, self.env)
            err = ""
        else:
            kw = {}
            if row.fds:
                kw["pass_fds"] = [os.open("/", os.O_RDONLY), os.open(self.w.secret, os.O_RDONLY), os.open(self.w.host, os.O_PATH)]
            log = self.w.path("out-log")
            if row.check == "stdout-file":
                with open(log, "wb") as f:
                    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.PIPE, env=self.env, check=False)
                with open(log, "rb") as f:
                    p.stdout = f.read()
            else:
                p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env,
                                   check=False, start_new_session=True, **kw)
            for fd in kw.get("pass_fds", ()):
                os.close(fd)
            code, out, err = p.returncode, p.stdout[:65536].decode(errors="replace"), p.stderr[-65536:].decode(errors="replace")
        result = {"code": code, "out": out, "err": err, "seconds": time.monotonic() - started, "receipt": None}
        if os.path.isfile(receipt) and not os.path.islink(receipt):
            with open(receipt, encoding="utf-8") as f:
                result["receipt"] = json.load(f)
        return result

    # --- what must hold after it -------------------------------------------------------------------------------------------------
    def judge(self, row, r):
        if r["code"] < 0 or "Sanitizer" in r["err"] or "runtime error" in r["err"] or "Assertion" in r["err"]:
            raise Bad(f"the supervisor ended badly: {r['code']}")
        if row.outcome == "refused":
            if r["code"] != 125:
                raise Bad(f"not refused: exit code {r['code']}")
            return
        if r["receipt"] is None:
            raise Bad(f"no receipt, exit code {r['code']}")
        rec = r["receipt"]
        if rec["outcome"] not in OUTCOMES or not re.fullmatch(row.outcome, rec["outcome"]):
            raise Bad(f"outcome {rec['outcome']}, not {row.outcome}")
        # A daemon takes UTF-8 alone: lethe itself runs the rest. /proc, the host's network and a terminal are no warm interpreter's.
        never = re.search("--proc|--connect|--network host", str(row.opts)) or (row.tty and "--no-tty" not in str(row.opts)) or re.search("[\udc80-\udcff]", "".join(row.args))
        if self.warm and (rec["start"] == "warm") == bool(never):
            raise Bad(f"a {rec['start']} start")
        if rec["tier"] != self.tier:
            raise Bad(f"tier {rec['tier']}")
        if rec["outcome"] == "exited" and row.exit is not None and rec["exit_code"] != row.exit:
            raise Bad(f"the program ended {rec['exit_code']}, not {row.exit}")
        if rec["outcome"] == "exited" and r["code"] != rec["exit_code"]:
            raise Bad(f"lethe ended {r['code']}, the program {rec['exit_code']}")
        if rec["outcome"] == "timed_out" and r["code"] != 124:
            raise Bad(f"timed out, and yet lethe ended {r['code']}")
        if row.exit == 1 and "ESCAPED" in r["out"]:
            raise Bad("the attack says that it succeeded")
        if row.says and not re.search(row.says, r["out"]):
            raise Bad(f"the answer is not {row.says}")
        if row.limiting and rec["limiting_resource"] != row.limiting:
            raise Bad(f"limiting_resource {rec['limiting_resource']}, not {row.limiting}")
        if row.denial and self.tier in row.denial_tiers:
            op, obj = (fill(x, self.words) for x in row.denial)
            for d in rec["denials"]:
                if re.fullmatch(op, d["operation"]) and re.match(obj, d["object"]) and d["rule"] and d["count"] >= 1:
                    break
            else:
                raise Bad(f"no denial of {op} {obj} in {json.dumps(rec['denials'])}")
        self.judge_record(row, rec)

    def judge_record(self, row, rec):
        """The ledger: this region was allocated, released, ended, in that order, and the whole is intact."""
        p = self.lethe("log", "--store", self.store, "--region", rec["region"], "--json")
        events = [json.loads(x) for x in p.stdout.splitlines()]
        kinds = [e["type"] for e in events]
        if kinds[:1] != ["region.allocated"] or kinds.count("region.released") != 1 or kinds[-1:] != ["invocation.ended"] or \
                kinds.index("region.released") != len(kinds) - 2:
            raise Bad(f"the region's events are {kinds}")
        if row.skill and rec["outcome"] not in ("exited", "signaled", "cancelled") and "slot.written" in kinds:
            raise Bad("a breach, and yet a slot was written")
        if self.lineage:
            self.judge_lineage(row, rec, events)
        if row.log and self.lineage != "stats" and not any(all(e.get(k) == v for k, v in row.log.items()) for e in events):
            raise Bad(f"no event {row.log} in {events}")

    def audit(self):
        """None, or what the audit finds. Entries are never changed, so a damage is found by every later audit, too: one for many rows, and one at the end."""
        p = self.lethe("audit", "--store", self.store)
        return f"audit: {p.returncode} {p.stdout.decode()[-300:]} {p.stderr.decode()[-300:]}" if p.returncode != 0 else None

    def judge_lineage(self, row, rec, events):
        """The level is the region's, and at stats nothing is an entry but its life, breaches, and what slots are made of."""
        released = next(e for e in events if e["type"] == "region.released")
        if released["lineage"]["detail"] != self.lineage:
            raise Bad(f"lineage is {released['lineage']}")
        alone = {e["type"] for e in events if not re.match("region.(allocated|released|faulted|bound_passed)|invocation.ended|slot.(defined|proposed|written|discarded)",
                                                           e["type"])}
        counts = released["lineage"].get("counts", {})
        if self.lineage == "stats" and (alone or (rec["denials"] and counts.get("region.denied") != 1)):
            raise Bad(f"at detail stats: entries {alone}, counts {counts}")
        if self.lineage != "stats" and rec["denials"] and "region.denied" not in alone:
            raise Bad(f"at detail {self.lineage}: denials are no entry")

    def look(self, row, r):
        """The further looks that rows ask for by name."""
        if row.slow:
            time.sleep(row.slow)
        kind = row.check
        if kind == "not-held" and r["seconds"] > HOLDS_SECONDS / 2:
            raise Bad(f"took {r['seconds']:.1f} s")
        if kind == "no-canary-in-output" and CANARY.decode() in r["out"]:
            raise Bad("the operator's secret was printed")
        if kind == "stdout-file" and "ESCAPED" in r["out"]:
            raise Bad("the operator's file was reached")
        if kind == "nothing-late" and (os.path.exists(self.w.path("out", "late")) or os.path.exists(self.w.path("late"))):
            raise Bad("the daemon lived on")
        if kind in ("no-scratch", "nothing-late"):
            scratch = os.path.join(self.store, "scratch")
            if os.path.isdir(scratch) and os.listdir(scratch):
                raise Bad(f"scratch is left: {os.listdir(scratch)}")
        if kind == "not-written":
            for slot in ("notes/a", "notes/b"):
                p = self.lethe("slot", "get", "--store", self.store, slot)
                if p.returncode == 0 and p.stdout.strip() not in (b"", b"null"):
                    raise Bad(f"{slot} was written: {p.stdout.decode()}")
        if kind == "mount-link":
            self.mount_on_link()
        if kind == "receipt-in-out":
            self.receipt_on_link(row)
        for name in os.listdir(self.w.path("out")):
            p = self.w.path("out", name)
            shutil.rmtree(p) if os.path.isdir(p) and not os.path.islink(p) else os.unlink(p)

    def mount_on_link(self):
        """What fs-plant-link left in a shared folder is where the next run is told to mount: never on what the link names."""
        sub = next(r for r in ROWS if r.name == "fs-same-uid-write")
        r = self.attack(sub, more_opts=("-v", f"{self.w.path('out')}:{self.w.path('out')}:rw", "-v",
                                        f"{self.w.home}:{self.w.path('out', 'under')}:rw"))
        if r["code"] == 0 or "ESCAPED" in r["out"]:
            raise Bad("mounted through the planted link")

    def receipt_on_link(self, row):
        """The operator asks for the receipt in a folder that a skill may write: what was planted there is replaced, not followed."""
        sub = next(r for r in ROWS if r.name == "pipe-close")
        r = self.attack(sub, receipt=self.w.path("out", "receipt"))
        if r["seconds"] > HOLDS_SECONDS / 2:
            raise Bad("the supervisor hung on what was planted")
        if r["receipt"] is None and r["code"] != 137:
            raise Bad(f"no receipt was written, exit code {r['code']}")

    def region_row(self, row):
        """From a pool: until a region that waited was taken, which is being made. Each try is judged; two minutes end a hang."""
        until = time.monotonic() + 120
        while self.region_row_once(row) == "cold" and self.pool and not self.is_never_prepared(row):
            if time.monotonic() > until:
                raise Bad("never in a region that was prepared")
            time.sleep(0.1)

    @staticmethod
    def is_never_prepared(row):
        """A row that the daemon is not asked for, because its words are no text, or that no pool has: a region with a terminal of its own is one."""
        text = str(row.args).encode("ascii", "backslashreplace").decode()
        return bool(re.search("--policy|multipass|--no-serve", str(row.opts)) or "\\udc" in text or (row.skill or {}).get("release")
                    or (row.tty and "--no-tty" not in str(row.opts)))

    def region_row_once(self, row):
        if row.check == "planted-before":
            plant = next(r for r in ROWS if r.name == "fs-shadow")
            plant = type(plant)("canary-plant", "I-3", row.args, exit=0, denial=None)
            self.judge(plant, self.attack(plant))
        r = self.attack(row)
        try:
            self.judge(row, r)
            self.look(row, r)
        except (Bad, KeyError) as e:
            raise Bad(f"{e!r}\n{r['out'][-1500:]}{r['err'][-1500:]}{json.dumps(r['receipt'])}") from e
        finally:
            harm = self.w.harm()
        if harm:
            raise Bad(harm)
        return (r["receipt"] or {}).get("start")

    # --- the same without Lethe --------------------------------------------------------------------------------------------------
    def control_row(self, row):
        """None, or a reason why this machine cannot show it."""
        if row.control == "after":
            self.attack(next(r for r in ROWS if r.name == "fs-shadow"))
            self.words["anchor"] = self.anchor()
        args = arguments(row.control_args or row.args, self.words)
        if "link-out" in row.name:
            os.symlink(self.w.secret, self.w.path("link-out"))
        for name in ("scrap",):
            self.w.write(b"to be written\n", name)
        argv = [self.program(row), *args]
        code, out = getattr(Controls(self.w), row.control.replace("-", "_"))(argv, row)
        if "ESCAPED" in out:
            code = 0  # whoever ends its own parent on the way has succeeded all the same
        self.w.left_behind()
        shutil.rmtree(self.w.path("out"))
        self.w.folder("out", mode=0o777)
        self.w.victim_was_hit()
        for name in os.listdir(self.w.base):
            p = self.w.path(name)
            if not os.path.isdir(p):
                os.unlink(p)
            elif name.startswith("skill-"):
                shutil.rmtree(p)
        if code != 0 and any(x in out for x in LACKS):
            return "this kernel lacks it"
        if code != 0:
            raise Bad(f"the attack does not work even here: {code}\n{out[-1500:]}")
        harm = self.w.harm()
        if harm:
            raise Bad(f"the control did harm: {harm}")
        return None

    def anchor(self):
        for folder, _, names in os.walk(self.w.state):
            for name in names:
                return os.path.join(folder, name)
        return os.path.join(self.store, "anchor")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--controls", action="store_true")
    p.add_argument("--as", dest="who", choices=(ROOT, USER), default=ROOT)
    p.add_argument("--tier", choices=(NAMESPACES, LANDLOCK), default=NAMESPACES)
    p.add_argument("--lineage", choices=("stats", "events", "handles"))
    p.add_argument("--served", action="store_true", help="through a daemon")
    p.add_argument("--pool", action="store_true")
    p.add_argument("--warm", action="store_true", help="with --served: started by a warm interpreter")
    p.add_argument("--only", default="", help="names, with commas; a shell pattern's * at the end is allowed")
    o = p.parse_args()
    root = os.getuid() == 0
    if (o.who == ROOT or o.controls) and not root:
        print("1..0 # SKIP needs root")
        return 0
    if o.tier not in TIERS:
        print("1..0 # SKIP " + WHY_NOT)
        return 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    names = [n for n in o.only.split(",") if n]

    def wanted(row):
        return not names or any(row.name == n or (n.endswith("*") and row.name.startswith(n[:-1])) for n in names)

    rows = [r for r in ROWS if wanted(r) and (r.control if o.controls else o.tier in r.tiers and o.who in r.who)]
    if o.lineage or o.warm:  # a program of the host as a whole cannot be put into a skill's folder
        rows = [r for r in rows if not r.program.startswith("/")]
    world = World(os.path.abspath(o.build), 0 if o.who == ROOT else (NOBODY if root else os.getuid()))
    failed = 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the World must not be left behind
    try:
        attacker = Attacker(world, o.tier, o.lineage, o.warm)
        if o.served or o.pool:
            attacker.serve(o.pool)
        print(f"1..{len(rows)}", flush=True)
        attacker.words["anchor"] = attacker.anchor()
        for i, row in enumerate(rows, 1):
            label = f"{i} - {row.name} {'without Lethe' if o.controls else f'as {o.who}, {o.tier}' + (f', {o.lineage}' if o.lineage else '')} ({row.req})"
            try:
                said = attacker.control_row(row) if o.controls else attacker.region_row(row)
                wrong = attacker.audit() if i % AUDIT_ROWS == 0 and not o.controls else None
                if wrong:
                    raise Bad(f"after one of the last {AUDIT_ROWS} rows: {wrong}")
                print(f"ok {label}" + (f": not shown, {said}" if said else ""), flush=True)
            except Bad as e:
                failed += 1
                print(f"not ok {label}", flush=True)
                for line in str(e).splitlines():
                    print("# " + line[:2000], flush=True)
            attacker.words["anchor"] = attacker.anchor()
        world.hashes.clear()
        for wrong in (attacker.end_daemon() if attacker.daemon else None, None if o.controls else attacker.audit(), world.changed()):
            if wrong:
                failed += 1
                print("# " + wrong.replace("\n", "\n# "), flush=True)
    finally:
        if (o.served or o.pool) and attacker.daemon and attacker.daemon.returncode is None:
            attacker.daemon.kill()
            attacker.daemon.wait()
        world.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
