#!/usr/bin/python3
"""What a region sees in /proc, /etc and /dev, and what of the host it does not see there. TAP.

usage: shown.py LETHE root|user
"""
import glob
import os
import platform
import pwd
import re
import subprocess

from tap import DIR, ENV, LETHE, STORE, Skip, case, check, main, run, same, start_daemon, stop_daemon
from tiers import TIERS, WHY_NOT

SH, BASH = "/bin/sh", "/bin/bash"


def seen(text, *options, shell=SH, **kw):
    r = run(*options, "--exec", shell, "-c", text, **kw)
    same(r.code, 0, r)
    return r.out.decode()


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def facts():
    """What tells this machine from another."""
    found = {platform.node(), platform.release(), platform.version(), read("/etc/machine-id").strip(), read("/proc/sys/kernel/random/boot_id").strip(), read("/proc/cmdline").strip()}
    found |= set(re.findall(r"(?m)^model name\s*: (.+)$", read("/proc/cpuinfo"))) | set(re.findall(r"(?m)^MemTotal:\s*(\d+)", read("/proc/meminfo")))
    found |= set(re.findall(r"(?m)^btime (\d+)", read("/proc/stat"))) | {line.split()[0] for line in read("/proc/mounts").splitlines() if line.startswith("/dev/")}
    found |= {u.pw_name for u in pwd.getpwall() if u.pw_uid >= 1000 and u.pw_name != "nobody"}
    return {f for f in found if len(f) > 3 and f not in ("lethe", "localhost", "user", "skill")}


def without(text, where):
    told = [f for f in facts() if re.search(r"(?<![A-Za-z0-9])%s(?![A-Za-z0-9])" % re.escape(f), text)]
    same(told, [], where)


@case
def proc_tells_nothing_of_the_host():
    """Every file that can be opened is a generated one; all that the kernel has besides is closed, whatever its name."""
    out = seen("""cd /proc
for f in *; do case $f in [0-9]*|self|thread-self|net) ;; *) [ -d $f ] || head -c 1 $f >/dev/null 2>&1 && [ -f $f ] && echo file $f; [ -d $f ] && echo dir $f $(ls $f) ;; esac; done
for f in $(find sys -type f) ; do echo sys $f; done
cat version cpuinfo meminfo stat loadavg uptime filesystems mounts swaps cmdline cgroups $(find sys -type f)
(for f in $(find sys -type f) stat version; do : >$f; done) 2>&1 | grep -v -e Read-only -e ermission; exit 0""", "--proc", "--memory", "64m")
    lines = out.splitlines()
    same(sorted(l[5:] for l in lines if l.startswith("file ")),
         ["cgroups", "cmdline", "cpuinfo", "filesystems", "loadavg", "meminfo", "mounts", "stat", "swaps", "uptime", "version"], out)
    for l in lines:
        if l.startswith("dir ") and not l.startswith("dir sys "):
            same(len(l.split()), 2, "a folder of the kernel's has something", l)
    wanted = {"osrelease", "ostype", "pid_max", "uuid", "boot_id"}
    same(wanted - {os.path.basename(l[4:]) for l in lines if l.startswith("sys ")}, set(), out)
    check("MemTotal:           65536 kB" in out, out)
    same(out.count("processor\t:"), len(os.sched_getaffinity(0)), out)
    without(out, "/proc")


