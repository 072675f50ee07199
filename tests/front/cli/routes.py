#!/usr/bin/python3
"""A-30..A-32: `lethe run` with routes: the secret stays outside the region, models have budgets, and a wrong or hostile upstream is told as that.

usage: routes.py LETHE root|user

The names are of an /etc/hosts that the test's own mount namespace has; names beyond it are asked of a resolver that is not there.
"""
import ctypes
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile

if os.environ.get("LETHE_OWN_NAMESPACES") != "1":
    os.environ["LETHE_OWN_NAMESPACES"] = "1"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--mount", "--", sys.executable, *sys.argv])
for place, text in (("/etc/hosts", "127.0.0.1 localhost\n127.0.0.1 api.test\n127.0.0.1 other.test\n10.0.0.1 private.test\n"), ("/etc/resolv.conf", "nameserver 127.0.0.1\n")):
    with tempfile.NamedTemporaryFile("w") as over:
        over.write(text)
        over.flush()
        os.chmod(over.name, 0o644)
        if ctypes.CDLL(None).mount(over.name.encode(), os.path.realpath(place).encode(), None, 4096, None) != 0:
            raise OSError("no %s of the test's own" % place)

from account import use  # noqa: E402

use(sys.argv[2])

from tap import DIR, ENV, LETHE, ROOT, STORE, alone, case, case_when, check, lethe, log, main, processes_below, python_skill, run, same, state_of, wait_for  # noqa: E402
from upstream import SECRET, Upstream, certificate  # noqa: E402

os.chmod(DIR, 0o755)


def server(name, host, expired=False):
    cert, key = certificate(DIR, name, host, expired)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return Upstream(context), cert


def written(name, text, mode=0o600):
    path = os.path.join(DIR, name)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


API, CA = server("api", "api.test")
OLD, OLD_CA = server("old", "api.test", expired=True)
PLAIN = Upstream()
URL = "https://api.test:%d/v1" % API.port
for _folder in ("keys", "others", "a-folder"):
    os.mkdir(os.path.join(DIR, _folder))
    written(_folder + "/beside", "beside\n", 0o644)
KEY = written("keys/key", SECRET + "\n")
ENV["ROUTE_TEST_SECRET"] = SECRET
COMMAND = written("command", "#!/bin/sh\necho not this: %s >&2\necho %s\n" % (SECRET, SECRET), 0o700)
FAILS = written("fails", "#!/bin/sh\necho %s >&2\nexit 3\n" % SECRET, 0o700)


def route(url=URL, **more):
    return dict({"upstream": url, "secret": "key", "ca": CA}, **more)


ROUTES = {
    "api": route(variable="OPENAI_BASE_URL"),
    "env": route(secret="env"), "command": route(secret="command", header="X-Api-Key", format="{}"), "fails": route(secret="fails"), "open": route(secret="open"),
    "short": route(secret="short"), "pipe": route(secret="pipe"), "unset": route(secret="unset"),
    "small": route(bytes="100k", time="3s"), "paths": route(paths=["/chat", "/models/"]),
    "othername": route("https://other.test:%d" % API.port), "unknownca": route(ca=OLD_CA), "system": {"upstream": URL, "secret": "key"}, "expired": route("https://api.test:%d" % OLD.port, ca=OLD_CA),
    "nobody": route("https://nobody.test:%d" % API.port), "closed": route("https://api.test:1"), "private": route("https://private.test"),
    "notls": route("https://api.test:%d" % PLAIN.port), "plain": route("http://api.test:%d/v1" % PLAIN.port, plain=True),
    "model": route(models=["good", "better"], tokens_out=100, tokens_in=1000, requests=6), "tight": route(models=["good"], tokens_out=30), "free": route(tokens_out=100000),
    "once": route(requests=1),
}
POLICY = written("policy.json", json.dumps({
    "version": 1, "network": {"private": ["127.0.0.0/8"], "routes": [r for r in ROUTES if r != "once"]},
    "secrets": {"key": {"file": KEY}, "env": {"env": "ROUTE_TEST_SECRET"}, "command": {"command": [COMMAND]}, "fails": {"command": [FAILS]},
                "open": {"file": written("open", SECRET, 0o644)}, "short": {"file": written("short", "short\n")}, "pipe": {"file": os.path.join(DIR, "a-folder")}, "unset": {"env": "ROUTE_TEST_UNSET"}},
    "routes": ROUTES}), 0o644)
