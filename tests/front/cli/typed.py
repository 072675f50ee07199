#!/usr/bin/python3
"""Command lines as a user types them, in a shell, on a terminal and in a pipe, through a daemon and without one, with programs as they are on a machine. TAP.

usage: typed.py LETHE root|user
"""
import json
import os
import shutil
import subprocess
import sys

from account import use

use(sys.argv[2])

import tiers  # noqa: E402
from shell import HOME, each_way, make, served, stop_served, typed  # noqa: E402
from tap import DIR, ENV, LETHE, ROOT, STORE, Skip, add, ask_daemon, case, case_when, check, lethe, log, main, same, start_daemon, stop_daemon, wait_for  # noqa: E402

ASKS = "import sys; print(sys.prefix, sys.executable)"


def prepare():
    os.makedirs(HOME)
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", os.path.join(HOME, "venv")], check=True, env=ENV)
    subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", "--copies", os.path.join(HOME, "copies")], check=True, env=ENV)
    os.makedirs(os.path.join(HOME, "box"))
    shutil.copy("/bin/busybox", os.path.join(HOME, "box", "busybox"))
    for applet in ("basename", "expr"):
        os.symlink("busybox", os.path.join(HOME, "box", applet))
        os.symlink("/bin/busybox", os.path.join(HOME, applet))
    os.symlink("/nowhere/at/all", os.path.join(HOME, "box", "dangling"))
    os.makedirs(os.path.join(HOME, "src"))
    make("src/build.sh", "#!/bin/sh\necho built by $0 in $PWD\n")
    make("src/server.py", SERVER, 0o644)
    make("src/in-venv", "#!/venv/bin/python3\n" + ASKS.replace("; ", "\n") + "\n")
    for name, more in (("asks", {"network": "host", "files": [{"path": "/etc/shadow", "access": "read"}]}), ("asks-memory", {"budgets": {"memory": "96m"}})):
        make(name + "/SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name, 0o644)
        make(name + "/lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/echo", "ran"]}, **more}), 0o644)
        same(lethe("skill", "add", os.path.join(HOME, name)).code, 0)
    files = [{"path": HOME + "/venv", "access": "read", "at": "/venv"}, {"path": HOME + "/box", "access": "read", "at": "/box"}]
    starts = "import lethe\nprint(lethe.run('in-venv')['output'] + lethe.run('in-box')['output'], end='')\n"
    make("files.json", json.dumps({"version": 1, "files": [{"path": f["path"], "access": "read"} for f in files]}), 0o644)
    for name, entry, more in (("in-venv", ["/venv/bin/python3", "-c", ASKS], {}), ("in-box", ["/box/expr", "6", "*", "7"], {}),
                              ("starts-them", ["/usr/bin/python3", "/skill/main.py"], {"sub_skills": ["in-venv", "in-box"]})):
        make(name + "/SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name, 0o644)
        make(name + "/main.py", starts, 0o644)
        make(name + "/lethe.json", json.dumps({"version": 1, "entry": {"main": entry}, "files": files, **more}), 0o644)
        same(lethe("skill", "add", os.path.join(HOME, name)).code, 0)
    make("plain.sh", "#!/bin/sh\necho plain $0\n")


@each_way
def a_virtual_environment_keeps_its_prefix(sh):
    r = sh('lethe run -v $PWD/venv:/venv --exec /venv/bin/python3 -c "%s"' % ASKS)
    same((r.code, r.out), (0, "/venv /venv/bin/python3\n"), r)
    r = sh('lethe run -v $PWD/copies:/venv --exec /venv/bin/python3 -c "%s"' % ASKS)
    same((r.code, r.out), (0, "/venv /venv/bin/python3\n"), r)
    r = sh('lethe run -v $PWD/venv:$PWD/venv --exec venv/bin/python -c "%s"' % ASKS)
    same((r.code, r.out), (0, "%s/venv %s/venv/bin/python\n" % (HOME, HOME)), r)
    r = sh('lethe run -v $PWD/venv:/venv -v $PWD/src:/src --exec /src/in-venv')  # the interpreter of its first line is a link
    same((r.code, r.out), (0, "/venv /venv/bin/python3\n"), r)


@each_way
def so_does_that_of_an_entry_and_of_a_sub_skill(sh):
    for name in ("in-venv", "in-box", "--policy files.json starts-them"):  # what a sub-skill sees is the policy's to grant
        r = sh("lethe run -v $PWD/venv:/venv -v $PWD/box:/box %s" % name)
        name = name.split()[-1]
        same((r.code, r.out), (0, {"in-venv": "/venv /venv/bin/python3\n", "in-box": "42\n", "starts-them": "/venv /venv/bin/python3\n42\n"}[name]), name, r)


@each_way
def an_interpreter_outside_of_the_environment_is_asked_for(sh):  # as uv makes them
    make("uv/cpython/bin/python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n")
    make("uv/project/.venv/pyvenv.cfg", "home = %s/uv/cpython/bin\n" % HOME, 0o644)
    os.makedirs(os.path.join(HOME, "uv/project/.venv/bin"), exist_ok=True)
    if not os.path.islink(os.path.join(HOME, "uv/project/.venv/bin/python")):
        os.symlink(os.path.join(HOME, "uv/cpython/bin/python3"), os.path.join(HOME, "uv/project/.venv/bin/python"))
    for volume in ("-v $PWD:/p -w /p", "-v $PWD:$PWD -w $PWD"):
        line = "cd uv/project && lethe run %s %%s --exec .venv/bin/python -c 'print(6 * 7)'" % volume
        fix = "-v %s/uv/cpython:%s/uv/cpython" % (HOME, HOME)
        r = sh(line % "")
        check(r.code == 127 and "leads to %s/uv/cpython/bin/python3, which the region does not see; fix: %s as well" % (HOME, fix) in r.err, volume, r)
        r = sh(line % fix)
        same((r.code, r.out), (0, "42\n"), volume, r)
    r = sh("lethe run -v $PWD/uv/project:/p --exec /p/.venv/bin/python -c 'print(6 * 7)'")
    check(r.code == 127 and "leads to %s/uv/cpython/bin/python3, which the region does not see; fix: %s as well" % (HOME, fix) in r.err, r)
    os.path.lexists(os.path.join(HOME, "uv/project/other")) or os.symlink(os.path.join(HOME, "uv/cpython/bin/python3"), os.path.join(HOME, "uv/project/other"))
    r = sh("lethe run -v $PWD/uv/project:/p --exec /p/other -c 'print(6 * 7)'")
    check(r.code == 127 and "a link leads to %s/uv/cpython/bin/python3, which the region does not see; fix: -v %s/uv/cpython/bin:%s/uv/cpython/bin as well" % (HOME, HOME, HOME) in r.err, r)


@each_way
def one_that_is_not_shown_is_told(sh):
    r = sh('lethe run --exec venv/bin/python -c "%s"' % ASKS)
    check(r.code == 0 and "/usr %s/venv/bin/python\n" % HOME in r.out, r)
    check("lethe: warning: %s/venv/bin/python is of the Python virtual environment %s/venv, which the region does not see" % (HOME, HOME) in r.err and
          "-v %s/venv:%s/venv" % (HOME, HOME) in r.err, r)
    r = sh('lethe run --quiet --exec venv/bin/python -c "%s"' % ASKS)
    check(r.code == 0 and "warning" not in r.err, r)


@each_way
def a_multi_call_binary_keeps_its_name(sh):
    for line, out in [("--exec ./basename /a/b", "b"), ("--exec box/expr 6 '*' 7", "42"), ("-v $PWD/box:/box --exec /box/basename /a/c", "c"),
                      ("-v $PWD/box:/box -w /box --exec ./expr 1 + 1", "2"), ("-v $PWD/box:/box -w /box --exec ../box/expr 1 + 2", "3"),
                      ("--exec $PWD/../home/expr 1 + 3", "4")]:
        r = sh("lethe run " + line)
        same((r.code, r.out), (0, out + "\n"), line, r)


@each_way
def the_path_is_one_of_the_region(sh):
    for line, code, out in [("-v $PWD/src:/src --exec /src/build.sh", 0, "built by /src/build.sh in /work\n"),
                            ("-v $PWD/src:/src -w /src --exec ./build.sh", 0, "built by ./build.sh in /src\n"),
                            ("-v $PWD:/src:rw -w /src/src --exec ./build.sh", 0, "built by ./build.sh in /src/src\n"),
                            ("-v $PWD/src/build.sh:/opt/tool --exec /opt/tool", 0, "built by /opt/tool in /work\n"),
                            ("--exec ./plain.sh", 0, "plain %s/plain.sh\n" % HOME), ("--exec $PWD/plain.sh", 0, "plain %s/plain.sh\n" % HOME),
                            ("--exec src/../plain.sh", 0, "plain %s/plain.sh\n" % HOME), ("-v $PWD/box:/box --exec src/../plain.sh", 0, "plain %s/plain.sh\n" % HOME)]:
        r = sh("lethe run " + line)
        same((r.code, r.out), (code, out), line, r)


@each_way
def what_is_not_there_is_told_with_its_place(sh):
    for line, code, text in [("-v $PWD/src:/src --exec /src/none", 127, 'there is no "/src/none" in the region'),
                             ("-v $PWD/box:/box --exec /box/dangling", 127, 'there is no "/nowhere" in the region'),
                             ("-v $PWD/src:/src --exec /src/none/../build.sh", 127, 'there is no "/src/none" in the region'),
                             ("-v $PWD/src:/src --exec ./none/../build.sh", 127, 'there is no "/work" in the region'),
                             ("-v $PWD/box:$PWD/src --exec src/build.sh", 127, "stands at %s/src, and has no such program" % HOME),
                             ("--exec plain.sh", 127, "./ before it names the one in this folder"),
                             ("-v $PWD/src:/src -w /src --exec build.sh", 127, "./ before it names the one in the working folder"),
                             ("-w /usr --exec build.sh", 127, "not found in /usr/local/bin:/usr/bin:/bin; fix: its package on the host, or its path\n"), ("-v $PWD/src:/src --exec /src", 126, "not a file")]:
        r = sh("lethe run " + line)
        check(r.code == code and text in r.err, line, r)


def region_of(r, receipt="r.json"):
    with open(os.path.join(HOME, receipt), encoding="utf-8") as f:
        return json.load(f)


@each_way
def after_an_end_that_is_no_success_one_line_says_how(sh):
    for line, code, text in [("/bin/sh -c 'cat /etc/shadow /etc/gshadow 2>/dev/null; exit 3'", 3, "exited with code 3; 2 denials ('lethe why --last"),
                             ("/bin/sh -c 'kill -SEGV $$'", 139, "was ended by signal 11 (Segmentation fault); no denials"),
                             ("/bin/sh -c 'kill -TERM $$'", 143, "was ended by signal 15 (Terminated); no denials")]:
        r = sh("lethe run --receipt r.json --exec " + line)
        o = region_of(r)
        said = [l for l in r.err.splitlines() if l.startswith("lethe: ")]
        check(r.code == code and len(said) == 1 and said[0].startswith("lethe: region %s %s" % (o["region"], text)), line, r)
        r = sh("lethe why --last")
        check(r.code == 0 and r.out.startswith("region %s\n" % o["region"]), r)
    r = sh("lethe run --quiet --exec /bin/sh -c 'echo out; exit 4'")
    same((r.code, r.out), (4, "out\n"), r)
    check("lethe:" not in r.err, r)
    r = sh("lethe run --exec /bin/sh -c 'echo well'")
    same((r.code, r.out), (0, "well\n"), r)
    check("lethe:" not in r.err, r)
    r = sh("lethe run --store $PWD/../other --exec /bin/false", LETHE_ANCHOR=os.path.join(DIR, "other-anchor"))
    check("'lethe why --last --store %s/" % DIR in r.err or "'lethe why --last --store $PWD/../other" in r.err or "/../other' tells more" in r.err, r)


@each_way
def the_loopback_of_a_region_is_its_own(sh):  # a program asks for localhost without the proxy, so that no denial tells of it
    hint = "; %s is the region's own: --connect 127.0.0.1:9 reaches a server of the host ("
    for host in ("localhost:9", "127.0.0.1:9", "[::1]:9"):
        r = sh("lethe run --allow %s --exec sh -c 'exit 7'" % host)
        check(r.code == 7 and hint % host in r.err, r)
    for line in ("--allow localhost:9 --exec true", "--allow web.test:9 --exec false", "--exec false"):
        r = sh("lethe run " + line)
        check("region's own" not in r.err, line, r)


# What is typed; the exit code; the field, the value, the rule, the fix.
MISTAKES = [
    ("--memory lots --exec /bin/true", 125, ("--memory", '"lots"', "must be a size", "such as 64k, 128m or 1g")),
    ("--memory 12 --exec /bin/true", 125, ("--memory", "12", "must be from 1 MiB to 1 TiB", "1 MiB")),
    ("--timeout 5x --exec /bin/true", 125, ("--timeout", '"5x"', "must be a time", "such as 250ms, 30s or 5m, or none")),
    ("--memroy 1g --exec /bin/true", 125, ("--memroy", "", "is no option of run", "fix: --memory")),
    ("--netwrok=none --exec /bin/true", 125, ("--netwrok", "=none", "is no option of run", "fix: --network")),
    ("-v data:/x --exec /bin/true", 125, ("-v", '"data:/x"', "No such file or directory", "fix: the path of a file or folder of the host (there are no named volumes)")),
    ("-v /tmp --exec /bin/true", 125, ("-v", '"/tmp"', "must be SOURCE:TARGET", "with :ro, :rw or :overlay")),
    ("-v /var/tmp:/usr/x --exec /bin/true", 125, ("--volume", '"/usr/x"', "nothing is mounted below the system folder /usr", "name a place outside of the system folders")),
    ("--network bridge --exec /bin/true", 125, ("--network", '"bridge"', "must be none, loopback or host", "--allow HOST:PORT allows one host")),
    ("--allow api.test --exec /bin/true", 125, ("--allow", '"api.test"', "must be HOST:PORT", "for example api.example.org:443")),
    ("--allow https://api.test:443 --exec /bin/true", 125, ("--allow", '"https://api.test:443"', "has a scheme: must be HOST:PORT", "for example api.example.org:443")),
    ("--allow '*:443' --exec /bin/true", 125, ("--allow", '"*:443"', "all hosts are no list of names", "--network host")),
    ("--route models --exec /bin/true", 125, ("--route", "models", '"routes" of a policy file', "--policy FILE")),
    ("--connect localhost:80 --exec /bin/true", 125, ("--connect", '"localhost:80"', "must be a numeric address", "names are not looked up")),
    ("-p 80:80 --exec /bin/true", 125, ("--publish", "127.0.0.1:80:80", "at ports from 1024 on", '"network": {"publish": [...]} of a policy file')),
    ("-e 'A B' --exec /bin/true", 125, ("-e", '"A B"', "has letters, digits and", "fix: -e NAME=VALUE")),
    ("--cpus 0 --exec /bin/true", 125, ("--cpus", "0", "must be from 0.01 to 1024", "0.01")),
    ("-w relative --exec /bin/true", 125, ("--workdir", '"relative"', "must be an absolute path", "absolute")),
    ("--exec nosuch", 127, ("--exec", '"nosuch"', "not found in /usr/local/bin:", "fix: its package on the host, or its path")),
    ("nosuch", 127, ("", '"nosuch"', "neither a registered skill nor a folder", "--exec PROGRAM runs a program of the host")),
    ("python3 script.py", 127, ("", '"python3"', "neither a registered skill nor a folder", "--exec python3 runs the program /usr/bin/python3")),
    ("/bin/true", 127, ("", "/bin/true", "a skill is a folder", "fix: --exec runs a program")),
    ("", 125, ("", "", "no program to run", "give SKILL, DIR or --exec PROGRAM")),
    ("--policy $PWD/none.json --exec /bin/true", 125, ("policy file", "none.json", "No such file or directory", "fix: a file as in lethe-policy(5)")),
    ("--profile none --exec /bin/true", 125, ("--profile", "none.json", "No such file or directory", "fix: a profile is a file of that folder, see PROFILES in lethe-run(1)")),
]


@each_way
def mistakes_of_a_newcomer_say_field_value_rule_and_fix(sh):
    """The same words whoever judges, and before anything runs: through `lethe run` and --dry-run."""
    regions = len(log("--type", "region.allocated"))
    for words, code, texts in MISTAKES:
        said = set()
        for option in ("", "--dry-run "):
            r = sh("lethe run %s%s" % (option, words))
            same(r.code, code, words, r)
            line = r.err.splitlines()[0]
            check(line.startswith("lethe run: ") and all(text in line for text in texts), option, words, line, texts)
            said.add(line)
        same(len(said), 1, words, said)
    same(len(log("--type", "region.allocated")), regions)


@each_way
def the_line_leads_to_the_store_that_has_the_record(sh):  # the daemon finds its store by LETHE_STORE, this user by --store
    through = os.path.exists(ENV["LETHE_SOCKET"])
    before = ask_daemon("status")["served"] if through else 0
    r = sh("lethe run --store %s --exec /bin/false" % STORE, LETHE_STORE="", XDG_STATE_HOME=HOME + "/elsewhere")
    check(r.code == 1 and "('lethe why --last --store %s' tells more)" % STORE in r.err, r)
    r = sh("lethe run --store %s --exec /bin/false" % STORE)
    check(r.code == 1 and "('lethe why --last' tells more)" in r.err, r)
    same(ask_daemon("status")["served"] if through else 2, before + 2)


@each_way
def a_breach_names_the_option_that_allows_more(sh):
    for option, line in [("timeout", "--timeout 100ms --exec /bin/sleep 60"), ("output-limit", "--output-limit 10 --exec /usr/bin/yes"),
                         ("file-size", "--file-size 1k --exec /bin/sh -c 'head -c 4096 /dev/zero > /work/x'")]:
        r = sh("lethe run %s > out 2>&1; tail -n 1 out" % line)
        check("(--%s allows more); no denials ('lethe why --last' tells more)" % option in r.out, r)


@each_way
def a_program_without_its_interpreter_is_told_apart_from_none(sh):
    make("src/no-interpreter", "#!/no/such/interpreter\n")
    make("lost/SKILL.md", "---\nname: lost\ndescription: A test.\n---\n", 0o644)
    make("lost/lethe.json", json.dumps({"version": 1, "entry": {"main": ["no-interpreter"], "none": ["no-such-program"]}}), 0o644)
    make("lost/no-interpreter", "#!/no/such/interpreter\n")
    there = "the file is there, but the interpreter that it names"
    for line, text in (("--exec src/no-interpreter", "src/no-interpreter: " + there), ("-v $PWD/src:/src -w /src --exec ./no-interpreter", "lethe: ./no-interpreter: " + there),
                       ("lost", "/skill/no-interpreter: " + there), ("--entry none lost", "no-such-program: neither a file of the skill's folder nor in the PATH of the region")):
        r = sh("lethe run --receipt r.json " + line)
        check(r.code == 127 and text in r.err, line, r)
        same(json.load(open(os.path.join(HOME, "r.json"), encoding="utf-8"))["outcome"], "setup_failed", line, r)
    r = sh("lethe run --exec /bin/true $(seq 70000)")
    check(r.code == 125 and "70001 arguments and " in r.err and "65536 of each" in r.err, r)


@each_way
def a_limit_that_no_option_moves_says_whose_it_is(sh):
    make("hasty/SKILL.md", "---\nname: hasty\ndescription: A test.\n---\n", 0o644)
    make("hasty/lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/sleep"]}, "budgets": {"wall": "100ms"}}), 0o644)
    policy = make("policy/hasty.json", json.dumps({"version": 1, "max": {"wall": "100ms"}}), 0o644)
    for line, by, short, full in (("--timeout 50ms hasty -- 60", "option", "(--timeout allows more)", "more with --timeout, up to the limits of lethe.json"),
                                  ("hasty -- 60", "manifest", "(budgets.wall of lethe.json allows no more)", "--timeout can only lower the limit"),
                                  ("--timeout 60s hasty -- 60", "manifest", "(budgets.wall of lethe.json allows no more)", "--timeout can only lower the limit"),
                                  ("--policy %s --timeout none --exec /bin/sleep 60" % policy, "policy", "(max.wall of the policy allows no more)", "the operator's policy says so (max.wall)"),
                                  ("--policy %s --exec /bin/sleep 60" % policy, "policy", "(max.wall of the policy allows no more)", "the operator's policy says so (max.wall)")):
        r = sh("lethe run --receipt r.json " + line)
        o = region_of(r)
        check(r.code == 124 and o["limit_by"] == by and short in r.err, line, r)
        r = sh("lethe why --last")
        check(full in r.out, line, r)
        same(log("--region", o["region"], "--type", "invocation.ended")[0]["limit_by"], by)
    # A default that policy cut was asked by nobody. Nothing of it depends on how long the program takes.
    policy = make("policy/unasked.json", json.dumps({"version": 1, "max": {"wall": "29s"}}), 0o644)
    r = sh("lethe run --policy %s --exec /bin/true" % policy)
    check(r.code == 0 and "did not get it" not in r.err, r)
    r = sh("lethe why --last")
    check("/budgets/wall: default %s, granted 29 s" % ("none" if sh.terminal else "30 s") in r.out, r)  # a terminal's user ends the run
    policy = make("policy/bounds.json", json.dumps({"version": 1, "bounds": {"lineage": {"ceiling": "stats"}, "commit": {"floor": "success"}}}), 0o644)
    r = sh("lethe run --policy %s --exec /bin/true" % policy)
    check(r.code == 0 and "did not get it" not in r.err, r)
    r = sh("lethe why --last")
    check("raised      /commit: default any, granted success" in r.out and "not given   /lineage: default events, granted stats" in r.out, r)


