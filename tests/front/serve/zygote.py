#!/usr/bin/python3
"""The interpreter that warm regions are forked from, looked at from outside: it is confined itself, and ends with its daemon. I-92. TAP.

usage: zygote.py LETHE root|user
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from served import SOCKET, Daemon, skill
from tap import DIR, ENV, LETHE, ask_daemon, case, check, main, same, state_of, wait_for

ENV |= {"LETHE_SOCKET": SOCKET, "LETHE_SERVE": "1"}
ROOT = os.getuid() == 0
PACKAGES = "/usr/local/lib/python3.%d/dist-packages" % sys.version_info[1]
ENTRY = ["python3", "/skill/main.py"]


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


def processes(name):
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and read(f"/proc/{p}/comm") == name + "\n"]


def field(pid, name):
    """Empty when the process is gone, which it may be at any moment."""
    found = re.search(rf"^{name}:\s*(.*)$", read(f"/proc/{pid}/status"), re.M)
    return found[1] if found else ""


def of_daemon(pid, name):
    """Those that the daemon is the parent of: a template's processes stand beside it, not below each other."""
    return [p for p in processes(name) if field(p, "PPid") == str(pid)]


def group(pid, controller):
    """The control group of version 1."""
    return re.search(rf"^\d+:(?:.*,)?{controller}(?:,.*)?:(.*)$", read(f"/proc/{pid}/cgroup"), re.M)[1]


def run(folder, *args):
    return ask_daemon("run", skill=folder, args=list(args))


def warm(d, folder):
    """The first one of a view is executed, the second one is forked from what was made for it. Nothing of it is left when this returns."""
    run(folder)
    r = run(folder)
    same(r["receipt"]["start"], "warm", r)
    d.quiet()
    return r


@case
def it_is_confined_itself():
    folder = skill("zygote", ENTRY, {"main.py": "print('ran')\n"}, warm={"preload": ["json", "sqlite3"]})
    with Daemon() as d:
        same(warm(d, folder)["stdout"], "ran\n")
        interpreter, = of_daemon(d.pid, "lethe-warm")
        for pid, number in [(interpreter, "2")] + [(p, "1") for p in of_daemon(d.pid, "lethe-first")]:
            same((field(pid, "Seccomp"), field(pid, "NoNewPrivs"), int(field(pid, "CapEff"), 16), int(field(pid, "CapPrm"), 16), int(field(pid, "CapBnd"), 16)),
                 ("2", "1", 0, 0, 0), pid)
            same(field(pid, "NSpid").split(), [str(pid), number])
            check(len(set(field(pid, "Uid").split())) == 1 and (field(pid, "Uid").split()[0] == str(os.getuid())) != ROOT, field(pid, "Uid"))
        limits = read(f"/proc/{interpreter}/limits")
        check(re.search(r"^Max data size +1073741824 ", limits, re.M) and re.search(r"^Max address space +4294967296 ", limits, re.M), limits)
        if not ROOT:  # of a process that is not dumpable nobody else may see the rest
            return
        for controller in ("memory", "pids"):
            own = group(d.pid, controller)
            for pid in [interpreter] + of_daemon(d.pid, "lethe-first"):
                check(group(pid, controller).startswith(own.rstrip("/") + "/lethe-"), controller, group(pid, controller), own)
        for ns in ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup"):
            check(os.readlink(f"/proc/{interpreter}/ns/{ns}") != os.readlink(f"/proc/self/ns/{ns}"), ns)
        same(sorted(map(int, os.listdir(f"/proc/{interpreter}/fd"))), [256, 257, 258])
        check(os.readlink(f"/proc/{interpreter}/fd/256").startswith("socket:"))
        same({p for p in os.listdir(f"/proc/{interpreter}/fd/257") if p.isdigit()}, {"1", "2"})  # processes that it can name
        mounts = [line.split() for line in read(f"/proc/{interpreter}/mountinfo").splitlines()]
        check(all(m[5].startswith("ro,") for m in mounts), mounts)
        check(not any(m[4].startswith(("/skill", "/work", "/tmp")) for m in mounts), mounts)
        same([], [line for line in read(f"/proc/{interpreter}/maps").splitlines() if line.split()[1][3] == "s" and "w" in line.split()[1]])
        variables = open(f"/proc/{interpreter}/environ", "rb").read().split(b"\0")
        same(sorted(v.split(b"=")[0] for v in variables if v), [b"LANG", b"LD_BIND_NOW", b"LD_PRELOAD", b"PATH"])
        words = open(f"/proc/{interpreter}/cmdline", "rb").read().split(b"\0")
        same(words[:5], [b"/usr/bin/python3", b"-I", b"-S", b"-B", b"/lethe/warm/warm.py"])