ENV["LETHE_POLICY"] = POLICY

# In the region: asks each [method, path, headers, body]; prints [status, headers, body] or the name of the exception.
ASK = """
import http.client, json, sys
def ask(method, path, headers=None, body=None):
    c = http.client.HTTPConnection('127.0.0.1', 3129, timeout=100)
    try:
        c.putrequest(method, path, skip_accept_encoding=True)
        for name, value in (headers or {}).items(): c.putheader(name, value)
        if body is not None: c.putheader('Content-Length', str(len(body)))
        c.endheaders(body.encode() if body is not None else None)
        r = c.getresponse()
        return [r.status, dict(r.getheaders()), r.read().decode()]
    except Exception as e:
        return [type(e).__name__, {}, '']
    finally:
        c.close()
print(json.dumps([ask(*a) for a in json.loads(sys.argv[1])]))
"""


def asked(routes, *requests, more=()):
    """The answers, and the run."""
    names = [x for r in routes for x in ("--route", r)]
    r = run(*names, *more, "--timeout", "100s", "--exec", "/usr/bin/python3", "-c", ASK, json.dumps(requests))
    check(r.code == 0 and SECRET.encode() not in r.out + r.err, r)
    return json.loads(r.out), r


def chat(name, model="good", **more):
    return ["POST", "/%s/chat/completions" % name, {"Content-Type": "application/json"}, json.dumps(dict({"model": model}, **more))]


def code(answer):
    """lethe-proxy's own answer: (status, code)."""
    check("error" in answer[2], answer)
    error = json.loads(answer[2])["error"]
    same(answer[1].get("Lethe-Denied") or answer[1].get("Lethe-Failed"), error["code"], answer)
    return answer[0], error["code"]


def denied(r):
    return {d["object"]: d["allow_with"] for d in r.receipt["denials"] if d["operation"] == "route"}


def calls(r):
    return [e for e in log("--region", r.receipt["region"]) if e["type"] == "region.routed"][0]["calls"]


#
@case
def the_secret_is_added_outside():
    API.requests.clear()
    own = {"Authorization": "Bearer of-the-region", "X-Api-Key": "own", "Cookie": "a=b", "Range": "bytes=0-9", "X-Mine": "stays", "Connection": "X-Gone", "X-Gone": "1",
           "Accept-Encoding": "gzip"}
    answers, r = asked(["api"], ["POST", "/api/echo?q=1", own, "hello"], ["GET", "/api/plain"])
    method, target, headers, body = API.requests[0]
    same((method, target, body), ("POST", "/v1/echo?q=1", b"hello"))
    same((headers["authorization"], headers["x-mine"], headers["accept-encoding"], headers["host"]),
         (["Bearer " + SECRET], ["stays"], ["identity"], ["api.test:%d" % API.port]))
    check(not {"x-api-key", "cookie", "range", "x-gone", "connection"} & set(headers), headers)
    status, seen, text = answers[0]
    same((status, seen["X-Echo"], "Set-Cookie" in seen, "Lethe-Denied" in seen), (200, "Bearer " + "*" * len(SECRET), False, False), answers)
    check("Bearer " + "*" * len(SECRET) in text, text)
    same(answers[1][0], 204)
    same(list(denied(r)), ["route api (the answer had the secret, which was replaced)"])
    sums = r.receipt["network"]["routes"]["api"]
    same((sums["requests"], sums["denied"], sums["failed"], sums["up_bytes"], sums["echoes"]), (2, 1, 0, 5, 2))
    one = calls(r)[0]
    same((one["route"], one["verdict"], one["status"], one["method"], one["echoes"]), ("api", "secret_in_answer", 200, "POST", 2))
    check(re.fullmatch("sha256:[0-9a-f]{64}", one["asked"]) and re.fullmatch("sha256:[0-9a-f]{64}", one["answered"]), one)
    check(b"the answer had the secret" in lethe("why", r.receipt["region"]).out, "why")


