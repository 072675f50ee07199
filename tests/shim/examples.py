#!/usr/bin/python3
"""The example skills, each run by lethe over one store in tier namespaces and, where the kernel has it, in tier landlock, where /work is none of the
region's: every run sees what the one before it wrote. TAP.

usage: examples.py LETHE EXAMPLES C-PROGRAM
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from tiers import TIERS  # noqa: E402

lethe, examples, program = sys.argv[1:]
temp = tempfile.mkdtemp()  # below reap's own, which removes it
os.chmod(temp, 0o755)
env = {"PATH": "/usr/bin:/bin", "HOME": temp, "LETHE_STORE": temp + "/store", "LETHE_ANCHOR": temp + "/anchor", "LANG": "C.UTF-8"}
names = sorted(os.listdir(examples))
print("1..%d" % (len(TIERS) * len(names) + 1))
failed = 0
for i, name in enumerate(names * len(TIERS), 1):
    skill = "%s/%s" % (temp, name)
    if not os.path.exists(skill):
        shutil.copytree(examples + "/" + name, skill)
        if name == "count-c":
            shutil.copy(program, skill + "/count")
        if name == "count-python":  # delegate-python runs it as its sub-skill
            subprocess.run([lethe, "skill", "add", skill], env=env, stdout=subprocess.DEVNULL, check=True, timeout=60)
    tier = TIERS[(i - 1) // len(names)]
    p = subprocess.run([lethe, "run", "--tier", tier, "--receipt", temp + "/receipt", skill], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60)
    receipt = json.load(open(temp + "/receipt")) if os.path.exists(temp + "/receipt") else {}
    good = p.returncode == 0 and receipt.get("result") == {"runs": i} and receipt.get("outcome") == "exited"
    good = good and (name == "count-node" or receipt["denials"] == [])
    failed += not good
    print("%s %d - %s in tier %s, run %d" % ("ok" if good else "not ok", i, name, tier, i))
    if not good:
        print("# ended %d, result %s, denials %s, %s" % (p.returncode, receipt.get("result"), receipt.get("denials"), p.stderr.decode(errors="replace")[-600:].replace("\n", " | ")))
p = subprocess.run([lethe, "audit"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
failed += p.returncode != 0
print("%s %d - the audit of all that is clean" % ("not ok" if p.returncode else "ok", len(TIERS) * len(names) + 1))
if p.returncode:
    print("# " + p.stdout.decode().replace("\n", " | "))
sys.exit(1 if failed else 0)
