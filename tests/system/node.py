"""A node of objects for tests: a store with its ledger, its skills and its daemon. tap.py is imported first, and makes the folder."""
import atexit
import json
import os
import signal
import tempfile

from tap import DIR, ENV, check, lethe, same, start_daemon, stop_daemon


class Node:
    def __init__(self, name, policy=None):
        self.name, self.folder, self.daemon = name, os.path.join(DIR, name), None
        os.makedirs(self.folder)
        self.store = self.folder + "/store"
        self.env = dict(ENV, LETHE_STORE=self.store, LETHE_ANCHOR=self.folder + "/anchor", LETHE_SOCKET=self.folder + "/socket")
        if policy is not None:
            with open(self.folder + "/policy.json", "w", encoding="utf-8") as f:
                json.dump(policy, f)
            self.env["LETHE_POLICY"] = self.folder + "/policy.json"

    def run(self, *argv, **kw):
        return lethe(*argv, env=dict(self.env, **kw.pop("env", {})), **kw)

    def must(self, *argv, **kw):
        kw.setdefault("timeout", 600)
        r = self.run(*argv, **kw)
        same(r.code, 0, " ".join(map(str, argv)), r)
        return r.out.decode()

    def json(self, *argv):
        return json.loads(self.must(*argv))

    def lines(self, *argv):
        return [json.loads(line) for line in self.must(*argv).splitlines()]

    def file(self, value):
        """A JSON file that a command reads."""
        fd, path = tempfile.mkstemp(dir=self.folder, suffix=".json")
        with os.fdopen(fd, "w", encoding="utf-8") as f:
            json.dump(value, f)
        return path

    def skill(self, name, text, program="main.py", **manifest):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)
        for file, content in (("SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name), (program, text),
                              ("lethe.json", json.dumps(dict({"version": 1, "entry": {"main": ["/usr/bin/python3", "/skill/" + program]}}, **manifest)))):
            with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
                f.write(content)
        self.must("skill", "add", folder)

    def origin(self):
        """As a checkpoint and an entry's member `node` have it."""
        return self.must("checkpoint").splitlines()[0]

    def vkey(self):
        with open(self.store + "/vkey", encoding="utf-8") as f:
            return f.read().strip()

    # Objects

    def create(self, intent, scope=None):
        return self.json("object", "create", "--intent", self.file(intent), *(["--scope", json.dumps(scope)] if scope else []), "--json")["object"]

    def cycle(self, id, **kw):
        return json.loads(self.must("object", "cycle", id, "--json", **kw))

    def next_action(self, id):
        """What a cycle would do now."""
        return self.json("object", "why", id, "--json").get("next", {}).get("action")

    def history(self, id):
        return self.lines("object", "history", id, "--json")

    def show(self, id):
        return self.json("object", "show", id, "--json")

    def objects(self):
        """Rows by id."""
        listed = self.json("object", "list", "--json")
        return {o["object"]: o for o in (listed["objects"] if isinstance(listed, dict) else listed)}

    def whole(self, ids=()):
        """Everything that can be checked of this store, and of these objects."""
        for argv in [("verify",), ("audit",)] + [("object", "verify", id) for id in ids]:
            r = self.run(*argv, timeout=3600)  # of a million objects
            same(r.code, 0, self.name, " ".join(argv), r)

    # The daemon

    def start(self, *argv):
        self.daemon = start_daemon(self.env, *argv)
        atexit.register(self.end)  # a case that fails leaves it

    def stop(self, signum=signal.SIGTERM):
        if self.daemon:
            daemon, self.daemon = self.daemon, None
            code = stop_daemon(daemon, signum)
            check(code == (0 if signum == signal.SIGTERM else -signum), "the daemon of %s ended with %d: %s" % (self.name, code, daemon.said[-2000:]))

    def end(self):
        if self.daemon:
            daemon, self.daemon = self.daemon, None
            stop_daemon(daemon, signal.SIGKILL)


def kinds(history):
    return [e["kind"] for e in history]


def outcomes(history):
    """The kinds of descriptors, of executions and aggregates."""
    return [e["outcome"]["kind"] for e in history if e["kind"] == "outcome"]


def check_chain(id, history, *what):
    """Numbers without a gap, one creation, legal ends: what every history has, whatever was killed."""
    same([int(e["n"]) for e in history], list(range(len(history))), id, *what)
    same(kinds(history).count("instantiated"), 1, id, "O-37", *what)
    started = None
    for e in history:
        if e["kind"] == "started":
            check(started is None, id, "two executions at once", e, *what)
            started = e["trace"]
        elif e["kind"] == "outcome" and started:
            same(e["trace"], started, id, "an outcome of another execution", *what)
            started = None
        elif e["kind"] not in ("input", "child", "checkpoint", "terminated"):
            check(started is None, id, "a move over an execution without outcome", e, *what)
    check("terminated" not in kinds(history)[:-1] or set(kinds(history)[kinds(history).index("terminated") + 1:]) <= {"child", "adopted"}, id, "a move after the end", *what)