#
@case
def a_program_finds_the_route_and_a_placeholder():
    r = run("--route", "api", "--exec", "/bin/sh", "-c", "echo $OPENAI_BASE_URL $OPENAI_API_KEY $HTTP_PROXY; env")
    check(r.out.startswith(b"http://127.0.0.1:3129/api lethe-route\n") and SECRET.encode() not in r.out, r)
    r = run("--exec", "/bin/sh", "-c", "echo x$OPENAI_BASE_URL")
    same(r.out, b"x\n", r)
    python_skill("asks", "import os; print(os.environ.get('OPENAI_BASE_URL'))", network={"routes": ["api", "once", "absent"]})
    r = run("asks")
    same((r.code, r.out), (0, b"http://127.0.0.1:3129/api\n"), r)
    grant = json.loads(lethe("run", "--dry-run", "--json", "asks").out)
    same(list(grant["network"]["routes"]), ["api"])
    same({x["asked"]: x["rule"].split(POLICY)[-1] for x in grant["reductions"]}, {"once": "#/network/routes does not list it", "absent": "#/routes does not name the route"})
    shown = lethe("run", "--dry-run", "--route", "api", "asks").out
    check(b"route http://127.0.0.1:3129/api -> " + URL.encode() in shown and b"secret key in header authorization" in shown and SECRET.encode() not in shown, shown)
    for name, word in (("once", b"#/network/routes does not list it"), ("absent", b"#/routes does not name the route"), ("A b", b"must be a name of")):
        r = run("--route", name, "asks")
        check(r.code == 125 and word in r.err, r)


#
@case
def secrets_come_from_a_file_a_variable_or_a_command():
    API.requests.clear()
    asked(["env", "command"], ["GET", "/env/usage"], ["GET", "/command/usage"])
    same([r[2].get("authorization", r[2].get("x-api-key")) for r in API.requests], [["Bearer " + SECRET], [SECRET]])
    for name, word in (("fails", b"exit code 3"), ("open", b"chmod 600"), ("short", b"must have 8 to 4095"), ("pipe", b"must be a regular file"), ("unset", b"ROUTE_TEST_UNSET")):
        r = run("--route", name, "--exec", "/bin/true")
        served = name == "fails" and os.environ.get("LETHE_TEST_SERVE") == "1"
        check(r.code == 125 and (b"only at the start" if served else word) in r.err and SECRET.encode() not in r.err, name, r)


# A-30 A-31
@case
def what_is_not_granted_is_told_with_its_rule():
    answers, r = asked(["api", "paths"], ["GET", "/absent/x"], ["GET", "/paths/chat/x"], ["GET", "/paths/chatty"], ["GET", "/paths/models"],
                       ["GET", "/paths/chat/../files"], ["GET", "/paths/chat/%2e%2e/files"], ["GET", "/paths/chat%2ffiles"], ["GET", "/paths//chat"], ["TRACE", "/api/echo"],
                       ["GET", "/api/x", {"Transfer-Encoding": "chunked", "Content-Length": "3"}, "abc"], ["GET", "/api/\\x"], ["GET", "http://api.test/api/x"])
    same([code(answers[i]) for i in (0, 2)], [(403, "no_such_route"), (403, "path_not_allowed")])
    same([answers[i][0] for i in (1, 3)], [200, 200])
    same([code(a) for a in answers[4:]], [(400, "bad_request")] * 8)
    same(denied(r), {"route absent": '"network": {"routes": ["absent"]}', "route paths, path /chatty": 'policy: "routes": {"paths": {"paths": ["/chatty"]}}'})


#
@case
def a_wrong_or_hostile_upstream_is_told_as_that():
    API.go.set()
    rows = [("api", "short", (502, "answer_cut_off")), ("api", "huge-head", (502, "answer_too_large")), ("api", "long-line", (502, "answer_too_large")),
            ("api", "redirect", (502, "redirect")), ("api", "gzip", (502, "answer_encoded")), ("api", "garbage", (502, "bad_answer")), ("api", "nothing", (502, "answer_cut_off")),
            ("api", "folded", (502, "bad_answer")), ("othername", "usage", (502, "certificate")), ("unknownca", "usage", (502, "certificate")),
            ("expired", "usage", (502, "certificate")), ("system", "usage", (502, "certificate")), ("nobody", "usage", (502, "unknown_name")), ("closed", "usage", (502, "unreachable")), ("notls", "usage", (502, "tls"))]
    OLD.requests.clear()
    PLAIN.requests.clear()
    for part in (rows[:7], rows[7:]):
        answers, r = asked(sorted({name for name, _, _ in part}), *(["GET", "/%s/%s" % (name, path)] for name, path, _ in part))
        for (name, path, want), answer, call in zip(part, answers, calls(r)):
            same((code(answer), call["verdict"], call["route"]), (want, want[1], name), name, path, answer)
        same((sum(x["failed"] for x in r.receipt["network"]["routes"].values()), denied(r)), (len(part), {}))
    same((OLD.requests, PLAIN.requests), ([], []))
    answers, r = asked(["api", "small"], ["GET", "/api/500"], ["GET", "/api/middle"], ["GET", "/small/endless"], ["GET", "/api/usage"])
    same((answers[0][0], answers[0][2]), (500, '{"error": {"message": "out of order"}}'))
    check(answers[1][0] == answers[2][0] == "IncompleteRead" or {answers[1][0], answers[2][0]} <= {"IncompleteRead", "ConnectionResetError"}, answers)
    same([(c["verdict"], c.get("status")) for c in calls(r)], [("answered", 500), ("answer_cut_off", 200), ("answer_too_large", 200), ("answered", 200)])


