#!/usr/bin/python3
"""Layers above a folder whose server never answers (A-16, I-62): nobody waits, and the record says what was not kept. TAP.

usage: overlay-held.py LETHE HOLDER root|user

Each case has a file system whose server (holder.c) never answers some requests, and none before the case is over: `lethe` has ended, and the server still holds the
request."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from holding import ROOT_AT_FIRST, begin as begin_holding, end_holder, held_by, hold, said  # noqa: E402

WHO = sys.argv[3]
PY = "/usr/bin/python3"
WRITES = ["/bin/sh", "-c", "rm /data/data && echo new >/data/data && echo x >/data/added"]
# Requests that the region's end makes, and the region does not.
AT_THE_END = [("open", ["OPEN:data"]), ("read", ["READ:data"])]
# Requests that the region makes: its own processes wait.
IN_THE_RUN = [("lookup", ["LOOKUP:slow"], ["/bin/cat", "/data/slow"]),
              ("page", ["READ:data"], [PY, "-c", "import mmap\nm = mmap.mmap((f := open('/data/data', 'rb')).fileno(), 4096, prot=mmap.PROT_READ)\nprint(m[0])"]),
              ("program", ["READ:true"], ["/bin/sh", "-c", "/data/true"]),
              ("flush", ["FLUSH:data"], ["/usr/bin/head", "-c1", "/data/data"]),
              ("lock", ["FLUSH:data"], [PY, "-c", "import fcntl, os\nfcntl.lockf(os.open('/data/data', os.O_RDONLY), fcntl.LOCK_SH)"])]

if begin_holding():
    FREE = hold("free")
    OF_END = {name: hold("e-" + name, *requests) for name, requests in AT_THE_END}
    OF_RUN = {name: hold("r-" + name, *requests) for name, requests, _ in IN_THE_RUN}

from account import use  # noqa: E402

use(WHO)

from tap import DIR, ENV, LETHE, STORE, Skip, case, check, end_daemon, lethe, log, main, run, same, wait_for  # noqa: E402


def served(fn):
    """A case that needs the file systems."""
    def ask():
        if not ROOT_AT_FIRST:
            raise Skip("needs root: mounts a file system of its own")
        fn()
    ask.__name__ = fn.__name__
    return case(ask)


def begin(name, folder, program):
    path = os.path.join(DIR, name + ".json")
    return path, subprocess.Popen([LETHE, "run", "--receipt", path, "--timeout", "10m", "-v", folder + ":/data:overlay", "--exec", *program],
                                  env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def layers():
    return sorted(n for n in os.listdir(STORE + "/layers")) if os.path.exists(STORE + "/layers") else []


@served
def a_layer_above_a_served_folder_is_kept():
    """The positive control: its server answers."""
    r = run("-v", FREE + ":/data:overlay", "--exec", *WRITES)
    same(r.code, 0, r)
    d = lethe("diff", "--json", r.receipt["region"])
    same({e["path"]: e["kind"] for e in json.loads(d.out)["entries"]}, {"data": "changed", "added": "added"}, d)
    same(lethe("apply", "--drop", r.receipt["region"]).code, 0)


@served
def a_server_that_never_answers_holds_no_end():  # A-16, I-62
    """The program ends by itself; its layer is compared with a folder that does not answer."""
    runs = [(name, *begin(name, OF_END[name], WRITES)) for name, _ in AT_THE_END]
    for name, path, p in runs:
        out, err = p.communicate(timeout=120)
        check(held_by(OF_END[name]), name, said(OF_END[name]), err)
        with open(path, encoding="utf-8") as f:
            receipt = json.load(f)
        same((p.returncode, receipt["outcome"], receipt["teardown"]["grade"]), (0, "exited", "cleared"), name, err, receipt)
        events = [e for e in log("--region", receipt["region"]) if e["type"].startswith("layer.")]
        check([e["type"] for e in events] == ["layer.dropped"] and "does not answer in time" in events[0]["reason"], events)
        check(b"its layer is not kept" in err, err)
        r = lethe("diff", receipt["region"])
        check(r.code == 1 and b"was not kept: lethe-layer ended without an answer" in r.err, r)
    same(layers(), [])


@served
def a_server_that_never_answers_is_left_behind():  # A-16, I-62, I-63
    """The region's own processes wait: a cancel ends the run all the same. The supervisor copies no descriptor of such a layer."""
    runs = [(name, *begin(name, OF_RUN[name], program)) for name, _, program in IN_THE_RUN]
    for name, path, p in runs:
        wait_for(lambda: held_by(OF_RUN[name]) or p.poll() is not None, "the request of " + name)
        p.terminate()
        out, err = p.communicate(timeout=120)
        check(held_by(OF_RUN[name]), name, said(OF_RUN[name]), out, err)
        with open(path, encoding="utf-8") as f:
            receipt = json.load(f)
        same((p.returncode, receipt["outcome"]), (128 + signal.SIGTERM, "cancelled"), name, err, receipt)
    end_daemon()
    for name, _, _ in IN_THE_RUN:
        end_holder(OF_RUN[name])

    def recovered():
        lethe("run", "--exec", "/bin/true")
        return lethe("ps", "--json").out == b""

    wait_for(recovered, "the record of those that were left")
    same(lethe("verify").code, 0)
    same(layers(), [])


main()
