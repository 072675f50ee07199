#!/usr/bin/python3
"""A region's own terminal: programs, sizes, keys, every end, hostile output. TAP.

usage: terminal.py LETHE root|user
"""
import json
import os
import re
import signal
import sys
import termios

from account import use

use(sys.argv[2])

from screen import ANSWERED, SECONDS, Terminal, Tmux  # noqa: E402
from tap import DIR, ENV, LETHE, add, ask_daemon, check, lethe, log, main, run as run_plain, same, start_daemon, stop_daemon, wait_for  # noqa: E402

class Run(Terminal):
    """lethe run on a terminal of ours."""
    made = 0

    def __init__(self, *argv, **more):
        Run.made += 1
        self.receipt = os.path.join(DIR, "receipt-%d" % Run.made)
        super().__init__("run", "--receipt", self.receipt, *argv, **more)

    def ended(self):
        with open(self.receipt) as f:
            return json.load(f)


def on_terminal(fn, *options):
    def run(*argv, **more):
        return Run(*options, *argv, **more)
    return lambda: fn(run)


def python_has_its_prompt(run):
    t = run("--exec", "python3")
    t.expect(b">>> ")
    t.type(b"import os; print(os.get_terminal_size(), os.isatty(0), os.isatty(2))\r")
    t.expect(b"os.terminal_size(columns=100, lines=30) True True")
    t.expect(b">>> ")
    t.type(b"import time; print('sle' + 'eps'); time.sleep(1000)\r")
    t.expect(b"sleeps\r\n")
    t.type(b"\x03")
    t.expect(b"KeyboardInterrupt")
    t.expect(b">>> ")
    t.type(b"6 * 7\r")  # else Python ends as an interrupted program
    t.expect(b"42\r\n>>> ")
    t.type(b"\x04")
    same(t.end()[0], 0)
    same(t.ended()["outcome"], "exited")


def a_new_size_arrives(run):
    t = run("--exec", "python3", "-c", "import os, signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])\nprint('ready', flush=True)\n"
            "while os.get_terminal_size() != (77, 33): signal.sigwait([signal.SIGWINCH])\nprint('resized')")
    t.expect(b"ready")
    t.size(33, 77)
    t.expect(b"resized")
    same(t.end()[0], 0)


STOPS = """import os, signal
signal.signal(signal.SIGCONT, lambda *_: os.write(1, b"con" + b"tinued"))
os.write(1, b"be" + b"gun")
while True: signal.pause()
"""


def job_control(run):
    t = run("-e", "STOPS=" + STOPS, "--exec", "bash", "--norc", "--noediting", "-i")
    t.expect(b"$ ")
    t.type(b'python3 -c "$STOPS"\r')
    t.expect(b"begun")
    t.type(b"\x1a")
    t.expect(b"Stopped")
    t.expect(b"$ ")
    t.type(b"fg\r")
    t.expect(b"continued")  # in the foreground again
    t.type(b"\x03")
    t.expect(b"KeyboardInterrupt")
    t.expect(b"$ ")
    t.type(b"exit 5\r")
    same(t.end()[0], 5)


def the_editor_and_the_pager(run):
    t = run("--exec", "vim", "-u", "NONE", "/work/note")
    t.expect(b"[New]" if b"[New]" in t.seen else b"~")
    t.type(b"iwritten\x1b:wq\r")
    same(t.end()[0], 0)
    t = run("--exec", "less", "/etc/passwd")
    t.expect(b"nobody")
    t.type(b"q")
    same(t.end()[0], 0)


def messages_come_after_the_end(run):
    """A line of their own, and the code of the program."""
    t = run("--exec", "sh", "-c", "printf 'lethe: forged'; exit 3")
    code, seen = t.end()
    same(code, 3)
    check(re.search(rb"lethe: forged\r\nlethe: region [0-9a-z]{26} exited with code 3", seen), seen)


