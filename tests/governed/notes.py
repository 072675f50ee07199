"""What the tests of governed memory through the command line share: runs, notes, and what became of them."""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from tap import DIR, ENV, STORE, lethe, log, same  # noqa: E402


def fresh():
    """A store without anything in it."""
    shutil.rmtree(STORE, ignore_errors=True)
    shutil.rmtree(ENV["LETHE_ANCHOR"], ignore_errors=True)
    if os.path.isfile(ENV["LETHE_ANCHOR"]):
        os.unlink(ENV["LETHE_ANCHOR"])


def said(*argv, **kw):
    r = lethe(*argv, **kw)
    same(r.code, 0, argv, r.err.decode("utf-8", "replace"))
    return r.out.decode()


def told(*argv):
    return json.loads(said(*argv, "--json"))


def begin(agent="alice", *argv):
    return said("note", "begin", "--agent", agent, *argv).strip()


def note(run, text, *argv):
    """Through standard input: what stands in an argument has no NUL and is not as long."""
    with open(os.path.join(DIR, "note"), "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    with open(os.path.join(DIR, "note"), "rb") as f:
        return lethe("note", "add", run, "-", *argv, stdin=f)


def promote(run, *argv):
    """Outcomes of the notes, by order."""
    lines = [json.loads(line) for line in said("promote", run, "--json", *argv).splitlines()]
    return lines[:-1]


def say(run, *texts, role="agent"):
    for text in texts:
        same(note(run, text, "--role", role).code, 0, text)
    return promote(run)


def rows(*argv):
    return told("canon", "list", *argv)["rows"]


def state():
    """All that a note could have changed: what verify counts, what is believed, what waits, the ledger's size."""
    v = told("verify")
    return {"entries": v["entries"], "rows": v["rows"], "waits": v["waits"], "intact": v["intact"], "belief": rows(), "log": len(log())}
