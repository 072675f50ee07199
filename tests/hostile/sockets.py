#!/usr/bin/python3
"""A-7: a program of the host connects to the socket that a region left in a granted folder: descriptors, credentials, and the record of what passed
(attacks/sockets.py). Each attack also without Lethe, where it has to succeed. TAP.

usage: sockets.py LETHE root|user
"""
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "front", "cli")]
from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ROOT, add, check, main, same  # noqa: E402

ATTACKS = os.path.join(HERE, "attacks")
CANARY = b"lethe-hostile-canary"
OUT, HOST = os.path.join(DIR, "out"), os.path.join(DIR, "host")
NETWORKS = {"loopback": ("--network", "loopback"), "host": ("--network", "host"), "connect": ("--connect", "127.0.0.1:9")}
PEER = 17  # SO_PEERCRED
os.chmod(DIR, 0o755)
os.makedirs(OUT)
os.chmod(OUT, 0o777)


class Met:
    """An attack in a region (or plain, with network None), and the host's end of a connection to its socket."""
    made = 0

    def __init__(self, attack, network, *options, connect=True):
        Met.made += 1
        self.receipt_path = os.path.join(DIR, "met-%d.json" % Met.made)
        if attack != "meets_another" and os.path.lexists(OUT + "/s"):
            os.unlink(OUT + "/s")
        if network:
            argv = [LETHE, "run", "--receipt", self.receipt_path, *NETWORKS[network], *options, "-v", ATTACKS + ":/attacks", "-v", OUT + ":/out:rw", "--exec", "/usr/bin/python3",
                    "/attacks/sockets.py", attack, "/out"]
        else:
            argv = ["/usr/bin/python3", os.path.join(ATTACKS, "sockets.py"), attack, OUT]
        self.p = subprocess.Popen(argv, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if connect:
            same(self.p.stdout.readline(), b"ready\n", self.p.stderr.read() if self.p.poll() is not None else "")
            self.s = socket.socket(socket.AF_UNIX)
            self.s.settimeout(60)
            self.s.connect(OUT + "/s")

    def fds(self):
        return socket.recv_fds(self.s, 16, 16)[1]

    def end(self):
        """The exit code, what was printed, and the receipt."""
        self.s.close()
        out, err = self.p.communicate(timeout=120)
        check(b"ESCAPED" in out or b"contained" in out, out, err)
        receipt = None
        if os.path.exists(self.receipt_path):
            with open(self.receipt_path, encoding="utf-8") as f:
                receipt = json.load(f)
        return self.p.returncode, out, receipt


def each(fn):
    for network in NETWORKS:
        add("%s in %s" % (fn.__name__.replace("_", " "), network), lambda network=network: fn(network))
    return fn


def plain(fn):
    add(fn.__name__.replace("_", " "), fn)
    return fn


def has_canary(fd):
    with os.fdopen(fd, "rb", buffering=0) as f:
        return CANARY in os.pread(f.fileno(), 4096, 0)


@each
def a_nameless_file_that_is_held_outside_is_no_cleared_one(network):  # A-7, I-17
    met = Met("nameless_file", network)
    fd = met.fds()[0]
    code, _, receipt = met.end()
    same(code, 1)
    teardown = receipt["teardown"]
    check(not has_canary(fd) or (teardown["grade"] == "partial" and teardown["bytes_missed"]["file"] >= 20000), teardown)
    met = Met("nameless_file_kept", network)
    os.close(met.fds()[0])
    _, _, receipt = met.end()
    same((receipt["teardown"]["bytes_missed"], receipt["teardown"]["grade"] in ("cleared", "cleared_kernel")), ({}, True), receipt["teardown"])


@each
def a_named_file_that_is_held_outside_is_overwritten(network):  # A-7, I-15
    met = Met("named_file", network)
    fd = met.fds()[0]
    _, _, receipt = met.end()
    check(not has_canary(fd) and receipt["teardown"]["grade"] in ("cleared", "cleared_kernel"), receipt["teardown"])


@plain
def without_lethe_both_files_keep_their_bytes():
    for attack in ("nameless_file", "named_file"):
        met = Met(attack, None)
        fd = met.fds()[0]
        met.end()
        check(has_canary(fd), attack)
        if attack == "named_file":
            os.unlink("/tmp/given-%d" % met.p.pid)


@each
def what_programs_of_the_host_may_hold_is_named(network):  # A-7, I-17
    """A pipe and a socket, filled and handed over, live as long as the host's program likes: no kernel overwrites them before."""
    met = Met("full_buffers", network)
    fds = met.fds()
    _, _, receipt = met.end()
    same([os.read(fd, 100) for fd in fds], [CANARY, CANARY])
    for fd in fds:
        os.close(fd)
    check("sent_descriptors" in receipt["teardown"]["not_covered"], receipt["teardown"])


@each
def a_region_that_gives_its_streams_away_holds_up_nobody(network):  # A-7, I-62
    met = Met("own_streams", network)
    fds = met.fds()
    check(len(fds) >= 3, fds)
    code, _, receipt = met.end()
    same((code, receipt["outcome"]), (1, "exited"))
    for fd in fds:
        os.close(fd)


@plain
def without_lethe_who_waits_for_the_end_of_its_output_waits():
    met = Met("own_streams", None)
    fds = met.fds()
    met.s.close()
    met.p.wait(60)
    os.read(met.p.stdout.fileno(), 4096)
    check(not select.select([met.p.stdout], [], [], 0)[0], "the end of its output came")
    for fd in fds:
        os.close(fd)
    met.p.communicate()


def give_folder(met):
    shutil.rmtree(HOST, ignore_errors=True)
    os.makedirs(HOST)
    os.chmod(HOST, 0o777)
    for name, mode in (("secret", 0o666), ("spare", 0o666), ("program", 0o755)):
        with open(os.path.join(HOST, name), "wb") as f:
            f.write(b"#!/bin/sh\n" + CANARY)
        os.chmod(os.path.join(HOST, name), mode)
    folder = os.open(HOST, os.O_RDONLY)
    socket.send_fds(met.s, [b"x"], [folder])
    os.close(folder)
    met.s.recv(1)


@each
def a_folder_that_is_received_leads_to_no_file(network):  # A-7, I-41
    met = Met("taken_folder", network)
    give_folder(met)
    code, out, _ = met.end()
    same((code, b"ESCAPED" in out, sorted(os.listdir(HOST))), (1, False, ["program", "secret", "spare"]), out)


@plain
def without_lethe_it_leads_to_all_of_them():
    met = Met("taken_folder", None)
    give_folder(met)
    _, out, _ = met.end()
    for way in (b"openat", b"create", b"mkdirat", b"linkat", b"renameat", b"symlinkat", b"above", b"fchdir"):
        check(way in out, way, out)


def read_to(s, last):
    got = b"-"
    while got and not got.endswith(last):
        got = s.recv(16)


@each
def credentials_are_those_of_the_regions_user(network):  # A-7, I-21
    """As root each region has a user of its own: nobody outside takes it for root, nor for Lethe."""
    met = Met("forged_credentials", network)
    pid, uid, gid = struct.unpack("3i", met.s.getsockopt(socket.SOL_SOCKET, PEER, 12))
    check((uid > 0 and gid > 0) if ROOT else uid == os.getuid(), pid, uid, gid)
    check(pid not in (met.p.pid, 1), "the process of lethe itself", pid)
    read_to(met.s, b"y")
    code, out, _ = met.end()
    same((code, b"ESCAPED" in out), (1, False), out)


if ROOT:
    @plain
    def without_lethe_root_says_whatever_it_likes():
        met = Met("forged_credentials", None)
        same(struct.unpack("3i", met.s.getsockopt(socket.SOL_SOCKET, PEER, 12)), (met.p.pid, 0, 0))
        read_to(met.s, b"y")
        code, out, _ = met.end()
        same((code, b"ESCAPED" in out), (0, True), out)


@each
def two_regions_pass_nothing_to_each_other(network):  # A-7, I-21
    met = Met("full_buffers", network, connect=False)
    same(met.p.stdout.readline(), b"ready\n")
    other = Met("meets_another", network, connect=False)
    out, err = other.p.communicate(timeout=120)
    check(other.p.returncode == 1 and b"contained" in out, out, err)
    with open(other.receipt_path, encoding="utf-8") as f:
        denials = json.load(f)["denials"]
    check([d for d in denials if d["operation"] == "connect" and d["object"] == "/out/s"], denials)
    met.s = socket.socket(socket.AF_UNIX)
    met.s.connect(OUT + "/s")
    for fd in met.fds():
        os.close(fd)
    met.end()


@plain
def without_lethe_two_programs_do():
    met = Met("taken_folder", None, connect=False)
    same(met.p.stdout.readline(), b"ready\n")
    other = Met("meets_another", None, connect=False)
    out, err = other.p.communicate(timeout=120)
    check(other.p.returncode == 0 and b"ESCAPED" in out, out, err)
    met.p.communicate(timeout=60)


main()
