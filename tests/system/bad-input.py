#!/usr/bin/env python3
"""What is wrong with the store, the machine or the command line is said in words and with the right exit code, and nothing is lost.
Usage: bad-input.py LETHE WORKER GUARD. Prints TAP."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from folder import remove

LETHE, WORKER, GUARD = map(os.path.abspath, sys.argv[1:4])
NOBODY = 65534
ROOT = os.getuid() == 0
CASES = []


class Skip(Exception):
    pass


def case(fn):
    CASES.append(fn)
    return fn


class Place:
    """A folder with its own lethe, home and store, owned by the user who runs it."""

    def __init__(self, user=False):
        self.base = tempfile.mkdtemp(prefix="lethe-bad-", dir="/var/tmp")
        self.prefix = []
        for p in (LETHE, WORKER, GUARD):
            shutil.copy2(p, self.base)
        if user and ROOT:
            self.prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
            os.chown(self.base, NOBODY, NOBODY)
        self.lethe = self.path("lethe")
        self.store = self.path("store")
        self.env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.base, "XDG_STATE_HOME": self.path("state"), "LANG": "C.UTF-8"}

    def path(self, *parts):
        return os.path.join(self.base, *parts)

    def command(self, *argv):
        return [*self.prefix, self.lethe, *argv]

    def __call__(self, *argv, before=()):
        return subprocess.run([*before, *self.command(*argv)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.env, check=False)

    def run(self, *program, opts=(), before=()):
        return self("run", "--store", self.store, *opts, "--exec", *program, before=before)

    def end(self):
        remove(self.base)


def expect(p, code, *words):
    said = (p.stdout + p.stderr).decode(errors="replace")
    assert p.returncode == code, f"ended {p.returncode}, not {code}: {said[-600:]}"
    for w in words:
        assert any(x in said.lower() for x in w.split("|")), f"nothing about '{w}': {said[-600:]}"
    assert "Sanitizer" not in said and "Assertion" not in said, said


def intact(place):
    expect(place("audit", "--store", place.store), 0)


@case
def a_program_that_is_missing(p):
    expect(p.run("/nonexistent/program"), 127, "nonexistent")
    expect(p.run("no-such-program-anywhere"), 127, "no-such-program-anywhere")


@case
def a_program_that_cannot_be_executed(p):
    with open(p.path("plain"), "w", encoding="utf-8") as f:
        f.write("not a program\n")
    expect(p.run(p.path("plain")), 126, "plain")
    os.chmod(p.path("plain"), 0o755)
    code = p.run(p.path("plain")).returncode
    assert code == 126, code


@case
def a_skill_without_its_entry(p):
    os.mkdir(p.path("broken"))
    with open(p.path("broken", "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: broken\ndescription: Has no program.\n---\n")
    with open(p.path("broken", "lethe.json"), "w", encoding="utf-8") as f:
        json.dump({"version": 1, "entry": {"main": ["./none"]}}, f)
    got = p("run", "--store", p.store, p.path("broken"))
    assert got.returncode in (125, 127), got
    expect(got, got.returncode, "none")
    expect(p("run", "--store", p.store, p.path("no-such-skill")), 127, "no-such-skill")


@case
def links_out_of_the_skill(p):
    os.makedirs(p.path("linked"))
    with open(p.path("linked", "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: linked\ndescription: Points elsewhere.\n---\n")
    for target in ("/etc/passwd", "../store/key", "a/../../up", "/"):
        if os.path.lexists(p.path("linked", "l")):
            os.unlink(p.path("linked", "l"))
        os.symlink(target, p.path("linked", "l"))
        expect(p("run", "--store", p.store, "--entry", "l", p.path("linked")), 125, "outside")


@case
def a_manifest_that_is_no_json(p):
    os.makedirs(p.path("bad"))
    with open(p.path("bad", "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: bad\ndescription: Bad manifests.\n---\n")
    for text, word in ((b"{", "lethe.json"), (b'{"version":1,"version":1}', "version"), (b"\xff\xfe", "decode"),
                       (b'{"version":1,"x":' + b"[" * 5000 + b"]" * 5000 + b"}", "deep|depth|level"),
                       (b'{"version":1,"unknown":1}', "unknown"), (b'{"version":99}', "version"),
                       (b'{"version":1,"x":"' + b"a" * 300000 + b'"}', "large|longer|bytes|most")):
        with open(p.path("bad", "lethe.json"), "wb") as f:
            f.write(text)
        expect(p("run", "--store", p.store, p.path("bad")), 125, "lethe.json", word)


@case
def a_store_that_is_read_only(p):
    expect(p.run("/bin/true"), 0)
    for top, names, files in os.walk(p.store, topdown=False):
        for n in files:
            os.chmod(os.path.join(top, n), 0o400)
        os.chmod(top, 0o500)
    if ROOT and not p.prefix:
        raise Skip("root writes what is read-only; the ordinary user's row shows it")
    got = p.run("/bin/true")
    expect(got, 125, "store|permission|read-only")
    expect(p("audit", "--store", p.store), 0)
    for top, names, files in os.walk(p.store):
        os.chmod(top, 0o700)
        for n in files:
            os.chmod(os.path.join(top, n), 0o600)
    expect(p.run("/bin/true"), 0)
    intact(p)


@case
def a_mount_that_is_read_only(p):
    if not ROOT or p.prefix:
        raise Skip("needs root: mounts")
    expect(p.run("/bin/true"), 0)
    got = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"', "sh",
                          p.store, *p.command("run", "--store", p.store, "--exec", "/bin/true")], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=p.env, check=False)
    expect(got, 125, "read-only")
    intact(p)


@case
def a_disk_that_is_full(p):
    if not ROOT or p.prefix:
        raise Skip("needs root: mounts")
    os.mkdir(p.path("disk"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", p.path("disk")], check=True)
    p.store = p.path("disk", "store")
    try:
        codes = [p.run("/bin/true")]
        while codes[-1].returncode == 0 and len(codes) < 400:
            codes.append(p.run("/bin/true"))
        expect(codes[-1], codes[-1].returncode if codes[-1].returncode == 137 else 125, "no space|full")
        done = len(codes) - 1
        subprocess.run(["mount", "-o", "remount,size=8m", p.path("disk")], check=True)
        expect(p.run("/bin/true"), 0)
        intact(p)
        ended = [json.loads(x) for x in p("log", "--store", p.store, "--json").stdout.splitlines()]
        assert sum(e["type"] == "invocation.ended" for e in ended) >= done + 1, "a recorded end was lost"
    finally:
        subprocess.run(["umount", p.path("disk")], check=True)


@case
def a_store_cut_or_damaged(p):
    for _ in range(5):
        expect(p.run("/bin/true"), 0)
    data = os.path.join(p.store, "data.mdb")
    with open(data, "rb") as f:
        good = f.read()

    def damaged(body):
        with open(data, "wb") as f:
            f.write(body)
        a, r = p("audit", "--store", p.store), p.run("/bin/true")
        assert a.returncode in (0, 1, 2), f"audit ended {a.returncode}"
        assert r.returncode in (0, 125), f"run ended {r.returncode}: {r.stderr[-300:]}"
        return a.returncode, r.returncode

    for n in (0, 100, 4096, 8192, len(good) // 2):
        assert damaged(good[:n])[0] != 0, f"cut to {n} bytes, and audit is content"
    found = 0
    for at in range(0, len(good), max(1, len(good) // 40)):
        body = bytearray(good)
        body[at] ^= 0x10
        found += damaged(bytes(body))[0] != 0
    assert found > 0, "no flip was found"
    with open(data, "wb") as f:
        f.write(good)
    # Runs on damaged copies were recorded in those, and the anchor and the redo file saw them: they belong to what was damaged. Where a copy broke
    # only after a run had begun, the redo file still has that beginning, for a state that is again there.
    shutil.rmtree(p.path("state"), ignore_errors=True)
    os.unlink(os.path.join(p.store, "redo"))
    intact(p)


@case
def a_store_of_a_newer_version(p):
    os.mkdir(p.store, 0o700)
    with open(os.path.join(p.store, "format"), "w", encoding="utf-8") as f:
        f.write("999\n")
    got = p.run("/bin/true")
    expect(got, 125, "store")


@case
def a_store_that_is_no_store(p):
    os.mkdir(p.store, 0o700)
    with open(os.path.join(p.store, "thesis.txt"), "w", encoding="utf-8") as f:
        f.write("three years of work\n")
    expect(p.run("/bin/true"), 125, "store")
    assert os.listdir(p.store) == ["thesis.txt"], os.listdir(p.store)
    p.store = p.path("lethe")
    expect(p.run("/bin/true"), 125, "store|folder|directory")


@case
def a_ledger_that_was_rolled_back(p):
    expect(p.run("/bin/true"), 0)
    shutil.copytree(p.store, p.path("old"))
    expect(p.run("/bin/true"), 0)
    shutil.rmtree(p.store)
    os.rename(p.path("old"), p.store)
    if p.prefix:
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", p.store], check=True)
    for _ in range(3):
        expect(p.run("/bin/true"), 125, "anchor")


@case
def an_older_data_file_alone(p):
    # Beside the redo file of what came next: the store of that time, which the anchor refuses, and nothing of what came next (I-17).
    data = os.path.join(p.store, "data.mdb")
    for program in (("/bin/true",), ("/bin/sleep", "0.2")):  # the end of the second is not in one commit with its beginning
        expect(p.run("/bin/true"), 0)
        with open(data, "rb") as f:
            older = f.read()
        then = p("checkpoint", "--store", p.store).stdout
        expect(p.run(*program), 0)
        with open(data, "wb") as f:
            f.write(older)
        expect(p("audit", "--store", p.store), 1, "anchor")
        shutil.rmtree(p.path("state"))
        intact(p)
        assert p("checkpoint", "--store", p.store).stdout == then, "more than there was"


@case
def no_user_namespaces(p):
    # Inside a user namespace with a limit of 0 below it, as root there or not: what a container or AppArmor does.
    wrap = ["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    if subprocess.run([*p.prefix, *wrap, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skip("no user namespace to try it in")
    got = subprocess.run([*p.prefix, *wrap, p.lethe, "run", "--store", p.store, "--exec", "/bin/true"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=p.env, check=False)
    expect(got, 125, "namespace", "fix")
    assert b"region.allocated" not in p("log", "--store", p.store).stdout, "a refused run was allocated"


@case
def too_many_regions_at_once(p):
    with open(p.path("policy.json"), "w", encoding="utf-8") as f:
        json.dump({"version": 1, "max_regions": 5}, f)
    os.chmod(p.path("policy.json"), 0o644)
    argv = p.command("run", "--quiet", "--store", p.store, "--policy", p.path("policy.json"), "--timeout", "10m", "--exec",
                     "/bin/sleep", "600")
    first = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=p.env) for _ in range(5)]
    try:
        alive = 0
        while alive < 5:
            assert all(x.poll() is None for x in first), [(x.poll(), x.poll() is not None and x.stderr.read()) for x in first]
            alive = p("ps", "--store", p.store, "--json").stdout.count(b'"region"')
            signal.sigtimedwait([], 0.05)
        more = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=p.env) for _ in range(20)]
        for m in more:
            said = m.stderr.read()
            code = m.wait()
            assert code == 125 and b"5" in said and b"region" in said, (code, said)
        assert all(x.poll() is None for x in first), [(x.poll(), x.poll() is not None and x.stderr.read()) for x in first]
    finally:
        for x in first:
            x.terminate()
        codes = [x.wait() for x in first]
    assert codes == [143] * 5, codes
    intact(p)


@case
def a_store_that_many_make_at_once(p):
    # The first use makes it: of many first users one is faster, and none takes away what another is just making.
    argv = p.command("slot", "define", "notes", "--schema", "-", "--store", p.store)
    for _ in range(6):
        many = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=p.env) for _ in range(16)]
        said = [m.communicate(b"{}")[1] for m in many]
        assert [m.returncode for m in many] == [0] * 16, [s for s in said if s]
        intact(p)
        shutil.rmtree(p.store)
        assert os.listdir(p.base).count("store") == 0 and not [x for x in os.listdir(p.base) if ".new." in x], os.listdir(p.base)


@case
def hundreds_at_once(p):
    # What a busy machine does: all start together, most are refused by the limit, none hangs or breaks, and each that ran is recorded.
    with open(p.path("policy.json"), "w", encoding="utf-8") as f:
        json.dump({"version": 1, "max_regions": 16}, f)
    os.chmod(p.path("policy.json"), 0o644)
    argv = p.command("run", "--quiet", "--store", p.store, "--policy", p.path("policy.json"), "--exec", "/bin/true")
    expect(p.run("/bin/true"), 0)
    codes = []
    for _ in range(4):
        wave = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=p.env)
                for _ in range(100)]
        codes += [w.wait() for w in wave]
    assert set(codes) <= {0, 125}, {c: codes.count(c) for c in set(codes)}
    events = [json.loads(x) for x in p("log", "--store", p.store, "--json").stdout.splitlines()]
    ended = sum(e["type"] == "invocation.ended" for e in events)
    assert ended == codes.count(0) + 1, (ended, codes.count(0))
    intact(p)


@case
def standard_descriptors_that_are_closed(p):
    for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        got = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *p.command("run", "--store", p.store, "--exec", "/bin/echo", "x")],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=p.env, check=False)
        lost = "1>&-" in closed  # what the program wrote is lost: no success
        assert got.returncode == (137 if lost else 0), (closed, got)
    intact(p)


@case
def a_reader_that_goes_away(p):
    got = subprocess.run(["sh", "-c", '"$@" | head -c 10 >/dev/null', "sh", *p.command("run", "--store", p.store, "--exec", "/usr/bin/yes")],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=p.env, check=False)
    assert got.returncode == 0, got
    events = [json.loads(x) for x in p("log", "--store", p.store, "--json").stdout.splitlines()]
    assert events[-1]["type"] == "invocation.ended", events[-1]
    intact(p)


@case
def a_receipt_that_cannot_be_written(p):
    expect(p.run("/bin/true"), 0)
    got = p("run", "--store", p.store, "--receipt", p.path("none", "receipt"), "--exec", "/bin/true")
    assert got.returncode == 125 or b"receipt" in got.stderr, got
    os.mkdir(p.path("folder"))
    got = p("run", "--store", p.store, "--receipt", p.path("folder"), "--exec", "/bin/true")
    assert got.returncode == 125 or b"receipt" in got.stderr, got
    intact(p)


@case
def numbers_that_are_none(p):
    for opts in (("--memory", "-1"), ("--memory", "1e400"), ("--timeout", "forever"), ("--pids-limit", "0"), ("--memory", "99999999999999t"),
                 ("-v", "relative:/x"), ("-v", "/nonexistent:/x"), ("-e", "=x"), ("--connect", "nowhere"), ("--tier", "best"),
                 ("--policy", "/nonexistent")):
        got = p.run("/bin/true", opts=opts)
        assert got.returncode in (2, 125) and got.stderr, (opts, got)


def main():
    users = ([False] if ROOT else []) + [True]
    print(f"1..{len(CASES) * len(users)}", flush=True)
    n = failed = 0
    for user in users:
        for fn in CASES:
            n += 1
            place = Place(user)
            name = f"{n} - {fn.__name__.replace('_', ' ')}, {'an ordinary user' if user else 'root'}"
            try:
                fn(place)
                print(f"ok {name}", flush=True)
            except Skip as e:
                print(f"ok {name}: not shown, {e}", flush=True)
            except AssertionError as e:
                failed += 1
                print(f"not ok {name}\n# " + str(e).replace("\n", "\n# "), flush=True)
            finally:
                place.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
