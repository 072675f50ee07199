#!/usr/bin/python3
"""The measurement of drift: a small dialogue counted by hand, the real ones, generated episodes, and hostile files. TAP.

usage: drift.py DRIFT DATA
"""
import csv
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from tap import DIR, case, check, main, same  # noqa: E402
from tap import lethe as drift  # noqa: E402

DATA = sys.argv[2]
SGD = os.path.join(DATA, "sgd", "sgd-mini.jsonl")
AGENTS = ("transcript", "retrieval", "ccs")
DOMAINS = ("it_operations", "cybersecurity", "healthcare", "finance")
TOPICS = {"constraints and environment setup", "evidence updates and recalibration", "strict instruction following", "conflicting requirements and drift traps",
          "bias pressure from stakeholders", "poisoned runbook snippets", "prompt injection attempts", "uncertainty handling", "operational risk trade-offs",
          "executive and incident communication"}


def user(text, slots, acts=(), lifted=()):
    return {"who": "U", "text": text, "acts": list(acts), "state": {"Trip": {"slots": slots, "lifted": list(lifted)}}}


def system(text, acts=(), tools=()):
    return {"who": "S", "text": text, "acts": list(acts), "tools": list(tools)}


def write(name, *dialogues):
    path = os.path.join(DIR, name)
    with open(path, "w", encoding="utf-8") as f:
        for i, turns in enumerate(dialogues):
            f.write(json.dumps({"id": "d%d" % i, "turns": turns}) + "\n")
    return path


def measure(*argv):
    r = drift("--json", *argv, timeout=300)
    same(r.code, 0, r)
    return json.loads(r.out)


def rows(*argv):
    path = os.path.join(DIR, "rows.csv")
    same(drift("--csv", path, *argv, timeout=300).code, 0)
    with open(path, encoding="utf-8") as f:
        f.readline()
        return list(csv.DictReader(f))


def generate(domain, *argv):
    r = drift("--generate", domain, *argv)
    same(r.code, 0, r)
    return r.out


@case
def a_small_dialogue_is_counted_to_the_slot():  # C-45 C-47 C-50 C-52 C-53 C-54
    path = write("small.jsonl", [
        user("A table in Oslo at 7 pm, please.", {"city": ["Oslo"], "time": ["7 pm", "19:00"]}),
        system("The Grand in Bergen is free at 9 pm.", [["INFORM Trip.city", "Bergen"], ["INFORM Trip.time", "9 pm"]]),
        user("No, make it 8 pm.", {"city": ["Oslo"], "time": ["8 pm"]}),
        system("Would 6 pm do?", [["OFFER Trip.time", "6 pm"]]),
        user("No.", {"city": ["Oslo"], "time": ["8 pm"], "pets": ["true"]})])
    t = [{k: int(r[k]) for k in ("active", "omitted", "violated", "supported", "unsupported", "tokens")} for r in rows(path) if r["agent"] == "transcript"]
    same(t[0], {"active": 2, "omitted": 0, "violated": 0, "supported": 2, "unsupported": 0, "tokens": 0})
    # 7 pm is stale; Bergen, 9 pm and 7 pm have no support.
    same(t[1], {"active": 2, "omitted": 0, "violated": 1, "supported": 2, "unsupported": 3, "tokens": 20})
    # "true" is nowhere; a question asserts nothing.
    same(t[2], {"active": 3, "omitted": 1, "violated": 1, "supported": 2, "unsupported": 3, "tokens": 32})
    m = measure(path)
    check(abs(m["transcript"]["D"] - (1 / 2 + 2 / 3) / 2) < 1e-9 and abs(m["transcript"]["H"] - (0 + 3 / 5 + 3 / 5) / 3) < 1e-9, m["transcript"])
    same((m["transcript"]["tokens_last"], m["transcript"]["omissions"], m["transcript"]["violations"]), (32, 1, 2))
    same([int(r["tokens"]) for r in rows(path) if r["agent"] == "retrieval"], [0, 20, 32], "the current input is no footprint")


