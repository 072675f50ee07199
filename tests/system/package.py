#!/usr/bin/python3
"""A-51: the package of scripts/package: lintian, two folders with one digest, and a bare Debian 12 in which it is installed, used, upgraded and purged. TAP.

usage: package.py SOURCE BUILD FOLDER
FOLDER keeps the tree of Debian; BUILD is a build of SOURCE, whose objects the first package takes. Needs root, mmdebstrap, lintian, and Debian's archive where the tree is not there yet.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import time

SOURCE, BUILD, FOLDER = (os.path.abspath(a) for a in sys.argv[1:4])
BASE, TREE = os.path.join(FOLDER, "debian.tar"), os.path.join(FOLDER, "debian")
ENTER = """mount --bind {0} {0}; cd {0}; mkdir -p old; mount --rbind /dev dev; mount -t proc proc proc; mount --rbind /sys sys; mount -t tmpfs tmpfs run
pivot_root . old; umount -l /old; cd /root; export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive; """
ASK = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
       {"jsonrpc": "2.0", "method": "notifications/initialized"},
       {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "hello", "arguments": {}}}]


def command(argv, **kw):
    p = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True, **kw)
    if p.returncode:
        raise AssertionError("%s ends %d\n%s%s" % (argv, p.returncode, p.stdout[-2000:], p.stderr[-2000:]))
    return p.stdout


def inside(text, **kw):
    return command(["unshare", "-m", "-p", "-f", "sh", "-euc", ENTER.format(TREE) + text], **kw)


def copy(name):
    """The sources in another folder, with the times of the files and the commit."""
    to = os.path.join(FOLDER, name)
    os.makedirs(to)
    with subprocess.Popen(["tar", "-C", SOURCE, "--exclude=./build*", "--exclude=./.git", "-cf", "-", "."], stdout=subprocess.PIPE) as p:
        command(["tar", "-C", to, "-xf", "-"], stdin=p.stdout)
    if p.returncode:
        raise AssertionError("tar ends %d" % p.returncode)
    if os.path.exists(SOURCE + "/.git"):
        os.symlink(os.path.realpath(SOURCE + "/.git"), to + "/.git")
    return to


def package(source, name, *options):
    """The package of SOURCE in the folder NAME."""
    out = os.path.join(FOLDER, name)
    command([os.path.join(source, "scripts/package"), *options, out])
    (deb,) = glob.glob(out + "/lethe_*.deb")
    return deb


def older(deb):
    """A package of an earlier version: of the commit LETHE_TEST_PACKAGE_FROM, else the same files."""
    commit = os.environ.get("LETHE_TEST_PACKAGE_FROM")
    if commit:
        source = os.path.join(FOLDER, "copies/older")
        text = """mkdir -p "$1"; git -c safe.directory="$2" -C "$2" archive "$3" | tar -C "$1" -xf -; cp -a "$2/scripts/." "$1/scripts/" """
        command(["bash", "-euo", "pipefail", "-c", text, "sh", source, SOURCE, commit])
        deb = package(source, "made/older")
    print("# the earlier version is %s" % ("commit " + commit if commit else "the same files with an earlier number"))
    tree, made = os.path.join(FOLDER, "older"), os.path.join(FOLDER, "older.deb")
    shutil.rmtree(tree, ignore_errors=True)
    command(["dpkg-deb", "-R", deb, tree])
    command(["sed", "-i", "s/^Version: .*/Version: 0.0.1/", tree + "/DEBIAN/control"])
    command(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", tree, made])
    shutil.rmtree(tree)
    return made


def two_folders_make_the_same_bytes():
    """Both take the objects of BUILD; with LETHE_TEST_PACKAGE=1 the one at another depth starts from nothing."""
    objects = () if os.environ.get("LETHE_TEST_PACKAGE") == "1" else ("--from", BUILD)
    for name in "copies", "made":
        shutil.rmtree(os.path.join(FOLDER, name), ignore_errors=True)
    one, two = package(copy("copies/one"), "made/one", "--from", BUILD), package(copy("copies/deeper/two"), "made/two", *objects)
    with open(one, "rb") as a, open(two, "rb") as b:
        if os.path.basename(one) != os.path.basename(two) or a.read() != b.read():
            raise AssertionError("two builds differ: diffoscope %s %s" % (one, two))


def lintian_has_no_error_and_no_warning():
    command(["lintian", "--allow-root", "--fail-on", "error,warning", *glob.glob(FOLDER + "/made/one/lethe_*.deb")])


def a_bare_debian_runs_a_skill_and_answers_a_tool_call():
    shutil.rmtree(TREE, ignore_errors=True)
    os.makedirs(TREE)
    command(["tar", "-xf", BASE, "-C", TREE, "--exclude=./dev/*"])
    (deb,) = glob.glob(FOLDER + "/made/one/lethe_*.deb")
    shutil.copy(deb, TREE + "/root/lethe.deb")
    shutil.copy(older(deb), TREE + "/root/older.deb")
    os.makedirs(TREE + "/root/hello")
    with open(TREE + "/root/hello/SKILL.md", "w", encoding="utf-8") as f:
        f.write("---\nname: hello\ndescription: Greets.\n---\n")
    with open(TREE + "/root/hello/lethe.json", "w", encoding="utf-8") as f:
        json.dump({"version": 1, "entry": {"main": ["/bin/echo", "hello from a region"]}}, f)
    began = time.monotonic()
    text = """apt-get install -qq -y --no-install-recommends ./older.deb </dev/null >/dev/null 2>&1
