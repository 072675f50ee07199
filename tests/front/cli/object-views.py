#!/usr/bin/python3
"""lethe object graph, top and the timelines of lethe report: what they show is the store's, texts of others stay texts, and a terminal is left as it was. TAP.

usage: object-views.py LETHE FILL-OBJECT
"""
import json
import os
import re
import signal
import subprocess
import sys
import termios
import xml.etree.ElementTree

from screen import Terminal
from tap import DIR, ENV, case, check, lethe, main, same, wait_for

ENV["LETHE_SERVE"] = "0"
FILL = os.path.abspath(sys.argv[2])
SVG = "{http://www.w3.org/2000/svg}"
MARKUP = '"/><script>alert(1)</script>&amp;'
HOSTILE = MARKUP + "\x1b]0;title\x07\u202e\u009b31m\ufeff"
MADE = ("--store", os.path.join(DIR, "made"))
known = {}


def answer(*argv, **kw):
    r = lethe("object", *argv, "--json", **kw)
    same(r.code, 0, argv, r)
    return json.loads(r.out)


def create(do, **more):
    return answer("create", "--intent", "-", input=json.dumps({"do": do, **more}).encode())["object"]


def cycles(name, *actions):
    for action in actions:
        same(answer("cycle", name)["action"], action, name)


def children(name):
    return [o["object"] for o in answer("list")["objects"] if o.get("parent") == name]


def graph(name, *more):
    r = lethe("object", "graph", name, *more)
    same(r.code, 0, r)
    return r.out.decode()


def nodes(text):
    """Title -> classes of each node."""
    root = xml.etree.ElementTree.fromstring(text)
    same({e.tag for e in root.iter()} - {SVG + t for t in ("svg", "title", "style", "text", "path", "g", "rect")}, set())
    for e in root.iter():
        check(not [a for a in e.attrib if a.startswith("on") or "href" in a], e.attrib)
    return {g.find(SVG + "title").text: g.attrib["class"].split() for g in root.iter(SVG + "g")}, root


WAIT = {"wait": {"prerequisite": {"slot": "go"}}}


@case
def objects_are_there():
    same(lethe("slot", "define", "go", "--schema", "-", input=b"{}").code, 0)
    top = known["top"] = create({"delegate": [{"do": {"delegate": [{"do": WAIT}, {"do": {"wait": {"elapsed": {"for": "1d"}}}}]}}, {"do": WAIT}]})
    cycles(top, "delegation")
    known["middle"], known["leaf"] = sorted(children(top), key=lambda n: "delegate" not in answer("show", n)["intent"]["do"])
    cycles(known["middle"], "delegation")
    for n in [known["leaf"], *children(known["middle"])]:
        cycles(n, "dormancy")


@case
def the_tree_is_drawn_with_states():  # O-24, O-27
    found, root = nodes(graph(known["top"]))
    same(len(found), 5)
    same(len(list(root.iter(SVG + "path"))), 4)
    for name in (known["top"], known["middle"], known["leaf"], *children(known["middle"])):
        titles = [t for t in found if t.startswith(name)]
        same(len(titles), 1, name, list(found))
        check("; " + answer("show", name)["state"] in titles[0], titles)
        same(found[titles[0]], [answer("show", name)["state"]])
    same(graph(known["top"]), graph(known["top"]))  # equal bytes
    same(len(nodes(graph(known["leaf"]))[0]), 1)
    same(len(nodes(graph(known["middle"]))[0]), 3)


@case
def nothing_is_drawn_over_anything():
    _, root = nodes(graph(known["top"]))
    boxes = [tuple(float(r.attrib[a]) for a in ("x", "y", "width", "height")) for r in root.iter(SVG + "rect") if r.attrib["class"] == "box"]
    _, _, width, height = (float(x) for x in root.attrib["viewBox"].split())
    for i, (x, y, w, h) in enumerate(boxes):
        check(x >= 0 and y >= 0 and x + w <= width and y + h <= height, boxes[i], root.attrib)
        for a, b, c, d in boxes[:i]:
            check(x + w <= a or a + c <= x or y + h <= b or b + d <= y, boxes[i], (a, b, c, d))


@case
def what_others_wrote_is_text_in_the_drawing():  # O-4
    same(lethe("object", "end", known["leaf"], "--reason", MARKUP).code, 0)
    text = graph(known["top"])
    found, _ = nodes(text)
    check(any(MARKUP in t and t.startswith(known["leaf"]) for t in found), list(found))
    same(text.count("<script"), 0)


@case
def a_file_and_its_refusals():
    file = os.path.join(DIR, "tree.svg")
    same(answer("graph", known["top"], file)["file"], file)
    with open(file, encoding="utf-8") as f:
        same(f.read(), graph(known["top"], "-"))
    for argv, code in (([known["top"], "--json"], 2), (["nothing"], 2), (["0" * 26], 1), ([known["top"], os.path.join(ENV["LETHE_STORE"], "key")], 1)):
        same(lethe("object", "graph", *argv).code, code, argv)


