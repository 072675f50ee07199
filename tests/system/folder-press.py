#!/usr/bin/python3
"""The example job of lethe-object(1), for a while and under kills: files come into a folder, the daemon and the converter are killed at random, one file cannot be
converted until somebody mends it. At the end each file has its page, made once, and nothing is lost. LETHE_PRESS_SECONDS: for how long (30; 600 for the long run).
TAP.

usage: folder-press.py LETHE SKILL root|user
"""
import collections
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[3])

from tap import DIR, case, check, main, processes_below, same, wait_for  # noqa: E402
from node import Node, check_chain, kinds, outcomes  # noqa: E402

SECONDS = float(os.environ.get("LETHE_PRESS_SECONDS", "30"))
SEED = int(os.environ.get("LETHE_TEST_SEED", str(int(time.time()))))
IN, OUT, SPOOL = (os.path.join(DIR, name) for name in ("in", "out", "spool"))
BROKEN = "broken.md"
for folder in (IN, OUT, SPOOL):
    os.mkdir(folder)
os.chmod(DIR, 0o755)
node = Node("node", {"version": 1, "files": [{"path": IN, "access": "read"}, {"path": OUT, "access": "write"}]})
chance = random.Random(SEED)
texts, pages, killed = {}, {}, collections.Counter()
watch = []


def install(skill):
    folder = os.path.join(DIR, "folder-press")
    shutil.copytree(skill, folder)
    with open(folder + "/lethe.json", encoding="utf-8") as f:
        manifest = f.read()
    check("/srv/press/in" in manifest and "/srv/press/out" in manifest, manifest)
    with open(folder + "/lethe.json", "w", encoding="utf-8") as f:
        f.write(manifest.replace("/srv/press", DIR))
    node.must("skill", "add", folder)
    return folder


def put(name, data):
    """Whole, as a mail folder gets its files."""
    with open(os.path.join(SPOOL, name), "wb") as f:
        f.write(data)
    os.rename(os.path.join(SPOOL, name), os.path.join(IN, name))


def come(number):
    name = "note-%03d.md" % number
    texts[name] = "# Note %d\n\nThe *queue* of db%d was %d long.\n\n- first\n- second\n" % (number, number % 7, chance.randrange(1000))
    put(name, texts[name].encode())


def seen():
    """Notes which file each page is when it is seen first: the same one has to be there at the end."""
    for name in os.listdir(OUT):
        if not name.startswith("."):
            st = os.stat(os.path.join(OUT, name))
            pages.setdefault(name, (st.st_ino, st.st_mtime_ns))


def kill_one():
    """The daemon, the converter, or any process of a region."""
    what, pid = "daemon", node.daemon.pid
    below = [(name, p) for p, name in processes_below(pid)]
    converters = [(name, p) for name, p in below if name == "markdown_py"]
    if converters and chance.random() < 0.6:
        what, pid = chance.choice(converters)
    elif below and chance.random() < 0.4:
        what, pid = chance.choice(below)
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    killed[what] += 1
    if what == "daemon":
        node.stop(signal.SIGKILL)
        node.start()


@case
def the_job_runs_while_its_processes_are_killed():  # O-36 O-38 O-51
    folder = install(sys.argv[2])
    node.start()
    watch.append(node.json("object", "create", "--intent", folder + "/watch.json", "--scope", folder + "/scope.json", "--json")["object"])
    put(BROKEN, b"\xff\xfe is no UTF-8\n")
    until, number, mended = time.monotonic() + SECONDS, 0, False
    while time.monotonic() < until:
        if number < 400 and chance.random() < 0.5:
            come(number)
            number += 1
        time.sleep(chance.random() * 0.5)
        kill_one()
        seen()
        if not mended and time.monotonic() > until - SECONDS / 2:
            wait_for(lambda: any("failure" in outcomes(node.history(id)) for id in children()), "a failure of the converter")
            texts[BROKEN] = "# Mended\n"
            put(BROKEN, texts[BROKEN].encode())
            mended = True
    while killed["markdown_py"] == 0:  # certain, however fast the machine is: more files come until one converter was met
        come(number)
        number += 1
        wait_for(lambda: [1 for _, name in processes_below(node.daemon.pid) if name == "markdown_py"] or os.path.exists(page(number - 1)), "a converter", every=0.001)
        for pid, name in processes_below(node.daemon.pid):
            if name == "markdown_py":
                os.kill(pid, signal.SIGKILL)
                killed[name] += 1
    print("# seed %d: %d files; killed: %s" % (SEED, len(texts), ", ".join("%s %d" % x for x in sorted(killed.items()))), flush=True)


def page(number):
    return os.path.join(OUT, "note-%03d.html" % number)


def children():
    return [id for id, o in node.objects().items() if id not in watch]


@case
def each_file_was_converted_exactly_once():
    wait_for(lambda: seen() or len(pages) >= len(texts), "a page for each file: %d of %d" % (len(pages), len(texts)), 300, every=0.2)
    # The last children say so in their memories, too.
    wait_for(lambda: all(o["state"] == "terminated" for id, o in node.objects().items() if id not in watch), "the end of all children", 300, every=0.2)
    node.must("object", "end", watch[0])
    node.stop()
    same(sorted(pages), sorted(name[:-3] + ".html" for name in texts))
    for name, (inode, mtime) in pages.items():
        st = os.stat(os.path.join(OUT, name))
        same((st.st_ino, st.st_mtime_ns), (inode, mtime), name, "was made again")
    for name, text in texts.items():
        want = subprocess.run(["/usr/bin/markdown_py"], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
        with open(os.path.join(OUT, name[:-3] + ".html"), "rb") as f:
            same(f.read(), want, name)
    same([name for name in os.listdir(OUT) if name.startswith(".")], [], "parts of pages")
    succeeded = collections.Counter()
    for id in children():
        history = node.history(id)
        check_chain(id, history)
        for e in history:
            if e["kind"] == "outcome" and e["outcome"]["kind"] == "success":
                succeeded[e["outcome"]["value"]["file"]] += 1
    same(succeeded, collections.Counter(list(texts)), "successes of children")
    records = [r for r in node.json("memory", "list", "--json")["records"] if r["kind"] == "knowledge_projections"]
    same(sorted(r["id"] for r in records), sorted(hashlib.sha256(name.encode()).hexdigest()[:16] for name in texts), "records of knowledge")
    same({r["version"] for r in records}, {1})


@case
def nothing_is_lost_and_all_holds():  # O-7 O-36 O-46 O-51
    ids = list(node.objects())
    node.whole(ids)
    history = node.history(watch[0])
    check_chain(watch[0], history)
    same(kinds(history)[-1], "terminated")
    retried = [id for id in ids if "failure" in outcomes(node.history(id))]
    check(retried, "no converter ever failed")
    for id in retried:
        slept = [e["data"] for e in node.history(id) if e["kind"] == "dormant" and e["data"]["reason"] == "backoff"]
        check(slept or kinds(node.history(id))[-1] == "terminated", id, "a failure without backoff")
    print("# %d entries of the watching object, %d of %d children tried more than once" % (len(history), len(retried), len(ids) - 1), flush=True)


main()
