#!/usr/bin/python3
"""`lethe mcp` from outside, as a client of the Model Context Protocol sees it: both eras, tools that are skills and commands, progress, cancels,
skills as resources, policy, and clients that break the protocol. TAP.

usage: mcp.py LETHE root|user
"""
import base64
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading

from account import use

use(sys.argv[2])

from mcpclient import META, MODERN, Client, text  # noqa: E402
from tap import DIR, ENV, ask_daemon, case, check, lethe, log, main, processes_below, python_skill, same, wait_for  # noqa: E402

os.chmod(DIR, 0o755)
LAB = """import json, os, sys, time
import lethe
q = json.load(sys.stdin)
if "progress" in q:
    for n in q["progress"]:
        lethe.progress(n, 10, "step %d" % n)
if "sleep" in q:
    print("sleeps", file=sys.stderr)
    time.sleep(q["sleep"])
if "exit" in q:
    print("no luck", file=sys.stderr)
    sys.exit(q["exit"])
if "open" in q:
    open(q["open"])
if "grow" in q:
    held = bytearray(q["grow"])
if "print" in q:
    print(q["print"])
else:
    lethe.result({"sum": q.get("a", 0) + q.get("b", 0)} if "bad" not in q else {"sum": "many"})
"""
python_skill("lab", LAB, output={"type": "object", "required": ["sum"], "properties": {"sum": {"type": "number"}}},
             input={"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}})
python_skill("plain", "import sys; print('got ' + sys.stdin.read().strip())")


def ended():
    return {e["region"]: e for e in log("--type", "invocation.ended")}


def with_policy(**mcp):
    path = os.path.join(DIR, "policy-%d.json" % len(os.listdir(DIR)))
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"version": 1, "mcp": mcp}, f)
    return path


@case
def the_old_era_begins_with_initialize():
    c = Client()
    first = c.first["result"]
    same((first["protocolVersion"], first["serverInfo"]["name"], sorted(first["capabilities"])), ("2025-11-25", "lethe", ["completions", "extensions", "logging", "prompts", "resources", "tools"]))
    same(c.ask("ping")["result"], {})
    check("resultType" not in c.ask("tools/list")["result"], "of the new era")
    for method in ("server/discover", "resources/subscribe", "nothing"):
        same(c.ask(method)["error"]["code"], -32601, method)
    same(c.end(), (0, []))
    for asked, got in (("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"), ("1999-01-01", "2025-11-25")):
        c = Client(era="none")
        same(c.ask("initialize", protocolVersion=asked, capabilities={})["result"]["protocolVersion"], got)
        same(c.end()[0], 0)


