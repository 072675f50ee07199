#!/usr/bin/python3
"""A whole machine, as users have them: Debian 12 with systemd and control groups of version 2, in which this build is installed and used. Prints a table.

usage: machine.py [--only WORD,...] BUILD COMMAND...

tests/system/machine.sh makes such a machine and calls this. COMMAND, followed by a user's name, runs the shell script on its standard input in the machine as
that user (root, alice who may use sudo, bob): ssh does. The machine is there for this alone: units are installed, processes killed, swap and other settings
changed, and at last it is restarted by `reboot -f`. Nothing is built in it. Slow, and not part of scripts/test. Each row is what somebody does there and what
must come of it; --only takes rows whose group and words hold one of these WORDs. The exit code is 1 when a row is not as it should be.
"""
import io
import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile

args = sys.argv[1:]
only = None
if args[:1] == ["--only"]:
    only, args = args[1].split(","), args[2:]
if len(args) < 2:
    print(__doc__)
    sys.exit(2)
build, command = args[0], args[1:]
USERS = ("root", "alice", "bob")
rows = []


def at(user, script, timeout=300):
    p = subprocess.run([*command, user], input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout, check=False)
    return p.stdout.decode(errors="replace").strip()


def install():
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild"], env=dict(os.environ, DESTDIR=d), stdout=subprocess.DEVNULL, check=True)
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w") as t:
            t.add(d, arcname=".")
    # The shell reads its script no further than the line that it runs: the rest is tar's.
    script = b"tar -C / -x --no-same-owner --no-overwrite-dir; systemctl daemon-reload; mkdir -p /srv/rw; chmod 777 /srv/rw; exit\n"
    subprocess.run([*command, "root"], input=script + tar.getvalue(), timeout=600, check=True)


# In the machine: t OPTIONS... runs and prints outcome, exit code, grade, used and peak; what a program prints is left out.
PRELUDE = r'''
export LETHE_SERVE=${LETHE_SERVE-0}
r=$(mktemp)
t() { lethe run --quiet --receipt $r "$@" </dev/null >/dev/null 2>&1; local c=$?
  jq -r --arg c $c '[.outcome, "code " + $c, .teardown.grade, "limit " + ((.limit // 0) | tostring), "used " + ((.used // 0) | tostring),
    "peak " + ((.usage.peak_memory_bytes // 0) | tostring), ("cause " + (.cause // "none")), (.reason // "")] | join(", ")' $r; }
py=/usr/bin/python3
'''


def row(group, what, user, script, good, timeout=300):
    """good: of what was printed, true or false."""
    if only and not any(word in group + " " + what for word in only):
        return
    try:
        said = at(user, PRELUDE + script, timeout)
    except subprocess.TimeoutExpired:
        said = "no answer within %d s" % timeout
    last = said.splitlines()[-1] if said else ""
    try:
        ok = bool(good(said))
    except (ValueError, IndexError, KeyError):
        ok = False
    rows.append((ok, group, what, user, last))
    print("%-4s | %-9s | %-52s | %-5s | %s" % ("ok" if ok else "NOT", group, what, user, last[:150]), flush=True)


