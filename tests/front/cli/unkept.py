#!/usr/bin/python3
"""What an invocation proposed and did not keep is in no file of the store after its end and a compaction, nor in what the supervisor said (I-71). TAP.

usage: unkept.py LETHE
"""
import json
import os

from tap import DIR, ENV, LETHE, STORE, alone, case, check, lethe, log, main, python_skill, run, same, start_daemon, stop_daemon

# A region is told what to do by its arguments, a way each: a name and a program. The marker is made in the region, so that no command line has it.
LAB = """import json, os, sys, time
import lethe
def refused(f, *args, **kw):
    try:
        f(*args, **kw)
    except lethe.LetheError as e:
        return
    raise SystemExit("was not refused: " + way)
def raw(line):
    os.write(int(os.environ["LETHE_OUT"]), line.encode() + b"\\n")
def breach():
    os.write(1, bytes(1 << 17))
    time.sleep(60)
for way, what in zip(sys.argv[1::2], sys.argv[2::2]):
    mark = "canary-" + way + "-" + "".join(chr(ord(c) + 1) for c in "rdbqds")
    exec(what)
"""
SECRET = "".join(chr(ord(c) + 1) for c in "rdbqds")
FACT = "{'subject': mark, 'predicate': 'is', 'object': mark * 40}"
# way: (what the region does, whether it is kept)
WAYS = {
    "kept-slot": ("lethe.write('text', mark)", True),
    "kept-record": ("lethe.memory_save('memory_substrate', %s, type='semantic')" % FACT, True),
    "kept-note": ("lethe.note_add('issue broken: ' + mark)", True),
    "slot-after-breach": ("lethe.write('text', mark); breach()", False),
    "slots-large": ("lethe.write('text', mark * 2000); lethe.write('text', mark * 3000); breach()", False),
    "record-after-breach": ("lethe.memory_save('memory_substrate', %s, type='semantic'); lethe.memory_list(); breach()" % FACT, False),
    "note-after-breach": ("lethe.note_add('issue broken: ' + mark * 30); breach()", False),
    "slot-of-a-wrong-type": ("refused(lethe.write, 'number', mark)", False),
    "slot-not-granted": ("refused(lethe.write, 'other', mark)", False),
    "slot-with-a-conflict": ("refused(lethe.write, 'text', mark, expect=999)", False),
    "slot-without-a-name": ("refused(lethe.write, mark.upper(), 1)", False),
    "record-of-a-wrong-form": ("refused(lethe.memory_save, 'memory_substrate', {'subject': mark, mark: mark}, type='semantic')", False),
    "record-of-a-wrong-type": ("refused(lethe.memory_save, 'memory_substrate', %s, type=mark)" % FACT, False),
    "record-with-a-conflict": ("refused(lethe.memory_save, 'memory_substrate', %s, id='none', type='semantic', expect=7)" % FACT, False),
    "record-not-granted": ("refused(lethe.memory_save, 'knowledge_projections', {'title': mark, 'text': mark})", False),
    "record-with-a-wrong-id": ("refused(lethe.memory_save, 'memory_substrate', %s, id=mark.upper() + ' ', type='semantic')" % FACT, False),
    "note-too-long": ("refused(lethe.note_add, mark * 4000)", False),
    "note-of-a-wrong-role": ("refused(lethe.note_add, mark, role=mark)", False),
    "no-json": ("raw(mark); raw('{' + mark)", False),
    "no-method": ("refused(lethe._pipe.call, mark, {})", False),
    "parameters-of-no-method": ("refused(lethe._pipe.call, 'slot.write', {mark: mark})", False),
    "result-twice": ("lethe.result(1); refused(lethe.result, mark)", False),
}


BREACHES = [w for w, (what, _) in WAYS.items() if "breach" in what]


def with_marker(text):
    return {w for w in WAYS if ("canary-%s-%s" % (w, SECRET)).encode() in text.lower()}


def found():
    """Ways whose marker is in a file of the store or beside it."""
    there = set()
    for base, _, names in os.walk(DIR):
        for n in names:
            if n != "receipt.json":
                with open(os.path.join(base, n), "rb") as f:
                    there |= with_marker(f.read())
    return there


def all_ways():
    """Each breach ends its region; all the others have one together."""
    for ways in [[w] for w in BREACHES] + [[w for w in WAYS if w not in BREACHES]]:
        r = run("--timeout", "60s", "--output-limit", "64k", "lab", "--", *[x for w in ways for x in (w, WAYS[w][0])])
        same((r.receipt["outcome"], r.code), ("output_exceeded", 137) if ways[0] in BREACHES else ("exited", 0), ways, r)


def nothing_is_left():
    before = found()
    same(lethe("compact").code, 0)
    same(found(), {w for w, (_, kept) in WAYS.items() if kept}, before)
    for verb in ("audit", "verify"):
        r = lethe(verb)
        same(r.code, 0, r)


python_skill("lab", LAB, writes=["text", "number"], slots={"text": {"type": "string"}, "number": {"type": "integer"}}, notes=True,
             memory=[{"scope": "default", "read": ["memory_substrate"], "write": ["memory_substrate"]}])


@case
@alone
def nothing_of_it_is_in_a_file():  # I-71
    all_ways()
    nothing_is_left()


@case
def a_daemon_leaves_nothing_either():  # I-71
    """Its log is looked at as well."""
    env = dict(ENV, LETHE_SOCKET=os.path.join(DIR, "socket-unkept"))
    daemon = start_daemon(env)
    ENV["LETHE_SOCKET"], ENV["LETHE_SERVE"] = env["LETHE_SOCKET"], "1"
    try:
        all_ways()
    finally:
        del ENV["LETHE_SOCKET"], ENV["LETHE_SERVE"]
        stop_daemon(daemon)
    nothing_is_left()
    same(with_marker((daemon.early + daemon.said).encode()), set())


main()