INFLATES = """
import http.client, sys, zlib
for path in sys.argv[1:]:
    c = http.client.HTTPConnection('127.0.0.1', 3129, timeout=100)
    try:
        c.request('GET', path, headers={'Accept-Encoding': 'gzip'})
        r = c.getresponse()
        body, error = r.read(), r.headers['Lethe-Failed']
    except Exception as e:
        body, error = b'', type(e).__name__
    try: body += zlib.decompressobj(47).decompress(body)
    except zlib.error: pass
    print('ESCAPED' if b'sk-test-' in body else error)
"""


#
@case
def a_compressed_answer_gives_no_secret():
    """A server that compresses although nobody asked, and whose answer has the request's credentials."""
    paths = ["/api/" + x for x in ("gzip", "gzip-twice-told", "gzip-transfer", "gzip-blank")]
    r = run("--route", "api", "--exec", "/usr/bin/python3", "-c", INFLATES, *paths)
    same(r.out.decode().split(), ["answer_encoded", "answer_encoded", "answer_encoded", "bad_answer"], r)


# A-24 A-30
@case
def bytes_of_routes_are_of_the_networks_budget():
    """Hosts by name and routes have one sum: a request beyond it is refused, an answer that goes beyond it is cut."""
    with open(POLICY) as f:
        limited = json.load(f)
    limited["network"].update(bytes=40000, allow=["api.test:%d" % PLAIN.port])
    more = ("--policy", written("limited.json", json.dumps(limited)), "--allow", "api.test:%d" % PLAIN.port)
    answers, r = asked(["api"], ["POST", "/api/usage", {}, "x" * 30000], ["POST", "/api/usage", {}, "x" * 10000], ["GET", "/api/usage"], more=more)
    budget = (429, "budget_exhausted")
    same((answers[0][0], code(answers[1]), answers[2][0]), (200, budget, 200))
    line = 'policy: "network": {"bytes": ...}'
    same((json.loads(answers[1][2])["error"]["allow"], denied(r)), (line, {'route api (the budget "network.bytes" is used up)': line}))
    r = run("--route", "api", *more, "--exec", "/bin/sh", "-c", "curl -sS http://127.0.0.1:3129/api/endless >/dev/null; curl -sS -i http://api.test:%d/usage" % PLAIN.port)
    check(b"Lethe-Denied: budget" in r.out, r)
    same([c["verdict"] for c in calls(r)], ["budget_exhausted"])
    check(r.receipt["network"]["routes"]["api"]["down_bytes"] <= 40000 + 16384, r.receipt["network"])


