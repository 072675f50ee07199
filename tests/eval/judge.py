#!/usr/bin/python3
"""Another judge, as a skill that asks a server of chat completions, against a server on the loopback that judges by rules, badly, or not at all. TAP.
No model was run: what is tested is the contract, and that no answer of a server counts unless the answer is a judgement.

usage: judge.py LETHE DRIFT ASK-JUDGE SKILL-FOLDER root|user
"""
import csv
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[5])
from tap import DIR, ENV, LETHE, case, check, main, same  # noqa: E402

DRIFT, ASK, FOLDER = (os.path.abspath(a) for a in sys.argv[2:5])


def norm(text):
    return " %s " % " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def by_rules(request):
    """Omissions and supported claims by the first words of each form: enough to tell the agents apart, the same at each run."""
    answers = []
    for a in request["answers"]:
        slots = [forms for s in request["memory"].values() for forms in s["slots"].values()]
        had = sum(any(norm(f) in norm(a["text"]) for f in forms) for forms in slots)
        share = 10 if not slots else round(10 * had / len(slots), 2)
        answers.append({"label": a["label"], "relevance": share, "answer_quality": share, "instruction_following": share, "coherence": 10, "supported": had,
                        "unsupported": 0, "violations": 0, "omissions": len(slots) - had})
    return {"answers": answers}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = json.loads(body["messages"][1]["content"])
        with self.server.lock:
            self.server.asked.append((body, request))
            kind = self.server.kind
        content = by_rules(request)
        if kind == "words":
            content = "The best answer is B."
        elif kind == "eleven":
            content["answers"][0]["coherence"] = 11
        elif kind == "two":
            content["answers"].pop()
        text = json.dumps({"choices": [{"message": {"role": "assistant", "content": json.dumps(content)}, "finish_reason": "stop"}]}).encode()
        self.send_response(500 if kind == "broken" else 200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
SERVER.lock, SERVER.asked, SERVER.kind = threading.Lock(), [], "rules"
SERVER.daemon_threads = True
threading.Thread(target=SERVER.serve_forever, daemon=True).start()
ADDRESS = "127.0.0.1:%d" % SERVER.server_address[1]


def turn(text, slots, lifted=()):
    return {"who": "U", "text": text, "acts": [], "state": {"Trip": {"slots": slots, "lifted": list(lifted)}}}


def small():
    """A dialogue of three turns: (requests, table)."""
    requests, table, dialogue = (os.path.join(DIR, n) for n in ("r.jsonl", "t.csv", "d.jsonl"))
    turns = [turn("I fly to Oslo.", {"city": ["Oslo"]}), {"who": "S", "text": "On which day?", "acts": []},
             turn("On Monday. Never book a night flight.", {"city": ["Oslo"], "day": ["Monday"], "rule_night": ["never && night && flight", "not && night && flight"]}),
             {"who": "S", "text": "Noted.", "acts": []}, turn("What is the weather?", {"city": ["Oslo"], "day": ["Monday"]})]
    with open(dialogue, "w", encoding="utf-8") as f:
        f.write(json.dumps({"id": "d0", "turns": turns}) + "\n")
    p = subprocess.run([DRIFT, "--requests", requests, "--csv", table, dialogue], capture_output=True, text=True, check=False)
    same(p.returncode, 0, p.stderr)
    return requests, table


def skill():
    folder = os.path.join(DIR, "judge")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        for name in ("SKILL.md", "lethe.json", "prompt.txt", "main.py"):
            shutil.copyfile(os.path.join(FOLDER, name), os.path.join(folder, name))
        with open(os.path.join(folder, "judge.json"), "w", encoding="utf-8") as f:
            json.dump({"url": "http://%s/v1/chat/completions" % ADDRESS, "model": "test", "timeout_seconds": 40, "max_tokens": 1024}, f)
    return folder


def judged(name, kind="rules"):
    requests, table = small()
    out = os.path.join(DIR, name)
    SERVER.kind = kind
    SERVER.asked.clear()
    p = subprocess.run([ASK, "--requests", requests, "--table", table, "--out", out, "--", LETHE, "run", "--connect", ADDRESS, skill()],
                       capture_output=True, text=True, check=False, env=ENV, timeout=200)
    same(p.returncode, 0, p.stderr)
    with open(out, encoding="utf-8") as f:
        text = f.read()
    return json.loads(p.stdout), text


@case
def the_request_has_input_memory_and_answers_without_names():  # C-47 C-49 C-57
    requests, table = small()
    with open(requests, encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    same(len(lines), 3)
    for line in lines:
        same(sorted(line), ["answers", "dialogue", "input", "memory", "question", "turn", "version"])
        same([a["label"] for a in line["answers"]], ["A", "B", "C"])
        check(not any(name in json.dumps([line["dialogue"], line["memory"]]) for name in ("transcript", "retrieval", "ccs")))
    with open(table, encoding="utf-8") as f:
        f.readline()
        orders = {(r["turn"], r["agent"]): int(r["shown"]) for r in csv.DictReader(f)}
    same("episodic_trace:" in lines[2]["answers"][orders["3", "ccs"] - 1]["text"], True)


@case
def a_judge_behind_a_skill_scores_each_turn():  # C-46 C-48 C-57
    result, text = judged("j.csv")
    same((result["turns"], result["unjudged"], len(SERVER.asked)), (3, 0, 3))
    check(all(body["temperature"] == 0 and body["model"] == "test" for body, _ in SERVER.asked))
    check(result["transcript"]["D"] >= 0 and result["ccs"]["relevance"] > 0, result)
    same(len(text.splitlines()), 2 + 3 * 3)
    same(judged("j2.csv")[1], text)
    same(judged("j2.csv")[1], text)
    same(len(SERVER.asked), 0, "a complete table asks for nothing")


@case
def an_interrupted_table_goes_on():  # C-59
    _, text = judged("whole.csv")
    with open(os.path.join(DIR, "cut.csv"), "w", encoding="utf-8") as f:
        f.write("\n".join(text.splitlines()[:6]) + "\n")
    same(judged("cut.csv")[1], text)
    same(len(SERVER.asked), 2)


@case
def an_answer_that_is_no_judgement_counts_for_nothing():  # C-57
    for kind in ("words", "eleven", "two", "broken"):
        result, text = judged(kind + ".csv", kind)
        same((result["unjudged"], len(SERVER.asked)), (3, 6), kind)
        check("unjudged" in text, kind)


main()
