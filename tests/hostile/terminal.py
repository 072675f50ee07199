#!/usr/bin/python3
"""A-6, I-34: storms of sizes and of stops, from inside a region (attacks/tty-resize.c, tty-stops.c), where they must not reach the user's terminal, and from
outside, where the terminal, the region and its budgets must be as before. Each attack from inside also without Lethe, where it succeeds. TAP.

usage: terminal.py LETHE root|user
"""
import json
import os
import shutil
import signal
import sys
import termios

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "front", "cli")]
from account import use  # noqa: E402

use(sys.argv[2])

from screen import SECONDS, Terminal  # noqa: E402
from tap import DIR, LETHE, add, check, main, processes_below, same, state_of, wait_for  # noqa: E402

ATTACKS = os.path.join(os.path.dirname(LETHE), "tests", "hostile", "attacks")
BIN = os.path.join(DIR, "bin")
os.chmod(DIR, 0o755)
os.makedirs(BIN)
for name in ("tty-resize", "tty-stops"):
    shutil.copy2(os.path.join(ATTACKS, name), BIN)
RECEIPT = os.path.join(DIR, "receipt.json")
COUNTS = """import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
print("ready", flush=True)
n = 0
while os.get_terminal_size() != (77, 33):
    signal.sigwait([signal.SIGWINCH])
    n += 1
print("resized", n, flush=True)
"""


def case(fn):
    add(fn.__name__.replace("_", " "), fn)
    return fn


def run(*argv, **more):
    if os.path.exists(RECEIPT):
        os.unlink(RECEIPT)
    return Terminal("run", "-it", "--receipt", RECEIPT, *argv, **more)


def receipt():
    with open(RECEIPT, encoding="utf-8") as f:
        return json.load(f)


@case
def sizes_from_inside_stay_inside():
    t = run("--exec", BIN + "/tty-resize", "20000")
    t.expect(b"20000 of 20000 changes")
    same(t.has_size(), (30, 100))
    t.type(b"\r")
    same(t.end()[0], 1)
    same(receipt()["outcome"], "exited")


@case
def sizes_without_lethe_do_not():
    t = Terminal("20000", program=BIN + "/tty-resize")
    t.expect(b"20000 of 20000 changes")
    same(t.has_size(), (1, 1))
    t.type(b"\r")
    same(t.end()[0], 1)


@case
def stops_from_inside_stop_nobody_outside():  # A-6, I-34
    t = run("--exec", BIN + "/tty-stops", "500")
    t.expect(b"500 rounds")
    ours = [(t.pid, "lethe"), *[(pid, name) for pid, name in processes_below(t.pid) if name not in ("tty-stops", "lethe-worker", "lethe-first")]]
    same([x for x in ours if state_of(x[0]) == "T"], [])
    t.type(b"\r")
    same(t.end()[0], 1)
    same(receipt()["outcome"], "exited")


@case
def stops_without_lethe_stop_the_parent():
    t = Terminal("-c", '"$0" 500; exit $?', BIN + "/tty-stops", program="/bin/sh")
    t.expect(b"500 rounds")
    same(state_of(t.pid), "T")
    os.kill(t.pid, signal.SIGCONT)
    t.type(b"\r")
    same(t.gone()[0], 1)
    t.close()


@case
def a_storm_of_sizes_from_outside_ends_in_the_last():
    t = run("--exec", "/usr/bin/python3", "-c", COUNTS)
    t.expect(b"ready")
    for i in range(5000):
        t.size((i * 7919) % 65536, (i * 104729) % 65536)
        if i % 100 == 0:
            os.kill(t.pid, signal.SIGWINCH)
    t.size(33, 77)
    t.expect(b"resized")
    same(t.end()[0], 0)


@case
def sizes_for_a_region_that_reads_nothing():  # A-6, I-62
    """Its input is full, so that no packet is taken any more: the terminal is given back all the same."""
    t = run("--timeout", "3s", "--exec", "/usr/bin/python3", "-c", "import time, tty\ntty.setraw(0)\nprint('ready', flush=True)\ntime.sleep(1000)")
    t.expect(b"ready")
    for _ in range(16):
        t.type(b"x" * 4096)
    for i in range(5000):
        t.size(1 + i % 500, 1 + i % 300)
    same(t.end()[0], 124)
    same(receipt()["outcome"], "timed_out")


@case
def control_z_in_thousands():
    """To a program without a shell above it, which the kernel does not stop, and to a job of a shell, which goes on each time."""
    t = run("--exec", "/usr/bin/python3", "-c", "print('ready', flush=True)\nwhile True:\n    line = input()\n    print('got ' + line[::-1], flush=True)")
    t.expect(b"ready")
    for _ in range(40):
        t.type(b"\x1a" * 100)
        t.type(b"abc\r")
        t.expect(b"got cba")
    t.type(b"\x03")
    same(t.end()[0], 130)
    t = run("-e", "JOB=import os, signal\nsignal.signal(signal.SIGCONT, lambda *_: os.write(1, b'con' + b'tinued'))\nos.write(1, b'be' + b'gun')\nwhile True: signal.pause()",
            "--exec", "/bin/bash", "--norc", "--noediting", "-i")
    t.expect(b"$ ")
    t.type(b'python3 -c "$JOB"\r')
    t.expect(b"begun")
    for _ in range(50):
        t.type(b"\x1a")
        t.expect(b"Stopped")
        t.expect(b"$ ")
        t.type(b"fg\r")
        t.expect(b"continued")
    t.type(b"\x03")
    t.expect(b"KeyboardInterrupt")
    t.expect(b"$ ")
    t.type(b"exit 5\r")
    same(t.end()[0], 5)


@case
def lethe_is_stopped_and_goes_on_again_and_again():
    """At each stop the shell has its modes back; the last go-on brings the region's."""
    t = run("--exec", "/usr/bin/python3", "-c", "print('ready', flush=True)\nprint('got ' + input()[::-1], flush=True)")
    t.expect(b"ready")
    raw = termios.tcgetattr(t.slave)
    check(raw != t.before, "raw mode")
    for i in range(300):
        os.kill(t.pid, signal.SIGTSTP)
        os.waitpid(t.pid, os.WUNTRACED)
        same(termios.tcgetattr(t.slave), t.before, i)
        os.kill(t.pid, signal.SIGCONT)
        for _ in range(i % 3):
            os.kill(t.pid, signal.SIGCONT)
    wait_for(lambda: termios.tcgetattr(t.slave) == raw, "raw mode")
    t.type(b"abc\r")
    t.expect(b"got cba")
    same(t.end()[0], 0)


@case
def a_stopped_lethe_holds_up_no_budget():  # A-6, I-34, I-62
    """SIGSTOP cannot be caught: the region ends at its time while the terminal's process stands still."""
    t = run("--timeout", "2s", "--exec", "/usr/bin/python3", "-c", "print('ready', flush=True)\nimport time\ntime.sleep(1000)")
    t.expect(b"ready")
    os.kill(t.pid, signal.SIGSTOP)
    os.waitpid(t.pid, os.WUNTRACED)
    wait_for(lambda: os.path.exists(RECEIPT) and os.path.getsize(RECEIPT) > 0, "the region's end", SECONDS)
    same((receipt()["outcome"], state_of(t.pid)), ("timed_out", "T"))
    os.kill(t.pid, signal.SIGCONT)
    same(t.end()[0], 124)


main()
