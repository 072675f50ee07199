#!/usr/bin/env python3
"""letters.py: prints supervisor/state/index/letters-table.h from Python's Unicode data.

Beyond ASCII every assigned character is part of a word but punctuation, symbols, spaces and controls. A letter folds to the base of its
compatibility decomposition, in lower case, when all that is left beside the base are combining marks of Latin, Greek and Cyrillic.
"""
import unicodedata

MARKS = (0x300, 0x36F)  # dropped within words: what is written with them and what is precomposed is one word
FOLDED = list(range(0xB2, 0x2000)) + list(range(0xFF10, 0xFF5B))


def kind(c):
    return unicodedata.category(chr(c))


def separators():
    """Ranges; characters that are not assigned go with those before them, so that the list is short."""
    ranges, now = [], None
    for c in range(0x80, 0x110000):
        k = kind(c)
        if k in ("Cn", "Co", "Cs"):
            continue
        if k[0] in "PSZC":
            now = [now[0], c] if now else [c, c]
        elif now:
            ranges.append(tuple(now))
            now = None
    return ranges + ([tuple(now)] if now else [])


def fold(c):
    if kind(c)[0] not in "LN":
        return c
    d = unicodedata.normalize("NFKD", chr(c))
    base = d[0] if all(MARKS[0] <= ord(x) <= MARKS[1] for x in d[1:]) else chr(c)
    return ord(base.lower()[0])


def runs():
    """(first, count, step, target, whether the target moves along), the longest from each place."""
    todo = {c: fold(c) for c in FOLDED if fold(c) != c}
    out = []
    while todo:
        first = min(todo)
        best = (0,)
        for step in (1, 2):
            for moves in (1, 0):
                n = 0
                while todo.get(first + n * step) == todo[first] + n * step * moves and (step == 1 or n == 0 or first + n * step - 1 not in todo):
                    n += 1
                best = max(best, (n, -step, moves))
        n, step, moves = best[0], -best[1], best[2]
        out.append((first, n, step, todo[first], moves))
        for i in range(n):
            del todo[first + i * step]
    return out


def print_rows(rows):
    line = "       "
    for row in rows:
        if len(line) + len(row) + 2 > 120:
            print(line)
            line = "       "
        line += " " + row + ","
    print(line)


print("/* Runs: supervisor, CLI. For index/words.c; made by scripts/lib/letters.py from Unicode %s. */" % unicodedata.unidata_version)
print("#pragma once\n\n#include <stdint.h>\n")
print("/* First and last of each range of separators beyond ASCII. */")
print("static const uint32_t separators[][2] = {")
print_rows(["{0x%x, 0x%x}" % r for r in separators()])
print("};\n")
print("/* Folded letters: the first, the count, the distance, the fold of the first, and whether the fold moves along. */")
print("static const struct {\n        uint16_t first;\n        uint8_t count, step;\n        uint16_t as;\n        uint8_t along;\n} folds[] = {")
print_rows(["{0x%x, %d, %d, 0x%x, %d}" % r for r in runs()])
print("};")
