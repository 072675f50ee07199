#!/usr/bin/python3
"""Where files of the host may stand in a region (I-93), what of Lethe's own none of them shows (I-94), and what of them a sub-skill has (I-97). TAP.

usage: places.py LETHE root|user
"""
import hashlib
import json
import os
import shutil
import subprocess

from lab import below, events, skill
from tap import DIR, ENV, LETHE, Skip, case, case_when, check, lethe, main, run, same
from tiers import TIERS, WHY_NOT

ROOT = os.getuid() == 0
HOME = os.path.join(DIR, "home")
STATE = os.path.join(HOME, ".local", "state", "lethe")
SH = "/bin/sh"
# A user as the manual has it: nothing is named, all is in its usual place.
PLAIN = {"HOME": HOME, "LETHE_STORE": STATE, "LETHE_ANCHOR": os.path.join(HOME, ".local", "state", "lethe-anchors", "x"), "LETHE_SOCKET": os.path.join(DIR, "none")}
os.makedirs(os.path.join(HOME, ".config", "lethe"))
os.makedirs(os.path.join(HOME, "work"))
for name, text in ((".config/lethe/policy.json", '{"version":1}'), (".config/lethe/secret", "POLICY"), ("work/open", "OPEN")):
    with open(os.path.join(HOME, name), "w") as f:
        f.write(text)


def plain(*argv, **kw):
    return run("--no-serve", *argv, env=dict(PLAIN, **kw.pop("env", {})), **kw)


same(plain("--exec", "/bin/true").code, 0)


def seen(text, *options, **kw):
    """What a shell in a region says."""
    return plain(*options, "--exec", SH, "-c", text, **kw)


@case
def a_place_below_a_system_folder_is_refused():  # I-93
    data = os.path.join(HOME, "work")
    shutil.copytree(data, os.path.join(DIR, "fonts"))
    for place in ("/usr/lib/python3/dist-packages", "/usr/local/lib/x", "/etc/x", "/etc/ld.so.preload", "/lib/x", "/lib64/x", "/bin/x", "/sbin/x", "/usr", "/etc", "/skill/x",
                  "/lethe/python", "/proc/x", "/usr/./lib/x", "//usr//lib", "/data/../usr/lib"):
        for access in ("ro", "rw"):
            r = plain("-v", "%s:%s:%s" % (data, place, access), "--exec", "/bin/true")
            same(r.code, 125, place, access, r)
            check(b"--volume: " in r.err, place, r)
    for ask in ({"path": data, "access": "read", "at": "/usr/lib/x"}, {"path": "/etc/fonts", "access": "write"}, {"path": "/usr/share", "access": "read", "at": "/etc/x"}):
        d = skill("asks-system", {"files": [ask]}, register=False)
        r = plain(d)
        check(r.code == 125 and b"system folder" in r.err, ask, r)


@case
def only_what_root_alone_can_write_has_its_own_place_there():  # I-93
    """/etc/fonts is the host's own; what an ordinary user could change below a system folder is not."""
    own = "/etc/os-release" if os.path.exists("/etc/os-release") else "/etc/passwd"
    r = seen("cat %s" % own, "-v", own + ":" + own)
    with open(own, "rb") as f:
        same((r.code, r.out), (0, f.read()), r)
    r = plain("-v", "%s:%s:rw" % (own, own), "--exec", "/bin/true")
    same(r.code, 125, r)
    if not ROOT:
        return
    # As the host could be: a folder below /etc that somebody else may write to, one above which is such, and a link that leads out.
    base = "/etc/lethe-test-%d" % os.getpid()
    os.makedirs(base + "/open/fine")
    try:
        os.chown(base + "/open", 1234, 0)
        os.symlink(os.path.join(HOME, "work"), base + "/link")
        os.chown(os.path.join(HOME, "work"), 1234, 0)
        for path, why in ((base + "/open", b"user 1234 can write"), (base + "/open/fine", b"user 1234 can write"), (base + "/link", b"user 1234 can write")):
            r = plain("-v", path + ":" + path, "--exec", "/bin/true")
            check(r.code == 125 and why in r.err and b"system folder" in r.err, path, r)
        os.chown(base + "/open", 0, 0)
        os.chmod(base + "/open", 0o1777)
        r = plain("-v", base + "/open:" + base + "/open", "--exec", "/bin/true")
        check(r.code == 125 and b"every user can write" in r.err, r)
        os.chmod(base + "/open", 0o755)
        same(plain("-v", base + "/open/fine:" + base + "/open/fine", "--exec", "/bin/true").code, 0)
    finally:
        os.chown(os.path.join(HOME, "work"), 0, 0)
        shutil.rmtree(base)


