#!/usr/bin/python3
"""A-15: regions that go on without their command: lethe run --detach, wait, logs, attach, rm. TAP.

usage: detach.py LETHE root|user
"""
import json
import os
import signal
import stat
import struct
import subprocess
import sys

from account import use

use(sys.argv[2])

from screen import Terminal  # noqa: E402
from tap import DIR, ENV, LETHE, STORE, case, check, lethe, log, main, python_skill, run, same, wait_for  # noqa: E402

SH = "/bin/sh"
OUTPUT = os.path.join(STORE, "output")
GATE = os.path.join(DIR, "gate")
os.makedirs(GATE)
os.chmod(DIR, 0o755)
os.chmod(GATE, 0o777)
SERVED = os.environ.get("LETHE_TEST_SERVE") == "1"


def detach(*argv, **kw):
    """The id of a region that goes on."""
    r = lethe("run", "--detach", *argv, **kw)
    same((r.code, r.err), (0, b""), r)
    same(len(r.out), 27, r)
    return r.out.decode().strip()


def until(name):
    """Options and shell words of a program that waits for the test."""
    return ("-v", GATE + ":/gate", "--exec", SH, "-c"), "while ! [ -e /gate/%s ]; do sleep 0.02; done; " % name


def open_gate(name):
    with open(os.path.join(GATE, name), "w"):
        pass


def waited(region, *options):
    r = lethe("wait", *options, region)
    same((r.code, r.err), (0, b""), r)
    return int(r.out)


def alive():
    return [json.loads(x) for x in lethe("ps", "--json").out.splitlines()]


def left(region):
    """Files of the region's output."""
    try:
        return sorted(os.listdir(os.path.join(OUTPUT, region)))
    except FileNotFoundError:
        return None


def private_daemons():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"--private" in words and os.fsencode(STORE) in words:
            found.append(int(pid))
    return found


