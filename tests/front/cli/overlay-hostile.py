#!/usr/bin/python3
"""Attacks on layers above folders of the host (A-16): by the region that writes them, and by programs that change the folder during an apply. TAP.

usage: overlay-hostile.py LETHE [KILL-AT] root|user

Each case has its positive control: the same without the attack works."""
import fcntl
import json
import os
import shutil
import socket
import stat
import subprocess
import sys

from account import use

KILL_AT = os.path.abspath(sys.argv[2] if len(sys.argv) > 3 else os.path.join(os.path.dirname(sys.argv[1]), "tests/system/kill-at"))
use(sys.argv[-1])

from screen import Terminal  # noqa: E402
from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, run, same  # noqa: E402
from trees import make, tree  # noqa: E402

PYTHON = "/usr/bin/python3"
SRC = os.path.join(DIR, "src")
OUT = os.path.join(DIR, "out")
LAYERS = os.path.join(STORE, "layers")
STEP = 1 if os.environ.get("LETHE_KILL_ALL") == "1" else 7
os.chmod(DIR, 0o755)


def layered(text, *options, code=0, **kw):
    before = tree(SRC)
    r = run(*options, "-v", SRC + ":/src:overlay", "-w", "/src", "--exec", PYTHON, "-c", "import ctypes, errno, os, socket, stat\n" + text, **kw)
    same(r.code, code, r)
    same(tree(SRC), before, r)
    return r.receipt["region"], r.out.decode().split()


def entries(region):
    r = lethe("diff", "--json", region)
    same(r.code, 0, r)
    return json.loads(r.out)["entries"]


def drop(region):
    same(lethe("apply", "--drop", region).code, 0)
    same(os.listdir(LAYERS), [])


def refused(region, path, why):
    before = tree(SRC), tree(OUT)
    r = lethe("apply", region, path)
    check(r.code == 1 and why in r.err.decode() and "nothing is applied" in r.err.decode(), path, r)
    same((tree(SRC), tree(OUT)), before, path)


# Attacks of a region on its layer.

ERRNO = """
def tries(name, fn):
    try:
        fn()
        print(name, 'won')
    except OSError as e:
        print(name, errno.errorcode[e.errno])
"""


@case
def names_of_overlayfs_are_nobodys():
    """A region that could set these would hide files of the folder from the comparison, or show files of other folders."""
    make(SRC, {"d/kept": "1\n", "f": "1\n"})
    region, said = layered(ERRNO + "".join(
        "tries('%s', lambda: os.setxattr('%s', 'user.overlay.%s', b'%s'))\n" % (name, path, name, value)
        for name, path, value in (("opaque", "d", "y"), ("redirect", "d", "/etc"), ("metacopy", "f", ""), ("origin", "f", "x"), ("whiteout", "f", "y"), ("impure", "d", "y"))) +
        "tries('control', lambda: os.chmod('f', 0o600))\n"
        "tries('whiteout-node', lambda: os.mknod('d/kept2', stat.S_IFCHR, 0))\n"
        "tries('device', lambda: os.mknod('dev', stat.S_IFCHR | 0o666, os.makedev(1, 3)))\n"
        "print('listed', *[a for p in ('d', 'f') for a in (os.listxattr(p) if hasattr(os, 'listxattr') else []) if 'overlay' in a])\n")
    pairs = dict(zip(said[::2], said[1::2]))
    check("won" not in {v for k, v in pairs.items() if k != "control"} and pairs["control"] == "won", said)
    same({e["path"] for e in entries(region)}, {"f"})
    drop(region)


@case
def a_folder_is_moved_by_copies_alone():
    """rename(2) of a folder below would need redirect_dir, which a layer does not have."""
    make(SRC, {"d/x": "1\n", "e/y": "2\n"})
    region, said = layered(ERRNO + "tries('lower', lambda: os.rename('d', 'moved'))\nos.mkdir('own')\ntries('own', lambda: os.rename('own', 'mine'))\n")
    same(said, ["lower", "EXDEV", "own", "won"])
    same([(e["kind"], e["path"]) for e in entries(region)], [("added", "mine")])
    drop(region)


