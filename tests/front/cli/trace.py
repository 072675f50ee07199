#!/usr/bin/python3
"""lethe trace: regions as OpenTelemetry spans, in the trace of whoever asked for them. TAP."""
import json
import os
import re
import signal
import subprocess
import time

from tap import DIR, ENV, LETHE, case, check, lethe, log, main, run, same

TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = "00-%s-%s-01" % (TRACE, CALLER)


def traces(*argv):
    r = lethe("trace", *argv)
    same(r.code, 0, r)
    return [json.loads(line) for line in r.out.splitlines()]


def spans(line):
    return line["resourceSpans"][0]["scopeSpans"][0]["spans"]


def attributes(span):
    return {a["key"]: a["value"].get("stringValue", a["value"].get("intValue")) for a in span["attributes"]}


def of_region(region):
    lines = traces("--region", region)
    same(len(lines), 1)
    return spans(lines[0])


@case
def a_region_is_three_spans_one_in_another():
    r = run("--exec", "/bin/sh", "-c", "sleep 0.2")
    top, ran, teardown = of_region(r.receipt["region"])
    for s in (top, ran, teardown):
        check(re.fullmatch("[0-9a-f]{32}", s["traceId"]) and re.fullmatch("[0-9a-f]{16}", s["spanId"]), s)
        same((s["kind"], type(s["startTimeUnixNano"]), s["traceId"]), (1, str, top["traceId"]))
        check(int(top["startTimeUnixNano"]) <= int(s["startTimeUnixNano"]) <= int(s["endTimeUnixNano"]) <= int(top["endTimeUnixNano"]), s, top)
    same((ran["name"], teardown["name"], ran["parentSpanId"], teardown["parentSpanId"]), ("run", "teardown", top["spanId"], top["spanId"]))
    check("parentSpanId" not in top and int(ran["endTimeUnixNano"]) - int(ran["startTimeUnixNano"]) >= 200000000, top, ran)
    same(int(ran["endTimeUnixNano"]), int(teardown["startTimeUnixNano"]))
    a = attributes(top)
    same((a["lethe.region"], a["lethe.outcome"], a["process.exit.code"], top.get("status")), (r.receipt["region"], "exited", "0", None))
    same(attributes(teardown)["lethe.grade"], r.receipt["teardown"]["grade"])
    same(of_region(r.receipt["region"]), [top, ran, teardown])


@case
def the_callers_trace_is_gone_on_with():
    r = run("--exec", "/usr/bin/env", env={"TRACEPARENT": PARENT})
    given = dict(line.split("=", 1) for line in r.out.decode().splitlines())["TRACEPARENT"]
    top = of_region(r.receipt["region"])[0]
    same((top["traceId"], top["parentSpanId"]), (TRACE, CALLER))
    same(given, "00-%s-%s-01" % (TRACE, top["spanId"]))
    again = run("--exec", "/usr/bin/env", env={"TRACEPARENT": PARENT})
    check(of_region(again.receipt["region"])[0]["spanId"] != top["spanId"], "two invocations with one span")


@case
def what_is_no_traceparent_is_left_alone():
    for bad in ("", "x", PARENT + "-more", PARENT.upper(), PARENT.replace("00-", "ff-", 1), "00-%s-%s-01" % ("0" * 32, CALLER),
                "00-%s-%s-01" % (TRACE, "0" * 16), "00-%s-%s-0" % (TRACE, CALLER), PARENT + " ", "00-" + "a" * 4000):
        r = run("--exec", "/usr/bin/env", env={"TRACEPARENT": bad})
        check(r.code == 0 and b"TRACEPARENT" not in r.out, bad, r)
        check("trace" not in [e for e in log("--region", r.receipt["region"]) if e["type"] == "region.allocated"][0]["grant"], bad)
    later = run("--exec", "/usr/bin/env", env={"TRACEPARENT": PARENT.replace("00-", "cc-", 1) + "-more"})
    check(b"TRACEPARENT=00-" + TRACE.encode() in later.out, later)


@case
def what_the_operator_says_with_e_stands():
    r = run("-e", "TRACEPARENT=mine", "--exec", "/usr/bin/env", env={"TRACEPARENT": PARENT})
    check(b"TRACEPARENT=mine\n" in r.out, r)


@case
def a_bad_end_is_an_error_of_its_span():
    r = run("--timeout", "0.1s", "--exec", "/bin/sleep", "9")
    same(of_region(r.receipt["region"])[0]["status"]["code"], 2)
    r = run("--exec", "/bin/false")
    top = of_region(r.receipt["region"])[0]
    same((top["status"]["code"], attributes(top)["process.exit.code"]), (2, "1"))


@case
def a_sub_skill_stands_below_the_one_that_started_it():
    for name in ("above", "below"):
        folder = os.path.join(DIR, name)
        os.mkdir(folder)
        with open(os.path.join(folder, "SKILL.md"), "w", encoding="utf-8") as f:
            f.write("---\nname: %s\ndescription: A test.\n---\n" % name)
        with open(os.path.join(folder, "main.py"), "w", encoding="utf-8") as f:
            f.write("#!/usr/bin/python3\nimport os\nimport lethe\n")
            f.write("print(lethe.run('below')['output'], end='')\n" if name == "above" else "")
            f.write("print(os.environ.get('TRACEPARENT', 'none'))\n")
        os.chmod(f.name, 0o755)
        with open(os.path.join(folder, "lethe.json"), "w", encoding="utf-8") as f:
            json.dump({"version": 1, "entry": {"main": ["/usr/bin/python3", "/skill/main.py"]}, **({"sub_skills": ["below"]} if name == "above" else {})}, f)
        r = lethe("skill", "add", folder)
        same(r.code, 0, r)
    for env in ({"TRACEPARENT": PARENT}, {}):
        r = run("above", env=env)
        same(r.code, 0, r)
        rows = [e for e in log() if e["type"] == "region.allocated"]
        child = next(e["region"] for e in rows if e.get("parent") == r.receipt["region"])
        top, sub = of_region(r.receipt["region"])[0], of_region(child)[0]
        same((sub["traceId"], sub["parentSpanId"]), (top["traceId"], top["spanId"]))
        told = r.out.decode().split()
        same(told, ["00-%s-%s-01" % (TRACE, s["spanId"]) for s in (sub, top)] if env else ["none", "none"])


@case
def what_lives_is_not_told_yet():
    p = subprocess.Popen([LETHE, "run", "--exec", "/bin/sh", "-c", "echo; sleep 60"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV)
    p.stdout.readline()
    alive = json.loads(lethe("ps", "--json").out)["region"]
    same(traces("--region", alive), [])
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    same(len(of_region(alive)), 3)


@case
def queries_and_mistakes():
    everything = traces()
    same(len(everything), len([e for e in log() if e["type"] == "invocation.ended"]))
    same({attributes(spans(t)[0])["lethe.skill.name"] for t in traces("--skill", "below")}, {"below"})
    time.sleep(1.1)
    same(traces("--since", "1s"), [])
    same(lethe("trace", "--region", "0" * 26).code, 1)
    same(lethe("trace", "--region", "X").code, 2)
    same(lethe("trace", "now").code, 2)


main()