@case
def links_and_later_mounts_do_not_lead_there():  # I-93
    """A grant whose own content has a link to /usr, and a mount below it; and a grant above the program of --exec is where the program is looked for."""
    trap = os.path.join(DIR, "trap")
    os.makedirs(trap + "/dir")
    os.symlink("/usr/lib", trap + "/lib")
    data = os.path.join(HOME, "work")
    r = seen("ls /usr/lib/open /data/lib/open", "-v", trap + ":/data", "-v", data + ":/data/lib/sub")
    same(r.code, 125, r)
    r = seen("ls /usr/lib/open /data/lib/open", "-v", trap + ":/data", "-v", data + ":/data/lib")
    same(r.code, 125, r)
    program, other = os.path.join(DIR, "programs"), os.path.join(DIR, "others")
    for d, text in ((program, "#!/bin/sh\necho the program\n"), (other, "#!/bin/sh\necho another\n")):
        os.mkdir(d)
        with open(d + "/run", "w") as f:
            f.write(text)
        os.chmod(d + "/run", 0o755)
        os.chmod(d, 0o755)
    for source, place in ((other, program), (other + "/run", program + "/run")):  # the path is one of the region, and so is what the record says
        r = plain("-v", source + ":" + place, "--exec", program + "/run")
        with open(other + "/run", "rb") as f:
            same((r.code, r.out, r.receipt["skill"]["digest"]), (0, b"another\n", "sha256:" + hashlib.sha256(f.read()).hexdigest()), r)
    r = plain("-v", other + ":" + program + "/run/below", "--exec", program + "/run")
    check(r.code == 125 and b"the program of --exec" in r.err, r)


def tree(r):
    return {f["target"]: f["access"] for f in r["files"]}


@case
def no_volume_shows_what_is_lethes_own():  # I-94
    """Whatever folder above it is asked for, to read or to write: an empty folder stands in its place, and the record says so."""
    look = "cat /h/.local/state/lethe/key /h/.config/lethe/policy.json /h/.config/lethe/secret /h/.local/state/lethe-anchors/*; ls -A /h/.local/state/lethe /h/.config/lethe; cat /h/work/open"
    for access in ("ro", "rw"):
        r = seen(look, "-v", "%s:/h:%s" % (HOME, access))
        check(b"POLICY" not in r.out and b"version" not in r.out and b"data.mdb" not in r.out and r.out.endswith(b"OPEN"), access, r)
        got = tree(json.loads(lethe("run", "--dry-run", "--json", "--no-serve", "-v", "%s:/h:%s" % (HOME, access), "--exec", SH, env=PLAIN).out))
        for place in ("/h/.local/state/lethe", "/h/.local/state/lethe-anchors", "/h/.config/lethe"):
            same(got[place], "none", access, got)
    # From further above, through a link, and as the host's whole tree where it can be had.
    os.symlink(DIR, os.path.join(DIR, "up"))
    for source, place in ((DIR, "/h/home"), (os.path.join(DIR, "up"), "/h/home"), ("/proc/self/root" + DIR, "/h/home"), (os.path.dirname(DIR), "/h/%s/home" % os.path.basename(DIR))):
        r = seen("cat %s/.local/state/lethe/key; ls -A %s/.local/state/lethe; cat %s/work/open" % (place, place, place), "-v", source + ":/h")
        check(r.code == 125 or r.out == b"OPEN", source, r)
    # Of the thing itself and of what is in it.
    for source in (STATE, STATE + "/run", STATE + "/key", os.path.join(HOME, ".config", "lethe"), os.path.join(HOME, ".config", "lethe", "policy.json")):
        for access in ("ro", "rw"):
            r = plain("-v", "%s:/data:%s" % (source, access), "--exec", "/bin/true")
            check(r.code == 125 and b"no region is shown" in r.err, source, r)


