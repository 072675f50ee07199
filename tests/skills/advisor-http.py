#!/usr/bin/python3
"""The advisor that asks a server of chat completions, in its region, against servers that answer well, badly, slowly, in part or with attacks. TAP.
No real model was asked: what is tested is that any answer ends in a request that was judged, or in the built-in interpreter.

usage: advisor-http.py LETHE ASK-ADVISOR ADVISOR-HTTP SKILL-FOLDER root|user
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[5])
from tap import DIR, ENV, LETHE, STORE, add, case, check, lethe, log, main, same  # noqa: E402
from server import REQUEST, Server, deaf_port  # noqa: E402

ASK, PROGRAM, FOLDER = (os.path.abspath(a) for a in sys.argv[2:5])
NOTE = "The parser is fixed."
KEY = "sk-test-5f1c9a7be2d04c6f"
SERVER = Server()


def skill(**config):
    """A copy of the skill with its own advisor.json."""
    folder = os.path.join(DIR, "advisor-http")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        for name in ("SKILL.md", "lethe.json", "prompt.txt"):
            shutil.copyfile(os.path.join(FOLDER, name), os.path.join(folder, name))
        shutil.copy(PROGRAM, os.path.join(folder, "advisor-http"))
    with open(os.path.join(folder, "advisor.json"), "w", encoding="utf-8") as f:
        json.dump(dict({"model": "test", "timeout_seconds": 40}, **config), f)
    return folder


def ask(path, *argv, note=NOTE, grant=True, **config):
    folder = skill(**dict({"url": SERVER.url(path)}, **config))
    connect = ["connect", SERVER.address() if grant is True else grant] if grant else []
    p = subprocess.run([ASK, STORE, folder, note, *connect, *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                       env=dict(ENV, LETHE_BUILD=os.path.dirname(LETHE)))
    same(p.returncode, 0, p.stdout, p.stderr)
    return json.loads(p.stdout)


def by_the_model(a):
    return a["r"] == 0 and a["code"] == "ok" and a["request"] == REQUEST and a["outcome"]["by"] == "skill" and not a["outcome"]["degraded"]


def degraded(a, code, words=""):
    o = a["outcome"]
    return a["r"] == 0 and a["code"] == "ok" and a["request"]["reference_text"] == "parser" and o["by"] == "built_in" and o["degraded"] \
        and o["fault"]["code"] == code and words in o["fault"]["message"]


# G-12
@case
def what_is_asked():
    del SERVER.asked[:]
    context = {"issues": [{"id": "parser_crash", "title": "x"}], "decisions": [], "constraints": []}
    check(by_the_model(ask("good", "--context", json.dumps(context))))
    (method, path, headers, body), = SERVER.asked
    body = json.loads(body)
    same((method, path, headers["Content-Type"], headers.get("Authorization")), ("POST", "/good", "application/json", None))
    same((body["model"], body["temperature"], body["stream"], body["response_format"]), ("test", 0, False, {"type": "json_object"}))
    same([m["role"] for m in body["messages"]], ["system", "user"])
    same(json.loads(body["messages"][1]["content"]), {"note": {"text": NOTE, "role": "agent"}, "context": context})


WELL = ["good", "charset", "on-lines", "fence", "nulls"]
for path in WELL:
    add("answered well: " + path, lambda path=path: check(by_the_model(ask(path)), path))  # G-10


# G-11
@case
def one_repair():
    del SERVER.asked[:]
    a = ask("repairs")
    check(by_the_model(a) and a["outcome"]["repaired"] and a["outcome"]["raw"][0] == "I would resolve it", a)
    messages = json.loads(SERVER.asked[1][3])["messages"]
    same([m["role"] for m in messages], ["system", "user", "assistant", "user"])
    check(messages[2]["content"].startswith("I would resolve it") and "refused" in messages[3]["content"], messages)


BADLY = [
    # path, code, words of the message
    ("words", "syntax", ""), ("array", "wrong_type", ""), ("several", "syntax", ""), ("escape", "control_character", ""), ("turned", "control_character", ""),
    ("nul", "advisor_exit", "no JSON object"), ("nul-inside", "control_character", ""), ("service", "service_metadata", ""), ("scope", "service_metadata", ""),
    ("other-scope", "bad_target", ""), ("kernel", "unknown_bucket", ""), ("more-than-sure", "out_of_range", ""), ("deep-content", "too_deep", ""),
    ("status-500", "advisor_exit", "status 500"), ("status-401", "advisor_exit", "status 401"), ("status-204", "advisor_exit", "status 204"),
    ("redirect", "advisor_exit", "status 302"), ("redirect-away", "advisor_exit", "status 307"), ("redirect-file", "advisor_exit", "status 301"),
    ("html", "advisor_exit", "not application/json"), ("not-quite-json", "advisor_exit", "not application/json"), ("no-type", "advisor_exit", "not application/json"),
    ("empty", "advisor_exit", "empty"), ("garbage", "advisor_exit", "no JSON object"), ("truncated", "advisor_exit", ""), ("chunks-cut", "advisor_exit", ""),
    ("cut-json", "advisor_exit", "no JSON object"), ("slow", "advisor_exit", "Timeout"), ("drip", "advisor_exit", "Timeout"), ("huge", "advisor_exit", "too long"),
    ("huge-headers", "advisor_exit", ""), ("bomb", "advisor_exit", "no JSON object"), ("deep", "advisor_exit", "no JSON object"), ("twice", "advisor_exit", "no JSON object"),
    ("no-choices", "advisor_exit", "no choices"), ("other-choices", "advisor_exit", "no choices"), ("no-content", "advisor_exit", "answer is empty"),
    ("blank", "advisor_exit", "answer is empty"), ("cut-off", "advisor_exit", "cut off"), ("too-much", "advisor_exit", "said too much"),
    ("garbage-line", "advisor_exit", ""),
]


def badly(path, code, words):
    other = Server() if path == "redirect-away" else None
    del SERVER.asked[:]
    if other:
        SERVER.other = other.server_port
    a = ask(path, **({"timeout_seconds": 1} if words == "Timeout" else {}))  # of the others none may be late on a busy machine
    check(degraded(a, code, words), a)
    same([x[1] for x in SERVER.asked], ["/" + path] * (1 if code == "advisor_exit" else 2), "what was asked")
    if other:
        other.end()
        same(other.asked, [])


for row in BADLY:
    add("answered badly: " + row[0], lambda row=row: badly(*row))  # G-11 G-12


# G-12
@case
def nobody_there():
    held, port = deaf_port()
    with held:
        check(degraded(ask("x", url="http://127.0.0.1:%d/x" % port, grant="127.0.0.1:%d" % port), "advisor_exit"))


# G-12 I-5
@case
def an_address_that_was_not_granted():
    del SERVER.asked[:]
    other = Server()
    a = ask("x", url=other.url("good"))
    check(degraded(a, "advisor_exit"), a)
    check(degraded(ask("good", grant=None), "advisor_exit"))
    other.end()
    same((SERVER.asked, other.asked), ([], []))


# G-12
@case
def other_protocols():
    for url in ("file:///skill/advisor.json", "ftp://127.0.0.1/x", "gopher://127.0.0.1:%d/x" % SERVER.server_port):
        check(degraded(ask("x", url=url), "advisor_exit", "url begins with"), url)


# G-12
@case
def a_configuration_that_is_not_in_order():
    for config in ({"model": ""}, {"timeout_seconds": 0}, {"temperature": 1}, {"model": "a\r\nb"}, {"key_file": 7}):
        check(degraded(ask("good", **config), "advisor_exit", "advisor.json"), config)


def everything_below(folder):
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as f:
                yield os.path.join(base, name), f.read()


# G-12
@case
def a_key_goes_to_the_server_and_nowhere_else():
    path = os.path.join(DIR, "key")
    with open(path, "w", encoding="utf-8") as f:
        f.write(KEY + "\n")
    del SERVER.asked[:]
    volume = ["volume", path + ":/run/advisor.key"]
    a = ask("good", *volume, key_file="/run/advisor.key")
    check(by_the_model(a), a)
    same(SERVER.asked[0][2]["Authorization"], "Bearer " + KEY)
    check(KEY.encode() not in SERVER.asked[0][3])
    b = ask("tells-key", *volume, key_file="/run/advisor.key")
    check(degraded(b, "advisor_exit", "holds the key"), b)
    check(KEY not in json.dumps([a, b]) and KEY not in json.dumps(log()))
    for name, bytes_ in everything_below(STORE):
        check(KEY.encode() not in bytes_, name)


# G-12
@case
def a_key_that_was_not_granted():
    del SERVER.asked[:]
    check(degraded(ask("good", key_file="/run/advisor.key"), "advisor_exit", "was not granted"))
    empty = os.path.join(DIR, "empty")
    with open(empty, "w", encoding="utf-8") as f:
        f.write("\n")
    check(degraded(ask("good", "volume", empty + ":/run/advisor.key", key_file="/run/advisor.key"), "advisor_exit", "holds no key"))
    same(SERVER.asked, [])


def certificate(name, subject):
    key, crt = os.path.join(DIR, name + ".key"), os.path.join(DIR, name + ".crt")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", crt, "-days", "2", "-subj",
                    "/CN=" + subject, "-addext", "subjectAltName=DNS:" + subject], check=True, capture_output=True)
    return crt, key


# G-12
@case
def https_with_a_name_that_nobody_looks_up():
    crt, key = certificate("model", "model.test")
    server = Server((crt, key))
    config = {"url": server.url("good", "model.test", "https"), "connect": server.address()}
    volume = ["volume", crt + ":/run/ca.pem"]
    try:
        check(by_the_model(ask("x", *volume, grant=server.address(), ca_file="/run/ca.pem", **config)))
        n = len(server.asked)
        check(degraded(ask("x", grant=server.address(), **config), "advisor_exit"), "no certificate is trusted")
        other, _ = certificate("other", "model.test")
        check(degraded(ask("x", "volume", other + ":/run/ca.pem", grant=server.address(), ca_file="/run/ca.pem", **config), "advisor_exit"), "another certificate is trusted")
        config["url"] = server.url("good", "bank.test", "https")
        check(degraded(ask("x", *volume, grant=server.address(), ca_file="/run/ca.pem", **config), "advisor_exit"), "another name")
        same(len(server.asked), n)
    finally:
        server.end()


# G-9
@case
def an_answer_that_resolves_by_a_tool_s_word():
    a = ask("good", "--role", "tool_result", note="the parser is fixed")
    check(a["code"] == "not_from_tool" and a["request"] is None and a["outcome"]["degraded"], a)


# I-2
@case
def the_skill_as_it_is_installed():
    folder = os.path.join(DIR, "installed", "advisor-http")
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("*.c", "*.h"))
    shutil.copy(PROGRAM, folder)
    r = lethe("validate", "--json", folder)
    same(r.code, 0, r)
    same(json.loads(r.out)["exposure"]["level"], "low")
    policy = os.path.join(DIR, "policy.json")
    with open(policy, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "network": {"connect": ["127.0.0.1:8080"]}}, f)
    for options, granted in (([], []), (["--policy", policy], ["127.0.0.1:8080"]), (["--connect", "127.0.0.1:8080"], ["127.0.0.1:8080"])):
        r = lethe("run", "--dry-run", "--json", *options, folder)
        shown = json.loads(r.out)
        same((shown["network"]["connect"], shown["files"]), (granted, []), options)


main()
