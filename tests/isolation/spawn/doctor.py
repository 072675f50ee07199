#!/usr/bin/python3
"""lethe doctor, from outside: what it says, its exit codes, and that it leaves nothing. TAP.

usage: doctor.py LETHE
"""
import ctypes
import errno
import json
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tiers import TIERS  # noqa: E402

lethe = os.path.abspath(sys.argv[1])
temp = os.environ["TMPDIR"]
cases = []
CLASSES = {"program-python", "program-node", "program-java", "program-browser", "program-office", "program-git-https", "program-habits"}


def without_openat2():
    """As RestrictSUIDSGID= of a unit has it: the call is not implemented."""
    libc = ctypes.CDLL(None, use_errno=True)
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x00050000 | errno.ENOSYS), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0):
        os._exit(99)


def without_namespaces():
    """An ordinary user where there may be no more user namespaces, as some machines have it: tier landlock is left. For root, who makes such a place."""
    libc = ctypes.CDLL(None, use_errno=True)
    parent, (ready, is_ready), (mapped, is_mapped) = os.getpid(), os.pipe(), os.pipe()
    if os.fork() == 0:
        os.read(ready, 1)
        for name in ("uid_map", "gid_map"):
            with open("/proc/%d/%s" % (parent, name), "w", encoding="utf-8") as f:
                f.write("0 0 65536")
        os.write(is_mapped, b"x")
        os._exit(0)
    if libc.unshare(0x10000000):
        os._exit(99)
    os.write(is_ready, b"x")
    os.read(mapped, 1)
    os.wait()
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="utf-8") as f:
        f.write("0")
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)


