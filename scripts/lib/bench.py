"""The work of scripts/bench: see there. Runs the programs of tests/bench and sets their numbers side by side."""
import argparse
import contextlib
import ctypes
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time


import bench_bound
import bench_input
import bench_map
import bench_mcp
import bench_object
import bench_proxy
import bench_plot
import bench_serve

TABLES = []  # all that was printed, for the drawing


def run(argv, **kw):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)


def works(argv):
    try:
        return run(argv, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def bwrap(*program):
    """The view that a region has, as bubblewrap says it: /usr read-only, few files of /etc, few devices, private scratch."""
    argv = ["/usr/bin/bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
            "--ro-bind", "/usr", "/usr", "--dir", "/etc", "--dir", "/dev"]
    for link in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink("/" + link):
            argv += ["--symlink", os.readlink("/" + link), "/" + link]
        elif os.path.isdir("/" + link):
            argv += ["--ro-bind", "/" + link, "/" + link]
    for f in ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "passwd", "group"):
        argv += ["--ro-bind-try", "/etc/" + f, "/etc/" + f]
    for d in ("null", "zero", "full", "random", "urandom"):
        argv += ["--dev-bind", "/dev/" + d, "/dev/" + d]
    own = [] if program[0].startswith("/usr/") else ["--ro-bind", program[0], program[0]]
    return argv + ["--tmpfs", "/work", "--tmpfs", "/tmp", *own, "--chdir", "/work", *program]