@case
def replaced_and_back_is_no_change():
    make(SRC, {"f": "1\n", "d/x": "2\n"})
    region, _ = layered("os.unlink('f'); os.mkdir('f'); os.rmdir('f'); open('f', 'w').write('1\\n')\n"
                        "os.unlink('d/x'); os.rmdir('d'); open('d', 'w').close(); os.unlink('d'); os.mkdir('d'); open('d/x', 'w').write('2\\n')\n"
                        "os.chmod('f', 0o644); os.chmod('d', 0o755); os.chmod('d/x', 0o644)\n")
    same(lethe("diff", region).code, 1)
    region, _ = layered("os.unlink('f'); os.mkdir('f'); open('f/in', 'w').write('3')\n")  # the positive control
    same([(e["kind"], e["type"], e["path"]) for e in entries(region)], [("removed", "file", "f"), ("added", "folder", "f"), ("added", "file", "f/in")])
    same(lethe("apply", region).code, 0)
    same(tree(SRC)[b"f/in"][1], b"3")


@case
def what_gives_rights_is_refused():
    make(SRC, {"f": "1\n"})
    make(OUT, {})
    region, said = layered(ERRNO + "open('uid', 'w').write('x')\ntries('uid', lambda: os.chmod('uid', 0o4755))\ntries('gid', lambda: os.chmod('uid', 0o2755))\n"
                           "tries('socket', lambda: socket.socket(socket.AF_UNIX).bind('sock'))\nos.mkfifo('fifo'); os.mkdir('sticky'); os.chmod('sticky', 0o1777)\n"
                           "tries('caps', lambda: os.setxattr('f', 'security.capability', bytes.fromhex('0100000200200000000000000000000000000000')))\n"
                           "tries('acl', lambda: os.setxattr('f', 'system.posix_acl_access', bytes.fromhex('0200000001000600ffffffff04000400ffffffff20000400ffffffff')))\n"
                           "tries('owner', lambda: os.chown('f', 0, 0))\nopen('fine', 'w').write('x')\n", "--network", "loopback")
    pairs = dict(zip(said[::2], said[1::2]))
    check("won" not in [pairs[what] for what in ("uid", "gid", "caps", "acl", "owner")], said)
    index = os.path.join(LAYERS, region, "index")
    with open(index, encoding="ascii") as f:
        text = f.read()
    for mode in ("4755", "2755", "6755"):  # a layer with a mode that no region gets
        with open(index, "w", encoding="ascii") as f:
            f.write("".join(line.replace(" f 644 ", " f %s " % mode, 1) if line.endswith(" uid -\n") else line for line in text.splitlines(True)))
        refused(region, "uid", "setuid or setgid")
    with open(index, "w", encoding="ascii") as f:
        f.write(text)
    for path in ("fifo",) + (("sock",) if pairs["socket"] == "won" else ()):
        refused(region, path, "a device, a socket or a FIFO")
    same(lethe("apply", region).code, 1)
    same(lethe("apply", region, "fine", "sticky", "uid").code, 0)  # the positive control
    same((tree(SRC)[b"fine"][1], tree(SRC)[b"sticky"][0]), (b"x", oct(stat.S_IFDIR | 0o1777)))
    drop(region)


@case
def a_folder_with_setgid_stays_one():
    make(SRC, {"g/f": "1\n"})
    os.chmod(os.path.join(SRC, "g"), 0o2775)
    region, _ = layered("os.mkdir('g/new'); open('g/new/f', 'w').write('2'); open('g/f', 'w').write('3')\n")
    same(lethe("apply", region).code, 0)
    now = tree(SRC)
    same((now[b"g"][0], now[b"g/new"][0], now[b"g/f"][1]), (oct(stat.S_IFDIR | 0o2775), oct(stat.S_IFDIR | 0o2755), b"3"))


