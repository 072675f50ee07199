#!/usr/bin/python3
"""Skills as the public collections have them, and options as users of docker, podman, bwrap, firejail and srt type them, through a daemon and without one. TAP.

usage: habits.py LETHE root|user
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

from account import use

use(sys.argv[2])

from shell import HOME, either, make, served, stop_served, typed  # noqa: E402
from tap import ENV, LETHE, add, case, check, lethe, log, main, same, wait_for  # noqa: E402

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
    for line, text in [("--here=x --exec true", "--here=x: must be ro, rw or overlay"), ("--here= --exec true", "must be ro, rw or overlay"),
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
        r = sh("lethe why --last")
        check('hint        --here would give "%s" of the caller\'s folder\n' % name in r.out, line, r)
    for line in ("--exec sh -c 'exit 3'", "--exec python3 none.py", "--here --exec sh -c 'cat none; exit 3'", "--exec sh -c 'cat script.py; exit 0'", "--quiet --exec cat script.py", "--exec cat ../data",
                 "--exec cat -- -script.py"):
        r = sh("cd work && lethe run " + line)
        check("--here" not in r.err, line, r)
    r = sh("cd / && lethe run --exec cat etc/hostname")  # no mount can stand there
    check(r.code == 1 and "--here" not in r.err, r)
    make('odd/a"b\x1b[31mc', "text\n", 0o644)
    r = sh("cd odd && lethe run --exec cat *")
    check(r.code == 1 and "--here would give" in r.err and "\x1b" not in r.err.splitlines()[-1], r)


def options_of_help(text):
    """--options at the beginning of a line, alone or behind a letter: "    --name", "-v, --volume list"."""
    return set(re.findall(r"^\s*(?:-\w,?\s+(?:\|\s*)?)?--([a-z0-9][a-z0-9.-]*)", text, re.M))


@case
def the_help_of_other_tools_is_read():
    same(options_of_help("Options:\n      --add-host list     Add a --fake one\n  -a, --attach list   x\n    --bind SRC DEST   y\n    --caps.drop=all - drop\nusage: x --no\n"),
         {"add-host", "attach", "bind", "caps.drop"})


@case
def each_option_of_other_tools_has_an_answer():
    """It is one of ours, or the row of the table is said, word by word: before getopt takes it for the beginning of one of ours."""
    served(False)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "..", "..", "..", "supervisor", "front", "cli", "other-tools.def"), encoding="utf-8") as f:
        rows = re.findall(r'^OTHER\("([^"]+)",\s*"([^"]+)"\)$', f.read(), re.M)
    with open(os.path.join(here, "..", "..", "..", "supervisor", "front", "cli", "cmd-run-options.c"), encoding="utf-8") as f:  # as getopt knows them
        own = set(re.findall(r'OPTION(?:_FLAG)?\("([a-z-]+)"|{"([a-z-]+)", optional', f.read()))
    own = {a or b for a, b in own}
    exact, beginnings = {k: v for k, v in rows if not k.endswith("*")}, [(k[:-1], v) for k, v in rows if k.endswith("*")]
    same(len({k for k, _ in rows}), len(rows))
    asked, of = set(), {}
    with open(os.path.join(here, "other-tools.txt"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                of[line.split(":", 1)[0]] = line.split(":", 1)[1].split()
                asked.update(line.split(":", 1)[1].split())
    check(len(asked) > 250, len(asked))
    for tool, arguments in (("docker", ["run", "--help"]), ("podman", ["run", "--help"]), ("bwrap", ["--help"]), ("firejail", ["--help"]), ("srt", ["--help"])):
        path = shutil.which(tool, path="/usr/local/bin:/usr/bin:/bin")  # of the version that is here, if any
        if path:
            p = subprocess.run([path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
            said = options_of_help(p.stdout.decode(errors="replace"))
            if p.returncode != 0:  # podman does not say it to a user without subordinate ids
                print("# %s: does not say its options here" % tool, flush=True)
                continue
            check(len(said & set(of[tool])) > len(of[tool]) // 2, tool, sorted(said))  # the help has the form that we read
            print("# %s: %d options" % (tool, len(said)), flush=True)
            asked |= said
    answered = set()
    for option in sorted(asked | {k.rstrip("*") + "x" * k.endswith("*") for k, _ in rows}):
        words = exact.get(option) or next((v for k, v in beginnings if option.startswith(k)), None)
        if option in own:
            continue
        check(words, "no answer to --%s" % option)
        answered.add(words)
        r = lethe("run", "--" + option, "value", "--exec", "true")
        check(r.code == 125 and ("--%s is no option of run: %s\n" % (option, words)).encode() in r.err, option, r)
        # What the answer names is there.
        for said in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", words):
            check(said in own | {"last", "appimage-extract"}, "%s: --%s is not there" % (option, said))
        for verb in re.findall(r"(?<![`\w])lethe ([a-z]+)", words):
            check(lethe(verb, "--help").code == 0, option, verb)
    same({v for _, v in rows} - answered, set())
    for letter, option in (("P", "publish-all"), ("u", "user"), ("l", "label"), ("a", "attach"), ("c", "cpu-shares"), ("s", "settings")):
        r = lethe("run", "-it" + letter, "--exec", "true")
        words = exact.get(option) or next((v for k, v in beginnings if option.startswith(k)), None)
        check(r.code == 125 and ("-%s (--%s) is no option of run: %s\n" % (letter, option, words)).encode() in r.err, letter, r)


@either
def what_other_tools_call_it(sh):
    make("vars", "# a comment\n\nONE=1\r\nTWO=a b=c\nFROM_HERE\n", 0o644)
    for line, out in [("-it --rm --init -m 64m --exec /bin/echo ran", "ran\n"), ("--interactive --tty --exec cat", "in\n"),
                      ("--env-file vars -e ONE=2 --exec sh -c 'echo $ONE $TWO $FROM_HERE'", "2 a b=c here\n"), ("--proc /proc --exec ls /proc/self/comm", "/proc/self/comm\n")]:
        r = sh("echo in | FROM_HERE=here lethe run " + line)
        same((r.code, r.out), (0, out), line, r)
    for text, said in (("1=x\n", "line 1: -e"), ("LETHE_X=1\n", "line 1: -e"), ("A=1\nNOT_SET_HERE\n", 'line 2: "NOT_SET_HERE" is not set here'), ("A=\0\n", "a NUL"), ("A=" + "x" * (1 << 20), "larger than")):
        make("bad", text, 0o644)
        r = sh("lethe run --env-file bad --exec true")
        check(r.code == 125 and "--env-file bad: " in r.err and said in r.err and "xxx" not in r.err, said, r)
    r = sh("lethe run --env-file none --exec true")
    check(r.code == 125 and "--env-file none: No such file" in r.err, r)
    for line, said in (("ls -l", "--exec ls runs the program /usr/bin/ls"), ("alpine sh", "there are no images")):
        r = sh("lethe run " + line)
        check(r.code == 127 and said in r.err, line, r)


@case
def the_cookbook_leads_users_of_other_tools():
    served(False)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "supervisor", "front", "cli", "man", "lethe-cookbook.7.scd"), encoding="utf-8") as f:
        block = re.search(r"^# FROM DOCKER.*?^```\n(.*?)^```$", f.read(), re.S | re.M).group(1)
    make("first/script.py", 'print("ran")\n', 0o644)
    make("first/vars", "NAME=value\n", 0o644)
    pairs = re.findall(r"^\$ (.*)\n(.*)$", block, re.M)
    check(len(pairs) >= 10, pairs)
    for line, want in pairs:
        r = typed("cd first && { %s; } 2>&1 | head -n 1" % line)
        same(re.sub(r"\b[0-9a-z]{26}\b", "ID", r.out), re.sub(r"\b[0-9a-z]{26}\b", "ID", want) + "\n", line, r)


@either
def a_profile_is_options_with_a_name(sh):
    where = dict(XDG_CONFIG_HOME=HOME + "/config")
    options = {"memory": "64m", "timeout": "50s", "env": ["A=profile", "B=b"], "volume": [HOME + "/pub:/pub"], "here": "ro", "proc": True}
    make("config/lethe/profiles/build.json", json.dumps({"version": 1, "options": options}), 0o644)
    r = sh("cd work && lethe run --profile build -e A=own --exec sh -c 'echo $A $B; pwd; ls /pub /proc/self/comm'", **where)
    same((r.code, r.out), (0, "own b\n%s/work\n/proc/self/comm\n\n/pub:\nSKILL.md\nreferences\nscripts\n" % HOME), r)
    r = sh("cd work && lethe run --here=rw --timeout 9s --profile build --dry-run --json --exec true", **where)
    o = json.loads(r.out)
    same((o["budgets"]["memory_bytes"], o["budgets"]["wall_usec"], o["profile"]["name"], o["profile"]["options"]), (64 << 20, 9000000, "build", options), r)
    same([f["access"] for f in o["files"] if f["target"] == HOME + "/work"], ["write"])
    r = sh("cd work && lethe run --profile build --dry-run --exec true", **where)
    check(r.out.startswith("profile     build (%s/config/lethe/profiles/build.json)\n" % HOME), r)
    # Never beyond policy, as with the same words on the command line.
    policy = make("policy/narrow.json", json.dumps({"version": 1, "max": {"memory": "32m"}, "files": []}), 0o644)
    r = sh("cd work && lethe run --policy %s --profile build --exec true" % policy, **where)
    check(r.code == 125 and "no root of %s#/files allows to read it" % policy in r.err, r)
    make("config/lethe/profiles/large.json", '{"version":1,"options":{"memory":"1g"}}', 0o644)
    r = sh("lethe run --policy %s --profile large --dry-run --json --exec true" % policy, **where)
    same(json.loads(r.out)["budgets"]["memory_bytes"], 32 << 20)
    at = HOME + "/config/lethe/profiles/"
    for text, said in (('{"version":1,"options":{"memory":"x"}}', 'bad.json#/options/memory: --memory'), ('{"version":2,"options":{}}', "bad.json#/version: must be 1"), ('{"version":1}', "bad.json#/options: must be"),
                       ('{"version":1,"options":{"policy":"x"}}', "bad.json#/options/policy: no option that a profile may have"), ('{"version":1,"options":{"memory":["1m"]}}', "#/options/memory: volume, env, connect, allow and publish alone"),
                       ('{"version":1,"options":{"env":[1]}}', "#/options/env/0: must be a text"), ('{"version":1,"options":{"proc":"yes"}}', "#/options/proc: must be true"), ('{"version":1,"options":{},"more":1}', "bad.json#/more: no such field"),
                       ("[]", "must be an object"), ("{", "bad.json: "), ('{"version":1,"options":{"here":"x"}}', "#/options/here: --here=x"), (" " * 70000, "bad.json: ")):
        make("config/lethe/profiles/bad.json", text, 0o644)
        r = sh("lethe run --profile bad --exec true", **where)
        check(r.code == 125 and said in r.err and at in r.err, text[:60], r)
    for name, said in (("../build", "a name has 1 to"), ("none", at + "none.json: No such file"), ("''", "a name has 1 to"), ("a" * 65, "a name has 1 to")):
        r = sh("lethe run --profile %s --exec true" % name, **where)
        check(r.code == 125 and said in r.err, name, r)
    os.chmod(make("config/lethe/profiles/others.json", '{"version":1,"options":{}}'), 0o666)
    r = sh("lethe run --profile others --exec true", **where)
    check(r.code == 125 and "is not this user's alone" in r.err, r)


LOOPS = "echo up; while :; do sleep 0.02; done"
BYE = 'trap "echo bye; exit 5" TERM; ' + LOOPS
DEAF = 'trap "" TERM; ' + LOOPS


def ended_after_it_was_up(sh, line):
    """The line's END is the shortest of these times that the program needs to be up on this machine as it is now: what it does at its end is then the
    program's, and no matter of load."""
    for end in (1, 2, 4, 8, 16, 32, 64, 128):
        r = sh("lethe run --receipt r.json " + line.replace("END", "%ds" % end))
        if "up\n" in r.out:
            return r
    raise AssertionError(("never up", line, r))