@case
def without_it_the_key_would_be_printed():
    """The control: the same file, which is not Lethe's, is shown."""
    copy = os.path.join(HOME, "work", "state")
    os.makedirs(copy)
    shutil.copy(STATE + "/key", copy + "/key")
    os.chmod(copy + "/key", 0o644)
    r = seen("od -An -tx1 /h/work/state/key | tr -d ' \\n'", "-v", HOME + ":/h")
    with open(STATE + "/key", "rb") as f:
        same(r.out, f.read().hex().encode(), r)
    shutil.rmtree(copy)


@case
def what_hides_it_cannot_be_moved_aside():  # I-94
    """A region that may write to the folders above renames them, removes them, or puts others in their place."""
    r = seen("""
for d in .local .local/state .config; do mv /h/$d /h/work/moved 2>/dev/null && echo moved $d; done
for d in .local/state/lethe .config/lethe; do mv /h/$d /h/work/moved 2>/dev/null && echo moved $d; rmdir /h/$d 2>/dev/null && echo gone $d; touch /h/$d/x 2>/dev/null && echo wrote $d; done
echo said >/h/work/said
""", "-v", HOME + ":/h:rw")
    same((r.code, r.out), (0, b""), r)
    same(sorted(os.listdir(HOME)), [".config", ".local", "work"])
    check(os.path.exists(HOME + "/work/said"))
    same(plain("--exec", "/bin/true").code, 0)


@case
def what_appears_later_is_not_shown_either():  # I-94
    """A file that takes another's place by a rename takes away what was mounted over it: files alone are never hidden, what shows one is refused. So is what could
    show a store, or let a region write a policy, that is not there yet."""
    policy = os.path.join(HOME, "work", "policy.json")
    with open(policy, "w") as f:
        f.write('{"version":1}')
    r = plain("--policy", policy, "-v", HOME + ":/h", "--exec", "/bin/true")
    check(r.code == 125 and b"the operator's policy" in r.err and b"a folder of its own" in r.err, r)
    os.unlink(policy)
    fresh = os.path.join(DIR, "fresh")
    os.makedirs(fresh)
    env = {"HOME": fresh, "LETHE_STORE": STATE}
    r = plain("-v", fresh + ":/h", "--exec", "/bin/true", env=env)
    check(r.code == 125 and b".local/state/lethe would be a store" in r.err and b"--store" in r.err, r)
    r = lethe("run", "--no-serve", "--store", os.path.join(fresh, ".local/state/lethe"), "--anchor", os.path.join(DIR, "fresh-anchor"), "--exec", "/bin/true",
              env=dict(PLAIN, HOME=fresh))
    same(r.code, 0, r)
    same(plain("-v", fresh + ":/h", "--exec", "/bin/true", env=env).code, 0)
    r = plain("-v", fresh + ":/h:rw", "--exec", "/bin/true", env=env)
    check(r.code == 125 and b"fix: mkdir -p " in r.err, r)
    for d in (".config/lethe", ".local/state/lethe-anchors"):
        os.makedirs(os.path.join(fresh, d), exist_ok=True)
    same(plain("-v", fresh + ":/h:rw", "--exec", "/bin/true", env=env).code, 0)


