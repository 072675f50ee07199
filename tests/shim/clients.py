#!/usr/bin/python3
"""A-50: the clients for Python and Node.js, installed by pip and npm from their folders: each example of lethe-clients(7), and a daemon that is hostile. TAP.

usage: clients.py LETHE SOURCE root|user
"""
import os
import re
import socket
import subprocess
import sys
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))

from account import use  # noqa: E402

use(sys.argv[3])

from tap import DIR, ENV, LETHE, Skip, add, ask_daemon, case, check, lethe, main, same, start_daemon, stop_daemon  # noqa: E402

os.chmod(DIR, 0o755)
SOURCE = sys.argv[2]
CLIENTS = os.path.join(SOURCE, "shim/clients")
SITE, SOCKET = os.path.join(DIR, "site"), os.path.join(DIR, "socket")
PAGE = os.path.join(SOURCE, "supervisor/front/cli/man/lethe-clients.7.scd")
ENV.update(PATH=os.path.dirname(LETHE) + ":" + ENV["PATH"], CLIENTS=CLIENTS, PYTHONPATH=SITE, PYTHONDONTWRITEBYTECODE="1", LETHE_SOCKET=SOCKET,
           npm_config_cache=os.path.join(DIR, "npm"), npm_config_update_notifier="false")
NODE = subprocess.run(["/usr/bin/env", "which", "npm"], env=ENV, stdout=subprocess.DEVNULL, check=False).returncode == 0
_started = []


def command(argv, folder=DIR, **kw):
    return subprocess.run(argv, cwd=folder, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False, **kw)


def daemon():
    if not _started:
        _started.append(start_daemon(ENV, "--socket", SOCKET))
    return _started[0]


def blocks():
    with open(PAGE, encoding="utf-8") as f:
        return re.findall(r"^```\n(.*?)^```$", f.read(), re.S | re.M)


def paste(i, block):
    """In a folder of its own, which has the module where npm put it."""
    def run():
        daemon()
        folder = os.path.join(DIR, "example-%d" % i)
        os.makedirs(folder)
        if "lethe-client" in block:
            if not NODE:
                raise Skip("no npm")
            os.symlink(os.path.join(DIR, "node_modules"), os.path.join(folder, "node_modules"))
            name = "main.cjs" if "require(" in block else "main.mjs"
            argv = ["/usr/bin/env", "node", name]
        else:
            name, argv = "main.py", ["/usr/bin/python3", "main.py"]
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(block)
        p = command(argv, folder)
        want = re.findall(r"(?:#|//) prints (.*)$", block, re.M)
        check(want, "the example prints nothing")
        same((p.returncode, p.stdout.decode().splitlines()[:len(want)]), (0, want), p.stderr.decode())
    return run


INSTALL, *EXAMPLES = blocks()


@case
def pip_and_npm_install_the_folders_without_a_network():
    for line in INSTALL.splitlines():
        if line.startswith("npm") and not NODE:
            continue
        p = command(["/bin/sh", "-euc", line])
        same(p.returncode, 0, p.stdout, p.stderr)
    check(os.path.exists(SITE + "/lethe/py.typed") and os.path.exists(SITE + "/lethe/client.py"), os.listdir(SITE))


@case
def the_manual_has_its_examples():
    same((len(EXAMPLES), sum("lethe-client" in b for b in EXAMPLES)), (9, 2))


for number, text in enumerate(EXAMPLES):
    add("lethe-clients.7, example %d" % (number + 1), paste(number, text))


def methods():
    """The methods of the daemon, by its own table."""
    with open(os.path.join(SOURCE, "supervisor/front/serve/method.c"), encoding="utf-8") as f:
        found = set(re.findall(r'^ +\{"([a-z.]+)", method_do_\w+', f.read(), re.M))
    check(len(found) >= 17, found)
    return found


