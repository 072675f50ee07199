#!/usr/bin/python3
"""The three properties that all else stands on (I-22): a region is one invocation's, its keys are typed and cannot be forged, and its teardown is
done when its terminating event is. One case for each, which fails when that property alone is broken. TAP.

usage: properties.py LETHE
       properties.py --broken          breaks each of them in a copy of the source, and sees its case, and no other, fail; takes some minutes
"""
import json
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MARK = "97.%d" % os.getpid()  # seconds that nothing else on this machine sleeps

# What breaks one property: (file, text, replacement).
BROKEN = {
    "a region is one invocations": [("supervisor/isolation/region/region-handle.c", "Vault *v = vault_find(region);", "Vault *v = vault_find(p->by->region);\n\n        (void)region;")],
    "keys cannot be forged": [("supervisor/isolation/region/region-handle.c", "if (v && !vault_key_is(v, p))", "if (v && !p->key)")],
    "teardown is done when the end is": [
        ("worker/init.c", "static void init_reap_all(void) {\n", "static void init_reap_all(void) {\n        return;\n"),
        ("supervisor/isolation/spawn/kill.c", "                clone_each_child(s->pid, kill_tree, NULL);", ""),
        ("supervisor/isolation/spawn/kill.c", "        kill_tree(pid, NULL);\n        clone_reap(pid, REAP_MS);", "")],
}


def broken():
    sys.path.insert(0, os.path.join(HERE, "..", "hostile"))
    from mutations import Copy
    copy, wrong = Copy(), 0
    try:
        for name, edits in BROKEN.items():
            with copy.changed(edits):
                p = subprocess.run([sys.executable, os.path.join(copy.source, "tests/system/properties.py"), os.path.join(copy.build, "lethe")], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
            failed = re.findall(r"^not ok \d+ - (.*)$", p.stdout, re.M)
            wrong += failed != [name]
            print("%s: broken, and failed: %s" % (name, ", ".join(failed) or "nothing\n" + p.stdout), flush=True)
    finally:
        copy.remove()
    sys.exit(1 if wrong else 0)


if sys.argv[1:] == ["--broken"]:
    broken()

sys.path.insert(0, os.path.join(HERE, "..", "front", "cli"))
from tap import DIR, case, check, lethe, log, main, run, same  # noqa: E402
from tiers import TIERS  # noqa: E402

LAB = """import json, os, sys
import lethe
s = lethe.section("plan")
def read(handle, key):
    try:
        return lethe._pipe.call("handle.read", {"handle": handle, "key": key})["value"]
    except lethe.LetheError as e:
        return e.code
key = lethe._pipe.call("hello", {"protocol": 1})["key"]
exec(sys.argv[1])
"""


def lab(code):
    d = os.path.join(DIR, "lab")
    if not os.path.isdir(d):
        os.makedirs(d)
        manifest = {"version": 1, "entry": {"main": ["/usr/bin/python3", "/skill/main.py"]}, "sections": {"plan": {"schema": {"type": "object"}}}}
        for name, text in (("SKILL.md", "---\nname: lab\ndescription: A test.\n---\n"), ("lethe.json", json.dumps(manifest)), ("main.py", LAB)):
            with open(os.path.join(d, name), "w", encoding="utf-8") as f:
                f.write(text)
    r = run(d, "--", code)
    same(r.code, 0, r)
    return r


# I-22: what one invocation's working state was is nothing to the next, whatever it kept of it.
@case
def a_region_is_one_invocations():
    first = lab("s.write({'of': 'the first'})\nprint(key, s.handle, read(s.handle, key)['of'])")
    old_key, old, value = first.out.decode().split(" ", 2)
    same(value, "the first\n")
    r = lab("s.write({'of': 'the second'})\nlethe.result([read(%r, k) for k in (%r, key)])" % (old, old_key))
    same(r.receipt["result"], ["stale", "stale"])
    check(r.receipt["region"] != first.receipt["region"])


# I-22: nothing but the region's key opens its handles, and nothing but its type goes in.
@case
def keys_cannot_be_forged():
    r = lab("""s.write({})
out = [read(s.handle, k) for k in (key, os.urandom(len(key) // 2).hex(), "0" * len(key), key[:-1] + ("0" if key[-1] != "0" else "1"))]
try:
    s.write(["another type"])
except lethe.LetheError as e:
    out.append(e.code)
lethe.result(out)""")
    same(r.receipt["result"], [{}, "bad_key", "bad_key", "bad_key", "schema"])


def sleepers():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                if f.read() == b"sleep\0%s\0" % MARK.encode():
                    found.append(int(pid))
        except OSError:
            pass
    return found


# I-22: the call returns when the last process is gone, its memory overwritten, and both recorded.
@case
def teardown_is_done_when_the_end_is():
    same(sleepers(), [])
    for tier in reversed(TIERS):
        r = run("--tier", tier, "--exec", "/bin/sh", "-c", "(setsid sh -c 'sleep %s' </dev/null >/dev/null 2>&1 &); sleep 0.2" % MARK)
        left = sleepers()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        same(r.code, 0, r)
        same(left, [], tier, "processes that outlive the call")
        events = {e["type"]: e["seq"] for e in log("--region", r.receipt["region"])}
        same(events["region.allocated"] < events["region.released"] < events["invocation.ended"], True, events)
        same(json.loads(lethe("audit", "regions", "--json", "unproved").out)["regions"], [], tier)


main()