@case
def the_command_returns_and_the_region_goes_on():
    options, wait = until("a")
    region = detach("--name", "job", *options, "echo one; echo two >&2; " + wait + "echo three; exit 7")
    same([x["region"] for x in alive()], [region])
    same(lethe("wait", "--timeout", "1ms", "job").code, 124)
    wait_for(lambda: lethe("logs", "job").out == b"one\n", "the first line")
    follower = subprocess.Popen([LETHE, "logs", "-f", "job"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    same(follower.stdout.readline(), b"one\n")
    open_gate("a")
    same(follower.communicate(timeout=120), (b"three\n", b"two\n"))
    same(follower.returncode, 0)
    same(waited(region[:20]), 7)
    same(lethe("wait", "-q", "--last").code, 7)
    r = lethe("logs", region)
    same((r.code, r.out, r.err), (0, b"one\nthree\n", b"two\n"))
    check(b"exited with code 7" in lethe("why", "job").out)
    check(region.encode() in lethe("ps", "-a").out)


@case
def a_start_that_fails_is_the_commands_failure():
    os.makedirs(os.path.join(DIR, "tools"), exist_ok=True)
    for name, text, mode in (("no-loader", "#!/no/such\n", 0o755), ("plain", "x", 0o644)):
        with open(os.path.join(DIR, "tools", name), "w") as f:
            f.write(text)
        os.chmod(os.path.join(DIR, "tools", name), mode)
    before = set(os.listdir(OUTPUT))
    for options in (("--exec", "/no/such"), ("--exec", DIR + "/tools/plain"), ("-v", DIR + "/tools:/t", "--exec", "/t/no-loader"),
                    ("--memory", "nonsense", "--exec", "/bin/true"), ("no-such-skill",)):
        here = lethe("run", *options)
        there = lethe("run", "--detach", *options)
        same((there.code, there.out), (here.code, b""), options, there)
        check(here.code in (125, 126, 127) and there.err.splitlines()[0] == here.err.splitlines()[0], options, here, there)
    same(set(os.listdir(OUTPUT)), before)


@case
def a_short_program_has_begun_too():
    for _ in range(10):
        region = detach("--exec", "/bin/true")
        same(waited(region), 0)


@case
def exit_codes_are_those_of_run():
    for want, program, options in ((0, "true", ()), (3, "exit 3", ()), (128 + 11, "kill -SEGV $$", ()), (124, "sleep 100", ("--timeout", "300ms")),
                                   (137, "while :; do echo 1234567890; done", ("--output-limit", "64k"))):
        region = detach(*options, "--exec", SH, "-c", program)
        same(waited(region), want, program)
    region = detach("--exec", "/bin/sleep", "100")
    same(lethe("kill", region).code, 0)
    same(waited(region), 128 + 15)
    a, b = detach("--exec", SH, "-c", "exit 4"), detach("--exec", SH, "-c", "exit 5")
    r = lethe("wait", "--json", a, b)
    same([json.loads(x)["exit_code"] for x in r.out.splitlines()], [4, 5], r)


@case
def attach_has_the_streams_and_the_code():
    region = detach("-i", "--exec", SH, "-c", "read x; echo got $x; echo bad >&2; cat; exit 9")
    p = subprocess.Popen([LETHE, "attach", region], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
    p.stdin.write(b"first\n")
    p.stdin.flush()
    same(p.stdout.readline(), b"got first\n")
    p.stdin.write(b"second\n")
    p.stdin.flush()
    same(p.stdout.readline(), b"second\n")
    p.send_signal(signal.SIGINT)  # leaves the region as it is
    p.wait(120)
    for f in (p.stdin, p.stdout, p.stderr):
        f.close()
    same([x["region"] for x in alive()], [region])
    r = lethe("attach", region, input=b"third\n")
    same((r.code, r.out, r.err), (9, b"third\n", b""), r)
    same(lethe("logs", region).out, b"got first\nsecond\nthird\n")
    r = lethe("attach", region)  # at its end
    same((r.code, r.out), (9, b""), r)


@case
def without_i_there_is_no_input():
    region = detach("--exec", SH, "-c", "cat; echo end")
    same(waited(region), 0)
    same(lethe("logs", region).out, b"end\n")


@case
def attach_has_the_terminal():
    region = detach("-it", "--exec", SH, "-c", "stty -echo; while read x; do echo \"<$x>\" $(stty size); [ $x = end ] && exit 6; done")
    t = Terminal("attach", region)
    t.type(b"one\r")
    t.expect(b"<one> 30 100\r\n")
    t.type(b"\x10\x11")  # Control-P Control-Q
    t.expect(b"which goes on")
    same(t.end()[0], 0)
    same([x["region"] for x in alive()], [region])
    t = Terminal("attach", region)
    t.type(b"\x10x\r")  # the first key alone is the region's
    t.expect(b"<\x10x> 30 100\r\n")
    t.type(b"end\r")
    t.expect(b"<end> 30 100\r\n")
    same(t.end()[0], 6)
    same(waited(region), 6)


@case
def logs_cannot_command_a_terminal():
    region = detach("--exec", SH, "-c", r"printf '\033]0;title\007\033[31mred\n'")
    same(waited(region), 0)
    same(lethe("logs", region).out, b"\x1b]0;title\x07\x1b[31mred\n")
    t = Terminal("logs", region)
    code, seen = t.end()
    same((code, b"\x1b" in seen, b"31mred" in seen), (0, False, True))
    t = Terminal("logs", "--raw", region)
    t.expect(b"\x1b[31mred")
    same(t.end()[0], 0)


@case
def parts_of_the_log():
    region = detach("--exec", SH, "-c", "for i in 1 2 3 4 5; do echo $i; done; printf six")
    same(waited(region), 0)
    same(lethe("logs", "--tail", "2", region).out, b"5\nsix")
    same(lethe("logs", "-n", "0", region).out, b"")
    same(lethe("logs", "-n", "all", region).out, b"1\n2\n3\n4\n5\nsix")
    same(lethe("logs", "--since", "1h", region).out, b"1\n2\n3\n4\n5\nsix")
    same(lethe("logs", "--since", "2100-01-01", region).out, b"")
    for bad in (("--since", "soon"), ("--tail", "-1"), ("--tail", "many")):
        same(lethe("logs", *bad, region).code, 2, bad)


@case
def a_flood_keeps_the_newest_and_says_so():
    region = detach("--output-limit", "100m", "--exec", "/usr/bin/python3", "-c",
                    "import sys\nfor i in range(3000): sys.stdout.write('%%07d ' %% i + 'x' * 8183 + '\\n')" % ())
    same(waited(region), 0)
    sizes = [os.path.getsize(os.path.join(OUTPUT, region, f)) for f in left(region)]
    check(12 << 20 < sum(sizes) <= 16 << 20, sizes)
    r = lethe("logs", region)
    check(r.code == 0 and r.out.endswith(b"x\n") and r.out.splitlines()[-1].startswith(b"0002999 "), r)
    gone = 3000 * 8192 - len(r.out)
    check(b"%d bytes of output are not kept any more" % gone in r.err, r)
    same(lethe("logs", "-n", "1", region).out.split()[0], b"0002999")


@case
def a_reader_that_reads_nothing_holds_up_nothing():
    options, wait = until("f")
    region = detach("--output-limit", "100m", *options, wait + "head -c 40000000 /dev/zero; echo; echo end")
    stuck = subprocess.Popen([LETHE, "logs", "-f", region], stdout=subprocess.PIPE, env=ENV)
    attached = subprocess.Popen([LETHE, "attach", region], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
    open_gate("f")
    same(waited(region), 0)
    for p in (stuck, attached):
        p.kill()
        p.stdout.close()
        p.wait()
    same(lethe("logs", "-n", "1", region).out, b"end\n")


@case
def a_hostile_line_is_only_bytes():
    forged = b"\0" * 40 + b"lethe-output 1\n\0" + os.urandom(5000).replace(b"\n", b" ") + struct.pack("IIQQ", 4, 0, 0, 0)
    path = os.path.join(DIR, "forged")
    with open(path, "wb") as f:
        f.write(forged)
    os.chmod(path, 0o644)
    region = detach("-v", path + ":/forged", "--exec", SH, "-c", "cat /forged; echo end")
    same(waited(region), 0)
    same(lethe("logs", region).out, forged + b"end\n")


@case
def files_are_the_owners_alone_and_rm_overwrites():
    secret = "s3cret-%d" % os.getpid()
    region = detach("--exec", "/bin/echo", secret)
    same(waited(region), 0)
    folder = os.path.join(OUTPUT, region)
    same([stat.S_IMODE(os.stat(p).st_mode) for p in (OUTPUT, folder, folder + "/1", folder + "/supervisor")], [0o700, 0o700, 0o600, 0o600])
    with open(folder + "/1", "rb") as f:
        check(secret.encode() in f.read())
        same(lethe("rm", region).code, 0)
        f.seek(0)
        check(secret.encode() not in f.read())  # also in a file that somebody has open
    same(left(region), None)
    for verb in ("logs", "rm"):
        r = lethe(verb, region)
        check(r.code == 1 and b"no output of region" in r.err, r)
    same(lethe("rm", "--force", region).code, 0)
    same(waited(region), 0)  # the record stays


@case
def the_record_has_no_output():
    secret = "word-of-output-%d" % os.getpid()
    region = detach("--exec", SH, "-c", "echo %s; echo %s >&2" % (secret[::-1], secret[::-1]))
    same(waited(region), 0)
    check(secret[::-1] in lethe("logs", region).out.decode())
    events = [e for e in log("--region", region) if e["type"] != "region.allocated"]  # which has the command line
    check(len(events) > 1 and secret[::-1] not in json.dumps(events))


@case
def rm_of_a_living_region():
    region = detach("--exec", "/bin/sleep", "100")
    r = lethe("rm", region)
    check(r.code == 1 and b"is alive" in r.err and left(region), r)
    r = lethe("rm", "-f", region)
    same((r.code, r.out.decode().strip(), left(region)), (0, region, None), r)
    same(waited(region), 128 + 15)


@case
def rm_at_the_end():
    region = detach("--rm", "--exec", SH, "-c", "echo x; exit 2")
    same(waited(region), 2)
    wait_for(lambda: left(region) is None, "the output to be removed")


@case
def words_that_do_not_go_together():
    for options in (("--receipt", DIR + "/r"), ("--apply", "success"), ("--foreign",)):
        r = lethe("run", "-d", *options, "--exec", "/bin/true")
        check(r.code == 125 and b"--detach" in r.err, r)
    for verb in ("wait", "logs", "attach", "rm"):
        same(lethe(verb).code, 2, verb)
        same(lethe(verb, "nobody-has-this-name").code, 1, verb)
        same(lethe(verb, "--last", "x").code, 2, verb)
    r = run("--exec", "/bin/true")
    for verb in ("logs", "attach", "rm"):
        x = lethe(verb, r.receipt["region"])
        check(x.code == 1 and b"--detach" in x.err or verb == "rm", x)
    same(waited(r.receipt["region"]), 0)


@case
def a_skill_a_policy_and_a_session_of_shells():
    python_skill("talker", "import lethe, sys\nlethe.log('x')\nprint('args', sys.argv[1:])\n")
    region = detach("talker", "--", "a", "b")
    same(waited(region), 0)
    same(lethe("logs", region).out, b"args ['a', 'b']\n")
    policy = os.path.join(DIR, "policy")
    with open(policy, "w") as f:
        json.dump({"version": 1, "max": {"wall": "1s"}}, f)
    region = detach("--policy", policy, "--timeout", "100s", "--exec", "/bin/sleep", "50")
    same(waited(region), 124)


@case
def regions_share_a_daemon_and_it_ends():
    if SERVED:
        return
    options, wait = until("s")
    regions = [detach(*options, wait + "echo $$") for _ in range(12)]
    same(len({x["supervisor"] for x in alive()}), 1)
    open_gate("s")
    for region in regions:
        same(waited(region), 0)
    wait_for(lambda: not private_daemons(), "the private daemon to end")
    other = dict(LETHE_STORE=os.path.join(DIR, "other"))  # whose anchor nobody names
    for _ in range(3):
        r = lethe("run", "-d", *options[:2], "--exec", "/bin/sleep", "100", env=other)
        same((r.code, len(r.out)), (0, 27), r)
    rows = [json.loads(x) for x in lethe("ps", "--json", env=other).out.splitlines()]
    same((len(rows), len({x["supervisor"] for x in rows})), (3, 1), rows)
    for x in rows:
        same(lethe("rm", "-f", x["region"], env=other).code, 0)


@case
def a_killed_supervisor_is_told():
    ENV["LETHE_SERVE"] = "0"
    try:
        region = detach("--exec", SH, "-c", "echo begun; sleep 100")
        wait_for(lambda: lethe("logs", region).out == b"begun\n", "the first line")
        follower = subprocess.Popen([LETHE, "logs", "-f", region], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV)
        same(follower.stdout.readline(), b"begun\n")
        os.kill([x["supervisor"] for x in alive() if x["region"] == region][0], signal.SIGKILL)
        out, err = follower.communicate(timeout=120)
        check(follower.returncode == 0 and b"the supervisor of region" in err, out, err)
        same(waited(region), 137)
        same(lethe("logs", region).out, b"begun\n")
        check(b"cancelled" in lethe("why", region).out)
        same(lethe("rm", region).code, 0)
    finally:
        del ENV["LETHE_SERVE"]


@case
def nothing_is_left():  # A-15, I-60
    wait_for(lambda: not private_daemons(), "the private daemons to end")
    same(alive(), [])
    same(lethe("audit").code, 0)


main()
