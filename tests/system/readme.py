#!/usr/bin/python3
"""The examples of README.md and of manual pages, run as they are printed: the commands of a section, one after the other, by a newcomer with an empty home. TAP.

usage: readme.py LETHE README SKILLS MAN

A line that begins with "$ " is a command, with the lines that it goes on to; what follows up to the next one is what it prints, on both streams. Ids, hashes, times
and the sizes of files are as they come; in sections about regions all numbers are.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from folder import remove

LETHE, README, SKILLS, MAN = (os.path.abspath(a) for a in sys.argv[1:5])
# (file, its headings whose commands belong together, whether every number has to be the same)
SECTIONS = [
    (README, ("Use it",), False),
    (README, ("What became of its memory",), False),
    (README, ("Agents that share belief",), False),
    (README, ("Objects",), False),
    (MAN + "/lethe-memory.7.scd", ("FINDING", "DIGESTING", "DELETING"), True),
    (MAN + "/lethe-belief.7.scd", ("PROMOTING", "DISPUTES"), True),
    (MAN + "/lethe-ccs.1.scd", ("EXAMPLE",), True),
    (MAN + "/lethe-session.1.scd", ("EXAMPLE",), True),
    (MAN + "/lethe-session.1.scd", ("A SESSION WITH COGNITION",), True),
    (MAN + "/lethe-object.1.scd", ("EXAMPLE",), False),
    (MAN + "/lethe-object.1.scd", ("A FOLDER THAT IS WATCHED",), False),
] + [(MAN + "/lethe-cookbook.7.scd", (name,), False) for name in ("PROGRAMS OF A VOLUME", "A SERVER", "A BROKEN BUDGET", "A REGION BY NAME", "A CERTIFICATE")]
MASKS = [(r"\b[0-9a-hjkmnp-tv-z]{26}\b", "ID"), (r"\b[0-9a-f]{16,64}\b", "HEX"), (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "TIME"), (r"\d+ bytes before, \d+ after", "SIZES"),
         (r"removed \(\d+ bytes\)", "SIZES"), (r"\buid:\d+", "WHO")]
# What a kernel that clears what it frees adds to it: no class is left to be named, and the grade is another.
KERNEL = [(r'"not_covered":\[[^]]*\]', '"not_covered":[]'), (r"\n +not covered: [^\n]*", ""), (r"\bcleared(_early|_kernel)?\b", "cleared")]
# Where there is no control group of memory, the sum is told that was refused.
KERNEL += [(r"(used [0-9.]+ [KM]iB), (and more was refused|asked for [0-9.]+ [KM]iB)", r"\1, and more was refused")]
NUMBERS = [(r"\b\d+(\.\d+)?( (us|ms|s|B|KiB|MiB)\b)?", "N")]


def whole(lines):
    """Whether these lines are a command that has come to its end."""
    text = "\n".join(lines)
    return not text.endswith("\\") and subprocess.run(["bash", "-n"], input=text, text=True, stderr=subprocess.DEVNULL).returncode == 0


def commands(block):
    """[(command, what it is to print)]"""
    found, lines = [], list(block)
    while lines:
        if not lines[0].startswith("$ "):
            raise AssertionError("a block of commands begins with one: " + lines[0])
        said, wanted = [lines.pop(0)[2:]], []
        while not whole(said) and lines:
            said.append(lines.pop(0))
        while lines and not lines[0].startswith("$ "):
            wanted.append(lines.pop(0))
        found.append(("\n".join(said), "".join(line + "\n" for line in wanted)))
    return found


def sections(path):
    """{heading: [commands]}, of the blocks that have any."""
    heading, block, found = None, None, {}
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("```"):
                if block and block[0].startswith("$ "):
                    found.setdefault(heading, []).extend(commands(block))
                block = [] if block is None else None
            elif block is not None:  # scdoc takes a backslash away, also in a block: a page has two for each that a reader sees
                block.append(re.sub(r"\\(.?)", r"\1", line) if path.endswith(".scd") else line)
            elif line.startswith("#"):
                heading = line.lstrip("# ")
    return found


def masked(text, exact):
    for pattern, word in MASKS if exact else MASKS + KERNEL + NUMBERS:
        text = re.sub(pattern, word, text)
    return text


def run(steps, exact):
    """What differs."""
    top = tempfile.mkdtemp(prefix="readme-")
    try:
        os.makedirs(top + "/bin")
        os.symlink(LETHE, top + "/bin/lethe")
        shutil.copytree(SKILLS, top + "/scripts/demo.d")
        script = "exec 2>&1\n" + "".join("%s\nprintf '\\n=%d=\\n'\n" % (command, i) for i, (command, _) in enumerate(steps))
        with open(top + "/script", "w", encoding="utf-8") as f:
            f.write(script.replace("echo $?", "echo $code").replace("\nprintf", "\ncode=$?\nprintf"))
        out = subprocess.run(["bash", "script"], cwd=top, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=120, text=True,
                             env={"HOME": top, "PATH": top + "/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}).stdout
    finally:
        remove(top)
    problems = []
    for i, (command, wanted) in enumerate(steps):
        got, mark, out = out.partition("\n=%d=\n" % i)
        if not mark:
            return problems + ["it came to no end at: " + command + "\n" + got]
        got += "\n" if got and not got.endswith("\n") else ""
        if masked(got, exact) != masked(wanted, exact):
            problems.append("$ %s\nshown:\n%sprinted:\n%s" % (command, wanted, got))
    return problems


failed = 0
print("TAP version 13\n1..%d" % len(SECTIONS), flush=True)
for number, (path, names, exact_numbers) in enumerate(SECTIONS, 1):
    try:
        trouble = run([step for name in names for step in sections(path)[name]], exact_numbers)
    except (AssertionError, KeyError, subprocess.TimeoutExpired) as e:
        trouble = [repr(e)]
    failed += bool(trouble)
    print("%s %d - %s: %s" % ("not ok" if trouble else "ok", number, os.path.basename(path), ", ".join(names)))
    for one in trouble:
        print("# " + one.rstrip("\n").replace("\n", "\n# "), flush=True)
sys.exit(1 if failed else 0)
