#!/usr/bin/python3
"""Reads a policy document, writes what it states as typed facts."""
import re
import sys

import markdown
from lxml import html

import lethe

NUMBERS = {word: n for n, word in enumerate("zero one two three four five six seven eight nine ten".split())}

# What is looked for: the fact's name, the section of the document, a pattern with the number, its unit.
WANTED = [
    ("passengers-per-reservation", "Book flight", r"at most (\w+) passengers", "passengers"),
    ("travel-certificates-per-reservation", "Book flight", r"at most (\w+) travel certificate", "pieces"),
    ("credit-cards-per-reservation", "Book flight", r"at most (\w+) credit card", "pieces"),
    ("gift-cards-per-reservation", "Book flight", r"at most (\w+) gift cards", "pieces"),
    ("extra-bag", "Book flight", r"extra baggage is (\d+) dollars", "dollars"),
    ("insurance-per-passenger", "Book flight", r"is (\d+) dollars per passenger", "dollars"),
    ("free-cancellation", "Cancel flight", r"within (\d+) hours of booking", "hours"),
    ("refund-at-the-latest", "Cancel flight", r"in \d+ to (\d+) business days", "days"),
    ("cancelled-flight-per-passenger", "Refund", r"cancelled flights .*amount being \$(\d+) times", "dollars"),
    ("delayed-flight-per-passenger", "Refund", r"delayed flights .*amount being \$(\d+) times", "dollars"),
]


def sections(path):
    """The document's rules: {heading: [sentence, ...]}."""
    with open(path, encoding="utf-8") as f:
        tree = html.fromstring(markdown.markdown(f.read()))
    found, heading = {}, ""
    for element in tree.iter("h1", "h2", "li"):
        text = " ".join(element.text_content().split())
        if element.tag == "li":
            found.setdefault(heading, []).extend(re.split(r"(?<=[.!])\s+", text))
        else:
            heading = text
    return found


def number(word):
    return NUMBERS[word] if word in NUMBERS else int(word)


def facts(rules):
    out = []
    for name, section, pattern, unit in WANTED:
        for sentence in rules.get(section, []):
            match = re.search(pattern, sentence)
            if match:
                out.append({"fact": name, "value": number(match.group(1)), "unit": unit, "section": section, "sentence": sentence})
                break
        else:
            sys.exit("the document does not state: " + name)
    return out


def baggage(rules):
    out = {}
    for sentence in rules.get("Book flight", []):
        member = re.search(r"booking user is a (\w+) member", sentence)
        if member:
            bags = re.findall(r"(\d+) free checked bags? for each (basic economy|economy|business) passenger", sentence)
            out[member.group(1)] = {cabin.replace(" ", "_"): int(n) for n, cabin in bags}
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: extract.py DOCUMENT")
    rules = sections(sys.argv[1])
    found, bags = facts(rules), baggage(rules)
    lethe.write("airline.facts", found)
    lethe.write("airline.baggage", bags)
    lethe.result({"facts": len(found), "levels": len(bags)})
    print("%d sections, %d rules read; %d facts and %d member levels written" % (
        len(rules), sum(map(len, rules.values())), len(found), len(bags)))


main()
