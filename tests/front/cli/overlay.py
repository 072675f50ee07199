#!/usr/bin/python3
"""A layer of the region's own above a folder of the host (A-16): -v SRC:DST:overlay, lethe diff, lethe apply. TAP.

usage: overlay.py LETHE root|user
"""
import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys

from account import use

use(sys.argv[2])

from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, run, same  # noqa: E402
from trees import make, tree  # noqa: E402

SH = "/bin/sh"
PYTHON = "/usr/bin/python3"
LAYERS = os.path.join(STORE, "layers")
SRC = os.path.join(DIR, "src")
os.chmod(DIR, 0o755)


def source(**files):
    """SRC anew, with these files."""
    return make(SRC, {name.replace("__", "/"): text for name, text in files.items()})


def layered(text, *options, program=SH, **kw):
    """A run above SRC, which leaves SRC as it is. The receipt's region."""
    before = tree(SRC)
    r = run(*options, "-v", SRC + ":/src:overlay", "-w", "/src", "--exec", program, "-c", text, **kw)
    same(r.code, 0, r)
    same(tree(SRC), before, r)
    return r.receipt["region"]


def diff(region):
    r = lethe("diff", "--json", region)
    same(r.code, 0, r)
    return {e["path"]: e for e in json.loads(r.out)["entries"]}


def refused(region, *paths):
    """apply refuses and changes nothing. What it says."""
    before = tree(SRC)
    r = lethe("apply", region, *paths)
    same(r.code, 1, r)
    same(tree(SRC), before, r)
    return r.err.decode()


def drop(region):
    same(lethe("apply", "--drop", region).code, 0)
    same(os.listdir(LAYERS), [])


@case
def the_source_stays_and_apply_makes_it_so():
    source(f="old\n", gone__a="x\n", gone__b="y\n", turns="file\n", kept__deep="z\n", same="s\n", m="m\n")
    region = layered("echo new > f; rm -r gone; rm turns; mkdir turns; echo t > turns/t; mkdir -p n/e/w; echo w > n/e/w/f; ln -s ../f n/link; chmod 700 m; echo s > same; mv kept/deep kept/er; cat f")
    kinds = {p: (e["kind"], e["type"]) for p, e in diff(region).items()}
    same(kinds.pop("turns"), ("added", "folder"))  # behind its removal, of the same path
    same(kinds, {"f": ("changed", "file"), "gone": ("removed", "folder"), "gone/a": ("removed", "file"), "gone/b": ("removed", "file"), "turns/t": ("added", "file"),
                 "n": ("added", "folder"), "n/e": ("added", "folder"), "n/e/w": ("added", "folder"), "n/e/w/f": ("added", "file"), "n/link": ("added", "link"), "m": ("mode", "file"),
                 "kept/deep": ("removed", "file"), "kept/er": ("added", "file")})
    text = lethe("diff", region).out.decode()
    check("--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-old\n+new\n" in text, text)
    check("# mode file m mode 0700\n" in text, text)
    same(lethe("apply", region).code, 0)
    now = {p.decode(): v for p, v in tree(SRC).items()}
    same({p: v[1] for p, v in now.items()}, {"f": b"new\n", "turns": None, "turns/t": b"t\n", "n": None, "n/e": None, "n/e/w": None, "n/e/w/f": b"w\n", "n/link": b"../f",
                                            "m": b"m\n", "same": b"s\n", "kept": None, "kept/er": b"z\n"})
    same(now["m"][0], oct(stat.S_IFREG | 0o700))
    same({os.lstat(os.path.join(SRC, p)).st_uid for p in now}, {os.getuid()})
    same(os.listdir(LAYERS), [])
    same([e["type"] for e in log("--region", region) if e["type"].startswith("layer.")], ["layer.kept", "layer.applied"])
    same(lethe("diff", region).code, 1)
    same(lethe("verify").code, 0)


@case
def by_path_and_the_rest_is_dropped():
    source(a="1\n", b="1\n")
    region = layered("echo 2 > a; echo 2 > b; mkdir -p d/e; echo 3 > d/e/f; echo 4 > d/g")
    same(lethe("apply", region, "no-such").code, 1)
    same(lethe("apply", region, "a", "d/e/f").code, 0)
    same({p.decode(): v[1] for p, v in tree(SRC).items()}, {"a": b"2\n", "b": b"1\n", "d": None, "d/e": None, "d/e/f": b"3\n"})
    same(set(diff(region)), {"b", "d/g"})
    drop(region)
    same([e["type"] for e in log() if e.get("region") == region and e["type"].startswith("layer.")], ["layer.kept", "layer.applied", "layer.dropped"])
    same(lethe("verify").code, 0)


