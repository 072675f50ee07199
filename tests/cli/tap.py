"""What the command line's tests share: cases in TAP, a store of their own, lethe."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

LETHE = os.path.abspath(sys.argv[1])
DIR = tempfile.mkdtemp(prefix="cli-")
STORE = os.path.join(DIR, "store")
ENV = {"PATH": "/usr/bin:/bin", "HOME": DIR, "LETHE_ANCHOR": os.path.join(DIR, "anchor"), "LETHE_STORE": STORE,
       "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
ROOT = os.geteuid() == 0
_cases = []


class Skip(Exception):
    pass


def case(fn):
    """A test: its name is the function's."""
    _cases.append((fn.__name__.replace("_", " "), fn))
    return fn


def add(name, fn):
    _cases.append((name, fn))


class Result:
    def __init__(self, code, out, err, receipt):
        self.code, self.out, self.err, self.receipt = code, out, err, receipt

    def __str__(self):
        return "exit %s, out %r, err %r, receipt %s" % (self.code, self.out[-300:], self.err[-300:], json.dumps(self.receipt)[:1500])


def lethe(*argv, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    env = dict(ENV, **kw.pop("env", {}))
    p = subprocess.run([LETHE, *map(str, argv)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, timeout=kw.pop("timeout", 120), **kw)
    return Result(p.returncode, p.stdout, p.stderr, None)


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


def check(condition, *what):
    if not condition:
        raise AssertionError("; ".join(str(w) for w in what))


def same(got, want, *what):
    check(got == want, "got %r, want %r" % (got, want), *what)


def cgroups_left():
    """Control groups of regions of our store: none may be left."""
    ids = {e["region"] for e in log("--type", "region.allocated")}
    left = []
    for base, dirs, _ in os.walk("/sys/fs/cgroup"):
        for d in dirs:
            if d.startswith("lethe-") and d[6:] in ids:
                left.append(os.path.join(base, d))
    return left


def main():
    """LETHE_CASES: names, with commas between: only these (tests/hostile/mutations.py)."""
    failed, only = 0, os.environ.get("LETHE_CASES")
    if only:
        _cases[:] = [c for c in _cases if c[0] in only.split(",")]
    print("TAP version 13\n1..%d" % len(_cases), flush=True)
    for i, (name, fn) in enumerate(_cases, 1):
        try:
            fn()
            print("ok %d - %s" % (i, name), flush=True)
        except Skip as e:
            print("ok %d - %s # SKIP %s" % (i, name, e), flush=True)
        except Exception as e:  # a case that breaks must not hide the ones after it
            failed += 1
            print("not ok %d - %s\n# %s: %s" % (i, name, type(e).__name__, str(e).replace("\n", "\n# ")), flush=True)
    shutil.rmtree(DIR, ignore_errors=True)
    sys.exit(1 if failed else 0)
