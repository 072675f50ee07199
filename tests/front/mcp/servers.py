#!/usr/bin/python3
"""The four reference servers of the Model Context Protocol, bare and by `lethe mcp wrap`: the same calls have the same answers (A-46). The servers come from
npm; without npm and registry the test is skipped. LETHE_TEST_MINUTES=60: also one call a minute for an hour, in one session of each server. TAP.

usage: servers.py LETHE root|user
"""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "cli"))
from account import use  # noqa: E402

import npm  # noqa: E402

NPM, WHY = npm.folder()  # before the user changes, who may not install
use(sys.argv[2])

from tap import DIR, ENV, LETHE, Skip, add, case, check, log, main, same  # noqa: E402

os.chmod(DIR, 0o755)
DOCS = os.path.join(DIR, "docs")
os.mkdir(DOCS)
os.chmod(DOCS, 0o755)
with open(os.path.join(DOCS, "a.txt"), "w", encoding="utf-8") as f:
    f.write("first\nsecond\n")
MINUTES = int(os.environ.get("LETHE_TEST_MINUTES", "0"))
ENTITY = {"name": "Ada", "entityType": "person", "observations": ["counts"]}
# server: package, program, arguments, options of wrap, calls of tools
SERVERS = {
    "everything": ("@modelcontextprotocol/server-everything", "mcp-server-everything", [], ["--memory", "1g"],
                   [("echo", {"message": "é \u2028 x"}), ("get-sum", {"a": 20, "b": 22}), ("get-tiny-image", {}), ("get-structured-content", {"location": "Chicago"}), ("get-sum", {"a": "x"}),
                    ("echo", {"message": "y" * 100000})]),
    "filesystem": ("@modelcontextprotocol/server-filesystem", "mcp-server-filesystem", [DOCS], ["-v", DOCS + ":" + DOCS + ":ro"],
                   [("read_text_file", {"path": DOCS + "/a.txt"}), ("list_directory", {"path": DOCS}), ("read_text_file", {"path": "/etc/passwd"}), ("search_files", {"path": DOCS, "pattern": "*.txt"})]),
    "memory": ("@modelcontextprotocol/server-memory", "mcp-server-memory", [], ["-e", "MEMORY_FILE_PATH=/work/memory.jsonl"],
               [("create_entities", {"entities": [ENTITY]}), ("read_graph", {}), ("search_nodes", {"query": "counts"}), ("delete_entities", {"entityNames": ["Ada"]}), ("read_graph", {})]),
    "thinking": ("@modelcontextprotocol/server-sequential-thinking", "mcp-server-sequential-thinking", [], [],
                 [("sequentialthinking", {"thought": "one", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}),
                  ("sequentialthinking", {"thought": "two", "nextThoughtNeeded": False, "thoughtNumber": 2, "totalThoughts": 2})]),
}


class Session:
    def __init__(self, name, wrapped):
        package, program, argv, options, _ = SERVERS[name]
        env = dict(ENV, MEMORY_FILE_PATH=os.path.join(DIR, "memory-%s.jsonl" % name))
        command = [npm.node(NPM), npm.program(NPM, package, program), *argv]
        if wrapped:
            command = [LETHE, "mcp", "wrap", "--name", name, "-v", NPM + ":" + NPM + ":ro", *options, "--", *command]
        self.p = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.n = 0
        self.first = self.ask("initialize", protocolVersion="2025-11-25", capabilities={"roots": {}}, clientInfo={"name": "t", "version": "1"})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.p.stdin.write(json.dumps(message).encode() + b"\n")
        self.p.stdin.flush()

    def ask(self, method, **params):
        self.n += 1
        self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params})
        while True:
            line = self.p.stdout.readline()
            check(line, "the server is gone", method, params)
            m = json.loads(line)
            if m.get("method") == "roots/list":
                self.send({"jsonrpc": "2.0", "id": m["id"], "result": {"roots": []}})
            if m.get("id") == self.n and "method" not in m:
                return m

    def end(self):
        self.p.stdin.close()
        self.p.stdout.read()
        self.p.stdout.close()
        self.p.wait(60)


def need_npm():
    if not NPM:
        raise Skip(WHY)


def both(name):
    need_npm()
    bare, wrapped = Session(name, False), Session(name, True)
    same(wrapped.first["result"]["serverInfo"], bare.first["result"]["serverInfo"])
    theirs, ours = bare.ask("tools/list"), wrapped.ask("tools/list")
    same(ours, theirs)
    calls = SERVERS[name][4]
    before = len(log("--type", "tool.called"))
    for tool, arguments in calls:
        want, got = bare.ask("tools/call", name=tool, arguments=arguments), wrapped.ask("tools/call", name=tool, arguments=arguments)
        if "isError" in want.get("result", {}) or "error" in want:
            check("isError" in got.get("result", {}) or "error" in got, tool, arguments, got)  # arguments that do not fit do not reach the server
        else:
            same(got, want, tool)
    bare.end()
    wrapped.end()
    same(len(log("--type", "tool.called")), before + len(calls))


for _name in SERVERS:
    add("the server %s is the same in a region" % _name, lambda n=_name: both(n))


@case
def sessions_of_an_hour():
    if not MINUTES:
        return  # the other cases of this test are the same calls
    need_npm()
    open_now = {name: Session(name, True) for name in SERVERS}
    for s in open_now.values():
        check(s.ask("tools/list")["result"]["tools"], "tools")
    for minute in range(MINUTES):
        for name, s in open_now.items():
            calls = SERVERS[name][4]
            tool, arguments = calls[minute % len(calls)]
            m = s.ask("tools/call", name=tool, arguments=arguments)
            check("result" in m or "error" in m, name, tool, m)
        time.sleep(60)  # the time itself is what is tried
    for s in open_now.values():
        s.end()
    same([e["outcome"] for e in log("--type", "tool.called")].count("lost"), 0)


main()