@case
def registered_skills_are_hidden():  # I-94
    """Not from the skill itself, whose own folder is /skill; and a skill whose folder holds the store is not run."""
    d = os.path.join(HOME, "work", "mine")
    os.makedirs(d)
    for name, text in (("SKILL.md", "---\nname: mine\ndescription: A test.\n---\n"), ("run.sh", "#!/bin/sh\nls /skill /h/work/mine\n"),
                       ("lethe.json", '{"version":1,"entry":{"main":["run.sh"]}}')):
        with open(os.path.join(d, name), "w") as f:
            f.write(text)
    os.chmod(d + "/run.sh", 0o755)
    same(lethe("skill", "add", d, env=PLAIN).code, 0)
    r = plain("-v", HOME + ":/h:rw", "mine")
    same((r.code, r.out.split()), (0, [b"/h/work/mine:", b"/skill:", b"SKILL.md", b"lethe.json", b"run.sh"]), r)
    same(lethe("skill", "add", d, env=PLAIN).code, 0, "nobody wrote there")
    r = plain("-v", d + ":/data:rw", "mine")
    check(r.code == 125 and b"a registered skill" in r.err, r)
    for name in ("SKILL.md", "run.sh", "lethe.json"):
        shutil.copy(os.path.join(d, name), HOME)
    r = plain(HOME)
    check(r.code == 125 and b"is in the skill's folder" in r.err and b"no region is shown" in r.err, r)
    for name in ("SKILL.md", "run.sh", "lethe.json"):
        os.unlink(os.path.join(HOME, name))