SERVER = """import sys
for line in iter(sys.stdin.readline, ""):
    print("answer to " + line.strip(), flush=True)
"""


def _session(*options, env=ENV):
    """A server on standard input and output, as those of the Model Context Protocol are."""
    return subprocess.Popen([LETHE, "run", "--receipt", os.path.join(HOME, "session.json"), "-v", HOME + "/src:/src", *options, "--exec", "/usr/bin/python3", "/src/server.py"],
                            cwd=HOME, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)


def _ask(p, n):
    p.stdin.write("request %d\n" % n)
    same(p.stdout.readline(), "answer to request %d\n" % n)


@each_way
def a_session_has_no_end_of_its_own(sh):
    del sh
    p = _session("--timeout", "none", "--output-limit", "none")
    _ask(p, 1)
    grant = [e for e in log("--type", "region.allocated")][-1]["grant"]["budgets"]
    same((grant["wall_usec"], grant["cpu_usec"], grant["output_bytes"]), (None, None, None))
    _ask(p, 2)
    p.stdin.close()
    same(p.wait(60), 0, p.stderr.read())


@each_way
def what_does_nothing_is_ended(sh):
    r = sh("lethe run --receipt r.json --idle 200ms --exec /bin/sleep 600")
    o = region_of(r)
    same((r.code, o["outcome"], o["limiting_resource"], o["limit"]), (124, "timed_out", "idle", 200000), r)
    check(o["used"] > 200000 and "idle: limit 200 ms" in r.err and "(--idle allows more)" in r.err, o, r)
    r = sh("lethe why --last")
    check("more with --idle" in r.out, r)
    # Computing, writing, and what runs in a sub-skill are no idleness: each is bounded by another budget, which is what ends it.
    for line, resource in (("--cpu-time 600ms --exec /bin/sh -c 'while :; do :; done'", "cpu"),
                           ("--output-limit 200 --exec /bin/sh -c 'while :; do echo x; sleep 0.01; done'", "output")):
        r = sh("lethe run --receipt r.json --idle 400ms %s >out" % line)
        same(region_of(r)["limiting_resource"], resource, line, r)
    p = _session("--timeout", "none", "--idle", "2s")
    for n in range(3):
        _ask(p, n)
    same(p.wait(60), 124)  # nobody asks any more
    with open(os.path.join(HOME, "session.json"), encoding="utf-8") as f:
        same(json.load(f)["limiting_resource"], "idle")
    p.stdin.close()