# In the machine: a unit with its limit around it, and in it a daemon with two regions, of which one does what HOG says until there is no more. Prints the fate of all three.
OUTER = r"""
import json, os, shutil, subprocess, sys, time
limit, hog = sys.argv[1], sys.argv[2:]
own = [] if os.geteuid() == 0 else ["--user"]
work = subprocess.run(["mktemp", "-d"], stdout=subprocess.PIPE, check=True).stdout.decode().strip()
sock, store, unit = work + "/socket", work + "/store", "lethe-outer-%d" % os.getpid()
systemctl = lambda *a: subprocess.run(["systemctl", *own, *a], stdout=subprocess.PIPE, check=False).stdout.decode().strip()
subprocess.run(["systemd-run", *own, "-q", "--unit", unit, "-p", "Delegate=yes", "-p", limit, "-p", "MemorySwapMax=0", shutil.which("lethe"), "serve", "--socket", sock, "--store", store], check=True)

for _ in range(600):
    if os.path.exists(sock): break
    time.sleep(0.1)
pid = systemctl("show", "-p", "MainPID", "--value", unit)
env = dict(os.environ, LETHE_SOCKET=sock, LETHE_STORE=store, LETHE_SERVE="1")
def begin(name, *argv):
    return subprocess.Popen(["lethe", "run", "--quiet", "--timeout", "200s", "--receipt", work + "/" + name, *argv], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def end(name, p):
    p.communicate(b"\n")
    r = json.load(open(work + "/" + name))
    return {"code": p.returncode, "denied": [d["rule"] for d in r["denials"]], "grade": r["teardown"]["grade"],
            **{k: r.get(k) for k in ("outcome", "cause", "limiting_resource", "limit", "used", "asked", "refused")}, "peak": r["usage"]["peak_memory_bytes"]}
other = begin("innocent", "--memory", "32m", "--exec", "/bin/sh", "-c", "echo here; read x; exit 7")
other.stdout.readline()
said = {"hog": end("hog", begin("hog", *hog))}
said["innocent"] = end("innocent", other)
said["daemon outlives"] = systemctl("show", "-p", "MainPID", "--value", unit) == pid != "0"
said["served"] = subprocess.run(["lethe", "run", "--quiet", "--exec", "/bin/true"], env=env, stdin=subprocess.DEVNULL, check=False).returncode == 0
systemctl("stop", unit)
said["audit"] = subprocess.run(["lethe", "audit", "--store", store], stdout=subprocess.PIPE, check=False).returncode
subprocess.run(["rm", "-rf", work], check=False)
print(json.dumps(said))
"""


SWAP = r"""
import ctypes, os
size = os.path.getsize("/lethe-swap") // 4096
head = bytearray(4096)
head[1024:1032] = (1).to_bytes(4, "little") + (size - 1).to_bytes(4, "little")
head[4086:] = b"SWAPSPACE2"
with open("/lethe-swap", "r+b") as f:
    f.write(head)
if ctypes.CDLL(None, use_errno=True).swapon(b"/lethe-swap", 0) < 0:
    print(os.strerror(ctypes.get_errno()))
"""


def number(said, word):
    return int(said.split(word + " ", 1)[1].split(",", 1)[0])


def within(said, outcome, limit):
    return outcome in said and number(said, "limit") == limit and max(number(said, "used"), number(said, "peak")) <= limit + (1 << 20)


def groups():
    doctor = "lethe doctor --json | jq -r '[.checks[] | select(.name == \"budget-memory\") | .value] | join(\" \")'"
    v2 = lambda said: said.endswith("cgroup v2")  # noqa: E731
    for user in USERS:
        own = "" if user == "root" else " --user"
        row("groups", "doctor in a login session", user, doctor, v2)
        row("groups", "doctor in a scope of its own", user, "systemd-run%s --scope -q -p Delegate=yes sh -c 'exec %s'" % (own, doctor.split(" |")[0]) + " | jq -r '[.checks[] | "
            "select(.name == \"budget-memory\") | .value] | join(\" \")'", v2)
        row("groups", "doctor in a service with Delegate=yes", user, "systemd-run%s -q --pipe --wait -p Delegate=yes lethe doctor --json" % own + " | jq -r '[.checks[] | "
            "select(.name == \"budget-memory\") | .value] | join(\" \")'", v2)
        row("groups", "doctor in a service without it says so", user, "systemd-run%s -q --pipe --wait lethe doctor" % own, lambda said: "Delegate=yes in the unit" in said)
        row("groups", "nothing is left of them", user, "find /sys/fs/cgroup -name 'lethe-*' -user $(id -u) | grep -v lethe.service | wc -l", lambda said: said == "0")