@case
def each_method_of_the_daemon_has_its_function():
    with open(os.path.join(SOURCE, "schema/serve.md"), encoding="utf-8") as f:
        text = f.read()
    for name in methods():
        check(re.search(r"(###.*[ ,]|`)%s\b" % re.escape(name), text), "schema/serve.md says nothing of " + name)
    sys.path.insert(0, SITE)
    import lethe as client
    same(set(client.METHODS), methods())
    for prefix in "", "Async":
        for name in client.METHODS.values():
            owner, _, function = name.rpartition(".")
            check(callable(getattr(getattr(client, prefix + (owner or "Client")), function, None)), prefix, name)


@case
def each_method_has_its_function_in_node():
    if not NODE:
        raise Skip("no npm")
    p = command(["/usr/bin/env", "node", "-e", """const l = require("lethe-client");
for (const [m, f] of Object.entries(l.METHODS)) {
  const [name, owner] = (f ?? "Client.ask").split(".").reverse();
  if (typeof l[owner ?? "Client"].prototype[name] !== "function") throw new Error(m);
  console.log(m);
}"""])
    same((p.returncode, set(p.stdout.decode().split())), (0, methods()), p.stderr)


@case
def the_versions_are_those_of_lethe():
    version = lethe("--version").out.decode().split()[-1]
    sys.path.insert(0, SITE)
    import lethe as client
    with open(CLIENTS + "/node/package.json", encoding="utf-8") as f:
        package = re.search(r'"version": "(.*)"', f.read()).group(1)
    same((client.__version__, package, os.path.isdir(SITE + "/lethe_client-%s.dist-info" % version)), (version, version, True))


def hostile(answer, n=2):
    """A daemon that answers any n connections with these bytes."""
    path = os.path.join(DIR, "hostile")
    if os.path.exists(path):
        os.unlink(path)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen()

    def serve():
        for _ in range(n):
            s, _ = listening.accept()
            with s:
                s.recv(65536)
                try:
                    for piece in answer() if callable(answer) else [answer]:
                        s.sendall(piece)
                except OSError:
                    pass  # the client hung up
        listening.close()
    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return path, thread


def long_line():
    for _ in range(17):
        yield b" " * 1048576


def flood():
    line = b'{"jsonrpc":"2.0","method":"output","params":{"id":1,"stream":"stdout","data":"%s"}}\n' % (b"QUJD" * 16384)
    for _ in range(1600):
        yield line


ANSWER = b'{"jsonrpc":"2.0","id":1,"result":%s}\n'
NOTICE = b'{"jsonrpc":"2.0","method":"%s","params":%s}\n'
HOSTILE = {
    "no JSON": (b"hello\n", "ProtocolError"),
    "no UTF-8": (b'{"jsonrpc":"2.0","id":1,"result":"\xff"}\n', "ProtocolError"),
    "NaN": (ANSWER % b'{"exit_code":NaN}', "ProtocolError"),
    "nested": (b"[" * 100000 + b"\n", "ProtocolError"),
    "no object": (b"[]\n", "ProtocolError"),
    "another id": (b'{"jsonrpc":"2.0","id":7,"result":{}}\n', "ProtocolError"),
    "an id that is a text": (b'{"jsonrpc":"2.0","id":"1","result":{}}\n', "ProtocolError"),
    "neither result nor error": (b'{"jsonrpc":"2.0","id":1}\n', "ProtocolError"),
    "a result that is a list": (ANSWER % b"[]", "ProtocolError"),
    "an exit code that is a text": (ANSWER % b'{"exit_code":"0"}', "ProtocolError"),
    "a receipt that is a list": (ANSWER % b'{"exit_code":0,"receipt":[]}', "ProtocolError"),
    "denials of numbers": (ANSWER % b'{"exit_code":1,"receipt":{"denials":[1]}}', "ProtocolError"),
    "an error without a code": (b'{"jsonrpc":"2.0","id":1,"error":{}}\n', "ProtocolError"),
    "an error of an own kind": (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32041,"message":"later","data":{"code":"busy"}}}\n', "RequestRefused"),
    "an unknown notification": (NOTICE % (b"other", b'{"id":1}'), "ProtocolError"),
    "output that is no base64": (NOTICE % (b"output", b'{"id":1,"stream":"stdout","data":"*"}'), "ProtocolError"),
    "output of another run": (NOTICE % (b"output", b'{"id":2,"stream":"stdout","data":""}'), "ProtocolError"),
    "output of no stream": (NOTICE % (b"output", b'{"id":1,"stream":"stdlog","data":""}'), "ProtocolError"),
    "an endless line": (long_line, "ProtocolError"),
    "half a line": (b'{"jsonrpc"', "ConnectionLost"),
    "nothing": (b"", "ConnectionLost"),
}
SYNC = """import sys, lethe
try:
    lethe.Client(sys.argv[1], timeout=60).run(exec="/bin/true")
except lethe.LetheError as e:
    print(type(e).__name__)
"""
ASYNC = """import asyncio, sys, lethe
try:
    asyncio.run(lethe.AsyncClient(sys.argv[1], timeout=60).run(exec="/bin/true"))
except lethe.LetheError as e:
    print(type(e).__name__)
"""
JS = """const { Client, LetheError } = require("lethe-client");
new Client({ socket: process.argv[1], timeout: 60000 }).run({ exec: "/bin/true" }).catch((e) => console.log(e instanceof LetheError && e.constructor.name));
"""


