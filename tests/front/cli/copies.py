#!/usr/bin/python3
"""I-65, from outside: the bytes that a region has of its skill, or as its program, are those of the digest in its record. TAP.

usage: copies.py LETHE root|user
"""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading

from account import use

use(sys.argv[2])

import tiers  # noqa: E402
from tap import DIR, ENV, LETHE, ROOT, STORE, Skip, alone, case, check, lethe, log, main, run, same  # noqa: E402

os.chmod(DIR, 0o755)
PYTHON = "/usr/bin/python3"
COPIES = os.path.join(STORE, "skills")
PROGRAMS = os.path.join(STORE, "programs")
# The digest of schema/manifest.md, over what the region itself has.
DIGEST = """
import hashlib, json, os
def digest(top):
    rows = []
    for folder, folders, files in os.walk(top):
        for name in files + [f for f in folders if os.path.islink(os.path.join(folder, f))]:
            path = os.path.join(folder, name)
            link = os.path.islink(path)
            data = os.readlink(path).encode() if link else open(path, "rb").read()
            rows.append({"path": os.path.relpath(path, top), "link": link, "executable": not link and bool(os.stat(path).st_mode & 0o111),
                         "bytes": len(data), "digest": "sha256:" + hashlib.sha256(data).hexdigest()})
    rows.sort(key=lambda r: r["path"].encode())
    return "sha256:" + hashlib.sha256(json.dumps(rows, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()).hexdigest()
"""
exec(DIGEST)
TOP = "import os, sys\nsys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\ntop = os.path.dirname(os.path.abspath(__file__))\n"
# Tells what it is, waits until the folder was changed, and tells again: what it sees, and what a file of its own folder does that it reads only now.
WAITS = TOP + DIGEST + """
print(digest(top), flush=True)
sys.stdin.readline()
exec(open(os.path.join(top, "mod.py")).read())
print(digest(top), flush=True)
"""
TELLS = TOP + DIGEST + "print(digest(top))\n"


def folder(name, main, mode=0o755, manifest=None, **files):
    d = os.path.join(DIR, name)
    os.makedirs(d, mode=mode)
    files = dict({"main.py": main, "mod.py": 'print("GOOD")\n', "SKILL.md": "---\nname: %s\ndescription: A test.\n---\n" % name}, **files)
    files["lethe.json"] = json.dumps(dict({"version": 1, "entry": {"main": [PYTHON, "/skill/main.py"]}}, **(manifest or {})))
    for file, text in files.items():
        with open(os.path.join(d, file), "w", encoding="utf-8") as f:
            f.write(text)
    return d


