#!/usr/bin/python3
"""Watches a folder of Markdown files, and makes a page of each. usage: press.py watch | press.py convert NAME"""
import hashlib
import os
import subprocess
import sys

import lethe

AT_ONCE = 8
CHILD = {"attempts": 6, "timeout": "20s", "pace": {"base": "2s", "min": "1s", "max": "30s"}}


def page(name):
    return "/out/%s.html" % name[:-len(".md")]


def readable(name):
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return name.endswith(".md") and not name.startswith(".")


def watch():
    new = sorted(name for name in os.listdir("/in") if readable(name) and not os.path.exists(page(name)))
    print("%d new" % len(new))
    if new:
        children = [{"do": {"skill": "folder-press", "entry": "convert", "args": [name]}, "with": CHILD} for name in new[:AT_ONCE]]
        lethe.result({"next": {"delegate": children, "gather": {"mode": "collect"}}})


def convert(name):
    with open("/in/" + name, encoding="utf-8") as f:
        text = f.read()
    if not os.path.exists(page(name)):  # else an attempt was killed after the page, before its outcome
        made = subprocess.run(["/usr/bin/markdown_py", "/in/" + name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if made.returncode != 0:
            sys.exit("markdown_py ended with %d" % made.returncode)
        place(made.stdout, page(name))
    lethe.memory_save("knowledge_projections", {"title": name, "text": text}, id=hashlib.sha256(name.encode()).hexdigest()[:16], expect=0)
    lethe.result({"file": name, "page": os.path.basename(page(name)), "bytes": os.path.getsize(page(name))})
    print(name)


def place(data, path):
    """The name appears with the whole page behind it, and only if it was not there."""
    part = "/out/.%s.part" % os.path.basename(path)
    if os.path.exists(part):
        os.unlink(part)  # never written again: a killed attempt may have given it its name already
    with open(part, "xb") as f:
        f.write(data)
        os.fsync(f.fileno())
    os.link(part, path)
    os.unlink(part)
    folder = os.open("/out", os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(folder)
    os.close(folder)


if sys.argv[1] == "watch":
    watch()
else:
    convert(sys.argv[2])
