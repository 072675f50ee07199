#!/usr/bin/python3
"""What one invocation is to another, from outside: regions of their own, released before the end is recorded, the same for every kind of skill.
TAP.

usage: isolation.py LETHE
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, run, same  # noqa: E402

PY = "/usr/bin/python3"
MARK = "mark-5b1c9e"


def skill(name, manifest, files):
    d = os.path.join(DIR, name)
    os.makedirs(d)
    with open(os.path.join(d, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
    with open(os.path.join(d, "lethe.json"), "w", encoding="utf-8") as f:
        json.dump(dict({"version": 1}, **manifest), f)
    for file, text in files.items():
        with open(os.path.join(d, file), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(os.path.join(d, file), 0o755)
    return d


def events(region):
    return {e["type"]: e for e in log("--region", region)}


@case
def two_invocations_at_once_share_nothing():  # I-1
    looker = skill("looker", {"entry": {"main": ["look.sh"]}}, {"look.sh": """#!/bin/sh
echo %s-$1 > /work/mine
echo %s-$1 > /tmp/mine
read -r go
cat /work/* /tmp/*
""" % (MARK, MARK)})
    both = [subprocess.Popen([LETHE, "run", "--receipt", "%s/both-%d.json" % (DIR, i), looker, "--", str(i)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) for i in (0, 1)]
    while len(lethe("ps", "--json").out.splitlines()) != 2:
        check(all(p.poll() is None for p in both), *[p.communicate() for p in both if p.poll() is not None])
    for i, p in enumerate(both):
        out, err = p.communicate(b"go\n", timeout=60)
        same((p.returncode, out, err), (0, b"%s-%d\n" % (MARK.encode(), i) * 2, b""))
    regions = []
    for i in (0, 1):
        with open("%s/both-%d.json" % (DIR, i), encoding="utf-8") as f:
            regions.append(json.load(f)["region"])
    check(regions[0] != regions[1], regions)
    for region in regions:
        types = [e["type"] for e in log("--region", region)]
        same((types.count("region.allocated"), types.count("region.released"), types.count("invocation.ended")), (1, 1, 1), types)


@case
def what_two_runs_held_was_cleared_each_time():  # I-29: whole, also what no program asked for
    hoarder = skill("hoarder", {"entry": {"main": ["/bin/sh", "-c", "head -c 300000 /dev/urandom > /work/f; cat /work/f | wc -c"]}}, {})
    for _ in range(2):
        r = run(hoarder)
        same(r.code, 0, r)
        t = r.receipt["teardown"]
        check(t["discipline"] == "zero" and t["grade"].startswith("cleared"), t)
        check(t["bytes_verified"] == t["bytes_overwritten"] == t["bytes_held"] > 300000, t)


@case
def teardown_is_done_when_the_call_returns_and_always_the_same():  # I-14
    mark = "100.%d" % os.getpid()  # seconds that nothing else on this machine sleeps
    tree = "for i in 1 2 3; do (sleep %s & echo x > /work/$i; sleep %s) & done; (setsid sleep %s &); echo up" % (mark, mark, mark)
    seen = []
    for _ in range(3):
        r = run("--exec", "/bin/sh", "-c", tree)
        same(r.code, 0, r)
        left = [p for p in os.listdir("/proc") if p.isdigit() and b"sleep\x00%s\x00" % mark.encode() == read("/proc/%s/cmdline" % p)]
        same(left, [], "processes of the region")
        t = r.receipt["teardown"]
        seen.append(([e["type"] for e in log("--region", r.receipt["region"])], t["grade"], t["discipline"], sorted(t["not_covered"]), t["passes"]))
        check(not any(os.scandir(os.path.join(STORE, "scratch"))) if os.path.isdir(os.path.join(STORE, "scratch")) else True, "scratch is left")
    check(seen[0] == seen[1] == seen[2], seen)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


@case
def a_slot_outlives_its_region_and_working_state_does_not():  # I-19
    keeper = skill("keeper", {"entry": {"main": [PY, "/skill/k.py"]}, "writes": ["kept"], "slots": {"kept": {"type": "string"}}},
                   {"k.py": "import lethe\nopen('/work/not-kept', 'w').write('x')\nlethe.write('kept', '%s')\n" % MARK})
    reader = skill("reader", {"entry": {"main": [PY, "/skill/r.py"]}, "reads": ["kept"]},
                   {"r.py": "import lethe, os\nprint(lethe.read('kept'), os.listdir('/work'))\n"})
    wrote = run(keeper)
    same(wrote.code, 0, wrote)
    check("region.released" in events(wrote.receipt["region"]))
    for _ in range(2):
        got = run(reader)
        same((got.code, got.out.decode()), (0, "%s []\n" % MARK), got)
    same(json.loads(lethe("slot", "get", "kept").out), MARK)


class Provider(threading.Thread):
    """Stands for a model's provider: counts what it is asked."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                c, _ = self.socket.accept()
            except OSError:
                return
            with c:
                self.asked.append(c.recv(1000))
                c.sendall(b"the answer to " + self.asked[-1])


ASK = """import socket, sys
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
c.sendall(b"pro" + b"mpt")  # the store keeps this file, and not what it says
print(c.recv(1000).decode())
"""


@case
def a_repeated_prompt_reaches_the_provider_again():  # I-58
    p = Provider()
    asker = skill("asker", {"entry": {"main": [PY, "/skill/ask.py"]}, "network": {"connect": ["127.0.0.1:%d" % p.port]}},
                  {"ask.py": ASK})
    options = ["--connect", "127.0.0.1:%d" % p.port]
    for n in (1, 2, 3):
        r = run(*options, asker, "--", p.port)
        same((r.code, r.out), (0, b"the answer to prompt\n"), r)
        same(p.asked, [b"prompt"] * n)
    p.socket.close()
    left = subprocess.run(["grep", "-rlaE", "the answer to|\\bprompt\\b", STORE], stdout=subprocess.PIPE, check=False).stdout
    same(left, b"", "the store holds what was said")


@case
def every_kind_of_skill_gets_the_same():  # I-61
    p = Provider()
    kinds = {
        "classical": skill("classical", {"entry": {"main": ["/bin/sh", "-c", "echo 42"]}}, {}),
        "interpreted": skill("interpreted", {"entry": {"main": [PY, "-c", "print(6 * 7)"]}}, {}),
        "model": skill("model", {"entry": {"main": [PY, "/skill/ask.py", str(p.port)]},
                                 "network": {"connect": ["127.0.0.1:%d" % p.port]}}, {"ask.py": ASK}),
        "hybrid": skill("hybrid", {"entry": {"main": ["/bin/sh", "-c", "%s /skill/ask.py %d && expr 6 '*' 7" % (PY, p.port)]},
                                   "network": {"connect": ["127.0.0.1:%d" % p.port]}}, {"ask.py": ASK}),
    }
    if shutil.which("node", path="/usr/bin"):
        kinds["node"] = skill("node", {"entry": {"main": ["/usr/bin/node", "-e", "console.log(42)"]}, "budgets": {"memory": "512m"}}, {})
    got = {}
    for kind, folder in kinds.items():
        options = ["--connect", "127.0.0.1:%d" % p.port] if kind in ("model", "hybrid") else []
        r = run(*options, folder)
        same(r.code, 0, kind, r)
        t = r.receipt["teardown"]
        same([e["type"] for e in log("--region", r.receipt["region"]) if e["type"] != "region.denied"],
             ["region.allocated", "region.released", "invocation.ended"], kind)
        check(t["bytes_verified"] == t["bytes_held"] > 0, kind, t)
        got[kind] = (t["discipline"], t["grade"], t["not_covered"])
    p.socket.close()
    check(all(v == got["classical"] for v in got.values()), got)


main()