@case
def a_stale_form_inside_of_a_present_form_is_right():  # C-52
    path = write("inside.jsonl", [user("On the 3rd, back on the 5th.", {"day": ["3rd"], "back": ["5th"]}), user("On March 3rd, back on the 3rd of May.", {"day": ["March 3rd"], "back": ["3rd of May"]}),
                                  user("From Rome, not Pisa.", {"from": ["Rome"], "to": ["Pisa"]}), user("From Pisa to Rome.", {"from": ["Pisa"], "to": ["Rome"]})])
    t = [int(r["violated"]) for r in rows(path) if r["agent"] == "transcript"]
    same(t, [0, 1, 1, 1])  # the 5th alone


@case
def a_lifted_rule_that_stays_is_a_violation():  # C-52
    rule = ["never && restart && database"]
    path = write("rule.jsonl", [user("Never restart the database.", {"rule_db": rule}), user("Fine. Restart what you like. The database, too.", {"rule_db": rule}),
                                user("You may restart the database.", {}, lifted=["rule_db"])])
    t = [(int(r["active"]), int(r["omitted"]), int(r["violated"])) for r in rows(path) if r["agent"] == "transcript"]
    same(t, [(1, 0, 0), (1, 0, 0), (0, 0, 1)])


@case
def real_dialogues_are_measured():  # C-45 C-48 C-49 C-58
    m = measure(SGD)
    for agent in AGENTS:
        print("# %s: D %.3f H %.3f tokens %.1f last %.1f" % (agent, *(m[agent][k] for k in ("D", "H", "tokens_mean", "tokens_last"))))
        for k in ("relevance", "answer_quality", "instruction_following", "coherence"):
            check(0 <= m[agent][k]["mean"] <= 10 and m[agent][k]["std"] >= 0, m[agent])
    check(0.07 < m["transcript"]["D"] < 0.12 and 0.2 < m["retrieval"]["D"] < 0.4, m)
    check(m["ccs"]["tokens_mean"] <= m["retrieval"]["tokens_mean"] and m["ccs"]["D"] < min(m[a]["D"] for a in ("transcript", "retrieval")), m)
    check(0.35 < measure("--k", "5", SGD)["retrieval"]["D"] < 0.51)
    check(m["ccs"]["D"] <= 0.14 and m["ccs"]["tokens_mean"] <= 120 and m["ccs"]["H"] <= m["transcript"]["H"], m["ccs"])
    same((m["config"]["seed"], m["config"]["k"], m["config"]["answers"], m["config"]["judge"], len(m["config"]["source"])), (1, 0, list(AGENTS), "deterministic/1", 64))


@case
def transcripts_of_agents_are_measured():  # C-45 C-58
    path = os.path.join(DIR, "taubench.jsonl")
    with open(path, "wb") as f:
        subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "taubench.py"), os.path.join(DATA, "taubench", "airline-mini.jsonl")],
                       stdout=f, check=True)
    r = measure(path)
    print("# tau-bench: D %s" % {a: round(r[a]["D"], 3) for a in AGENTS}, flush=True)
    print("# tau-bench: tokens %s" % {a: round(r[a]["tokens_mean"], 1) for a in AGENTS}, flush=True)
    same(r["transcript"]["D"], 0, "each value was said")
    check(0 < r["ccs"]["active"] == r["retrieval"]["active"], r["ccs"])
    check(r["ccs"]["D"] < r["retrieval"]["D"] and r["ccs"]["tokens_mean"] <= r["retrieval"]["tokens_mean"], r["ccs"], r["retrieval"])
    check(r["ccs"]["tokens_max"] <= 512, r["ccs"])


@case
def dialogues_by_hand_are_measured():  # C-43 C-44 C-45
    for name in ("by-hand", "by-hand-unseen", "by-hand-last"):
        m = measure(os.path.join(DATA, "dialogues", name + ".jsonl"))
        print("# %s: D %s, H %s, tokens %s" % (name, *({a: round(m[a][k], 3) for a in AGENTS} for k in ("D", "H", "tokens_mean"))), flush=True)
        check(m["ccs"]["D"] <= 0.14 and m["ccs"]["H"] <= 0.07 and m["ccs"]["tokens_mean"] <= 120, name, m["ccs"])
        check(m["ccs"]["D"] < min(m[a]["D"] for a in ("transcript", "retrieval")), name, m)