lethe run ./hello </dev/null; lethe skill add ./hello >/dev/null; lethe mcp config claude-desktop >config 2>/dev/null; exec lethe mcp"""
    with open(FOLDER + "/mcp.err", "w+", encoding="utf-8") as err, subprocess.Popen(
            ["unshare", "-m", "-p", "-f", "sh", "-euc", ENTER.format(TREE) + text], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err) as p:
        p.stdin.write("".join(json.dumps(m) + "\n" for m in ASK))
        p.stdin.flush()
        lines = [p.stdout.readline()]  # the run, and the answers: an end of the input before them gives the call up
        while lines[-1] and '"id":2' not in lines[-1].replace(" ", ""):
            lines.append(p.stdout.readline())
        p.stdin.close()
        err.seek(0)
        said = err.read()
    took = time.monotonic() - began
    print("# %.1f s from apt to the answer of the first tool call" % took)
    if lines[0] != "hello from a region\n" or not lines[-1] or "hello from a region" not in json.loads(lines[-1])["result"]["content"][0]["text"]:
        raise AssertionError(lines, said)
    with open(TREE + "/root/config", encoding="utf-8") as f:
        if "lethe" not in f.read():
            raise AssertionError("lethe mcp config prints nothing")


def an_upgrade_keeps_the_store():
    out = inside("""export LETHE_STORE=/var/lib/lethe/store LETHE_ANCHOR=/var/lib/lethe/anchor
printf '{"type":"string"}' | lethe slot define city --schema - >/dev/null; lethe slot put city '"Kiel"' >/dev/null
apt-get install -qq -y --no-install-recommends ./lethe.deb >/dev/null 2>&1
dpkg-query -W -f '${Version}\\n' lethe; getent group lethe; lethe slot get city; lethe audit""")
    if "0.0.1" in out or "\nlethe:" not in out or '"Kiel"' not in out or "intact: " not in out:
        raise AssertionError(out)


def a_purge_leaves_what_was_there_before():
    """The store of /root is the user's, not the package's."""
    out = inside("""apt-get purge -qq -y lethe >/dev/null 2>&1
find / -xdev -name '*lethe*' -not -path '/root/*' -not -path '/old/*'; getent group lethe || true""")
    if out:
        raise AssertionError(out)


CASES = [two_folders_make_the_same_bytes, lintian_has_no_error_and_no_warning, a_bare_debian_runs_a_skill_and_answers_a_tool_call,
         an_upgrade_keeps_the_store, a_purge_leaves_what_was_there_before]


def missing():
    """Why the cases cannot run here, or None."""
    if os.geteuid() != 0:
        return "needs root"
    for program in "mmdebstrap", "lintian":
        if not shutil.which(program):
            return "no " + program
    os.makedirs(FOLDER, exist_ok=True)
    if not os.path.exists(BASE):
        # What the package depends on, so that later runs need no archive; and what makes groups where no systemd runs.
        more = "--include=libcurl4,python3-minimal,libcap2,libc-ares2,systemd-standalone-sysusers"
        new = FOLDER + "/debian-new.tar"
        p = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", more, "bookworm", new],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if p.returncode:
            return "no archive of Debian"
        os.rename(new, BASE)
    return None


print("TAP version 13\n1..%d" % len(CASES), flush=True)
reason, status = missing(), 0
for i, fn in enumerate(CASES, 1):
    if reason:
        print("ok %d - %s # SKIP %s" % (i, fn.__name__.replace("_", " "), reason))
        continue
    try:
        fn()
        print("ok %d - %s" % (i, fn.__name__.replace("_", " ")), flush=True)
    except Exception as e:
        status = 1
        print("not ok %d - %s\n# %s" % (i, fn.__name__.replace("_", " "), str(e).replace("\n", "\n# ")), flush=True)
sys.exit(status)
