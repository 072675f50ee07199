#!/usr/bin/python3
"""Files that the supervisor's code writes, before the verifier that is none of ours: both say the same, also of damaged files. TAP.

usage: check-verify.py MAKE-BUNDLE VERIFY-BUNDLE OBJECT.MD
"""
import functools
import os
import random
import re
import subprocess
import sys
import tempfile

from damage import CONTEXT, EMPTY, FIRST, HEAD, INTENT, KEYS, SCHEMAS, bundle, foreign, set_line, swap

MAKE, VERIFY, PAGE = sys.argv[1:4]
DIR = tempfile.mkdtemp()
FILE = os.path.join(DIR, "object")
made = functools.partial(bundle, MAKE)


def verdicts(data):
    """The supervisor's and the verifier's, both with their words."""
    with open(FILE, "wb") as f:
        f.write(data)
    ours = subprocess.run([MAKE, "--check", FILE], stdout=subprocess.PIPE, text=True)
    theirs = subprocess.run([sys.executable, VERIFY, FILE], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ours.returncode in (0, 1) and theirs.returncode in (0, 1) and "Traceback" not in theirs.stdout, (ours, theirs)
    return ours.returncode == 0, theirs.returncode == 0, ours.stdout.strip() + " | " + theirs.stdout.strip()


def whole():
    """O-7, O-40: objects of one to forty entries hold for both."""
    for seed in range(12):
        ours, theirs, words = verdicts(made(seed, 1 + 3 * seed))
        assert ours and theirs, (seed, words)


def damaged(change, name):
    """A file that both must refuse."""
    data = made(5, 9)
    lines = data.split(b"\n")
    change(lines)
    other = b"\n".join(lines)
    assert other != data, name
    ours, theirs, words = verdicts(other)
    assert not ours and not theirs, (name, ours, theirs, words)


DAMAGE = {
    "a newer version": set_line(HEAD, b"/1", b"/2"),
    "another intent": set_line(INTENT, b"convert", b"steal__") if b"convert" in made(5, 9).split(b"\n")[INTENT] else set_line(INTENT, b"watch", b"steal"),
    "a wider scope": set_line(CONTEXT, b'"depth":3', b'"depth":9'),
    "another name of a key": set_line(KEYS, b"lethe/0", b"lethe/1"),
    "no key": lambda lines: lines.__setitem__(KEYS, b"keys {}"),
    "a line too many": lambda lines: lines.insert(EMPTY, b""),
    "the first entry away": lambda lines: lines.pop(FIRST),
    "an entry in the middle away": lambda lines: lines.pop(FIRST + 2),
    "the last entry away": lambda lines: lines.pop(-3),
    "the last line away": lambda lines: lines.pop(-2),
    "two entries in each other's place": swap(FIRST + 1, FIRST + 2),
    "an entry twice": lambda lines: lines.insert(FIRST + 2, lines[FIRST + 1]),
    "an entry of another object": foreign(MAKE),
    "another time": set_line(FIRST + 1, b'"time":1', b'"time":2'),
    "another signature": lambda lines: lines.__setitem__(FIRST, lines[FIRST][:-88] + lines[FIRST + 1][-88:]),
    "another number of entries": set_line(-2, b"end ", b"end 1"),
    "bytes behind the end": lambda lines: lines.append(b"more"),
    "no newline at the end": lambda lines: lines.pop(),
    "carriage returns": lambda lines: lines.__setitem__(slice(None), [x + b"\r" for x in lines]),
    "nothing but the head": lambda lines: lines.__delitem__(slice(1, -1)),
}


def each_damage():
    """O-7, O-40, O-41: both refuse each damage."""
    for name, change in DAMAGE.items():
        damaged(change, name)


def any_damage():
    """O-7: a byte changed, left out or put in at random: both say the same; only line 5, which nobody signs, may be changed."""
    dice = random.Random(7)
    for i in range(60):
        data = made(i % 6, 2 + i % 5)
        at, what = dice.randrange(len(data)), dice.randrange(3)
        put = bytes([data[at] ^ 1 << dice.randrange(8)] if what == 0 else [] if what == 1 else [dice.randrange(32, 127), data[at]])
        other = data[:at] + put + data[at + 1:]
        if other == data:
            continue
        ours, theirs, words = verdicts(other)
        if data[:at].count(b"\n") == SCHEMAS:
            assert theirs or not ours, (i, at, what, words)
        else:
            assert not ours and not theirs, (i, at, what, ours, theirs, words)


def by_hand():
    """O-7, O-40: the commands of schema/object.md verify each entry of the page's example, and refuse it with another byte."""
    with open(PAGE, encoding="utf-8") as f:
        page = f.read()
    example = re.search(r"```\n(lethe-object/1\n.*?)```", page, re.S)[1]
    lines = example.split("\n")
    key = lines[KEYS].split("+", 2)[2].rstrip('"}')
    commands = [b for b in re.findall(r"```\n(.*?)```", page, re.S) if "sed -n 7p FILE" in b or b.startswith("tail -c")]
    assert len(commands) == 2, commands
    for number in range(FIRST, len(lines) - 2):
        script = "set -eu; cd \"$DIR\"\n" + "".join(commands).replace("sed -n 7p", f"sed -n {number + 1}p")
        after = re.search(r'"prev":"(\w{64})"|^end \d+ (\w{64})$', lines[number + 1])
        for damage in (False, True):
            with open(os.path.join(DIR, "FILE"), "w", encoding="utf-8") as f:
                f.write(example.replace('"time":1764256', '"time":1764257') if damage else example)
            p = subprocess.run(["sh", "-c", script], env=dict(os.environ, DIR=DIR, KEY=key), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            assert (p.returncode != 0) == damage, (number, damage, p)
            assert damage or p.stdout.split("\n")[-2].split()[0] == (after[1] or after[2]), (number, p.stdout)


CASES = [by_hand, whole, each_damage, any_damage]
print(f"1..{len(CASES)}")
failed = False
for number, one in enumerate(CASES, 1):
    try:
        one()
        print(f"ok {number} - {one.__name__}")
    except (AssertionError, subprocess.CalledProcessError) as e:
        failed = True
        print(f"not ok {number} - {one.__name__}\n# {e}")
    sys.stdout.flush()
sys.exit(failed)
