"""The tools, prompts and resources that the protocol's conformance suite asks for, as skills. Each call of one is a region of its own."""
import base64
import json
import os
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
                       + chunk(b"IEND", b"")).decode()
WAV = base64.b64encode(b"RIFF" + struct.pack("<I", 44) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data"
                       + struct.pack("<I", 8) + b"\x80" * 8).decode()


def text(s):
    return {"type": "text", "text": s}


def image():
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def embedded(uri, kind, s):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": s}}


def said(value):
    """A program that always answers the same."""
    return "import json\nprint(json.dumps(json.loads(%r)))\n" % json.dumps(value)


def form(message, properties, required=()):
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": {
        "type": "object", "properties": properties, **({"required": list(required)} if required else {})}}}


def sample(words):
    return {"method": "sampling/createMessage", "params": {"messages": [{"role": "user", "content": text(words)}], "maxTokens": 100}}


ROOTS = {"method": "roots/list", "params": {}}


def asks(questions, state=None, answer="text('; '.join(sorted(answers)))", head=""):
    """A program that asks until it has all answers."""
    return """import json, sys
q = json.load(sys.stdin)
answers, arguments, state = q.get("answers", {}), q["arguments"], q.get("state")
def text(s):
    return [{"type": "text", "text": s}]
%s
questions = %s
if all(k in answers for k in questions):
    print(json.dumps({"answer": %s}))
else:
    print(json.dumps(dict({"ask": questions}, **%s)))
""" % (head, questions if isinstance(questions, str) else "json.loads(%r)" % json.dumps(questions), answer, "{'state': json.loads(%r)}" % json.dumps(state) if state else "{}")


