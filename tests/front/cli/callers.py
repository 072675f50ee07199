#!/usr/bin/python3
"""What a region has of whoever starts Lethe (I-95), and whom Lethe waits for before it starts anything (I-62). TAP.

usage: callers.py LETHE root|user
"""
import contextlib
import ctypes
import os
import pty
import resource
import select
import signal
import socket
import subprocess

from account import use
import sys

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ask_daemon, case, case_when, check, lethe, log, main, run, same, start_daemon, stop_daemon, wait_for  # noqa: E402

ROOT = os.getuid() == 0
C = ctypes.CDLL(None, use_errno=True)
IOPRIO_GET, IOPRIO_SET = (251 + 1, 251) if os.uname().machine == "x86_64" else (31, 30)
NO_RANDOM_ADDRESSES, TIMER_SLACK = 0x0040000, 29
# A program of the system's own: what it prints of itself, the stack's place last.
LOOK = """
import ctypes, os
c = ctypes.CDLL(None)
print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), c.syscall(%d, 1, 0), c.personality(0xffffffff), c.prctl(30))
""" % IOPRIO_GET
USUAL = [0, 0 if ROOT else max(0, os.getpriority(os.PRIO_PROCESS, 0)), 0, 0, 50000]


def better():
    """In a child: as much as its user may take."""
    C.personality(NO_RANDOM_ADDRESSES)
    C.prctl(TIMER_SLACK, 1, 0, 0, 0)
    if ROOT:
        C.syscall(IOPRIO_SET, 1, 0, (1 << 13) | 3)
        os.setpriority(os.PRIO_PROCESS, 0, -7)
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(3))


def seen(r):
    same(r[0], 0, r)
    return [int(x) for x in r[1].split()]


def here(**kw):
    p = subprocess.run(["/usr/bin/python3", "-c", LOOK], stdout=subprocess.PIPE, check=False, timeout=60, **kw)
    return seen((p.returncode, p.stdout))


@case
def without_lethe_a_program_has_what_its_caller_had():
    """The control."""
    got = here(preexec_fn=better)
    check(got[3] & NO_RANDOM_ADDRESSES, got)
    if ROOT:
        same(got[:3], [os.SCHED_RR, -7, (1 << 13) | 3])


@case
def a_region_has_no_better_standing_than_usual():  # I-95
    argv = [LETHE, "run", "--no-serve", "--exec", "/usr/bin/python3", "-c", LOOK.replace("c.personality(0xffffffff)", "0")]
    p = subprocess.run(argv, stdout=subprocess.PIPE, env=ENV, preexec_fn=better, check=False, timeout=60)
    same(seen((p.returncode, p.stdout)), USUAL)


def stacks(argv, **kw):
    """Where the stack is in three runs."""
    found = set()
    for _ in range(3):
        p = subprocess.run(argv, stdout=subprocess.PIPE, env=ENV, check=False, timeout=60, **kw)
        same(p.returncode, 0, argv)
        found.add(next(line.split(b"-")[0] for line in p.stdout.splitlines() if b"[stack]" in line))
    return found


@case
def addresses_are_random_whatever_the_caller_has():  # I-95
    cat = ["/bin/cat", "/proc/self/maps"]
    same(len(stacks(cat, preexec_fn=better)), 1, "the control: without Lethe they are the same each time")
    check(len(stacks([LETHE, "run", "--no-serve", "--proc", "--exec", *cat], preexec_fn=better)) > 1, "all the same")


@case
def nor_does_a_daemon_pass_its_own_on():  # I-95
    ENV["LETHE_SOCKET"] = os.path.join(DIR, "daemon")
    p = start_daemon(ENV, wrap=["/usr/bin/python3", "-c", "import os, sys, ctypes\nctypes.CDLL(None).personality(%d)\n%s\nos.execv(sys.argv[1], sys.argv[1:])"
                                % (NO_RANDOM_ADDRESSES, "os.setpriority(os.PRIO_PROCESS, 0, -7); os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(3))" if ROOT else "")])
    try:
        for _ in range(3):
            r = run("--exec", "/usr/bin/python3", "-c", LOOK.replace("c.personality(0xffffffff)", "0"))
            same(seen((r.code, r.out)), USUAL)
        same(ask_daemon("status")["served"], 3)
        check(len(stacks([LETHE, "run", "--proc", "--exec", "/bin/cat", "/proc/self/maps"])) > 1, "all the same")
    finally:
        same(stop_daemon(p), 0)


def oom_adj(pid):
    with open("/proc/%d/oom_score_adj" % pid, encoding="utf-8") as f:
        return int(f.read())