def what_it_leaves_is_reset(run):
    """The alternative screen, margins, sets, the mouse, half of a command: and a line below all others."""
    t = run("--exec", "printf", r"\033[?1049h\033[3;4r\033(0\033[?1003h\033[?2004hlethe: forged\033]0;title")
    code, seen = t.end()
    same(code, 0)
    after = seen[seen.index(b"forged"):]
    for reset in (b"\x18\x1b\\", b"\x1b[?1047l", b"\x1b[r", b"\x1b(B", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[23;0t"):
        check(reset in after, "%r in %r" % (reset, after))
    check(after.index(b"\x18\x1b\\") < after.index(b"\x1b[?1047l") < after.index(b"\x1b[9999;1H\r\n"), after)


def late_answers_are_not_typed(run):
    """Questions at the very end: the terminal's answers come, and the shell reads none."""
    t = run("--exec", "printf", r"\033[5;5H\033[6n\033[c\033[21t\033]11;?\007", answers=False)
    t.expect(b"\x1b]11;?")
    places = []
    while len(places) < 4:
        check(not os.waitid(os.P_PID, t.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT), "lethe ended without a question of its own")
        check(t.read(), t.seen)
        places = ANSWERED.findall(t.seen)
    t.type(b"\x1b[5;5R\x1b[?62c\x1b]lrm -rf ~\r\x1b\\\x1b]11;rgb:0000/0000/0000\x07")
    for place in places:
        t.type(b"\x1b[%s;%sR" % place)
    code, _ = t.gone()
    same((code, t.waiting()), (0, 0))
    t.close()


def a_terminal_that_does_not_answer(run):
    t = run("--exec", "printf", r"\033[6n", answers=False)
    same(t.end()[0], 0)


def colours_ask_nothing(run):
    t = run("--exec", "printf", r"\033[31mred\033[0m\n", answers=False)
    code, seen = t.end()
    same(code, 0)
    check(b"\x1b[6n" not in seen and b"\x1b[?1047l" not in seen, seen)


def output_counts(run):  # A-6 A-8
    t = run("--output-limit", "1m", "--exec", "yes", "lethe: forged")
    code, seen = t.end()
    same((code, t.ended()["outcome"]), (137, "output_exceeded"))
    check(len(seen) < 1300000, len(seen))


def a_region_that_never_reads(run):  # A-6 I-62
    """More is typed than the region's terminal keeps; then a ^C that nobody reads is a cancel."""
    t = run("--exec", "python3", "-c", "import time, tty\ntty.setraw(0)\nprint('ready', flush=True)\ntime.sleep(1000)")
    t.expect(b"ready")
    for _ in range(16):
        t.type(b"x" * 4096)
    t.type(b"\x03")
    code, _ = t.end()
    same((code, t.ended()["outcome"]), (130, "cancelled"))


def a_terminal_that_takes_nothing(run):  # A-6 I-62
    """Output without a reader holds neither the budget nor a cancel."""
    t = run("--timeout", "2s", "--exec", "yes", answers=False)
    wait_for(lambda: os.path.exists(t.receipt) and os.path.getsize(t.receipt) > 0, "the region's end", SECONDS)
    same(t.ended()["outcome"], "timed_out")
    os.kill(t.pid, signal.SIGTERM)
    same(t.end()[0] in (124, 143), True)


def a_signal_gives_the_terminal_back(run):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        t = run("--exec", "python3")
        t.expect(b">>> ")
        os.kill(t.pid, number)
        same(t.end()[0], 128 + number)
        same(t.ended()["outcome"], "cancelled")


def a_killed_child_gives_the_terminal_back(run):
    t = run("--exec", "python3")
    t.expect(b">>> ")
    with open("/proc/%d/task/%d/children" % (t.pid, t.pid)) as f:
        child = int(f.read().split()[0])
    os.kill(child, signal.SIGKILL)
    same(t.end()[0], 137)


def a_closed_terminal_is_a_cancel(run):
    t = run("--exec", "python3")
    t.expect(b">>> ")
    os.close(t.slave)
    os.close(t.fd)
    same(os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1]), 129)
    same(t.ended()["outcome"], "cancelled")


