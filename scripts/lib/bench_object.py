"""Cycles of objects for scripts/bench: beside slot writes, and beside a PostgreSQL of the bench's own, which is started in the work folder and removed with it."""
import glob
import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile

CLIENTS = 8
SYNCS = "fsync,fdatasync,msync,sync,syncfs,sync_file_range"


class NoPostgres(Exception):
    pass


def _binaries():
    """Debian keeps each version's programs in a folder of their own."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(re.sub(r"\D", "", p.split("/")[4]) or 0))
    if not found:
        raise NoPostgres("PostgreSQL is not installed and could not be installed (apt-get install postgresql)")
    return os.path.dirname(found[-1])


class Postgres:
    """A server for whoever may reach its socket: no TCP, an ordinary user's, with the settings that Debian ships. `folder`: for a socket's path, which has to be short."""

    def __init__(self, work):
        self.bin = _binaries()
        self.folder = tempfile.mkdtemp(prefix="pg-", dir=work)
        self.socket = tempfile.mkdtemp(prefix="lethe-pg-", dir="/tmp")
        self.as_user = []
        if os.geteuid() == 0:  # the server refuses to run as root
            user = pwd.getpwnam("nobody")
            self.as_user = ["setpriv", "--reuid=%d" % user.pw_uid, "--regid=%d" % user.pw_gid, "--clear-groups"]
            for path in (self.folder, self.socket):
                os.chown(path, user.pw_uid, user.pw_gid)
            os.chmod(work, 0o711)

    def ask(self, program, *argv):
        p = subprocess.run([*self.as_user, os.path.join(self.bin, program), *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           cwd="/", env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/"}, timeout=120)
        if p.returncode != 0:
            raise NoPostgres("%s: %s" % (program, p.stdout.strip()[-400:]))

    def __enter__(self):
        try:
            self.ask("initdb", "-D", self.folder + "/data", "-U", "bench", "--auth=trust", "--encoding=UTF8", "--no-locale")
            self.ask("pg_ctl", "-D", self.folder + "/data", "-l", self.folder + "/log", "-w", "-o", "-c listen_addresses='' -k %s" % self.socket, "start")
        except (NoPostgres, OSError, subprocess.TimeoutExpired):
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if os.path.exists(self.folder + "/data/postmaster.pid"):
            self.ask("pg_ctl", "-D", self.folder + "/data", "-w", "-m", "immediate", "stop")
        for path in (self.folder, self.socket):
            shutil.rmtree(path, ignore_errors=True)


def syncs(args, work, way, rounds=50):
    """Synchronisations of one operation, as strace counts them: those of many less those of none. None: nothing can be traced here."""
    counts = []
    for n in (0, rounds):
        folder = tempfile.mkdtemp(dir=work)
        p = subprocess.run(["strace", "-f", "-o", folder + "/trace", "-e", "trace=" + SYNCS, args.build + "/tests/bench/object-cycle", folder + "/store", str(n), way],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if p.returncode != 0:
            print("synchronisations are not counted: strace: %s" % p.stderr.strip()[-200:], file=sys.stderr)
            return None
        with open(folder + "/trace", encoding="utf-8") as f:
            counts.append(len(re.findall(r"^\d+ +(?:%s)\(" % SYNCS.replace(",", "|"), f.read(), re.M)))
    return (counts[1] - counts[0]) / rounds


def cycle_beside_slot(args, work, lines, table):
    rows = table("A cycle of an object without a skill, and a slot write, each durable before the answer",
                 lines([args.build + "/tests/bench/object-cycle", work + "/object-cycle", str(args.n)]), "a slot write")
    for r, way in zip(rows, ("slot", "cycle")):
        r["syncs"] = syncs(args, work, way) if shutil.which("strace") else None
        if r["syncs"] is not None:
            print("%-44s %9.2f synchronisations of files" % (r["name"], r["syncs"]), flush=True)
    return rows


def steps_beside_postgres(args, work, lines, table):
    argv = [args.build + "/tests/bench/object-steps", work + "/object-steps", str(max(1, args.n // 20)), str(CLIENTS)]
    title, end = "A step, durable before the answer, by %d clients at once" % CLIENTS, ", %d clients" % CLIENTS
    try:
        with Postgres(work) as server:
            rows = table(title, lines([*argv, server.socket]), "PostgreSQL, insert and update in one transaction" + end)
    except (NoPostgres, OSError, subprocess.TimeoutExpired) as e:
        print("PostgreSQL is left out: %s" % e, file=sys.stderr)
        rows = table(title, lines(argv), "Lethe, a cycle" + end)
    for r in rows:
        r["rate_ratio"] = round(rows[0]["per_second"] / r["per_second"], 3)
        print("%-60s %9.0f a second%s" % (r["name"], r["per_second"], "" if r is rows[0] else "; Lethe has %.2f times as many" % r["rate_ratio"]), flush=True)
    return rows
