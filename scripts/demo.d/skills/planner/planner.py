#!/usr/bin/python3
"""Says what is settled: goals and rules of the cognitive state."""
import lethe

SHOWN = ("goal_orientation", "constraints")

field, found = None, {}
for line in lethe.ccs_read().ccs.splitlines():
    if not line.startswith(" "):
        field, _, line = line.partition(":")
    if line.strip():
        found.setdefault(field, []).append(line.strip())
try:
    turns = lethe.carry_read("turns") + 1
except lethe.LetheError:
    turns = 1
lethe.carry_write("turns", turns)
print("turn %d: %s" % (turns, "; ".join(" + ".join(found[f]) for f in SHOWN if f in found)))