def stopped_and_continued(run):
    """SIGTSTP from outside: the shell has its modes back meanwhile."""
    t = run("--exec", "python3")
    t.expect(b">>> ")
    raw = termios.tcgetattr(t.slave)
    check(raw != t.before, "raw mode")
    os.kill(t.pid, signal.SIGTSTP)
    os.waitpid(t.pid, os.WUNTRACED)
    same(termios.tcgetattr(t.slave), t.before)
    os.kill(t.pid, signal.SIGCONT)
    wait_for(lambda: termios.tcgetattr(t.slave) == raw, "raw mode")
    t.type(b"print(6 * 7)\r")
    t.expect(b"42\r\n>>> ")  # before its prompt Python has the terminal as it was, where this ^D would be lost
    t.type(b"\x04")
    same(t.end()[0], 0)


def the_evidence_names_its_buffers(run):
    t = run("--exec", "true")
    same(t.end()[0], 0)
    teardown = t.ended()["teardown"]
    check(teardown["grade"] == "cleared_kernel" or "terminal_buffers" in teardown["not_covered"], teardown)


def it_has_a_name(run):  # A-4 A-6
    """ttyname(3), and a password that is asked at /dev/tty."""
    t = run("--exec", "python3", "-c", "import getpass, os\nprint(os.ttyname(0), os.listdir('/dev/pts'))\nprint('got', getpass.getpass('word? '))")
    t.expect(b"/dev/pts/0 ['0', 'ptmx']")
    t.expect(b"word? ")
    t.type(b"secret\r")
    before = t.expect(b"got secret")
    check(b"secret" not in before, before)  # no echo
    same(t.end()[0], 0)


MAKES = """import os, pty, subprocess
print(sorted(os.listdir('/dev/pts')), flush=True)
subprocess.run(['script', '-qc', 'tty; echo in script', '/tmp/typescript'], check=True)
pty.spawn(['sh', '-c', 'echo in pty; tty'])
"""


def it_makes_terminals(run):
    t = run("--exec", "python3", "-c", MAKES)
    t.expect(b"['0', 'ptmx']")
    t.expect(b"/dev/pts/1\r\nin script")
    t.expect(b"in pty\r\n/dev/pts/1")
    same(t.end()[0], 0)


def makes_terminals_without_one(*_):
    r = run_plain("--no-serve", "--terminals", "--exec", "python3", "-c", MAKES)
    same(r.code, 0)
    for text in (b"['ptmx']", b"/dev/pts/0\r\nin script", b"in pty\r\n/dev/pts/0"):
        check(text in r.out, r.out)
    teardown = r.receipt["teardown"]
    check(teardown["grade"] == "cleared_kernel" or "terminal_buffers" in teardown["not_covered"], teardown)


def without_the_grant(*_):  # A-4 A-10
    """No terminal can be made, and the line that allows it is told."""
    r = run_plain("--no-serve", "--exec", "python3", "-c", "import os\nfor p in '/dev/ptmx', '/dev/pts', '/dev/tty':\n  try: os.open(p, os.O_RDWR)\n  except OSError as e: print(p, e.errno)")
    same((r.code, r.out), (0, b"/dev/ptmx 2\n/dev/pts 2\n/dev/tty 6\n"))
    same([d["allow_with"] for d in r.receipt["denials"] if d["object"] == "/dev/ptmx"], ['"terminals": true'])
    r = lethe("run", "--no-serve", "--tier", "landlock", "--terminals", "--exec", "true")
    check(r.code == 125 and b"--terminals" in r.err, r.err)


