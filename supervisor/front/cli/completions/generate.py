#!/usr/bin/python3
"""Writes the completion of a shell from what the program says of itself: its verbs, and the words and options of each verb.

usage: generate.py LETHE bash|zsh|fish TEMPLATE OUTPUT
"""
import re
import subprocess
import sys

FILES = re.compile(r"FILE|DIR|PATH|PEM|SRC|PROGRAM|SKILL")
VALUES = {"region": "(__lethe_regions)", "session": "(__lethe_sessions)", ("audit", "scope"): "invocation invocation-tree", ("report", "scope"): "invocation invocation-tree",
          ("trace", "scope"): "invocation invocation-tree", "network": "none loopback host", "tier": "namespaces landlock",
          ("object", "state"): "instantiated evaluation execution mutation delegation dormant reentry terminated"}


def out(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


def quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


class Verb:
    def __init__(self, name, line, text):
        self.name, self.line = name, line
        self.words = list(dict.fromkeys(re.findall(r"^(?:Usage:|      ) lethe %s ([a-z]+)\b" % name, text, re.M)))
        described = {n: d for n, d in re.findall(r"^  (?:-\w, )?--([a-z-]+)(?:[ =]\S+)?(?: +|\n {10,})(\S.*)$", text, re.M)}
        self.shorts = {n: s for s, n in re.findall(r"^  -(\w), --([a-z-]+)", text, re.M)}
        self.options = {}  # name: its argument or "", and its description or ""
        for name, argument in re.findall(r"(?<![\w-])--([a-z][a-z-]*)(?: (?=\S)(policy\||[A-Z]+))?", text):
            if name != "help" and not self.options.get(name, ("",))[0]:
                self.options[name] = argument, described.get(name, "")

    def values(self, option):
        return VALUES.get((self.name, option)) or VALUES.get(option)

    def fish(self):
        for name, (argument, described) in sorted(self.options.items()):
            values = argument and self.values(name)
            how = " -x -a " + quote(values) if values else " -r" if FILES.match(argument) else " -x" if argument else ""
            short = " -s " + self.shorts[name] if name in self.shorts else ""
            yield "complete -c lethe -n '__fish_seen_subcommand_from %s' -l %s%s%s%s" % (self.name, name, short, how, " -d " + quote(described) if described else "")


def tables(shell, verbs):
    entry = {"bash": '        [%s]="%s"', "zsh": "        %s '%s'"}.get(shell)
    if shell == "fish":
        return {"VERBS": ["complete -c lethe -n __fish_use_subcommand -f -a %s -d %s" % (v.name, quote(v.line)) for v in verbs],
                "WORDS": ["complete -c lethe -n '__fish_seen_subcommand_from %s' -a '%s'" % (v.name, " ".join(v.words)) for v in verbs if v.words],
                "OPTIONS": [line for v in verbs for line in v.fish()]}
    return {"VERBS": ["        %s %s" % (v.name, quote(v.line)) for v in verbs],
            "WORDS": [entry % (v.name, " ".join(v.words)) for v in verbs if v.words],
            "OPTIONS": [entry % (v.name, " ".join("--" + o for o in sorted(v.options))) for v in verbs]}


def main(lethe, shell, template, output):
    verbs = [Verb(name, line, out(lethe, name, "--help")) for name, line in re.findall(r"^  ([a-z]+) {2,}(\S.*)$", out(lethe, "--help"), re.M)]
    questions = re.search(r"named question:\n([a-z, ]+)\.", out(lethe, "audit", "--help"))[1]
    with open(template, encoding="utf-8") as f:
        text = f.read().replace("@QUESTIONS@", questions.replace(",", ""))
    for name, lines in tables(shell, verbs).items():
        text = text.replace("@%s@" % name, "\n".join(lines))
    with open(output, "w", encoding="utf-8") as f:
        f.write(text)


main(*sys.argv[1:])
