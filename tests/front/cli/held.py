#!/usr/bin/python3
"""Typed memory that a region saves is held until its end: nothing of it is committed when the region breaks a budget, of whatever kind, or when the supervisor
dies (I-24 with M-10, M-11, M-52). TAP.

usage: held.py LETHE
"""
import json
import os
import signal
import subprocess

from tap import DIR, ENV, LETHE, STORE, alone, ask_daemon, case, check, lethe, log, main, python_skill, run, same, start_daemon, stop_daemon, wait_for

M = "memory_substrate"
LAB = """import os, signal, sys, time
import lethe
M = "memory_substrate"
def save(text, id=None, **kw):
    return lethe.memory_save(M, {"subject": "it", "predicate": "says", "object": text}, id=id, type="semantic", **kw)
def refused(f, *args, **kw):
    try:
        f(*args, **kw)
    except lethe.LetheError as e:
        return e.code
exec(sys.argv[1])
"""
GRANT = [{"scope": "default", "read": [M], "write": [M], "delete": [M]}]
POLICY = os.path.join(DIR, "policy.json")
with open(POLICY, "w", encoding="utf-8") as policy:
    json.dump({"version": 1, "memory": GRANT}, policy)
python_skill("holder", LAB, memory=GRANT, writes=["told"], sub_skills=["below"], slots={"told": {}}, budgets={"wall": "60s"})
python_skill("below", LAB, memory=GRANT)
same(lethe("scope", "create", "default").code, 0)

# outcome, options, what breaks the budget
BREACHES = [
    ("timed_out", ["--timeout", "4s"], "time.sleep(60)"),
    ("out_of_region", ["--memory", "64m"], "x = [bytearray(1 << 20) for _ in range(300)]"),
    ("cpu_exceeded", ["--cpu-time", "1s"], "while True: pass"),
    ("pids_exceeded", ["--pids-limit", "10"], "for _ in range(30):\n  try:\n    if os.fork() == 0: time.sleep(60)\n  except OSError: pass"),
    ("output_exceeded", ["--output-limit", "10"], "print('x' * 20, flush=True); time.sleep(60)"),
    ("scratch_exceeded", ["--scratch", "1m"], "try:\n  f = open('/tmp/x', 'wb', 0)\n  while f.write(bytes(4096)) == 4096: pass\nexcept OSError: pass"),
    ("file_size_exceeded", ["--file-size", "1m"], "try:\n  f = open('/work/x', 'wb', 0); f.write(bytes(3 << 20)); f.write(b'x')\nexcept OSError: pass"),
    ("denied", ["--nofile", "64"], "l = []\ntry:\n  while True: l.append(open('/dev/null'))\nexcept OSError: pass"),
    ("denied", [], "for _ in range(80): os.write(4, b'no json\\n')\ntime.sleep(60)"),
]


def there(id):
    r = lethe("memory", "load", M, id, "--json")
    return json.loads(r.out)["record"]["payload"]["object"] if r.code == 0 else None


def of_memory(region):
    return [e["type"] for e in log("--region", region) if e["type"] in ("memory.save", "memory.delete", "memory.discarded", "mutation.refused")]


def put(id, text):
    same(lethe("memory", "save", M, json.dumps({"subject": "it", "predicate": "says", "object": text}), "--id", id, "--type", "semantic").code, 0)


@case
def a_breach_of_any_budget_leaves_nothing():  # I-24 M-10 M-52
    put("before", "as it was")
    for outcome, options, what in BREACHES:
        r = run("--policy", POLICY, *options, "holder", "--", """
made = save('never', id='never')
assert made['held'] and 'seq' not in made and lethe.memory_load(M, 'never')['payload']['object'] == 'never'
save('changed', id='before'); lethe.memory_delete(M, 'before'); lethe.write('told', 1)
print('saved', flush=True)
""" + what)
        same(r.receipt["outcome"], outcome, what, r)
        # A wall budget may be over before anything was saved, on a machine that has other things to do: then nothing of it is kept all the same.
        if b"saved" in r.out:
            same(r.receipt.get("memory"), {"held": 3, "committed": 0, "discarded": 3, "refused": []}, what, r)
            region = r.receipt["region"]
            same(of_memory(region), ["memory.discarded"], what, r)
            told = [e for e in log("--region", region) if e["type"] == "memory.discarded"][0]
            same((int(told["count"]), told["reason"]), (3, outcome), told)
        else:
            check(outcome == "timed_out", what, r)
            print("# its time was over before it had saved")
        same((there("never"), there("before")), (None, "as it was"), what)
        same(lethe("slot", "get", "told").code, 1, what)
    same(lethe("audit").code, 0)


