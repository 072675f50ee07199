"""What tests of `lethe serve` with clients of other users have in common."""
import json
import os

import served
from served import SOCKET
from tap import DIR, ENV, Skip, ask_daemon, lethe, same

os.chmod(DIR, 0o711)
POLICY = os.path.join(DIR, "policy.json")
ENV |= {"LETHE_SOCKET": SOCKET, "LETHE_SERVE": "1", "LETHE_POLICY": POLICY}
ALICE, BOB, EVE = 61001, 61002, 61003


def need_root():
    if os.getuid() != 0:
        raise Skip("needs root: others are to be other users")


def policy(*clients, **more):
    with open(POLICY, "w", encoding="utf-8") as f:
        json.dump({"version": 1, **({"clients": list(clients)} if clients else {}), **more}, f)
    os.chmod(POLICY, 0o644)


def skill(name, script, **manifest):
    d = os.path.join(DIR, name)
    os.mkdir(d)
    for file, text in (("SKILL.md", "---\nname: %s\ndescription: A test.\n---\n" % name), ("main.sh", script),
                       ("lethe.json", json.dumps({"version": 1, "entry": {"main": ["/bin/sh", "/skill/main.sh"]}, **manifest}))):
        with open(os.path.join(d, file), "w", encoding="utf-8") as f:
            f.write(text)
    same(lethe("skill", "add", d).code, 0)


class Daemon(served.Daemon):
    def __enter__(self):
        need_root()
        return super().__enter__()


def become(uid):
    """This process is that user's from now on, with no group of root's."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def as_user(uid, fn):
    """What fn returns, as JSON, in a process of that user."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            become(uid)
            out = fn()
        except Exception as e:  # pylint: disable=broad-except
            out = {"exception": repr(e)}
        os.write(w, json.dumps(out).encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def hold(uid, fn):
    """fn in a process of that user, which then holds what it has; a function that ends it."""
    r, w = os.pipe()
    stop, stopped = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(stopped)
            become(uid)
            held = fn()
            os.write(w, b"x")
            os.read(stop, 1)
            os._exit(held is None)
        finally:
            os._exit(1)
    os.close(stop)
    os.close(w)
    same(os.read(r, 1), b"x")
    os.close(r)

    def end():
        os.write(stopped, b"x")
        os.close(stopped)
        os.waitpid(pid, 0)
    return end


def runs_of(uid):
    """Of that user, as `ps` has them."""
    return [r for r in ask_daemon("ps")["runs"] if r["uid"] == uid]


def runs_of_peer(uid):
    """The same, asked by that user."""
    with served.Connection() as c:
        return [r for r in c.call("ps")["result"]["runs"] if r["uid"] == uid]


def connections():
    """This one with them."""
    return ask_daemon("status")["clients"]