@case
def the_new_era_says_its_version_in_each_request():
    c = Client(era="new")
    r = c.ask("server/discover")["result"]
    same((r["supportedVersions"], r["resultType"], r["cacheScope"]), ([MODERN], "complete", "private"))
    same(r["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "lethe")
    r = c.ask("tools/list")["result"]
    same((r["resultType"], r["ttlMs"], "tools" in r), ("complete", 0, True))
    r = c.call("lab", a=1, b=2)
    same((r["structuredContent"], r["resultType"]), ({"sum": 3}, "complete"))
    for method in ("initialize", "ping", "logging/setLevel", "resources/subscribe"):
        same(c.ask(method)["error"]["code"], -32601, method)
    bad = c.ask("tools/list", meta={"io.modelcontextprotocol/protocolVersion": "2031-01-01"})["error"]
    same((bad["code"], bad["data"]), (-32022, {"supported": [MODERN], "requested": "2031-01-01"}))
    c.era = "none"
    same(c.ask("tools/list")["error"]["code"], -32602)
    same(c.ask("tools/list", meta={"io.modelcontextprotocol/protocolVersion": MODERN})["error"]["code"], -32602)
    same(c.ask("initialize", protocolVersion="2025-11-25", capabilities={})["result"]["protocolVersion"], "2025-11-25")
    check("tools" in c.ask("tools/list")["result"], "initialize makes the process one of the old era")
    same(c.end(), (0, []))


@case
def a_skill_is_a_tool_and_a_call_a_region():
    c = Client()
    tools = {t["name"]: t for t in c.ask("tools/list")["result"]["tools"]}
    same(list(tools), ["lethe_run", "lethe_why", "lab", "plain"])
    same((tools["lab"]["description"], tools["lab"]["inputSchema"]["properties"]["a"], tools["lab"]["outputSchema"]["required"]), ("A test.", {"type": "number"}, ["sum"]))
    same((tools["plain"]["inputSchema"], "outputSchema" in tools["plain"]), ({"type": "object"}, False))
    first, second = c.call("lab", a=20, b=22), c.call("lab", a=1)
    same((first["structuredContent"], text(first), second["structuredContent"]), ({"sum": 42}, '{"sum":42}', {"sum": 1}))
    regions = [r["_meta"]["lethe/region"] for r in (first, second)]
    check(regions[0] != regions[1], regions)
    all_ended = ended()
    same([all_ended[r]["outcome"] for r in regions], ["exited"] * 2)
    r = c.call("plain", x=[1, "é"])
    same((text(r), "structuredContent" in r, "isError" in r), ('got {"x":[1,"\\u00e9"]}\n' if "\\u00e9" in text(r) else 'got {"x":[1,"é"]}\n', False, False))
    if ENV.get("LETHE_SOCKET") and os.environ.get("LETHE_TEST_SERVE") == "1":
        check(ask_daemon("status")["served"] >= 3, "the daemon was not asked")
    same(c.end(), (0, []))


@case
def what_does_not_fit_is_an_error_of_the_result():  # A-41 A-44
    c = Client()
    before = len(ended())
    r = c.call("lab", a="two")
    check(r["isError"] and '"/a"' in text(r) and "type" in text(r), r)
    same(len(ended()), before)
    for arguments, word in (({"bad": 1}, "does not fit"), ({"print": "no JSON"}, "not one JSON value")):
        r = c.call("lab", **arguments)
        check(r["isError"] and word in text(r), r)
    same(c.call("lab", print='{"sum": 5}')["structuredContent"], {"sum": 5})
    same(c.ask("tools/call", name="nobody", arguments={})["error"]["code"], -32602)
    same(c.ask("tools/call", name="lab", arguments=[1])["error"]["code"], -32602)
    same(c.ask("tools/call", arguments={})["error"]["code"], -32602)
    same(c.end(), (0, []))


@case
def a_failed_call_says_how_and_what_would_help():
    c = Client()
    r = c.call("lab", exit=3)
    check(r["isError"] and "exit code 3" in text(r) and "no luck" in text(r), r)
    r = c.call("lab", open="/etc/shadow")
    check(r["isError"] and '"files": [{"path": "/etc/shadow"' in text(r) and r["_meta"]["lethe/region"] in text(r), r)
    r = c.call("lab", grow=400 << 20)
    check(r["isError"] and "out_of_region" in text(r) and "memory" in text(r), r)
    r = c.call("lethe_run", program="/no/such/program")
    check(r["isError"] and "/no/such/program" in text(r), r)
    same(c.end(), (0, []))


@case
def progress_goes_to_the_client_that_asked():
    c = Client()
    r = c.call("lab", meta={"progressToken": "p-1"}, progress=[1, 4, 4, 2, 9])
    same(r["structuredContent"], {"sum": 0})
    told = [m["params"] for m in c.heard if m.get("method") == "notifications/progress"]
    same([(t["progressToken"], t["progress"], t["total"], t["message"]) for t in told],
         [("p-1", 1, 10, "step 1"), ("p-1", 4, 10, "step 4"), ("p-1", 9, 10, "step 9")])
    c.heard.clear()
    c.call("lab", progress=[1, 2])
    same(c.heard, [])
    same(c.ask("tools/call", meta={"progressToken": [1]}, name="lab", arguments={})["error"]["code"], -32602)
    same(c.end(), (0, []))


@case
def a_cancelled_call_ends_its_region_and_answers_nothing():
    c = Client()
    before = set(ended())
    number = c.begin("tools/call", name="lab", arguments={"sleep": 600})
    wait_for(lambda: len(log("--type", "region.allocated")) > len(log("--type", "region.released")), "the region")
    c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number, "reason": "enough"}})
    c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 10 ** 6}})
    wait_for(lambda: len(ended()) > len(before), "the end")
    region, = set(ended()) - before
    same((ended()[region]["outcome"], ended()[region].get("signal")), ("cancelled", ended()[region].get("signal")))
    same(c.call("lab", a=7)["structuredContent"], {"sum": 7})
    same((c.end(), c.heard), ((0, []), []))