@case
def bytes_of_a_hostile_daemon_are_an_exception():
    clients = [["/usr/bin/python3", "-c", SYNC], ["/usr/bin/python3", "-c", ASYNC]] + ([["/usr/bin/env", "node", "-e", JS]] if NODE else [])
    for name, (answer, want) in HOSTILE.items():
        path, thread = hostile(answer, len(clients))
        for argv in clients:
            p = command(argv + [path])
            same((p.returncode, p.stdout.decode().strip()), (0, want), name, argv[2][:20], p.stderr.decode())
        thread.join(60)


@case
def output_that_nobody_reads_has_a_bound():
    path, thread = hostile(flood, 1)
    p = command(["/usr/bin/python3", "-c", """import sys, lethe
run = lethe.Client(sys.argv[1], timeout=60).start(exec="/bin/cat", stream=["stdin", "stdout"])
try:
    run.write(b"x")
except lethe.ProtocolError as e:
    print(e)
""", path])
    check(p.returncode == 0 and b"more than 67108864 bytes" in p.stdout, p.stdout, p.stderr)
    thread.join(60)


@case
def a_call_that_is_given_up_ends_its_run():
    daemon()
    p = command(["/usr/bin/python3", "-c", """import asyncio, lethe
async def main():
    client = lethe.AsyncClient()
    async with await client.start(exec="/bin/sh", args=["-c", "echo begun; exec sleep 600"]) as run:
        async for event in run:
            break
    while await client.ps():
        await asyncio.sleep(0.01)
    print("ended")
asyncio.run(main())
"""])
    same((p.returncode, p.stdout), (0, b"ended\n"), p.stderr)


@case
def a_detached_run_takes_input_by_a_descriptor():
    daemon()
    p = command(["/usr/bin/python3", "-c", """import os, socket, lethe
client = lethe.Client()
region = client.detach(exec="/bin/cat", interactive=True)
with socket.socket(fileno=client.attach(region)) as s:
    s.sendall(b"hello")
    s.shutdown(socket.SHUT_WR)
    while client.ps():
        pass
out, into = os.pipe()
client.run(exec="/bin/echo", args=["by a pipe"], stdio={"stdout": into})
os.close(into)
print(region, os.read(out, 100))
"""])
    same(p.returncode, 0, p.stderr)
    region, read = p.stdout.decode().split(" ", 1)
    same(read, "b'by a pipe\\n'\n")
    same(lethe("logs", region).out, b"hello")


@case
def the_daemon_ends_in_order():  # and with it all that the examples left
    daemon()
    same(ask_daemon("status", SOCKET)["running"], 0)
    same(stop_daemon(_started.pop()), 0)
    r = lethe("audit")
    same(r.code, 0, r)


main()