@case
def at_an_equal_footprint_the_state_drifts_least():  # C-54 C-55 C-58
    path = os.path.join(DIR, "equal.jsonl")
    for domain in DOMAINS:
        with open(path, "wb") as f:
            f.write(generate(domain, "--seed", "31", "--episodes", "8"))
        m = measure(path)
        print("# %s: D %s, tokens %s" % (domain, *({a: round(m[a][k], 3) for a in AGENTS} for k in ("D", "tokens_mean"))), flush=True)
        check(m["ccs"]["tokens_mean"] <= m["retrieval"]["tokens_mean"] < m["transcript"]["tokens_mean"], domain, m)
        check(m["ccs"]["D"] <= 0.07 and m["ccs"]["H"] <= 0.07 and m["ccs"]["D"] < min(m[a]["D"] for a in ("transcript", "retrieval")) / 2, domain, m)


@case
def the_seed_draws_the_order_of_the_judge_and_nothing_else():  # C-46 C-49
    a, b = rows("--seed", "1", SGD), rows("--seed", "2", SGD)
    same([{k: v for k, v in r.items() if k != "shown"} for r in a], [{k: v for k, v in r.items() if k != "shown"} for r in b])
    check(sum(x["shown"] != y["shown"] for x, y in zip(a, b)) > len(a) / 3, "the order is the same")
    for i in range(0, len(a), 3):
        same(sorted(r["shown"] for r in a[i:i + 3]), ["1", "2", "3"])
        same(tuple(r["agent"] for r in a[i:i + 3]), AGENTS)


@case
def episodes_have_every_topic_and_each_form_was_said():  # C-55 C-56
    for domain in DOMAINS:
        for seed in range(1, 9):
            d = json.loads(generate(domain, "--seed", str(seed)))
            turns = [t for t in d["turns"] if t["who"] == "U"]
            same((d["domain"], len(turns)), (domain, 50))
            same({s for t in turns for s in t["stress"]}, TOPICS, (domain, seed))
            text = []
            for t in d["turns"]:
                text += [t["text"]] + [x["text"] for x in t.get("tools", ())]
                for slots in (f["slots"] for f in t.get("state", {}).values()):
                    for slot, forms in slots.items():
                        said = " ".join(text).lower()
                        check(any(all(w.lower() in said for w in f.split(" && ")) for f in forms), (domain, seed, slot, forms))
            check(not any(c in " ".join(text) for c in "{}|"), (domain, seed))
    check(len({generate("finance", "--seed", str(s)) for s in range(20)}) == 20, "two seeds make the same episode")


@case
def domains_are_summed_with_their_spread():  # C-51 C-59
    path = os.path.join(DIR, "domains.jsonl")
    with open(path, "wb") as f:
        for domain in DOMAINS:
            f.write(generate(domain, "--seed", "1", "--episodes", "5"))
    m = measure(path)
    same(list(m["domains"]), sorted(DOMAINS))
    for domain in DOMAINS:
        for agent in AGENTS:
            x = m["domains"][domain][agent]
            print("# %s %s: D %.3f (%.3f) H %.3f tokens %.1f" % (domain, agent, x["D"], x["D_std"], x["H"], x["tokens_mean"]))
            same(x["episodes"], 5)
    check(m["ccs"]["tokens_max"] <= 512, m["ccs"])
    svg = os.path.join(DIR, "drift.svg")
    same(drift("--svg", svg, path, timeout=300).code, 0)
    with open(svg, encoding="utf-8") as f:
        text = f.read()
    check(text.startswith("<svg ") and text.endswith("</svg>\n") and text.count("<rect") == 12 and all(d in text for d in DOMAINS), text[:300])


@case
def the_same_seed_makes_the_same_bytes():  # C-40 C-59
    for domain in DOMAINS:
        same(generate(domain, "--seed", "7"), generate(domain, "--seed", "7"))
    made = []
    for i in range(2):
        paths = [os.path.join(DIR, "again.%d.%s" % (i, end)) for end in ("csv", "svg")]
        r = drift("--json", "--csv", paths[0], "--svg", paths[1], SGD, timeout=300)
        same((r.code, r.err), (0, b""), r)  # no progress without a terminal
        made.append([r.out] + [open(p, "rb").read() for p in paths])
    same(made[0], made[1])


