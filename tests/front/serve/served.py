"""What tests of `lethe serve` have in common: they go on as an ordinary user where the second argument says so, find tests/front/cli/tap.py, and speak to a socket."""
import array
import base64
import json
import os
import shutil
import socket
import sys

if sys.argv[2:3] == ["user"] and os.getuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tap import DIR, ENV, STORE, ask_daemon, cgroups_left, check, lethe, same, start_daemon, stop_daemon, wait_for  # noqa: E402

SOCKET = os.path.join(DIR, "socket")


def skill(name, entry, files, **manifest):
    folder = os.path.join(DIR, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder, 0o755)
    files = {"SKILL.md": f"---\nname: {name}\ndescription: One of a test.\n---\n",
             "lethe.json": json.dumps({"version": 1, "entry": {"main": entry}, **manifest}), **files}
    for file, text in files.items():
        with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
            f.write(text)
    os.chmod(DIR, 0o711)
    return folder


class Daemon:
    """One that lives as long as the `with`, and must end well."""

    def __init__(self, *argv, code=0, wrap=(), **env):
        self.argv, self.code, self.wrap, self.env = argv, code, wrap, env

    def __enter__(self):
        self.p = start_daemon(dict(ENV, **self.env), *self.argv, wrap=self.wrap)
        self.pid = self.p.pid
        return self

    def quiet(self):
        """Until nothing of any invocation is left to be done. An answer says how a run ended; what it had is put away after that."""
        wait_for(lambda: {k: v for k, v in ask_daemon("status").items() if k in ("running", "queued", "ending") and v} == {}, "that nothing runs, waits or ends")

    def __exit__(self, kind, *rest):
        if self.p.returncode is None:
            code = stop_daemon(self.p)
            if not kind:
                same(code, self.code, self.p.said)


class Connection:
    """One connection: requests with numbers of their own, and what is answered."""

    def __init__(self, path=SOCKET, wait=120):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.s.settimeout(wait)
        self.s.connect(path)
        self.f = self.s.makefile("rb")
        self.n = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.f.close()
        self.s.close()

    def send(self, method, fds=(), **params):
        self.n += 1
        line = json.dumps({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params}).encode() + b"\n"
        if fds:
            self.s.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        else:
            self.s.sendall(line)
        return self.n

    def read(self):
        line = self.f.readline()
        return json.loads(line) if line else None

    def call(self, method, **kw):
        self.send(method, **kw)
        return self.read()


class Client(Connection):
    def run(self, *argv, **kw):
        return self.call("run", exec=argv[0], args=list(argv[1:]), **kw)


def alive():
    return [json.loads(l) for l in lethe("ps", "--json").out.splitlines()]


def wait_alive(n):
    wait_for(lambda: len(alive()) == n, "%d that are alive" % n)


def descendants(pid):
    """All processes below this one."""
    below = {}
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as f:
                below.setdefault(int(f.read().rsplit(") ", 1)[1].split()[1]), []).append(int(name))
        except (OSError, ValueError):
            pass
    found, ask = [], [pid]
    while ask:
        for child in below.get(ask.pop(), []):
            found.append(child)
            ask.append(child)
    return found


def traced(pid):
    """Whether it has a guard."""
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8") as f:
            return any(line.startswith("TracerPid:") and line.split()[1] != "0" for line in f)
    except OSError:
        return False


def text_of(output):
    """Of one `output` notification."""
    return base64.b64decode(output["params"]["data"]).decode()


def word(answer):
    return answer["error"]["data"]["code"]


def nothing_is_left():
    """The last case of a file: after its daemons have ended."""
    same(lethe("run", "--no-serve", "--exec", "/bin/true").code, 0)  # takes away what guards wrote after the last start
    same(cgroups_left(), [])
    same(alive(), [])
    same(set(os.listdir(os.path.join(STORE, "run"))) - {"pages"}, {"alive", "gate"})
    same(os.listdir(os.path.join(STORE, "guard")), ["lock"])
    check(not os.path.exists(SOCKET))
    same(lethe("audit").code, 0)