@case
def a_tree_that_claims_itself_ends():  # an imported memory may say anything
    same(subprocess.run([FILL, MADE[1], HOSTILE], env=ENV, check=False).returncode, 0)
    made = {o["object"]: o for o in json.loads(lethe("object", "list", "--json", *MADE).out)["objects"]}
    same(len(made), 2)
    for name in made:
        r = lethe("object", "graph", name, *MADE)
        same(r.code, 0, r)
        found, root = nodes(r.out.decode())
        same(len(list(root.iter(SVG + "g"))), 5)  # both, the first one again, and the absent one below each
        check(any("drawn elsewhere, too" in t for t in found), list(found))
        check(any("not in this store" in t for t in found), list(found))
        check(any(MARKUP + "\u241b]0;title\u2407\ufffd\ufffd31m\ufffd" in t for t in found), list(found))
        check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ufeff]", r.out.decode()), "a character that commands")


@case
def the_report_has_a_line_of_time_for_each():  # O-4, O-16
    page = os.path.join(DIR, "page.html")
    same(lethe("report", "-o", page).code, 0)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    section = text[text.index("<h2>Objects</h2>"):]
    rows = section[:section.index("</section>")].split("<tr>")[2:]
    same(len(rows), len(answer("list")["objects"]))
    for row in rows:
        name = re.search('class="mono">([0-9a-z]{26})<', row).group(1)
        history = [json.loads(line) for line in lethe("object", "history", name, "--json").out.splitlines()]
        moves = [e["state"] for e in history if e["kind"] not in ("child", "input", "checkpoint", "adopted")]
        same(re.findall("<title>([a-z]+)</title>", row), moves, name)
        same(re.findall('class="n">([0-9]+)</td>', row)[0], str(len(history)), name)
    check("<script>alert" not in text and "\x1b" not in text)


def snapshot(*argv, **kw):
    return json.loads(lethe("object", "top", "--json", *argv, **kw).out)


@case
def top_once():  # O-29
    s = snapshot()
    everything = answer("list")["objects"]
    same(int(s["objects"]), len([o for o in everything if o["state"] != "terminated"]))
    same(sorted(o["object"] for o in s["due"] + s["sleeps"]), sorted(o["object"] for o in everything if "due" in o), s)
    check(all(o["state"] == "dormant" for o in s["sleeps"]) and len(s["sleeps"]) == 1, s)
    same(s["runs"], [])
    r = lethe("object", "top")
    same((r.code, "\x1b" in r.out.decode()), (0, False))
    same(len(r.out.splitlines()), 1 + len(s["due"]) + len(s["sleeps"]))
    for o in s["due"] + s["sleeps"]:
        check(o["object"] in r.out.decode())
    same(len(snapshot("--most", "1")["due"]), 1 if s["due"] else 0)
    same(lethe("object", "top", "--most", "0").code, 2)


@case
def texts_of_others_do_not_reach_the_terminal():
    out = lethe("object", "top", *MADE).out.decode()
    check("\\u001b]0;title\\u0007\\u202e" in out, out)
    check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out), out)


def ended(t, code):
    got, seen = t.end()
    same(got, code, seen[-200:])
    check(seen.endswith(b"\x1b[0m\x1b[?25h\x1b[?1049l"), seen[-60:])


def top(rows=24, columns=80, **env):
    return Terminal("object", "top", rows=rows, columns=columns, **env)


@case
def the_terminal_is_left_as_it_was():
    for end, code in ((lambda t: t.type(b"q"), 0), (lambda t: t.type(b"\x03"), 0), (lambda t: os.kill(t.pid, signal.SIGTERM), 143)):
        t = top()
        t.until(b"alive")
        check(termios.tcgetattr(t.slave)[3] & (termios.ECHO | termios.ICANON) == 0)
        end(t)
        ended(t, code)


@case
def it_fits_its_terminal():
    t = top(rows=2, columns=30)
    t.until(b"alive")
    t.until(b"\x1b[J")
    first = t.seen[t.seen.index(b"\x1b[H") + 3:t.seen.index(b"\x1b[J")].decode()
    lines = [re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", line) for line in first.replace("\r", "").split("\n")]
    check(len(lines) <= 2 and all(len(line) <= 30 for line in lines), lines)
    t.seen = b""
    t.size(20, 200)
    wait_for(lambda: t.read() and any(len(line) > 40 for line in re.sub("\x1b\\[[0-9;]*[A-Za-z]", "", t.seen.decode(errors="replace")).split("\n")), "wider lines")
    t.type(b"q")
    ended(t, 0)


@case
def colours_can_be_turned_off():
    for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
        t = top(**env)
        t.until(b"\x1b[J")
        t.type(b"q")
        ended(t, 0)
        same(b"\x1b[1m" in t.seen, coloured, env)


main()