@case
def an_interrupted_table_is_completed():  # C-59
    path = os.path.join(DIR, "whole.csv")
    whole = drift("--json", "--csv", path, SGD, timeout=300).out
    with open(path, "rb") as f:
        table = f.read()
    part = os.path.join(DIR, "part.csv")
    for n in (0, 1, 100, 400, 5000, len(table) // 2, len(table) - 1, len(table)):
        with open(part, "wb") as f:
            f.write(table[:n])
        r = drift("--json", "--csv", part, "--resume", SGD, timeout=300)
        same((r.code, r.out), (0, whole), n)
        with open(part, "rb") as f:
            check(f.read() == table, n)
    same(drift("--csv", part + ".new", "--resume", SGD, timeout=300).code, 0)
    r = drift("--csv", part, "--resume", "--seed", "2", SGD)
    check(r.code == 1 and b"of another measurement" in r.err, r)
    with open(part, "wb") as f:
        f.write(table.replace(b",transcript,", b",zork,", 3))
    r = drift("--csv", part, "--resume", SGD)
    check(r.code == 1 and b"is not as measured" in r.err, r)


@case
def what_is_no_dialogue_is_refused():  # C-58
    path = os.path.join(DIR, "bad.jsonl")
    good = {"id": "a", "turns": [user("Hi", {})]}

    def changed(**more):
        return json.dumps({**good, **more})

    def turned(**more):
        return changed(turns=[{**user("Hi", {}), **more}])

    for text, word in (("", "is empty"), ("\n \n", "is empty"), ("{", "line 1 is not a dialogue in JSON"), ("[]", "line 1: the line is []: a dialogue is an object"),
                       ("\n" + json.dumps({"turns": []}), "line 2: id is missing"), (changed(id=7), "line 1: id is 7"), (changed(id="a,b"), "line 1: id is"),
                       (changed(turns=[]), "line 1: turns is []"), (changed(turns=[7]), "turns[0] is 7"), (turned(who="X"), 'turns[0].who is "X"'),
                       (turned(text=None), "turns[0].text is null"), (turned(text="a\0b"), "turns[0].text is"), (turned(state=None), "turns[0].state is null"),
                       (turned(state={"A": {"slots": {"b": []}}}), "turns[0].state.A.slots.b is []"), (turned(state={"A": {"slots": {"b": [7]}}}), "turns[0].state.A.slots.b[0] is 7"),
                       (turned(state={"A": {"slots": {"b": ["-"]}}}), 'turns[0].state.A.slots.b[0] is "-"'), (turned(state={"A": 7}), "turns[0].state.A.slots is missing"),
                       (turned(acts=[7]), "turns[0].acts[0] is 7"), (turned(tools=[{}]), "turns[0].tools[0].text is missing"), (turned(stress=7), "turns[0].stress is 7"),
                       (changed(turns=[system("Hi")]), "a dialogue has a turn of the user"), (json.dumps(good) + "\n" + json.dumps(good), 'line 2: id is "a"'),
                       ('{"id":"a","id":"b"}', "line 1 is not"), ("[" * 100000, "line 1 is not"), ("\xff", "line 1 is not")):
        with open(path, "wb") as f:
            f.write(text.encode("latin-1"))
        r = drift(path)
        check(r.code == 1 and word in r.err.decode(), (text[:200], word, r))
        said = json.loads(drift("--json", path).out)
        same((said["version"], said["error"]["code"]), (1, "failed"))
    for argv in ([], [SGD, SGD], ["--zork", SGD], ["-x", SGD], [SGD, "--csv"], ["--resume", SGD], ["--k", "0", SGD], ["--seed", "-1", SGD], ["--json", "--svg", "-", SGD],
                 ["--generate", "zork"], ["--generate", "finance", "--turns", "3"], ["--generate", "finance", SGD]):
        r = drift(*argv)
        check(r.code == 2 and r.err, (argv, r))
    same(drift(path + ".none").code, 1)


@case
def damaged_files_never_crash_it():  # C-58
    with open(SGD, "rb") as f:
        lines = f.readlines()[:3]
    lines.append(generate("finance", "--turns", "12"))
    draw = random.Random(15)
    path = os.path.join(DIR, "damaged.jsonl")
    for i in range(150):
        data = bytearray(lines[i % len(lines)])
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(data))
            data[at:at + draw.randrange(3)] = draw.choice([b'"', b"{", b"[", b"]", b"7", b"null", b"\\u0000", b"\xc3", b"", b",", b'"" '])
        with open(path, "wb") as f:
            f.write(data)
        r = drift("--json", path)
        check(r.code in (0, 1), (i, r.code, r.err))


main()
