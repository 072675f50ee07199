"""Each attack, run without Lethe and so that it must succeed: an attack that cannot succeed would prove nothing. Everything that it may
reach was planted by the World; where it needs a weaker setting than the host itself (a PID namespace in which it may kill everybody, a
mount namespace, a terminal of its own), this file makes that."""

import ctypes
import os
import pty
import shlex
import shutil
import socket
import subprocess
import threading

from world import CANARY, NOBODY, as_user

LACKS = ("Function not implemented", "Address family not supported", "No such device")


def run(argv, **kw):
    """Whoever runs here has no terminal (vhangup would take it from the developer) and no harm to do to its starter."""
    kw.setdefault("stdin", subprocess.DEVNULL)
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, check=False, **kw)
    return p.returncode, p.stdout.decode(errors="replace")


def on_terminal(argv, env=None):
    """argv with a new terminal as its controlling one: (exit code, what it printed)."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, env or os.environ)
    out = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:
            break
        if not part:
            break
        out += part
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), out.decode(errors="replace")


def gullible(argv):
    """A supervisor that says yes to every line: what comes of believing a region."""
    ask_r, ask_w = os.pipe()
    ans_r, ans_w = os.pipe()

    os.set_blocking(ans_w, False)  # who reads no answers gets none, and is served all the same

    def answer():
        buf = b""
        with open(ask_r, "rb", buffering=0) as f, open(ans_w, "wb", buffering=0) as g:
            while True:
                part = f.read(65536)
                if not part:
                    return
                lines = (buf + part).split(b"\n")
                buf = lines.pop()
                try:
                    for _ in lines:
                        g.write(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
                except (BrokenPipeError, BlockingIOError):
                    continue

    def place():
        os.dup2(ans_r, 3, inheritable=True)
        os.dup2(ask_w, 4, inheritable=True)

    # The four ends first go where 3 and 4 cannot overwrite one another.
    ask_w, ans_r = (os.dup(os.dup(fd)) for fd in (ask_w, ans_r))
    t = threading.Thread(target=answer, daemon=True)
    t.start()
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=place,
                         close_fds=False, start_new_session=True)
    out = p.stdout.read().decode(errors="replace")
    return p.wait(), out


class Controls:
    """One method a kind of control; each returns (exit code, output)."""

    def __init__(self, world):
        self.w = world

    def plain(self, argv, row):
        kw = {}
        if row.fds:
            fds = [os.open(p, os.O_RDONLY) for p in ("/", self.w.secret)]
            kw["pass_fds"] = fds
        scratch = self.w.path("control-work")
        os.makedirs(scratch, exist_ok=True)
        try:
            return run(argv, cwd=scratch, env={**os.environ, "TOKEN": CANARY.decode()}, **kw)
        finally:
            for fd in kw.get("pass_fds", ()):
                os.close(fd)
            shutil.rmtree(scratch, ignore_errors=True)

    def after(self, argv, row):
        """Reads what a first run has made; the store of the run belongs to the runner's user, so this control can read it."""
        return run(as_user(self.w.uid, argv))

    def user(self, argv, row):
        return run(as_user(NOBODY, argv))

    def env(self, argv, row):
        return run(argv, env={**os.environ, "LETHE_TOKEN": CANARY.decode(), "LD_BIND_NOW": "1"})

    def pidns(self, argv, row):
        """A namespace of its own, with a process in it that is to be killed."""
        return run(["unshare", "--pid", "--fork", "sh", "-c", "sleep 100 & " + shlex.join(argv)])

    def mountns(self, argv, row):
        return run(["unshare", "--mount", *argv])

    def mountns_usr(self, argv, row):
        return run(["unshare", "--mount", "sh", "-c", "mount --bind -o ro /usr /usr && exec \"$@\"", "sh", *argv])

    def devns(self, argv, row):
        """A /dev that nothing depends on."""
        return run(["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev && : >/dev/null && exec \"$@\"", "sh", *argv])

    def shell(self, argv, row):
        """A parent that may be ended: the shell."""
        return run(["sh", "-c", "\"$@\"; exit $?", "sh", *argv])

    def stdout_file(self, argv, row):
        name = self.w.path("control-log")
        with open(name, "wb") as f:
            p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=f, stderr=f, check=False)
        os.unlink(name)
        return p.returncode, ""

    def tty(self, argv, row):
        return on_terminal(argv)

    def scratch(self, argv, row):
        folder = self.w.path("jail-of-control")
        os.mkdir(folder)
        try:
            return run(argv, cwd=folder)
        finally:
            shutil.rmtree(folder)

    def hit(self, argv, row):
        """Outside of a region the signal arrives."""
        _, out = run(argv)
        for _ in range(2400):  # the victim says so when it has a processor; two minutes end a hang
            if self.w.victim_was_hit():
                return 0, out
            threading.Event().wait(0.05)
        return 1, out

    def late(self, argv, row):
        """The daemon's file comes although its parent has ended; the daemon is reaped by left_behind()."""
        code, out = run(argv)
        name = argv[1]
        for _ in range(2400):  # two minutes end a hang
            if os.path.exists(name):
                os.unlink(name)
                return 0, out
            threading.Event().wait(0.05)
        return code, out

    def holds(self, argv, row):
        """The child that the program left still holds its descriptors: 0 when it lives."""
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        p.wait()
        left = self.w.left_behind()
        p.stdout.close()
        return (0 if left else 1), str(left)

    def gullible(self, argv, row):
        return gullible(argv)

    def socket_pipe(self, argv, row):
        """3 and 4 as one socket, which goes both ways."""
        a, b = socket.socketpair()

        def place():
            os.dup2(a.fileno(), 100)
            os.dup2(100, 3, inheritable=True)
            os.dup2(100, 4, inheritable=True)
        b.sendall(b"x")
        p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=place, close_fds=False, check=False)
        a.close()
        b.close()
        return p.returncode, p.stdout.decode()

    def canary(self, argv, row):
        """Two programs one after the other on the host itself."""
        folder = self.w.path("control-work")
        os.makedirs(folder, exist_ok=True)
        mark = argv[1]
        try:
            run([os.path.join(self.w.attacks, "canary-plant"), mark], cwd=folder)
            return run(argv, cwd=folder)
        finally:
            shutil.rmtree(folder)
            for d in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/work"):
                try:
                    os.unlink(os.path.join(d, mark))
                except OSError:
                    pass
            libc = ctypes.CDLL(None)
            libc.shmctl(libc.shmget(int(mark[2:].rstrip("x"), 16), 0, 0), 0, None)
            run([os.path.join(self.w.attacks, "key-plant"), mark, "remove"])