def helpers_of(pid):
    """Children of a daemon that are zygotes and guards, by their command lines: {process: command line}."""
    found = {}
    for child in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open("/proc/%s/stat" % child, encoding="utf-8", errors="replace") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % child, "rb") as f:
                line = f.read().rstrip(b"\0").split(b"\0")
            if parent == pid and line in ([b"lethe-guard"], [b"lethe-guard", b"zygote"], [b"lethe-worker", b"zygote"]):
                found[int(child)] = line
    return found


@case
def a_region_is_the_first_that_the_kernel_takes_when_memory_is_short():
    """The control: the daemon, its zygotes and guards have what the daemon's caller had."""
    cat = ["--proc", "--exec", "/bin/cat", "/proc/self/oom_score_adj"]
    same(run("--no-serve", *cat).out.strip(), b"1000")
    ENV["LETHE_SOCKET"] = os.path.join(DIR, "first")
    p = start_daemon(ENV)
    try:
        for _ in range(3):
            same(run(*cat).out.strip(), b"1000")
        same(ask_daemon("status")["served"], 3)
        with subprocess.Popen([LETHE, "run", "--exec", "/bin/sh", "-c", "echo here; read x"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as r:
            same(r.stdout.readline(), b"here\n")
            # Guards of the runs before may still be on their way out: of all that are seen, three are there to stay.
            adj = {p.pid: oom_adj(p.pid)}
            for pid in helpers_of(p.pid):
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    adj[pid] = oom_adj(pid)
            check(len(adj) >= 4, adj, helpers_of(p.pid))
            same(set(adj.values()), {oom_adj(os.getpid())}, adj)
            r.communicate(b"\n")
    finally:
        same(stop_daemon(p), 0)
        del ENV["LETHE_SOCKET"]


@case
def a_socket_that_takes_nobody_holds_nobody():  # I-62
    """Its queue is full. `lethe run` goes on without a daemon, and a daemon leaves the place to whoever listens there."""
    path = ENV["LETHE_SOCKET"] = os.path.join(DIR, "full")
    with socket.socket(socket.AF_UNIX) as s, socket.socket(socket.AF_UNIX) as first:
        s.bind(path)
        s.listen(0)
        first.connect(path)
        with socket.socket(socket.AF_UNIX) as second:  # the control
            second.setblocking(False)
            try:
                second.connect(path)
                check(False, "the queue takes one more")
            except BlockingIOError:
                pass
        r = run("--exec", "/bin/echo", "ran", timeout=30)
        same((r.code, r.out), (0, b"ran\n"), r)
        r = lethe("serve", "--socket", path, timeout=30)
        check(r.code == 125 and b"listens there and does not answer" in r.err, r)
        first.close()
        s.accept()[0].close()
        check(os.path.exists(path), "its place is its own")
    del ENV["LETHE_SOCKET"]


@case_when(not ROOT)  # root opens every terminal
def a_terminal_that_is_stopped_keeps_no_region_past_its_budget():  # I-62, I-63
    """Of another user, as below sudo(8): it cannot be opened anew. Nobody reads from it."""
    master, slave = os.openpty()
    os.fchmod(slave, 0)
    p = subprocess.Popen([LETHE, "run", "--no-serve", "--timeout", "500ms", "--exec", "/usr/bin/yes"], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, env=ENV)
    try:
        wait_for(lambda: [e for e in log("--type", "invocation.ended") if e.get("outcome") == "timed_out"], "the region's end")
        if select.select([master], [], [], 0)[0]:
            check(p.poll() is None, "what is left for the terminal waits for its reader")
        else:
            print("# its time was over before it had said anything")
        p.terminate()
        p.communicate(timeout=30)
        same(p.returncode, 124)
    finally:
        p.kill()
        os.close(slave)
        os.close(master)


IN_BACKGROUND = """
import os, signal, sys, termios
a = termios.tcgetattr(0)
a[3] |= termios.TOSTOP
termios.tcsetattr(0, termios.TCSANOW, a)
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execv(sys.argv[1], sys.argv[1:])
status = os.waitpid(child, os.WUNTRACED)[1]
if os.WIFSTOPPED(status):
    os.kill(child, signal.SIGKILL)
print("stopped" if os.WIFSTOPPED(status) else "ended", flush=True)
"""


def in_background(*argv):
    """On a terminal where only the foreground may write (stty tostop): whether the job ended, or was stopped."""
    master, slave = pty.openpty()
    p = subprocess.Popen([sys.executable, "-c", "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)" + IN_BACKGROUND, *argv], stdin=slave, stdout=slave,
                         stderr=slave, env=ENV, start_new_session=True)
    os.close(slave)
    said = b""
    with contextlib.suppress(OSError):  # nobody has the terminal any more
        while more := os.read(master, 4096):
            said += more
    same(p.wait(60), 0, said)
    os.close(master)
    return said.split()[-1]


@case
def output_in_the_background_stops_no_clock():  # I-63
    speaks = "/bin/sh", "-c", "echo hi; exec sleep 1000"
    same(in_background(*speaks), b"stopped")
    same(in_background(LETHE, "run", "--no-serve", "--timeout", "1s", "--exec", *speaks), b"ended")


@case
def a_limit_for_files_ends_no_supervisor():  # I-80
    """Each write beyond it is an error. The code says whether anything ran."""
    def limit(n):
        return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n, n))
    same(subprocess.run(["/bin/sh", "-c", "exec head -c 9999 /dev/zero >%s/large" % DIR], preexec_fn=limit(4096), check=False).returncode, -signal.SIGXFSZ)
    same(lethe("run", "--exec", "/bin/echo", "hi").code, 0)
    for n in (0, 4096, 65536, 300000):
        r = lethe("run", "--no-serve", "--exec", "/bin/echo", "hi", preexec_fn=limit(n))
        check(r.code in ((0, 137) if r.out else (125,)), n, r)
    same(lethe("run", "--exec", "/bin/echo", "hi").code, 0)
    same(lethe("verify").code, 0)


