#!/usr/bin/python3
"""Attacks of a region whose Unix socket a program of the host connects to: what passes through it, and who each takes the other for.

usage: sockets.py ATTACK FOLDER

ESCAPED and exit code 0 for a success, as in attack.h. Some attacks only hand something over: hostile/sockets.py looks at it from the host.
"""
import os
import socket
import struct
import sys

CANARY = b"lethe-hostile-canary"
FOLDER = sys.argv[2]


def escaped(what):
    print("ESCAPED:", what, flush=True)
    os._exit(0)


def contained(what):
    print("contained:", what, flush=True)
    os._exit(1)


def met():
    """The host's program, connected."""
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(FOLDER + "/s")
        os.chmod(FOLDER + "/s", 0o777)
        s.listen(1)
        print("ready", flush=True)
        c = s.accept()[0]
    os.unlink(FOLDER + "/s")
    return c


def give(fds, keep=False):
    """Hands descriptors over, closes its own, and ends when the host's program says so."""
    c = met()
    socket.send_fds(c, [b"x"], fds)
    for fd in fds if not keep else []:
        os.close(fd)
    c.recv(1)
    contained("only the host's program can see what it holds")


def written(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.write(fd, CANARY * 1000)
    return fd


def nameless_file():
    fd = written("/tmp/given-%d" % os.getpid())
    os.unlink("/tmp/given-%d" % os.getpid())
    give([fd])


def nameless_file_kept():
    """The same file, and nobody outside holds it."""
    fd = written("/tmp/given-%d" % os.getpid())
    os.unlink("/tmp/given-%d" % os.getpid())
    c = met()
    socket.send_fds(c, [b"x"], [0])
    c.recv(1)
    os.fstat(fd)
    contained("it is the region's alone")


def named_file():
    give([written("/tmp/given-%d" % os.getpid())])


def full_buffers():
    ours, theirs = socket.socketpair()
    ours.sendall(CANARY)
    r, w = os.pipe()
    os.write(w, CANARY)
    give([theirs.detach(), r])


def own_streams():
    """Who holds these can keep whoever waits for their end."""
    give([fd for fd in range(5) if not closed(fd)], keep=True)


def closed(fd):
    try:
        os.fstat(fd)
    except OSError:
        return True
    return False


def taken_folder():
    """A folder of the host as a descriptor: does it lead to files that were not granted?"""
    c = met()
    fds = socket.recv_fds(c, 16, 4)[1]
    folder, won = fds[0], []
    ways = {"openat": lambda: os.read(os.open("secret", os.O_RDONLY, dir_fd=folder), 100), "create": lambda: os.open("new", os.O_CREAT | os.O_RDWR, dir_fd=folder),
            "mkdirat": lambda: os.mkdir("folder", dir_fd=folder), "linkat": lambda: os.link("secret", "linked", src_dir_fd=folder, dst_dir_fd=folder),
            "renameat": lambda: os.rename("spare", "renamed", src_dir_fd=folder, dst_dir_fd=folder), "unlinkat": lambda: os.unlink("spare", dir_fd=folder),
            "symlinkat": lambda: os.symlink("secret", "symbolic", dir_fd=folder), "above": lambda: os.open("..", os.O_RDONLY, dir_fd=folder),
            "fchdir": lambda: (os.fchdir(folder), os.open("secret", os.O_RDONLY)),
            "exec": lambda: os.execve(os.open("program", os.O_PATH, dir_fd=folder), ["program"], {})}
    for name, way in ways.items():
        try:
            way()
            won.append(name)
        except OSError:
            pass
    c.send(b"x")
    if won:
        escaped(" ".join(won))
    contained("a folder is not the right to its files")


def forged_credentials():
    c, won = met(), []
    for ids in ((1, 0, 0), (os.getppid() or 1, os.getuid(), os.getgid()), (os.getpid(), 0, os.getgid()), (os.getpid(), os.getuid(), 0)):
        if ids == (os.getpid(), os.getuid(), os.getgid()):
            continue
        try:
            c.sendmsg([b"x"], [(socket.SOL_SOCKET, 2, struct.pack("3i", *ids))])  # SCM_CREDENTIALS
            won.append(ids)
        except OSError:
            pass
    c.sendmsg([b"y"], [(socket.SOL_SOCKET, 2, struct.pack("3i", os.getpid(), os.getuid(), os.getgid()))])
    if won:
        escaped(won)
    contained("no other's credentials")


def meets_another():
    """The socket of somebody else's process in the same folder: a descriptor for it."""
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(FOLDER + "/s")
        socket.send_fds(s, [b"x"], [0])
    except OSError as e:
        contained(e)
    escaped("a descriptor was passed")


globals()[sys.argv[1]]()