@case
def proc_is_the_same_in_each_region():
    """Constant for the budgets; a UUID is the region's own."""
    look = "cd /proc; cat version cpuinfo meminfo stat loadavg uptime filesystems mounts sys/kernel/osrelease; echo; cat sys/kernel/random/uuid sys/kernel/random/uuid"
    first, second = (seen(look, "--proc").rsplit("\n\n", 1) for _ in range(2))
    same(first[0], second[0])
    uuids = first[1].split() + second[1].split()
    check(uuids[0] == uuids[1] and uuids[2] == uuids[3] and uuids[0] != uuids[2], uuids)
    check(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", uuids[0]), uuids)
    check("Linux" in seen("cat /proc/sys/kernel/ostype; ps -e 2>/dev/null || true", "--proc"))


@case
def etc_tells_nothing_of_the_host():
    """Two users, a name, an id: all generated. What packages put there is shown, and nobody's name is in it."""
    out = seen("for f in passwd group hosts hostname machine-id nsswitch.conf resolv.conf; do echo \"== $f\"; cat /etc/$f || exit 1; done; cat /etc/os-release >/dev/null || exit 1; ls /etc")
    part = dict(re.findall(r"== (\S+)\n([^=]*)", out.rsplit("== resolv.conf", 1)[0] + "== end\n"))
    same([l.split(":")[0] for l in part["passwd"].split()], ["skill", "nobody"], out)
    same([l.split(":")[0] for l in part["group"].split()], ["skill", "nogroup"], out)
    check(re.fullmatch(r"[0-9a-f]{32}\n", part["machine-id"]) and part["machine-id"] != read("/etc/machine-id"), part)
    same(part["hostname"], "lethe\n")
    check("files" in part["nsswitch.conf"] and "localhost" in part["hosts"], part)
    without(out, "/etc")
    listed = set(out.rsplit("\n\n", 1)[-1].split()) if "\n\n" in out else set(out.split())
    for name in ("shadow", "gshadow", "shadow-", "passwd-", "ssh", "sudoers", "fstab", "hostname-", "environment", "crontab"):
        check(name not in listed, name, out)
    for name in ("fonts", "ssl/certs", "mime.types"):
        if glob.glob("/etc/%s" % name):
            check(seen("ls -d /etc/%s" % name).strip() == "/etc/" + name)
    for d in glob.glob("/etc/java-*-openjdk"):
        check("security" in seen("ls %s" % d), d)


STREAMS = """echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin
cat <(echo first); diff <(echo a) <(echo b); echo far | cat /dev/fd/0
exec 5</etc/passwd; head -c 5 /dev/fd/5; echo
{ echo bad >/dev/fd/5; } 2>&1 | sed 's/.*: //'
{ cat /dev/fd/77; } 2>&1 | sed 's/.*: //'
{ cat </dev/tty; } 2>&1 | sed 's/.*: //'
test -e /dev/stdin -a -e /dev/fd/63 && echo there
python3 -c 'import sys; print(open("/dev/fd/5").fileno() > 5)' 2>/dev/null || echo True"""
SAID = "out\nin\nfirst\n1c1\n< a\n---\n> b\nfar\nskill\nPermission denied\nNo such file or directory\nNo such device or address\nthere\nTrue\n"


@case
def descriptors_open_by_name():
    """Without a /proc; through a daemon, too, where the region's root was made before."""
    with open(os.path.join(DIR, "in"), "w") as f:
        f.write("in\n")
    for through in (False, True):
        daemon = start_daemon(dict(ENV, LETHE_SOCKET=os.path.join(DIR, "shown-socket"))) if through else None
        try:
            for pipe in (True, False):
                stdin = None if pipe else open(os.path.join(DIR, "in"))
                p = subprocess.run([LETHE, "run", *([] if through else ["--no-serve"]), "--exec", BASH, "-c", STREAMS], input="in\n" if pipe else None, stdin=stdin,
                                   capture_output=True, text=True, timeout=120, env=dict(ENV, LETHE_STORE=STORE, LETHE_SOCKET=os.path.join(DIR, "shown-socket")))
                same((p.returncode, p.stdout, p.stderr.splitlines()[:1]), (0, SAID, ["err"]), through, pipe, p.stderr)
        finally:
            if daemon:
                stop_daemon(daemon)


@case
def descriptors_open_by_name_in_tier_landlock():
    """There the names are the host's, and lead to the same streams."""
    if "landlock" not in TIERS:
        raise Skip(WHY_NOT)
    with open(os.path.join(DIR, "landlock.json"), "w") as f:
        f.write('{"version": 1, "min_tier": "landlock"}')
    p = subprocess.run([LETHE, "run", "--no-serve", "--policy", os.path.join(DIR, "landlock.json"), "--tier", "landlock", "--exec", BASH, "-c",
                        "echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin; cat <(echo first)"], input="in\n", capture_output=True, text=True, timeout=120, env=ENV)
    same((p.returncode, p.stdout, p.stderr), (0, "out\nin\nfirst\n", "err\n"))


@case
def dev_shm_counts_as_scratch():
    """Shared memory by name lies in the scratch: it is in that budget, and in what is overwritten."""
    r = run("--scratch", "2m", "--exec", SH, "-c", "head -c 100000 /dev/zero >/dev/shm/x && ls /tmp/x")
    same((r.code, r.out), (0, b"/tmp/x\n"), r)
    check(r.receipt["teardown"]["bytes_overwritten"] >= 100000 and r.receipt["teardown"]["grade"] in ("cleared", "partial"), r)
    r = run("--scratch", "64k", "--exec", SH, "-c", "head -c 10000000 /dev/zero >/dev/shm/x; exit 0")
    same(r.receipt["outcome"], "scratch_exceeded", r)


main()