@case
def an_end_that_breaks_nothing_commits():  # I-24 M-10: as with slots, whatever the exit code, the signal, or who asked for it
    for name, what, end in (("good", "", ("exited", 0)), ("fails", "sys.exit(3)", ("exited", 3)), ("crashes", "os.kill(os.getpid(), signal.SIGSEGV)", ("signaled", 139))):
        r = run("holder", "--", "save(%r, id=%r); lethe.write('told', %r)\n%s" % (name, name, name, what))
        same((r.receipt["outcome"], r.code, r.receipt["memory"]["committed"]), end + (1,), r)
        order = [e["type"] for e in log("--region", r.receipt["region"])]
        check(order.index("memory.save") < order.index("region.released") < order.index("invocation.ended"), order)
        same((there(name), lethe("slot", "get", "told").out), (name, b'"%s"\n' % name.encode()))
    p = subprocess.Popen([LETHE, "run", "holder", "--", "save('x', id='cancelled'); print('ready', flush=True); time.sleep(60)"], stdout=subprocess.PIPE, env=ENV,
                         stdin=subprocess.DEVNULL)
    same(p.stdout.readline(), b"ready\n")
    same(there("cancelled"), None, "nobody else sees what is held")
    p.send_signal(signal.SIGTERM)
    p.stdout.read()
    same((p.wait(60), there("cancelled")), (143, "x"))


def dies_while_it_is_held(victim, run_env, name):
    """A region saves, and the process that holds it is killed: nothing of it is in the store."""
    canary = "canary-" + name
    p = subprocess.Popen([LETHE, "run", "holder", "--", "save(%r, id=%r); lethe.write('told', %r); print('ready', flush=True); time.sleep(60)" % (canary, name, name)],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=run_env, stdin=subprocess.DEVNULL)
    same(p.stdout.readline(), b"ready\n")
    region = json.loads(lethe("ps", "--json").out.splitlines()[0])["region"]
    (victim or p).kill()
    (victim or p).wait()
    p.stdout.close()
    p.wait(60)
    lethe("kill", "--wait", region)
    same((there(name), of_memory(region)), (None, []))
    check("region.recovered" in [e["type"] for e in log("--region", region)])
    same(lethe("slot", "get", "told").out, b'"%s"\n' % name.encode(), "a slot's value was acknowledged as recorded, and stands")
    if os.environ.get("LETHE_TEST_SERVE") != "1":  # what a page of LMDB does not use may hold what was in memory; compaction wants to be alone
        same(lethe("compact").code, 0)
    for folder, _, names in os.walk(STORE) if os.environ.get("LETHE_TEST_SERVE") != "1" else ():
        for file in filter(os.path.isfile, (os.path.join(folder, x) for x in names)):
            with open(file, "rb") as f:
                check(canary.encode() not in f.read(), file)
    same(lethe("audit").code, 0)


@case
@alone
def a_supervisor_that_dies_leaves_nothing():  # I-24 I-60
    dies_while_it_is_held(None, dict(ENV, LETHE_SERVE="0"), "alone")