@case
def links_lead_nowhere_else():
    make(OUT, {"theirs": "t\n"})
    make(SRC, {"d/f": "1\n", "l": "x"})
    region, said = layered(ERRNO + "os.symlink('%s', 'abs'); os.symlink('../out', 'up'); os.symlink('d/../../out', 'through'); os.symlink('./d/./f', 'fine')\n"
                           "os.symlink('up/theirs', 'by'); os.mkdir('n'); os.symlink('../../out', 'n/up'); os.link('d/f', 'hard')\n"
                           "tries('out', lambda: os.link('d/f', '/work/hard'))\nos.unlink('l'); os.symlink('/etc/passwd', 'l')\n" % OUT)
    same(said, ["out", "EXDEV"])
    for path in ("abs", "up", "through", "n/up", "l"):
        refused(region, path, "leads out")
    same(lethe("apply", region, "fine", "hard").code, 0)  # the positive control
    same(os.readlink(os.path.join(SRC, "fine")), "./d/./f")
    drop(region)


@case
def a_link_in_the_folders_place_is_not_followed():
    """A file of the layer below a folder that is a link now, in all the ways to put one there."""
    for how in ("moved", "outside", "the source itself"):
        make(OUT, {"f": "theirs\n"})
        make(SRC, {"d/e/f": "1\n"})
        region, _ = layered("open('d/e/f', 'w').write('2\\n'); open('d/e/new', 'w').write('n'); os.mkdir('d/e/nd'); os.chmod('d/e', 0o700)\n")
        place = {"moved": SRC + "/d/e", "outside": SRC + "/d/e", "the source itself": SRC}[how]
        os.rename(place, place + ".moved")
        os.symlink(OUT if how == "outside" else place + ".moved", place)
        before = tree(OUT), tree(place + ".moved")
        r = lethe("apply", region)
        check(r.code == 1, how, r)
        same((tree(OUT), tree(place + ".moved")), before, how)
        os.unlink(place)
        os.rename(place + ".moved", place)
        same(lethe("apply", region).code, 0)  # the positive control
        same(tree(SRC)[b"d/e/f"][1], b"2\n")


CHANGES = {"content": lambda p: open(p, "a").write("more"), "type": lambda p: (os.unlink(p), os.mkdir(p)), "mode": lambda p: os.chmod(p, 0o604), "gone": os.unlink,
           "link": lambda p: (os.unlink(p), os.symlink("/etc/passwd", p)), "fifo": lambda p: (os.unlink(p), os.mkfifo(p))}


@case
def each_change_of_the_folder_is_a_conflict():
    """Whatever another program makes of a path that the region changed, moded or removed."""
    work = "open('w', 'w').write('2\\n'); os.chmod('m', 0o700); os.unlink('r'); open('ok', 'w').write('2\\n')\n"
    for name, change in CHANGES.items():
        make(SRC, {"w": "1\n", "m": "1\n", "r": "1\n", "ok": "1\n"})
        make(OUT, {})
        region, _ = layered(work)
        for path in ("w", "m", "r"):
            change(os.path.join(SRC, path))
        for path in ("w", "m", "r"):
            if (name, path) != ("gone", "r"):  # gone is gone
                refused(region, path, "no longer there" if name == "gone" else "changed since")
        same(lethe("apply", region, "ok").code, 0)  # the positive control
        drop(region)


