#!/usr/bin/python3
"""I-70: what a daemon itself held of an invocation is in none of its memory once that is answered: arguments, environment, standard streams, notes, slot values,
memory, results, of an invocation that ended well and of one that broke its budget. TAP.

usage: heap.py LETHE root|user
"""
import json
import os
import socket

from served import SOCKET, Client, Daemon, nothing_is_left
from tap import DIR, ENV, case, check, lethe, main, same, wait_for

ENV["LETHE_SOCKET"] = SOCKET
os.chmod(DIR, 0o755)

# Hands on, by every way that there is, the words that stand in a variable in another form.
TELLS = """import lethe, os, sys
sys.stdin.read()
word = dict(w.split("=") for w in bytes.fromhex(os.environ["WORDS"]).decode().split())
print(word["stdout"], flush=True)
print(word["stderr"], file=sys.stderr, flush=True)
lethe.note_add(word["note"])
lethe.write("own", word["slot"])
lethe.write("own", word["slot"] + " again")
lethe.memory_save("memory_substrate", {"subject": "ticket", "predicate": "was", "object": word["memory"]}, id="heap", type="semantic")
lethe.log(word["log"])
try:
    lethe.write("other", word["refused"])
except lethe.LetheError:
    pass
lethe.result({"said": word["result"]})
"""
ENDS = {"exited": "", "out_of_region": "\nx = bytearray(1 << 29)\n", "output_exceeded": "\nos.write(1, bytes(1 << 17))\nimport time\ntime.sleep(600)\n",
        "cancelled": "\nimport time\ntime.sleep(600)\n"}
KINDS = ("argument", "variable", "stdin", "stdout", "stderr", "note", "slot", "memory", "log", "refused", "result")


def skill(name, text):
    d = os.path.join(DIR, name)
    os.makedirs(d)
    files = {"SKILL.md": "---\nname: %s\ndescription: A test.\n---\n" % name, "main.py": text, "lethe.json": json.dumps({
        "version": 1, "entry": {"main": ["/usr/bin/python3", "/skill/main.py"]}, "notes": True, "writes": ["own"], "slots": {"own": {"type": "string"}},
        "memory": [{"scope": "default", "read": ["memory_substrate"], "write": ["memory_substrate"]}]})}
    for file, content in files.items():
        with open(os.path.join(d, file), "w", encoding="utf-8") as f:
            f.write(content)
    r = lethe("skill", "add", d)
    same(r.code, 0, r)


def below(pid):
    """The process and all that it started: zygotes, guards."""
    found, left = [], [pid]
    while left:
        p = left.pop()
        found.append(p)
        for task in os.listdir("/proc/%d/task" % p):
            try:
                with open("/proc/%d/task/%s/children" % (p, task), encoding="ascii") as f:
                    left += [int(c) for c in f.read().split()]
            except FileNotFoundError:
                pass
    return found


def holds(pid, words):
    """Where these are in what the process can write. Not read: what it maps of files, which is the store itself."""
    found = []
    with open("/proc/%d/maps" % pid, encoding="utf-8") as maps, open("/proc/%d/mem" % pid, "rb", 0) as mem:
        for line in maps:
            area, mode = line.split()[:2]
            a, b = (int(x, 16) for x in area.split("-"))
            if "w" not in mode:
                continue
            try:
                data = os.pread(mem.fileno(), b - a, a)
            except OSError:  # the kernel's own
                continue
            found += ["%s of process %d in %s" % (word.decode(), pid, line.strip()) for word in words if word in data]
    return found


def all_hold(pid, words):
    found = []
    for p in below(pid):
        try:
            found += holds(p, words)
        except (FileNotFoundError, ProcessLookupError, PermissionError):  # ended meanwhile; of an ordinary user's, one that is closed to its user
            if p == pid:
                raise
    return found


def words():
    return {k: "CANARY-%s-%s" % (k, os.urandom(8).hex()) for k in KINDS}