@case
def commands_are_tools_and_arguments_are_no_options():
    same(lethe("slot", "define", "count", "--schema", "-", input=b'{"type": "integer"}').code, 0)
    same(lethe("scope", "create", "default").code in (0, 1), True)
    c = Client("--tools", "all")
    names = [t["name"] for t in c.ask("tools/list")["result"]["tools"]]
    check(len(names) == len(set(names)) and {"lethe_slot_put", "lethe_memory_search", "lethe_object_list", "lethe_audit"} <= set(names), names)
    same(c.call("lethe_slot_put", name="count", value=7, expect=0).get("isError"), None)
    same(c.call("lethe_slot_get", name="count")["structuredContent"]["value"], 7)
    r = c.call("lethe_slot_put", name="count", value=8, expect=0)
    check(r["isError"] and "version" in text(r), r)
    r = c.call("lethe_slot_get", name="--help")
    check(r["isError"] and "Usage" not in text(r), r)
    run = c.call("lethe_note_begin", agent="scribe")["structuredContent"]["run"]
    same(c.call("lethe_note_add", run=run, text="issue boot_fails: it does not boot").get("isError"), None)
    check("boot_fails" in text(c.call("lethe_promote", run=run)), "the note's fate")
    same([r["id"] for r in c.call("lethe_belief_list", bucket="issues")["structuredContent"]["rows"]], ["boot_fails"])
    check("boot_fails" in text(c.call("lethe_context")), "context")
    saved = c.call("lethe_memory_save", family="knowledge_projections", payload={"title": "boot", "text": "needs power"})
    check("isError" not in saved, saved)
    check("needs power" in text(c.call("lethe_memory_load", family="knowledge_projections", id=saved["structuredContent"]["id"])), saved)
    check("boot" in text(c.call("lethe_memory_search", query="power")), "search")
    same(c.call("lethe_audit")["structuredContent"]["intact"], True)
    r = c.call("lethe_run", program="python3", args=["-c", "print(input()[::-1])"], stdin="lethe\n")
    same((text(r), "isError" in r), ("ehtel\n", False))
    check("region" in c.call("lethe_why", region=r["_meta"]["lethe/region"])["structuredContent"], "why")
    r = c.call("lethe_run", program="sleep", args=["60"], timeout="200ms")
    check(r["isError"] and "wall" in text(r), r)
    same(c.end(), (0, []))


@case
def policy_says_what_a_client_may_have():  # A-41 A-42
    policy = with_policy(desk={"skills": ["lab"], "tools": ["why", "run"]}, all={"tools": []})
    c = Client("--policy", policy, "--client", "desk")
    same([t["name"] for t in c.ask("tools/list")["result"]["tools"]], ["lethe_run", "lethe_why", "lab"])
    same(c.ask("tools/call", name="plain", arguments={})["error"]["code"], -32602)
    same([s["frontmatter"]["name"] for s in c.ask("skills/list")["result"]["skills"]], ["lab"])
    same(c.ask("resources/read", uri="skill://plain/SKILL.md")["error"]["code"], -32002)
    same(c.end()[0], 0)
    c = Client("--policy", policy, "--client", "all")
    same([t["name"] for t in c.ask("tools/list")["result"]["tools"]], ["lab", "plain"])
    same(c.end()[0], 0)
    for argv, word in ((["--client", "nobody"], "nobody"), ([], "--client is needed"), (["--client", "desk", "--tools", "slots"], '"slots"'),
                       (["--client", "desk", "--skills", "plain"], '"plain"')):
        r = lethe("mcp", "--policy", policy, *argv)
        check(r.code == 1 and word.encode() in r.err, argv, r)
    for argv, word in ((["--tools", "everything"], "everything"), (["--skills", "No"], "No")):
        r = lethe("mcp", *argv)
        check(r.code == 2 and word.encode() in r.err, argv, r)


