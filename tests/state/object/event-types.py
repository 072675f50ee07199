#!/usr/bin/env python3
"""Compares the types of events in the source with the list in supervisor/state/record/event-types.def, both ways: a trigger of an object may wait
for a type of that list alone (O-31)."""
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[3]
WORD = re.compile(r'"([a-z]+\.[a-z_]+)"')
# Words of the same form that are no types: methods of the pipe and of the daemon. The isolation wing records nothing.
NO_TYPES = set(re.findall(r'METHOD\("([^"]+)"', (TOP / "schema/methods.def").read_text(encoding="utf-8")))
NO_TYPES |= set(WORD.findall((TOP / "supervisor/front/serve/method.c").read_text(encoding="utf-8")))
OPERATIONS = {"canon": "upsert append invalidate resolve delete", "memory": "save archive restore remove delete", "ccs": "save delete", "kernel": "patch"}

listed = re.findall(r'^EVENT_TYPE\("([^"]+)"', (TOP / "supervisor/state/record/event-types.def").read_text(encoding="utf-8"), re.M)
families = {t.split(".")[0] for t in listed}
written = {f"{family}.{op}" for family, ops in OPERATIONS.items() for op in ops.split()}  # mutate.c puts them together
for path in sorted((TOP / "supervisor").rglob("*.c")):
    text = path.read_text(encoding="utf-8")
    if "isolation" in path.parts:
        written |= {f"handle.{what}" for what in re.findall(r'\(HandleTrace\)\{\.what = "([a-z]+)"', text)}  # refuse.c puts them together
        continue
    written |= {w for w in WORD.findall(text) if w.split(".")[0] in families and w not in NO_TYPES - set(listed)}

faults = [f"{t}: the source has this type, and the list does not" for t in sorted(written - set(listed))]
faults += [f"{t}: listed, and nothing in the source has this type" for t in sorted(set(listed) - written)]
if listed != sorted(set(listed)):
    faults.append("the list is not sorted, or has a type twice: event_type_find() halves it")
print("\n".join(faults) or f"{len(listed)} types")
sys.exit(1 if faults else 0)