@either
def a_grace_is_sigterm_and_then_the_kill(sh):
    bye, deaf, loops = ("--exec sh -c '%s'" % p for p in (BYE, DEAF, LOOPS))
    tree = "--exec sh -c 'trap \"echo above; exit\" TERM; sh -c \"trap \\\"echo below; exit\\\" TERM; echo up; while :; do sleep 0.02; done\"'"  # a shell waits for its child first
    still = '--exec python3 -c "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(print(\'bye\'))); print(\'up\', flush=True); time.sleep(600)"'
    for line, out, resource, itself in [("--timeout END --grace 60s " + bye, "up\nbye\n", "wall", True), ("--timeout END --grace 60s " + loops, "up\n", "wall", True),
                                        ("--timeout END --grace 100ms " + deaf, "up\n", "wall", False), ("--timeout END --grace none " + bye, "up\n", "wall", None),
                                        ("--timeout END " + bye, "up\n", "wall", None), ("--timeout END --grace 60s " + tree, "up\nbelow\nabove\n", "wall", True),
                                        ("--idle END --grace 60s " + still, "up\nbye\n", "idle", True),
                                        # A budget that breaks within the grace is what ended it.
                                        ("--timeout END --grace 60s --output-limit 1000 --exec sh -c 'trap \"while :; do echo more; done\" TERM; echo up; while :; do sleep 0.02; done'", None, "output", None)]:
        r = ended_after_it_was_up(sh, line)
        with open(os.path.join(HOME, "r.json"), encoding="utf-8") as f:
            o = json.load(f)
        same((r.code, o["limiting_resource"]), (137 if resource == "output" else 124, resource), line, r, o)
        check(out is None or r.out == out, line, r)
        ended = log("--region", o["region"], "--type", "invocation.ended")[0]
        grant = log("--region", o["region"], "--type", "region.allocated")[0]["grant"]
        same(ended.get("grace"), o.get("grace"), line)
        same(o.get("grace", {}).get("itself") if itself is not None else None, itself, line, o)
        if itself is not None:
            check(grant["grace_usec"] < grant["cancel_bound_usec"], line, grant)
            check(o["grace"]["usec"] + o["teardown"]["bound_usec"] >= grant["cancel_bound_usec"] - 1000000, line, o)
            check(itself or o["grace"]["usec"] >= 100000, line, o)
            check(o["teardown"]["grade"] != "failed" and o["teardown"]["usec"] <= o["teardown"]["bound_usec"], line, o)


