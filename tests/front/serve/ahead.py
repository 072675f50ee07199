#!/usr/bin/python3
"""Interpreters that `lethe serve` starts ahead in regions of a pool: what runs in them is what runs in one that is executed for it. TAP.

usage: ahead.py LETHE root|user LOAD-SKILL.SO
"""
import json
import os
import re
import shutil
import subprocess
import sys
import time

from served import SOCKET, Daemon, skill
from tap import DIR, ENV, Skip, ask_daemon, case, check, log, main, same, wait_for

POLICY = os.path.join(DIR, "policy.json")
ENV |= {"LETHE_SOCKET": SOCKET, "LETHE_SERVE": "1", "LETHE_POLICY": POLICY}
WORD = "canary-" + os.urandom(6).hex()
CLEARED = ("cleared", "cleared_kernel")


class Twins(Daemon):
    """One skill twice: the one is executed, the other waits in a pool, with its interpreter."""

    def __init__(self, entry, files, n=3, **manifest):
        super().__init__()
        self.n = n
        with open(POLICY, "w", encoding="utf-8") as f:
            json.dump({"version": 1, "pool": {"skills": {"ahead": n}, "idle": "60s"}}, f)
        self.folders = {"ahead": skill("ahead", entry, files, **manifest)}
        manifest.pop("warm", None)
        self.folders["executed"] = skill("executed", entry, files, **manifest)

    def run(self, name, *args, options=(), **kw):
        r = ask_daemon("run", skill=self.folders[name], args=list(args), options=[list(o) for o in options], **kw)
        return r | {"start": r["receipt"]["start"], "by": r["receipt"].get("started_ahead")}

    def prepared(self):
        """Until as many wait as the policy says."""
        wait_for(lambda: ask_daemon("status")["ready_regions"] >= self.n, "regions that wait")

    def ahead(self, *args, starts=("pool", "warm"), **kw):
        """The first run of a grant is executed, and so may be one that comes faster than regions are prepared. Those that were prepared before there was
        something to fork them from have no interpreter: no more of them than wait at once."""
        for _ in range(self.n + 2):
            r = self.run("ahead", *args, **kw)
            if r["by"]:
                break
            self.prepared()
        t = r["receipt"]["teardown"]
        # A thread that ends together with its process may keep its registers, which is told.
        told = args[:1] in (("thread",), ("worker",)) and t["grade"] == "partial" and t["counts"]["registers_missed"] > 0
        check(r["by"] and r["start"] in starts and (t["grade"] in CLEARED or told) and t["bytes_overwritten"] == t["bytes_held"], r)
        return r

    def alike(self, *args, **kw):
        """Runs it both ways, and returns what it said."""
        got, want = self.ahead(*args, **kw), self.run("executed", *args, **kw)
        check(want["start"] == "cold" and not want["by"], want)
        for what in ("exit_code", "stdout", "stderr"):
            same(got[what], want[what], what, args)
        return got


