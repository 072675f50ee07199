#!/usr/bin/python3
"""lethe metrics: counters that agree with the ledger, in a form that Prometheus takes. TAP."""
import json
import os
import shutil
import subprocess

from tap import DIR, STORE, Skip, case, check, lethe, log, main, run, same

PROM = os.path.join(DIR, "lethe.prom")


def series(*argv):
    r = lethe("metrics", "--json", *argv)
    same(r.code, 0, r)
    o = json.loads(r.out)
    same(o["version"], 1)
    return o["series"]


def parsed(text):
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")}


def some_of_everything():
    run("--exec", "/bin/true")
    run("--exec", "/bin/false")
    run("--exec", "/bin/sh", "-c", "kill -9 $$")
    run("--timeout", "0.1s", "--exec", "/bin/sleep", "9")
    run("--memory", "16m", "--exec", "/usr/bin/python3", "-c", "x = b'x' * (1 << 26)")
    run("--exec", "/bin/cat", "/etc/shadow")


@case
def counters_are_those_of_the_ledger():
    some_of_everything()
    m, entries = series(), log()
    of = lambda kind: [e for e in entries if e["type"] == kind]
    for outcome in {e["outcome"] for e in of("invocation.ended")}:
        same(m['lethe_invocations_ended_total{outcome="%s"}' % outcome], sum(e["outcome"] == outcome for e in of("invocation.ended")), outcome)
    same(m['lethe_regions_allocated_total{tier="namespaces"}'], len(of("region.allocated")))
    same(sum(v for k, v in m.items() if k.startswith("lethe_teardowns_total{")), len(of("region.released")))
    same(m['lethe_teardown_bytes_total{what="held"}'], sum(e["teardown"]["bytes_held"] for e in of("region.released")))
    same(m['lethe_teardown_bytes_total{what="overwritten"}'], sum(e["teardown"]["bytes_overwritten"] for e in of("region.released")))
    same(m["lethe_denials_total"], sum(e["denials"] for e in of("region.released")))
    same(m["lethe_run_seconds_count"], len(of("region.released")))
    same(round(m["lethe_run_seconds_sum"] * 1e6), sum(e["usage"]["wall_usec"] for e in of("region.released")))
    same(m["lethe_ledger_entries_total"], len(entries))
    check(len({e["outcome"] for e in of("invocation.ended")}) >= 3 and m["lethe_denials_total"] > 0, "not much was counted")


@case
def what_was_counted_is_not_read_again_and_nothing_is_lost():
    before = series()
    check(os.path.exists(os.path.join(STORE, "cache", "metrics")), "nothing was remembered")
    run("--exec", "/bin/true")
    after = series()
    same(after["lethe_teardown_seconds_count"], before["lethe_teardown_seconds_count"] + 1)
    os.unlink(os.path.join(STORE, "cache", "metrics"))
    same(series(), after)


@case
def a_state_that_is_not_of_this_ledger_is_not_used():
    """One of another store, and one that was changed."""
    right = series()
    other = os.path.join(DIR, "other")
    for _ in range(12):
        same(lethe("run", "--store", other, "--anchor", os.path.join(DIR, "anchor2"), "--exec", "/bin/true").code, 0)
    series("--store", other, "--anchor", os.path.join(DIR, "anchor2"))
    shutil.copy(os.path.join(other, "cache", "metrics"), os.path.join(STORE, "cache", "metrics"))
    same(series(), right)
    with open(os.path.join(STORE, "cache", "metrics"), "r+b") as f:
        f.seek(100)
        byte = f.read(1)
        f.seek(100)
        f.write(bytes([byte[0] ^ 1]))
    same(series(), right)


@case
def prometheus_takes_it():
    r = lethe("metrics")
    same(r.code, 0, r)
    if not shutil.which("promtool"):
        raise Skip("promtool is not installed")
    p = subprocess.run(["promtool", "check", "metrics"], input=r.out, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    same((p.returncode, p.stdout), (0, b""))
    same(parsed(r.out.decode())["lethe_run_seconds_count"], series()["lethe_run_seconds_count"])


@case
def buckets_grow():
    values = [v for k, v in parsed(lethe("metrics").out.decode()).items() if k.startswith("lethe_run_seconds_bucket")]
    check(len(values) > 5 and values == sorted(values) and values[-1] == series()["lethe_run_seconds_count"], values)


@case
def a_textfile_is_whole():
    r = lethe("metrics", "--textfile", PROM)
    same((r.code, r.out), (0, b""), r)
    with open(PROM, "rb") as f:
        same(f.read(), lethe("metrics").out)
    same(os.stat(PROM).st_mode & 0o777, 0o644)
    same([f for f in os.listdir(DIR) if f.startswith("lethe.prom")], ["lethe.prom"])
    r = lethe("metrics", "--textfile", os.path.join(DIR, "gone", "x.prom"))
    check(r.code == 1 and b"gone/x.prom" in r.err, r)


@case
def an_empty_store_has_counters_at_0():
    store = os.path.join(DIR, "empty")
    schema = os.path.join(DIR, "schema.json")
    with open(schema, "w", encoding="utf-8") as f:
        f.write("{}")
    same(lethe("slot", "define", "--store", store, "--anchor", os.path.join(DIR, "anchor3"), "x", "--schema", schema).code, 0)
    m = parsed(lethe("metrics", "--store", store, "--anchor", os.path.join(DIR, "anchor3")).out.decode())
    same((m["lethe_regions_recovered_total"], m["lethe_run_seconds_count"], m['lethe_run_seconds_bucket{le="+Inf"}']), (0, 0, 0))


@case
def names_that_would_break_a_line_do_not():
    name = 'a"b\\c'
    program = os.path.join(DIR, name)
    shutil.copy("/bin/true", program)
    run("--exec", program)
    lines = [line for line in lethe("metrics").out.decode().splitlines() if line.startswith("lethe_skill_regions_total")]
    check(all(line.count('"') == 2 for line in lines) and any("a_b" in line for line in lines), lines)


@case
def wrong_lines_say_so():
    same(lethe("metrics", "now").code, 2)
    same(lethe("metrics", "--textfile", PROM, "--json").code, 2)
    same(lethe("metrics", "--store", os.path.join(DIR, "nowhere")).code, 1)


main()
