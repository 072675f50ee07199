#!/usr/bin/python3
"""lethe report: a page that holds together by itself, whose every number is the ledger's, that escapes what skills say, and that is red where
something is not proved and nowhere else; as a browser shows it, in light and in dark. TAP.

usage: report.py LETHE FILL-REGIONS
"""
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "front", "cli"))
from tap import DIR, ENV, Skip, case, check, lethe, main, run, same  # noqa: E402

FILL = os.path.abspath(sys.argv[2])
MADE = ("--store", os.path.join(DIR, "made"), "--anchor", os.path.join(DIR, "made-anchor"))
GOOD = ("--store", os.path.join(DIR, "good"), "--anchor", os.path.join(DIR, "good-anchor"))
PAGE = os.path.join(DIR, "page.html")
VOID = {"meta", "br", "hr", "img", "link", "input"}
KNOWN = {"html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "p", "span", "div", "strong", "ul", "li", "a", "b", "main", "section", "figure", "figcaption",
         "small", "svg", "line", "text", "rect", "circle", "i", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td", "bdi", "code", "pre"}


class Page(html.parser.HTMLParser):
    """Elements that open and close as they should; the rows of each table: (classes of the row, [(classes, text) of each cell])."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tables, self.elements, self.texts, self.ids, self.targets = [], {}, set(), [], [], []
        self.rows, self.verdict = None, ""
        self.feed(text)
        self.close()
        same(self.open, [], "left open")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        classes = (attrs.get("class") or "").split()
        self.elements.add(tag)
        for name, value in attrs.items():
            check(not name.startswith("on") and name not in ("src", "srcset", "action"), tag, name)
            check(name not in ("href", "xlink:href") or value.startswith("#"), tag, name, value)
        check(tag != "th" or attrs.get("scope") == "col", "a header of nothing")
        check(tag != "svg" or attrs.get("aria-label"), "a drawing without words")
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.targets += [attrs["href"][1:]] if "href" in attrs else []
        if tag == "table":
            self.rows = self.tables.setdefault(classes[0], [])
        if tag == "tr":
            self.rows.append((classes, []))
        if tag in ("td", "th"):
            self.rows[-1][1].append([classes, ""])
        if tag not in VOID:
            self.open.append((tag, classes))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        check(self.open and self.open[-1][0] == tag, "closes", tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        self.texts.append(data)
        if any(tag == "td" or tag == "th" for tag, _ in self.open):
            self.rows[-1][1][-1][1] += data
        if any("verdict" in classes for _, classes in self.open):
            self.verdict += data

    def column(self, table, name):
        names = [text for _, text in self.tables[table][0][1]]
        return [row[1][names.index(name)][1] for row in self.tables[table][1:]]


def fill(store, n):
    same(subprocess.run([FILL, store[1], str(n)], env=dict(ENV, LETHE_ANCHOR=store[3]), check=False).returncode, 0)


def page(*argv, store=MADE):
    r = lethe("report", *store, "-o", PAGE, *argv)
    same(r.code, 0, r)
    with open(PAGE, encoding="utf-8") as f:
        return Page(f.read())


def regions(*argv):
    """What `lethe audit regions` says of the same regions, and its exit code."""
    r = lethe("audit", "regions", *MADE, "--json", *argv)
    return json.loads(r.out), r.code


@case
def it_needs_nothing_but_itself():
    fill(MADE, 120)
    p = page()
    same(p.elements - KNOWN, set(), "elements")
    same([[text for _, text in rows[0][1] if not text] for rows in p.tables.values()], [[]] * len(p.tables), "columns without a name")
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    for needle in ("<script", "http:", "https:", "url(", "@import", "javascript:", "//"):
        check(needle not in text.lower(), needle)
    check("default-src 'none'" in text)
    same(set(p.targets) - set(p.ids), set(), "links to nowhere")
    same(len(p.ids), len(set(p.ids)), "ids")


@case
def what_skills_say_is_text():
    p = page()
    same({t for t in p.column("skills", "skill")}, {"fact-extractor", "baggage-quote", "unruly", "<script>alert(1)</script>", "a&b\"'\u2401\u202ec"})
    with open(PAGE, encoding="utf-8") as f:
        text = f.read()
    check("\x01" not in text and "<i>shared" not in text)
    check(any("(<i>shared)" in t for t in p.column("flagged", "what is not proved")), "the reason for missed bytes")
    for m in re.finditer("\u202e", text):  # turns no more than its own text
        check(text.rfind("<bdi>", 0, m.start()) > text.rfind("</bdi>", 0, m.start()), "outside of bdi")


# I-15, I-16, I-33, I-60: what an auditor reads is what the ledger says.
@case
def its_numbers_are_those_of_audit_regions():
    for query in ((), ("--skill", "unruly"), ("--scope", "invocation-tree"), ("--since", "1h"), ("--until", "1h"), ("--skill", "unruly", "--until", "1h")):
        asked, code = regions(*query)
        said = json.loads(lethe("report", *MADE, "-o", PAGE, "--json", *query).out)
        p = page(*query)
        same(said["regions"], len(asked["regions"]), query)
        same(said["holds"], code == 0, query)
        for question, ids in asked["answers"].items():
            same(said[question], len(ids), query, question)
        if not asked["regions"]:
            check("all" not in p.tables and "There is nothing to prove" in p.verdict, p.verdict)
            continue
        same(p.column("all", "region"), [r["region"] for r in reversed(asked["regions"])], query)
        same(p.column("all", "grade"), [r["grade"] if r["ended"] else "" for r in reversed(asked["regions"])], query)
        same(sum(map(int, p.column("skills", "regions"))), len(asked["regions"]), query)
        same(sum(map(int, p.column("grades", "regions"))), len(asked["regions"]), query)


@case
def all_that_is_not_proved_is_red_and_first():
    asked, _ = regions()
    bad = {i for q in ("unreleased", "unproved", "late") for i in asked["answers"][q]}
    p = page()
    check(0 < len(bad) < len(asked["regions"]), "the store has both")
    same(set(p.column("flagged", "region")), bad)
    same({row[1][0][1] for row in p.tables["all"][1:] if "bad" in row[0]}, bad)
    same(list(p.tables)[0], "flagged", "the first table")
    uncovered = [r for r in asked["regions"] if r["ended"] and r["teardown"]["not_covered"]]
    check("%d of %d regions left storage of a class that was not covered" % (len(uncovered), len(asked["regions"])) in p.verdict, p.verdict)
    same([row[1][0][0] for row in p.tables["classes"][1:]], [["bad"]] * len({c for r in uncovered for c in r["teardown"]["not_covered"]}))
    check("Not everything is proved" in p.verdict and "is proved overwritten" not in p.verdict, p.verdict)
    for _, cells in p.tables["all"][1:]:
        region = next(r for r in asked["regions"] if r["region"] == cells[0][1])
        same("bad" in cells[4][0], "unproved" in region["applies"], region["region"], "grade")
        same("bad" in cells[8][0], "late" in region["applies"], region["region"], "time")
    for row in p.tables["grades"][1:]:
        same("bad" in row[1][0][0], row[1][0][1] in ("partial", "unscrubbed", "never released"), row)


@case
def a_store_in_which_all_is_proved_has_no_red():
    fill(GOOD, 8)
    p = page("--skill", "fact-extractor", store=GOOD)
    check("All that was held at the end is proved overwritten" in p.verdict and "2 regions that ended" in p.verdict, p.verdict)
    with open(PAGE, encoding="utf-8") as f:
        check("b-bad\" style" not in f.read(), "a red bar")
    check("flagged" not in p.tables and "not covered" not in p.verdict and not any("bad" in row[0] or any("bad" in c[0] for c in row[1]) for rows in p.tables.values() for row in rows))


# I-80: 0 is for memory that is proved overwritten; an honest certificate of less has a code of its own, and says what it proves.
@case
def a_certificate_of_less_than_cleared_ends_3():
    path, seen = os.path.join(DIR, "certificate.json"), set()
    for r in json.loads(lethe("audit", "regions", "--json", *MADE).out)["regions"]:
        if not r["released"] or (r["grade"], r["proof"]) in seen:
            continue
        seen.add((r["grade"], r["proof"]))
        same(lethe("certificate", "-o", path, r["region"], *MADE).code, 0, r)
        verified = lethe("certificate", "--verify", path, *MADE)
        same(verified.code, 0 if r["proof"] == "cleared" else 3, r, verified)
        check(verified.out.startswith(b"holds: ") and (b"does not prove" in verified.out) == (verified.code == 3), verified)
        verified = lethe("certificate", "--verify", path, "--json", *MADE)
        o = json.loads(verified.out)
        same((verified.code, o["holds"], o["proof"]), (0 if r["proof"] == "cleared" else 3, True, r["proof"]), r)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace('"sig":"', '"sig":"A', 1))
        same(lethe("certificate", "--verify", path, *MADE).code, 1, r)
    same({proof for _, proof in seen}, {"cleared", "partial", "unscrubbed"})
    same({grade for grade, proof in seen if proof == "cleared"}, {"cleared", "cleared_early", "cleared_kernel"})


# None, one, and as many as a year may have: the page stays one that a browser opens.
@case
def any_number_of_regions():
    for n in (0, 1, 10000):
        store = ("--store", os.path.join(DIR, "store-%d" % n), "--anchor", os.path.join(DIR, "anchor-%d" % n))
        fill(store, n)
        p = page(store=store)
        listed = p.column("all", "region") if n else []
        same(len(listed), min(n, 1000))
        same(sum(map(int, p.column("grades", "regions"))) if n else 0, n)
        check(os.path.getsize(PAGE) < 2000000, n, os.path.getsize(PAGE))
        same(json.loads(lethe("report", *store, "-o", PAGE, "--json").out)["regions"], n)
        with open(PAGE, encoding="utf-8") as f:
            text = f.read()
        check("of %d region%s</h1>" % (n, "" if n == 1 else "s") in text and ("verdict idle" in text) == (n == 0), n)
        check(n <= 1000 or "The newest 1000 of 10000" in text)


@case
def a_region_that_ran_is_on_it():
    r = run("--exec", "/bin/echo", "hello")
    same(r.code, 0, r)
    p = page(store=())
    same(p.column("all", "region"), [r.receipt["region"]])
    same(p.column("all", "grade"), [r.receipt["teardown"]["grade"]], "page and receipt (I-16)")
    same("not covered" in p.verdict, bool(r.receipt["teardown"]["not_covered"]), p.verdict)
    same(set(p.column("classes", "class of storage")) if "classes" in p.tables else set(), set(r.receipt["teardown"]["not_covered"]))


@case
def what_cannot_be_written_ends_1_and_wrong_lines_2():
    r = lethe("report", *MADE, "-o", os.path.join(DIR, "no", "page"))
    check(r.code == 1 and b"cannot be written" in r.err, r)
    for argv in ((), ("-o",), ("-o", PAGE, "x"), ("-o", PAGE, "--since", "never"), ("--fix", "-o", PAGE)):
        r = lethe("report", *MADE, *argv)
        check(r.code == 2 and not r.out, argv, r)
    same(lethe("report", "--store", os.path.join(DIR, "nowhere"), "-o", PAGE).code, 1)


def pixels(path):
    """The set of colours of a PNG of 8-bit RGB or RGBA."""
    with open(path, "rb") as f:
        data = f.read()
    at, packed, colours = 8, b"", set()
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + n]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
            check(depth == 8 and colour in (2, 6) and interlace == 0, "a PNG of this kind")
        packed += body if kind == b"IDAT" else b""
        at += 12 + n
    raw, size = zlib.decompress(packed), 4 if colour == 6 else 3
    above = bytearray(width * size)
    for y in range(height):
        line = bytearray(raw[y * (width * size + 1) + 1:(y + 1) * (width * size + 1)])
        method = raw[y * (width * size + 1)]
        for x in range(len(line) if method else 0):
            a, b, c = (line[x - size] if x >= size else 0), above[x], (above[x - size] if x >= size else 0)
            if method == 4:
                p = a + b - c
                best = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[x] = line[x] + (a, b, (a + b) // 2, best if method == 4 else 0)[method - 1] & 255
        colours.update(line[x:x + 3].hex() for x in range(0, len(line), size))
        above = line
    return colours


def browser(*argv):
    program = shutil.which("chromium-headless-shell", path=ENV["PATH"]) or shutil.which("chromium", path=ENV["PATH"])
    if not program:
        raise Skip("neither chromium-headless-shell nor chromium is installed")
    r = subprocess.run([program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + os.path.join(DIR, "chromium"), *argv],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV, timeout=120, cwd=DIR)
    check(r.returncode == 0, r.stderr[-500:])
    return r.stdout


@case
def a_browser_shows_the_red_in_light_and_in_dark():
    png = os.path.join(DIR, "page.png")
    for scheme, paper, red in ((1, "ffffff", "c0182b"), (0, "12161c", "ff6b78")):
        for store, proved in ((MADE, False), (("--skill", "fact-extractor") + GOOD, True)):
            page(store=store)
            browser("--blink-settings=preferredColorScheme=%d" % scheme, "--window-size=800,700", "--screenshot=" + png, "file://" + PAGE)
            colours = pixels(png)
            check(paper in colours, "paper", scheme)
            same(red in colours, not proved, "red", scheme)


@case
def a_browser_reads_what_was_written():
    page()
    got = Page(re.sub(r"(<br|<meta[^>]*)/>", r"\1>", browser("--dump-dom", "file://" + PAGE).decode()))
    with open(PAGE, encoding="utf-8") as f:
        want = Page(f.read())
    same(got.tables, want.tables)
    same(got.elements, want.elements)


main()
