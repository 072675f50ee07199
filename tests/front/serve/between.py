#!/usr/bin/python3
"""Two invocations share no byte that either can write (I-92): what one leaves, in whatever its language reaches, another one does not find. TAP.

usage: between.py LETHE root|user

Folder between/ has a program for each language. It leaves bytes wherever it can (`plant`, `both`), and says what it finds there (`look`, `twice`, `both`):
modules, libraries and their code, files where an interpreter, the C library or Lethe's bootstraps look, the environment, descriptors, shared mappings, timers,
locales, gconv, .pth files, NODE_OPTIONS, PERL5OPT. All of them go on from interpreters that were there before. As root two users ask, as an ordinary user one.

The control: each way is found by the same program when nothing stands against it, in the region that planted it (by its program, or by another one that it
executes) or, where a region can plant nothing, by a second process in a root that can be written to.
"""
import atexit
import contextlib
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
SHIMS = os.path.join(BUILD, "shim-root")
LIBRARIES = os.path.dirname(glob.glob("/usr/lib/*/gconv")[0])
PACKAGES = "/usr/local/lib/python3.%d/dist-packages" % sys.version_info[1]
PLACES = [
    "/planted", "/work/planted", "/tmp/planted", "/dev/shm/planted", "/skill/planted", "/lethe/planted", "/lethe/bin/lethe-load", "/lethe/bin/python3",
    # Variables that an interpreter takes without being asked, and places where it looks for modules.
    "/usr/lib/python3/dist-packages/planted.pth", PACKAGES + "/sitecustomize.py", "/usr/lib/python3/dist-packages/usercustomize.py",
    "/lethe/python/lethe.py", "/lethe/python/sitecustomize.py", f"/lethe/python/__pycache__/lethe.{sys.implementation.cache_tag}.pyc", "/etc/perl/Planted.pm", "/usr/share/perl5/Planted.pm",
    "/lethe/node/lethe.js", "/usr/lib/node_modules/planted.js", "/work/.node_modules/planted.js",
    # Files that all of them run before a line of a skill.
    "/lethe/warm/warm.py", "/lethe/warm/LetheWarm.pm", "/lethe/warm/ahead.js", "/lethe/warm/liblethe-warm.so",
    # The loader's and the C library's.
    "/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/ld.so.conf.d/planted.conf", LIBRARIES + "/libz.so.1", LIBRARIES + "/gconv/gconv-modules", LIBRARIES + "/gconv/gconv-modules.cache",
    LIBRARIES + "/gconv/gconv-modules.d/planted.conf", "/usr/lib/locale/planted/LC_CTYPE", "/usr/lib/locale/locale-archive", "/etc/ssl/openssl.cnf", "/etc/localtime", "/etc/passwd",
]
LANGUAGES = {
    "python": (["python3", "/skill/main.py"], "main.py", ["json", "locale", "socket", "subprocess"], "/usr/bin/python3"),
    "perl": (["perl", "/skill/main.pl"], "main.pl", ["List::Util", "POSIX", "JSON::PP", "Socket"], "/usr/bin/perl"),
    "node": (["node", "/skill/main.js"], "main.js", ["crypto"], "/usr/bin/node"),
    "c": (["lethe-load", "/skill/skill.so"], "skill.so", ["libz.so.1"], "/lethe/bin/lethe-load"),
}
THERE = {name: row for name, row in LANGUAGES.items() if row[3].startswith("/lethe/") or os.path.exists(row[3])}
BARE = """set -e
mount -t tmpfs -o mode=755 none $1
cd $1
mkdir root upper below
over() { mkdir -p upper$2 below$2 root$2; mount -t overlay none -o lowerdir=$1,upperdir=upper$2,workdir=below$2 root$2; }
over /usr /usr
over /etc /etc
over $2 /lethe
mkdir -p root/skill root/work root/tmp root/dev
for link in /bin /sbin /lib*; do if [ -L $link ]; then cp -P $link root/; else over $link $link; fi; done
for device in null zero random urandom; do touch root/dev/$device; mount --bind /dev/$device root/dev/$device; done
ln -s /tmp root/dev/shm
cp $3 root/skill/$5
run="chroot root env -i PATH=/lethe/bin:/usr/bin:/bin HOME=/work LANG=C.UTF-8 NODE_PATH=/lethe/node PYTHONPATH=/lethe/python PYTHONDONTWRITEBYTECODE=1 $4 /skill/$5"
shift 5
$run look "$@" </dev/null
mkfifo up
$run plant "$@" </dev/null >up &
read word <up
$run look "$@" </dev/null
kill $!
"""


def words(language, way):
    """Arguments of the program, behind its own name."""
    return [way, *PLACES] if language == "c" else [way, json.dumps(PLACES)]


def said(text, language):
    """Each look: by the name of a way what was found."""
    if language == "c":
        return [dict(line.split("\t") if "\t" in line else (line, "") for line in part.splitlines()) for part in text.split("\n\n") if part]
    return [{k: json.dumps(v) for k, v in found.items()} for line in text.splitlines() for found in json.loads(line)]


def program_of(language):
    return os.path.join(BUILD, "tests", "front", "serve", "between-skill.so") if language == "c" else os.path.join(HERE, "between", LANGUAGES[language][1])


def bare(language):
    """Without Lethe, in a root that can be written to: what is found before, and what a second process finds while one lives that planted."""
    top = tempfile.mkdtemp(prefix="between-")
    try:
        p = subprocess.run(["unshare", "-m", "-i", "-n", "sh", "-c", BARE, "sh", top, SHIMS, program_of(language), LANGUAGES[language][3], LANGUAGES[language][1], *words(language, "look")[1:]],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, text=True, check=False)
    finally:
        os.rmdir(top)
    looked = said(p.stdout, language)
    if len(looked) != 2:
        raise RuntimeError("%s: %s %s" % (language, p.returncode, p.stderr[-2000:]))
    return looked


