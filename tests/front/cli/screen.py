"""Terminals for tests: of a test's own, and a real one (tmux) with a shell in it."""
import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from tap import DIR, ENV, LETHE, check, same, wait_for

SECONDS = 120  # only against hanging
ANSWERED = re.compile(rb"\x1b\[(\d+);(\d+)H\x1b\[6n")


class Terminal:
    """lethe, or another program, with these arguments, on a terminal of ours. answers: as a terminal does, in the order of the questions."""

    def __init__(self, *argv, program=LETHE, answers=True, rows=30, columns=100, **env):
        self.answers, self.seen, self.asked = answers, b"", 0
        self.fd, slave = pty.openpty()
        self.size(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.closerange(3, 256)
            os.execve(program, [program, *argv], dict(ENV, TERM="xterm", **env))
        self.slave = slave

    def size(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def has_size(self):
        """Rows and columns."""
        return struct.unpack("HHHH", fcntl.ioctl(self.fd, termios.TIOCGWINSZ, bytes(8)))[:2]

    def read(self, seconds=1):
        """False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            more = os.read(self.fd, 65536)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            return False
        self.seen += more
        if self.answers:
            self.answer()
        return bool(more)

    def answer(self):
        for row, column in ANSWERED.findall(self.seen[self.asked:]):
            self.type(b"\x1b[%s;%sR" % (row, column))
        ends = [m.end() for m in ANSWERED.finditer(self.seen[self.asked:])]
        self.asked += ends[-1] if ends else 0

    def type(self, text):
        os.write(self.fd, text)

    def until(self, what):
        end = time.monotonic() + SECONDS
        while what not in self.seen:
            check(time.monotonic() < end, "no %r in %r" % (what, self.seen[-2000:]))
            check(self.read(), "the end, and no %r in %r" % (what, self.seen[-2000:]))

    def expect(self, what):
        """Returns what stood before it, and forgets both."""
        self.until(what)
        before, self.seen = self.seen.split(what, 1)
        self.asked = 0
        return before

    def gone(self):
        """Waits for the end of lethe: its code, and what was shown since."""
        until = time.monotonic() + SECONDS
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            check(time.monotonic() < until, "does not end: %r" % self.seen[-2000:])
            self.read(0.05)
        while select.select([self.fd], [], [], 0)[0] and self.read(0):
            pass
        return os.waitstatus_to_exitcode(status), self.seen

    def end(self):
        """As gone(); the terminal's modes are as before."""
        code, seen = self.gone()
        same(termios.tcgetattr(self.slave), self.before)
        self.close()
        return code, seen

    def close(self):
        os.close(self.fd)
        os.close(self.slave)

    def waiting(self):
        """What the shell would read."""
        n = fcntl.ioctl(self.slave, termios.FIONREAD, b"\0\0\0\0")
        return struct.unpack("i", n)[0]


class Tmux:
    def __init__(self, rows=25, columns=90):
        self.at = os.path.join(DIR, "tmux")
        self("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "/bin/sh")

    def __call__(self, *argv):
        p = subprocess.run(["tmux", "-S", self.at, *argv], env=dict(ENV, TERM="xterm", PS1="$ ", SHELL="/bin/sh"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        same((p.returncode, p.stderr), (0, ""), argv)
        return p.stdout

    def keys(self, *keys):
        self("send-keys", *keys)

    def until(self, text):
        wait_for(lambda: text in self("capture-pane", "-p"), "%r on the screen: %r" % (text, self("capture-pane", "-p")))
        return self("capture-pane", "-p")
