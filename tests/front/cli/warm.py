#!/usr/bin/env python3
"""Skills with "warm" through a daemon: what a region is, sees and leaves is as with an interpreter that is executed. I-1, I-2, I-3, I-12, I-21."""
import fnmatch
import json
import os
import re
import signal
import subprocess
import time

from tap import DIR, ENV, LETHE, case, check, log, main, run, same

CLEARED = ("cleared", "cleared_kernel")
SKILL = os.path.join(DIR, "warm-skill")
CODE = """
import json, os, random, re, signal, sqlite3, sys, time
way = sys.argv[1] if len(sys.argv) > 1 else "say"
if way == "say":
    print(json.dumps(["json" in sys.modules, __name__, __file__, os.getcwd(), os.getpid(), sys.path[0], sorted(os.environ)]))
elif way == "random":
    import ssl
    print(random.random(), ssl.RAND_bytes(8).hex(), sqlite3.connect(":memory:").execute("select random()").fetchone()[0])
elif way == "exit":
    sys.exit(3)
elif way == "fail":
    raise ValueError("on purpose")
elif way == "hold":
    json.secret = b"held by one region" * 1000
    open("/tmp/secret", "w").write("secret")
    print("ready", flush=True)
    time.sleep(100)
elif way == "look":
    assert not hasattr(json, "secret") and os.listdir("/tmp") == [] and not os.path.exists("/proc/self")
    for pid in range(3, 400):
        try:
            os.kill(pid, 0)
            sys.exit("there is a process %d" % pid)
        except ProcessLookupError:
            pass
    for fd in range(3, 300):
        try:
            os.fstat(fd)
            fd > 4 and sys.exit("there is a descriptor %d" % fd)
        except OSError:
            pass
elif way == "children":
    end, there = os.pipe()
    for i in range(30):
        if os.fork() == 0:
            own = bytes(200000)
            os.write(there, b"x")
            time.sleep(100)
    for i in range(30):
        os.read(end, 1)
elif way == "memory":
    bytearray(600 << 20)
"""


def make(warm):
    os.makedirs(SKILL, exist_ok=True)
    manifest = {"version": 1, "entry": {"main": ["python3", "/skill/main.py"]}}
    if warm:
        manifest["warm"] = {"preload": ["json", "random", "re", "sqlite3", "ssl"]}
    files = {"SKILL.md": "---\nname: warm-skill\ndescription: Says what it is.\n---\n", "main.py": CODE, "lethe.json": json.dumps(manifest)}
    for name, text in files.items():
        with open(os.path.join(SKILL, name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(os.path.join(SKILL, name), 0o644)
    os.chmod(SKILL, 0o755)
    os.chmod(DIR, 0o711)


def warm(*argv, grade=CLEARED, options=()):
    r = run("--quiet", *options, SKILL, *argv)
    check(r.receipt is not None and r.receipt["start"] == "warm", r)
    t = r.receipt["teardown"]
    check(t["grade"] in grade and t["counts"]["warm_bytes"] > 0 and t["bytes_held"] == t["bytes_overwritten"], r)
    return r


@case
def it_is_what_it_is_when_it_is_executed():
    make(False)
    cold = run("--quiet", SKILL)
    same((cold.code, cold.receipt["start"]), (0, "cold"), cold)
    make(True)
    same(run("--quiet", SKILL).out, cold.out)
    for _ in range(3):
        same(warm().out, cold.out)
    started = [e for e in log("--type", "region.allocated")][-1]
    same(started["start"], "warm", started)


@case
def each_folder_of_the_interpreters_modules_can_be_one_that_root_alone_writes():
    """With one that cannot, all of `site` runs in each region again: half of what a short region costs where python3-numpy is installed."""
    source = os.path.join(os.path.dirname(__file__), "../../../supervisor/isolation/spawn/template.c")
    with open(source, encoding="utf-8") as f:
        places = re.findall(r'"(/[^"]*)"', f.read().split('{"python3",')[1].split('{"perl",')[0])
    code = "import site, sys; print('\\n'.join(site.getsitepackages([sys.prefix, sys.exec_prefix])))"
    for folder in subprocess.run(["/usr/bin/python3", "-I", "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split():
        check(any(fnmatch.fnmatchcase(folder, place) for place in places), folder + " is none of " + " ".join(places))


@case
def it_ends_as_it_does_when_it_is_executed():
    same(warm("exit").code, 3)
    r = warm("fail")
    same((r.code, r.err.splitlines()[-1]), (1, b"ValueError: on purpose"), r)
    check(b"/lethe/warm" not in r.err, r)
    same(warm("memory", options=["--memory", "128m"]).receipt["outcome"], "out_of_region")
    same(warm("hold", options=["--timeout", "1s"]).receipt["outcome"], "timed_out")


@case
def what_is_random_is_so_in_each():
    seen = set()
    for _ in range(4):
        seen.update(warm("random").out.split())
    same(len(seen), 12, seen)


@case
def siblings_do_not_see_each_other():
    p = subprocess.Popen([LETHE, "run", "--quiet", "--timeout", "60s", SKILL, "hold"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=ENV)
    try:
        same(p.stdout.readline(), b"ready\n")
        for _ in range(2):
            r = warm("look")
            same(r.code, 0, r)
    finally:
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=60)


@case
def each_of_its_children_is_overwritten():
    t = warm("children").receipt["teardown"]
    check(t["counts"]["processes"] == 31 and t["bytes_overwritten"] > 30 * 200000, t)


@case
def what_it_gives_back_is_overwritten_under_multipass():
    t = warm(grade=("cleared_early", "cleared_kernel"), options=["--discipline", "multipass"]).receipt["teardown"]
    check(t["early"]["calls"] > 0 and t["early"]["missed"] == 0, t)


@case
def another_environment_of_the_interpreter_is_an_execution():
    r = run("--quiet", "-e", "PYTHONHASHSEED=7", SKILL)
    same((r.code, r.receipt["teardown"]["counts"]["exec_images"], r.receipt["teardown"]["grade"] in CLEARED), (0, 1, True), r)


main()
