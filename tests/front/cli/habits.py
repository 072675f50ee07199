#!/usr/bin/python3
"""Skills as the public collections have them, and options as users of docker, podman, bwrap, firejail and srt type them, through a daemon and without one. TAP.

usage: habits.py LETHE root|user
"""
import json
import os
import shutil
import sys

from account import use

use(sys.argv[2])

from shell import HOME, either, make, served, stop_served, typed  # noqa: E402
from tap import add, case, check, log, main, same  # noqa: E402

SCRIPTS = {"x.py": "import os, sys\nprint(sys.argv[1:], os.getcwd(), open('/skill/references/a.md').read().strip())\n", "x.sh": "echo \"$@\"\n",
           "x.pl": "print \"@ARGV\\n\";\n", "bang": "#!/usr/bin/env python3\nimport sys\nprint(sys.argv)\n", "args": "#!/bin/echo  one two\t\n", "note.txt": "text\n",
           "x.none.ts": "console.log(1)\n", "gone.py": "#!/no/such/python3 -u\n"}


def prepare():
    os.makedirs(HOME)
    make("pub/SKILL.md", "---\nname: pub\ndescription: A skill as the public collections have them.\nlicense: none\n---\n\n# Steps\n\nRun scripts/x.py.\n", 0o644)
    make("pub/references/a.md", "reference\n", 0o644)
    for name, text in SCRIPTS.items():
        make("pub/scripts/" + name, text, 0o644)
    make("pub/scripts/direct", "#!/bin/sh\necho \"$0 $1\"\n")
    make("pub/scripts/bare.py", "print('bare')\n")  # executable, and without an interpreter's line
    make("work/script.py", "import os, sys\nprint(sys.argv[1:], os.getcwd())\n", 0o644)
    make("work/tool", "#!/bin/sh\necho tool\n")
    make("work/data/a", "data\n", 0o644)
    shutil.copytree(os.path.join(HOME, "pub"), os.path.join(HOME, "said"))
    make("said/SKILL.md", "---\nname: said\ndescription: A test.\n---\n", 0o644)
    make("said/lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/echo", "main"]}}), 0o644)


@either
def a_skill_runs_as_it_is(sh):
    before = {p: os.stat(os.path.join(HOME, "pub", p)).st_mtime_ns for p in (".", "scripts", "SKILL.md", "scripts/x.py")}
    for line, out in [("scripts/x.py a 'b c'", "['a', 'b c'] /work reference\n"), ("-- scripts/x.py", "[] /work reference\n"), ("/skill/scripts/x.sh a", "a\n"),
                      ("./scripts/x.pl a b", "a b\n"), ("scripts/bang --flag", "['/skill/scripts/bang', '--flag']\n"), ("scripts/args x", "one two /skill/scripts/args x\n"),
                      ("scripts/direct 1", "/skill/scripts/direct 1\n"), ("scripts/bare.py", "bare\n"),
                      ("--exec python3 -c 'import os; print(sorted(os.listdir(\"/skill\")))'", "['SKILL.md', 'references', 'scripts']\n"),
                      ("--exec=/bin/cat /skill/references/a.md", "reference\n"), ("--exec ./scripts/x.sh 1", "1\n"), ("--exec /skill/scripts/x.py 1", "['1'] /work reference\n")]:
        r = sh("lethe run pub " + line)
        same((r.code, r.out), (0, out), line, r)
    r = sh("lethe run --entry scripts/x.sh pub a")
    same((r.code, r.out), (0, "a\n"), r)
    r = sh("lethe run said scripts/x.py")  # which has a word for what runs
    same((r.code, r.out), (0, "main scripts/x.py\n"), r)
    r = sh("lethe run said --exec python3 /skill/scripts/bang")
    same((r.code, r.out), (0, "['/skill/scripts/bang']\n"), r)
    same(log("--type", "region.allocated")[-1]["skill"]["name"], "said")
    same({p: os.stat(os.path.join(HOME, "pub", p)).st_mtime_ns for p in before}, before)


