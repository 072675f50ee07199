"""What the command line's tests share: cases in TAP, a store of their own, lethe."""
import errno
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "system"))
from folder import remove  # noqa: E402

LETHE = os.path.abspath(sys.argv[1])
DIR = tempfile.mkdtemp(prefix="cli-")
STORE = os.path.join(DIR, "store")
ENV = {"PATH": "/usr/bin:/bin", "HOME": DIR, "LETHE_ANCHOR": os.path.join(DIR, "anchor"), "LETHE_STORE": STORE,
       "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
ROOT = os.geteuid() == 0
_cases = []
_daemon = None


def ask_daemon(method, socket_path=None, **params):
    """One call of a method of lethe serve: its result."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(120)
        s.connect(socket_path or ENV["LETHE_SOCKET"])
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
        with s.makefile() as f:
            answer = json.loads(f.readline())
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"]


def start_daemon(env, *argv, wrap=()):
    """lethe serve, when it answers; started by the command `wrap`."""
    p = subprocess.Popen([*wrap, LETHE, "serve", *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, text=True)
    first = p.early = p.stderr.readline()
    while first and " serves " not in first:
        first = p.stderr.readline()
        p.early += first
    if not first:
        raise RuntimeError("lethe serve does not start")
    p.drain = threading.Thread(target=lambda: setattr(p, "said", p.stderr.read()), daemon=True)
    p.drain.start()
    return p


def stop_daemon(p, signum=signal.SIGTERM):
    p.send_signal(signum)
    p.wait(60)
    p.drain.join(10)
    p.stderr.close()
    return p.returncode


def _through_daemon():
    """LETHE_TEST_SERVE=1: every `lethe run` of the suite goes through a daemon, unless it asks for another store or policy."""
    global _daemon
    ENV["LETHE_SOCKET"] = os.path.join(DIR, "socket")
    if os.environ.get("LETHE_TEST_SERVE") == "1" and _daemon is None:
        _daemon = start_daemon(ENV)


class Skip(Exception):
    pass


def case(fn):
    """A test: its name is the function's."""
    _cases.append((fn.__name__.replace("_", " "), fn))
    return fn


def case_when(there):
    """A test that only this user can have: it is none of the other's, which is no skip."""
    return case if there else lambda fn: fn


def alone(fn):
    """A case in which what becomes of the process of `lethe run` matters, because it is the supervisor: never through a daemon."""
    @functools.wraps(fn)
    def without():
        ENV["LETHE_SERVE"] = "0"
        try:
            fn()
        finally:
            del ENV["LETHE_SERVE"]
    return without


def add(name, fn):
    _cases.append((name, fn))


class Result:
    def __init__(self, code, out, err, receipt):
        self.code, self.out, self.err, self.receipt = code, out, err, receipt

    def __str__(self):
        return "exit %s, out %r, err %r, receipt %s" % (self.code, self.out[-300:], self.err[-300:], json.dumps(self.receipt)[:1500])


def lethe(*argv, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    more = kw.pop("env", {})
    env = dict(ENV, **more)
    at = argv.index("--store") + 1 if "--store" in argv else 0
    if (argv[at] if 0 < at < len(argv) else env["LETHE_STORE"]) != STORE and "LETHE_ANCHOR" not in more:
        del env["LETHE_ANCHOR"]  # STORE's: named for another ledger it is refused
    seconds, given = kw.pop("timeout", 120), kw.pop("input", None)
    if given is not None:
        kw["stdin"] = subprocess.PIPE
    p = subprocess.Popen([LETHE, *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, **kw)
    try:
        out, err = p.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired:
        p.kill()  # nor waited for: the kernel may keep it until the case has ended what it waits for
        raise
    return Result(p.returncode, out, err, None)


def run(*argv, **kw):
    """lethe run with a receipt."""
    path = os.path.join(DIR, "receipt.json")
    if os.path.exists(path):
        os.unlink(path)
    r = lethe("run", "--receipt", path, *argv, **kw)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            r.receipt = json.load(f)
    return r


def log(*argv):
    return [json.loads(line) for line in lethe("log", "--json", *argv).out.splitlines()]


def python_skill(name, text, **manifest):
    """Registers a skill whose program is this text."""
    d = os.path.join(DIR, name)
    os.makedirs(d, exist_ok=True)
    with open(os.path.join(d, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
    with open(os.path.join(d, "lethe.json"), "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1, "entry": {"main": ["/usr/bin/python3", "/skill/main.py"]}}, **manifest), f)
    with open(os.path.join(d, "main.py"), "w", encoding="utf-8") as f:
        f.write(text)
    r = lethe("skill", "add", d)
    same(r.code, 0, r)


def check(condition, *what):
    if not condition:
        raise AssertionError("; ".join(str(w) for w in what))


def same(got, want, *what):
    check(got == want, "got %r, want %r" % (got, want), *what)


def wait_for(fn, what, seconds=120, every=0.01):
    """Until fn() is true. The time only ends a test that hangs."""
    until = time.monotonic() + seconds
    while not fn():
        check(time.monotonic() < until, "not seen: " + what)
        time.sleep(every)


def processes_below(pid):
    """Every process below pid, with its name."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task), encoding="utf-8") as f:
                children = [int(x) for x in f.read().split()]
            for child in children:
                with open("/proc/%d/comm" % child, encoding="utf-8") as f:
                    found.append((child, f.read().strip()))
                found += processes_below(child)
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def state_of(pid):
    """The letter of /proc/PID/stat: t for a stop of its tracer, Z when it is dead, also when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return f.read().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def sleeps_of(pid):
    """How often it waited for something."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return int(f.read().split("voluntary_ctxt_switches:")[1].split()[0])


def wait_runs(p, name, n=1):
    """Until n processes of that name run below p, the supervisor of a region: its program is executed then. Or until p is over."""
    wait_for(lambda: p.poll() is not None or [x for _, x in processes_below(p.pid)].count(name) >= n, "%d of %s below %s" % (n, name, p.args))


def _is_ready(group):
    """Empty, or a template's: in it is the first process of a PID namespace that regions are forked into later, which a living daemon has."""
    try:
        with open(group + "/cgroup.procs", encoding="utf-8") as f:
            pids = f.read().split()
    except OSError as e:  # the daemon has removed it since it was listed
        check(e.errno in (errno.ENOENT, errno.ENODEV), e)
        return True
    names = dict((str(pid), name) for pid, name in processes_below(_daemon.pid))
    return not pids or "lethe-first" in (names.get(pid) for pid in pids)


def cgroups_left():
    """Control groups of regions of our store, or of a pool of it: none may be left, but what lies idle in that of our daemon."""
    ids = {e["region"] for e in log("--type", "region.allocated")}
    pools = re.match("lethe/([0-9a-f]{16})\n", lethe("checkpoint").out.decode()).group(1) + "-"
    left = []
    for base, dirs, _ in os.walk("/sys/fs/cgroup"):
        for d in dirs:
            if d.startswith("lethe-") and (d[6:] in ids or d[6:].startswith(pools) and not (_daemon and _is_ready(os.path.join(base, d)))):
                left.append(os.path.join(base, d))
    return left


def end_daemon():
    """Before a case that looks at what is left. Raises when the daemon did not serve, or did not end well."""
    global _daemon
    if _daemon:
        daemon, _daemon = _daemon, None
        served, code = ask_daemon("status")["served"], stop_daemon(daemon)
        print("# the daemon served %d runs and ended with %d" % (served, code), flush=True)
        check(code == 0 and served > 0, daemon.said[-2000:])


def main():
    """LETHE_CASES: names, with commas between: only these (tests/hostile/mutations.py)."""
    failed, only = 0, os.environ.get("LETHE_CASES")
    if only:
        _cases[:] = [c for c in _cases if c[0] in only.split(",")]
    print("TAP version 13\n1..%d" % len(_cases), flush=True)
    _through_daemon()
    for i, (name, fn) in enumerate(_cases, 1):
        try:
            fn()
            print("ok %d - %s" % (i, name), flush=True)
        except Skip as e:
            print("ok %d - %s # SKIP %s" % (i, name, e), flush=True)
        except Exception as e:  # a case that breaks must not hide the ones after it
            failed += 1
            print("not ok %d - %s\n# %s: %s" % (i, name, type(e).__name__, str(e).replace("\n", "\n# ")), flush=True)
    try:
        end_daemon()
    except Exception as e:
        failed += 1
        print("# the daemon: %s: %s" % (type(e).__name__, str(e).replace("\n", "\n# ")), flush=True)
    remove(DIR)
    sys.exit(1 if failed else 0)