ELICITED = "text('Elicitation completed: action=%s, content=%s' % (answers['form']['action'], json.dumps(answers['form'].get('content'))))"
NAME = form("What is your name?", {"name": {"type": "string"}}, ["name"])
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {"type": "string", "oneOf": [{"const": "value%d" % n, "title": t} for n, t in enumerate(("First Option", "Second Option", "Third Option"), 1)]},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value%d" % n, "title": t} for n, t in enumerate(("First Choice", "Second Choice", "Third Choice"), 1)]}},
}
DEFAULTS = {"name": {"type": "string", "default": "John Doe"}, "age": {"type": "integer", "default": 30}, "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}, "verified": {"type": "boolean", "default": True}}
TALK = "import lethe, time\nfor n in (0, 50, 100):\n    lethe.progress(n, 100, 'step %d' % n)\n    time.sleep(0.05)\nprint('done')\n"
ELICIT, SAMPLE, ALL = ["elicitation"], ["sampling"], ["elicitation", "roots", "sampling"]
STRING = {"type": "object", "required": ["prompt"], "properties": {"prompt": {"type": "string"}}}

# name of the tool: program, members of "mcp", other members of the manifest
TOOLS = {
    "test_simple_text": (said([text("This is a simple text response for testing.")]), {"answer": "content"}, {}),
    "test_image_content": (said([image()]), {"answer": "content"}, {}),
    "test_audio_content": (said([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]), {"answer": "content"}, {}),
    "test_embedded_resource": (said([embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]), {"answer": "content"}, {}),
    "test_multiple_content_types": (said([text("Multiple content types test:"), image(), embedded(
        "test://mixed-content-resource", "application/json", '{"test":"data","value":123}')]), {"answer": "content"}, {}),
    "test_tool_with_logging": (TALK, {}, {}),
    "test_tool_with_progress": (TALK, {}, {}),
    "test_logging_tool": (TALK, {}, {}),
    "test_streaming_elicitation": (asks({"user_name": NAME}), {"answer": "content", "asks": ELICIT}, {}),
    "test_error_handling": ("import sys\nsys.exit('This tool intentionally returns an error for testing')\n", {}, {}),
    "test_sampling": (asks("{'sample': {'method': 'sampling/createMessage', 'params': {'messages': [{'role': 'user', 'content': text(arguments['prompt'])[0]}], 'maxTokens': 100}}}",
                           answer="text('LLM response: ' + answers['sample']['content'].get('text', ''))"), {"answer": "content", "asks": SAMPLE}, {"input": STRING}),
    "test_elicitation": (asks("{'form': {'method': 'elicitation/create', 'params': {'message': arguments['message'], 'requestedSchema': {'type': 'object', 'properties': "
                              "{'username': {'type': 'string'}, 'email': {'type': 'string'}}, 'required': ['username', 'email']}}}}",
                              answer="text('User response: ' + json.dumps(answers['form']))"), {"answer": "content", "asks": ELICIT},
                         {"input": {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}}}),
    "test_elicitation_sep1034_defaults": (asks({"form": form("Values with defaults", DEFAULTS)}, answer=ELICITED), {"answer": "content", "asks": ELICIT}, {}),
    "test_elicitation_sep1330_enums": (asks({"form": form("Values of lists", ENUMS)}, answer=ELICITED), {"answer": "content", "asks": ELICIT}, {}),
    "test_missing_capability": (asks({"sample": sample("Say hello")}), {"answer": "content", "asks": SAMPLE}, {}),
    "test_input_required_result_elicitation": (asks({"user_name": NAME}, answer="text('Hello, %s!' % answers['user_name'].get('content', {}).get('name', ''))"),
                                               {"answer": "content", "asks": ELICIT}, {}),
    "test_input_required_result_sampling": (asks({"capital_question": sample("What is the capital of France?")}, answer="text(answers['capital_question']['content'].get('text', ''))"),
                                            {"answer": "content", "asks": SAMPLE}, {}),
    "test_input_required_result_list_roots": (asks({"client_roots": ROOTS}, answer="text(' '.join(r['uri'] for r in answers['client_roots']['roots']))"),
                                              {"answer": "content", "asks": ["roots"]}, {}),
    "test_input_required_result_request_state": (asks({"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}, state={"round": 1},
                                                      answer="text('state-ok' if state else 'no state')"), {"answer": "content", "asks": ELICIT}, {}),
    "test_input_required_result_tampered_state": (asks({"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}, state={"round": 1}),
                                                  {"answer": "content", "asks": ELICIT}, {}),
    "test_input_required_result_multiple_inputs": (asks({"user_name": NAME, "greeting": sample("Generate a greeting"), "client_roots": ROOTS}, state={"round": 1}),
                                                   {"answer": "content", "asks": ALL}, {}),
    "test_input_required_result_multi_round": ("""import json, sys
q = json.load(sys.stdin)
answers, state = q.get("answers", {}), q.get("state") or {}
def form(message, key):
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}}}
if "step2" in answers and "name" in state:
    print(json.dumps({"answer": [{"type": "text", "text": "%s likes %s" % (state["name"], answers["step2"].get("content", {}).get("color"))}]}))
elif "step1" in answers:
    print(json.dumps({"ask": {"step2": form("Step 2: What is your favorite color?", "color")}, "state": {"name": answers["step1"].get("content", {}).get("name")}}))
else:
    print(json.dumps({"ask": {"step1": form("Step 1: What is your name?", "name")}, "state": {"round": 1}}))
""", {"answer": "content", "asks": ELICIT}, {}),
    "test_input_required_result_capabilities": (asks("{k: v for k, v in json.loads(%r).items() if v['method'].split('/')[0] in q['client']}" % json.dumps(
        {"name": NAME, "sampled": sample("Say hello")})), {"answer": "content", "asks": ALL}, {}),
}
ARGUMENTS = {"type": "object", "required": ["arg1", "arg2"], "properties": {
    "arg1": {"type": "string", "description": "First test argument"}, "arg2": {"type": "string", "description": "Second test argument"}}}
PROMPTS = {
    "test_simple_prompt": ("print('This is a simple prompt for testing.')\n", {}, {}),
    "test_prompt_with_arguments": ("import json, sys\nq = json.load(sys.stdin)\nprint(\"Prompt with arguments: arg1='%s', arg2='%s'\" % (q['arg1'], q['arg2']))\n", {}, {"input": ARGUMENTS}),
    "test_prompt_with_embedded_resource": ("""import json, sys
uri = json.load(sys.stdin)["resourceUri"]
print(json.dumps([{"role": "user", "content": {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": "Embedded resource content for testing."}}},
                  {"role": "user", "content": {"type": "text", "text": "Please process the embedded resource above."}}]))
""", {"answer": "content"}, {"input": {"type": "object", "required": ["resourceUri"], "properties": {"resourceUri": {"type": "string"}}}}),
    "test_prompt_with_image": (said([{"role": "user", "content": image()}, {"role": "user", "content": text("Please analyze the image above.")}]), {"answer": "content"}, {}),
    "test_input_required_result_prompt": (asks({"user_context": form("What context should the prompt use?", {"context": {"type": "string"}}, ["context"])},
                                               answer="[{'role': 'user', 'content': text('Context: %s' % answers['user_context'].get('content', {}).get('context'))[0]}]"),
                                          {"answer": "content", "asks": ELICIT}, {}),
}
RESOURCES = {
    "static-text": ("print('This is the content of the static text resource.', end='')\n", {"uri": "test://static-text"}, {}),
    "static-binary": (said([{"blob": PNG}]), {"uri": "test://static-binary", "type": "image/png", "answer": "content"}, {}),
    "template": ("""import json, sys
i = json.load(sys.stdin)["id"]
print(json.dumps({"id": i, "templateTest": True, "data": "Data for ID: " + i}))
""", {"uri": "test://template/{id}/data", "type": "application/json"}, {"input": {"type": "object", "properties": {"id": {"type": "string"}}}}),
}


def write(folder):
    """Writes each skill below the folder. Returns the skills' folders."""
    made = []
    for kind, table in (("tool", TOOLS), ("prompt", PROMPTS), ("resource", RESOURCES)):
        for name, (program, mcp, more) in table.items():
            own = name.replace("_", "-")
            d = os.path.join(folder, own)
            os.makedirs(d)
            manifest = {"version": 1, "entry": {"main": ["/usr/bin/python3", "/skill/main.py"]}, "mcp": dict({"as": kind, "name": name}, **mcp), **more}
            for file, data in (("SKILL.md", "---\nname: %s\ndescription: The suite's %s.\n---\n" % (own, name)), ("lethe.json", json.dumps(manifest)), ("main.py", program)):
                with open(os.path.join(d, file), "w", encoding="utf-8") as f:
                    f.write(data)
            made.append(d)
    return made
