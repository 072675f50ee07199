"""`lethe map` for scripts/bench: lines through a warm python3 skill, beside xargs -P with and without bubblewrap."""
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import time

import bench_serve

JOBS, ROUNDS = 8, 3
PR_SET_CHILD_SUBREAPER = 36
CODE = "import json, sys\nv = json.load(sys.stdin)\nprint(json.dumps({'twice': 2 * v}))\n"
BARE = "import json, sys; print(json.dumps({'twice': 2 * json.loads(sys.argv[1])}))"


def _children_usec(keep):
    """Of all children that have ended. Waits for each but `keep`: a private daemon ends after its map."""
    while True:
        try:
            options = os.WEXITED | os.WNOWAIT | (os.WNOHANG if keep else 0)
            ended = os.waitid(os.P_ALL, 0, options)
            if ended is None or ended.si_pid == keep:
                break
            os.waitpid(ended.si_pid, 0)
        except ChildProcessError:
            break
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int(1e6 * (u.ru_utime + u.ru_stime))


def _measure(argv, text, n, daemon_pid):
    """Seconds, and microseconds of the processor for a line, of all processes together."""
    used = (lambda: _children_usec(daemon_pid) + bench_serve.processor_total_usec(daemon_pid)) if daemon_pid else lambda: _children_usec(0)
    before, begin = used(), time.monotonic()
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = p.communicate(text)
    seconds = time.monotonic() - begin
    if p.returncode != 0 or out.count(b"twice") != n:
        sys.exit("%s: %s" % (" ".join(argv), err.decode().strip()))
    return seconds, (used() - before) / n


def lines(args, work, bwrap):
    """Lines of JSON, a process for each, 8 at once: `lethe map` with a recorded region for each, and bubblewrap with neither record nor teardown."""
    n = 5 * args.n
    text = "".join("%d\n" % i for i in range(n)).encode()
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    daemon = bench_serve.Daemon(args.build, work, {"version": 1})
    daemon.script("map-warm", "python3", CODE, warm={"preload": ["json"]})
    map_ = [args.build + "/lethe", "map", "--quiet", "-j", str(JOBS), "--store", daemon.store]
    xargs = ["/usr/bin/xargs", "-P", str(JOBS), "-d", "\\n", "-n", "1"]
    python = ["/usr/bin/python3", "-c", BARE]
    ways = [("xargs -P, python3 in bubblewrap", [*xargs, *bwrap(*python)]), ("xargs -P, python3 in no sandbox", [*xargs, *python]),
            ("lethe map, a private daemon", [*map_, "--no-serve", "map-warm"])]
    took = {}
    for _ in range(ROUNDS):
        for name, argv in ways:
            took.setdefault(name, []).append(_measure(argv, text, n, 0))
    with daemon:
        argv = [*map_, "--socket", daemon.socket, "map-warm"]
        os.environ["LETHE_POLICY"] = daemon.folder + "/policy.json"
        for _ in range(ROUNDS):
            took.setdefault("lethe map, lethe serve", []).append(_measure(argv, text, n, daemon.process.pid))
        del os.environ["LETHE_POLICY"]
    base = [statistics.median(x) for x in zip(*took[ways[0][0]])]
    rows = []
    print("\n%d lines of JSON through python3, %d at once" % (n, JOBS))
    for name, each in took.items():
        seconds, usec = (statistics.median(x) for x in zip(*each))
        rows.append({"name": name, "seconds": round(seconds, 3), "ratio": round(seconds / base[0], 3), "processor_usec": round(usec, 1), "processor_ratio": round(usec / base[1], 3)})
        print("%-44s %8.2f s, %.2f of bubblewrap's; %9.1f us of processor time a line, %.2f" % (name, seconds, seconds / base[0], usec, usec / base[1]), flush=True)
    return rows
