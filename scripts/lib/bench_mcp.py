"""The Model Context Protocol for scripts/bench: a skill's call over `lethe mcp` beside `lethe run` through the same daemon, and the four reference servers
in `lethe mcp wrap` beside the bare ones. The servers come from npm (tests/front/mcp/npm.py)."""
import collections
import json
import os
import statistics
import subprocess
import sys
import time

import bench_serve

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "front", "mcp"))
import npm  # noqa: E402

AT_ONCE, ROUNDS = 8, 3


class Session:
    """A client on pipes; answers come in any order."""

    def __init__(self, argv, env):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.n = 0
        self.ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "bench", "version": "1"})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list")

    def say(self, message):
        self.p.stdin.write(json.dumps(message).encode() + b"\n")
        self.p.stdin.flush()

    def begin(self, method, **params):
        self.n += 1
        self.say({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params})
        return self.n

    def answer(self):
        while True:
            line = self.p.stdout.readline()
            if not line:
                sys.exit("mcp: the server is gone: " + " ".join(self.p.args))
            m = json.loads(line)
            if "method" not in m:
                if m.get("result", {}).get("isError") or "error" in m:
                    sys.exit("mcp: a call failed: " + line.decode()[:400])
                return m["id"]

    def ask(self, method, **params):
        self.begin(method, **params)
        self.answer()

    def calls(self, n, tool, arguments):
        """Seconds of all, and of each, AT_ONCE at work."""
        begun, took, start, left = {}, [], time.monotonic(), collections.deque(range(n))
        while left or begun:
            while left and len(begun) < AT_ONCE:
                left.popleft()
                at = time.monotonic()
                begun[self.begin("tools/call", name=tool, arguments=arguments)] = at
            number = self.answer()
            took.append(time.monotonic() - begun.pop(number))
        return time.monotonic() - start, took

    def end(self):
        self.p.stdin.close()
        self.p.stdout.read()
        self.p.wait()


def _skill(args, work):
    """One call after the other, in turns."""
    took = collections.defaultdict(list)
    with bench_serve.Daemon(args.build, work, {"version": 1}) as daemon:
        daemon.script("call", "/bin/sh", "read line; echo done\n")
        env = dict(os.environ, LETHE_POLICY=daemon.folder + "/policy.json", LETHE_SOCKET=daemon.socket)
        run = [daemon.lethe, "run", "--quiet", "--store", daemon.store, "--socket", daemon.socket, "call"]
        mcp = Session([daemon.lethe, "mcp", "--store", daemon.store, "--socket", daemon.socket, "--tools", "none"], env)
        for _ in range(args.n):
            at = time.monotonic()
            p = subprocess.run(run, input=b"{}\n", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, check=False)
            took["lethe run, through the daemon"].append(time.monotonic() - at)
            if p.stdout != b"done\n":
                sys.exit("mcp: lethe run: " + p.stderr.decode())
            at = time.monotonic()
            mcp.ask("tools/call", name="call", arguments={})
            took["the same call over lethe mcp"].append(time.monotonic() - at)
        mcp.end()
    base, rows = statistics.median(took["lethe run, through the daemon"]), []
    print("\nA skill of sh, one call after the other; bound 1.15")
    for name, each in took.items():
        rows.append({"name": name, "median_usec": round(1e6 * statistics.median(each)), "ratio": round(statistics.median(each) / base, 3)})
        print("%-44s %10d us %8.2f" % (name, rows[-1]["median_usec"], rows[-1]["ratio"]), flush=True)
    return rows


def _servers(args, work):
    where, why = npm.folder()
    if not where:
        print("\nThe four reference servers are left out: " + why)
        return []
    docs, n, rows = work + "/docs", 10 * args.n // ROUNDS + 1, []
    os.mkdir(docs)
    with open(docs + "/a.txt", "w", encoding="utf-8") as f:
        f.write("text\n" * 20)
    scope = "@modelcontextprotocol/server-"
    servers = {"everything": ("mcp-server-everything", [], ["--memory", "1g"], "echo", {"message": "hello"}), "filesystem": ("mcp-server-filesystem", [docs], [], "read_text_file", {"path": docs + "/a.txt"}),
               "memory": ("mcp-server-memory", [], ["-e", "MEMORY_FILE_PATH=/work/m.jsonl"], "read_graph", {}),
               "sequential-thinking": ("mcp-server-sequential-thinking", [], [], "sequentialthinking", {"thought": "x", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1})}
    env = dict(os.environ, MEMORY_FILE_PATH=work + "/m.jsonl", DISABLE_THOUGHT_LOGGING="true")
    print("\nReference servers, %d calls, %d at once, bare and wrapped; bounds: rate 0.6, p99 2" % (ROUNDS * n, AT_ONCE))
    for name, (program, argv, options, tool, arguments) in servers.items():
        bare = [npm.node(where), npm.program(where, scope + name, program), *argv]
        wrap = [args.build + "/lethe", "mcp", "wrap", "--store", work + "/mcp-store", "--name", name, "-v", where + ":" + where + ":ro", "-v", docs + ":" + docs + ":ro",
                "-e", "DISABLE_THOUGHT_LOGGING=true", *options]
        got = {"bare": [Session(bare, env)], "wrapped": [Session([*wrap, "--", *bare], env)],
               "record before": [Session([*wrap, "--record", "before", "--", *bare], env)]}
        for each in got.values():
            each[0].calls(50, tool, arguments)
        for _ in range(ROUNDS):
            for each in got.values():
                each.append(each[0].calls(n, tool, arguments))
        figures = {}
        for way, (session, *rounds) in got.items():
            session.end()
            took = sorted(t for _, each in rounds for t in each)
            figures[way] = (statistics.median(n / seconds for seconds, _ in rounds), took[len(took) * 99 // 100])
        for way in ("wrapped", "record before"):
            rate, p99 = (figures[way][i] / figures["bare"][i] for i in (0, 1))
            rows.append({"name": "%s, %s" % (name, way), "bare_per_second": round(figures["bare"][0]), "per_second": round(figures[way][0]), "rate_ratio": round(rate, 3), "p99_ratio": round(p99, 3)})
            print("%-32s %7d and %7d calls/s, %.2f; p99 %7d and %7d us, %.2f" % (
                rows[-1]["name"], figures["bare"][0], figures[way][0], rate, 1e6 * figures["bare"][1], 1e6 * figures[way][1], p99), flush=True)
    return rows


def mcp(args, work):
    """Calls over the Model Context Protocol."""
    return {"skill": _skill(args, work), "servers": _servers(args, work)}
