#!/usr/bin/python3
"""Discipline multipass from outside: programs do what they do without it, the record says no more than was done, and a program that is hostile to
what overwrites its memory while it runs gains nothing. TAP.

usage: multipass.py LETHE RACER root|user
"""
import json
import os
import shutil
import signal
import struct
import subprocess
import sys

from account import use

use(sys.argv[3])

from tap import DIR, ENV, LETHE, STORE, Skip, alone, case, check, lethe, log, main, run, same, wait_runs  # noqa: E402
from tiers import TIERS  # noqa: E402

RACER = os.path.abspath(sys.argv[2])
PY = "/usr/bin/python3"
NODE = "/usr/bin/node"
os.chmod(DIR, 0o755)  # in tier landlock root's regions are those of another user

FREES = r"""
import ctypes, mmap, os, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
blocks = [bytearray(os.urandom(1) * (300 << 10)) for _ in range(200)]
del blocks[::2]
print(sum(b[-1] == b[0] for b in blocks))
m = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
m.write(b"x" * (1 << 20))
m.resize(1 << 16)
print(bytes(m[:4]), len(m))
m.resize(1 << 21)
print(bytes(m[65532:65536]), m[1 << 20])
m.close()
def work(n):
    for i in range(20):
        with open("t%d" % n, "wb") as f:
            f.write(b"y" * (64 << 10))
        with open("t%d" % n, "r+b") as f:
            f.truncate(1000)
        os.rename("t%d" % n, "u%d" % n)
        mmap.mmap(-1, 1 << 18).write(b"z" * (1 << 18))
    assert os.path.getsize("u%d" % n) == 1000
    os.unlink("u%d" % n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(sorted(os.listdir(".")))
print(subprocess.run(["/bin/sh", "-c", "echo $((6 * 7)); exec /bin/cat"], input=b"in\n", stdout=subprocess.PIPE).stdout)
pid = os.fork()
if pid == 0:
    del blocks
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), len(blocks), blocks[0][0] == blocks[0][-1])
"""
NODE_FREES = r"""
const cp = require('child_process'), fs = require('fs');
let keep = [];
for (let i = 0; i < 100; i++) { keep.push(Buffer.alloc(1 << 20, i)); if (keep.length > 10) keep.shift(); }
console.log(keep.map(b => b[b.length - 1]).join());
fs.writeFileSync('f', 'x'.repeat(1 << 20)); fs.truncateSync('f', 10); fs.renameSync('f', 'g'); fs.writeFileSync('g', 'yy');
console.log(fs.readFileSync('g', 'utf8')); fs.unlinkSync('g');
console.log(cp.execFileSync('/bin/echo', ['child']).toString());
Promise.all([1, 2, 3, 4].map(i => fs.promises.writeFile('p' + i, 'z'.repeat(99999)).then(() => fs.promises.unlink('p' + i))))
  .then(() => console.log(fs.readdirSync('.').length));
"""
SHELL = r"""
set -e
seq 20000 | sort -R | sort -n -S 1M -T . > sorted; tail -n 1 sorted; rm sorted
mkdir d; for i in 1 2 3 4 5; do echo $i > d/$i; done; tar cf a.tar d; rm -r d; tar xmf a.tar; cat d/*; rm -r d a.tar
echo one > f; sed -i 's/one/two/' f 2>/dev/null; cat f; : > f; wc -c < f; mkfifo p; cat p & echo through > p; wait; ls
"""
OTHERS = {
    "sqlite3": ["/bin/sh", "-c", "sqlite3 a.db 'create table t(x); insert into t values(1),(2); delete from t where x=1; vacuum; select * from t;"
                " pragma journal_mode=wal; insert into t values(3); select count(*) from t'; ls"],
    "git": ["/bin/sh", "-c", "export HOME=$PWD; git init -q r; cd r; git config user.email a@b; git config user.name a; echo x > f; git add f;"
            " git commit -qm one; echo y > f; git commit -qam two; git gc -q; git log --format=%s; git fsck --no-progress; git status --short"],
    "gcc": ["/bin/sh", "-c", "echo 'int main(void){return 0;}' > a.c; TMPDIR=$PWD gcc -pipe -O1 -o a a.c && TMPDIR=$PWD gcc -o b a.c; ls"],
}


