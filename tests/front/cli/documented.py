#!/usr/bin/python3
"""The verbs and options of `lethe --help` stand in the man pages and in the three completions, and nothing else does. TAP.

usage: documented.py LETHE MAN-FOLDER COMPLETIONS-FOLDER
"""
import os
import re
import shutil
import subprocess
import sys

lethe, man, completions = sys.argv[1:4]
cases = []
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")


def out(argv, **kw):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, **kw).stdout


def case(name, problems):
    cases.append((name, problems))


def same(name, want, got):
    """Two sets of words that have to be equal."""
    problems = ["missing: " + " ".join(sorted(want - got))] if want - got else []
    problems += ["not in --help: " + " ".join(sorted(got - want))] if got - want else []
    case(name, problems)


def page(name):
    with open(os.path.join(man, name + ".scd"), encoding="utf-8") as f:
        return f.read().replace("\\", "")


def bash_words(*words):
    """What bash would offer after `lethe words…`."""
    script = ('source "$1"; shift; COMP_WORDS=(lethe "$@"); COMP_CWORD=$#; COMP_LINE="lethe $*"; COMP_POINT=${#COMP_LINE}; '
              '_lethe; printf "%s\\n" "${COMPREPLY[@]}"')
    return set(out(["bash", "--norc", "-c", script, "bash", completions + "/lethe", *words]).split())


def fish_words(line):
    text = out(["fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', completions + "/lethe.fish", line],
               env=dict(os.environ, PATH=os.path.dirname(os.path.abspath(lethe)) + ":/usr/bin:/bin", HOME=os.environ.get("TMPDIR", "/tmp")))
    return set(l.split("\t")[0] for l in text.splitlines())


def zsh_tables():
    """The verbs and, by verb, the options of the zsh file: its arrays, read by zsh itself."""
    script = 'source $1; print -rl -- ${(k)_lethe_verbs}; print -r -- "=="; for v in ${(k)_lethe_options}; do print -r -- $v ${=_lethe_options[$v]}; done'
    verbs, _, options = out(["zsh", "-f", "-c", script, "zsh", completions + "/_lethe"]).partition("==\n")
    return set(verbs.split()), {l.split()[0]: set(OPTION.findall(l)) for l in options.splitlines() if l.strip()}


help_text = out([lethe, "--help"])
verbs = set(re.findall(r"^  ([a-z]+) {2,}\S", help_text, re.M))
options = {v: set(OPTION.findall(out([lethe, v, "--help"]))) - {"--help"} for v in verbs}
case("help lists verbs", [] if {"version"} <= verbs else ["too few: " + help_text])

text = page("lethe.1")
sections = {}
for verb, described in re.findall(r"^## lethe ([a-z]+)(.*?)(?=^## lethe |^# )", text, re.M | re.S):  # some have several
    sections[verb] = sections.get(verb, "") + described
same("lethe(1) has a section for each verb", verbs, set(sections))
for v in sorted(verbs):
    described = page("lethe-run.1") if v == "run" else sections.get(v, "")
    want, got = options[v], set(OPTION.findall(described)) - {"--help"}
    if v == "run":
        got &= want
    same("man page: options of " + v, want, got)

# The words of the evidence: grades, classes that are not covered, reasons of what was missed.
with open(os.path.join(man, "..", "..", "..", "isolation", "scrub", "evidence.c"), encoding="utf-8") as f:
    code = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
with open(os.path.join(man, "..", "..", "..", "..", "schema", "guard.h"), encoding="utf-8") as f:
    guard = f.read()
described = page("lethe-isolation.7").split("# EVIDENCE")[1].split("\n# ")[0]
for name, words in (("classes", re.findall(r'add_class\(e, "(\w+)"\)', code) + re.findall(r'^ {16}"(\w+)",\s*$', code.split("void evidence_judge_classes")[1].split("bool known")[0], re.M)),
                    ("grades", re.findall(r'"(\w+)"', " ".join(re.findall(r"e->grade = (.*?);", code)))),
                    ("reasons", re.findall(r'"(\w+)"', re.search(r"#define GUARD_MISSED_NAMES (.*(?:\\\n.*)*)", guard)[1]) + ["scratch", "sections"])):
    case("lethe-isolation(7) has the " + name + " of the evidence", ["too few words: %s" % words] * (len(words) < 5) + ["not described: " + w for w in words if "_%s_" % w not in described])

shells = {s for s in ("bash", "fish", "zsh") if shutil.which(s)}
must = os.environ.get("MUST_WORK") == "1"
if "bash" in shells:
    same("bash: verbs", verbs, {w for w in bash_words("") if not w.startswith("-")})
    for v in sorted(verbs):
        same("bash: options of " + v, options[v], bash_words(v, "--") - {"--help"})
if "zsh" in shells:
    zsh_verbs, zsh_options = zsh_tables()
    same("zsh: verbs", verbs, zsh_verbs)
    for v in sorted(verbs):
        same("zsh: options of " + v, options[v], zsh_options.get(v, set()) - {"--help"})
if "fish" in shells:
    same("fish: verbs", verbs, fish_words("lethe "))
    for v in sorted(verbs):
        same("fish: options of " + v, options[v], {w for w in fish_words("lethe %s --" % v) if w.startswith("--")} - {"--help"})

n = 0
bad = False
print("TAP version 13")
for name, problems in cases:
    n += 1
    bad |= bool(problems)
    print("%s %d - %s" % ("not ok" if problems else "ok", n, name))
    for p in problems:
        print("# " + p.replace("\n", "\n# "))
for s in sorted({"bash", "fish", "zsh"} - shells):
    n += 1
    bad |= must
    print("%s %d - %s%s" % ("not ok" if must else "ok", n, s, " is not installed" if must else " # SKIP not installed"))
print("1..%d" % n)
sys.exit(1 if bad else 0)
