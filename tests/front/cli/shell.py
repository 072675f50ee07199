"""Command lines for a shell, on a terminal and in a pipe, through a daemon and without one. To be imported behind account.py."""
import errno
import os
import pty
import subprocess

from tap import DIR, ENV, LETHE, add, start_daemon, stop_daemon

HOME = os.path.join(DIR, "home")
_daemon = None
os.chmod(DIR, 0o755)


class Said:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return "exit %s, out %r, err %r" % (self.code, self.out[-600:], self.err[-1500:])


def _on_terminal(argv, env):
    """A terminal is all three streams: what it shows is `out`, and `err` is the same."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(HOME)
        os.execve(argv[0], argv, env)
    text = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            break
        if not more:
            break
        text += more
    os.close(fd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = text.decode(errors="replace").replace("\r\n", "\n")
    return Said(code, text, text)


def typed(line, terminal=False, **more):
    """A line for the shell, in HOME, with lethe in its PATH."""
    argv = ["/bin/sh", "-c", line]
    env = dict(ENV, PATH=os.path.dirname(LETHE) + ":" + ENV["PATH"], **more)
    if terminal:
        return _on_terminal(argv, env)
    p = subprocess.run(argv, cwd=HOME, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    return Said(p.returncode, p.stdout, p.stderr)


def served(on):
    """A daemon for what follows, or none."""
    global _daemon
    if on and not _daemon:
        _daemon = start_daemon(dict(ENV, LETHE_SOCKET=os.path.join(DIR, "socket")))
    ENV["LETHE_SOCKET"] = os.path.join(DIR, "socket" if on else "no-socket")


def each_way(fn):
    """The case on a terminal and in a pipe, through the daemon and without."""
    for daemon in (False, True):
        for terminal in (False, True):
            def one(daemon=daemon, terminal=terminal):
                served(daemon)

                def sh(line, **more):
                    return typed(line, terminal, **more)

                sh.terminal = terminal
                fn(sh)
            add("%s, %s, %s" % (fn.__name__.replace("_", " "), "on a terminal" if terminal else "in a pipe", "through the daemon" if daemon else "without one"), one)
    return fn


def either(fn):
    """The case in a pipe, through the daemon and without."""
    for daemon in (False, True):
        def one(daemon=daemon):
            served(daemon)
            fn(typed)
        add("%s, %s" % (fn.__name__.replace("_", " "), "through the daemon" if daemon else "without one"), one)
    return fn


def stop_served():
    """Stops the daemon of served(); its exit code, or None without one."""
    global _daemon
    p, _daemon = _daemon, None
    return stop_daemon(p) if p else None


def make(name, text, mode=0o755):
    path = os.path.join(HOME, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path