@case_when(ROOT)  # binds a folder
def nor_by_another_mount_of_the_same_folder():  # I-94
    """The store's folder, one above it and the key alone, each bound to another place of the host."""
    other = os.path.join(DIR, "other")
    for d in ("state", "store", "run"):
        os.makedirs(os.path.join(other, d))
    open(os.path.join(other, "key"), "w").close()
    program = """
set -e
mount --make-rprivate /
mount --bind %(state)s %(other)s/state
mount --bind %(store)s %(other)s/store
mount --bind %(store)s/run %(other)s/run
%(lethe)s run --no-serve -v %(other)s:/o:rw --exec /bin/sh -c 'ls -A /o/state/lethe /o/store /o/run; cat /o/state/lethe/key /o/store/key; echo done'
mount --bind %(store)s/key %(other)s/key
! %(lethe)s run --no-serve -v %(other)s:/o --exec /bin/true
! %(lethe)s run --no-serve -v %(other)s/store:/o --exec /bin/true
! %(lethe)s run --no-serve -v %(other)s/key:/o --exec /bin/true
""" % {"state": os.path.dirname(STATE), "store": STATE, "other": other, "lethe": LETHE}
    p = subprocess.run(["unshare", "-m", SH, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(ENV, **PLAIN), timeout=60)
    same((p.returncode, p.stdout), (0, b"/o/run:\n\n/o/state/lethe:\n\n/o/store:\ndone\n"), p.stderr)
    same(p.stderr.count(b"no region is shown"), 3, p.stderr)


@case
def a_key_that_has_another_name_is_refused():  # I-94
    os.link(STATE + "/key", HOME + "/work/key")
    r = plain("--exec", "/bin/true")
    check(r.code == 125 and b"file key" in r.err and b"another name" in r.err, r)
    os.unlink(HOME + "/work/key")
    same(plain("--exec", "/bin/true").code, 0)


@case
def what_has_another_name_is_not_shown_by_it():  # I-94
    """A policy, an anchor and the store's tables, linked into a folder that is granted: the region of a control, whose policy has one name, writes there."""
    other, policy = os.path.join(HOME, "work", "second"), os.path.join(HOME, ".config", "lethe", "policy.json")
    grant = ["-v", HOME + "/work:/h:rw", "--exec", SH, "-c", "echo '{\"version\":1,\"max\":{}}' >/h/second"]
    with open(policy, encoding="utf-8") as f:
        text = f.read()
    with open(other, "w", encoding="utf-8") as f:
        f.write(text)
    same(plain(*grant).code, 0)
    with open(other, encoding="utf-8") as f:
        check(f.read() != text, "the region has written")
    for file, message in ((policy, b"has another name"), (PLAIN["LETHE_ANCHOR"], b"has another name"), (STATE + "/data.mdb", b"file data.mdb has another name"),
                          (STATE + "/redo", b"file redo has another name")):
        os.unlink(other)
        os.link(file, other)
        with open(file, "rb") as f:
            before = f.read()
        r = plain(*grant)
        check(r.code == 125 and message in r.err and b"fix: remove that name" in r.err, file, r)
        with open(file, "rb") as f:
            same(f.read(), before, file)
    os.unlink(other)
    same(plain(*grant).code, 0)
    os.unlink(other)


@case
def where_nothing_can_be_hidden_the_run_is_refused():  # I-94
    if "landlock" not in TIERS:
        raise Skip(WHY_NOT)
    os.chmod(HOME, 0o755)
    r = plain("--tier", "landlock", "-v", HOME + ":/h", "--exec", "/bin/true")
    check(r.code == 125 and b"tier landlock cannot hide" in r.err, r)
    os.makedirs(HOME + "/work/in")
    r = plain("--tier", "landlock", "-v", HOME + "/work:/h:rw", "-v", HOME + "/work/in:/h/in", "--exec", "/bin/true")
    check(r.code == 125 and b"cannot keep" in r.err, r)
    same(plain("--tier", "landlock", "-v", HOME + "/work/in:/h:rw", "--exec", "/bin/true").code, 0)
    os.rmdir(HOME + "/work/in")


G = os.path.join(DIR, "g")
os.makedirs(os.path.join(DIR, "other-in"))
for path in ("in/deep", "out", "a/in"):
    os.makedirs(os.path.join(G, path))
    with open(os.path.join(G, path, "file"), "w") as f:
        f.write(path)
POLICY = os.path.join(DIR, "grants.json")
with open(POLICY, "w") as f:
    json.dump({"version": 1, "files": [{"path": G, "access": "write"}, {"path": os.path.join(DIR, "other-in"), "access": "read"}]}, f)
TRY = """
import json, os, sys
said = {}
for path in sys.argv[1:]:
    try:
        open(path + "/by-sub", "w").close()
        os.unlink(path + "/by-sub")
        said[path] = "write"
    except OSError as e:
        try:
            said[path] = "read" if os.listdir(path) else "empty"
        except OSError:
            said[path] = "none"
print(json.dumps(said))
"""


def child(name, *files):
    skill(name, {"files": [{"path": os.path.join(G, p) if p else G, "access": a, "at": at} for p, a, at in files]}, {"main.py": TRY})


child("takes-in", ("in", "write", "/x"))
child("takes-all", ("", "write", "/x"))
child("takes-deep", ("in/deep", "write", "/x"))
skill("middle", {"sub_skills": ["takes-all"], "files": [{"path": G, "access": "write", "at": "/m"}]})
skill("above", {"sub_skills": ["takes-in", "takes-all", "takes-deep", "middle"], "cancel_bound": "5s"})


def of_sub(name, places, *volumes, code="{}"):
    r = run("--policy", POLICY, "--memory", "512m", *sum((["-v", v] for v in volumes), []), "above", "--",
            code.format(args="%r, %r" % (name, list(places))) if code != "{}" else "lethe.result(lethe.run(%r, %r)['output'])" % (name, list(places)))
    same(r.code, 0, r)
    return json.loads(r.receipt["result"]), r


@case
def a_sub_skill_has_no_more_at_any_path():  # I-97
    """The region has a folder to write, with a part of it read-only: nothing below it writes there."""
    wide, narrow = G + ":/data:rw", G + "/in:/data/in:ro"
    for name, places, want in (("takes-in", ["/x"], {"/x": "read"}), ("takes-deep", ["/x"], {"/x": "read"}),
                               ("takes-all", ["/x", "/x/out", "/x/in", "/x/in/deep"], {"/x": "write", "/x/out": "write", "/x/in": "read", "/x/in/deep": "read"})):
        same(of_sub(name, places, wide, narrow)[0], want, name)
        same(set(of_sub(name, places, wide)[0].values()), {"write"}, "the control: without the narrower one", name)
    got, r = of_sub("takes-all", ["/x/in"], wide, narrow)
    g = events(below(r.receipt["region"])[0], "region.allocated")[0]["grant"]
    same([(f["target"], f["access"]) for f in g["files"]], [("/x", "write"), ("/x/in", "read")], g)
    check([x for x in g["reductions"] if x["asked"] == "write %s/in" % G and x["granted"] == "read"] and "beyond_parent" not in g, g)


@case
def what_the_region_does_not_see_its_sub_skills_do_not():  # I-97
    """Another folder stands over a part of what it has: that part is seen by nobody below."""
    other = os.path.join(DIR, "other-in")
    got, r = of_sub("takes-all", ["/x", "/x/in"], G + ":/data:rw", other + ":/data/in:ro")
    same(got, {"/x": "write", "/x/in": "empty"}, r)
    g = events(below(r.receipt["region"])[0], "region.allocated")[0]["grant"]
    same({f["target"]: f["access"] for f in g["files"]}, {"/x": "write", "/x/in": "none"}, g)


@case
def nor_do_those_further_below():  # I-97
    skill("above", {"sub_skills": ["takes-in", "takes-all", "takes-deep", "middle"], "cancel_bound": "5s"})
    r = run("--policy", POLICY, "--memory", "512m", "-v", G + ":/data:rw", "-v", G + "/in:/data/in:ro", "above", "--",
            "lethe.result(lethe.run('middle', [\"lethe.result(lethe.run('takes-all', ['/x', '/x/in', '/x/in/deep'])['output'])\"])['result'])")
    same((r.code, json.loads(r.receipt["result"])), (0, {"/x": "write", "/x/in": "read", "/x/in/deep": "read"}), r)


@case
def nor_by_renaming_what_is_above_it():  # I-97
    """The part that is read-only stands two folders deep: a region that moved the folder in between would have a sub-skill find it at another path."""
    skill("takes-moved", {"files": [{"path": G + "/b/in", "access": "write", "at": "/x"}]}, {"main.py": TRY})
    skill("above", {"sub_skills": ["takes-moved"], "cancel_bound": "5s"})
    r = run("--policy", POLICY, "-v", G + ":/data:rw", "-v", G + "/a/in:/data/a/in:ro", "above", "--",
            "try:\n  os.rename('/data/a', '/data/b'); lethe.result('moved')\nexcept OSError as e: lethe.result(e.errno)")
    same(r.receipt["result"], 16, r)
    same(sorted(os.listdir(G)), ["a", "in", "out"])


@case
def no_output_takes_the_place_of_a_file_of_a_store():  # I-94
    store, link = os.path.join(DIR, "named"), os.path.join(DIR, "named-link")
    region = run("--store", store, "--exec", "/bin/true").receipt["region"]
    os.symlink(store, link)
    kept = {}
    for name in os.listdir(store):
        if os.path.isfile(os.path.join(store, name)):
            with open(os.path.join(store, name), "rb") as f:
                kept[name] = f.read()
    check({"key", "data.mdb"} <= kept.keys(), kept.keys())
    for name in list(kept) + ["run/alive", "new"]:
        for folder in (store, link):
            path = os.path.join(folder, name)
            for r in (lethe("run", "--store", store, "--receipt", path, "--exec", "/bin/true"), lethe("metrics", "--store", store, "--textfile", path),
                      lethe("report", "--store", store, "-o", path), lethe("certificate", "--store", store, "-o", path, region),
                      lethe("prove", "--store", store, "-o", path, "1"), lethe("export", "--store", store, path + "/below")):
                check(r.code != 0 and b"lies in the store" in r.err, path, r)
    for name, was in kept.items():
        with open(os.path.join(store, name), "rb") as f:
            check(f.read() == was or name == "lock.mdb", name)  # LMDB's readers note themselves there
    for words in (["metrics", "--textfile"], ["report", "-o"], ["prove", "1", "-o"], ["certificate", region, "-o"], ["export"]):
        r = lethe(words[0], "--store", store, *words[1:], os.path.join(DIR, "out-" + words[0]))
        same(r.code, 0, words, r)
    r = lethe("export", "--store", store, store)
    check(r.code != 0 and b"lies in the store" in r.err, r)
    same(lethe("verify", "--store", store).code, 0)

main()
