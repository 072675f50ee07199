#!/usr/bin/python3
"""lethe-layer alone, spoken to as the supervisor does (schema/layer.h): layers that no kernel makes, and folders below in any state (A-16). TAP.

usage: layer.py LETHE-LAYER root|user"""
import errno
import hashlib
import os
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from account import use  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
use(sys.argv[2])

SOURCES, FOLDER, READ = 1, 2, 3
ASK = struct.Struct("=IIQQ")
ANSWER = struct.Struct("=iIQQ65s255s")
ANSWER_BYTES = (ANSWER.size + 7) // 8 * 8
E_BOUND = 1
REGION = "01m8f000000000000000000000"
TOP = tempfile.mkdtemp(prefix="layer-", dir="/var/tmp")
SRC, SCRATCH, OUT = (os.path.join(TOP, name) for name in ("src", "scratch", "out"))
UPPER = os.path.join(SCRATCH, "layer0", "upper")
number, failed = 0, 0


class Gone(Exception):
    """No answer: the process ended."""


def case(fn):
    global number, failed
    number += 1
    for path in (SRC, SCRATCH, OUT):
        subprocess.run(["chmod", "-R", "u+rwX", path], stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
    os.makedirs(UPPER)
    try:
        fn()
        print("ok %d - %s" % (number, fn.__name__.replace("_", " ")), flush=True)
    except Exception as e:  # pylint: disable=broad-except
        failed += 1
        print("not ok %d - %s\n# %s: %s" % (number, fn.__name__.replace("_", " "), type(e).__name__, str(e).replace("\n", "\n# ")), flush=True)


def same(a, b, *more):
    if a != b:
        raise AssertionError("got %r, want %r; %r" % (a, b, more))


def start():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    p = subprocess.Popen([PROGRAM], preexec_fn=lambda: os.dup2(theirs.fileno(), 3), close_fds=False, stdin=subprocess.DEVNULL)
    theirs.close()
    return ours, p


def send(s, kind, fd, msec=0, began=0, most=0):
    socket.send_fds(s, [ASK.pack(kind, msec, began, most)], [fd])


def sources(s, text):
    fd = os.memfd_create("sources")
    os.write(fd, text)
    send(s, SOURCES, fd)
    os.close(fd)


def ask(between=lambda pid: None, msec=60000, began=None, most=1 << 30, source=SRC):
    """(code, text, index)"""
    s, p = start()
    with s:
        sources(s, b"lethe-layer 1 %s\nvolume %s /src\n" % (REGION.encode(), source.encode()))
        opened = time.time_ns() if began is None else began
        between(p.pid)
        for kind, path in ((FOLDER, OUT), (READ, SCRATCH)):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            send(s, kind, fd, msec, opened + 10 ** 9, most)
            os.close(fd)
        answer = s.recv(4096)
    code = p.wait(60)
    if not answer:
        raise Gone(code)
    code, _, n, _, _, text = ANSWER.unpack(answer[:ANSWER.size])
    index = []
    if code == 0 and n > 0:
        with open(os.path.join(OUT, "index"), encoding="ascii") as f:
            index = [line.split(" ") for line in f.read().splitlines()[2:]]
        same(len(index), n)
    return code, text.rstrip(b"\0").decode(), [(e[0], e[2], e[7], e[10]) for e in index]


def put(path, text="x"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def whiteout(name):
    os.mknod(os.path.join(UPPER, name), stat.S_IFCHR | 0o600, 0)


@case
def changes_are_told():
    put(SRC + "/f"), put(SRC + "/gone"), put(SRC + "/d/in"), put(SRC + "/same")
    put(UPPER + "/f", "y"), put(UPPER + "/new"), put(UPPER + "/same"), whiteout("gone"), whiteout("d"), whiteout("nowhere")
    same(ask(), (0, "", [("removed", "d", "d", "d"), ("removed", "f", "f", "d/in"), ("changed", "f", "f", "f"), ("removed", "f", "f", "gone"), ("added", "f", "-", "new")]))


@case
def an_opaque_folder_hides_what_is_below():
    put(SRC + "/d/a"), put(SRC + "/d/e/b"), put(UPPER + "/d/a", "y"), put(UPPER + "/d/c")
    os.setxattr(UPPER + "/d", "user.overlay.opaque", b"y")
    same(ask()[2], [("changed", "f", "f", "d/a"), ("added", "f", "-", "d/c"), ("removed", "d", "d", "d/e"), ("removed", "f", "f", "d/e/b")])


@case
def unknown_forms_are_refused():
    """A kernel that writes a layer in another form must not be read wrongly: no case may be taken for no change."""
    for path, name, value in (("d", "opaque", b"x"), ("d", "opaque", b"yes"), ("d", "redirect", b"/etc"), ("f", "metacopy", b"")):
        shutil.rmtree(UPPER), os.makedirs(UPPER)
        put(SRC + "/d/a"), put(SRC + "/f"), put(UPPER + "/d/a", "y"), put(UPPER + "/f", "y")
        os.setxattr(os.path.join(UPPER, path), "user.overlay." + name, value)
        code, text, _ = ask()
        same((code != 0, "unknown attribute of overlayfs" in text), (True, True), name, value, code, text)
        for name_ in os.listdir(OUT):
            os.unlink(os.path.join(OUT, name_))
    os.removexattr(UPPER + "/f", "user.overlay.metacopy")
    same(ask()[0], 0)  # the positive control


@case
def a_link_in_the_scratch_is_not_followed():
    put(TOP + "/elsewhere/secret")
    shutil.rmtree(UPPER)
    os.symlink(TOP + "/elsewhere", UPPER)
    same(ask()[0], -20)
    os.unlink(UPPER), os.makedirs(UPPER)
    os.symlink(TOP + "/elsewhere", UPPER + "/l")
    same(ask()[2], [("added", "l", "-", "l")])


@case
def the_folder_of_the_start_counts():
    """Another folder in the place of the source during the run; and a link on the way to it. Only root sees when lethe-layer has opened the folder."""
    put(SRC + "/f"), put(UPPER + "/f", "y"), put(TOP + "/other/f", "o")

    def swap(pid):
        while not any(os.path.realpath("/proc/%d/fd/%s" % (pid, n)) == SRC for n in os.listdir("/proc/%d/fd" % pid)):
            time.sleep(0.005)
        os.rename(SRC, SRC + ".was")
        os.rename(TOP + "/other", SRC)
    if os.geteuid() == 0:
        same(ask(swap)[2], [("changed", "f", "f", "f")])
        with open(os.path.join(OUT, "index"), encoding="ascii") as f:
            same(f.read().splitlines()[2].split(" ")[9], hashlib.sha256(b"x").hexdigest())
        shutil.rmtree(SRC + ".was")
    os.symlink(TOP, TOP + "/link")
    code, text, _ = ask(source=TOP + "/link/src")
    same((code, "cannot be opened" in text), (-errno.ELOOP, True), text)
    os.unlink(TOP + "/link")


@case
def bounds_are_held():
    path = UPPER
    for _ in range(66):
        path += "/d"
        os.mkdir(path)
    same(ask()[:2], (E_BOUND, "folders are nested deeper than 64"))
    shutil.rmtree(UPPER + "/d")
    with open(UPPER + "/sparse", "wb") as f:
        f.truncate(1 << 40)
    code, text, _ = ask()
    same((code, "more bytes than" in text), (E_BOUND, True), text)
    os.truncate(UPPER + "/sparse", 100)
    same(ask(most=99)[0], E_BOUND)
    for name in os.listdir(OUT):
        os.unlink(os.path.join(OUT, name))
    same(ask(most=100)[0], 0)  # the positive control


@case
def a_large_file_below_is_not_read():  # A-16, I-62
    """It is told by inode, size and time: 16 TB take as long as a byte."""
    with open(SRC + "/big", "wb") as f:
        f.truncate(1 << 43)
    put(UPPER + "/big")
    same(ask()[2], [("changed", "f", "F", "big")])


@case
def modes_hide_nothing():
    put(UPPER + "/shut/in/f"), put(UPPER + "/none")
    os.chmod(UPPER + "/none", 0), os.chmod(UPPER + "/shut/in/f", 0o200), os.chmod(UPPER + "/shut/in", 0o300), os.chmod(UPPER + "/shut", 0)
    same([e[3] for e in ask()[2]], ["none", "shut", "shut/in", "shut/in/f"])


@case
def changed_below_meanwhile_is_told():
    put(SRC + "/f"), put(SRC + "/r"), put(UPPER + "/f", "y"), whiteout("r")
    same(ask(began=0)[2], [("changed", "f", "?", "f"), ("removed", "f", "?", "r")])


@case
def its_time_is_up():  # A-16, I-62
    """The kernel ends it: there is no answer, and no index that could be taken for one."""
    for i in range(3000):
        put(UPPER + "/%d" % i)
    try:
        ask(msec=1)
        raise AssertionError("it answered")
    except Gone as e:
        same(e.args, (-signal.SIGALRM,))
    same("index" in os.listdir(OUT), False)


@case
def wrong_messages_end_it():
    for first in (b"", b"x" * 24, ASK.pack(READ, 0, 0, 0), ASK.pack(SOURCES, 0, 0, 0)):
        s, p = start()
        with s:
            s.send(first or b"\0")
            same(s.recv(10), b"", first)
        same(p.wait(60), 0, first)
    for text in (b"", b"no index\n", b"lethe-layer 1 %s\nvolume src /src\n" % REGION.encode()):
        s, p = start()
        with s:
            sources(s, text)
            for kind, path in ((FOLDER, OUT), (READ, SCRATCH)):
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                send(s, kind, fd, 60000)
                os.close(fd)
            same(ANSWER.unpack(s.recv(4096)[:ANSWER.size])[0], 3, text)  # LAYER_E_DAMAGED, which the supervisor takes for a broken answer
        p.wait(60)


@case
def it_dies_with_the_channel():
    s, p = start()
    s.close()
    same(p.wait(60), 0)


shutil.rmtree(TOP)
print("1..%d" % number)
sys.exit(failed > 0)
