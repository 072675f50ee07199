#!/usr/bin/python3
"""Learns the coefficients of supervisor/state/belief/binding-coefficients.def from a history (README.md). Needs numpy.

usage: learn.py IDENTITY HISTORY.tsv >supervisor/state/belief/binding-coefficients.def

First a conditional logit with an outside option, then a logistic curve over what it says about its best candidate; both by
Newton's method from 0, with a ridge: the same input gives the same table. Each note counts once with its right rows, and a
quarter without them, so that the outside option is right for one note in five.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

ABSENT, RIDGE, STEPS, CLOSE, GAP_MOST = 0.25, 1.0, 60, 1e-6, 10.0
# Setting, further options, weight of each note. Without areas, and in small stores, words alone have to do.
SOURCES = (("life_cycle", (), 1.0), ("life_cycle_files", (), 1.0), ("all", (), 0.5), ("life_cycle", ("--bare",), 0.5), ("life_cycle_files", ("--bare",), 0.5),
           ("life_cycle_files", ("--thin", "16"), 0.25), ("life_cycle", ("--thin", "100"), 0.25), ("life_cycle", ("--bare", "--thin", "16"), 0.25),
           ("life_cycle", ("--bare", "--thin", "100"), 0.25), ("all", ("--bare", "--thin", "1000"), 0.5), ("all", ("--bare", "--thin", "250"), 0.25))

# Features of the best candidate, for the curve.
OF_BEST = ("told_of_row", "words_of_row", "words_of_note", "words", "rarest", "coverage", "same_area", "people_rare", "files_share", "files_rare", "files_none")


class Notes:
    """The notes of a source: features by note and candidate, padded with candidates of weight 0."""

    def __init__(self, path, weight):
        with open(path, encoding="ascii") as f:
            self.features, self.outside_names = f.readline().split()[1:], f.readline().split()[1:]
            heads, rows, sizes = [], [], []
            for line in f:
                if line.startswith("note"):
                    heads.append(line.split()[1:])
                    sizes.append(int(heads[-1][2]))
                else:
                    rows.append(line)
        table = np.array([np.array(r.split(), dtype=np.float32) for r in rows])
        most = max(sizes)
        self.x = np.zeros((len(sizes), most, len(self.features)), dtype=np.float32)
        self.there = np.zeros((len(sizes), most), dtype=bool)
        self.gold = np.zeros((len(sizes), most), dtype=bool)
        at = 0
        for i, n in enumerate(sizes):
            self.x[i, :n], self.gold[i, :n], self.there[i, :n] = table[at:at + n, 1:], table[at:at + n, 0] > 0, True
            at += n
        self.outside = np.array([h[3:] for h in heads], dtype=np.float64)
        absent = np.array([h[1] == "1" for h in heads])
        self.weight = weight * np.where(absent, ABSENT, 1.0)


def read(identity, history, folder):
    made = []
    for i, (setting, options, weight) in enumerate(SOURCES):
        path = os.path.join(folder, "features-%d" % i)
        subprocess.run([identity, "--features", path, "--setting", setting, *options, history], check=True, stdin=subprocess.DEVNULL)
        made.append(Notes(path, weight))
        os.unlink(path)
    return made


def scale(sources):
    """The standard deviation of each feature: features without a difference get the coefficient 0."""
    x = np.concatenate([s.x[s.there] for s in sources]).astype(np.float64)
    outside = np.concatenate([s.outside for s in sources])
    sd, sd_outside = x.std(0), np.sqrt((outside ** 2).mean(0))
    return np.where(sd > 0, sd, np.inf), np.where(sd_outside > 0, sd_outside, np.inf)


def step(notes, w, sd, sd_outside):
    """Gradient and information of the log-likelihood at w."""
    k = len(sd)
    gradient, information = np.zeros(len(w)), np.zeros((len(w), len(w)))
    for at in range(0, len(notes.weight), 512):
        part = slice(at, at + 512)
        x, outside = notes.x[part] / sd, notes.outside[part] / sd_outside
        there, gold, weight = notes.there[part], notes.gold[part], notes.weight[part]
        u, none = np.where(there, x @ w[:k], -np.inf), outside @ w[k:]
        most = np.maximum(u.max(1), none)
        e, e_none = np.exp(u - most[:, None]), np.exp(none - most)
        p, p_none = e / (e.sum(1) + e_none)[:, None], e_none / (e.sum(1) + e_none)
        right = p * gold
        has = gold.any(1)
        right = np.where(has[:, None], right / np.maximum(right.sum(1), 1e-300)[:, None], 0)
        right_none = np.where(has, 0.0, 1.0)
        d, d_none = (right - p) * weight[:, None], (right_none - p_none) * weight
        gradient[:k] += np.einsum("nc,ncf->f", d, x)
        gradient[k:] += d_none @ outside
        mean = np.concatenate([np.einsum("nc,ncf->nf", p, x), outside * p_none[:, None]], 1)
        flat = (x * np.sqrt(p * weight[:, None])[:, :, None]).reshape(-1, k)
        information[:k, :k] += flat.T @ flat
        information[k:, k:] += (outside * (p_none * weight)[:, None]).T @ outside
        information -= (mean * weight[:, None]).T @ mean
    return gradient, information


def learn(sources):
    sd, sd_outside = scale(sources)
    w = np.zeros(len(sd) + len(sd_outside))
    ridge = RIDGE * np.eye(len(w))
    for _ in range(STEPS):
        parts = [step(s, w, sd, sd_outside) for s in sources]
        gradient, information = sum(p[0] for p in parts) - ridge @ w, sum(p[1] for p in parts) + ridge
        move = np.linalg.solve(information, gradient)
        w += move / max(1.0, np.abs(move).max())
        if np.abs(move).max() < CLOSE:
            break
    else:
        sys.exit("learn.py: no end of Newton's method after %d steps" % STEPS)
    return w[:len(sd)] / sd, w[len(sd):] / sd_outside


def curve_features(notes, of_pair, of_outside):
    """The table of binding.c, binding_curve(): log-odds, gap to the second candidate, both again where files are known, best's features."""
    u = np.where(notes.there, notes.x.astype(np.float64) @ of_pair, -np.inf)
    none = notes.outside @ of_outside
    order = np.argsort(-u, axis=1, kind="stable")
    row = np.arange(len(u))
    best, second = order[:, 0], order[:, 1]
    most = u[row, best]
    rest = np.where(np.arange(u.shape[1])[None, :] == best[:, None], -np.inf, u)
    odds = most - np.logaddexp(none, np.logaddexp.reduce(rest, axis=1))
    gap = np.minimum(most - np.maximum(u[row, second], -1e9), GAP_MOST)
    files = notes.outside[:, notes.outside_names.index("files_known")]
    columns = [np.ones(len(u)), odds, gap, files, files * odds, files * gap] + [notes.x[row, best, notes.features.index(n)] for n in OF_BEST]
    any_there = notes.there.any(1)
    return np.stack(columns, 1).astype(np.float64)[any_there], notes.gold[row, best].astype(np.float64)[any_there], notes.weight[any_there]


