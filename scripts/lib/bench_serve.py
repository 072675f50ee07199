"""A `lethe serve` for scripts/bench: its store, its skills, and the words of a request."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

STREAMS = ["stdin", "stdout", "stderr"]


def _field(pid, file, field):
    try:
        with open("/proc/%d/%s" % (pid, file), encoding="utf-8") as f:
            return sum(int(l.split()[1]) for l in f if l.startswith(field))
    except OSError:
        return 0


def private_kilobytes(pid):
    return _field(pid, "smaps_rollup", "Private_")


def peak_kilobytes(pid):
    return _field(pid, "status", "VmHWM:")


def processor_usec(pid, names):
    """Of the process and those below it, so far; not of those that have ended. In two: those with one of these names, and the others."""
    used = {True: 0, False: 0}
    for p in _tree(pid):
        try:
            for t in os.listdir("/proc/%d/task" % p):
                with open("/proc/%d/task/%s/schedstat" % (p, t), encoding="utf-8") as f:
                    used[_name(p) in names] += int(f.read().split()[0])
        except OSError:
            pass
    return used[True] // 1000, used[False] // 1000


def processor_total_usec(pid):
    """Of the process and those below it, with threads that have ended and processes that they have waited for. In clock ticks: for many runs at once."""
    ticks = 0
    for p in _tree(pid):
        try:
            with open("/proc/%d/stat" % p, encoding="utf-8") as f:
                ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            pass
    return ticks * 1000000 // os.sysconf("SC_CLK_TCK")


def _name(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
            return f.read().strip()
    except OSError:
        return ""


def _tree(pid):
    pids = [pid]
    for p in pids:
        try:
            for t in os.listdir("/proc/%d/task" % p):
                with open("/proc/%d/task/%s/children" % (p, t), encoding="utf-8") as f:
                    pids += map(int, f.read().split())
        except OSError:
            pass
    return pids


def without(pids, name):
    return [p for p in pids if _name(p) != name]


def settled(pid, n):
    """The process and all below it, as soon as n of them are `sleep` and no more come."""
    for _ in range(1000):
        pids = _tree(pid)
        if len(pids) - len(without(pids, "sleep")) == n:
            time.sleep(0.1)
            if _tree(pid) == pids:
                return pids
        time.sleep(0.02)
    sys.exit("%d programs do not run below process %d" % (n, pid))


class Daemon:
    """Serves a store below `work` until it is stopped. policy: an object, or None."""

    def __init__(self, build, work, policy=None):
        self.lethe, self.folder = build + "/lethe", work + "/serve"
        os.makedirs(self.folder)
        self.skills = []
        self.socket, self.store = self.folder + "/socket", self.folder + "/store"
        self.options = ["--store", self.store, "--socket", self.socket]
        if policy is not None:
            with open(self.folder + "/policy.json", "w", encoding="utf-8") as f:
                json.dump(policy, f)
            self.options += ["--policy", self.folder + "/policy.json"]

    def add(self, name, file, text, mode, **manifest):
        folder = "%s/%s" % (self.folder, name)
        os.mkdir(folder)
        with open("%s/%s" % (folder, file), "wb") as f:
            f.write(text)
        os.chmod(f.name, mode)
        with open(folder + "/SKILL.md", "w", encoding="utf-8") as f:
            f.write("---\nname: %s\ndescription: What scripts/bench runs.\n---\n" % name)
        with open(folder + "/lethe.json", "w", encoding="utf-8") as f:
            json.dump(dict({"version": 1}, **manifest), f)
        p = subprocess.run([self.lethe, "skill", "add", "--store", self.store, folder], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if p.returncode != 0:
            sys.exit("skill %s: %s" % (name, p.stderr.strip()))
        self.skills.append(name)

    def skill(self, name, program, **manifest):
        """A skill whose only entry is this program, copied into it."""
        with open(program, "rb") as f:
            self.add(name, "program", f.read(), 0o755, entry={"main": ["/skill/program"]}, **manifest)

    def script(self, name, interpreter, text, **manifest):
        self.add(name, "script", text.encode(), 0o644, entry={"main": [interpreter, "/skill/script"]}, **manifest)

    def __enter__(self):
        self.process = subprocess.Popen([self.lethe, "serve", *self.options], stdin=subprocess.DEVNULL, stderr=open(self.folder + "/log", "wb"))
        for _ in range(500):
            if os.path.exists(self.socket):
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        with open(self.folder + "/log", encoding="utf-8") as f:
            sys.exit("lethe serve does not start: " + f.read().strip())

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connected(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(self.socket)
        return s

    def request(self, **params):
        """A command of tests/bench/launch: one run, asked for by a client that is connected."""
        return ["@" + self.socket, json.dumps(dict(params, stdio=STREAMS, receipt=False))]