def contract():
    for user in USERS:
        row("contract", "a program", user, "t --exec /bin/true", lambda said: said.startswith("exited, code 0, cleared"))
        row("contract", "its exit code", user, "t --exec /bin/sh -c 'exit 3'", lambda said: said.startswith("exited, code 3, cleared"))
        row("contract", "a volume", user, "d=$(mktemp -d /srv/rw/XXXX); echo in >$d/in; t -v $d:/data:rw --exec /bin/sh -c 'cat /data/in >/data/out'; cat $d/out",
            lambda said: said.endswith("in"))
        row("contract", "node", user, "t --memory 512m --exec /usr/bin/node -e 1", lambda said: said.startswith("exited, code 0, cleared"))
        row("contract", "a sparse shared mapping", user, "t --exec $py -c 'import mmap\nm = mmap.mmap(-1, 500 << 20)\nm[:1 << 20] = b\"x\" * (1 << 20)'",
            lambda said: said.startswith("exited, code 0, cleared") and number(said, "peak") < 64 << 20)


def budgets():
    limit = 64 << 20
    for user in USERS:
        row("budgets", "memory at once", user, "t --memory 64m --exec $py -c 'x = bytearray(200 << 20)'", lambda said: within(said, "out_of_region", limit))
        row("budgets", "memory in pieces", user, "t --memory 64m --exec $py -c 'x = [bytearray(1 << 20) for _ in range(300)]'", lambda said: within(said, "out_of_region", limit))
        row("budgets", "memory that is shared", user, "t --memory 64m --exec $py -c 'import mmap\nm = mmap.mmap(-1, 200 << 20)\nfor i in range(200): m[i << 20:(i + 1) << 20] = bytes(1 << 20)'",
            lambda said: within(said, "out_of_region", limit))
        row("budgets", "memory of files in the scratch", user, "t --memory 64m --scratch 200m --file-size 200m --exec $py -c 'f = open(\"/tmp/x\", \"wb\")\nfor i in range(150): f.write(bytes(1 << 20))'",
            lambda said: within(said, "out_of_region", limit))
        row("budgets", "60 processes at once", user, "t --memory 64m --pids-limit 100 --exec $py -c 'import os\nfor i in range(60):\n  if os.fork() == 0:\n    b = bytearray(60 << 20)\n    os._exit(0)\n"
            "for i in range(60): os.wait()'", lambda said: within(said, "out_of_region", limit))
        row("budgets", "tasks", user, "t --pids-limit 8 --exec $py -c 'import os, time\nfor i in range(30):\n  if os.fork() == 0: time.sleep(9); os._exit(0)'",
            lambda said: said.startswith("pids_exceeded") and number(said, "used") <= 8)


