#!/usr/bin/python3
"""schema/protocol.md against the tables that are compiled in: methods, states, errors, limits. TAP.

usage: documented.py SCHEMA-FOLDER
"""
import re
import sys

folder = sys.argv[1]


def text(name):
    with open(folder + "/" + name, encoding="utf-8") as f:
        return f.read()


doc, limits = text("protocol.md"), text("limits.h")
tables = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in doc.splitlines() if line.startswith("|")]
number = {}
for m in re.finditer(r"#define (\w+) (\([^)]*\)|\S+)", re.sub(r"/\*.*?\*/", "", limits, flags=re.S)):
    if re.fullmatch(r"[\d* ()]+", m[2]):
        number[m[1]] = eval(m[2])
cases = []


def case(name, got, want):
    cases.append((name, got == want, "documented %r, compiled in %r" % (got, want)))


methods = [list(m) for m in re.findall(r'^METHOD\("([\w.]+)", \w+, (\d), (\d), (\d)\)', text("methods.def"), re.M)]
states = [[row[0]] + ["1" if cell == "yes" else "0" for cell in row[1:]] for row in tables if row[1] in ("yes", "no")]
case("permit table", states, methods)
case("a section for each method", re.findall(r"^### 6\.\d+ ([\w.]+)$", doc, re.M), [m[0] for m in methods])
errors = re.findall(r'^ERROR\(\w+, "(\w+)", (-\d+), (\w+)\)', text("errors.def"), re.M)
case("error table", [(row[1], row[0], row[2].upper()) for row in tables if re.fullmatch(r"-32\d+", row[0])], errors)
for start, name in (("bytes of a line", "PIPE_LINE_MAX"), ("nesting of a message", "PIPE_DEPTH_MAX"), ("bytes of a slot's name", "SLOT_NAME_MAX"),
                    ("bytes of a value", "SLOT_VALUE_MAX"), ("slot.write` requests", "SLOT_PROPOSALS_MAX"),
                    ("handles of a region", "HANDLES_MAX"), ("bytes of a note", "NOTE_TEXT_MAX"),
                    ("note.add` requests", "NOTE_REQUESTS_MAX"), ("rows of an answer", "BELIEF_ROWS_MAX"), ("bytes of the rows", "BELIEF_ROWS_BYTES"),
                    ("canon.read` requests", "BELIEF_READS_MAX"), ("rows of a bucket", "CONTEXT_LOOK_ROWS"),
                    ("rules or notes", "OWN_ROWS_MAX"), ("items of an answer", "PENDING_ROWS_MAX"), ("notes that are looked at", "OWN_LOOK_NOTES"),
                    ("note.list` and", "OWN_READS_MAX"), ("references of a record", "MEMORY_EDGES_MAX"),
                    ("memory.save` and", "MEMORY_WRITES_MAX"), ("of these, those", "MEMORY_HELD_MAX"),
                    ("bytes that are held", "MEMORY_HELD_BYTES"), ("bytes of what is held that are done again", "MEMORY_AGAIN_BYTES"), ("other `memory.*`", "MEMORY_READS_MAX"), ("records or changes", "MEMORY_ROWS_MAX"),
                    ("records that are looked at", "MEMORY_LOOK_RECORDS"), ("bytes of their text", "MEMORY_LOOK_TEXT"), ("bytes of the reason", "MEMORY_REASON_MAX"),
                    ("arguments of a `skill", "SUBSKILL_ARGS_MAX"), ("sub-skills in a row", "SUBSKILL_DEPTH_MAX"),
                    ("sub-skills of an invocation at once", "SUBSKILL_ALIVE_MAX"), ("sub-skills of an invocation in all", "SUBSKILL_CALLS_MAX"),
                    ("bytes of a sub-skill's", "SUBSKILL_OUTPUT_MAX"),
                    ("violations", "PIPE_BAD_LINES_MAX"), ("requests a second", "PIPE_REQUESTS_PER_SEC")):
    case("limit " + name, [int(row[1]) for row in tables if row[0].startswith(start)], [number.get(name)])
case("descriptors", [int(row[0]) for row in tables if row[1].startswith("LETHE_")], [number.get("REGION_PIPE_IN_FD"), number.get("REGION_PIPE_OUT_FD")])
print("1..%d" % len(cases))
for i, (name, good, why) in enumerate(cases, 1):
    print("%s %d - %s" % ("ok" if good else "not ok", i, name))
    if not good:
        print("# " + why)
sys.exit(0 if all(good for _, good, _ in cases) else 1)
