#!/usr/bin/env python3
"""Who can write records: engine/ and the rows of record/ below it alone, as the symbols of the libraries' objects say (M-59). TAP.

usage: writers.py LIBSTATE.A LIBFRONT.A
"""
import re
import subprocess
import sys

WRITES = re.compile(r"^(record_put|record_del|change_put|refs_replace|index_put|index_del|mutate_judged|project_event|project_append|pass_project|event_append)$")
TABLES = re.compile(r"^(table_put|table_add|table_del|table_del_prefix|ledger_append)$")
uses = {}
for line in subprocess.run(["nm", "--portability", "--undefined-only", *sys.argv[1:]], check=True, capture_output=True, text=True).stdout.splitlines():
    if line.endswith(":"):
        member = line.split("[")[-1].rstrip("]:").split("/")[-1]
        continue
    uses.setdefault(member, set()).add(line.split()[0])
folder = {m: m.split("_")[0] for m in uses}
bad = ["%s uses %s" % (m, s) for m in sorted(uses) for s in sorted(uses[m]) if WRITES.match(s) and folder[m] not in ("engine", "record")]
memory = ["%s uses %s" % (m, s) for m in sorted(uses) for s in sorted(uses[m]) if TABLES.match(s) and folder[m] in ("memory", "belief", "audit")]
seen = any(WRITES.match(s) for m in uses for s in uses[m])
print("TAP version 13\n1..2")
print("%s 1 - records, refs, index and events are written by the engine alone" % ("ok" if seen and not bad else "not ok"))
print("%s 2 - views write no table" % ("not ok" if memory or "memory" not in folder.values() else "ok"))
for line in bad + memory:
    print("# " + line)
sys.exit(1 if bad or memory or not seen else 0)