def units():
    serve = "export LETHE_SERVE=1 LETHE_STORE=/var/lib/lethe/store\n"
    ask = ("s() { $py -c 'import json, socket, sys\ns = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"method\\\":\\\"status\\\"}\\n\")\n"
           "print(json.loads(s.recv(65536))[\"result\"][sys.argv[2]])' \"$1\" \"$2\"; }\n")
    row("units", "the socket starts the daemon, which has a run", "root", serve + ask + "systemctl start lethe.socket; t --exec /bin/true; s /run/lethe/socket served",
        lambda said: said.endswith("\n1") and "cleared" in said)
    row("units", "its regions have groups of version 2", "root", serve + "lethe run --timeout 60s --exec /bin/sleep 40 </dev/null >/dev/null 2>&1 & sleep 8; "
        "ls -d /sys/fs/cgroup/system.slice/lethe.service/lethe-0* | wc -l; lethe ps --json | jq -r '.regions[]?.region' | while read i; do lethe kill $i; done; wait; "
        "ls -d /sys/fs/cgroup/system.slice/lethe.service/lethe-0* 2>/dev/null | wc -l", lambda said: said.splitlines()[0] == "1")
    kill = ("systemctl start lethe.service; lethe run --timeout 200s --exec $py -c 'import time\nx = b\"secret\" * (1 << 20)\ntime.sleep(100)' </dev/null >/dev/null 2>&1 & sleep 10\n%s\n"
            "sleep 10; systemctl start lethe.service; sleep 2; lethe audit regions | grep python3 | tail -n 1")
    row("units", "SIGKILL of the daemon", "root", serve + kill % "kill -9 $(systemctl show -p MainPID --value lethe.service)", lambda said: "cleared" in said and "recovered" in said)
    row("units", "SIGKILL of a guard", "root", serve + kill % "kill -9 $(pgrep -x lethe-guard | tail -n 1)", lambda said: "cleared" in said or "unscrubbed" in said or "partial" in said)
    row("units", "SIGKILL of a worker", "root", serve + kill % "kill -9 $(pgrep -x lethe-worker | tail -n 1); kill -9 $(pgrep -x lethe-first | tail -n 1) 2>/dev/null",
        lambda said: "cleared" in said or "unscrubbed" in said or "partial" in said)
    row("units", "a stop of the unit is told as that", "root", serve + "systemctl start lethe.service; lethe run --timeout 200s --exec /bin/sleep 150 </dev/null >/dev/null 2>&1 & sleep 8; "
        "systemctl stop lethe.socket lethe.service; lethe log --json --type invocation.ended 2>/dev/null | tail -n 1 | jq -c '[.outcome, .reason]'; systemctl start lethe.socket",
        lambda said: "lethe serve" in said or "stopped" in said, 400)
    row("units", "clients of the policy reach the socket", "root", "mkdir -p /etc/lethe; echo '{\"version\": 1, \"clients\": [{\"uid\": 1000}]}' >/etc/lethe/policy.json\n"
        "systemctl restart lethe.socket; systemctl restart lethe.service; runuser -u alice -- $py -c 'import socket\ns = socket.socket(socket.AF_UNIX); s.connect(\"/run/lethe/socket\")\n"
        "s.sendall(b\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":1,\\\"method\\\":\\\"ping\\\"}\\n\"); print(s.recv(9999).decode())'; rm /etc/lethe/policy.json; systemctl restart lethe.service",
        lambda said: '"protocol"' in said)
    row("units", "who is not named is told so", "bob", "unset LETHE_SERVE; systemctl is-active lethe.service; LETHE_SOCKET=/run/lethe/socket lethe run --exec /bin/true </dev/null",
        lambda said: "continues without lethe serve" in said)
    row("units", "systemd-analyze security", "root", "systemd-analyze security --no-pager lethe.service | tail -n 1 | sed 's/.*: //'", 
        lambda said: float(said.split()[0]) <= 5.3)  # lethe-serve(8) says what remains, and why
    for user in ("alice", "bob"):
        row("units", "a user's own, and the first run", user, "unset LETHE_SERVE\n" + ask + "export XDG_RUNTIME_DIR=/run/user/$(id -u); systemctl --user start lethe.socket; t --exec /bin/true; "
            "s $XDG_RUNTIME_DIR/lethe/socket served; systemctl --user stop lethe.socket lethe.service", lambda said: said.endswith("\n1"))