def it_has_no_end_that_nobody_said(run):
    """And --dry-run on a terminal says so; a limit of the command line, or of the policy, stands."""
    policy = os.path.join(DIR, "ends.json")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "max": {"wall": "90s"}}, f)
    for options, wall in ((), None), (("--timeout", "80s"), 80000000), (("--policy", policy), 90000000), (("--policy", policy, "--timeout", "80s"), 80000000):
        t = run("--no-serve", *options, "--exec", "true")
        same(t.end()[0], 0)
        same(log("--region", t.ended()["region"], "--type", "region.allocated")[0]["grant"]["budgets"]["wall_usec"], wall, options)
        t = run("--no-serve", "--dry-run", "--json", *options, "--exec", "true")
        code, seen = t.gone()
        t.close()
        same((code, json.loads(seen)["budgets"]["wall_usec"]), (0, wall), options)
    r = lethe("run", "--dry-run", "--json", "--exec", "true")
    same(json.loads(r.out)["budgets"]["wall_usec"], 30000000)


def in_tmux(*_):
    """The editor, top, and a region that asks the terminal, changes its sets and margins, and ends: the shell goes on as if nothing had been."""
    screen = Tmux()
    try:
        run = LETHE + " run --no-serve "
        screen.keys(run + "--exec vim -u NONE /work/x; echo vim=$?", "Enter")
        screen.until("~\n~")
        screen.keys("ihello", "Escape", ":wq", "Enter")
        screen.until("vim=0")
        screen.keys("clear; " + run + "--proc --exec top; echo top=$?", "Enter")
        screen.until("PID")
        screen.keys("q")
        screen.until("top=0")
        screen.keys("clear; " + run + r"--exec printf '\033[6n\033[c\033[?1049h\033[2;3r\033(0lqk'; echo code=$?; read -r x; echo \"got=$x.\"", "Enter")
        screen.until("code=0")
        screen.keys("lqk", "Enter")
        check("got=lqk." in screen.until("got="), screen("capture-pane", "-p"))
    finally:
        screen("kill-server")


def without_a_terminal(run):
    """Pipes stay pipes; and with --no-tty a terminal is none in the region."""
    r = lethe("run", "-it", "--exec", "python3", "-c", "import os; print(os.isatty(1))")
    same((r.code, r.out), (0, b"False\n"))
    t = run("-t", "--no-tty", "--exec", "python3", "-c", "import os; print(os.isatty(0), os.isatty(1), os.isatty(2))")
    t.expect(b"False False False")
    same(t.gone()[0], 0)
    t.close()


CASES = [python_has_its_prompt, a_new_size_arrives, job_control, the_editor_and_the_pager, messages_come_after_the_end, what_it_leaves_is_reset,
         late_answers_are_not_typed, a_terminal_that_does_not_answer, colours_ask_nothing, output_counts, a_region_that_never_reads,
         a_terminal_that_takes_nothing, a_signal_gives_the_terminal_back, a_killed_child_gives_the_terminal_back,
         a_closed_terminal_is_a_cancel, stopped_and_continued, the_evidence_names_its_buffers, it_has_a_name, it_makes_terminals,
         makes_terminals_without_one, without_the_grant, it_has_no_end_that_nobody_said, in_tmux, without_a_terminal]
THROUGH_THE_DAEMON = [python_has_its_prompt, a_new_size_arrives, job_control, what_it_leaves_is_reset, output_counts, it_has_a_name, it_makes_terminals,
                      a_signal_gives_the_terminal_back, a_killed_child_gives_the_terminal_back, a_closed_terminal_is_a_cancel]
_daemon = None


def through(fn):
    def one():
        global _daemon
        _daemon = _daemon or start_daemon(dict(ENV))
        before = ask_daemon("status")["served"]
        fn(lambda *argv, **more: Run("-it", *argv, **more))
        check(ask_daemon("status")["served"] > before, "the daemon was not asked")
    return one


def stop():
    if _daemon:
        same(stop_daemon(_daemon), 0)


ENV["LETHE_SOCKET"] = os.path.join(DIR, "socket")
for case in CASES:
    add(case.__name__.replace("_", " "), on_terminal(case, "--no-serve"))
add("tier landlock", on_terminal(job_control, "--no-serve", "--tier", "landlock"))
for case in THROUGH_THE_DAEMON:
    add(case.__name__.replace("_", " ") + ", through the daemon", through(case))
add("the daemon ends", stop)
main()