def request(name, w):
    packed = " ".join("%s=%s" % kv for kv in w.items()).encode().hex()
    return {"skill": name, "args": [w["argument"]], "stdin": w["stdin"],
            "options": [["env", "SAID=" + w["variable"]], ["env", "WORDS=" + packed], ["memory", "64m"], ["output-limit", "64k"]]}


def nothing_stays(d, w, what):
    """Once all is put away, which goes on after the answer."""
    d.quiet()
    sought, found = [x.encode() for x in w.values()], []

    def nothing():
        found[:] = all_hold(d.pid, sought)
        return not found
    try:
        wait_for(nothing, "nothing of it")
    except AssertionError as e:
        raise AssertionError("%s: %s: %s" % (what, e, found)) from e


for _name, _end in ENDS.items():
    skill(_name.replace("_", "-"), TELLS + _end)


@case
def while_it_runs_the_daemon_has_it():
    """The positive control: the search finds what is there."""
    w = words()
    with Daemon() as d, socket.socket(socket.AF_UNIX) as s:
        s.connect(SOCKET)
        s.sendall(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "run", "params": dict(request("cancelled", w), args=[w["argument"]])}).encode() + b"\n")
        wait_for(lambda: any(w["argument"] in f for f in holds(d.pid, [w["argument"].encode()])), "the argument in the daemon's memory")


@case
def when_it_was_answered_nothing_is_left():  # I-70
    with Daemon() as d, Client() as c:
        same(c.run("/bin/true")["result"]["exit_code"], 0)
        for end in ENDS:
            for _ in range(2):
                w = words()
                run = c.send("run", **request(end.replace("_", "-"), w))
                answers = {}
                if end == "cancelled":  # when it has handed on everything: its result is the last word
                    wait_for(lambda: holds(d.pid, [w["result"].encode()]), "its result in the daemon's memory")
                    cancel = c.send("cancel", id=run)
                    answers = {a["id"]: a for a in (c.read(), c.read())}
                    same(answers[cancel].get("result"), {}, answers)
                answer = (answers.get(run) or c.read())["result"]
                same(answer["receipt"]["outcome"], end, answer)
                check(w["stdout"] in answer["stdout"], answer)  # what is sought was there
                nothing_stays(d, w, end)


def below_the_stack(pid):
    """Bytes that the loop's own functions left behind, more than a page below what it has on its stack while it sleeps; of those functions that put it to sleep
    none reaches that far."""
    state = []

    def sleeps():
        with open("/proc/%d/syscall" % pid, encoding="utf-8") as f:
            state[:] = f.read().split()
        return len(state) == 9
    wait_for(sleeps, "that it sleeps")
    with open("/proc/%d/mem" % pid, "rb", buffering=0) as f:
        f.seek(int(state[7], 16) - 3 * 4096)
        return f.read(2 * 4096)


@case
def nor_of_what_was_refused():  # I-70
    """The loop itself looks at the request, on its own stack: a working folder that is not there."""
    with Daemon() as d, Client() as c:
        for _ in range(3):
            w = words()
            answer = c.call("run", exec="/bin/true", cwd="/nosuch/" + w["argument"], stdin=w["stdin"])
            check(w["argument"] in answer["error"]["message"], answer)
            nothing_stays(d, w, "of a refused request")
            wait_for(lambda: not below_the_stack(d.pid).strip(b"\0"), "zeros below the stack of the loop", seconds=20)


@case
def nor_of_many_at_once():  # I-70
    with Daemon() as d:
        clients = [Client() for _ in range(4)]
        all_words = [words() for _ in clients]
        for c, w in zip(clients, all_words):
            c.send("run", **request("exited", w))
        for c in clients:
            same(c.read()["result"]["receipt"]["outcome"], "exited")
        for w in all_words:
            nothing_stays(d, w, "of many")
        for c in clients:
            c.close()


@case
def nothing_else_is_left():
    nothing_is_left()


main()