@case
def the_first_process_of_a_region_is_no_interpreter():  # I-92
    code = "import sys\nprint('waits', flush=True)\nsys.stdin.read()\n"
    folder = skill("zygote", ENTRY, {"main.py": code}, warm={"preload": ["json"]})
    with Daemon() as d:
        warm(d, folder)
        with subprocess.Popen([LETHE, "run", folder], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
            same(p.stdout.readline(), b"waits\n")
            first, = [q for q in of_daemon(d.pid, "lethe-worker") if field(q, "NSpid").split()[-1:] == ["1"]]
            same((field(first, "Seccomp"), field(first, "NoNewPrivs")), ("2", "1"))
            same([int(field(first, "Cap" + s), 16) for s in ("Eff", "Prm", "Inh", "Bnd", "Amb")], [0] * 5)
            program, = [q for q in processes("python3") if field(q, "PPid") == str(first)]
            same(field(program, "NSpid").split()[-1], "2")
            same(os.path.basename(os.readlink(f"/proc/{first}/exe")), "lethe-worker")
            check("python" not in read(f"/proc/{first}/maps"))
            if ROOT:  # it is not dumpable
                same(sorted(map(int, os.listdir(f"/proc/{first}/fd"))), [5, 6, 7, 8])
            p.stdin.close()
            same(p.wait(), 0)


@case
def it_ends_with_the_daemon():
    folder = skill("zygote", ENTRY, {"main.py": "print('ran')\n"}, warm={"preload": ["json"]})
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with Daemon(code=0 if signum == signal.SIGTERM else -signum) as d:
            warm(d, folder)
            pids = of_daemon(d.pid, "lethe-warm") + of_daemon(d.pid, "lethe-first") + of_daemon(d.pid, "lethe-binder")
            check(len(pids) >= 2, pids)
            os.kill(d.pid, signum)
            wait_for(lambda: all(field(p, "State")[:1] in ("", "Z") for p in pids), f"the end of {pids}")


@case
def the_shim_is_loaded_ahead():
    """The module that a skill asks Lethe with is one of those that `preload` can name; it is compiled already, and read from there."""
    folder = skill("shim", ENTRY, {"main.py": "import sys\nthere = 'lethe' in sys.modules\nimport lethe\nprint(there, lethe.__cached__, lethe.hello()['protocol'])\n"},
                   warm={"preload": ["lethe"]})
    with Daemon() as d:
        said = warm(d, folder)["stdout"].split()
        same((said[0], said[2]), ("True", "1"), said)
        check(os.path.exists(os.path.join(os.path.dirname(LETHE), "shim-root", os.path.relpath(said[1], "/lethe"))), said)


def zygotes(pid, name):
    """The one that makes processes and its spare, which is younger. Guards have the same command line, and no socket there."""
    found = [p for p in of_daemon(pid, name) if read(f"/proc/{p}/cmdline") == f"{name}\0zygote\0" and (not ROOT or os.path.lexists(f"/proc/{p}/fd/256"))]
    born = {p: re.search(r".*\)((?: \S+){20})", read(f"/proc/{p}/stat"), re.S) for p in found}  # none of one that is gone
    return sorted((p for p in found if born[p]), key=lambda p: int(born[p][1].split()[-1]))[:2]


def kill(pid, below=()):
    """Until it ends: a region that is forked at this moment would fail. below: the processes of the PID namespace that it is the first one of; it waits for whoever
    reaps them, and the daemon does so with its next region."""
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: state_of(pid) in "ZX" or below and all(state_of(p) in "ZX" for p in below), f"the end of {pid}")