def alike(*argv, tier, fails=False, must=True):
    """The same with and without; returns what the record says of multipass. fails: some execve fail, whose images count as missed. must: without,
    it succeeds."""
    plain, multi = (run("--tier", tier, "--memory", "512m", "--discipline", d, *argv) for d in ("zero", "multipass"))
    same((multi.code, multi.out), (plain.code, plain.out))
    check(plain.code == 0 and multi.err == plain.err or not must, plain, multi)
    t = multi.receipt["teardown"]
    e = t["early"]
    same(e["bytes"], e["overwritten"] + e["missed"])
    same(e["exec_failed"], 0, t)
    check(fails or e["missed"] == e["kept"], t)
    return t


def truth(t):
    """What of the record may not be better than what stands beside it."""
    e = t["early"]
    bad = e["missed"] > 0 or e["unheld"] > 0
    check(not (bad and t["grade"] == "cleared_early"), t)
    check(not bad or t["grade"] == "cleared_kernel" or {"freed_memory", "exec_arguments", "thread_races"} & set(t["not_covered"]), t)
    check(e["racing"] == 0 or e["unheld"] > 0, t)


@case
def python_with_threads_files_and_children():  # I-30
    for tier in TIERS:
        t = alike("--exec", PY, "-c", FREES, tier=tier)
        truth(t)
        check(t["early"]["calls"] > 100 and t["early"]["files"] >= 100 and t["early"]["unheld"] == 0, tier, t)


@case
def node_with_its_threads():  # I-30
    if not os.path.exists(NODE):
        raise Skip("no node")
    for tier in TIERS:
        t = alike("--exec", NODE, "-e", NODE_FREES, tier=tier)
        truth(t)
        check(t["early"]["bytes"] > 16 << 20 and t["early"]["unheld"] == 0, tier, t)


# Python takes a thread for over while it has yet to end. One that the end of its process meets on the way can be killed between its own exit and the
# stop at which its registers are taken, which is counted, and the grade is `partial`: here all of them are gone first.
THREADS = """
import threading, mmap, os, time
def f():
    for i in range(50): mmap.mmap(-1, 1 << 18).write(b'x' * (1 << 18))
t = [threading.Thread(target=f) for _ in range(4)]
for x in t: x.start()
for x in t: x.join()
for x in t:
    try:
        while os.sched_getaffinity(x.native_id): time.sleep(0.001)
    except ProcessLookupError:
        pass
"""


@case
def what_has_many_threads_can_be_cleared_early():  # I-30
    programs = [[PY, "-c", THREADS]]
    if os.path.exists(NODE):
        programs.append([NODE, "-e", "let a = []; for (let i = 0; i < 50; i++) a[i % 5] = Buffer.alloc(1 << 20, i)"])
    for p in programs:
        t = run("--memory", "512m", "--discipline", "multipass", "--exec", *p).receipt["teardown"]
        check(t["grade"] in ("cleared_early", "cleared_kernel") and t["early"]["bytes"] > 4 << 20, t)


@case
def programs_of_others():  # I-30
    for tier in TIERS:
        truth(alike("--exec", "/bin/sh", "-c", SHELL, tier=tier))
        for name, argv in OTHERS.items():
            if shutil.which(name, path="/usr/bin"):
                truth(alike("--exec", *argv, tier=tier, must=tier == "namespaces"))  # git changes modes, which tier landlock denies


def elf(machine=62, interp=b"", phnum=1):
    """A file that begins as a program."""
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, machine, 1, 0x400000, 64, 0, 0, 64, 56, phnum, 0, 0, 0)
    return head + (struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(interp), len(interp), 1) + interp if phnum else b"")


TRIES = r"""
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
secret = bytearray(b"still here" * 100000)
def tell(name):
    print(name, errno.errorcode[ctypes.get_errno()], secret == b"still here" * 100000, flush=True)
def call(path, args=(b"x",), env=()):
    argv = (ctypes.c_char_p * (len(args) + 1))(*args, None)
    envp = (ctypes.c_char_p * (len(env) + 1))(*env, None)
    libc.execve(path, argv, envp)
SKILL = os.path.dirname(sys.argv[0]).encode()  # in tier landlock a folder of the host
for name in ("missing", "plain.txt", "noexec", "garbage", "script", "machine", "interp", "short", "dir", "none"):
    call(SKILL + b"/" + name.encode())
    tell(name)
call(b"/bin/true/x"); tell("not a folder")
call(b"/bin/true", [b"a" * (1 << 17)]); tell("one too long")
call(b"/bin/true", [b"a" * 100000] * 40); tell("all too long")
call(b"/" + b"x/" * 3000); tell("name too long")
libc.execve(b"/bin/true", ctypes.c_void_p(8), None); tell("no arguments there")
libc.execve(ctypes.c_void_p(8), None, None); tell("no name there")
fd = os.open(SKILL, os.O_RDONLY)
libc.syscall(322, fd, b"missing", None, None, 0); tell("execveat")
libc.syscall(322, fd, b"garbage", None, None, 0); tell("execveat garbage")
fd = os.open(SKILL + b"/garbage", os.O_RDONLY)
libc.syscall(322, fd, b"", None, None, 0x1000); tell("execveat of a descriptor")
libc.syscall(322, fd, b"", None, None, 0x7000); tell("execveat of flags that are none")
os.write(os.open("own", os.O_CREAT | os.O_WRONLY, 0o755), b"#!/nowhere\n")
call(b"own"); tell("own")
call(b"/bin/echo", [b"echo", b"at last", b"b" * 5000])
"""


