#!/usr/bin/python3
"""`lethe apply`, killed by SIGKILL at each system call that may change a file (A-16). TAP.

usage: apply-kills.py LETHE KILL-AT root|user

After each kill the folder is as before, as after, or between: then the layer is still kept, each path of it is ready or done, and the next `lethe apply`
finishes. What the ledger calls applied is whole. A selection of the calls is tried; all with LETHE_KILL_ALL=1."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

KILL_AT = os.path.abspath(sys.argv[2])
use(sys.argv[3])

from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, same  # noqa: E402
from trees import make, tree  # noqa: E402

SRC = os.path.join(DIR, "src")
LAYERS = os.path.join(STORE, "layers")
STEP = 1 if os.environ.get("LETHE_KILL_ALL") == "1" else 9
FILES = {"f": "old\n", "mode": "m\n", "gone/a": "x\n", "gone/b": "y\n", "turns": "file\n", "back/was": "folder\n", "shut/in": "i\n", "big": "b" * 70000}
PROGRAM = ("echo new >f; chmod 700 mode; rm -r gone; rm turns; mkdir turns; echo t >turns/t; rm -r back; echo b >back; mkdir -p n/e/w; echo w >n/e/w/f; chmod 750 n/e; "
           "ln -s ../f n/link; echo more >>big; echo i2 >shut/in; chmod 500 shut; chmod 750 n")


def layered():
    make(SRC, FILES)
    r = lethe("run", "--receipt", os.path.join(DIR, "r.json"), "-v", SRC + ":/src:overlay", "-w", "/src", "--exec", "/bin/sh", "-c", PROGRAM)
    same(r.code, 0, r)
    with open(os.path.join(DIR, "r.json"), encoding="utf-8") as f:
        return json.load(f)["region"]


def killed(n, region):
    """(code, what was said of the kill)"""
    p = subprocess.run([KILL_AT, str(n), LETHE, "apply", region], env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    return p.returncode, p.stderr.decode().strip().split("\n")[-1]


def applied(region):
    return [e for e in log("--type", "layer.applied") if e["region"] == region]


@case
def a_kill_at_each_call_leaves_a_layer_that_can_be_finished():
    region = layered()
    before = tree(SRC)
    code, said = killed(0, region)
    same((code, said.split()[0]), (0, "calls"))
    after, calls, between = tree(SRC), int(said.split()[1]), 0
    check(after != before and calls > 50, calls)
    for n in [*range(1, calls, STEP), calls]:
        region = layered()
        same(tree(SRC), before)
        code, said = killed(n, region)
        if code == 0 and not said:  # the store's own calls are a few more or less each time
            check(n > calls - 20, n, calls)
            continue
        same(code, 137, said)
        now, d = tree(SRC), lethe("diff", "--json", region)
        if d.code == 0:
            states = {e["state"] for e in json.loads(d.out)["entries"]}
            check(states <= {"ready", "done"}, said, states, d)
        else:  # gone, or about to go
            same(now, after, said, d)
        if applied(region):
            same(now, after, said)
        between += now not in (before, after)
        r = lethe("apply", region)
        check(r.code == 0 or b"was applied at" in r.err, said, r)
        same(tree(SRC), after, said)
        check(applied(region), said)
        same([name for name in os.listdir(LAYERS) if not name.startswith(".old-")], [], said)
    check(between > 0, "no kill came between")
    print("# %d of %d calls, %d between" % (len(range(1, calls, STEP)) + 1, calls, between))
    same(lethe("run", "--exec", "/bin/true").code, 0)
    same(os.listdir(LAYERS), [])  # killed drops are finished
    same(lethe("verify").code, 0)


main()