@each_way
def the_time_of_processors_goes_with_that_of_the_clock(sh):
    usual = None if sh.terminal else 30000000  # a terminal's user ends the run
    for options, wall, cpu in (("", usual, usual), ("--timeout 5m", 300000000, 300000000), ("--timeout 10s", 10000000, 30000000),
                               ("--timeout 5m --cpu-time 1s", 300000000, 1000000), ("--timeout none --cpu-time 1s", None, 1000000)):
        r = sh("lethe run %s --exec /bin/true" % options)
        same(r.code, 0, r)
        got = log("--type", "region.allocated")[-1]["grant"]["budgets"]
        same((got["wall_usec"], got["cpu_usec"]), (wall, cpu), options)


@case
def none_is_the_operators_word():
    served(False)
    for name, budgets in (("endless", {"wall": "none", "cpu": "none", "output": "none"}), ("minute", {"wall": "1m"})):
        make(name + "/SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name, 0o644)
        make(name + "/lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/echo", "ran"]}, "budgets": budgets}), 0o644)
    day = 86400000000
    for policy, line, want, told in (({}, "$PWD/endless", (day, day, 64 << 30), 3), ({"wall": "none"}, "$PWD/endless", (None, day, 64 << 30), 2),
                                     ({"wall": "1h", "cpu": "none", "output": "none"}, "$PWD/endless", (3600000000, None, None), 1),
                                     ({}, "--timeout none $PWD/endless", (None, day, 64 << 30), 2), ({}, "--timeout none $PWD/minute", (60000000, 60000000, 16 << 20), 1),
                                     ({"wall": "2m"}, "--timeout none --exec /bin/true", (120000000, 120000000, 16 << 20), 1),
                                     ({"wall": "none", "cpu": "1m"}, "--timeout none --exec /bin/true", (None, 60000000, 16 << 20), 1),
                                     ({"idle": "10s"}, "--exec /bin/true", (30000000, 30000000, 16 << 20), 1),
                                     ({"idle": "10s"}, "--idle 1m --exec /bin/true", (30000000, 30000000, 16 << 20), 1)):
        path = make("policy/max.json", json.dumps({"version": 1, "max": policy}), 0o644)
        r = typed("lethe run --policy %s --dry-run --json %s" % (path, line))
        o = json.loads(r.out)
        got = o["budgets"]
        same((got["wall_usec"], got["cpu_usec"], got["output_bytes"]), want, policy, line, o["reductions"])
        same(len(o["reductions"]), told, policy, line, o["reductions"])
        same(got.get("idle_usec"), 10000000 if "idle" in policy else None)
    for line in ("--timeout None", "--memory none", "--pids-limit none", "--idle 0", "--timeout -1"):
        r = typed("lethe run %s --exec /bin/true" % line)
        check(r.code == 125 and "must be" in r.err, line, r)