@case
def the_hosts_fifos_sockets_and_locks_are_not_reached():
    """A program of the host reads a FIFO, listens on a socket and has a lock, all in the folder."""
    make(SRC, {"lock": "1\n"})
    os.mkfifo(os.path.join(SRC, "fifo"))
    reader = os.open(os.path.join(SRC, "fifo"), os.O_RDONLY | os.O_NONBLOCK)
    lock = os.open(os.path.join(SRC, "lock"), os.O_RDONLY)
    text = ("import fcntl\n" + ERRNO + "tries('fifo', lambda: os.open('fifo', os.O_WRONLY | os.O_NONBLOCK))\ntries('socket', lambda: socket.socket(socket.AF_UNIX).connect('socket'))\n"
            "tries('lock', lambda: fcntl.flock(os.open('lock', os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB))\ninput()\n")
    with socket.socket(socket.AF_UNIX) as s:
        os.chdir(SRC)  # its path is too long
        s.bind("socket")
        os.chdir("/")
        s.listen()
        for mode, won in (("overlay", {"lock"}), ("rw", {"fifo"})):  # the second one is the positive control
            with subprocess.Popen([LETHE, "run", "--network", "loopback", "-i", "-v", SRC + ":/src:" + mode, "-w", "/src", "--exec", PYTHON, "-c",
                                   "import errno, os, socket\n" + text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENV) as p:
                said = [p.stdout.readline().decode().split() for _ in range(3)]
                if mode == "overlay":  # no lock of the region's is in the way
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    fcntl.flock(lock, fcntl.LOCK_UN)
                p.communicate(b"\n", timeout=120)
            same({name for name, how in said if how == "won"} & {"fifo", "socket", "lock"} - (set() if mode == "overlay" else {"lock"}), won, mode, said)
    os.close(reader)
    os.close(lock)


@case
def names_of_all_bytes_are_kept():
    make(SRC, {"f": "1\n"})
    names = [bytes([b]) * n for b in range(1, 256) if b not in (0x2e, 0x2f) for n in (1, 255 if b % 64 == 7 else 2)] + [b"-e", b"a%0ab", b"a b", b"\xff\xfe\n+++ bf"]
    text = "for n in %r:\n    open(n, 'w').write('x')\n" % names
    region, _ = layered(text)
    same(lethe("apply", region).code, 0)
    same(set(os.listdir(os.fsencode(SRC))), {*names, b"f"})


@case
def a_diff_commands_no_terminal_and_forges_no_line():
    make(SRC, {"f": "1\n"})
    region, _ = layered("open('x\\x1b]0;owned\\x07\\r\\u202e\\x9b31m\\n+++ bf', 'w').write('\\x1b[2Jowned\\rline\\x9b31m\\u009b31m\\n')\nopen('f', 'w').write('2\\n--- a/f\\n+++ b/g\\n')\n")
    piped = lethe("diff", region).out
    heads = [line for line in piped.split(b"\n") if line.startswith((b"--- ", b"+++ "))]
    check(heads.count(b"+++ b/f") == 1 and b"+++ bf" not in heads and b"+++ b/g" not in heads, piped)
    code, shown = Terminal("diff", region).end()
    same(code, 0)
    text = shown.replace(b"\r\n", b"\n")
    check(b"owned" in text and not [b for b in text if b < 32 and b not in (9, 10)] and b"\x9b" not in text and b"\xe2\x80\xae" not in text, text)
    drop(region)


@case
def a_diff_is_applied_by_patch_and_git():
    tools = [t for t in ("patch", "git") if shutil.which(t)]
    for tool in tools:
        make(SRC, {"a": "".join("%d\n" % i for i in range(40)), "no newline": "x", "d/gone": "g\n", "same": "s\n"})
        region, _ = layered("t = open('a').read().replace('7\\n', 'seven\\n'); open('a', 'w').write('first\\n' + t + 'last')\nopen('no newline', 'w').write('y')\nos.unlink('d/gone')\n"
                            "os.mkdir('n'); open('n/new file', 'w').write('n1\\nn2\\n')\n")
        text = lethe("diff", region).out
        copy = os.path.join(DIR, "copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(SRC, copy)
        command = ["patch", "-p1", "-s"] if tool == "patch" else ["git", "apply", "-"]
        p = subprocess.run(command, cwd=copy, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        same(p.returncode, 0, tool, p.stdout, text)
        same(lethe("apply", region).code, 0)
        same({k: v for k, v in tree(copy).items() if k != b"d"}, {k: v for k, v in tree(SRC).items() if k != b"d"}, tool)  # patch takes an empty folder away
    check(tools, "neither patch nor git is here")


@case
def what_is_too_much_is_told():
    make(SRC, {"f": "1\n"})
    for text, why, options in (("for i in range(1000):\n    os.mkdir('d'); os.chdir('d')\n", "folders are nested deeper than 64", ()),
                               ("f = open('sparse', 'wb'); f.truncate(1 << 40)\n", "more bytes than the region's scratch budget", ("--file-size", "1t")),
                               ("n = 'n' * 240\nfor i in range(16):\n    os.mkdir(n); os.chdir(n)\nos.mkdir(n); os.chdir(n)\nopen('x' * 200, 'w').close()\n", "a path is longer than 4,095 bytes", ())):
        region, _ = layered(text, *options)
        same([e["reason"] for e in log("--type", "layer.dropped") if e["region"] == region and why in e["reason"]] != [], True, why, log("--type", "layer.dropped")[-1])
        r = lethe("diff", region)
        check(r.code == 1 and b"was not kept: " in r.err, r)
    region, _ = layered("f = open('sparse', 'wb'); f.truncate(1 << 20)\n")  # the positive control
    same(os.listdir(LAYERS), [region])
    drop(region)


@case
def a_hundred_thousand_paths_and_one_more():
    make(SRC, {"f": "1\n"})
    many = "os.mkdir('d')\nfor i in range(%d):\n    os.mkdir('d/%%d' %% i)\n"
    options = ("--scratch", "1g", "--memory", "1g", "--timeout", "20m", "--cpu-time", "20m")
    region, _ = layered(many % 100000, *options, timeout=1500)
    same([e["reason"] for e in log("--type", "layer.dropped") if e["region"] == region], ["more than 100,000 paths are changed"])
    region, _ = layered(many % 99999, *options, timeout=1500)  # the positive control
    same(len(entries(region)), 100000)
    drop(region)


# Changes of other programs to the folder during an apply.

def meanwhile(n, region, command):
    """The apply, with this command of the shell before its nth call that may change a file. Its code, and what was said of the call."""
    p = subprocess.run([KILL_AT, str(n), LETHE, "apply", region], env=dict(ENV, KILL_AT_DO=command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=120, check=False)
    return p.returncode, p.stderr.decode()


def each_call(files, work, command, holds):
    """holds(code, said) after each apply with the command before its nth call, for calls from the first to the last."""
    make(SRC, files)
    make(OUT, {"f": "theirs\n"})
    listed = [line.split(" ") for line in meanwhile(0, layered(work)[0], "true")[1].splitlines()]
    calls, codes = int(listed[-1][1]), set()
    names = [int(n) for name, n in listed[:-1] if name in ("renameat2", "unlinkat", "mkdirat", "chmod")]
    for n in sorted({*range(1, calls, STEP), calls, *names}):
        make(SRC, files)
        region, _ = layered(work)
        code, said = meanwhile(n, region, command)
        if " %d\n" % n in said:  # the store's own calls are a few more or less each time
            codes.add(code)
            holds(code, said)
        else:
            check(n > calls - 20, n, calls, said)
        lethe("apply", "--drop", region)
    check(codes == {0, 1}, codes)  # too early for the apply, and too late


@case
def a_file_of_others_is_never_overwritten():
    """Others put a file in a path's place at any moment of the apply: it is there afterwards."""
    def holds(code, said):
        now = tree(SRC)
        same([now.get(p, (None, None))[1] for p in (b"f", b"r", b"n")], [b"theirs\n"] * 3, code, said, sorted(now))
        check(not [p for p in now if b".lethe" in p and now[p][1] == b"theirs\n"], now, said)
    each_call({"f": "1\n", "r": "1\n", "x": "1\n"}, "open('f', 'w').write('2\\n'); os.unlink('r'); open('n', 'w').write('2\\n'); open('x', 'w').write('2\\n')\n",
              "for p in f r n; do echo theirs >%s/t && mv %s/t %s/$p || exit 1; done" % (SRC, SRC, SRC), holds)


@case
def a_folder_that_becomes_a_link_leads_no_write_out():
    def holds(code, said):
        same(tree(OUT), outside, code, said)
    make(OUT, {"f": "theirs\n"})
    outside = tree(OUT)
    each_call({"d/f": "1\n", "d/r": "1\n", "d/e/f": "1\n"}, "open('d/f', 'w').write('2\\n'); os.unlink('d/r'); open('d/n', 'w').write('2\\n'); os.chmod('d/e', 0o700); open('d/e/n', 'w').write('n')\n",
              "mv %s/d %s/was; ln -s %s %s/d" % (SRC, SRC, OUT, SRC), holds)


@case
def a_folder_that_goes_ends_the_apply():
    def holds(code, said):
        check(code in (0, 1) and "assert" not in said.lower(), code, said)
    each_call({"d/f": "1\n", "d/r": "1\n"}, "open('d/f', 'w').write('2\\n'); os.unlink('d/r'); os.mkdir('d/n'); open('d/n/f', 'w').write('2\\n')\n", "rm -rf %s/d" % SRC, holds)


main()