@case
def skills_are_resources_with_the_digests_of_their_registration():
    c = Client("--skills", "lab")
    skill, = c.ask("skills/list")["result"]["skills"]
    same((skill["uri"], skill["frontmatter"]), ("skill://lab/SKILL.md", {"name": "lab", "description": "A test."}))
    same(c.ask("skills/get", uri=skill["uri"])["result"]["skill"], skill)
    same(sorted(r["uri"] for r in c.ask("resources/list")["result"]["resources"]), sorted(f["uri"] for f in skill["resources"]))
    for f in skill["resources"]:
        got, = c.ask("resources/read", uri=f["uri"])["result"]["contents"]
        data = got["text"].encode() if "text" in got else base64.b64decode(got["blob"])
        same(("sha256:" + hashlib.sha256(data).hexdigest(), len(data)), (f["digest"], f["size"]))
    for uri in ("skill://lab/../plain/main.py", "skill://lab/%2e%2e/plain/main.py", "skill://lab//etc/passwd", "file:///etc/passwd", "skill://nobody/SKILL.md",
                "skill://lab/%zz", "skill://lab/%00", "skill://lab"):
        same(c.ask("resources/read", uri=uri)["error"]["code"], -32002, uri)
    same(c.ask("resources/templates/list")["result"]["resourceTemplates"], [])
    python_skill("moving", "print(1)")
    same(c.end()[0], 0)
    c = Client("--skills", "moving")
    same(len(c.ask("skills/list")["result"]["skills"]), 1)
    with open(os.path.join(DIR, "moving", "main.py"), "w", encoding="utf-8") as f:
        f.write("print(2)")
    same(c.ask("skills/list")["result"]["skills"], [])
    r = c.ask("resources/read", uri="skill://moving/main.py")
    same(r["error"]["code"], -32002)
    same([t["name"] for t in c.ask("tools/list")["result"]["tools"]], ["lethe_run", "lethe_why"])
    same(c.end()[0], 0)


@case
def broken_messages_are_answered_and_the_next_is_taken():
    c = Client()
    for data, code in ((b"{half\n", -32700), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600), (b'"text"\n', -32600),
                       (b'{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600), (b'{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600),
                       (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}\n', -32700), (b'{"id":1}\n', -32600),
                       (b"[" * 100000 + b"\n", -32700), (b"\xff\xfe\n", -32700), (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}\n', -32600),
                       (b'{"jsonrpc":"2.0","id":"' + b"x" * 5000 + b'","method":"ping"}\n', -32600), (b"x" * 1500000 + b"\n", -32600)):
        c.raw(data)
        same(c.read()["error"]["code"], code, data[:60])
    c.raw(b'\n\r\n{"jsonrpc":"2.0","method":"notifications/none"}\n{"jsonrpc":"2.0","id":99,"result":{}}\n')
    number = c.begin("tools/call", name="lab", arguments={"sleep": 600})
    c.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "lab", "arguments": {}}})
    same(c.read()["error"]["code"], -32600)
    c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    for i in range(3000):  # nobody reads meanwhile
        c.n += 1
        c.send({"jsonrpc": "2.0", "id": c.n, "method": "ping"})
        if i % 500 == 499:
            same([c.read()["id"] for _ in range(500)], list(range(c.n - 499, c.n + 1)))
    same(c.call("lab", a=1)["structuredContent"], {"sum": 1})
    same(c.end(), (0, []))


@case
def calls_at_once_are_bounded_and_do_not_wait_for_each_other():
    c = Client()
    slow = [c.begin("tools/call", name="lethe_run", arguments={"program": "sleep", "args": ["600"]}) for _ in range(2)]
    same(c.call("lethe_run", program="echo", args=["fast"])["content"][0]["text"], "fast\n")
    for number in slow:
        c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    same(c.end(), (0, []))


@case
def the_end_of_input_lets_calls_end_and_a_lost_client_does_not():  # A-40 A-44
    c = Client()
    number = c.begin("tools/call", name="lab", arguments={"a": 5})
    code, rest = c.end()
    same((code, [(m["id"], m["result"]["structuredContent"]) for m in rest]), (0, [(number, {"sum": 5})]))
    for how in ("reader", signal.SIGTERM):
        before = set(ended())
        c = Client()
        c.begin("tools/call", name="lab", arguments={"sleep": 600})
        wait_for(lambda: len(log("--type", "region.allocated")) > len(log("--type", "region.released")), "the region")
        if how == "reader":
            c.p.stdout.close()
            c.p.stdin.close()
            same(c.p.wait(120), 0)
        else:
            c.p.send_signal(how)
            same(c.p.wait(120), 128 + how)
        wait_for(lambda: len(ended()) == len(before) + 1, "the end")
        region, = set(ended()) - before
        same(ended()[region]["outcome"], "cancelled", how)
        same(processes_below(c.p.pid), [])


main()