@each_way
def what_a_manifest_asks_and_did_not_get_is_told(sh):
    r = sh("lethe run asks")
    check(r.code == 0 and "ran\n" in r.out and "lethe.json asks /network and more and did not get it ('lethe why --last' tells more)" in r.err, r)
    r = sh("lethe why --last")
    check("not given   /network: asked host, granted none" in r.out and "/files/0: asked read /etc/shadow, granted none" in r.out, r)
    r = sh("lethe run --quiet asks")
    check(r.code == 0 and "lethe:" not in r.err, r)
    r = sh("lethe run --memory 64m asks-memory")  # the user's own word is nothing to be told
    check(r.code == 0 and "lethe:" not in r.err, r)


@each_way
def a_region_is_named_as_a_user_would(sh):
    name = "name-%d" % len(log())
    r = sh("lethe run --receipt r.json --name %s --exec /bin/sh -c 'exit 5'" % name)
    id = region_of(r)["region"]
    for said in (id, id[:-3], name, "--last"):
        r = sh("lethe why %s" % said)
        check(r.code == 0 and r.out.startswith("region %s\n" % id), said, r)
        r = sh("lethe certificate %s -o cert.json && lethe certificate --verify cert.json" % said)
        check(id in r.out, said, r)
    for said in ("--region " + id, "--region " + id[:-4], "--region " + name, "--last"):
        r = sh("lethe log --json --type invocation.ended %s" % said)
        same(json.loads(r.out)["region"], id, said)
        r = sh("lethe trace %s" % said)
        check(r.code == 0 and id in r.out, said, r)
    for said in (id, id[:-3], name, "--last"):
        r = sh("lethe audit derived %s" % said)
        check(r.code == 0 and "complete: it reached 0 regions" in r.out, said, r)
        same(json.loads(sh("lethe audit derived --json %s" % said).out)["what"], id)
        r = sh("lethe promote %s" % said)
        check(r.code == 1 and id in r.err, said, r)  # its skill keeps no notes
    for line in ("audit derived nosuchname", "audit derived --last " + id, "audit touched --last", "audit derived 0zzzz", "promote --last " + id):
        r = sh("lethe " + line)
        check(r.code == 2, line, r)
    r = sh("lethe ps -a")
    check(any(l.split()[0] == id and "exited 5" in l and l.endswith(name) for l in r.out.splitlines()), r)
    rows = [json.loads(l) for l in sh("lethe ps --all --json").out.splitlines()]
    row = [x for x in rows if x["region"] == id][0]
    same((row["alive"], row["outcome"], row["exit_code"], row["name"]), (False, "exited", 5, name), row)
    # One that was refused before there was a region has its name as well.
    make("hurried/SKILL.md", "---\nname: hurried\ndescription: A test.\n---\n", 0o644)
    make("hurried/lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/echo", "ran"]}, "cancel_bound": "10ms", "budgets": {"memory": "2g"}}), 0o644)
    r = sh("lethe run --name %s-refused hurried" % name)
    check(r.code == 125 and "cancel bound 10 ms" in r.err, r)
    for said in (name + "-refused", "--last"):
        r = sh("lethe why %s" % said)
        check(r.code == 0 and "refused     cancel bound 10 ms" in r.out, said, r)
    r = sh("lethe why %s" % id[:2])
    check(r.code == 2 and "is the beginning of" in r.err and id in r.err, r)
    for said in ("nosuchname", "0zzzz"):
        r = sh("lethe why %s" % said)
        check(r.code == 1 and "neither the name nor the beginning" in r.err, r)
    for line in ("why --last %s" % id, "why 'A B'", "log --region x --last", "run --name 'A B' --exec /bin/true", "run --name %s --exec /bin/true" % id, "kill nosuch"):
        r = sh("lethe " + line)
        check(r.code in (1, 2, 125) and "lethe" in r.err, line, r)


