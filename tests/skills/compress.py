#!/usr/bin/python3
"""advisor-http as the compressor of a cognitive session, with a server on the loopback in place of a model. TAP.

usage: compress.py LETHE ADVISOR-HTTP FOLDER root|user
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[4])
from server import Server, completion  # noqa: E402
from tap import DIR, ENV, LETHE, case, check, main, same  # noqa: E402

PROGRAM, FOLDER = os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3])


def state(told, constraints=None):
    keep = told["keep"]
    return ("episodic_trace:\nsemantic_gist: check(gateway)\nfocal_entities:\n service(gateway)\nrelational_map:\ngoal_orientation: %s\nconstraints:\n%spredictive_cue:\n"
            "uncertainty_signal:\n level(low)\nretrieved_artifacts:\n"
            % (" & ".join(keep["goal_orientation"]), "".join(" %s\n" % c for c in (keep["constraints"] if constraints is None else constraints))))


def model(handler, body):
    """Drops all rules at first, and learns; another path never learns."""
    messages = json.loads(body)["messages"]
    told = json.loads(messages[1]["content"])
    again = len(messages) > 2
    handler.answer(completion(json.dumps({"ccs": state(told, None if again and "learns" in handler.path or "good" in handler.path else [])})))


def ccs(*argv, say=None):
    p = subprocess.run([LETHE, "ccs", *argv, "--json"], env=ENV, text=True, timeout=120, input=None if say is None else json.dumps(say), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
    same(p.returncode, 0, p.stdout, p.stderr)
    return json.loads(p.stdout)


def turn(server, path):
    folder = os.path.join(DIR, "advisor-http")
    if not os.path.isdir(folder):
        shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.c", "*.h"))
        shutil.copy(PROGRAM, folder)
    with open(folder + "/advisor.json", "w", encoding="utf-8") as f:
        json.dump({"url": server.url(path), "model": "test", "timeout_seconds": 40}, f)
    s = ccs("begin", "--compressor", folder, "--set", "connect=" + server.address())["session"]
    return s, ccs("turn", s, say={"input": "The gateway is slow. Never touch host db1."})


@case
def a_server_of_chat_completions_compresses():  # C-26, C-29
    server = Server()
    server.RequestHandlerClass = type("H", (server.RequestHandlerClass,), {"good_state": model, "learns": model, "lies": model})
    try:
        s, t = turn(server, "good-state")
        same(t["degraded"], False, t)
        check("service(gateway)" in t["ccs"] and "db1" in t["ccs"], t)
        system, user = json.loads(server.asked[0][3])["messages"]
        check("Nine fields" in system["content"], system)
        same(sorted(json.loads(user["content"])), ["artifacts", "bound", "ccs", "decision", "input", "keep", "schema", "tools", "turn"])
        s, t = turn(server, "learns")
        same((t["degraded"], ccs("show", s)["proposal"]["repaired"]), (False, True), t)
        check("is missing" in json.loads(server.asked[-1][3])["messages"][3]["content"], server.asked[-1])
        s, t = turn(server, "lies")
        same((t["degraded"], t["fault"]["code"]), (True, "lost"), t)
        s, t = turn(server, "status-500")
        same((t["degraded"], t["fault"]["code"]), (True, "advisor_exit"), t)
        s, t = turn(server, "words")
        same((t["degraded"], t["fault"]["code"]), (True, "syntax"), t)
    finally:
        server.end()


main()