@either
def a_cancel_has_the_grace_and_a_second_one_has_not(sh):
    for line, program, kills, out in (("--grace 60s", BYE, 1, "bye\n"), ("--grace 60s", DEAF, 2, ""), ("", BYE, 1, "")):
        p = subprocess.Popen([LETHE, "run", *line.split(), "--name", "victim", "--exec", "sh", "-c", program], cwd=HOME, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        same(p.stdout.readline(), "up\n")
        for i in range(kills):
            p.send_signal(signal.SIGTERM)
            if kills > 1 and i == 0:  # both signals at once are one
                wait_for(lambda: sent(p), "SIGTERM is on its way")
        same((p.stdout.read(), p.wait(60)), (out, 143), line, p.stderr.read())
        p.stdout.close()
        p.stderr.close()


def sent(p):
    """The first signal was taken: none is pending for the client."""
    with open("/proc/%d/status" % p.pid, encoding="utf-8") as f:
        fields = dict(l.split(":\t", 1) for l in f)
    return not (int(fields["ShdPnd"], 16) | int(fields["SigPnd"], 16)) >> (signal.SIGTERM - 1) & 1


@case
def a_grace_is_asked_by_manifest_and_bounded_by_policy():
    served(False)

    def skill(**more):
        make("slow/SKILL.md", "---\nname: slow\ndescription: A test.\n---\n", 0o644)
        make("slow/lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/true"]}, **more}), 0o644)

    policy = make("policy/grace.json", json.dumps({"version": 1, "bounds": {"grace": {"ceiling": "3s"}, "cancel_bound": {"ceiling": "4s"}}}), 0o644)
    skill(grace="2s")
    for line, want in (("slow", 2000000), ("--grace none slow", None), ("--grace 1s slow", 1000000), ("--grace 30s slow", 30000000), ("--policy %s slow" % policy, 2000000)):
        r = typed("lethe run --dry-run --json " + line)
        same(json.loads(r.out).get("grace_usec"), want, line, r)
    r = typed("lethe run --dry-run slow")
    check("2 s from SIGTERM to the kill" in r.out, r)
    r = typed("lethe validate slow")
    check(r.code == 0 and "the cancel bound is 4 s" in r.out, r)
    r = typed("lethe run --policy %s --grace 5s slow" % policy)
    check(r.code == 125 and "--grace: 5 s is above the ceiling 3 s of %s#/bounds/grace/ceiling" % policy in r.err, r)
    skill(grace="2s", cancel_bound="2010ms", budgets={"memory": "1g"})
    for verb in ("run", "validate"):
        r = typed("lethe %s slow" % verb)
        check(r.code != 0 and "cancel bound 2.01 s" in r.out + r.err and "with the grace" in r.out + r.err, r)
    for more, said in (({"grace": "2s", "cancel_bound": "1s"}, 'must be less than "cancel_bound"'), ({"grace": "61s"}, "10ms to 60s"), ({"grace": 1.5}, "/grace")):
        skill(**more)
        r = typed("lethe validate slow")
        check(r.code == 1 and said in r.out, more, r)
    for value in ("0", "61s", "x", "-1s"):
        r = typed("lethe run --grace %s --exec true" % value)
        check(r.code == 125 and "must be a time of 10ms to 60s, or none" in r.err, value, r)


@case
def verbs_of_docker_lead_to_ours():
    """Each word that an answer quotes as a command of lethe's is one."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "supervisor", "front", "cli", "other-verbs.def"), encoding="utf-8") as f:
        rows = re.findall(r'^OTHER\("([a-z]+)", "(.*)"\)$', f.read(), re.M)
    ours = set(re.findall(r"^  ([a-z]+) ", lethe("--help").out.decode(), re.M))
    check(len(rows) >= 15 and len(ours) > 30, rows, ours)
    for verb, words in rows:
        r = lethe(verb, "x")
        same((r.code, r.err.decode()), (2, "lethe: '%s' is not a verb; %s\n" % (verb, words)))
        check(verb not in ours and set(re.findall(r"'lethe ([a-z]+)", words)) <= ours, verb, words)


def end():
    same(stop_served(), 0)


prepare()
add("the daemon ends well", end)
main()