@each_way
def one_that_is_alive_is_killed_by_its_name(sh):
    for n, said in enumerate(("--last", "victim", "%s")):
        p = subprocess.Popen([LETHE, "run", "--name", "victim", "--exec", "/bin/sh", "-c", "echo $LETHE_REGION; sleep 600"], cwd=HOME, env=ENV,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        id = p.stdout.readline().strip()
        r = sh("lethe ps -a")
        check(any(l.startswith(id) and "alive" in l and l.endswith("victim") for l in r.out.splitlines()), r)
        r = sh("lethe kill --wait " + (said if n < 2 else id[:20]))
        same(r.code, 0, r)
        err = p.communicate(timeout=60)[1]
        check(p.returncode == 143 and "cancelled" in err, err)
    # With none alive no name and no beginning is one of those that have ended.
    for said, code, text in (("victim", 1, "that is alive in the store"), (id[:2], 1, "that is alive in the store"), ("--last", 1, "no region is alive"), (id, 1, "is not alive"),
                             ("", 2, "--last is the youngest living region")):
        r = sh("lethe kill " + said)
        check(r.code == code and text in r.err, said, r)


@case
def one_whose_supervisor_died_is_listed_as_that():
    served(False)
    p = subprocess.Popen([LETHE, "run", "--name", "orphan", "--exec", "/bin/sh", "-c", "echo $LETHE_REGION; sleep 600"], cwd=HOME, env=dict(ENV, LETHE_SERVE="0"),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    id = p.stdout.readline().strip()
    p.kill()
    p.wait(60)
    p.stdout.close()
    r = typed("lethe ps -a")
    check([l.split()[-2:] for l in r.out.splitlines() if l.startswith(id)] == [["orphan", "orphan"]], r)
    row = [json.loads(l) for l in typed("lethe ps -a --json").out.splitlines() if id in l][0]
    same((row["alive"], row["orphan"]), (True, True), row)
    same(typed("lethe kill orphan").code, 0)
    r = typed("lethe ps -a")
    check([l.split()[-2:] for l in r.out.splitlines() if l.startswith(id)] == [["cancelled", "orphan"]], r)


@case
def what_ran_is_what_was_hashed_or_the_record_says_that_it_may_differ():
    served(False)
    import hashlib
    for line, path, loose in [("-v $PWD/src:/src --exec /src/build.sh", "src/build.sh", True), ("--exec ./plain.sh", "plain.sh", False),
                              ("--exec ./expr 1 + 1", "expr", False), ("--exec /bin/true", "/bin/true", False)]:
        r = typed("lethe run " + line)
        same(r.code, 0, r)
        event = log("--type", "region.allocated")[-1]
        with open(os.path.join(HOME, path), "rb") as f:
            same(event["skill"]["digest"], "sha256:" + hashlib.sha256(f.read()).hexdigest(), line)
        same(event["grant"].get("program_may_differ", False), loose, line, event)
    # The file itself cannot be another one: a copy stands at its place.
    make("src/self.sh", '#!/bin/sh\nsha256sum < "$0"\nread x\nsha256sum < "$0"\n')
    p = subprocess.Popen([LETHE, "run", "-v", HOME + "/src:/src", "-w", "/src", "--exec", "./self.sh"], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    first = p.stdout.readline()
    with open(os.path.join(HOME, "src/self.sh"), "a", encoding="utf-8") as f:
        f.write("echo EVIL\n")
    same(p.communicate("\n", timeout=60)[0], first)


@case_when(ROOT)
def nor_can_one_in_a_folder_of_roots_that_a_region_may_write():  # A-2, I-65
    """Only root can write it, and so can each region that the folder is granted to."""
    served(False)
    base = "/var/lib/lethe-test-%d" % os.getpid()
    text = '#!/bin/sh\nsha256sum < "$0"\nread x\nsha256sum < "$0"\nexit 0\n' + "#" * 10000 + "\n"  # larger than what is hashed each time
    os.makedirs(base)
    try:
        program = os.path.join(base, "self.sh")
        for options, loose in (["-v", base + ":/src", "--exec", "/src/self.sh"], False), (["-v", base + ":/src:rw", "--exec", "/src/self.sh"], True), (["--exec", program], False):
            with open(program, "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(program, 0o755)
            p = subprocess.Popen([LETHE, "run", *options], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            first = p.stdout.readline()
            r = typed("lethe run -v %s:/d:rw --exec /bin/sh -c 'echo echo EVIL >> /d/self.sh'" % base)
            same(r.code, 0, r)
            with open(program, encoding="utf-8") as f:
                check(f.read().endswith("EVIL\n"), "the other region wrote")
            same(p.communicate("\n", timeout=60)[0], first, options)
            event = log("--type", "region.allocated")[-2]
            same((event["skill"]["digest"], event["grant"].get("program_may_differ", False)), ("sha256:" + first.split()[0], loose), options, event)
    finally:
        shutil.rmtree(base)


@case
def a_program_may_be_of_any_size():
    served(False)
    path = make("large", "#!/bin/sh\necho large\nexit 0\n")
    os.truncate(path, 300 * 1024 * 1024)  # without blocks of its own
    r = typed("lethe run --exec ./large")
    same((r.code, r.out), (0, "large\n"), r)
    os.unlink(path)


@case
def names_are_kept_in_regions_that_were_prepared():
    policy = make("policy/pool.json", '{"version": 1, "pool": {"skills": {"*": 1}}}', 0o644)
    env = dict(ENV, LETHE_SOCKET=os.path.join(DIR, "pooled"), LETHE_POLICY=policy)
    daemon = start_daemon(env)
    try:
        for line, out in [("--exec ./basename /a/b", "b\n"), ("-v $PWD/box:/box --exec /box/basename /a/c", "c\n"),
                          ("-v $PWD/src:/src -w /src --exec ./build.sh", "built by ./build.sh in /src\n"),
                          ('-v $PWD/venv:/venv --exec /venv/bin/python3 -c "%s"' % ASKS, "/venv /venv/bin/python3\n")]:
            starts = []

            def pooled():
                r = typed("lethe run --receipt pooled.json " + line, LETHE_SOCKET=env["LETHE_SOCKET"], LETHE_POLICY=policy)
                same((r.code, r.out), (0, out), line, r)
                with open(os.path.join(HOME, "pooled.json"), encoding="utf-8") as f:
                    starts.append(json.load(f)["start"])
                return starts[-1] == "pool"
            wait_for(pooled, "one that was prepared: %s of %s" % (starts, line))
    finally:
        same(stop_daemon(daemon), 0)


@case
def names_are_kept_in_tier_landlock():
    if "landlock" not in tiers.TIERS:
        raise Skip(tiers.WHY_NOT)
    served(False)
    policy = make("policy/policy.json", '{"version": 1, "min_tier": "landlock"}', 0o644)
    for line, out in [("--exec ./basename /a/b", "b\n"), ("--exec box/expr 6 '*' 7", "42\n"), ("-v $PWD/box:/box --exec /box/basename /a/c", "c\n"),
                      ("-v $PWD/src:/src -w /src --exec ./build.sh", "built by ./build.sh in %s/src\n" % HOME),
                      ('-v $PWD/venv:/venv --exec /venv/bin/python3 -c "%s"' % ASKS, "%s/venv %s/venv/bin/python3\n" % (HOME, HOME))]:
        r = typed("lethe run --policy %s --tier landlock %s" % (policy, line))
        same((r.code, r.out), (0, out), line, r)


def end():
    same(stop_served(), 0)


prepare()
add("the daemon ends well", end)
main()