def oci_bundle(folder, tiny, runtime):
    """A folder that crun and runc start from, made from the runtime's own specimen."""
    os.makedirs(folder + "/rootfs")
    shutil.copy(tiny, folder + "/rootfs/tiny")
    command = [runtime, "spec"] + ([] if os.geteuid() == 0 else ["--rootless"])
    if run(command, cwd=folder).returncode != 0:
        return False
    with open(folder + "/config.json", encoding="utf-8") as f:
        config = json.load(f)
    config["process"]["args"] = ["/tiny"]
    config["process"]["terminal"] = False
    with open(folder + "/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    return True


def sandboxes(tiny, work):
    """Name and command of each other sandbox that works here."""
    found = []
    candidates = [
        ("bubblewrap", bwrap(tiny)),
        ("unshare, no policy", ["/usr/bin/unshare", "--user", "--pid", "--mount", "--ipc", "--uts", "--net", "--fork", tiny]),
        ("firejail", ["/usr/bin/firejail", "--quiet", "--noprofile", "--net=none", "--caps.drop=all", "--seccomp",
                      "--nonewprivs", "--private", "--private-dev", tiny]),
    ]
    if os.geteuid() == 0:
        candidates.append(("gVisor", ["/usr/bin/runsc", "--ignore-cgroups", "--network=none", "--root", work + "/runsc", "do", tiny]))
    for runtime in ("/usr/bin/crun", "/usr/sbin/runc"):
        bundle = "%s/oci-%s" % (work, os.path.basename(runtime))
        if os.access(runtime, os.X_OK) and oci_bundle(bundle, tiny, runtime):
            argv = [runtime, "--root", bundle + "/state", "run", "--bundle", bundle, "lethe-bench-%d" % os.getpid()]
            candidates.append((os.path.basename(runtime), argv))
    for name, argv in candidates:
        if works(argv):
            found.append((name, argv))
        else:
            print("%s does not work on this machine: left out" % name, file=sys.stderr)
    return found


def lines(argv, env=None):
    p = run(argv, env=env)
    if p.returncode != 0:
        sys.exit("%s ended %d: %s" % (argv[0], p.returncode, p.stderr.strip()))
    return [json.loads(line) for line in p.stdout.splitlines() if line.startswith("{")]


def table(title, rows, base):
    """Prints rows with their ratio to the row named `base`."""
    print("\n%s" % title)
    print("%-44s %6s %12s %12s %12s %10s" % ("", "n", "median", "p90", "p99", "ratio"))
    at = next((r["median_usec"] for r in rows if r["name"] == base), None)
    for r in rows:
        r["ratio"] = round(r["median_usec"] / at, 3) if at else None
        print("%-44s %6d %9.1f us %9.1f us %9.1f us %10s" % (
            r["name"], r["n"], r["median_usec"], r["p90_usec"], r["p99_usec"], "%.2f" % r["ratio"] if at else "-"))
    print("(ratio: median divided by that of %s)" % base, flush=True)
    TABLES.append((title, rows, base))
    return rows


def launch(args, work):
    tiny = work + "/tiny"
    shutil.copy(args.build + "/tests/bench/tiny", tiny)
    runs = [(mark + "lethe run", lethe_run(build, work, tiny)) for mark, build in builds(args)]
    for _, command in runs:
        if run(command).returncode != 0:
            sys.exit("lethe run does not work here: " + run(command).stderr.strip())
    others = sandboxes(tiny, work)
    if "bubblewrap" not in [name for name, _ in others]:
        sys.exit("bubblewrap does not work here: nothing to compare with")
    with contextlib.ExitStack() as daemons:
        commands = [("posix_spawn, no sandbox", [tiny])] + runs + asked_of_all(daemons, args, work, tiny) + others
        rows = table("A tiny static program, from start to recorded end", in_turns(args, args.n, commands), "bubblewrap")
    return compared(rows, "median_usec", "time")


POOL = 16


BEFORE = "before: "


def builds(args):
    """What each row's name begins with, and the build that it is of."""
    return [("", args.build)] + ([(BEFORE, args.before)] if args.before else [])


def compared(rows, key, what):
    """What this build's rows are of the rows of the one before."""
    was = {r["name"].removeprefix(BEFORE): r for r in rows if r["name"].startswith(BEFORE)}
    for r in rows:
        if r["name"] in was:
            r["of_before"] = round(r[key] / was[r["name"]][key], 3)
            print("%-44s %.3f of the %s before" % (r["name"], r["of_before"], what), flush=True)
    return rows


def served(build, work, tiny):
    """A daemon with skills of the tiny program."""
    daemon = bench_serve.Daemon(build, work, {"version": 1, "pool": {"skills": {"tiny-pool": POOL, "tiny-pool-stats": POOL}}})
    daemon.skill("tiny-cold", tiny)
    daemon.skill("tiny-pool", tiny)
    daemon.skill("tiny-pool-stats", tiny, lineage="stats")
    return daemon


def asked_of_all(daemons, args, work, tiny):
    """The same of a daemon of each build."""
    ways = []
    for mark, build in builds(args):
        daemon = daemons.enter_context(served(build, tempfile.mkdtemp(dir=work), tiny))
        ways += [(mark + name, command) for name, command in asked(daemon, tiny)]
    return ways


def asked(daemon, tiny):
    """Ways in which a client that is connected to it can ask for the same."""
    return [("lethe serve, a program, cold", daemon.request(exec=tiny)), ("lethe serve, a skill, cold", daemon.request(skill="tiny-cold")),
            ("lethe serve, pool", daemon.request(skill="tiny-pool")), ("lethe serve, pool, stats", daemon.request(skill="tiny-pool-stats"))]


def lethe_run(build, work, *program):
    return [build + "/lethe", "run", "--store", "%s/store-%s" % (work, os.path.basename(os.path.dirname(build))), "--exec", *program]


def in_turns(args, rounds, commands, *options):
    argv = [args.build + "/tests/bench/launch", *options, str(rounds)]
    for i, (name, command) in enumerate(commands):
        argv += (["--"] if i else []) + [name] + command
    return lines(argv)


INTERPRETERS = [("sh", ["/usr/bin/sh", "-c", ":"]), ("perl", ["/usr/bin/perl", "-MList::Util", "-MTime::HiRes", "-e", "0"]), ("python3", ["/usr/bin/python3", "-c", "import json, re, sqlite3"]), ("node", ["/usr/bin/node", "-e", "0"])]


def languages(args, work):
    """What an interpreter's start costs in each; that start is the most of it."""
    daemon = bench_serve.Daemon(args.build, work, {"version": 1, "pool": {"skills": {name + "-" + way: 3 for name in ("sh", "perl", "python3", "node") for way in ("pool", "pool-warm")}}})
    for name, text, preload in (("sh", ":\n", None), ("perl", "use List::Util; use Time::HiRes;\n", ["List::Util", "Time::HiRes"]), ("python3", "import json, re, sqlite3\n", ["json", "re", "sqlite3"]), ("node", "0\n", None)):
        for way in ("cold", "pool", "warm", "pool-warm"):
            if preload or "warm" not in way:
                daemon.script(name + "-" + way, name, text, **({"warm": {"preload": preload}} if "warm" in way else {}))
    rows = []
    with daemon:
        for name, program in INTERPRETERS:
            if not works(program):
                print("%s is not on this machine: left out" % name, file=sys.stderr)
                continue
            commands = [("%s, no sandbox" % name, program), ("%s, lethe run" % name, lethe_run(args.build, work, *program)),
                        ("%s, lethe serve" % name, daemon.request(exec=program[0], args=program[1:]))]
            commands += [("%s, lethe serve, a skill, %s" % (name, way), daemon.request(skill="%s-%s" % (name, way)))
                         for way in ("cold", "pool", "warm", "pool-warm") if "%s-%s" % (name, way) in daemon.skills]
            commands.append(("%s, bubblewrap" % name, bwrap(*program)))
            rows += table("From start to recorded end: %s" % " ".join(program), in_turns(args, max(5, args.n // 5), commands), "%s, bubblewrap" % name)
    return rows


PR_SET_CHILD_SUBREAPER = 36
BLOCKS, WARMED = 4, 3  # WARMED: what tests/bench/launch starts before it measures


def processor(args, rounds, commands, pid):
    """What each takes of the processor, in turns of whole blocks: a request what the daemon and all that it starts take, a program what that and all
    that it leaves take. The client's own part is not counted. Returns microseconds by name."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # bubblewrap ends before its child
    took = {}
    for block in range(BLOCKS):
        for name, command in commands[block % len(commands):] + commands[:block % len(commands)]:
            asked = command[0].startswith("@")
            before = bench_serve.processor_total_usec(pid) if asked else _usage_of_children()
            in_turns(args, rounds, [(name, command)])
            time.sleep(0.3)
            after = bench_serve.processor_total_usec(pid) if asked else _usage_of_children()
            took.setdefault(name, []).append((after - before) / (rounds + WARMED))
    return {name: sum(usec) / len(usec) for name, usec in took.items()}


def _usage_of_children():
    """Those that were left are reaped first; a daemon is not among them, because it has not ended."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(1e6 * (u.ru_utime + u.ru_stime))


def session(args, work):
    """A turn of a session, from the request to the recorded end: with the interpreter that its turns share, without it, and with a value that it carries."""
    text = "import json, re, sqlite3\n"
    carries = text + "import sys\nsys.path.insert(0, '/lethe/python')\nimport lethe\nlethe.carry_write('n', 1)\n"
    said = {"sections": {"n": {"schema": {"type": "integer"}, "bytes": 16}}}
    preload = {"warm": {"preload": ["json", "re", "sqlite3"]}}
    daemon = bench_serve.Daemon(args.build, work, {"version": 1})
    with_shim = {"warm": {"preload": preload["warm"]["preload"] + ["lethe"]}}
    for name, code, more in (("turns-cold", text, {}), ("turns-warm", text, preload), ("turns-carry", carries, preload), ("turns-shim", carries, with_shim)):
        daemon.script(name, "python3", code, session=said, **more)
    python = ["/usr/bin/python3", "-c", text.strip()]
    with daemon:
        commands = [("python3, no sandbox", python)]
        for name, what in (("turns-cold", "cold"), ("turns-warm", "warm"), ("turns-carry", "warm, carries a value"),
                           ("turns-shim", "the same, lethe preloaded")):
            opened = run([args.build + "/lethe", "session", "open", "--socket", daemon.socket, "--store", daemon.store, name])
            if opened.returncode != 0:
                sys.exit("session: " + opened.stderr.strip())
            commands.append(("python3, a turn of a session, %s" % what, daemon.request(session=opened.stdout.strip())))
        commands.append(("python3, bubblewrap", bwrap(*python)))
        rows = in_turns(args, max(5, args.n // 5), commands)
        used = processor(args, max(5, args.n // 5), commands, daemon.process.pid)
    table("A turn of a session, from the request to the recorded end: python3 with json, re and sqlite3", rows, "python3, bubblewrap")
    for r in rows:
        r["processor_usec"] = round(used[r["name"]], 1)
        r["processor_ratio"] = round(used[r["name"]] / used["python3, bubblewrap"], 3)
        print("%-60s %9.1f us of processor time, %.2f of bubblewrap's" % (r["name"], r["processor_usec"], r["processor_ratio"]), flush=True)
    return rows


def map_lines(args, work):
    """Lines through one skill, 8 at once."""
    return bench_map.lines(args, work, bwrap)


map_lines.__name__ = "map"


def throughput(args, work):
    """Rates and not times: what all clients together get through."""
    tiny = work + "/tiny"
    shutil.copy(args.build + "/tests/bench/tiny", tiny)
    rows = []
    with contextlib.ExitStack() as daemons:
        runs = [(mark + "lethe run", lethe_run(build, work, tiny)) for mark, build in builds(args)]
        ways = [("bubblewrap", bwrap(tiny)), *runs, *asked_of_all(daemons, args, work, tiny)]
        for clients in ("1", "2", "8"):
            commands = [("%s, %s clients" % (name, clients), command) for name, command in ways]
            part = table("A tiny static program, %s clients at once" % clients, in_turns(args, max(2, args.n // 20), commands, "-c", clients), commands[0][0])
            for r in part:
                r["rate_ratio"] = round(r["per_second"] / part[0]["per_second"], 3)
                r["p99_to_median"] = round(r["p99_usec"] / r["median_usec"], 2)
                print("%-44s %9.0f a second, %.2f of bubblewrap's; p99 %.1f of the median" % (r["name"], r["per_second"], r["rate_ratio"], r["p99_to_median"]))
            rows += compared(part, "per_second", "rate")
    return rows


def pipe(args, work):
    rows = lines([args.build + "/tests/bench/pingpong"])
    program = args.build + "/tests/bench/slot-roundtrip"
    env = dict(os.environ, LETHE=args.build + "/lethe", TMPDIR=work)
    rows += lines([program], env=env)
    with bench_serve.Daemon(args.build, work) as daemon:
        rows += [r | {"name": r["name"] + ", lethe serve"} for r in lines([program], env=dict(env, STORE=daemon.store, LETHE_SOCKET=daemon.socket))]
    return table("Round trips from inside a region", rows, rows[0]["name"])


ALIVE = (10, 100)


def memory(args, work):
    """What lies in memory for each region that is alive, beside the process of bubblewrap that waits for its sandbox."""
    own = lambda pids: sum(bench_serve.private_kilobytes(p) for p in pids)
    program = ["/usr/bin/sleep", "600"]
    took = {}
    for name, argv in (("bubblewrap, its own processes", bwrap(*program)), ("lethe run, supervisor and helpers", lethe_run(args.build, work, *program))):
        for _ in range(max(3, min(20, args.n // 10))):
            p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            took.setdefault(name, []).append(own(bench_serve.without(bench_serve.settled(p.pid, 1), "sleep")))
            p.terminate()
            p.wait()
    with bench_serve.Daemon(args.build, work) as daemon:
        pid = daemon.process.pid
        run([args.build + "/lethe", "run", "--store", daemon.store, "--exec", "/usr/bin/true"], env=dict(os.environ, LETHE_SOCKET=daemon.socket))
        idle = {"supervisor": own([pid]), "all": own(bench_serve.settled(pid, 0))}
        for n in ALIVE:
            for _ in range(max(3, min(20, args.n // 10)) if n < 100 else 3):
                with daemon.connected() as s:
                    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": {"exec": program[0], "args": program[1:], "receipt": False}})
                    s.sendall((request.replace('"id": 1', '"id": %d') * n % tuple(range(n))).replace("}{", "}\n{").encode() + b"\n")
                    there = bench_serve.without(bench_serve.settled(pid, n), "sleep")
                    took.setdefault("lethe serve, the supervisor, each of %d" % n, []).append((own([pid]) - idle["supervisor"]) / n)
                    took.setdefault("lethe serve, with its helpers, each of %d" % n, []).append((own(there) - idle["all"]) / n)
                bench_serve.settled(pid, 0)
        peak = bench_serve.peak_kilobytes(pid)
    rows = []
    for name, kilobytes in took.items():
        kilobytes.sort()
        n = len(kilobytes)
        rows.append({"name": name, "n": n, "median_kilobytes": kilobytes[n // 2], "p99_kilobytes": kilobytes[n * 99 // 100]})
    print("\nMemory of each live region that is nobody else's, but for what its program has")
    print("%-52s %4s %12s %12s %10s" % ("", "n", "median", "p99", "ratio"))
    for r in rows:
        r["ratio"] = round(r["median_kilobytes"] / rows[0]["median_kilobytes"], 3)
        print("%-52s %4d %9.0f kB %9.0f kB %10.2f" % (r["name"], r["n"], r["median_kilobytes"], r["p99_kilobytes"], r["ratio"]))
    print("(ratio: median divided by that of %s; the supervisor's peak: %d kB)" % (rows[0]["name"], peak), flush=True)
    TABLES.append(("Memory of a live region", rows, rows[0]["name"]))
    return rows + [{"name": "lethe serve, the supervisor's peak", "n": 1, "kilobytes": peak}]


def durable(args, work):
    measured = lines([args.build + "/tests/bench/slot-durable", work + "/durable", str(args.n * 5)])
    rows = []
    for batch in ("one slot a commit", "64 slots a commit"):
        part = [r for r in measured if r["name"].endswith(batch)]
        rows += table("Slot writes that are on the disk before the answer, " + batch, part, "SQLite WAL FULL, " + batch)
    measured = lines([args.build + "/tests/bench/slot-writers", work + "/writers", str(max(1, args.n // 20))])
    for n in ("1 writer", "8 writers", "64 writers"):
        part = [r for r in measured if r["name"].endswith(", " + n)]
        rows += table("The same at once by " + n + ", each with a commit of its own", part, "SQLite WAL FULL, one connection, " + n)
        best = max(r["per_second"] for r in part if r["name"].startswith("SQLite"))
        for r in part:
            r["throughput_to_sqlite"] = round(r["per_second"] / best, 3)
    print()
    for r in rows:
        print("%-48s %9.0f a second%s" % (r["name"], r["per_second"], ", %.2f of SQLite's best" % r["throughput_to_sqlite"]
                                          if "throughput_to_sqlite" in r else ""))
    return rows


def scrub(args, work):
    """Each size has its own base: the plain kill of the same process, and the memset of as many bytes."""
    folder = work + "/scrub"
    os.mkdir(folder)
    measured = lines([args.build + "/tests/bench/scrub", args.build + "/lethe-guard", folder, str(args.n)])
    rows = []
    for size in dict.fromkeys(r["name"].split(", ")[1] for r in measured):
        part = [r for r in measured if r["name"].endswith(", " + size)]
        rows += table("From the kill to the reaped process, %s resident" % size, part, "plain, " + size)
        megabytes = float(size.split()[0]) * (1000 if size.endswith("GB") else 1)
        rates = {r["name"].split(",")[0]: megabytes / r["median_usec"] for r in part}
        for r in part:
            r["gb_per_second"] = round(rates[r["name"].split(",")[0]] * 1e6 / 1e3, 2)
            r["rate_to_memset"] = round(rates[r["name"].split(",")[0]] / rates["memset"], 3)
        for r in part[1:3]:
            print("%-44s %6.2f GB/s, %.3f of memset" % (r["name"] + ", written and read back", r["gb_per_second"], r["rate_to_memset"]))
    return rows


def cancel(args, work):
    """Each size has its own base: the kill of the same tree where nobody traces, overwrites or records anything."""
    program = work + "/cancel"
    shutil.copy(args.build + "/tests/bench/cancel", program)
    options = ["--quiet", "--store", work + "/store", "--pids-limit", "1100", "--timeout", "10m"]
    measured = lines([program, str(args.n), args.build + "/lethe", "run", *options, "--exec"])
    rows = []
    for size in dict.fromkeys(r["name"].split(", ")[1] for r in measured):
        part = [r for r in measured if r["name"].endswith(", " + size)]
        rows += table("The end of a tree of %s, from the signal on" % ("one process" if size == "1" else size + " processes"), part,
                      "bare PID namespace, " + size)
    return rows


def giveback(args, work):
    """munmap of 64 KiB in a region, under zero and under multipass."""
    program = work + "/giveback"
    shutil.copy(args.build + "/tests/bench/giveback", program)
    rows = []
    for threads in ("0", "4"):
        took = {"no sandbox": [], "zero": [], "multipass": []}
        for _ in range(max(3, args.n // 40)):
            for way, times in took.items():
                inside = [] if way == "no sandbox" else [args.build + "/lethe", "run", "--quiet", "--store", work + "/store", "--discipline", way, "--exec"]
                times.append(lines(inside + [program, threads])[0]["usec"])
        part = []
        for way, times in took.items():
            times.sort()
            part.append({"name": "%s, %s other threads" % (way, threads), "n": len(times), "median_usec": times[len(times) // 2],
                         "p90_usec": times[len(times) * 9 // 10], "p99_usec": times[-1]})
        rows += table("64 KiB mapped, touched and unmapped, one of 10,000 times", part, "zero, %s other threads" % threads)
    return rows


LEDGERS = (1000, 100000, 1000000)


def scale(args, work):
    """What may not grow with the ledger, beside a ledger of a thousand entries; then what reads all of it, by the entry."""
    tiny = work + "/tiny"
    shutil.copy(args.build + "/tests/bench/tiny", tiny)
    stores = {n: "%s/ledger-%d" % (work, n) for n in LEDGERS}
    verbs, rows = {}, []
    for n, store in stores.items():
        if run([args.build + "/tests/state/ledger/fill", store, str(n)]).returncode != 0:
            sys.exit("a ledger of %d entries cannot be made" % n)
        middle = lines([args.build + "/lethe", "log", "--store", store, "--json", "--since", str(n // 2 - 10), "--type", "region.allocated"])[0]["region"]
        for verb in (["run", "--exec", tiny], ["ps"], ["log", "--region", middle], ["why", middle], ["certificate", middle], ["slot", "get", "fill/region"]):
            verbs.setdefault(" ".join(verb[:1 + (verb[0] in ("slot", "log"))]), []).append(("%d entries" % n, [args.build + "/lethe", verb[0], "--store", store, *verb[1:]]))
    for verb, commands in verbs.items():
        part = in_turns(args, max(5, args.n // 5), [("%s, %s" % (verb, name), command) for name, command in commands])
        rows += table("lethe %s, by the length of the ledger" % verb, part, part[0]["name"])
    for verb in ("audit", "audit regions", "export"):
        part = []
        for n, store in stores.items():
            took = []
            for i in range(3):
                folder = [work + "/export-%d-%d" % (n, i)] if verb == "export" else []
                begun = time.monotonic()
                if run([args.build + "/lethe", *verb.split(), "--store", store, *folder]).returncode > 1:
                    sys.exit("lethe %s failed" % verb)
                took.append((time.monotonic() - begun) * 1e6)
                shutil.rmtree(folder[0], ignore_errors=True) if folder else None
            took.sort()
            part.append({"name": "%s, each of %d entries" % (verb, n), "n": 3, "median_usec": took[1] / n, "p90_usec": took[2] / n,
                         "p99_usec": took[2] / n, "entries_per_second": round(n / took[1] * 1e6)})
        rows += table("lethe %s reads every entry: the time of one, its start with it" % verb, part, part[0]["name"])
        for r in part:
            print("%-44s %9.0f entries a second" % (r["name"], r["entries_per_second"]))
    return rows


def index(args, work):
    """The term index over 100,000 documents at the usual number of rounds."""
    documents = max(1000, args.n * 500)
    measured = lines([args.build + "/tests/bench/index", work + "/index", str(documents), str(args.n * 10)])
    rows = []
    for ends in ("in the transaction", "64 a commit"):
        part = [r for r in measured if r["name"].endswith(ends)]
        rows += table("A document of 30 words into the term index, %s" % ends, part, "LMDB, the same rows, " + ends)
    part = [r for r in measured if r["name"].startswith("search")]
    return rows + table("Searches over %d documents, the ten best" % documents, part, part[0]["name"])


def promote(args, work):
    """Governed writes beside LMDB transactions of the same puts, notes that say which row they mean and notes for which it is looked for."""
    rows = []
    for how in ("named", "found"):
        measured = lines([args.build + "/tests/bench/promote", work + "/promote-" + how, str(max(10, args.n // 4)), how])
        for each in ("1 a commit", "64 a commit"):
            part = [r for r in measured if r["name"].endswith(each)]
            rows += table("A note promoted, %s, %s" % (how, each), part, part[0]["name"])
    part = [r for r in measured if r["name"].startswith("fold")]
    rows += table("lethe rebuild and verify: an event folded and compared", part, part[0]["name"])
    print("%-44s %9.0f events a second" % (part[0]["name"], part[0]["per_second"]))
    return rows


def pending(args, work):
    """The same commits into a store with nothing pending and into one with 10,000 items, in turns."""
    measured = lines([args.build + "/tests/bench/pending", work + "/pending", str(args.n), "10000"])
    rows = []
    for sort in ("unrelated", "common words", "a row between two"):
        for end, what in (("pending", "durable"), ("processor", "the processor's time")):
            part = [r for r in measured if r["name"].startswith(sort) and r["name"].endswith(end)]
            rows += table("A note promoted, %s, with much pending: %s" % (sort, what), part, part[0]["name"])
    return rows


def cognition(args, work):
    """A turn without a skill beside the evidence that its session has: how a turn grows. Each is one durable commit."""
    measured = []
    for pieces in (10, 1000, 100000):
        measured += lines([args.build + "/tests/bench/cognition", "%s/cognition-%d" % (work, pieces), str(args.n), str(pieces), args.build + "/lethe"])
    rows = []
    for what, title in (("a turn,", "in the library"), ("lethe ccs turn,", "the command, from its start to its end"), ("lethe ccs turn of", "the command, with an input of 4 KB")):
        for end, unit in (("pieces", "durable"), ("processor", "the processor's time")):
            part = [r for r in measured if r["name"].startswith(what) and r["name"].endswith(end)]
            rows += table("A cognitive turn, %s, by the pieces of evidence: %s" % (title, unit), part, part[0]["name"])
    print("\nHow a turn grows: it reads at most 64 rows of each of 32 words and 512 pieces, whatever the evidence. Each different word of the input is a row of the index in a page of its own once there is much evidence, and these pages are written: at most %.2f times the turn with the least evidence here." %
          max(r["ratio"] for r in rows))
    return rows


def objects(args, work):
    """A cycle without a skill beside a slot write, and 8 clients beside PostgreSQL, in the same turns."""
    return bench_object.cycle_beside_slot(args, work, lines, table) + bench_object.steps_beside_postgres(args, work, lines, table)


def standard_input(args, work):
    """A gigabyte through standard input, beside bubblewrap."""
    count = ("/usr/bin/wc", "-c")
    base = [("bubblewrap", bwrap(*count))] if works(bwrap("/usr/bin/true")) else []
    commands = [("a bare program", list(count)), *base, ("lethe run", lethe_run(args.build, work, *count))]
    return bench_input.standard_input(args, commands, commands[len(base)][0])


objects.__name__ = "object"
standard_input.__name__ = "input"
PARTS = (launch, languages, session, map_lines, throughput, pipe, durable, scrub, cancel, bench_bound.bound, memory, giveback, scale, index, promote, pending, cognition, objects, bench_proxy.proxy, standard_input, bench_mcp.mcp)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("-n", type=int, default=200, help="rounds of each command (200)")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers there")
    parser.add_argument("--svg", metavar="FILE", help="also draw the ratios there")
    parser.add_argument("--before", metavar="BUILD", help="launch, throughput: also the Lethe of that build folder, in the same turns")
    parser.add_argument("--only", metavar="PART", action="append", help="this part alone; several with commas, or the option again: " + ", ".join(part.__name__ for part in PARTS))
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    args.before = args.before and os.path.abspath(args.before)
    only = [name for each in args.only or [] for name in each.split(",")]
    for name in only:
        if name not in [part.__name__ for part in PARTS]:
            parser.error("--only: there is no part %r; there are %s" % (name, ", ".join(part.__name__ for part in PARTS)))
    if args.n < 1:
        parser.error("-n takes a number of rounds, at least 1")

    # On the disk that the project is on: /tmp may be memory, where a durable write costs nothing.
    work = tempfile.mkdtemp(prefix="bench-", dir=args.build if os.access(args.build, os.W_OK) else None)
    # The anchor and the other sandboxes' state stay out of the caller's home.
    os.environ["XDG_STATE_HOME"] = work + "/state"
    for name in ("LETHE_STORE", "LETHE_POLICY", "LETHE_ANCHOR"):
        os.environ.pop(name, None)
    report = {"version": 1, "machine": "%d cores, %s, Linux %s" % (os.cpu_count(), platform.machine(), platform.release().split("-")[0]),
              "user": "root" if os.geteuid() == 0 else "ordinary user"}
    print("%s, as %s; times are of this machine, compare the ratios" % (report["machine"], report["user"]))
    try:
        for part in PARTS:
            if not only or part.__name__ in only:
                report[part.__name__] = part(args, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=2)
            f.write("\n")
    if args.svg:
        with open(args.svg, "w", encoding="utf-8") as f:
            f.write(bench_plot.draw(TABLES, report["machine"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
