#!/usr/bin/python3
"""How many notes could be bound by probability at how many wrong ones, whatever the threshold (README.md). Needs numpy.

usage: frontier.py IDENTITY COEFFICIENTS.def HISTORY.tsv

Each note is asked with its right rows and without them, so that a rate is a count of all notes, and not of one in five.
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
from learn import Notes, curve_features

ABSENT, WRONG = (0.005, 0.01, 0.02, 0.04), 0.007


def coefficients(path):
    made = {"PAIR": [], "NONE": [], "CURVE": []}
    with open(path, encoding="ascii") as f:
        for kind, value in re.findall(r"^(PAIR|NONE|CURVE)\(\w+, (-?[0-9.]+)\)", f.read(), re.M):
            made[kind].append(float(value))
    return [np.array(v) for v in made.values()]


def probabilities(notes, of_pair, of_outside, of_curve):
    """Probability of the best candidate and whether it is right, of all notes; 0 without a candidate."""
    p, right, there = np.zeros(len(notes.weight)), np.zeros(len(notes.weight), dtype=bool), notes.there.any(1)
    with np.errstate(invalid="ignore"):
        x, gold, _ = curve_features(notes, of_pair, of_outside)
    p[there], right[there] = 1 / (1 + np.exp(-x @ of_curve)), gold > 0
    return p, right


def most(p, right, absent, rate):
    """The lowest threshold with which at most `rate` of the notes without rows and WRONG of the others are bound wrongly."""
    for least in np.unique(p):
        bound = p >= least
        if (absent >= least).mean() <= rate and (bound & ~right).mean() <= WRONG:
            return bound.mean(), int((bound & ~right).sum()), int((absent >= least).sum()), least
    return 0.0, 0, 0, 1.0


def main():
    identity, table, history = sys.argv[1:]
    learned = coefficients(table)
    print("%-18s %6s  %s" % ("setting", "notes", "bound (wrong, without rows) at a probability, by the most notes without rows that are bound"))
    with tempfile.TemporaryDirectory() as folder:
        for setting in ("all", "life_cycle", "life_cycle_files"):
            path = os.path.join(folder, setting)
            subprocess.run([identity, "--features", path, "--setting", setting, history], check=True, stdin=subprocess.DEVNULL)
            p, right = probabilities(Notes(path, 1.0), *learned)
            points = ["%.1f %%: %.1f %% (%d, %d) at %.3f" % (100 * rate, 100 * b, w, a, least)
                      for rate in ABSENT for b, w, a, least in [most(p[0::2], right[0::2], p[1::2], rate)]]
            print("%-18s %6d  %s" % (setting, len(p) // 2, "; ".join(points)))


if __name__ == "__main__":
    main()