# A-30 I-18
@case
def a_sub_skill_has_the_routes_of_its_caller_and_no_others():
    CALLS = "import lethe, json, sys\nlethe.result([lethe.run('route-%s', sys.argv[1:])['result'] for _ in range(%d)])\n"
    ASKS = ("import http.client, json, lethe, os\ndef ask(route):\n    try:\n        c = http.client.HTTPConnection('127.0.0.1', 3129, timeout=100); c.request('GET', '/' + route + '/usage'); r = c.getresponse(); r.read()\n"
            "        return r.status\n    except OSError: return 'no route'\nlethe.result([ask('api'), ask('env'), os.environ.get('OPENAI_BASE_URL')])\n")
    python_skill("route-below", ASKS, network={"routes": ["api", "env"]})
    python_skill("route-caller", CALLS % ("below", 2), sub_skills=["route-below"], network={"routes": ["api"]})
    python_skill("route-without", CALLS % ("below", 1), sub_skills=["route-below"])
    API.requests.clear()
    url = "http://127.0.0.1:3129/api"
    r = run("route-caller")
    same((r.code, r.receipt["result"]), (0, [[200, 403, url]] * 2), r)
    same([x[2]["authorization"] for x in API.requests], [["Bearer " + SECRET]] * 2)
    below = [e for e in log("--type", "region.allocated") if e.get("parent_region", e.get("parent")) == r.receipt["region"]]
    same([list(e["grant"]["network"]["routes"]) for e in below], [["api"]] * 2, below)
    for e in below:
        same([x["asked"] for x in e["grant"]["reductions"] if x["field"].startswith("/network/routes")], ["env"])
        sums = [x for x in log("--region", e["region"]) if x["type"] == "region.released"][0]["network"]["routes"]["api"]
        same((sums["requests"], sums["failed"]), (1, 0))
    r = run("route-without")
    same((r.code, r.receipt["result"]), (0, [["no route", "no route", None]]), r)
    with open(POLICY) as f:
        rows = json.load(f)
    rows["skills"] = {"route-below": {"digest": below[0]["skill"]["digest"], "network": {"routes": ["env"], "private": ["127.0.0.0/8"]}}}
    r = run("--policy", written("rows.json", json.dumps(rows), 0o644), "route-without")
    same((r.code, r.receipt.get("result")), (0, [[403, 200, None]]), r, r.err)
    r = run("--network", "none", "route-caller")
    same((r.code, r.receipt.get("result")), (0, [["no route", "no route", None]] * 2), r, r.err)
    check(SECRET.encode() not in r.out + r.err, r)


#
@case
def an_upstream_that_does_not_answer_is_given_up():
    API.go.clear()
    answers, r = asked(["small"], ["GET", "/small/slow"])
    API.go.set()
    same((code(answers[0]), calls(r)[0]["verdict"]), ((504, "time"), "time"))


# A-30 A-21
@case
def a_private_upstream_needs_the_policy():
    answers, r = asked(["private"], ["GET", "/private/usage"])
    same(code(answers[0]), (403, "private_address"))
    same(denied(r), {"route private (10.0.0.1 is private, or this machine's own)": 'policy: "network": {"private": ["10.0.0.1"]}'})
    PLAIN.requests.clear()
    answers, r = asked(["plain"], ["GET", "/plain/usage"])
    same((answers[0][0], PLAIN.requests[0][2]["authorization"]), (200, ["Bearer " + SECRET]))


#
@case
def a_secret_in_pieces_is_replaced():
    answers, r = asked(["api"], ["GET", "/api/split"])
    want = "".join(SECRET[:n] for n in range(1, len(SECRET))) + "*" * len(SECRET) + "end"
    same((answers[0][0], answers[0][2]), (200, want))
    same((calls(r)[0]["echoes"], calls(r)[0]["verdict"]), (1, "secret_in_answer"))


