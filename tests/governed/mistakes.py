#!/usr/bin/python3
"""The mistakes of a newcomer at the verbs of governed memory: each message names the field, the value and the rule. TAP.

usage: mistakes.py LETHE root|user"""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "front", "cli"))
from account import use  # noqa: E402

use(sys.argv[2])

from notes import begin, note, said  # noqa: E402
from tap import case, check, lethe, main, same  # noqa: E402

SCOPES = "there is no scope nowhere; `lethe scope list` shows the scopes, `lethe scope create` makes one"
STATES = "is no state of a row: open, resolved, active, invalidated, superseded"
BUCKETS = "is not a bucket: plan, constraints, issues, decisions, results, task_state, learnings"


def refused(rows):
    for argv, code, says in rows:
        r = lethe(*argv)
        check(r.code == code and says in r.err.decode(), argv, says, r)


@case
def rows_and_what_waits():  # G-60, G-62
    run = begin()
    same(note(run, "issue boot: does not boot").code, 0)
    same(note(run, "the thing is fixed").code, 0)
    said("promote", run)
    item = said("pending", "list").split()[0]
    refused([
        (("pending", "show", "boot"), 2, "ID: 'boot' is not a number"),
        (("pending", "show", "99"), 1, "there is no pending item 99"),
        (("pending", "list", "--all", "--expired"), 2, "--all (each item) or --expired (these alone), not both"),
        (("pending", "list", "--scope", "../x"), 1, '"../x" is not a scope\'s name: a-z or 0-9, then at most 63 of'),
        (("pending", "list", "--scope", "nowhere"), 1, SCOPES),
        (("pending", "bind", item, "nope"), 1, "there is no record nope of issues in scope default"),
        (("pending", "bind", item, "issues/boot"), 1, 'target "issues/boot" is not an id of issues: a letter a-z, then 1 to 63 of'),
        (("pending", "drop", item), 2, "drop needs --reason TEXT"),
        (("pending", "drop", item, "--reason", "two\nlines"), 2, "--reason has the control character 0x0a at byte 3: it is one line"),
        (("pending", "erase", item), 1, "pending item %s is open: drop the item first" % item),
        (("pending", "retry", "--most", "0"), 2, "--most: '0' is not a number from 1"),
        (("canon", "list", "--state", "closed"), 2, "--state: 'closed' " + STATES),
        (("canon", "list", "--bucket", "issue"), 2, "'issue' " + BUCKETS),
        (("canon", "show", "issue", "boot"), 2, "'issue' " + BUCKETS),
        (("canon", "show", "issues", "boots"), 1, 'there is no "boots" among the issues of this scope'),
        (("canon", "list", "--scope", "nowhere"), 1, SCOPES),
        (("canon", "settle", "boot", "--keep", "a", "--both"), 2, "one of --keep and --both"),
        (("canon", "settle", "--rule", "biggest"), 2, "--rule: 'biggest' is neither newest nor oldest"),
    ])


@case
def notes_and_their_promotion():  # G-1, G-5
    run = begin()
    refused([
        (("note", "begin"), 2, "begin needs --agent NAME"),
        (("note", "begin", "--agent", "two words"), 1, '"two words" is not an agent\'s name: a-z or 0-9, then at most 63 of'),
        (("note", "begin", "--agent", "x", "--scope", "nowhere"), 1, SCOPES),
        (("note", "add", run), 2, "add takes RUN TEXT"),
        (("note", "add", run, "one", "two"), 2, "'two' is extra"),
        (("note", "add", run, "text", "--role", "bot"), 2, "--role: 'bot' is neither agent nor tool_result"),
        (("note", "add", "nope", "text"), 1, 'there is no open run "nope"'),
        (("promote",), 2, "which run?"),
        (("promote", "nope"), 1, "nor the id of a run of notes, which `lethe note runs` shows"),
        (("promote", run, "--tau", "2"), 2, "--tau: '2' is not a number from 0 to 1"),
        (("promote", run, "--batch", "100"), 2, "--batch: '100' is not a number from 1 to 64"),
        (("promote", run, "--advisor", "nope"), 1, '"nope": neither a registered skill nor a folder'),
    ])


@case
def rounds():  # G-74
    schema = os.path.join(os.environ.get("TMPDIR", "/tmp"), "mistakes-%d.json" % os.getpid())
    with open(schema, "w") as f:
        f.write("{}")
    for name, rule in (("asked", ("--arbitrate", "quorum:2/3")), ("judged", ("--arbitrate", "judge/3")), ("plain", ())):
        said("slot", "define", name, "--schema", schema, *rule)
    refused([
        (("slot", "ask", "asked"), 2, "ask needs --question ID"),
        (("slot", "ask", "asked", "--question", "two words"), 1, '"two words" is not a question\'s id: 1 to 64 of'),
        (("slot", "ask", "asked", "--question", "q", "--deadline", "tomorrow"), 2, "--deadline: 'tomorrow' is not a time from now of at most 8760h: 10m, 2h"),
        (("slot", "ask", "plain", "--question", "q"), 1, "slot plain has no rule of arbitration"),
        (("slot", "ask", "nowhere", "--question", "q"), 1, "slot nowhere is not defined"),
        (("slot", "decide", "asked"), 1, "slot asked: no proposal is gathered"),
        (("slot", "decide", "plain"), 1, "slot plain has no rule of arbitration"),
        (("slot", "decide", "asked", "--judge", "nope"), 1, '--judge: "nope": neither a registered skill nor a folder'),
        (("slot", "decide", "asked", "--timeout", "5s"), 2, "--timeout is an option of the judge: give --judge SKILL, too"),
        (("slot", "define", "z", "--schema", schema, "--arbitrate", "judge:me/3"), 2, "rule of arbitration: judge/N"),
        (("slot", "define", "z", "--schema", schema, "--arbitrate", "jury/3"), 2, "first, cas, priority, quorum, confidence or judge"),
    ])
    os.unlink(schema)


@case
def digest_and_context():  # M-67, G-73
    refused([
        (("digest", "run", "--reasons", "old"), 2, "--reasons: 'old' is no reason; reasons are broken_ref"),
        (("digest", "run", "--approve", "yes"), 2, "--approve 'yes': policy, ask, or auto:"),
        (("digest", "why", "issues", "x"), 1, '"issues" is none of memory_substrate, knowledge_projections, skill_artifacts'),
        (("digest", "passes", "--scope", "nowhere"), 1, SCOPES),
        (("context", "--lane", "0"), 2, "--lane: '0' is not a number from 1 to 100"),
        (("context", "--bytes", "1k"), 2, "--bytes: '1k' is not a number from 1024 to 262144"),
        (("context", "--scope", "nowhere"), 1, SCOPES),
        (("context", "--query", '"open'), 1, "at character 1: a quote that is not closed"),
        (("context", "--at", "99999999"), 1, "at: there is no event 99999999: the newest is"),
    ])


main()