def outside():
    hog = "t --memory 400m --exec $py -c 'x = [bytearray(1 << 20) for _ in range(300)]'"
    row("outside", "memory.max of the unit around a run", "root", "systemd-run -q --pipe --wait -p Delegate=yes -p MemoryMax=120M -p MemorySwapMax=0 -E HOME=/root -E LETHE_SERVE=0 $(command -v lethe) run --quiet "
        "--receipt $r %s </dev/null >/dev/null 2>&1; jq -c '[.outcome, .cause, .limiting_resource, .used, .reason]' $r" % hog.split("t ", 1)[1],
        lambda said: json.loads(said.splitlines()[-1])[:4] == ["signaled", "outside", None, None])
    row("outside", "the same, with a shell in the unit: no own group", "root", "cat >/root/hog.sh <<'END'\n%s\n%s\nEND\n"
        "systemd-run -q --pipe --wait -p Delegate=yes -p MemoryMax=120M -p MemorySwapMax=0 -E HOME=/root bash /root/hog.sh" % (PRELUDE, hog),
        lambda said: said.startswith("signaled") and "cause none" in said and "out-of-memory killer ended processes of run-" in said)
    row("outside", "systemd's stop of a scope", "alice", "export XDG_RUNTIME_DIR=/run/user/$(id -u)\n(t --timeout 100s --exec /bin/sleep 90) >/tmp/stopped.$$ & sleep 8; "
        "systemctl --user stop $(systemctl --user list-units --plain --no-legend 'lethe-*.scope' | awk '{print $1}'); wait; cat /tmp/stopped.$$", lambda said: "systemd" in said)


def not_its_own(of):
    """No limit of a region's own broke it: it ended by itself, or for a cause outside."""
    return of["limiting_resource"] is None and of["used"] is None and ((of["outcome"], of["cause"]) in (("exited", None), ("signaled", "outside")))


def outer():
    """Two regions of one daemon in a unit that has a limit: one is a hog."""
    pieces = ["--memory", "600m", "--exec", "/usr/bin/python3", "-c", "x = [bytearray(1 << 20) for _ in range(400)]"]
    files = ["--memory", "600m", "--scratch", "400m", "--file-size", "400m", "--exec", "/bin/sh", "-c", "head -c 300M /dev/zero >/tmp/x; exit 5"]
    own = ["--memory", "48m", "--exec", "/usr/bin/python3", "-c", "x = [bytearray(1 << 20) for _ in range(400)]"]
    tasks = ["--pids-limit", "300", "--exec", "/usr/bin/python3", "-c",
             "import os, time\nn = 0\nfor i in range(150):\n  try:\n    if os.fork() == 0: time.sleep(600)\n    n += 1\n  except BlockingIOError: pass\nos._exit(5 if n < 150 else 6)"]

    def outlives(v):
        return v["daemon outlives"] and v["served"] and v["audit"] == 0

    def run(what, user, limit, hog, good):
        script = "export XDG_RUNTIME_DIR=/run/user/$(id -u)\n$py - %s <<'END'\n%s\nEND\n" % (" ".join(shlex.quote(a) for a in (limit, *hog)), OUTER)
        row("outer", what, user, script, lambda said: good(json.loads(said.splitlines()[-1])), 600)

    for user in USERS:
        run("memory.max around a daemon: a hog in pieces", user, "MemoryMax=160M", pieces,
            lambda v: outlives(v) and not_its_own(v["hog"]) and v["hog"]["cause"] == "outside" and not_its_own(v["innocent"]) and v["innocent"]["code"] == 7)
        run("memory.max around a daemon: memory in files", user, "MemoryMax=160M", files, lambda v: outlives(v) and not_its_own(v["hog"]) and not_its_own(v["innocent"]))
        run("memory.max around a daemon: the hog's own limit", user, "MemoryMax=300M", own,
            lambda v: outlives(v) and (v["hog"]["outcome"], v["hog"]["limiting_resource"], v["hog"]["cause"]) == ("out_of_region", "memory", None)
            and v["hog"]["used"] <= (48 << 20) + (1 << 20) and v["innocent"]["code"] == 7 and not_its_own(v["innocent"]))
        run("pids.max around a daemon: a hog of tasks", user, "TasksMax=100", tasks,
            lambda v: outlives(v) and (v["hog"]["code"], v["hog"]["denied"]) == (5, ["outside"]) and not_its_own(v["hog"]) and v["innocent"]["code"] == 7 and not_its_own(v["innocent"]))