# A-30 A-31
@case
def a_stream_passes_as_it_comes():
    API.go.clear()
    path = os.path.join(DIR, "stream.json")
    p = subprocess.Popen([LETHE, "run", "--receipt", path, "--route", "free", "--timeout", "100s", "--exec", "/usr/bin/curl", "-sSN", "-d", '{"model": "m", "stream": true}',
                          "http://127.0.0.1:3129/free/chat/completions/stream"], env=ENV, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = p.stdout.readline() + p.stdout.readline() + p.stdout.readline()
    check(first.startswith(b"data: ") and b'"one"' in first and b'"two"' in first, first)
    check(not API.go.is_set() and p.poll() is None, "the rest waits")
    API.go.set()
    out, err = p.communicate(timeout=120)
    check(out.endswith(b"data: [DONE]\n\n"), out, err)
    with open(path) as f:
        sums = json.load(f)["network"]["routes"]["free"]
    same((sums["tokens_in"], sums["tokens_out"]), (11, 22))


#
@case
def a_model_outside_of_the_list_is_refused():
    bodies = ['{"model": "good", "model": "costly"}', '{"model": "good", "Model": "costly"}', '{"mod\\u0065l": "costly"}', '{"model": "good", "models": ["costly"]}',
              '["good"]', '{"model": "good"', '{"model": {"a": 1}}', '{"model": "good", "max_tokens": -1}', '{"model": "good", "max_to\\u212aens": 9999}',
              '{"model": "good", "n": 1.5}', "[" * 70, '{"messages": []}']
    API.requests.clear()
    answers, r = asked(["model"], chat("model", "costly"), *(["POST", "/model/chat/completions", {}, b] for b in bodies), ["POST", "/model/files", {}, "x"],
                       ["POST", "/model/models/costly:generate", {}, '{"model": "good"}'], chat("model", "better", max_tokens=5), ["GET", "/model/models"])
    model, bad = (403, "model_not_allowed"), (400, "bad_request")
    same([code(a) for a in answers[:-2]], [model, bad, bad, model] + [bad] * 8 + [model] + [(403, "path_not_allowed")] * 2)
    same([a[0] for a in answers[-2:]], [200, 200])
    same([x[1] for x in API.requests], ["/v1/chat/completions", "/v1/models"])
    same(denied(r)["route model, model costly"], 'policy: "routes": {"model": {"models": ["costly"]}}')
    used = calls(r)[-2]
    same((used["model"], used["tokens_in"], used["tokens_out"], "estimated" in used), ("better", 3, 4, False))


#
@case
def budgets_are_reserved_and_settled():
    answers, r = asked(["tight", "model"], chat("tight", max_tokens=31), chat("tight", max_tokens=30), chat("tight", max_tokens=14, n=2), chat("tight", max_tokens=26), chat("tight"),
                       ["POST", "/tight/chat/completions/not-json", {}, '{"model": "good", "max_tokens": 10}'], chat("tight", max_tokens=9),
                       *(chat("model", max_tokens=1) for _ in range(7)))
    # 30 tokens: 31 is refused; 30 uses 4; 2 * 14 is more than 26; 26 uses 4; all 22 that are left are reserved, and 4 used; 10 without usage: 8 are left
    same([a[0] for a in answers[:7]], [429, 200, 429, 200, 200, 200, 429], answers)
    same([a[0] for a in answers[7:]], [200] * 6 + [429])
    error = json.loads(answers[0][2])["error"]
    same((error["code"], error["allow"], answers[0][1]["X-Should-Retry"]), ("budget_exhausted", 'policy: "routes": {"tight": {"tokens_out": ...}}', "false"))
    same(denied(r)['route tight (the budget "tokens_out" is used up)'], 'policy: "routes": {"tight": {"tokens_out": ...}}')
    check('route model (the budget "requests" is used up)' in denied(r), denied(r))
    estimated = [c for c in calls(r) if c.get("estimated")]
    same([(c["tokens_out"], c["detail"]) for c in estimated], [(10, "the answer is no JSON")])
    sums = r.receipt["network"]["routes"]["tight"]
    same((sums["tokens_out"], sums["denied"]), (22, 3))
    receipt = json.dumps(r.receipt)
    check("hello" not in receipt and "hello" not in json.dumps(log("--region", r.receipt["region"])), "no text is recorded")


def holds_secret(pid):
    """Whether the memory of the process has the secret. A process that has ended has nothing."""
    try:
        with open("/proc/%d/maps" % pid) as f:
            maps = f.readlines()
        mem = open("/proc/%d/mem" % pid, "rb", 0)
    except (FileNotFoundError, ProcessLookupError):
        return False
    with mem:
        for line in maps:
            first, last = (int(x, 16) for x in line.split()[0].split("-"))
            if line.split()[1][0] != "r" or "[v" in line:
                continue
            try:
                for at in range(first, last, 1 << 20):
                    mem.seek(at)
                    if SECRET.encode() in mem.read(min(last - at, (1 << 20) + len(SECRET))):
                        return True
            except OSError:  # beyond the end of a mapped file
                pass
    return False


#
@case_when(ROOT)
@alone
def no_process_but_lethe_routes_has_the_secret():
    env = {k: v for k, v in ENV.items() if k != "ROUTE_TEST_SECRET"}
    p = subprocess.Popen([LETHE, "run", "--no-serve", "--route", "api", "--exec", "/bin/sh", "-c", "curl -sS http://127.0.0.1:3129/api/echo; echo; read x"], env=env,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(b"****" in p.stdout.readline())
    found = {name for pid, name in [*processes_below(p.pid), (p.pid, "lethe")] if holds_secret(pid)}
    names = [name for _, name in processes_below(p.pid)]
    argv = b""
    for pid, name in processes_below(p.pid):
        for what in ("cmdline", "environ"):
            try:
                with open("/proc/%d/%s" % (pid, what), "rb") as f:
                    argv += f.read()
            except (FileNotFoundError, ProcessLookupError):
                pass
    p.communicate(b"x\n", timeout=120)
    same((found, SECRET.encode() in argv, names.count("lethe-routes")), ({"lethe-routes"}, False, 1))


def with_routes(look):
    """What `look` says of the living lethe-routes of a region that has used its route."""
    p = subprocess.Popen([LETHE, "run", "--no-serve", "--route", "api", "--exec", "/bin/sh", "-c", "curl -sS http://127.0.0.1:3129/api/echo; echo; read x"], env=ENV,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        check(b"****" in p.stdout.readline())
        return look([pid for pid, name in processes_below(p.pid) if name == "lethe-routes"][0])
    finally:
        p.communicate(b"x\n", timeout=120)


def opened(pid):
    """What of the process can be opened."""
    got = []
    for name in ("mem", "maps", "environ", "auxv"):
        try:
            with open("/proc/%d/%s" % (pid, name), "rb"):
                got.append(name)
        except PermissionError:
            pass
    return got


#
@alone
@case_when(not ROOT)
def nobody_of_the_same_user_reads_lethe_routes():
    with subprocess.Popen(["/bin/sleep", "100"]) as p:  # the control
        wait_for(lambda: opened(p.pid) == ["mem", "maps", "environ", "auxv"], "the end of its execve")
        p.kill()
    same(with_routes(opened), [])


#
@alone
@case
def lethe_routes_leaves_no_core():
    def limits(pid):
        with open("/proc/%d/limits" % pid) as f:
            return [line.split()[4:6] for line in f if line.startswith("Max core file size")]
    same(with_routes(limits), [["0", "0"]])


#
@alone
@case
def a_proxy_that_dies_is_told():
    path = os.path.join(DIR, "lost.json")
    p = subprocess.Popen([LETHE, "run", "--no-serve", "--receipt", path, "--route", "api", "--exec", "/bin/sh", "-c",
                          "curl -sS http://127.0.0.1:3129/api/usage; echo; read x; curl -sS http://127.0.0.1:3129/api/usage 2>&1 || echo over"], env=ENV, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    check(b"usage" in p.stdout.readline())
    os.kill([pid for pid, name in processes_below(p.pid) if name == "lethe-routes"][0], signal.SIGKILL)
    wait_for(lambda: "lethe-routes" not in [n for pid, n in processes_below(p.pid) if state_of(pid) != "Z"], "its end")
    out, err = p.communicate(b"x\n", timeout=120)
    check(out.endswith(b"over\n") and b"lethe-proxy ended before the region" in err, out, err)
    with open(path) as f:
        same(json.load(f)["network"], {"lost": True})


#
@case
def doctor_tries_each_route():
    policy = written("doctor.json", json.dumps({
        "version": 1, "network": {"private": ["127.0.0.0/8"]}, "secrets": {"key": {"file": KEY}, "open": {"file": os.path.join(DIR, "open")}},
        "routes": {"good": route(), "open": route(secret="open"), "gone": route("https://api.test:1"), "private": route("https://private.test"), "noca": route(ca="/absent")}}))
    API.requests.clear()
    r = lethe("doctor", "--json", env={"LETHE_POLICY": policy})
    rows = sorted(x["value"] for x in json.loads(r.out)["checks"] if x["name"] == "route")
    check(SECRET.encode() not in r.out + r.err and API.requests == [], r)
    same([x.split(":")[0] for x in rows], ["gone", "good", "noca", "open", "private"])
    for row, word in zip(rows, ("does not answer", "can be read, and https://api.test", "No such file", "chmod 600", "network.private")):
        check(word in row, row)


#
@case
def a_secrets_file_is_hidden_in_a_granted_folder():
    r = run("-v", DIR + "/others:/there:ro", "--exec", "/bin/cat", "/there/beside")
    same((r.code, r.out), (0, b"beside\n"), r)
    r = run("-v", DIR + "/keys:/there:ro", "--exec", "/bin/cat", "/there/beside")
    check(r.code == 125 and b"is a secret of the policy" in r.err and SECRET.encode() not in r.out + r.err, r)


#
@case
def no_file_of_lethe_has_the_secret():
    found = []
    for base, _, names in os.walk(DIR):
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path) and os.path.basename(path) not in ("key", "open", "command", "fails"):
                with open(path, "rb") as f:
                    if SECRET.encode() in f.read():
                        found.append(path)
    check(os.path.exists(STORE + "/data.mdb"), "the store is below the folder")
    same(found, [])


main()