@case
def one_that_is_killed_is_replaced_and_sessions_go_on():  # I-84
    """What is confined executes nothing: the spare takes its place, and forks the next spare. An interpreter is made anew."""
    code = "import lethe\ntry:\n    n = lethe.carry_read('n')\nexcept lethe.LetheError:\n    n = 0\nlethe.carry_write('n', n + 1)\nprint(n)\n"
    folder = skill("killed", ENTRY, {"main.py": code}, warm={"preload": ["lethe"]}, session={"sections": {"n": {"schema": {"type": "integer"}}}})
    with Daemon() as d:
        session, turns = ask_daemon("session.open", skill=folder)["session"], 0

        def turn():
            nonlocal turns
            r = ask_daemon("run", session=session)
            same((r["exit_code"], r["stdout"]), (0, f"{turns}\n"), r)
            turns += 1
            d.quiet()
            return r["receipt"]["start"]

        turn(), same(turn(), "warm")
        for _ in range(3 if ROOT else 1):
            for name in ("lethe-worker", "lethe-guard"):
                kill(zygotes(d.pid, name)[0])
                turn()
            for name in ("lethe-warm", "lethe-first"):
                living = [p for p in of_daemon(d.pid, name) if state_of(p) not in "ZX"]
                kill(living[0], of_daemon(d.pid, "lethe-warm"))
                wait_for(lambda: turn() == "warm", "an interpreter again")
        same({len(zygotes(d.pid, name)) for name in ("lethe-worker", "lethe-guard")}, {2})
        same(ask_daemon("session.close", session=session), {"session": session})


@case
def what_a_skill_has_placed_is_taken_in_its_regions_alone():  # I-92
    """A folder that is granted where an interpreter looks for what it takes without being asked: each region takes it once, as a child of its own first process."""
    place, rules = os.path.join(DIR, "granted"), os.path.join(DIR, "files.json")
    os.makedirs(place, exist_ok=True)
    os.chmod(place, 0o777)
    mark = "import os\nwith open(os.path.join(os.path.dirname(__file__), 'log'), 'a') as f:\n    f.write('%d ' % os.getppid())\n"
    for path, text in ((os.path.join(place, "usercustomize.py"), mark), (rules, json.dumps({"version": 1, "files": [{"path": place, "access": "write"}]}))):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    files = [{"path": place, "access": "write", "at": "/work/.local/lib/python3.%d/site-packages" % sys.version_info[1]}]
    manifest = {"version": 1, "entry": {"main": ENTRY}, "warm": {"preload": ["json"]}, "files": files}
    folder = skill("placed", ENTRY, {"main.py": "print('ran')\n", "lethe.json": json.dumps(manifest)})
    with Daemon(LETHE_POLICY=rules) as d:
        got = [run(folder) for _ in range(3)]
        same([r["stdout"] for r in got], ["ran\n"] * 3, got)
        same((got[2]["receipt"]["start"], read(os.path.join(place, "log"))), ("warm", "1 1 1 "))
        d.quiet()


