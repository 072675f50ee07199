#!/usr/bin/python3
"""lethe doctor, from outside: what it says, its exit codes, and that it leaves nothing. TAP.

usage: doctor.py LETHE
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from tiers import TIERS  # noqa: E402

lethe = sys.argv[1]
temp = os.environ["TMPDIR"]
cases = []


def run(*argv, user=None, env=None):
    before = None
    if user is not None:
        def before():
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
    r = subprocess.run([lethe, "doctor", *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, preexec_fn=before,
                       env=dict(os.environ, **(env or {})))
    return r.returncode, r.stdout, r.stderr


def case(name, good, told=""):
    cases.append((name, good, told))


litter = set(os.listdir("/tmp"))
users = [None] + ([65534] if os.geteuid() == 0 else [])
for user in users:
    who = "another user" if user else "this user"
    code, out, err = run("--json", "--store", temp + "/new", user=user)
    report = json.loads(out)
    by = {c["name"]: c for c in report["checks"]}
    case(f"{who}: one object", report["version"] == 1 and not err, (out, err))
    case(f"{who}: regions start", code == 0 and report["tier"] == "namespaces" and by["tier-namespaces"]["status"] == "ok", (code, out))
    case(f"{who}: each check has all its words", all(set(c) == {"name", "status", "value", "meaning", "fix"} for c in report["checks"]), out)
    case(f"{who}: what is not right has a fix", all(c["fix"] for c in report["checks"] if c["status"] in ("warn", "fail")), out)
    case(f"{who}: all that was promised is looked at",
         {"landlock", "seccomp-notify", "namespace-user", "namespace-net", "core-pattern", "swap", "init-on-free", "yama", "max-user-namespaces",
          "worker", "budget-memory", "budget-processes", "store", "anchor", "tier-namespaces", "tier-landlock"} <= set(by), sorted(by))
    case(f"{who}: the store was not made", not os.path.exists(temp + "/new"))
code, out, err = run("--store", temp + "/new")
says = ("ok    landlock",) if "landlock" in TIERS else ("note  landlock", "fix: Linux 6.12")
case("text", code == 0 and "Regions of this user run in tier namespaces" in out and all(s in out for s in says), (code, out))
open(temp + "/file", "w").close()
code, out, err = run("--json", "--store", temp + "/file/store")
store = {c["name"]: c for c in json.loads(out)["checks"]}["store"]
case("a store that cannot be written", store["status"] == "warn" and temp + "/file/store" in store["value"] and code == 0, out)
code, out, err = run("--json", env={"HOME": "", "XDG_STATE_HOME": "", "LETHE_STORE": "", "LETHE_ANCHOR": ""})
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("no place for store and anchor", by["store"]["status"] == "warn", out)
os.makedirs(temp + "/moved/bin")
os.makedirs(temp + "/moved/libexec/lethe")
shutil.copy2(lethe, temp + "/moved/bin/lethe")
shutil.copy2(os.path.dirname(lethe) + "/lethe-worker", temp + "/moved/libexec/lethe")
built, lethe = lethe, temp + "/moved/bin/lethe"
code, out, err = run("--json", "--store", temp + "/new")
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("an installed tree that was moved", by["worker"]["status"] == "ok" and by["worker"]["value"].startswith(temp + "/moved/"), by["worker"])
lethe = built
for argv in (["more"], ["--nothing"]):
    code, out, err = run(*argv)
    case("usage: " + argv[0], code == 2 and err.startswith("lethe doctor:"), (code, err))
left = {n for n in set(os.listdir("/tmp")) - litter if n.startswith("lethe-doctor-") or n in ("cache", "scratch")}
case("nothing is left in /tmp", not left, left)

print(f"1..{len(cases)}")
for i, (name, good, told) in enumerate(cases, 1):
    print(f"{'ok' if good else 'not ok'} {i} - {name}")
    if not good:
        print("# " + str(told).replace("\n", "\n# "))
sys.exit(0 if all(c[1] for c in cases) else 1)