def skill(name, files, **manifest):
    d = os.path.join(DIR, name)
    os.makedirs(d, exist_ok=True)
    texts = {"SKILL.md": "---\nname: %s\ndescription: A test.\n---\n" % name,
             "lethe.json": json.dumps(dict({"version": 1, "entry": {"main": [PY, "/skill/main.py"]}}, **manifest))}
    for file, text in dict(texts, **files).items():
        with open(os.path.join(d, file), "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(os.path.join(d, file), 0o644 if file.endswith((".md", ".json", ".txt")) else 0o755)
    return d


@case
def an_execve_that_fails_takes_nothing():  # I-30
    d = skill("tries", {"main.py": TRIES, "plain.txt": "x", "noexec": "x", "garbage": "neither this nor that",
                        "script": "#!/nowhere/at-all\n", "machine": elf(machine=3), "interp": elf(interp=b"/nowhere/ld.so\0"), "short": elf()[:70],
                        "none": elf(phnum=0)}, min_tier="landlock")
    os.makedirs(os.path.join(d, "dir"), exist_ok=True)
    os.chmod(os.path.join(d, "noexec"), 0o644)
    for tier in TIERS:
        t = alike(d, tier=tier, fails=True)
        truth(t)
        check(t["early"]["images"] >= 1 and t["early"]["kept"] > 5000, t)


@case
def an_execve_that_fails_too_late_ends_its_process():  # I-30
    with open("/bin/true", "rb") as f:
        d = skill("late", {"main.py": "import os, sys\ntry:\n    os.execv('/skill/program', ['x'])\nexcept OSError as e:\n    print(e.errno, flush=True)\n"
                           "sys.exit(9)\n", "program": f.read()})
    first = run(d)
    same(first.code, 0, first)
    program = os.path.join(STORE, "skills", first.receipt["skill"]["digest"].replace(":", "-"), "program")  # the copy that regions see
    os.chmod(program, 0o755)
    with open(program, "r+b"):  # the kernel runs no program that is open for writing
        zero = run("--discipline", "zero", d)
        same((zero.code, zero.out), (9, b"26\n"), zero)
        r = run("--discipline", "multipass", d)
    same((r.code, r.out, r.receipt["outcome"], r.receipt["signal"]), (137, b"", "signaled", 9), r)
    same(r.receipt["teardown"]["early"]["exec_failed"], 1, r)
    check(b"execve failed" in r.err, r.err)
    truth(r.receipt["teardown"])


@case
def what_only_the_region_can_resolve_is_not_claimed():  # I-30
    if "namespaces" not in TIERS:
        raise Skip("no namespaces")
    for what, good in (("open('new', 'w').write('x' * 5000); os.unlink('new')", True),
                       ("open('new', 'w').write('x' * 5000); os.unlink('/proc/self/cwd/new')", False),
                       ("f = open('new', 'w'); f.write('x' * 5000); f.flush(); open('/proc/self/fd/%d' % f.fileno(), 'w')", False),
                       ("os.symlink('/proc/self/cwd/new', 'link'); open('new', 'w').write('x' * 5000); open('link', 'w')", False),
                       ("open('new', 'w').write('x' * 5000); os.execv('/proc/self/exe', ['python3', '-c', ''])", False)):
        t = run("--tier", "namespaces", "--proc", "--discipline", "multipass", "--exec", PY, "-c", "import os\n" + what).receipt["teardown"]
        truth(t)
        same(t["grade"] in ("cleared_early", "cleared_kernel"), good or t["kernel"]["init_on_free"], what, t)


@case
def a_program_that_races_gains_nothing():  # I-30
    outside = os.path.join(DIR, "outside")
    os.makedirs(outside, exist_ok=True)
    for way in ("munmap", "mremap", "fork", "names", "cut", "exec", "stop", "fifo"):
        for tier in TIERS:
            for name in ("kept", "other"):
                with open(os.path.join(outside, name), "wb") as f:
                    f.write(b"the operator's own\n" * 5000)
                os.chmod(os.path.join(outside, name), 0o666)
            os.chmod(outside, 0o777)
            place = outside if tier == "landlock" else "/outside"
            r = run("--tier", tier, "--discipline", "multipass", "--timeout", "60s", "--memory", "256m", "--pids-limit", "64", "-v",
                    "%s:%s:rw" % (outside, place), "--exec", RACER, way, "=" + place)  # a path would be changed to one of scratch
            same(r.code, 0, way, tier, r)
            truth(r.receipt["teardown"])
            for name in ("kept", "other"):
                with open(os.path.join(outside, name), "rb") as f:
                    same(f.read(), b"the operator's own\n" * 5000, way, tier, name)


def killed_twice(way, t):
    """The program kills its own child just when the region's end kills it again: the second kill can cut short the stop at which the child's registers
    are taken. Such a one is counted and the grade is `partial`; every byte that was held is overwritten all the same."""
    return way == "stop" and t["grade"] == "partial" and t["counts"]["registers_missed"] == 1 and not t["bytes_missed"]


@case
def an_end_in_the_middle_of_it_is_an_end():  # I-12, I-30, I-34
    races = 0  # only counted: what is asserted holds for each
    for way in ("munmap", "cut", "stop"):
        for ms in (20, 60, 120):
            r = run("--discipline", "multipass", "--timeout", "%dms" % ms, "--memory", "256m", "--pids-limit", "64",
                    "--exec", RACER, way, "=/")
            t = r.receipt["teardown"]
            check((r.code, r.receipt["outcome"]) in ((124, "timed_out"), (0, "exited")), way, ms, r)
            race = killed_twice(way, t)
            races += race
            check((t["grade"].startswith("cleared") or race) and t["bytes_held"] == t["bytes_overwritten"], way, ms, t)
            truth(t)
    print("# %d were killed twice" % races)


@case
@alone
def the_death_of_the_supervisor_in_the_middle_of_it_leaves_nobody():  # I-30, I-60
    for way in ("munmap", "cut", "stop"):
        p = subprocess.Popen([LETHE, "run", "--discipline", "multipass", "--memory", "256m", "--pids-limit", "64", "--exec",
                              RACER, way, "=/", "for-ever"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENV)
        wait_runs(p, "racer")  # before, nothing may be there that a guard could overwrite
        p.kill()
        p.wait()
        same(p.returncode, -signal.SIGKILL, way)
        same(lethe("run", "--exec", "/bin/true").code, 0)
        region = log("--type", "region.recovered")[-1]["region"]
        released = [e for e in log("--region", region) if e["type"] == "region.released"][0]
        t = released["teardown"]
        same((t["by"], t["bytes_held"]), ("guard", t["bytes_overwritten"]), way, released)
        check(t["grade"].startswith("cleared") or killed_twice(way, t), way, released)


@case
def bad_disciplines_are_told_apart():  # I-32
    for value in ("multipass:0", "multipass:17", "multipass:", "multipass:x", "multipass:+3", "multipass:3 ", "Multipass", "zero:2", "", "none:1"):
        r = lethe("run", "--discipline", value, "--exec", "/bin/true")
        check(r.code == 125 and b"--discipline" in r.err and (value.encode() or b'""') in r.err and b"1 to 16" in r.err, value, r)
        d = skill("bad", {"main.py": ""}, teardown={"discipline": value})
        r = lethe("run", d)
        check(r.code == 125 and b"teardown/discipline" in r.err and value.encode() in r.err, value, r)
    for value, passes in (("multipass", 3), ("multipass:1", 1), ("multipass:16", 16), ("zero", 1)):
        t = run("--discipline", value, "--exec", "/bin/true").receipt["teardown"]
        same((t["discipline"], t["passes"]), (value.partition(":")[0], passes))


@case
def none_is_for_trusted_skills():  # I-31
    d = skill("lax", {"main.py": "print('ran')"}, teardown={"discipline": "none"})
    for argv in (("run", d), ("run", "--discipline", "none", "--exec", "/bin/true"), ("skill", "add", d), ("run", "--dry-run", d)):
        r = lethe(*argv)
        check(r.code != 0 and b"trusted" in r.err + r.out and b"ran" not in r.out, argv, r)


main()
