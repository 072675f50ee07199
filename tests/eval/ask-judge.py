#!/usr/bin/python3
"""ask-judge.py --requests R.jsonl --table T.csv --out J.csv -- COMMAND…: scores the turns of tests/eval/drift with another judge (README.md).

COMMAND is run for each request, with the line on standard input, for example "lethe run SKILL"; its standard output is the judgement. T.csv, of the same
run of drift (--csv), has the order in which the judge saw the answers. An invalid judgement is asked for once more; then the turn counts as "unjudged",
and no other judge takes its place. J.csv has a row for each turn and agent. An interrupted run goes on with J.csv. The means go to standard output as JSON.
"""
import argparse
import csv
import json
import os
import subprocess
import sys

SCORES = ("relevance", "answer_quality", "instruction_following", "coherence")
COUNTS = ("supported", "unsupported", "violations", "omissions")
NAMES = ["dialogue", "turn", "agent", "label", *SCORES, *COUNTS]


def judgement(text, labels):
    """The entries by label, or None when the text is not valid."""
    try:
        entries = {e["label"]: e for e in json.loads(text)["answers"]}
        if set(entries) != set(labels):
            return None
        for e in entries.values():
            if any(isinstance(e[n], bool) or not isinstance(e[n], (int, float)) or not 0 <= e[n] <= 10 for n in SCORES):
                return None
            if any(isinstance(e[n], bool) or not isinstance(e[n], int) or not 0 <= e[n] <= 10000 for n in COUNTS):
                return None
        return entries
    except (ValueError, KeyError, TypeError):
        return None


def ask(command, line, labels):
    for _ in range(2):
        p = subprocess.run(command, input=line, capture_output=True, text=True, check=False)
        entries = judgement(p.stdout, labels) if p.returncode == 0 else None
        if entries:
            return entries
    return None


def mean(values):
    return round(sum(values) / len(values), 6) if values else 0


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("requests", "table", "out"):
        a.add_argument("--" + name, required=True)
    a.add_argument("command", nargs="+")
    a = a.parse_args()
    with open(a.table, encoding="utf-8") as f:
        config = f.readline().strip()
        shown = {(r["dialogue"], r["turn"], int(r["shown"])): r for r in csv.DictReader(f)}
    with open(a.requests, encoding="utf-8") as f:
        requests = [line for line in f if line.strip()]
    rows, done = [], set()
    if os.path.exists(a.out):
        with open(a.out, encoding="utf-8") as f:
            if f.readline().strip() != config:
                sys.exit("ask-judge: %s is of another measurement" % a.out)
            rows = [r for r in csv.DictReader(f) if None not in r.values()]
        whole = len(rows) - len(rows) % 3
        rows = rows[:whole]
        done = {(r["dialogue"], r["turn"]) for r in rows}
    with open(a.out, "w", encoding="utf-8", newline="") as f:
        f.write(config + "\n")
        table = csv.DictWriter(f, NAMES, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        for i, line in enumerate(requests):
            r = json.loads(line)
            key = (r["dialogue"], str(r["turn"]))
            if key in done:
                continue
            if sys.stderr.isatty():
                print("\r%d of %d turns" % (i, len(requests)), end="", file=sys.stderr)
            entries = ask(a.command, line, [e["label"] for e in r["answers"]])
            for k, answer in enumerate(r["answers"], 1):
                row = {"dialogue": key[0], "turn": key[1], "agent": shown[(*key, k)]["agent"], "label": answer["label"]}
                row.update({n: entries[answer["label"]][n] if entries else "unjudged" for n in (*SCORES, *COUNTS)})
                rows.append(row)
                table.writerow(row)
            f.flush()
    result = {"config": config, "command": a.command[0], "turns": len(requests), "unjudged": sum(r["relevance"] == "unjudged" for r in rows) // 3}
    active = {(r["dialogue"], r["turn"], r["agent"]): int(r["active"]) for r in shown.values()}
    for agent in ("transcript", "retrieval", "ccs"):
        own = [r for r in rows if r["agent"] == agent and r["relevance"] != "unjudged"]
        later = [r for r in own if r["turn"] != "1"]
        result[agent] = {n: mean([float(r[n]) for r in own]) for n in SCORES}
        result[agent]["H"] = mean([int(r["unsupported"]) / max(1, int(r["supported"]) + int(r["unsupported"])) for r in own])
        result[agent]["D"] = mean([(int(r["violations"]) + int(r["omissions"])) / max(1, active[r["dialogue"], r["turn"], agent]) for r in later])
    print(json.dumps(result, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