def odd():
    """Settings of a machine that others chose."""
    hog = "t --memory 64m --exec $py -c 'x = [bytearray(1 << 20) for _ in range(200)]'"
    row("odd", "swap: on", "root", "fallocate -l 256M /lethe-swap; chmod 600 /lethe-swap; $py - <<'END'\n%s\nEND\ncut -d' ' -f1 /proc/swaps | tail -n 1" % SWAP, lambda said: said == "/lethe-swap")
    for user in ("root", "bob"):
        row("odd", "swap: memory in pieces", user, hog, lambda said: within(said, "out_of_region", 64 << 20))
        row("odd", "swap: without a group", user, "cat >$HOME/hog.sh <<'END'\n%s\n%s\nEND\nexport XDG_RUNTIME_DIR=/run/user/$(id -u); systemd-run%s -q --pipe --wait -E HOME=$HOME bash $HOME/hog.sh"
            % (PRELUDE.replace("r=$(mktemp)", "export LETHE_STORE=$HOME/without; r=$(mktemp)"), hog, "" if user == "root" else " --user"), lambda said: "out_of_region" in said)
        row("odd", "swap: told in the record", user, "lethe run --quiet --receipt $r --exec /bin/true; jq -c '.teardown.kernel.swap' $r", lambda said: said == "true")
    # pages of somebody else are in swap, those of the region were never there.
    row("odd", "swap: in use", "root", "systemd-run -q --unit lethe-swapped -p MemoryHigh=16M -p MemorySwapMax=infinity $py -c 'import time; x = b\"x\" * (48 << 20); time.sleep(900)'\n"
        "for i in $(seq 300); do [ $(awk '/^SwapTotal/ {t = $2} /^SwapFree/ {print t - $2}' /proc/meminfo) -gt 8192 ] && break; sleep 0.2; done; echo $i",
        lambda said: 0 < int(said) < 300)
    row("odd", "swap: shared memory that was never touched", "bob", "t --memory 1g --exec $py -c 'import mmap, os\nm = mmap.mmap(-1, 500 << 20)\nm[:1 << 20] = b\"x\" * (1 << 20)\nos._exit(0)'; jq -c '.teardown.bytes_missed' $r",
        lambda said: said.startswith("exited, code 0, cleared") and said.endswith("{}"))
    row("odd", "swap: no longer in use", "root", "systemctl stop lethe-swapped; echo $?", lambda said: said == "0")
    row("odd", "swap: off", "root", "$py -c 'import ctypes; print(ctypes.CDLL(None).swapoff(b\"/lethe-swap\"))'; rm /lethe-swap", lambda said: said == "0")
    row("odd", "MemoryHigh around a run", "alice", "export XDG_RUNTIME_DIR=/run/user/$(id -u)\ncat >$HOME/high.sh <<'END'\n%s\n%s\nEND\n"
        "systemd-run --user -q --pipe --wait -p Delegate=yes -p MemoryHigh=48M bash -c 'exec bash $HOME/high.sh'" % (PRELUDE, hog), lambda said: "out_of_region" in said or "timed_out" in said)
    row("odd", "umask 077", "bob", "umask 077; t --exec /bin/true", lambda said: said.startswith("exited, code 0, cleared"))
    row("odd", "overcommit 2", "root", "sysctl -q vm.overcommit_memory=2; t --exec /bin/true; sysctl -q vm.overcommit_memory=0", lambda said: said.startswith("exited, code 0, cleared"))
    row("odd", "hidepid", "root", "mount -o remount,hidepid=invisible /proc; runuser -u bob -- env LETHE_SERVE=0 XDG_RUNTIME_DIR=/run/user/1001 HOME=/home/bob lethe run --exec /bin/echo works </dev/null; "
        "mount -o remount,hidepid=off /proc", lambda said: said.endswith("works") or "hidepid" in said)
    bob = "runuser -u bob -- env LETHE_SERVE=0 XDG_RUNTIME_DIR=/run/user/1001 HOME=%s lethe"
    row("odd", "noexec: home, /tmp and a volume", "root", "mount -t tmpfs -o noexec,mode=1777 tmpfs /mnt; runuser -u bob -- cp /bin/echo /mnt/echo; " + bob % "/mnt TMPDIR=/mnt" +
        " run -v /mnt:/data --exec /data/echo works </dev/null; umount /mnt", lambda said: said == "works" or "noexec" in said)
    row("odd", "noexec: a skill in a store there", "root", "mount -t tmpfs -o noexec,mode=1777 tmpfs /mnt; mkdir /mnt/sk; printf -- '---\\nname: sk\\ndescription: A test.\\n---\\n' >/mnt/sk/SKILL.md\n"
        "printf '#!/bin/sh\\necho works\\n' >/mnt/sk/main.sh; chmod 755 /mnt/sk /mnt/sk/main.sh; echo '{\"version\":1,\"entry\":{\"main\":[\"/skill/main.sh\"]}}' >/mnt/sk/lethe.json\n" +
        bob % "/mnt" + " run /mnt/sk </dev/null; umount /mnt", lambda said: "mounted noexec" in said)
    row("odd", "no ranges in subuid and subgid", "root", "cp -a /etc/subuid /etc/subgid /root; sed -i /bob/d /etc/subuid /etc/subgid; " + bob % "/home/bob" + " run --exec /bin/echo works </dev/null; "
        "cp -a /root/subuid /root/subgid /etc", lambda said: said == "works")
    profile = ("printf 'abi <abi/3.0>,\\nprofile around%s {\\n  file, signal, network, unix, ptrace, capability, %s\\n}\\n' >/tmp/profile; apparmor_parser -r /tmp/profile; "
               "LETHE_SERVE=0 aa-exec -p around -- lethe %s </dev/null; apparmor_parser -R /tmp/profile")
    row("odd", "AppArmor: a profile that allows all of it", "root", profile % (" flags=(attach_disconnected)", "mount, umount, pivot_root,", "run --exec /bin/echo works"), lambda said: said == "works")
    row("odd", "AppArmor: a profile without mounts is named", "root", profile % (" flags=(attach_disconnected)", "deny mount,", "run --exec /bin/true"), lambda said: 'profile "around" confines' in said)
    row("odd", "AppArmor: doctor names it in its last line", "root", profile % ("", "mount, umount, pivot_root,", "doctor"),
        lambda said: said.splitlines()[-1].startswith("No region can run here") and 'apparmor-around (AppArmor\'s profile "around"' in said.splitlines()[-1])