@case
def what_others_changed_is_not_overwritten():
    source(a="1\n", b="1\n", c="1\n", d__x="1\n")
    region = layered("echo 2 > a; rm b; echo 2 > new; rm -r d")
    with open(os.path.join(SRC, "a"), "w") as f:
        f.write("9\n")
    check("a: changed since" in refused(region), "a")
    with open(os.path.join(SRC, "b"), "w") as f:
        f.write("99\n")
    check("b: changed since" in refused(region, "b"), "b")
    with open(os.path.join(SRC, "new"), "w") as f:
        f.write("theirs\n")
    check("new: made by others since" in refused(region, "new"), "new")
    os.rename(os.path.join(SRC, "d"), os.path.join(SRC, "moved"))
    os.symlink("moved", os.path.join(SRC, "d"))
    check("changed since" in refused(region, "d") or "link now" in refused(region, "d"), "d")
    same({e["state"] for e in diff(region).values()}, {"conflict"})
    drop(region)


@case
def a_change_during_the_run_counts():
    source(a="1\n", b="1\n")
    text = "print('runs', flush=True)\ninput()\nopen('a', 'w').write('2')\nopen('b', 'w').write('2')"
    with subprocess.Popen([LETHE, "run", "-v", SRC + ":/src:overlay", "-w", "/src", "-i", "--exec", PYTHON, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, env=ENV) as p:
        same(p.stdout.readline(), b"runs\n")
        with open(os.path.join(SRC, "a"), "w") as f:
            f.write("meanwhile\n")
        p.communicate(b"go\n", timeout=120)
    same(p.returncode, 0)
    region = log("--type", "layer.kept")[-1]["region"]
    check("a: changed by others while the region ran" in refused(region), region)
    same(lethe("apply", region, "b").code, 0)  # the positive control
    drop(region)


@case
def hostile_layers_are_told_and_refused():
    source(a="1\n", s="1\n")
    region = layered("import os, socket\n"
                     "os.mkfifo('fifo')\n"
                     "open('line\\nfeed', 'w').write('x'); open(b'\\xff\\x1b[2J', 'w').write('y')\n"
                     "os.symlink('/etc/passwd', 'abs'); os.symlink('../../up', 'up'); os.makedirs('in/side'); os.symlink('../../a', 'in/side/fine')\n"
                     "os.chmod('s', 0o755); os.link('a', 'hard')\n"
                     "f = open('sparse', 'wb'); f.truncate(1 << 20); f.close()\n"
                     "os.mkdir('shut'); open('shut/f', 'w').write('z'); os.chmod('shut/f', 0); os.chmod('shut', 0)\n", program=PYTHON)
    seen = diff(region)
    same({p for p, e in seen.items() if e["state"] == "refused"}, {"fifo", "abs", "up"})
    check("line\nfeed" in seen and seen["shut/f"]["size"] == 1 and seen["sparse"]["size"] == 1 << 20, seen)
    out = lethe("diff", region).out
    check(b"\nfeed" not in out and b"\x1b" not in out.split(b"+++")[0], out)  # a name begins no line and commands no terminal
    for name, why in (("fifo", "a device, a socket or a FIFO"), ("abs", "leads out"), ("up", "leads out")):
        check(why in refused(region, name), name)
        check("nothing is applied" in refused(region, name), name)
    same(lethe("apply", region, "line\nfeed", "in", "hard", "sparse", "shut", "s").code, 0)  # the positive control
    os.chmod(os.path.join(SRC, "shut"), 0o700)
    same(os.path.getsize(os.path.join(SRC, "shut", "f")), 1)
    same(os.readlink(os.path.join(SRC, "in/side/fine")), "../../a")
    drop(region)


@case
def beyond_a_bound_nothing_is_kept():
    source(a="1\n")
    region = layered("i=0; while [ $i -lt 70 ]; do mkdir d; cd d; i=$((i+1)); done")
    same(lethe("diff", region).code, 1)
    same([(e["type"], e["reason"]) for e in log() if e.get("region") == region and e["type"].startswith("layer.")], [("layer.dropped", "folders are nested deeper than 64")])
    region = layered("i=0; while [ $i -lt 60 ]; do mkdir d; cd d; i=$((i+1)); done")  # the positive control
    same(len(diff(region)), 60)
    drop(region)
    region = layered("for f in 1 2 3; do truncate -s 50m $f; done", "--scratch", "100m", "--file-size", "60m")  # holes count
    same(lethe("diff", region).code, 1)
    same(lethe("verify").code, 0)


@case
def by_policy_the_oldest_goes_and_diff_says_so():
    source(a="1\n")
    path = os.path.join(DIR, "keep.policy")
    with open(path, "w") as f:
        json.dump({"version": 1, "layers": {"keep": 2, "bytes": "1m"}}, f)
    regions = [layered("echo %d > a" % i, "--policy", path) for i in (7, 8, 9)]
    same(sorted(os.listdir(LAYERS)), sorted(regions[1:]))
    dropped = [e for e in log("--type", "layer.dropped") if e["region"] == regions[0]]
    same([e["reason"] for e in dropped], ["number"])
    for verb in ("diff", "apply"):
        r = lethe(verb, regions[0])
        check(r.code == 1 and b"was dropped at" in r.err and b"(number)" in r.err, r)
    r = lethe("ps", "-a", "--json")
    kept = {e["region"]: e.get("layer_bytes") for e in map(json.loads, r.out.splitlines())}
    same([kept[r] for r in regions], [None, 2, 2])
    big = layered("head -c 1048576 /dev/zero > b", "--policy", path)  # the newest stays, whatever it has
    same(os.listdir(LAYERS), [big])
    same([e["reason"] for e in log("--type", "layer.dropped") if e["region"] in regions[1:]], ["number", "bytes"])
    checks = [c for c in json.loads(lethe("doctor", "--json").out)["checks"] if c["name"] in ("layers", "overlay")]
    check(checks[0]["value"].startswith("1 of at most 64 kept, 1 MiB") and checks[1]["status"] == "ok" and checks[1]["value"].startswith("works above"), checks)
    with subprocess.Popen(["/bin/sleep", "1000"], pass_fds=[lock := os.open(os.path.join(LAYERS, big), os.O_RDONLY)]) as p:
        fcntl.flock(lock, fcntl.LOCK_SH)
        r = lethe("apply", big)
        check(r.code == 1 and b"in use by another lethe" in r.err, r)
        p.kill()
    os.close(lock)
    same(lethe("apply", big).code, 0)  # the positive control
    r = lethe("diff", big)
    check(r.code == 1 and b"was applied at" in r.err, r)
    same(lethe("verify").code, 0)


@case
def an_apply_that_was_killed_is_finished():
    """What a kill leaves: some paths as the layer has them, a temporary file beside another, the whole index."""
    source(a="1\n", b="1\n", d__x="1\n")
    region = layered("echo 2 > a; echo 2 > b; rm -r d; echo f > d; mkdir n; echo 3 > n/f")
    shutil.rmtree(os.path.join(SRC, "d"))
    with open(os.path.join(SRC, "a"), "w") as f:
        f.write("2\n")
    place = ".lethe-apply-%s-%s" % (region, hashlib.sha256(b"b").hexdigest()[:16])
    with open(os.path.join(SRC, place + "-new"), "w") as f:
        f.write("half")
    same(diff(region)["a"]["state"], "done")
    os.mkdir(os.path.join(SRC, "n"), 0o700)
    same(lethe("apply", region).code, 0)
    same({p.decode(): v[1] for p, v in tree(SRC).items()}, {"a": b"2\n", "b": b"2\n", "d": b"f\n", "n": None, "n/f": b"3\n"})
    region = layered("echo 3 > a")
    os.rename(os.path.join(LAYERS, region), os.path.join(LAYERS, ".old-" + region))  # a drop that was killed
    check(b"no layer of region" in lethe("diff", region).err, region)
    same(run("--exec", "/bin/true").code, 0)
    same(os.listdir(LAYERS), [])


@case
def a_kept_file_that_changed_is_not_applied():
    source(a="1\n")
    region = layered("echo 2 > a")
    with open(os.path.join(LAYERS, region, "1"), "w") as f:
        f.write("3\n")
    before = tree(SRC)
    same(lethe("apply", region).code, 1)
    same(tree(SRC), before)
    with open(os.path.join(LAYERS, region, "index"), "a") as f:
        f.write("added 0 f 644 1 1 - - 0 - ../out -\n")
    check(b"damaged" in lethe("diff", region).err, "index")
    drop(region)


@case
def the_policy_that_lets_read_lets_run_and_not_apply():
    source(a="1\n")
    path = os.path.join(DIR, "read.policy")
    with open(path, "w") as f:
        json.dump({"version": 1, "files": [{"path": SRC, "access": "read"}]}, f)
    region = layered("echo 2 > a", "--policy", path)
    before = tree(SRC)
    r = lethe("apply", "--policy", path, region)
    check(r.code == 1 and b"allows to write" in r.err, r)
    same(tree(SRC), before)
    same(lethe("apply", region).code, 0)  # the positive control: no policy file


@case
def tier_landlock_refuses():
    source(a="1\n")
    r = run("--tier", "landlock", "-v", SRC + ":/src:overlay", "--exec", "/bin/true")
    check(r.code == 125 and (b"layer above" in r.err or b"Landlock ABI" in r.err), r)


@case
def a_success_is_applied_and_a_failure_is_not():
    source(a="1\n")
    options = ("--apply", "success", "-v", SRC + ":/src:overlay", "-w", "/src", "--exec", SH, "-c")
    r = run(*options, "echo 2 > a; exit 3")
    same((r.code, tree(SRC)[b"a"][1]), (3, b"1\n"), r)
    drop(r.receipt["region"])
    r = run(*options, "echo 2 > a")
    same((r.code, r.out, tree(SRC)[b"a"][1], os.listdir(LAYERS)), (0, b"", b"2\n", []), r)
    r = run(*options, "echo 3 > a; mkfifo f")
    check(r.code == 125 and b"nothing is applied" in r.err, r)
    same(tree(SRC)[b"a"][1], b"2\n")
    drop(r.receipt["region"])
    same(lethe("run", "--apply", "always", "--exec", "/bin/true").code, 125)


@case
def here_is_a_layer_too():
    source(a="1\n")
    r = run("--here=overlay", "--exec", SH, "-c", "echo 2 > a; pwd", cwd=SRC)
    same((r.code, r.out), (0, SRC.encode() + b"\n"), r)
    same(set(diff(r.receipt["region"])), {"a"})
    drop(r.receipt["region"])


main()