if ROOT:
    @case
    def a_module_of_the_systems_that_does_harm_is_kept_in():
        """What root installed is loaded; it forks, and holds memory that is shared. In a mount namespace of the daemon's own it is one of the system's."""
        place = os.path.join(DIR, "packages")
        os.makedirs(place, 0o755, exist_ok=True)
        rows = {"forks": "import os, time\nif os.fork() == 0:\n    time.sleep(1000)\n", "shares": "import mmap\nheld = mmap.mmap(-1, 4096)\n",
                "calm": "", "starves": "held = bytearray(2 << 30)\n",
                # 1.5 GiB that no limit of a process counts, and that is given back in time
                "swells": "import mmap\nmmap.mmap(-1, 3 << 29, mmap.MAP_SHARED | mmap.MAP_POPULATE).close()\n"}
        for name, text in rows.items():
            with open(os.path.join(place, f"lethe_{name}.py"), "w", encoding="utf-8") as f:
                f.write(text)
        wrap = ("unshare", "-m", "sh", "-c", f"mount --bind {place} {PACKAGES} && exec \"$@\"", "sh")
        with Daemon(wrap=wrap) as d:
            for name in rows:
                folder = skill("harm-" + name, ENTRY, {"main.py": "print('ran')\n"}, warm={"preload": ["lethe_" + name]})
                got = [run(folder) for _ in range(3)]
                same([r["stdout"] for r in got], ["ran\n"] * 3, got)
                same({r["receipt"]["start"] for r in got} - {"cold"}, {"warm"} if name == "calm" else set(), name)
            d.quiet()
            same(len(of_daemon(d.pid, "lethe-warm")), 1)
            wait_for(lambda: [p for p in processes("python3") if field(p, "PPid") == str(d.pid) or len(field(p, "NSpid").split()) > 1 and read(f"/proc/{p}/cmdline").find("lethe_") >= 0] == [],
                     "the end of what did harm")

    @case
    def what_the_system_customises_is_taken_once_or_by_one_that_is_executed():  # I-92
        """Files of root's alone, which every interpreter takes when it starts: the program sees what an executed one sees. `now` is when they were taken."""
        place = os.path.join(DIR, "customised")
        files = {"lethe_now.py": "import builtins, time\nbuiltins.now = time.monotonic_ns()\n", "sub/lethe_sub.py": ""}
        rows = {"once": ("import lethe_now\n", True, ""), "asks": ("import os, lethe_now, builtins; builtins.asked = os.environ.get('ASKED')\n", True, ""),
                "copies": ("import os, lethe_now; dict(os.environ)\n", False, ""), "says": ("import sys, lethe_now; print('said', file=sys.stderr)\n", False, "said\n"),
                "path": ("# a folder\nsub\nimport lethe_now\n", False, "")}
        main = "import builtins, sys\nprint(builtins.now, getattr(builtins, 'asked', ''), any(p.endswith('/sub') for p in sys.path))\n"
        for row, (line, once, said) in rows.items():
            shutil.rmtree(place, ignore_errors=True)
            os.makedirs(place + "/sub", 0o755)
            for name, text in (files | {"lethe.pth": line}).items():
                with open(os.path.join(place, name), "w", encoding="utf-8") as f:
                    f.write(text)
            folder = skill("customised-" + row, ENTRY, {"main.py": main}, warm={"preload": ["json"]})
            wrap = ("unshare", "-m", "sh", "-c", f"mount --bind {place} {PACKAGES} && exec \"$@\"", "sh")
            with Daemon(wrap=wrap) as d:
                got = [run(folder) for _ in range(3)]
                same([(r["exit_code"], r["stderr"]) for r in got], [(0, said)] * 3, row, got)
                same((got[2]["receipt"]["start"], len({r["stdout"] for r in got[1:]})), ("warm", 1 if once else 2), row, got)
                same({r["stdout"].split(" ", 1)[1] for r in got}, {f"{None if row == 'asks' else ''} {row == 'path'}\n"}, row, got)
                other = ask_daemon("run", skill=folder, args=[], options=[["env", "ASKED=x"]])
                same((other["receipt"]["start"], other["stdout"].split()[1:-1], other["stdout"] == got[2]["stdout"]), ("warm", ["x"] if row == "asks" else [], once and row != "asks"), row, other)
                d.quiet()

    @case
    def a_folder_that_others_can_write_customises_regions_alone():  # I-92
        place = os.path.join(DIR, "open-packages")
        os.makedirs(place, exist_ok=True)
        os.chmod(place, 0o777)
        with open(os.path.join(place, "lethe.pth"), "w", encoding="utf-8") as f:
            f.write("import builtins, time; builtins.now = time.monotonic_ns()\n")
        folder = skill("open", ENTRY, {"main.py": "import builtins\nprint(builtins.now)\n"}, warm={"preload": ["json"]})
        with Daemon(wrap=("unshare", "-m", "sh", "-c", f"mount --bind {place} {PACKAGES} && exec \"$@\"", "sh")) as d:
            got = [run(folder) for _ in range(3)]
            same((got[2]["receipt"]["start"], len({r["stdout"] for r in got})), ("warm", 3), got)
            d.quiet()

    @case
    def a_library_of_a_folder_that_others_can_write_is_loaded_by_nobody_ahead():  # I-92
        """One that the loader finds: its list of libraries has what was in the folder."""
        place, cache = os.path.join(DIR, "libraries"), os.path.join(DIR, "cache")
        os.makedirs(place, 0o755, exist_ok=True)
        shutil.copyfile(os.path.join(os.path.dirname(LETHE), "tests", "front", "serve", "load-skill.so"), os.path.join(place, "liblethe-placed.so"))
        folder = skill("load", ["lethe-load", "/skill/skill.so"], {}, warm={"preload": ["liblethe-placed.so"]})
        shutil.copyfile(os.path.join(place, "liblethe-placed.so"), os.path.join(folder, "skill.so"))
        wrap = ("unshare", "-m", "sh", "-c", f"mount --bind {place} /usr/local/lib && /sbin/ldconfig -X -C {cache} && mount --bind {cache} /etc/ld.so.cache && exec \"$@\"", "sh")
        for mode, want in ((0o755, "warm"), (0o777, "cold")):
            os.chmod(place, mode)
            with Daemon(wrap=wrap) as d:
                got = [run(folder) for _ in range(3)]
                same([r["exit_code"] for r in got], [9] * 3, got)
                same(got[2]["receipt"]["start"], want, oct(mode), got)
                d.quiet()


main()