def reboot():
    row("reboot", "regions and the daemon run", "root", "systemctl start lethe.service; export LETHE_SERVE=1 LETHE_STORE=/var/lib/lethe/store\n"
        "setsid lethe run --timeout 600s --exec /bin/sleep 500 </dev/null >/dev/null 2>&1 & sleep 8; lethe ps | tail -n 1", lambda said: "sleep" in said)
    if only and "reboot" not in " ".join(only):
        return
    try:
        at("root", "sync; (sleep 1; reboot -f) >/dev/null 2>&1 &", 30)
    except subprocess.TimeoutExpired:
        pass
    subprocess.run(["sleep", "30"], check=False)
    row("reboot", "after reboot -f the store is whole", "root", "systemctl start lethe.service; LETHE_STORE=/var/lib/lethe/store lethe audit | head -n 1", lambda said: said.startswith("intact"), 600)
    row("reboot", "and its region is recorded", "root", "LETHE_STORE=/var/lib/lethe/store lethe audit regions | grep sleep | tail -n 1", lambda said: "recovered" in said)


install()
for part in (groups, contract, budgets, units, outside, outer, odd, reboot):
    part()
print(json.dumps({"rows": len(rows), "not": [r[1] + ": " + r[2] + " (" + r[3] + ")" for r in rows if not r[0]]}))
sys.exit(any(not r[0] for r in rows))