@case
def what_cannot_run_is_told():
    for daemon in (False, True):
        served(daemon)
        for line, code, text in [("pub", 125, "name the file to run behind SKILL, or --exec PROGRAM; files to run: scripts/bare.py, scripts/direct, "),
                                 ("pub scripts/none.py", 127, "\"scripts/none.py\": no such file in %s/pub; files to run: scripts/bare.py" % HOME),
                                 ("pub ../said/SKILL.md", 125, "without \"..\""), ("pub scripts/note.txt", 126, "no extension of .py .js .mjs .ts .sh .rb .pl"),
                                 ("pub scripts/gone.py", 127, "/no/such/python3"), ("pub --exec", 125, "--exec lacks its value"), ("pub --exec ''", 125, "--exec is empty"),
                                 ("--entry scripts/x.py pub --exec python3", 125, "--entry and --exec both name what runs"), ("pub --exec nosuch", 127, "nosuch"),
                                 ("pub --exec ./nosuch", 127, "no such file in")]:
            r = typed("lethe run " + line)
            check(r.code == code and text in r.err, line, r)
    if not any(shutil.which(p, path="/usr/local/bin:/usr/bin:/bin") for p in ("bun", "deno", "tsx", "ts-node", "node")):
        r = typed("lethe run pub scripts/x.none.ts")
        check(r.code == 127 and "needs one of bun, deno, tsx, ts-node, node" in r.err, r)


@either
def the_callers_folder(sh):
    work = os.path.join(HOME, "work")
    for line, code, out in [("--here --exec python3 script.py a", 0, "['a'] %s\n" % work), ("--here=ro --exec /usr/bin/python3 ./script.py", 0, "[] %s\n" % work),
                            ("--here --exec ./tool", 0, "tool\n"), ("--here -w /work --exec pwd", 0, "/work\n"), ("-w /work --here --exec pwd", 0, "/work\n"),
                            ("--here=rw --exec sh -c 'echo kept > made; pwd'", 0, work + "\n"), ("--here ../pub scripts/x.sh a", 0, "a\n"),
                            ("--here=ro --exec sh -c 'echo x 2>&- > made'", 2, "")]:
        r = sh("cd work && lethe run %s" % line)
        same((r.code, r.out), (code, out), line, r)
    with open(os.path.join(work, "made"), encoding="utf-8") as f:
        same(f.read(), "kept\n")
    for line, text in [("--here=overlay --exec true", "--here=overlay: must be ro or rw; a layer"), ("--here=x --exec true", "--here=x: must be ro or rw"), ("--here= --exec true", "must be ro or rw"),
                       ("--here --here=rw --exec true", "twice")]:
        r = sh("cd work && lethe run " + line)
        check(r.code == 125 and text in r.err, line, r)
    r = sh("cd /tmp && lethe run --here --exec pwd")
    check(r.code == 125 and '--here: "/tmp": cannot be mounted over as a whole' in r.err, r)


@either
def the_first_command_that_people_type_says_what_is_missing(sh):
    hint = '--here would give "%s" of this folder'
    for line, name in [("--exec python3 script.py", "script.py"), ("--exec python3 $PWD/script.py", "script.py"), ("--exec /bin/cat ./data/a", "data/a"),
                       ("--exec sh -c 'cat data/a'", "data/a"), ("--exec perl -e 'exit 3 if !-e $ARGV[0]' script.py", "script.py"), ("../pub scripts/x.sh; lethe run --exec sh script.py", "script.py")]:
        r = sh("cd work && lethe run " + line)
        check(r.code != 0 and hint % name in r.err.splitlines()[-1], line, r)
    for line in ("--exec sh -c 'exit 3'", "--exec python3 none.py", "--here --exec sh -c 'cat none; exit 3'", "--exec sh -c 'cat script.py; exit 0'", "--quiet --exec cat script.py", "--exec cat ../data",
                 "--exec cat -- -script.py"):
        r = sh("cd work && lethe run " + line)
        check("--here" not in r.err, line, r)
    r = sh("cd / && lethe run --exec cat etc/hostname")  # no mount can stand there
    check(r.code == 1 and "--here" not in r.err, r)
    make('odd/a"b\x1b[31mc', "text\n", 0o644)
    r = sh("cd odd && lethe run --exec cat *")
    check(r.code == 1 and "--here would give" in r.err and "\x1b" not in r.err.splitlines()[-1], r)


def end():
    same(stop_served(), 0)


prepare()
add("the daemon ends well", end)
main()
