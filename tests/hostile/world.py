"""The host that the attacks aim at: files, listeners, a process, keys and shared memory that run.py plants, each with the canary in it,
and a look afterwards at whether anything of it was touched. Everything goes when the World ends."""

import contextlib
import ctypes
import hashlib
import os
import select
import shutil
import socket
import stat
import subprocess
import tempfile
import threading

CANARY = b"lethe-hostile-canary"
NOBODY = 65534
libc = ctypes.CDLL(None, use_errno=True)
IPC_CREAT, IPC_RMID = 0o1000, 0


def as_user(uid, argv):
    """argv run with that uid; the caller is root unless uid is its own."""
    if uid == os.getuid():
        return list(argv)
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *argv]


class World:
    def __init__(self, build, uid):
        self.uid = uid
        self.root = os.getuid() == 0
        self.attacks = os.path.join(build, "tests", "hostile", "attacks")
        # Not below $TMPDIR, which only its owner may enter: the ordinary user works here too. And not in /tmp or /work, which a region has
        # as folders of its own: a path there means scratch, not a file of the host that is denied.
        self.base = tempfile.mkdtemp(prefix="lethe-hostile-", dir="/var/tmp")
        os.chmod(self.base, 0o755)
        self.mark = "m-" + format(int.from_bytes(os.urandom(3), "big") | 0x40000000, "x")
        self.key = int(self.mark[2:], 16) ^ 0x01000000
        self.sockets = []
        self.children = set()
        self.hashes = {}
        self.stop = []
        try:
            self._files(build)
            self._listeners()
            self._memory()
            self._victim()
        except BaseException:
            self.close()
            raise
        self.before = self.fingerprint()

    # --- what is planted ---------------------------------------------------------------------------------------------------
    def path(self, *parts):
        return os.path.join(self.base, *parts)

    def own(self, path, mode=None):
        if self.root:
            os.chown(path, self.uid, self.uid)
        if mode is not None:
            os.chmod(path, mode)
        return path

    def folder(self, *parts, mode=0o755):
        os.mkdir(self.path(*parts))
        return self.own(self.path(*parts), mode)

    def write(self, data, *parts, mode=0o644):
        with open(self.path(*parts), "wb") as f:
            f.write(data)
        return self.own(self.path(*parts), mode)

    def _files(self, build):
        self.own(self.base)
        self.home = self.folder("home", mode=0o700)
        self.write(CANARY + b" of the home\n", "home", "token", mode=0o600)
        self.host = self.folder("host")
        self.secret = self.write(CANARY + b" of a file\n", "host", "secret")
        self.fifo = self.path("host", "fifo")
        os.mkfifo(self.fifo)
        self.own(self.fifo, 0o644)
        self.state = self.folder("state")
        self.folder("bin")
        self.folder("out", mode=0o777)  # in tier landlock a root's region has another uid than its starter
        # The programs belong to the user who runs them: the worst case, since then a skill of that uid might write them.
        for name in ("lethe", "lethe-serve", "lethe-worker", "lethe-guard", "lethe-layer"):
            self.own(shutil.copy2(os.path.join(build, name), self.path("bin", name)), 0o755)
        shims = shutil.copytree(os.path.join(build, "shim-root"), self.path("bin", "shim-root"))
        for top, _, names in os.walk(shims):
            for path in [top] + [os.path.join(top, n) for n in names]:
                self.own(path, os.stat(path).st_mode & 0o777)
        self.lethe = self.path("bin", "lethe")
        self.worker = self.path("bin", "lethe-worker")
        self.suid = shutil.copy2(os.path.join(self.attacks, "priv-euid"), self.path("bin", "priv-euid"))
        if self.root:
            os.chown(self.suid, 0, 0)
            os.chmod(self.suid, 0o4755)

    @staticmethod
    def _give(c, given):
        with c, contextlib.suppress(OSError):  # it may be closed already
            if given:
                c.sendall(given)

    def _serve(self, s, given=b""):
        def loop():
            while True:
                try:
                    if s.type == socket.SOCK_DGRAM:
                        s.recv(4096)
                    else:
                        self._give(s.accept()[0], given)
                except OSError:
                    return
        self.sockets.append(s)
        threading.Thread(target=loop, daemon=True).start()

    def _listeners(self):
        for kind in ("tcp", "other", "udp"):
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
            s.bind(("127.0.0.1", 0))
            if kind != "udp":
                s.listen(64)
            setattr(self, kind, s.getsockname()[1])
            self._serve(s)
        giver = socket.socket()  # as much as a new connection takes, unread
        giver.bind(("127.0.0.1", 0))
        giver.listen(64)
        self.giver = giver.getsockname()[1]
        self._serve(giver, bytes(60 << 10))
        silent = socket.socket()  # accepts nobody, and so reads nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen(4096)
        self.silent = silent.getsockname()[1]
        self.sockets.append(silent)
        self.abstract = "lethe-hostile-" + self.mark
        self.unix = self.path("host", "socket")
        self.dgram = self.path("host", "dgram")
        for kind, name in ((socket.SOCK_STREAM, "\0" + self.abstract), (socket.SOCK_STREAM, self.unix),
                           (socket.SOCK_DGRAM, self.dgram), (socket.SOCK_DGRAM, "\0" + self.abstract + "-dgram")):
            s = socket.socket(socket.AF_UNIX, kind)
            s.bind(name)
            if kind == socket.SOCK_STREAM:
                s.listen(64)
            if name[0] != "\0":
                self.own(name, 0o666)
            self._serve(s)

    def _memory(self):
        self.shm = libc.shmget(self.key, 4096, IPC_CREAT | 0o666)
        libc.shmat.restype = ctypes.c_void_p
        p = libc.shmat(self.shm, None, 0)
        ctypes.memmove(p, CANARY, len(CANARY))
        libc.shmdt(ctypes.c_void_p(p))
        self.msg = libc.msgget(self.key, IPC_CREAT | 0o666)
        self.posix = "/lethe-hostile-" + self.mark
        self.write(CANARY, "/dev/shm" + self.posix, mode=0o666)
        old = os.umask(0)
        q = libc.mq_open(self.posix.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
        os.umask(old)
        if q >= 0:
            os.close(q)
        self.keyname = "lethe-hostile:" + self.mark
        self.user_run([os.path.join(self.attacks, "key-plant"), self.keyname])

    def _victim(self):
        uid = NOBODY if self.root else self.uid  # the uid that a region has on the host
        self.victim = subprocess.Popen(as_user(uid, [os.path.join(self.attacks, "victim")]), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, bufsize=0, env={"TOKEN": CANARY.decode(), "PATH": os.environ["PATH"]})
        self.children.add(self.victim.pid)
        pid, self.address, self.fd = self.victim.stdout.readline().decode().split()
        self.pid = int(pid)

    def user_run(self, argv):
        return subprocess.run(as_user(self.uid, argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def words(self):
        """What a row may name in braces."""
        return {k: str(getattr(self, k)) for k in ("base", "home", "host", "secret", "fifo", "lethe", "worker", "suid", "tcp", "other", "udp", "silent", "giver",
                                                   "abstract", "unix", "dgram", "pid", "address", "fd", "posix", "keyname", "mark",
                                                   "attacks", "state")} | {"key": hex(self.key), "parent": str(os.getpid()),
                                                                           "out": self.path("out")}

    def hash_of(self, path, st):
        """A file is read again when its inode or the time of its last change is another: nobody can set that time. run.py reads all files again at its end."""
        known = (st.st_dev, st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
        if self.hashes.get(path, (None, b""))[0] != known:
            with open(path, "rb") as f:
                self.hashes[path] = known, hashlib.sha256(f.read()).digest()
        return self.hashes[path][1]

    # --- what became of it --------------------------------------------------------------------------------------------------
    def fingerprint(self):
        seen = {}
        for top in ("home", "host", "bin"):
            for folder, _, names in os.walk(self.path(top)):
                for name in names:
                    p = os.path.join(folder, name)
                    st = os.lstat(p)
                    seen[p] = (st.st_mode, st.st_uid, st.st_size, st.st_nlink, self.hash_of(p, st) if stat.S_ISREG(st.st_mode) else b"")
        with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
            seen["core_pattern"] = f.read()
        seen["hostname"] = socket.gethostname()
        return seen

    daemons = frozenset()

    def left_behind(self):
        """Processes that the last run left: this process is a subreaper, so they are its children. They are ended and reaped."""
        found, parents = [], {}
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) in self.children:
                continue
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    head, _, rest = f.read().rpartition(")")
            except OSError:
                continue
            parents[int(name)] = int(rest.split()[1]), head.partition("(")[2]
            if int(rest.split()[1]) == os.getpid():
                found.append(f"{name} {head.partition('(')[2]} {rest.split()[0]}")
                try:
                    os.kill(int(name), 9)
                    os.waitpid(int(name), 0)
                except OSError:
                    pass
        launchers = {pid for pid, (above, name) in parents.items() if above in self.daemons and name == "lethe-layer"}
        spares = {min((pid for pid, (above, name) in parents.items() if above == launcher), default=0) for launcher in launchers}  # the first that a launcher made
        for pid, (above, name) in parents.items():  # below a daemon stands what makes its regions, and nothing else
            if pid in launchers | spares:
                continue
            while above in parents:
                above = parents[above][0]
            if above in self.daemons and name not in ("lethe-worker", "lethe-guard", "lethe-warm", "lethe-first", "lethe-binder", "lethe-discard"):
                found.append(f"{pid} {name} below the daemon")
        return found

    def victim_was_hit(self):
        hit = False
        while select.select([self.victim.stdout], [], [], 0)[0] and os.read(self.victim.stdout.fileno(), 4096):
            hit = True
        return hit

    def changed(self):
        now = self.fingerprint()
        for k in sorted(set(now) | set(self.before)):
            if now.get(k) != self.before.get(k):
                return f"{k} was changed: {self.before.get(k)} {now.get(k)}"
        return None

    def harm(self):
        """What is not as it was, in words; None when all is well."""
        if self.victim_was_hit():
            return "a signal reached the victim process"
        if self.victim.poll() is not None:
            return "the victim process died"
        changed = self.changed()
        if changed:
            return changed
        left = self.left_behind()
        if left:
            return "processes are left: " + ", ".join(left)
        return None

    def close(self):
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        if hasattr(self, "victim"):
            self.victim.kill()
            self.victim.wait()
        if hasattr(self, "shm"):
            libc.shmctl(self.shm, IPC_RMID, None)
        if hasattr(self, "msg"):
            libc.msgctl(self.msg, IPC_RMID, None)
        if hasattr(self, "posix"):
            libc.mq_unlink(self.posix.encode())
            if os.path.exists("/dev/shm" + self.posix):
                os.unlink("/dev/shm" + self.posix)
        if hasattr(self, "keyname"):
            self.user_run([os.path.join(self.attacks, "key-plant"), self.keyname, "remove"])
        shutil.rmtree(self.base, ignore_errors=True)
