#!/usr/bin/python3
"""A turn of the builder: what it notes follows from what it reads."""
import lethe

context = lethe.context_read()
issues = context["belief"].get("issues", [])
decisions = [row["payload"]["decision"] for row in context["belief"].get("decisions", [])]
mine = lethe.note_list().notes
for fact in lethe.kernel_read("world", section="services").rules:
    print("I know: %s %s %s" % (fact["subject"], fact["predicate"], fact["object"]))
for n in mine:
    print("note %d of my run: %s %s" % (n["note"], n["outcome"], n.get("id", "")))

for issue in issues:
    came_back = any(n.get("operation") == "resolve" and n.get("id") == issue["id"] for n in mine)
    if came_back:
        note = "decision longer_keys: keys outlive the retries\nwhy: %s came back" % issue["id"]
    elif not decisions:
        note = "decision use_keys: a refund carries a key\nwhy: " + issue["payload"]["title"]
    else:
        note = "resolve %s: %s" % (issue["id"], decisions[0])
    lethe.note_add(note)
    print("open: %s; I note: %s" % (issue["id"], note.split("\n")[0]))