def learn_curve(sources, of_pair, of_outside):
    made = [curve_features(s, of_pair, of_outside) for s in sources]
    x, right, weight = np.concatenate([m[0] for m in made]), np.concatenate([m[1] for m in made]), np.concatenate([m[2] for m in made])
    sd = np.sqrt((x ** 2).mean(0))
    sd = np.where(sd > 0, sd, np.inf)
    w = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-(x / sd) @ w))
        gradient = (x / sd).T @ (weight * (right - p)) - RIDGE * w
        information = ((x / sd) * (weight * p * (1 - p))[:, None]).T @ (x / sd) + RIDGE * np.eye(len(w))
        move = np.linalg.solve(information, gradient)
        w += move / max(1.0, np.abs(move).max())
        if np.abs(move).max() < CLOSE:
            break
    return w / sd


def main():
    identity, history = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        sources = read(identity, history, folder)
    of_pair, of_outside = learn(sources)
    of_curve = learn_curve(sources, of_pair, of_outside)
    print("/* Made by `tests/eval/learn.py IDENTITY %s`; not to be changed by hand. PAIR: a feature of note and row\n"
          " * (belief/pair.h). NONE: a feature of the outside option, that no candidate is right. CURVE: of the best\n"
          " * candidate, for its final probability (belief/binding.h). */" % os.path.basename(history))
    for name, value in zip(sources[0].features, of_pair):
        print("PAIR(%s, %.5f)" % (name, value))
    for name, value in zip(sources[0].outside_names, of_outside):
        print("NONE(%s, %.5f)" % (name, value))
    for name, value in zip(("always", "odds", "gap", "files", "files_odds", "files_gap") + OF_BEST, of_curve):
        print("CURVE(%s, %.5f)" % (name, value))


if __name__ == "__main__":
    main()