ROOTS = {name: bare(name) for name in THERE} if os.getuid() == 0 else {}

from served import SOCKET, Connection, Daemon, text_of  # noqa: E402
from others import ALICE, BOB, POLICY, as_user  # noqa: E402
from tap import DIR, ENV, ROOT, add, ask_daemon, case, check, lethe, main, same, wait_for  # noqa: E402

ASKED = set()
FOUND = {}  # by each program, before anything was planted
D = Daemon()


@atexit.register
def end_of_daemon():
    """Where not all cases are run."""
    if hasattr(D, "p") and D.p.returncode is None:
        D.__exit__(None)




def register():
    for name, (entry, file, preload, _) in THERE.items():
        folder = os.path.join(DIR, "between-" + name)
        os.mkdir(folder, 0o755)
        shutil.copyfile(program_of(name), os.path.join(folder, file))
        for other, text in (("SKILL.md", "---\nname: between-%s\ndescription: Leaves bytes, or looks for them.\n---\n" % name),
                            ("lethe.json", json.dumps({"version": 1, "entry": {"main": entry}, "warm": {"preload": preload}, "budgets": {"memory": "512m"}}))):
            with open(os.path.join(folder, other), "w", encoding="utf-8") as f:
                f.write(text)
        same(lethe("skill", "add", folder).code, 0)


def run(language, way, options=()):
    with Connection() as c:
        answer = c.call("run", skill="between-" + language, args=words(language, way), options=[list(o) for o in options])
    check("result" in answer, answer)
    return answer["result"]


def looks(language, uid, way="look"):
    """What a program finds that goes on from an interpreter that was there before: the first of a grant is executed."""
    for _ in range(6):
        r = as_user(uid, lambda: run(language, way)) if ROOT else run(language, way)
        same(r.get("exit_code"), 0, language, r)
        if r["receipt"]["start"] == "warm" or r["receipt"].get("started_ahead"):
            return said(r["stdout"], language)
        if language == "node":
            ASKED.add(uid if ROOT else 0)
            wait_for(lambda: ask_daemon("status")["ready_regions"] >= len(ASKED), "a region that waits for each who asks")
    raise AssertionError("%s is executed: %s" % (language, r))


@contextlib.contextmanager
def held(language, uid):
    """While a program lives that planted all."""
    r, w = os.pipe()
    stop, stopped = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(stopped)
            if ROOT:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            with Connection() as c:
                c.send("run", skill="between-" + language, args=words(language, "plant"), stream=["stdout"])
                os.write(w, text_of(c.read()).encode())
                os.read(stop, 1)
        finally:
            os._exit(0)
    os.close(stop)
    os.close(w)
    try:
        same(os.read(r, 100), b"planted\n", language)
        yield
    finally:
        os.close(r)
        os.close(stopped)
        os.waitpid(pid, 0)


def differs(before, after):
    """Ways in which something is found. The layout is what two users must not have in common."""
    return {k for k in before.keys() | after.keys() if k != "layout" and before.get(k) != after.get(k)}


@case
def skills_are_there():
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "clients": [{"uid": ALICE}, {"uid": BOB}] if ROOT else [], "pool": {"skills": {"between-node": 1}, "memory": "1g"}}, f)
    register()
    D.__enter__()
    for name in THERE:
        FOUND[name] = looks(name, ALICE, "twice")
        other = looks(name, BOB, "twice")
        same([differs(*pair) for pair in zip(FOUND[name], other)], [set(), set()], name)
        check(name != "c" or (FOUND[name][0]["layout"] != other[0]["layout"]) == ROOT, "an interpreter serves one user")


def all_is_found_where_nothing_stands_against_it(language):
    """The control."""
    within = set().union(*(differs(*pair) for pair in zip(FOUND[language], looks(language, ALICE, "both"))))
    found = within | differs(*ROOTS[language]) if ROOTS else within | set(PLACES)
    same(sorted(FOUND[language][0].keys() - found), ["layout"] if language == "c" else [], "never found")
    print("# %d ways, %d of them within a region" % (len(found), len(within)))


def nothing_is_found_by_another_invocation(language):  # I-92
    with held(language, ALICE):
        for uid in (BOB, ALICE):
            same(differs(FOUND[language][0], looks(language, uid)[0]), set(), "while the one lives")
    for uid in (BOB, ALICE):
        same(differs(FOUND[language][0], looks(language, uid)[0]), set(), "after its end")


for each in THERE:
    for law in (all_is_found_where_nothing_stands_against_it, nothing_is_found_by_another_invocation):
        add("%s: %s" % (each, law.__name__.replace("_", " ")), functools.partial(law, each))


@case
def what_the_owner_sets_for_one_is_that_ones():  # I-92
    """A variable that is looked at when an interpreter starts."""
    rows = {"python": ("PYTHONPATH=/tmp/lib", "search path"), "perl": ("PERL5LIB=/tmp/lib", "search path"), "node": ("NODE_OPTIONS=--no-warnings", "environment"),
            "c": ("LD_LIBRARY_PATH=/tmp/lib", "variable LD_LIBRARY_PATH=/tmp/lib")}
    for language in THERE:
        variable, way = rows[language]
        r = run(language, "look", options=[("env", variable)])
        check(way in differs(FOUND[language][0], said(r["stdout"], language)[0]), language, "the control")
        for uid in (BOB, ALICE):
            same(differs(FOUND[language][0], looks(language, uid)[0]), set(), language)


@case
def the_daemon_ends_well():
    D.__exit__(None)


main()