def own_daemon(name, **policy):
    path = os.path.join(DIR, name + ".json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "memory": GRANT, **policy}, f)
    env = dict(ENV, LETHE_SOCKET=os.path.join(DIR, name), LETHE_POLICY=path, LETHE_SERVE="1")
    return start_daemon(env), env


@case
def a_daemon_that_dies_leaves_nothing():  # I-24 I-60
    daemon, env = own_daemon("victim")
    dies_while_it_is_held(daemon, env, "daemon")
    daemon.drain.join(10)
    daemon.stderr.close()


@case
def from_the_pool_it_is_the_same():  # I-24 M-10
    daemon, env = own_daemon("pooled", pool={"skills": {"*": 2}})
    run("holder", "--", "pass", env=env)  # of whose kind the pool makes more
    for name, more, outcome in (("kept", "", "exited"), ("never", "; [os.write(4, b'no json\\n') for _ in range(80)]; time.sleep(60)", "denied")):
        wait_for(lambda: ask_daemon("status", env["LETHE_SOCKET"])["ready_regions"] > 0, "a region that waits")
        r = run("holder", "--", "save('x', id='pool-%s')%s" % (name, more), env=env)
        same((r.receipt["outcome"], r.receipt["start"], there("pool-" + name)), (outcome, "pool", "x" if outcome == "exited" else None), r)
        same(r.receipt["memory"]["committed" if outcome == "exited" else "discarded"], 1, r)
    same(stop_daemon(daemon), 0)


@case
def more_than_is_held_is_refused():  # I-24 M-11
    r = run("--policy", POLICY, "holder", "--", """
print({save('x', id='row-%04d' % i)['held'] for i in range(1024)}, refused(save, 'x', id='row-1024'), refused(lethe.memory_delete, M, 'row-0000'))
print(lethe.memory_load(M, 'row-1023')['version'])
""")
    same((r.code, r.out, r.receipt["memory"]["committed"]), (0, b"{True} too_many too_many\n1\n", 1024), r)
    same((there("row-1023"), there("row-1024")), ("x", None))
    r = run("holder", "--", """
n = 0
while (said := refused(save, 'y' * 16384, id='full-%03d' % n)) is None:
    n += 1
print(n, said, refused(save, 'small', id='small'))
""")
    same((r.code, r.out, r.receipt["memory"]["committed"]), (0, b"254 too_large None\n", 255), r)
    same(len(there("full-253")), 16384)


@case
def two_at_once():  # I-24 M-11: who ends later is told, and what it lost is recorded with its code
    receipts = [os.path.join(DIR, "first.json"), os.path.join(DIR, "second.json")]
    text = "print(save(%r, id='once', expect=0)['created'], save('own')['id'], flush=True); sys.stdin.read(); save(%r, id='other-' + %r)"
    runs = [subprocess.Popen([LETHE, "run", "--receipt", path, "holder", "--", text % (name, name, name)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=ENV) for path, name in zip(receipts, ("first", "second"))]
    said = [p.stdout.readline().split() for p in runs]
    same([x[0] for x in said], [b"True", b"True"])
    check(said[0][1] != said[1][1], said)
    ends = [(p.communicate(timeout=60)[1], p.returncode) for p in runs]
    same([code for _, code in ends], [0, 0], ends)
    told = []
    for path in receipts:
        with open(path, encoding="utf-8") as f:
            told.append(json.load(f))
    same(told[0]["memory"], {"held": 3, "committed": 3, "discarded": 0, "refused": []})
    same(told[1]["memory"], {"held": 3, "committed": 2, "discarded": 0,
                             "refused": [{"op": "save", "scope": "default", "kind": M, "id": "once", "code": "conflict"}]})
    check(b"refused at its end" in ends[1][0] and b"refused at its end" not in ends[0][0], ends)
    same((there("once"), there("other-first"), there("other-second")), ("first", "first", "second"))
    same([there(x[1].decode()) for x in said], ["own", "own"])
    same(sorted(of_memory(told[1]["region"])), ["memory.save", "memory.save", "mutation.refused"])


@case
def a_sub_skill_has_its_own_end():  # I-24 I-34: as with slots, what counts is how the region that saved it ended
    r = run("holder", "--", """
save('above', id='above')
a = lethe.run('below', ["save('below', id='below'); print(refused(lethe.memory_load, M, 'above'))"])
print(a['output'].strip(), a['memory']['committed'], lethe.memory_load(M, 'below')['payload']['object'])
b = lethe.run('below', ["save('broken', id='broken')\\nfor _ in range(80): os.write(4, b'no json\\\\n')\\ntime.sleep(60)"])
print(b['outcome'], b['memory']['discarded'], refused(lethe.memory_load, M, 'broken'), flush=True)
for _ in range(80): os.write(4, b'no json\\n')
time.sleep(60)
""")
    same((r.receipt["outcome"], r.out), ("denied", b"no_record 1 below\ndenied 1 no_record\n"), r)
    same((there("above"), there("below"), there("broken")), (None, "below", None))


main()
