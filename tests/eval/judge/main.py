"""Asks the model for a judgement: a request on standard input, {"answers": [...]} on standard output. Exit code 3: the server; 4: the answer."""
import http.client
import json
import sys
import urllib.parse


def fail(code, why):
    print("drift-judge: %s" % why, file=sys.stderr)
    sys.exit(code)


def ask(config, prompt, line):
    url = urllib.parse.urlsplit(config["url"])
    body = {"model": config["model"], "temperature": 0, "max_tokens": config["max_tokens"], "stream": False, "response_format": {"type": "json_object"},
            "messages": [{"role": "system", "content": prompt}, {"role": "user", "content": line}]}
    try:
        c = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=config["timeout_seconds"])
        c.request("POST", url.path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        r = c.getresponse()
        text = r.read(1 << 20)
    except (OSError, http.client.HTTPException) as e:
        fail(3, "the server cannot be asked: %s" % e)
    if r.status != 200:
        fail(3, "the server answered with status %d" % r.status)
    try:
        return json.loads(json.loads(text)["choices"][0]["message"]["content"])["answers"]
    except (ValueError, KeyError, IndexError, TypeError):
        fail(4, "the answer is no judgement")


with open("/skill/judge.json", encoding="utf-8") as f:
    CONFIG = json.load(f)
with open("/skill/prompt.txt", encoding="utf-8") as f:
    PROMPT = f.read()
print(json.dumps({"answers": ask(CONFIG, PROMPT, sys.stdin.readline())}))
