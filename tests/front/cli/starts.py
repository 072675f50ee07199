#!/usr/bin/python3
"""What a start of Lethe may wait for (I-62, I-63): no name of its command line, of a manifest or of a policy holds it longer than its bound.

Each case has a file system whose server (holder.c) never answers some requests, and none before the case is over: `lethe` has ended, said which name it waited
for, and the server still holds the request."""
import json
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from holding import ROOT_AT_FIRST, begin as begin_holding, end_holder, held_by, hold, said  # noqa: E402

WHO = sys.argv[3] if len(sys.argv) > 3 else "root"

if begin_holding():
    NAMED = {n: hold(n, "LOOKUP:slow", "closed") for n in ("volume", "manifest", "rule", "policy", "store", "anchor", "receipt", "exec", "skill", "socket", "inner")}
    ROOTS = {n: hold("r-" + n, r, "closed") for n, r in (("volume", "GETATTR:."), ("store", "GETATTR:."), ("skill", "READDIR:."))}
    READS = {n: hold("d-" + n, *r) for n, r in (("exec", ["READ:true"]), ("open", ["OPEN:true"]), ("skill", ["OPENDIR:."]))}
    STREAMS = {n: hold("s-" + n, r) for n, r in (("in", "READ:data"), ("out", "WRITE:data"), ("err", "WRITE:data"))}
    SIGNALLED = {n: hold("t-" + n, "LOOKUP:slow", "READ:true", "closed") for n in ("exec", "policy", "volume", "store", "content")}
    ASKED = {n: hold("a-" + n, "LOOKUP:slow", "READ:true") for n in ("exec", "cwd", "volume", "content")}

from account import use  # noqa: E402

use(WHO)

from tap import DIR, ENV, LETHE, Skip, case, cgroups_left, check, end_daemon, lethe, main, run, same, start_daemon, stop_daemon, wait_for  # noqa: E402


def served(fn):
    """A case that needs the file systems."""
    def ask():
        if not ROOT_AT_FIRST:
            raise Skip("only root mounts a file system of its own in this test")
        fn()
    ask.__name__ = fn.__name__
    return case(ask)