def start(*argv):
    p = subprocess.Popen([LETHE, "run", "--receipt", os.path.join(DIR, "waits.json"), *argv], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    return p, p.stdout.readline().strip()


def end(p):
    out, err = p.communicate("go\n", timeout=60)
    same(p.returncode, 0, err)
    with open(os.path.join(DIR, "waits.json"), encoding="utf-8") as f:
        return out.split(), json.load(f)


def change(d):
    """In place, by another file, by a file more, by a mode, and by another folder in its place."""
    with open(os.path.join(d, "mod.py"), "w", encoding="utf-8") as f:
        f.write('print("EVIL")\n')
    with open(os.path.join(d, "more.py"), "w", encoding="utf-8") as f:
        f.write("")
    os.chmod(os.path.join(d, "main.py"), 0o755)
    os.rename(d, d + ".old")
    shutil.copytree(d + ".old", d)


def late(*argv, d):
    before = digest(d)
    p, first = start(*argv)
    change(d)
    (word, last), receipt = end(p)
    same((first, word, last), (before, "GOOD", before))
    same(receipt["skill"]["digest"], before)
    same([e["skill"]["digest"] for e in log("--region", receipt["region"], "--type", "region.allocated")], [before])
    return receipt["region"]


@case
def without_lethe_what_runs_is_what_was_changed():
    """The positive control."""
    d = folder("bare", WAITS)
    p = subprocess.Popen([PYTHON, os.path.join(d, "main.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    first = p.stdout.readline().strip()
    change(d)
    word, last = p.communicate("go\n", timeout=60)[0].split()
    check(word == "EVIL" and last != first, word, last, first)


@case
def a_folder_that_changes_while_it_runs_is_no_matter():  # I-65
    d = folder("late", WAITS)
    late(d, d=d)


@case
def nor_is_that_of_a_registered_skill():  # I-65
    d = folder("registered", WAITS)
    same(lethe("skill", "add", d).code, 0)
    late("registered", d=d)
    r = run("registered")
    check(r.code == 125 and b"differs from its registration" in r.err, r)


@case
def nor_in_tier_landlock():  # I-65
    if "landlock" not in tiers.TIERS:
        raise Skip(tiers.WHY_NOT)
    d = folder("rules", WAITS, manifest={"min_tier": "landlock"})
    region = late("--tier", "landlock", d, d=d)
    left = [f for f in os.listdir("/tmp") if region in f]
    same(left, [])


@case
def nor_in_a_sub_skill_and_a_callback():  # I-65
    d = folder("below", WAITS, manifest={"sub_skills": ["under"], "release": [{"entry": "end"}], "cancel_bound": "9s",
                                         "entry": {"main": [PYTHON, "/skill/above.py"], "end": [PYTHON, "/skill/tells.py"]}},
               **{"tells.py": TOP + DIGEST + "print(digest(top), file=sys.stderr)\n", "above.py": TOP + DIGEST + """
import lethe
print(digest(top), flush=True)
sys.stdin.readline()
print(lethe.run("under")["output"].strip(), digest(top))
"""})
    under = folder("under", TELLS)
    same(lethe("skill", "add", under).code, 0)
    before, of_under = digest(d), digest(under)
    p, first = start(d)
    change(d)
    out, err = p.communicate("go\n", timeout=60)
    same((p.returncode, first, out.split()), (0, before, [of_under, before]), err)
    check(before in err, err)  # the callback's word


@case
def whatever_is_swapped_when_the_record_is_true():  # I-65
    """No order of events is asked for: each run that was admitted has the digest of its record, however often the folder changed."""
    d = folder("swapped", TELLS)
    over, swaps, path = threading.Event(), [0], os.path.join(d, "mod.py")

    def swap():
        while not over.is_set():
            swaps[0] += 1
            text = "# %d\n" % (swaps[0] % 7) * 2000
            if swaps[0] % 2:
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            else:
                with open(path + ".new", "w", encoding="utf-8") as f:
                    f.write(text)
                os.rename(path + ".new", path)
            over.wait(0.003)
    t = threading.Thread(target=swap)
    t.start()
    ran = refused = 0
    try:
        for _ in range(25):
            r = run(d)
            if r.code == 125:
                check(b"changed while it was read" in r.err, r)
                refused += 1
                continue
            same((r.code, r.out.decode().strip()), (0, r.receipt["skill"]["digest"]), r)
            ran += 1
    finally:
        over.set()
        t.join()
    print("# %d swaps, %d ran, %d refused" % (swaps[0], ran, refused))


def program(name, text):
    path = os.path.join(DIR, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return path


def sha256(path):
    with open(path, "rb") as f:
        return "sha256:" + hashlib.sha256(f.read()).hexdigest()


SELF = '#!/bin/sh\nsha256sum < "$0"\nread x\nsha256sum < "$0"\nexit 0\n'


@case
def a_program_that_changes_while_it_runs_is_no_matter():  # I-65
    for tier in tiers.TIERS:
        options = ["--tier", "landlock"] if tier == "landlock" else []
        if options:
            with open(os.path.join(DIR, "policy.json"), "w", encoding="utf-8") as f:
                f.write('{"version": 1, "min_tier": "landlock"}')
            options += ["--policy", os.path.join(DIR, "policy.json")]
        path = program("program-" + tier, SELF)
        before = sha256(path)
        p, first = start(*options, "--exec", path)
        with open(path, "r+", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho EVIL; exit 0\n")
        os.rename(path, path + ".old")
        shutil.copy(path + ".old", path)
        out, err = p.communicate("go\n", timeout=60)
        same((p.returncode, "sha256:" + first.split()[0], "sha256:" + out.split()[0]), (0, before, before), err)
        with open(os.path.join(DIR, "waits.json"), encoding="utf-8") as f:
            same(json.load(f)["skill"]["digest"], before)
        r = run(*options, "--exec", path)
        same((r.code, r.out, r.receipt["skill"]["digest"]), (0, b"EVIL\n", sha256(path)), r)


@case
def whatever_program_is_swapped_when_the_record_is_true():  # I-65
    path = program("swapped-program", "#!/bin/sh\nsha256sum < $0\n#\n")
    over, swaps = threading.Event(), [0]

    def swap():
        while not over.is_set():
            swaps[0] += 1
            with open(path, "r+", encoding="utf-8") as f:
                f.seek(0, 2)
                f.write("#%d\n" % swaps[0])
            over.wait(0.003)
    t = threading.Thread(target=swap)
    t.start()
    try:
        for _ in range(25):
            r = run("--exec", path)
            same((r.code, "sha256:" + r.out.decode().split()[0]), (0, r.receipt["skill"]["digest"]), r)
    finally:
        over.set()
        t.join()
    print("# %d swaps" % swaps[0])


@case
def only_what_only_root_writes_is_run_where_it_is():  # I-65
    had = os.listdir(PROGRAMS)
    same(run("--exec", "/bin/true").code, 0)
    same(os.listdir(PROGRAMS), had)
    r = run("--dry-run", "--exec", program("shown", "#!/bin/sh\n"))
    same(r.code, 0, r)
    same(os.listdir(PROGRAMS), had)


@case
def a_secret_folder_stays_secret():  # I-65
    d = folder("secret", TELLS, mode=0o700)
    for f in os.listdir(d):
        os.chmod(os.path.join(d, f), 0o600)
    r = run(d)
    same((r.code, r.out.decode().strip()), (0, r.receipt["skill"]["digest"]), r)
    for path in (STORE, COPIES, PROGRAMS):
        same(os.stat(path).st_mode & 0o077, 0, path)


@case
def what_is_no_copy_is_damage():  # I-65: a FIFO or a link in the place of a copy is told, and is no error of the command
    name = "sha256-" + "0" * 64
    for place, folders in ((os.path.join(COPIES, name), COPIES), (os.path.join(PROGRAMS, name), PROGRAMS)):
        os.makedirs(folders, 0o700, exist_ok=True)
        for make in (os.mkfifo, lambda p: os.symlink("/tmp", p)):
            make(place)
            for verb in ("verify", "audit"):
                v = lethe(verb)
                check(v.code == 1 and (place.encode() if verb == "verify" else b"a copy of a skill") in v.out, verb, v)
            os.unlink(place)
    os.rename(PROGRAMS, PROGRAMS + ".away")
    os.mkfifo(PROGRAMS)
    v = lethe("verify")
    check(v.code == 1 and PROGRAMS.encode() in v.out, v)
    os.unlink(PROGRAMS)
    os.rename(PROGRAMS + ".away", PROGRAMS)
    same(lethe("verify").code, 0)


def copy_of(digest):
    return os.path.join(COPIES, digest.replace(":", "-"))


@case
def verify_reads_the_copies_again():  # I-65
    d = folder("verified", TELLS)
    r = run(d)
    copy = copy_of(r.receipt["skill"]["digest"])
    v = lethe("verify", "--json")
    same((v.code, json.loads(v.out)["intact"]), (0, True), v)
    check(json.loads(v.out)["copies"]["number"] >= 1, v)
    os.chmod(os.path.join(copy, "mod.py"), 0o644)
    with open(os.path.join(copy, "mod.py"), "a", encoding="utf-8") as f:
        f.write("#")
    v = lethe("verify")
    check(v.code == 1 and copy.encode() in v.out, v)
    r = run(d)
    check(r.code == 125 and b"was changed" in r.err and copy.encode() in r.err, r)
    subprocess.run(["chmod", "-R", "u+w", copy], check=True)
    shutil.rmtree(copy)
    r = run(d)
    same((r.code, r.out.decode().strip()), (0, r.receipt["skill"]["digest"]), r)
    same(lethe("verify").code, 0)


@case
@alone
def compact_keeps_what_is_used():  # I-65
    store = os.path.join(DIR, "small-store")
    env = {"LETHE_STORE": store, "LETHE_ANCHOR": os.path.join(DIR, "small-anchor")}
    kept, other = folder("kept", TELLS), folder("other", TELLS)
    same(lethe("skill", "add", kept, env=env).code, 0)
    same([run(x, env=env).code for x in ("kept", other)], [0, 0])
    same(run("--exec", program("unkept", "#!/bin/sh\n"), env=env).code, 0)
    # A region whose supervisor died is still to be finished: by its copy.
    d = folder("finished", WAITS, manifest={"cancel_bound": "9s", "release": [{"entry": "end"}], "entry": {"main": [PYTHON, "/skill/main.py"], "end": ["/bin/echo", "ended"]}})
    p = subprocess.Popen([LETHE, "run", d], env=dict(ENV, **env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    p.send_signal(signal.SIGKILL)
    p.communicate(timeout=60)
    r = lethe("compact", "--json", env=env)
    copies = json.loads(r.out)["copies"]
    same((r.code, copies["kept"], copies["removed"]), (0, 2, 2), r)
    check(copies["bytes_removed"] > 0, r)
    same(sorted(os.listdir(os.path.join(store, "skills"))), sorted(digest(x).replace(":", "-") for x in (kept, d)))
    same([run(x, env=env).code for x in ("kept", other)], [0, 0])
    r = lethe("compact", env=env)
    check(r.code == 0 and b"copies of skills and programs: 1 kept" in r.out, r)


@case
@alone
def without_room_nothing_is_half_done():  # I-65
    d = folder("large", TELLS, **{"data": "x" * 3000000})
    store = os.path.join(DIR, "full-store")
    env = {"LETHE_STORE": store, "LETHE_ANCHOR": os.path.join(DIR, "full-anchor")}
    same(lethe("slot", "list", env=env).code in (0, 1), True)
    same(run("--exec", "/bin/true", env=env).code, 0)
    r = subprocess.run(["prlimit", "--fsize=2000000", LETHE, "run", d], env=dict(ENV, **env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN), check=False)
    check(r.returncode == 125 and b"cannot be copied into the store" in r.stderr, r)
    same(os.listdir(os.path.join(store, "skills")), [])
    same(run(d, env=env).code, 0)


@case
def the_audit_holds():
    for verb in ("audit", "verify"):
        r = lethe(verb)
        same(r.code, 0, r)


main()