@case
def few_descriptors_are_told_as_that():  # I-80
    """126 and 127 speak of a program, "install it there" of Lethe's own: none of these is missing."""
    def limit(n):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
    def begin(n):
        """What other processes of this user have under way in sockets counts, too, and is taken a moment later."""
        tried[:] = [lethe("run", "--no-serve", "--exec", "/bin/echo", "hi", preexec_fn=limit(n))]
        return b"Too many references" not in tried[0].err
    codes, tried = [], []
    for n in range(3, 65):
        wait_for(lambda n=n: begin(n), "nobody else's descriptors under way")
        r = tried[0]
        check(r.code == 0 and r.out == b"hi\n" or r.code == 125 and r.out == b"" and b"Too many open files" in r.err and b"install it" not in r.err, n, r)
        codes.append(r.code)
    same((codes[0], codes[-1]), (125, 0))


@case
def a_daemon_with_few_descriptors_says_so():  # I-80
    """It would begin, and end itself with the first region. With as many as it asks for it serves."""
    def limit(n):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
    for n in (32, 64, 256, 383):
        r = lethe("serve", "--socket", os.path.join(DIR, "few"), preexec_fn=limit(n))
        check(r.code == 125 and b"RLIMIT_NOFILE" in r.err and b"384" in r.err, n, r)
    d = start_daemon(dict(ENV, LETHE_SOCKET=os.path.join(DIR, "few")), wrap=("prlimit", "--nofile=384"))
    for _ in range(3):
        r = lethe("run", "--exec", "/bin/echo", "hi", env={"LETHE_SOCKET": os.path.join(DIR, "few")})
        same((r.code, r.out), (0, b"hi\n"), r)
    same(ask_daemon("status", os.path.join(DIR, "few"))["served"], 3)
    same(stop_daemon(d), 0)


@case
def messages_hold_nothing_that_a_terminal_obeys():  # I-81
    """Whatever a command line brings: bytes of the C0 and C1 controls, marks that cannot be seen, and what is no UTF-8."""
    for word in ("a\x1b[31mb", "a\rb", "a\nlethe: b", "a\x9bb", "a\u202eb", "a\u200bb", "a\u2028b", "a\udcffb", "a\x7fb"):
        bad = word.encode("utf-8", "surrogateescape")
        for argv in ([bad], [b"kill", bad], [b"why", bad], [b"log", b"--region", bad], [b"certificate", bad], [b"verify", b"--store", os.fsencode(DIR) + b"/" + bad],
                     [b"run", b"-v", b"/nosuch-" + bad + b":/x", b"--exec", b"/bin/true"], [b"run", b"--exec", b"/nosuch-" + bad], [b"slot", b"get", bad]):
            p = subprocess.run([os.fsencode(LETHE), *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, check=False, timeout=60)
            said = p.stderr.decode()  # valid UTF-8
            check(p.returncode != 0 and not any(ord(c) < 32 and c != "\n" or ord(c) in (0x7f, 0x9b, 0x202e, 0x200b, 0x2028) for c in said), argv, said)
            check(not any(line.startswith("lethe: b") for line in said.splitlines()), argv, said)


main()