def write(name, what):
    path = os.path.join(DIR, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(what if isinstance(what, str) else json.dumps(what))
    return path


def begin(*argv, **kw):
    kw.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen([LETHE, "run", *argv], env=dict(ENV, **kw.pop("env", {})), stdout=kw.pop("stdout", subprocess.PIPE), stderr=kw.pop("stderr", subprocess.PIPE), **kw)


def skill_that_asks_for(path):
    write("asks/SKILL.md", "---\nname: asks\ndescription: A test.\n---\n")
    write("asks/lethe.json", {"version": 1, "entry": {"main": ["/bin/true"]}, "files": [{"path": path, "access": "read", "at": "/data"}]})
    return os.path.join(DIR, "asks")


TIME = ["--timeout", "300ms"]
LONGER = ["--timeout", "3s"]  # of those whose program is to come to something within it; two dozen begin at once, and on a busy machine one may be late
PLAIN = ["--exec", "/bin/true"]


@served
def the_same_without_a_server_that_holds_runs():
    """The control: with the same file systems mounted."""
    os.mkdir(DIR + "/plain")
    r = run("-v", DIR + "/plain:/data", *PLAIN)  # of no time that a busy machine could be late for
    same((r.code, r.receipt["outcome"]), (0, "exited"), r)
    r = subprocess.run([LETHE, "run", "--receipt", "/mnt/d-exec/data", "--exec", "/mnt/d-open/data"], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    same(r.returncode, 126, r)  # it is not executable: its server answered


def names_and_content():
    """{folder: (what its error has to name, process)}"""
    n = {k: v + "/slow" for k, v in NAMED.items()}
    rule = write("rule.json", {"version": 1, "files": [{"path": n["rule"], "access": "read"}]})
    other = {"LETHE_ANCHOR": os.path.join(DIR, "other-anchor"), "LETHE_SERVE": "0"}
    anchored = {"LETHE_STORE": os.path.join(DIR, "with-anchor"), "LETHE_SERVE": "0"}
    same(lethe("run", *PLAIN, env=dict(anchored, LETHE_ANCHOR=os.path.join(DIR, "a"))).code, 0)
    return {
        NAMED["volume"]: (n["volume"], begin(*TIME, "-v", n["volume"] + ":/data", *PLAIN)),
        NAMED["manifest"]: (n["manifest"], begin(*TIME, skill_that_asks_for(n["manifest"]))),
        NAMED["rule"]: (n["rule"], begin(*TIME, "--policy", rule, *PLAIN)),
        NAMED["policy"]: (n["policy"], begin(*TIME, "--policy", n["policy"], *PLAIN)),
        NAMED["store"]: (n["store"], begin(*TIME, "--store", n["store"] + "/store", *PLAIN, env=other)),
        NAMED["anchor"]: (n["anchor"], begin(*TIME, "--anchor", n["anchor"], *PLAIN, env=anchored)),
        NAMED["receipt"]: (n["receipt"], begin(*TIME, "--receipt", n["receipt"], *PLAIN)),
        NAMED["exec"]: (n["exec"], begin(*TIME, "--exec", n["exec"])),
        NAMED["skill"]: (n["skill"], begin(*TIME, n["skill"])),
        NAMED["socket"]: (n["socket"], begin(*TIME, "--socket", n["socket"], *PLAIN)),
        NAMED["inner"]: (NAMED["inner"], begin(*TIME, "-v", NAMED["inner"] + ":/data:rw", "-v", DIR + "/plain:/data/slow", *PLAIN)),
        ROOTS["skill"]: (ROOTS["skill"], begin(*TIME, ROOTS["skill"])),
        ROOTS["store"]: (ROOTS["store"], begin(*TIME, "--store", ROOTS["store"], *PLAIN, env=other)),
        READS["exec"]: (READS["exec"] + "/true", begin(*TIME, "--receipt", RECEIPT, "--exec", READS["exec"] + "/true")),
        READS["open"]: (READS["open"] + "/true", begin(*TIME, "--exec", READS["open"] + "/true")),
        READS["skill"]: (READS["skill"], begin(*TIME, READS["skill"])),
    }


def with_streams():
    """[folder, exit code, process]. What a descriptor's close waits for is the kernel's: it stays open as long as the server lives."""
    return [(STREAMS[name], code, begin(*LONGER, "--exec", *program, **{"std" + name: os.open(STREAMS[name] + "/data", flags)}))
            for name, flags, program, code in (("in", os.O_RDONLY, ["/bin/cat"], 124), ("out", os.O_RDWR, ["/bin/cat", "/dev/zero"], 125),
                                               ("err", os.O_RDWR, ["/bin/sh", "-c", "cat /dev/zero >&2"], 125))]


def to_be_ended():
    n = {k: v + "/slow" for k, v in SIGNALLED.items()}
    other = {"LETHE_ANCHOR": os.path.join(DIR, "other-anchor"), "LETHE_SERVE": "0"}
    return {SIGNALLED["policy"]: begin("--policy", n["policy"], *PLAIN), SIGNALLED["store"]: begin("--store", n["store"] + "/x", *PLAIN, env=other),
            SIGNALLED["content"]: begin("--exec", SIGNALLED["content"] + "/true")}


RECEIPT = os.path.join(DIR, "refused.json")
AT_ONCE = []  # all of them are started together: each takes the seconds after which it is given up


def at_once():
    if not AT_ONCE:
        AT_ONCE[:] = [names_and_content(), with_streams(), to_be_ended(), begin(*LONGER, "-v", ROOTS["volume"] + ":/data", "--exec", "/bin/ls", "-l", "/data")]
    return AT_ONCE


@served
def no_name_and_no_content_that_is_held_holds_a_start():  # I-62
    for folder, (named, p) in at_once()[0].items():
        out, err = p.communicate(timeout=60)
        check(held_by(folder), folder, said(folder), p.returncode, out, err)
        same(p.returncode, 125, folder, out, err)
        check(named.encode() in err and b"does not answer" in err, named, err)


@served
def a_refusal_has_its_receipt():  # I-62
    with open(RECEIPT, encoding="utf-8") as f:
        r = json.load(f)
    same((r["outcome"], r["region"]), ("setup_failed", None), r)
    check(READS["exec"] + "/true" in r["reason"], r)


@served
def the_root_of_what_is_granted_is_mounted_unseen():  # I-62, I-63
    """The worker mounts it without a look at it; the budget ends the program, which looks."""
    p = at_once()[3]
    out, err = p.communicate(timeout=60)
    if not held_by(ROOTS["volume"]):
        print("# its time was over before it had looked: %s" % said(ROOTS["volume"]))
    same((p.returncode, out), (124, b""), err)


@served
def standard_streams_that_are_held_hold_no_region():  # I-62, I-63
    """Its budget ends it, and the caller has its answer."""
    for folder, code, p in at_once()[1]:
        out, err = p.communicate(timeout=60)
        if not held_by(folder) and code == 125:  # who writes there begins when the program has said something
            print("# its time was over before it had said anything: %s" % folder)
            code = 124
        else:
            check(held_by(folder), said(folder), p.returncode, out, err)
        same(p.returncode, code, folder, out, err)


@served
def a_signal_ends_a_start_that_is_held():  # I-62
    for folder, p in at_once()[2].items():
        wait_for(lambda: held_by(folder) or p.poll() is not None, "the request")
        p.send_signal(signal.SIGTERM)
    for folder, p in at_once()[2].items():
        out, err = p.communicate(timeout=60)
        check(p.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM, 125), folder, p.returncode, out, err)


@served
def a_daemon_is_held_by_no_request():  # I-62
    """Requests of its own user: each is answered, others are served meanwhile, and it ends."""
    env = dict(ENV, LETHE_STORE=os.path.join(DIR, "served"), LETHE_SOCKET=os.path.join(DIR, "held-socket"), LETHE_ANCHOR=os.path.join(DIR, "served-anchor"))
    p = start_daemon(env)
    n = {k: v + "/slow" for k, v in ASKED.items()}
    asked = []
    for params in ({"exec": n["exec"]}, {"exec": "/bin/true", "cwd": n["cwd"]}, {"exec": "/bin/true", "options": [["volume", n["volume"] + ":/data"]]},
                   {"exec": ASKED["content"] + "/true"}):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.connect(env["LETHE_SOCKET"])
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": params}).encode() + b"\n")
        asked.append((params, s))
    wait_for(lambda: all(held_by(ASKED[k]) for k in ("exec", "cwd", "volume")), "the requests")
    same(subprocess.run([LETHE, "run", "--socket", env["LETHE_SOCKET"], *PLAIN], env=env, stdin=subprocess.DEVNULL, timeout=20).returncode, 0)
    same(subprocess.run([LETHE, "serve", "--reload", "--socket", env["LETHE_SOCKET"]], env=env, stdin=subprocess.DEVNULL, timeout=20).returncode, 0)
    for params, s in asked:
        with s, s.makefile() as f:
            answer = f.readline()
        check("does not answer" in answer or '"remote"' in answer or "serves" in answer, params, answer)
    same(held_by(ASKED["content"]), [], "what is served a daemon does not read")
    r = subprocess.run([LETHE, "run", "--socket", env["LETHE_SOCKET"], "--exec", ASKED["content"] + "/data"], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    check(b"lethe serve does not take the run: " in r.stderr and b"continues without lethe serve" in r.stderr, r)
    same(stop_daemon(p), 0)


@served
def a_link_beside_what_is_served_is_read():
    """/bin is a link, and its folder is the root folder, below which file systems are mounted that somebody serves: systemd's own autofs on any machine. The link is of none of them."""
    env = dict(ENV, LETHE_STORE=os.path.join(DIR, "beside"), LETHE_SOCKET=os.path.join(DIR, "beside-socket"), LETHE_ANCHOR=os.path.join(DIR, "beside-anchor"))
    check(os.path.islink("/bin"), "the test needs a merged /usr")
    p = start_daemon(env)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect(env["LETHE_SOCKET"])
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"exec": "/bin/true"}}).encode() + b"\n")
        with s.makefile() as f:
            answer = json.loads(f.readline())
    same(answer.get("result", {}).get("exit_code"), 0, answer)
    same(stop_daemon(p), 0)


@served
def nothing_is_left_when_the_servers_are_gone():  # I-62
    end_daemon()
    for folder in [*NAMED.values(), *ROOTS.values(), *READS.values(), *STREAMS.values(), *SIGNALLED.values(), *ASKED.values()]:
        end_holder(folder)
    wait_for(lambda: subprocess.run([LETHE, "run", "--quiet", *PLAIN], env=ENV, stdin=subprocess.DEVNULL, timeout=20).returncode == 0 and cgroups_left() == [], "what was left")
    same(lethe("ps", "--json").out, b"")
    same(lethe("audit").code, 0)


if __name__ == "__main__":
    main()