def run(*argv, user=None, env=None, around=None, cwd=None, wrap=(), timeout=60):
    before = around
    if user is not None:
        def before():
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
    r = subprocess.run([*wrap, lethe, "doctor", *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, preexec_fn=before, cwd=cwd,
                       env=dict(os.environ, **(env or {})))
    return r.returncode, r.stdout, r.stderr


def case(name, good, told=""):
    cases.append((name, good, told))


litter = set(os.listdir("/tmp"))
os.chmod(temp, 0o755)
os.mkdir(temp + "/own")
users = [None] + ([65534] if os.geteuid() == 0 else [])
for user in users:
    who = "another user" if user else "this user"
    if user:
        os.chown(temp + "/own", user, user)
    code, out, err = run("--json", "--store", temp + "/own/new", user=user, env={"HOME": temp + "/own"})
    report = json.loads(out)
    by = {c["name"]: c for c in report["checks"]}
    case(f"{who}: one object", report["version"] == 1 and not err, (out, err))
    case(f"{who}: regions start", code == 0 and report["tier"] == "namespaces" and by["tier-namespaces"]["status"] == "ok", (code, out))
    case(f"{who}: each check has all its words", all(set(c) == {"name", "status", "value", "meaning", "fix"} for c in report["checks"]), out)
    case(f"{who}: what is not right has a fix", all(c["fix"] for c in report["checks"] if c["status"] in ("warn", "fail")), out)
    case(f"{who}: all that was promised is looked at",
         {"landlock", "seccomp-notify", "namespace-user", "namespace-net", "core-pattern", "swap", "init-on-free", "yama", "max-user-namespaces",
          "worker", "policy", "socket", "run", "budget-memory", "budget-processes", "store", "anchor", "tier-namespaces", "tier-landlock"} <= set(by), sorted(by))
    case(f"{who}: the store was not made", not os.listdir(temp + "/own"), os.listdir(temp + "/own"))
code, out, err = run("--store", temp + "/new")
says = ("ok    landlock",) if "landlock" in TIERS else ("note  landlock", "fix: Linux 6.12")
case("text", code == 0 and "Regions of the user run in tier namespaces" in out and all(s in out for s in says), (code, out))
open(temp + "/file", "w").close()
code, out, err = run("--json", "--store", temp + "/file/store")
store = {c["name"]: c for c in json.loads(out)["checks"]}["store"]
# where every run would fail the last line says so, and why.
case("a store that cannot be written", store["status"] == "fail" and temp + "/file/store" in store["value"] and code == 1, out)
code, out, err = run("--store", temp + "/file/store")
case("it is named as the cause", code == 1 and out.splitlines()[-1].startswith("No region can run here: store (" + temp + "/file/store (--store): "), out)
code, out, err = run("--json", env={"LETHE_STORE": "/proc/none"})
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("a store that nobody can make", code == 1 and json.loads(out)["tier"] is None and "fail" in (by["run"]["status"], by["store"]["status"]), out)
# which places, and why those.
code, out, err = run("--json", env={"LETHE_STORE": temp + "/s", "LETHE_ANCHOR": temp + "/a", "LETHE_SOCKET": temp + "/k"})
by = {c["name"]: c["value"] for c in json.loads(out)["checks"]}
case("places and from where they are", (by["store"], by["anchor"], by["socket"]) == (temp + "/s (LETHE_STORE)", temp + "/a (LETHE_ANCHOR)", temp + "/k (LETHE_SOCKET): no daemon") and
     by["run"] == "works" and code == 0, by)
with open(temp + "/policy.json", "w") as f:
    f.write("{")
code, out, err = run("--json", env={"LETHE_POLICY": temp + "/policy.json"})
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("a policy that is not in order", code == 1 and by["policy"]["status"] == "fail" and temp + "/policy.json" in by["policy"]["value"], out)
code, out, err = run("--json", around=lambda: resource.setrlimit(resource.RLIMIT_AS, (48 << 20, 48 << 20)))
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("a limit of address space", by["limit-around"]["value"].startswith("RLIMIT_AS is ") and code == (by["run"]["status"] != "ok"), (code, out))
code, out, err = run("--json", around=without_openat2)
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("a filter around us is no old kernel", code == 1 and "filter" in by["filter-around"]["value"] and "RestrictSUIDSGID=" in by["filter-around"]["fix"], (code, out))
code, out, err = run("--json", env={"HOME": "", "XDG_STATE_HOME": "", "LETHE_STORE": "", "LETHE_ANCHOR": ""})
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("no place for store and anchor", by["store"]["status"] == "fail" and code == 1, out)
if os.geteuid() == 0 and "landlock" in TIERS:
    # Where no policy lets a run have tier landlock, every run fails; where one does, it works, and weaker than in tier namespaces.
    with open(temp + "/landlock.json", "w") as f:
        f.write('{"version": 1, "min_tier": "landlock"}')
    os.chmod(temp + "/landlock.json", 0o644)
    for policy, tier, last in (("", None, "No region can run here: "), (temp + "/landlock.json", "landlock", "Regions of the user run in tier landlock")):
        places = {"HOME": temp + "/own", "LETHE_POLICY": policy}
        code, out, err = run("--json", env=places, around=without_namespaces)
        by = {c["name"]: c for c in json.loads(out)["checks"]}
        case("tier landlock alone: " + str(tier), code == 1 and json.loads(out)["tier"] == tier and by["tier-landlock"]["status"] == "ok" and
             by["run"]["status"] == ("ok" if tier else "fail") and (tier or '"min_tier": "landlock"' in by["run"]["fix"]), (code, out, err))
        code, out, err = run(env=places, around=without_namespaces)
        case("in words: " + str(tier), out.splitlines()[-1].startswith(last), (code, out, err))
# A relative store is one of the folder that doctor is called in, as of every verb.
for store in ("relative", "rel/ative"):
    code, out, err = run("--json", "--store", store, cwd=temp)
    by = {c["name"]: c for c in json.loads(out)["checks"]}
    case("a relative store: " + store, code == 0 and by["store"]["status"] == "ok" and by["run"]["status"] == "ok", out)
# A store that is there is enough: /tmp is of no use to a run.
os.mkdir(temp + "/has")
subprocess.run([lethe, "run", "--no-serve", "--store", temp + "/has/store", "--anchor", temp + "/has/anchor", "--exec", "/bin/true"], check=True)
locked = ("unshare", "-m", "--propagation", "private", "sh", "-ec",
          "mount --rbind /tmp /tmp; mount --bind %s/has %s/has; mount -o remount,bind,ro /tmp; ! touch /tmp/x 2>/dev/null; exec \"$@\"" % (temp, temp), "sh")
if os.geteuid() == 0:
    code, out, err = run("--json", "--store", temp + "/has/store", env={"LETHE_ANCHOR": temp + "/has/anchor"}, wrap=locked)
    by = {c["name"]: c for c in json.loads(out)["checks"]} if out else {}
    case("a /tmp that cannot be written", code == 0 and by["run"]["status"] == "ok" and sorted(os.listdir(temp + "/has")) == ["anchor", "store"], (code, out, err, os.listdir(temp + "/has")))
# A daemon that is stopped holds every run up: doctor does not wait for it, and says so.
places = {"LETHE_STORE": temp + "/has/store", "LETHE_ANCHOR": temp + "/has/anchor", "LETHE_SOCKET": temp + "/has/socket"}
daemon = subprocess.Popen([lethe, "serve"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=dict(os.environ, **places))
while " serves " not in daemon.stderr.readline():
    pass
code, out, err = run("--json", env=places)
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("a daemon of the same store", code == 0 and by["socket"]["status"] == "ok" and by["socket"]["meaning"] == "a daemon of the same store answers" and not err, (code, out, err))
daemon.send_signal(signal.SIGSTOP)
code, out, err = run(env=places)
case("a daemon that is stopped", code == 1 and out.splitlines()[-1].startswith("No region can run here: socket (" + temp + "/has/socket (LETHE_SOCKET): a daemon that does not answer)") and
     "process %d, which is stopped" % daemon.pid in err, (code, out, err))
code, out, err = run("--json", env=dict(places, LETHE_SERVE="0"))
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("one that is not asked", code == 0 and by["socket"]["value"] == "no daemon is asked (LETHE_SERVE)", (code, out, err))
daemon.send_signal(signal.SIGCONT)
daemon.send_signal(signal.SIGTERM)
case("it ends", daemon.wait(60) == 0)
daemon.stderr.close()
os.makedirs(temp + "/moved/bin")
os.makedirs(temp + "/moved/libexec/lethe")
shutil.copy2(lethe, temp + "/moved/bin/lethe")
shutil.copy2(os.path.dirname(lethe) + "/lethe-worker", temp + "/moved/libexec/lethe")
built, lethe = lethe, temp + "/moved/bin/lethe"
code, out, err = run("--json", "--store", temp + "/new")
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("an installed tree that was moved", by["worker"]["status"] == "ok" and by["worker"]["value"].startswith(temp + "/moved/"), by["worker"])
lethe = built
# each class is tried; what is there runs, and what is not there is told how to get.
code, out, err = run("--json", "--programs", "--store", temp + "/new", timeout=600)
by = {c["name"]: c for c in json.loads(out)["checks"]}
case("programs: each class is told", code == 0 and CLASSES <= set(by), (code, out, err))
case("programs: what is installed runs", all(by[c]["status"] in ("ok", "note") and ("runs" in by[c]["value"] or by[c]["fix"].startswith("apt install ")) for c in CLASSES),
     [by.get(c) for c in CLASSES])
case("programs: python, and what scripts take for granted", by["program-python"]["status"] == by["program-habits"]["status"] == "ok", out)
for argv in (["more"], ["--nothing"]):
    code, out, err = run(*argv)
    case("usage: " + argv[0], code == 2 and err.startswith("lethe doctor:"), (code, err))
left = {n for n in set(os.listdir("/tmp")) - litter if n.startswith("lethe-doctor-") or n in ("cache", "scratch")}
for _ in range(600):  # what another one at work has there goes
    if not left:
        break
    time.sleep(0.1)
    left &= set(os.listdir("/tmp"))
case("nothing is left in /tmp", not left, left)

print(f"1..{len(cases)}")
for i, (name, good, told) in enumerate(cases, 1):
    print(f"{'ok' if good else 'not ok'} {i} - {name}")
    if not good:
        print("# " + str(told).replace("\n", "\n# "))
sys.exit(0 if all(c[1] for c in cases) else 1)
