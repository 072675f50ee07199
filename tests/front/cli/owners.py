#!/usr/bin/python3
"""Configuration that another user can write is refused (I-82): policy, skill, store, key and anchor, and each folder above them. TAP.

usage: owners.py LETHE root|user
"""
import os

from lab import skill
from tap import DIR, ENV, STORE, case, check, lethe, main, run, same

ROOT = os.getuid() == 0
MINE = os.path.join(DIR, "mine")
os.makedirs(MINE + "/above/skills")
POLICY = os.path.join(MINE, "above", "policy.json")
with open(POLICY, "w") as f:
    f.write('{"version":1}')
FOLDER = skill("mine/above/skills/plain", {"entry": {"main": ["run.sh"]}}, {"run.sh": "#!/bin/sh\necho ran\n"}, register=False)
with open(FOLDER + "/SKILL.md", "w") as f:
    f.write("---\nname: plain\ndescription: A test.\n---\n")
ANCHOR = ENV["LETHE_ANCHOR"]
same(run("--exec", "/bin/true").code, 0)


def ways(path):
    """How others come to write there: each is made, and undone."""
    mode = os.stat(path).st_mode & 0o7777
    yield b"every user can write", lambda: os.chmod(path, mode | 0o002), lambda: os.chmod(path, mode)
    if ROOT:
        yield b"user 1234 can write", lambda: os.chown(path, 1234, 0), lambda: os.chown(path, 0, 0)
        yield b"group 1234 can write", lambda: (os.chown(path, 0, 1234), os.chmod(path, mode | 0o020)), lambda: (os.chown(path, 0, 0), os.chmod(path, mode))


def refused(path, *argv, command=("run",)):
    """Refused while others can write there, with who can and the fix; and not before or after."""
    for who, make, undo in ways(path):
        same(lethe(*command, *argv).code, 0, path)
        make()
        try:
            r = lethe(*command, *argv)
            check(r.code in (1, 125) and who in r.err and os.path.basename(path).encode() in r.err and b"fix: ch" in r.err, path, who, r)
        finally:
            undo()
        r = lethe(*command, *argv)
        same(r.code, 0, path, who, r)


@case
def a_policy_that_others_can_write_is_refused():  # I-82
    for path in (POLICY, MINE + "/above", MINE):
        refused(path, "--no-serve", "--policy", POLICY, "--exec", "/bin/true")
    link = os.path.join(MINE, "link.json")
    os.symlink(POLICY, link)
    refused(MINE + "/above", "--no-serve", "--policy", link, "--exec", "/bin/true")


@case
def a_store_that_others_can_write_is_refused():  # I-82
    for path in (STORE, STORE + "/data.mdb", STORE + "/redo"):
        refused(path, "--no-serve", "--exec", "/bin/true")
    os.chmod(STORE, 0o777)
    same(lethe("verify").code, 0, "it can be looked at all the same")
    os.chmod(STORE, 0o700)


@case
def an_anchor_that_others_can_write_is_refused():  # I-82
    refused(ANCHOR, "--no-serve", "--exec", "/bin/true")


@case
def a_skill_that_others_can_write_is_refused():  # I-82
    """A folder is run all the same when the operator says so; a registered skill never."""
    for path in (FOLDER + "/run.sh", FOLDER + "/SKILL.md", FOLDER, MINE + "/above/skills", MINE):
        refused(path, "--no-serve", FOLDER)
        refused(path, "add", FOLDER, command=("skill",))
        refused(path, "--no-serve", "plain")
    os.chmod(FOLDER + "/run.sh", 0o777)
    r = lethe("run", "--foreign", FOLDER)
    same((r.code, r.out), (0, b"ran\n"), r)
    r = lethe("run", "--foreign", "plain")
    check(r.code == 125 and b"every user can write" in r.err, r)
    os.chmod(FOLDER + "/run.sh", 0o755)


@case
def a_sticky_folder_above_is_no_others():
    """As /tmp is: the owner of the entry counts. Without the sticky bit anybody could put another in its place."""
    above = MINE + "/above"
    for mode, code in ((0o1777, 0), (0o777, 125), (0o755, 0)):
        os.chmod(above, mode)
        same(lethe("run", "--no-serve", "--policy", POLICY, "--exec", "/bin/true").code, code, oct(mode))


main()
