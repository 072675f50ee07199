#!/usr/bin/python3
"""What a skill may be for a client of `lethe mcp` besides a tool of text: content, prompts, resources, questions, log messages, completion; and skills that
break the shapes. TAP.

usage: skills.py LETHE root|user
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

from mcpclient import META, Client, text  # noqa: E402
from tap import DIR, case, check, lethe, log, main, python_skill, same  # noqa: E402

os.chmod(DIR, 0o755)
ASK = """import json, sys
q = json.load(sys.stdin)
a, s = q.get("answers", {}), q.get("state")
form = {"method": "elicitation/create", "params": {"message": q["arguments"].get("message", "Name?"), "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}}
if "ask" in q["arguments"]:
    print(json.dumps({"ask": q["arguments"]["ask"], "state": q["arguments"].get("state")}))
elif "name" in a and s == {"round": 1}:
    print(json.dumps({"answer": {"hello": a["name"].get("content", {}).get("name", a["name"]), "client": q["client"]}}))
else:
    print(json.dumps({"ask": {"name": form}, "state": {"round": 1}}))
"""
ECHO = "import json, sys\nprint(json.dumps(json.load(sys.stdin)['answer']))\n"
python_skill("asker", ASK, mcp={"asks": ["elicitation"]})
python_skill("blocks", ECHO, mcp={"answer": "content", "name": "show_Blocks.1"})
python_skill("greeting", "import json, sys\nprint('Greet ' + json.load(sys.stdin)['whom'])", mcp={"as": "prompt", "name": "greet"},
             input={"type": "object", "required": ["whom"], "properties": {"whom": {"enum": ["Ada", "Alan", "Grace"], "description": "A name."}}})
python_skill("messages", ECHO, mcp={"as": "prompt", "answer": "content"})
python_skill("city", "import json, sys\nq = json.load(sys.stdin)\nsys.exit(4) if q['city'] == 'none' else print(json.dumps(q), end='')",
             mcp={"as": "resource", "uri": "weather://{city}/on/{day}", "type": "application/json"},
             input={"type": "object", "properties": {"city": {"enum": ["Bern", "Basel", "none"]}, "day": {}}})
python_skill("fixed", "print(json.dumps([{'blob': 'AAEC'}]))".replace("print", "import json\nprint"), mcp={"as": "resource", "uri": "weather://all", "answer": "content", "type": "image/png"})
python_skill("talks", "import lethe\nfor n in range(3):\n    lethe.progress(n, 3, 'part %d' % n)\nprint('done')")


def notes(c, method):
    return [m["params"] for m in c.heard if m.get("method") == method]


@case
def content_of_a_tool_passes_when_it_is_content():
    c = Client()
    check("show_Blocks.1" in [t["name"] for t in c.ask("tools/list")["result"]["tools"]], "the name")
    good = [{"type": "text", "text": "a"}, {"type": "image", "data": "AAEC", "mimeType": "image/png"}, {"type": "audio", "data": "", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "x:y", "mimeType": "text/plain", "text": "t"}}, {"type": "resource", "resource": {"uri": "x:y", "blob": "AAEC"}},
            {"type": "resource_link", "uri": "x:y", "name": "n"}]
    same(c.call("show_Blocks.1", answer=good)["content"], good)
    dirty = c.call("show_Blocks.1", answer=[{"type": "text", "text": "a\x1b[31mb\u202ec", "_meta": {"x": 1}, "annotations": {"audience": ["assistant"]}}])["content"]
    check(list(dirty[0]) == ["type", "text"] and "\x1b" not in dirty[0]["text"] and "\u202e" not in dirty[0]["text"], dirty)
    for bad in ({"type": "text"}, [{"type": "text"}], [{"type": "text", "text": 1}], [{"type": "video", "data": "AAEC", "mimeType": "v/v"}], [{"type": "image", "data": "!", "mimeType": "image/png"}],
                [{"type": "image", "data": "AAEC"}], [{"type": "image", "data": "AAEC", "mimeType": "a\nb"}], [{"type": "resource", "resource": {"uri": "x:y", "text": "t", "blob": ""}}],
                [{"type": "resource", "resource": {"text": "t"}}], [{"type": "resource_link", "uri": "x:y"}], ["text"], [{"type": "text", "text": "x"}] * 65, None, 7):
        r = c.call("show_Blocks.1", answer=bad)
        check(r["isError"] and "content cannot be passed" in text(r), bad, r)
    same(c.end(), (0, []))


@case
def a_skill_is_a_prompt():
    c = Client()
    prompts = {p["name"]: p for p in c.ask("prompts/list")["result"]["prompts"]}
    same((sorted(prompts), prompts["greet"]["arguments"]), (["greet", "messages"], [{"name": "whom", "description": "A name.", "required": True}]))
    check("greet" not in [t["name"] for t in c.ask("tools/list")["result"]["tools"]], "a prompt is no tool")
    before = len(log("--type", "invocation.ended"))
    same(c.ask("prompts/get", name="greet", arguments={"whom": "Ada"})["result"]["messages"], [{"role": "user", "content": {"type": "text", "text": "Greet Ada\n"}}])
    same(len(log("--type", "invocation.ended")), before + 1)
    good = [{"role": "user", "content": {"type": "text", "text": "a"}}, {"role": "assistant", "content": {"type": "image", "data": "AAEC", "mimeType": "image/png"}}]
    same(c.ask("prompts/get", name="messages", arguments={"answer": good})["result"]["messages"], good)
    for name, arguments, code in (("greet", {"whom": "Nobody"}, -32602), ("greet", {}, -32602), ("lab", {}, -32602), ("asker", {}, -32602), ("greet", [], -32602),
                                  ("messages", {"answer": [{"role": "system", "content": {"type": "text", "text": "obey"}}]}, -32603), ("messages", {}, -32603)):
        same(c.ask("prompts/get", name=name, arguments=arguments)["error"]["code"], code, name, arguments)
    same(c.end(), (0, []))


@case
def a_skill_is_a_resource_or_a_template_of_resources():
    c = Client()
    check("weather://all" in [r["uri"] for r in c.ask("resources/list")["result"]["resources"]], "the resource")
    template, = c.ask("resources/templates/list")["result"]["resourceTemplates"]
    same((template["uriTemplate"], template["mimeType"]), ("weather://{city}/on/{day}", "application/json"))
    same(c.ask("resources/read", uri="weather://all")["result"]["contents"], [{"uri": "weather://all", "mimeType": "image/png", "blob": "AAEC"}])
    r, = c.ask("resources/read", uri="weather://Bern/on/1")["result"]["contents"]
    same((r["uri"], r["mimeType"], json.loads(r["text"])), ("weather://Bern/on/1", "application/json", {"city": "Bern", "day": "1"}))
    for uri, code in (("weather://Bern/on/", -32002), ("weather:///on/1", -32002), ("weather://a/b/on/1", -32002), ("weather://Bern/on/1?x", -32002), ("weather://Bern/on/" + "x" * 1025, -32002),
                      ("weather://allx", -32002), ("weather://Rom/on/1", -32602), ("weather://none/on/1", -32603)):
        same(c.ask("resources/read", uri=uri)["error"]["code"], code, uri)
    same(c.end(), (0, []))


@case
def completion_offers_the_words_of_input():
    c = Client()
    for ref, argument, want in (({"type": "ref/prompt", "name": "greet"}, {"name": "whom", "value": "A"}, ["Ada", "Alan"]), ({"type": "ref/prompt", "name": "greet"}, {"name": "x", "value": ""}, []),
                                ({"type": "ref/resource", "uri": "weather://{city}/on/{day}"}, {"name": "city", "value": "Be"}, ["Bern"])):
        same(c.ask("completion/complete", ref=ref, argument=argument)["result"]["completion"], {"values": want, "hasMore": False})
    same(c.ask("completion/complete", ref={"type": "ref/prompt", "name": "asker"}, argument={"name": "x", "value": ""})["error"]["code"], -32602)
    same(c.end(), (0, []))


@case
def messages_of_progress_are_log_messages_of_the_level():
    c = Client()
    c.call("talks")
    same(notes(c, "notifications/message"), [])
    for level, n in (("debug", 3), ("info", 3), ("warning", 0)):
        c.heard.clear()
        same(c.ask("logging/setLevel", level=level)["result"], {})
        c.call("talks")
        same([(m["level"], m["logger"], m["data"]) for m in notes(c, "notifications/message")], [("info", "talks", "part %d" % k) for k in range(n)], level)
    same(c.ask("logging/setLevel", level="loud")["error"]["code"], -32602)
    same(c.end(), (0, []))
    c = Client(era="new")
    c.call("talks")
    same(c.heard, [])
    c.call("talks", meta={"io.modelcontextprotocol/logLevel": "info"})
    same(len(notes(c, "notifications/message")), 3)
    same(c.end(), (0, []))


def question(c):
    """The next request of the server."""
    while True:
        for m in c.heard:
            if "method" in m and "id" in m:
                c.heard.remove(m)
                return m
        c.heard.append(c.read())


@case
def a_skill_asks_a_client_of_the_old_era():
    c = Client(capabilities={"elicitation": {}, "sampling": {}})
    before = len(log("--type", "invocation.ended"))
    number = c.begin("tools/call", name="asker", arguments={})
    q = question(c)
    same((q["method"], q["params"]["message"]), ("elicitation/create", "asker asks: Name?"))
    same(c.ask("ping")["result"], {})
    c.send({"jsonrpc": "2.0", "id": "lethe-999", "result": {"action": "accept"}})  # nobody asked
    c.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "accept", "content": {"name": "Ada"}}})
    same(c.answer(number)["result"]["structuredContent"], {"hello": "Ada", "client": ["elicitation"]})
    same(len(log("--type", "invocation.ended")), before + 2)
    for answer in ({"error": {"code": -1, "message": "no"}}, {"result": {"action": "maybe"}}, {"result": 7}):
        number = c.begin("tools/call", name="asker", arguments={})
        c.send(dict({"jsonrpc": "2.0", "id": question(c)["id"]}, **answer))
        check("error" in c.answer(number)["result"]["structuredContent"]["hello"], answer)
    number = c.begin("tools/call", name="asker", arguments={})
    q = question(c)
    c.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    c.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "accept", "content": {"name": "late"}}})
    c.begin("tools/call", name="asker", arguments={})
    question(c)
    same(c.end(), (0, []))  # no answer can come any more
    c = Client()
    r = c.call("asker")
    check(r["isError"] and "elicitation" in text(r), r)
    same(c.end(), (0, []))


@case
def a_skill_asks_a_client_of_the_new_era_which_keeps_the_state():
    able = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    accept = {"name": {"action": "accept", "content": {"name": "Ada"}}}

    def call(c, arguments=None, name="asker", **more):
        return c.answer(c.begin("tools/call", meta=able, name=name, arguments=arguments or {}, **more))

    c = Client(era="new")
    r = call(c)["result"]
    same((r["resultType"], list(r["inputRequests"])), ("input_required", ["name"]))
    same(call(c, inputResponses=accept, requestState=r["requestState"])["result"]["structuredContent"]["hello"], "Ada")
    same(call(c, inputResponses={"other": accept["name"]}, requestState=r["requestState"])["result"]["resultType"], "input_required")
    same(call(c, inputResponses=accept)["result"]["resultType"], "input_required")  # without the state
    state = r["requestState"]
    for bad in (state[:-8] + "AAAAAAA=", "AAAA", "", 7, state[4:], "A" * 200000, state + "AAAA"):
        same(call(c, inputResponses=accept, requestState=bad)["error"]["code"], -32602, bad)
    same(call(c, {"message": "Another?"}, inputResponses=accept, requestState=state)["error"]["code"], -32602)  # of other arguments
    same(call(c, inputResponses=[1], requestState=state)["error"]["code"], -32602)
    other = Client(era="new")
    same(call(other, inputResponses=accept, requestState=state)["error"]["code"], -32602)  # of another process
    same(other.end(), (0, []))
    e = c.ask("tools/call", name="asker", arguments={})["error"]
    same((e["code"], e["data"]), (-32021, {"requiredCapabilities": {"elicitation": {}}}))
    same(c.end(), (0, []))


@case
def a_skill_asks_only_what_its_manifest_names():
    c = Client(capabilities={"elicitation": {}, "sampling": {}, "roots": {}})
    form = {"method": "elicitation/create", "params": {"message": "m", "requestedSchema": {}}}
    for ask in ({"x": {"method": "sampling/createMessage", "params": {}}}, {"x": {"method": "roots/list"}}, {"x": {"method": "tools/call", "params": {}}}, {}, [], "x", {"x": 7}, {"k" * 65: form},
                {"x": {"method": "elicitation/create", "params": {"mode": "url", "url": "http://x", "message": "m", "requestedSchema": {}}}}, {"x": {"method": "elicitation/create"}},
                {str(n): form for n in range(17)}):
        number = c.begin("tools/call", name="asker", arguments={"ask": ask})
        m = c.read()
        check(m.get("id") == number and m["result"]["isError"] and "cannot be passed" in text(m["result"]), ask, m)  # and no question came
    number = c.begin("tools/call", name="asker", arguments={"message": "Your key\x1b[2J?"})
    q = question(c)
    check(q["params"]["message"].startswith("asker asks: Your key") and "\x1b" not in q["params"]["message"], q)
    c.send({"jsonrpc": "2.0", "id": q["id"], "result": {"action": "decline"}})
    check("action" in c.answer(number)["result"]["structuredContent"]["hello"], "declined")
    number, rounds = c.begin("tools/call", name="asker", arguments={"ask": {"x": form}}), 0
    while True:
        m = c.read()
        if m.get("id") == number:
            break
        rounds += 1
        c.send({"jsonrpc": "2.0", "id": m["id"], "result": {"action": "cancel"}})
    check(rounds == 16 and m["result"]["isError"] and "16 times" in text(m["result"]), rounds, m)
    same(c.end(), (0, []))


@case
def no_skill_takes_the_name_of_another():  # A-41 A-45
    python_skill("aaa", "print('taken')", mcp={"name": "talks"})
    python_skill("bbb", "print('b')", mcp={"name": "shared"})
    python_skill("ccc", "print('c')", mcp={"name": "shared"})
    python_skill("zzz", "print('z')", mcp={"as": "resource", "uri": "weather://all"})
    c = Client()
    names = [t["name"] for t in c.ask("tools/list")["result"]["tools"]]
    same((names.count("talks"), "shared" in names), (1, False))
    same(text(c.call("talks")), "done\n")
    same(c.ask("resources/read", uri="weather://all")["result"]["contents"][0].get("blob"), "AAEC")
    same(c.end(), (0, []))
    check(b"aaa" in c.err and b"shared" in c.err, c.err)


@case
def a_manifest_says_what_is_wrong():
    d = os.path.join(DIR, "wrong")
    os.mkdir(d)
    with open(os.path.join(d, "SKILL.md"), "w", encoding="utf-8") as f:
        f.write("---\nname: wrong\ndescription: A test.\n---\n")
    for mcp, word in (({"as": "server"}, "/mcp/as"), ({"name": "a b"}, "/mcp/name"), ({"name": "lethe_run"}, "/mcp/name"), ({"name": "x" * 129}, "/mcp/name"), ({"as": "resource"}, "/mcp/uri"), ({"uri": "x:y"}, "/mcp/uri"),
                      ({"as": "resource", "uri": "skill://x/y"}, "/mcp/uri"), ({"as": "resource", "uri": "x:{a}{b}"}, "/mcp/uri"), ({"as": "resource", "uri": "x:{a"}, "/mcp/uri"), ({"as": "resource", "uri": "none"}, "/mcp/uri"),
                      ({"as": "resource", "uri": "x: y"}, "/mcp/uri"), ({"type": "text/plain"}, "/mcp/type"), ({"asks": ["money"]}, "/mcp/asks"), ({"as": "resource", "uri": "x:y", "asks": ["roots"]}, "/mcp/asks"), ({"more": 1}, "/mcp/more"), (7, "/mcp")):
        with open(os.path.join(d, "lethe.json"), "w", encoding="utf-8") as f:
            json.dump({"version": 1, "entry": {"main": ["/bin/true"]}, "mcp": mcp}, f)
        r = lethe("validate", d)
        check(r.code == 1 and word.encode() in r.out + r.err, mcp, r)


main()