def needs(program, *argv):
    if subprocess.run([program, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skip(f"no {program} here")


COMMON = """
const fs = require('fs');
const way = process.argv[2];
if (way === 'facts')
    console.log(JSON.stringify([process.argv, process.argv0, process.execPath, process.execArgv, process.title, process.cwd(), Object.entries(process.env).filter(e => e[0] !== 'LETHE_REGION'),
        __filename, require.main === module, module.paths, process.mainModule === module, Object.keys(require.cache), module.children.length, module.parent,
        process.exitCode, process.getuid(), process.umask(), Object.keys(globalThis), fs.readdirSync('/tmp'), typeof process.env.LETHE_REGION]));
else if (way === 'descriptors') {
    const open = [];
    for (let fd = 0; fd < 40; fd++) try { const s = fs.fstatSync(fd); open.push([fd, s.isFIFO(), s.isSocket(), s.isFile()]); } catch {}
    console.log(JSON.stringify(open.filter(x => x[0] < 5 || x[2] || x[3])));
}
else if (way === 'stdin') process.stdin.on('data', d => process.stdout.write('<' + d + '>')).on('end', () => console.log('end'));
else if (way === 'sync') console.log(fs.readFileSync(0, 'utf8').toUpperCase());
else if (way === 'exit') process.exit(7);
else if (way === 'code') process.exitCode = 9;
else if (way === 'throw') throw new Error('on purpose');
else if (way === 'reject') Promise.reject(new Error('nobody waits'));
else if (way === 'later') setTimeout(() => { throw new TypeError('later'); }, 1);
else if (way === 'missing') require('./none');
else if (way === 'module') console.log(require('./lib').what, require('lethe') !== undefined);
else if (way === 'abort') process.abort();
else if (way === 'kill') process.kill(process.pid, 'SIGKILL');
else if (way === 'atexit') process.on('exit', c => console.log('exit', c));
else if (way === 'uncaught') { process.on('uncaughtException', e => console.log('caught', e.message)); throw new Error('x'); }
else if (way === 'timer') { const t = process.hrtime.bigint(); setTimeout(() => console.log(process.hrtime.bigint() - t >= 299000000n), 300); }
else if (way === 'worker') { const { Worker } = require('worker_threads');
    new Worker("require('worker_threads').parentPort.postMessage(require('worker_threads').workerData + 1)", { eval: true, workerData: 41 }).on('message', m => console.log(m)); }
else if (way === 'child') { const c = require('child_process').fork(__filename, ['grandchild'], { execArgv: process.execArgv }); c.on('exit', n => console.log('child', n)); }
else if (way === 'grandchild') { console.log(process.argv.slice(2)); process.exitCode = 3; }
else if (way === 'zone') { console.log(new Date(0).getHours(), process.env.FOO, Intl.DateTimeFormat().resolvedOptions().locale); }
else if (way === 'import') import('./more.mjs').then(m => console.log(m.default));
else if (way === 'random') console.log(Math.random(), require('crypto').randomBytes(8).toString('hex'), new Map([[{}, 1]]).size);
else if (way === 'secret') { globalThis.kept = process.argv[3]; fs.writeFileSync('/tmp/secret', process.argv[3]); console.log('kept'); }
else if (way === 'wide') console.log([...'äöü€😀'].join('-'), process.argv.slice(3).join('|'), process.env.WIDE);
"""
FILES = {"main.js": COMMON, "lib.js": "exports.what = 'a library';\n", "more.mjs": "export default 'more';\n"}
WAYS = {"facts": ("facts", "a b", ""), "descriptors": ("descriptors",), "exit": ("exit",), "code": ("code",), "throw": ("throw",), "reject": ("reject",),
        "later": ("later",), "missing": ("missing",), "module": ("module",), "abort": ("abort",), "kill": ("kill",), "atexit": ("atexit",), "uncaught": ("uncaught",),
        "timer": ("timer",), "worker": ("worker",), "child": ("child",), "import": ("import",), "none": ()}



@case
def node_runs_what_it_is_told_as_one_that_is_executed():
    needs("/usr/bin/node", "-e", "0")
    with Twins(["node", "/skill/main.js"], FILES) as t:
        for args in WAYS.values():
            t.alike(*args)
        for text in ("", "one\ntwo", "x" * 300000):
            t.alike("stdin", stdin=text)
        t.alike("sync", stdin="some text")
        t.alike("wide", "ä€😀", options=[("env", "WIDE=😀=ß")])
        t.alike("zone", options=[("env", "FOO=bar"), ("env", "NODE_ENV=production")])
        r = t.ahead("facts")
        same((r["start"], r["by"]), ("pool", "node"))
        began = [e for e in log("--region", r["region"])][0]
        same((began["type"], began["start"], began["started_ahead"]), ("region.allocated", "pool", "node"))
        same(r["receipt"]["teardown"]["bytes_held"], r["receipt"]["teardown"]["bytes_overwritten"])


@case
def node_runs_modules_of_both_kinds():
    needs("/usr/bin/node", "-e", "0")
    esm = {"main.mjs": """
import { setTimeout } from 'timers/promises';
import fs, { readFileSync } from 'node:fs';
import what from './more.mjs';
const way = process.argv[2];
if (way === 'await') { await setTimeout(50); console.log('awaited', what, import.meta.url, process.argv, process.mainModule, typeof require); }
if (way === 'never') await new Promise(() => {});
if (way === 'throw') { await null; throw new RangeError('in a module'); }
if (way === 'exit') { await null; process.exit(4); }
if (way === 'import') await import('./none.mjs');
""", "more.mjs": "export default await Promise.resolve('more');\n"}
    with Twins(["node", "/skill/main.mjs"], esm) as t:
        for way in ("await", "never", "throw", "exit", "import"):
            t.alike(way)
    with Twins(["/usr/bin/node", "/skill/main.js"], {"main.js": "import 'node:fs';\nconsole.log(await 5, import.meta.url);\n", "package.json": '{"type": "module"}\n'}) as t:
        t.alike()
    for entry, text in (("none.js", ""), ("bad.js", "let x = ;\n"), ("data.json", "{}")):
        with Twins(["node", "/skill/" + entry], {entry: text} if text else {}) as t:
            t.alike()


@case
def what_node_cannot_be_told_later_is_executed():
    """Options, and an environment that it looks at when it starts."""
    needs("/usr/bin/node", "-e", "0")
    with Twins(["node", "/skill/main.js"], FILES) as t:
        t.ahead("facts")
        for env in ("NODE_OPTIONS=--throw-deprecation", "TZ=Asia/Tokyo", "LC_ALL=C", "HOME=/tmp", "PATH=/usr/bin"):
            r = t.run("ahead", "facts", options=[("env", env)])
            same((r["by"], r["exit_code"]), (None, 0), env)
    with Twins(["node", "--no-warnings", "/skill/main.js"], FILES) as t:
        for _ in range(4):
            same(t.run("ahead", "exit")["by"], None)
            t.prepared()


@case
def nothing_of_an_invocation_is_in_what_waits():
    """I-1, I-3: memory of all that waits after others ran, and what the next one finds."""
    needs("/usr/bin/node", "-e", "0")
    with Twins(["node", "/skill/main.js"], FILES, n=2) as t:
        seen = set()
        for _ in range(3):
            same(t.ahead("secret", WORD, options=[("env", "A=" + WORD)], stdin=WORD)["exit_code"], 0)
            said = t.ahead("random")["stdout"].split()
            seen.update(said[:2])
            same(json.loads(t.ahead("facts")["stdout"])[18], [])
        same(len(seen), 6, seen)
        t.prepared()
        t.quiet()
        found = waiting_nodes(t.p.pid)
        check(found, "no node waits")
        for pid in found:
            check(os.geteuid() != 0 or not holds(pid, WORD.encode()), pid)


PYTHON = r"""
import json, os, random, re, sqlite3, sys
way = sys.argv[1] if len(sys.argv) > 1 else "none"
if way == "facts":
    main = sys.modules["__main__"]
    env = sorted((k, v) for k, v in os.environ.items() if k != "LETHE_REGION")
    print(sys.argv, sys.orig_argv, sys.path[0], sys.flags, __name__, __file__, __doc__, env, os.getcwd(), os.getpid(), os.getppid(), os.umask(0), sorted(main.__dict__.keys() - {"main"}), type(__loader__).__name__)
    print(os.listdir("/tmp"), os.environ["LETHE_REGION"] != "", os.environb == {os.fsencode(k): os.fsencode(v) for k, v in os.environ.items()})
    print(sys.stdin.encoding, sys.stdout.line_buffering, sys.getrecursionlimit(), sys.getswitchinterval())
elif way == "descriptors":
    for fd in range(40):
        try: print(fd, oct(os.fstat(fd).st_mode))
        except OSError: pass
elif way == "stdin": print(repr(sys.stdin.read()))
elif way == "lines": print([line for line in sys.stdin])
elif way == "exit": sys.exit(int(sys.argv[2]))
elif way == "message": sys.exit("for a reason")
elif way == "raise": {}["none"]
elif way == "chain":
    try: 1 / 0
    except ZeroDivisionError as e: raise ValueError("second") from e
elif way == "interrupt": raise KeyboardInterrupt
elif way == "missing": import no_such_module
elif way == "own":
    import lib, lethe
    print(lib.what, lib.__file__)
elif way == "atexit":
    import atexit
    atexit.register(print, "at exit")
    print("before")
elif way == "thread":
    import threading
    t = threading.Thread(target=lambda: (threading.main_thread().join(), print("in a thread")))
    t.start()
elif way == "child":
    import subprocess
    print(subprocess.run([sys.executable, __file__, "exit", "5"]).returncode, subprocess.run(["/bin/echo", "said"], capture_output=True).stdout, os.environ.get("A"))
    sys.stdout.flush()
    subprocess.run(["/usr/bin/env", "-u", "LETHE_REGION"])
elif way == "fork":
    if os.fork() == 0: os._exit(4)
    print(os.waitstatus_to_exitcode(os.wait()[1]))
elif way == "kill": os.kill(os.getpid(), 9)
elif way == "abort": os.abort()
elif way == "closed": os.close(1)
elif way == "random":
    import hashlib, secrets, ssl, uuid
    print(random.random(), secrets.token_hex(8), ssl.RAND_bytes(8).hex(), uuid.uuid4(), sqlite3.connect(":memory:").execute("select hex(randomblob(8))").fetchone()[0])
elif way == "secret":
    json.secret = sys.argv[2]
    open("/tmp/secret", "w").write(sys.argv[2])
elif way == "wide": print(sys.argv[2:], os.environ["WIDE"], "äöü€😀")
elif way == "modules": print("json" in sys.modules, "lethe" in sys.modules, "lib" in sys.modules)
"""


@case
def python_runs_what_it_is_told_as_one_that_is_executed():
    warm = {"preload": ["json", "random", "re", "sqlite3", "ssl", "uuid"]}
    with Twins(["python3", "/skill/main.py"], {"main.py": PYTHON, "lib.py": "what = 'a library'\n"}, warm=warm) as t:
        for args in ((), ("descriptors",), ("exit", "3"), ("exit", "256"), ("message",), ("raise",), ("chain",), ("missing",), ("own",), ("atexit",), ("thread",),
                     ("fork",), ("kill",), ("abort",), ("facts", "a b", "")):
            t.alike(*args)
        t.alike("child", options=[("env", "A=b c")])
        for text in ("", "one\ntwo\n", "x" * 300000):
            t.alike("stdin", stdin=text)
        t.alike("lines", stdin="one\ntwo\nthree")
        t.alike("wide", "ä😀", options=[("env", "WIDE=😀=ß")])
        r = t.ahead("modules")
        same((r["start"], r["by"]), ("warm", "python3"))
        began = [e for e in log("--region", r["region"])][0]
        same((began["type"], began["start"], began["started_ahead"]), ("region.allocated", "warm", "python3"))
        seen = set()
        for _ in range(3):
            t.ahead("secret", WORD, options=[("env", "A=" + WORD)], stdin=WORD)
            seen.update(t.ahead("random")["stdout"].split())
            check("[]" in t.ahead("facts")["stdout"])
        same(len(seen), 15, seen)
        t.quiet()
        for pid in processes_below(t.p.pid, ("python3", "lethe-warm")):
            check(os.geteuid() != 0 or not holds(pid, WORD.encode()), pid)
        for env in ("PYTHONHASHSEED=7", "PYTHONOPTIMIZE=1", "LC_ALL=C"):
            r = t.run("ahead", "exit", "3", options=[("env", env)])
            same((r["by"], r["exit_code"]), (None, 3), env)


PERL = r"""#!/usr/bin/perl -w
use strict;
use List::Util qw(sum);
INIT { print "init\n" if @ARGV && $ARGV[0] eq 'blocks' }
END { print "end $?\n" if @ARGV && $ARGV[0] eq 'blocks' }
my $way = shift // 'none';
if ($way eq 'facts') {
    print join('|', $0, $^X, @ARGV, __FILE__, __LINE__, __PACKAGE__, caller() ? 'called' : 'main', $$, getppid, $^W, join(',', map { "$_=$ENV{$_}" } grep { $_ ne 'LETHE_REGION' } sort keys %ENV)), "\n";
    opendir my $d, '/tmp'; print join(',', grep { !/^\./ } readdir $d), "\n";
    print defined &LetheWarm::begin ? '' : '', sum(1, 2), "\n";
}
elsif ($way eq 'clock') { print $^T >= shift ? 'now' : 'then', "\n" }
elsif ($way eq 'stdin') { while (<STDIN>) { print "$.:$_" } print eof(STDIN) ? 'eof' : 'more' }
elsif ($way eq 'data') { print while <DATA> }
elsif ($way eq 'exit') { exit shift }
elsif ($way eq 'die') { $! = 5; die "on purpose" }
elsif ($way eq 'deep') { sub f { die { a => 1 } } eval { f() }; print ref $@, "\n"; $! = 0; die "deep\n" }
elsif ($way eq 'warn') { my $x = 'a' . undef; warn "aloud" }
elsif ($way eq 'blocks') { exit 2 }
elsif ($way eq 'own') { require '/skill/lib.pl'; print lib() }
elsif ($way eq 'missing') { require No::Such::Module }
elsif ($way eq 'child') { print `/bin/echo said \$A`; print system($^X, __FILE__, 'exit', 4) >> 8, "\n"; my $p = fork; exit 6 if !$p; waitpid $p, 0; print $? >> 8, "\n" }
elsif ($way eq 'kill') { kill KILL => $$ }
elsif ($way eq 'random') { print join ' ', rand, int(rand 1e9), "\n" }
elsif ($way eq 'secret') { our $kept = shift; open my $f, '>', '/tmp/secret'; print $f $kept }
elsif ($way eq 'wide') { print "@ARGV $ENV{WIDE}\n" }
elsif ($way eq 'modules') { print join ',', grep { $INC{$_} } 'List/Util.pm', 'Time/HiRes.pm' }
__DATA__
one
two
"""


@case
def perl_runs_what_it_is_told_as_one_that_is_executed():
    needs("/usr/bin/perl", "-MFilter::Util::Call", "-MPOSIX", "-e", "0")
    with Twins(["perl", "/skill/main.pl"], {"main.pl": PERL, "lib.pl": "sub lib { __FILE__ . __LINE__ . \"\\n\" }\n1;\n"}, warm={"preload": ["List::Util", "Time.HiRes"]}) as t:
        for args in ((), ("facts", "a b", ""), ("data",), ("exit", "3"), ("die",), ("deep",), ("warn",), ("blocks",), ("own",), ("missing",), ("kill",)):
            t.alike(*args)
        t.alike("child", options=[("env", "A=b c")])
        same(t.alike("clock", str(int(time.time())))["stdout"], "now\n", "not when the interpreter began to wait")
        for text in ("", "one\ntwo", "x" * 300000):
            t.alike("stdin", stdin=text)
        t.alike("wide", "ä😀", options=[("env", "WIDE=😀=ß")])
        r = t.ahead("modules")
        same((r["start"], r["by"], r["stdout"]), ("warm", "perl", "List/Util.pm,Time/HiRes.pm"))
        seen = set()
        for _ in range(3):
            t.ahead("secret", WORD, options=[("env", "A=" + WORD)], stdin=WORD)
            seen.update(t.ahead("random")["stdout"].split())
            same(t.ahead("facts")["stdout"].splitlines()[1], "")
        same(len(seen), 6, seen)
        t.quiet()
        for pid in processes_below(t.p.pid, ("perl", "lethe-warm")):
            check(os.geteuid() != 0 or not holds(pid, WORD.encode()), pid)
        same(t.run("ahead", "exit", "3", options=[("env", "PERL5OPT=-w")])["by"], None)
    for text in ("print 'x\n", "#!/usr/bin/perl -T\nprint ${^TAINT}\n", "print 1, __LINE__"):
        with Twins(["perl", "/skill/main.pl"], {"main.pl": text}, warm={"preload": ["List::Util"]}) as t:
            t.alike()


@case
def a_shared_object_runs_as_a_program():
    files = {"SKILL.md": ""}
    with Twins(["lethe-load", "/skill/skill.so"], {}, warm={"preload": ["libz.so.1", "libm.so.6"]}) as t:
        for folder in t.folders.values():
            shutil.copy(sys.argv[3], os.path.join(folder, "skill.so"))
        for args in ((), ("exit",), ("abort",)):
            t.alike(*args)
        t.alike("cat", stdin="one\ntwo\n")
        r = t.ahead("facts", "a b", "")
        same((r["start"], r["by"], r["exit_code"]), ("warm", "lethe-load", 0))
        same(r["stdout"].replace("A=executed\n", ""), t.run("executed", "facts", "a b", "", options=[("env", "A=executed")])["stdout"].replace("A=executed\n", ""))
        seen = set()
        for _ in range(3):
            t.ahead("secret", WORD, options=[("env", "A=" + WORD)], stdin=WORD)
            seen.update(t.ahead("random")["stdout"].split())
            same(t.ahead("facts")["exit_code"], 0)
        same(len(seen), 6, seen)
        t.quiet()
        for pid in processes_below(t.p.pid, ("lethe-load", "lethe-warm")):
            check(os.geteuid() != 0 or not holds(pid, WORD.encode()), pid)
    with Twins(["lethe-load", "/skill/none.so"], {}, warm={"preload": ["libz.so.1"]}) as t:
        t.alike()


def waiting_nodes(daemon):
    return processes_below(daemon, ("node", "MainThread"))


def processes_below(daemon, names):
    above, name = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                head, _, rest = f.read().rpartition(")")
        except OSError:
            continue
        above[int(pid)], name[int(pid)] = int(rest.split()[1]), head.partition("(")[2]

    def below(pid):
        while pid in above:
            if pid == daemon:
                return True
            pid = above[pid]
        return False
    return [pid for pid, n in name.items() if n in names and below(pid)]


def holds(pid, word):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in maps:
            a, b, rights = re.match("([0-9a-f]+)-([0-9a-f]+) (....)", line).groups()
            if rights[:2] != "rw" or "[v" in line:
                continue
            try:
                mem.seek(int(a, 16))
                if word in mem.read(int(b, 16) - int(a, 16)):
                    return True
            except OSError:
                pass
    return False


main()
