#!/usr/bin/python3
"""The examples of the manual pages that run something do what they say when they are pasted into a shell. A comment "# prints TEXT" is the next line of
the output. TAP.

usage: man.py LETHE MANUAL root|user
"""
import os
import re
import subprocess
import sys

from account import use

use(sys.argv[3])

from tap import DIR, ENV, LETHE, add, case, check, lethe, main, same  # noqa: E402

MANUAL = sys.argv[2]
os.chmod(DIR, 0o755)
WANTED = {"lethe-slot.1.scd": 2, "lethe-isolation.7.scd": 1}


def blocks(page):
    with open(os.path.join(MANUAL, page), encoding="utf-8") as f:
        return [b for b in re.findall(r"^```\n(.*?)^```$", f.read(), re.S | re.M) if "lethe run" in b]


def paste(page, i, block):
    def run():
        folder = os.path.join(DIR, "%s-%d" % (page, i))
        os.makedirs(folder)
        os.chmod(folder, 0o755)
        p = subprocess.run(["/bin/sh", "-eu"], input=block.encode(), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                           env=dict(ENV, PATH=os.path.dirname(LETHE) + ":" + ENV["PATH"]))
        want = re.findall(r"# prints (.*)$", block, re.M)
        same((p.returncode, p.stdout.decode().splitlines()[:len(want)]), (0, want), p.stderr.decode())
    return run


for page, n in WANTED.items():
    found = blocks(page)
    add("%s has its examples" % page, lambda found=found, n=n: same(len(found), n))
    for i, block in enumerate(found):
        add("%s, example %d" % (page, i + 1), paste(page, i, block))


@case
def the_harness_of_ccs_works_around_any_model():  # C-1, C-2
    with open(os.path.join(MANUAL, "lethe-ccs.1.scd"), encoding="utf-8") as f:
        code = re.search(r"^```\n(import json.*?)^```$", f.read(), re.S | re.M).group(1)
    folder = os.path.join(DIR, "harness")
    os.makedirs(folder)
    with open(os.path.join(folder, "role.txt"), "w", encoding="utf-8") as f:
        f.write("Never restart the primary database.\n")
    code += "print(step(session, 'Find a car.', lambda state, said: (said + str('must_not(operator, restart primary database)' in state), [('search', 'Avis 120')])))\n"
    code += "print(step(session, 'Thanks.', lambda state, said: (str('find(car)' in state), [])))\n"
    p = subprocess.run([sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False,
                       env=dict(ENV, PATH=os.path.dirname(LETHE) + ":" + ENV["PATH"]))
    same((p.returncode, p.stdout), (0, b"Find a car.True\nTrue\n"), p.stderr)


@case
def what_they_left_is_in_order():  # I-28
    r = lethe("audit")
    same(r.code, 0, r)
    r = lethe("audit", "regions", "relaxed")
    check(r.code == 1 and b"gather" in r.out, r)


main()
