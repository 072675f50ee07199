/* Runs: supervisor, CLI. Inside of rules-aim.c: words by which a goal is named, given up or reached. */
#pragma once

static const char *const aim_done[] = {
        "done",         "finished",      "reached",  "achieved", "complete", "completed", "met",
        "accomplished", "off the table", "obsolete", "moot",     "dead",     "no longer", "cancelled",
        "canceled",     "dropped",       "over",     "history",  "settled",  "fulfilled", "behind us",
        "off",          "abandoned",     "gone",     "void",     "closed",   "superseded"};
static const char *const aim_drops[] = {
        "forget",          "scrap",         "drop",     "abandon", "cancel",  "scratch", "remove",   "skip",
        "give up",         "giving up",     "given up", "gave up", "ditch",   "shelve",  "tick",     "strike",
        "never mind",      "delete",        "withdraw", "dismiss", "discard", "park",    "postpone", "no more",
        "stop working on", "stop pursuing", "close",    "cross",   "drop the"};
static const char *const aim_nouns[] = {"goal", "goals", "objective", "objectives", "aim", "mission", "task",
                                        "priority", "target", "purpose",   "job",        "focus", "concern"};
/* Before such a word. */
static const char *const aim_whose[] = {
        "our",     "my",      "the",       "your",    "new",     "main",      "first",      "next",      "current",
        "only",    "primary", "top",       "overall", "today's", "ultimate",  "real",       "another",   "second",
        "a",       "one",     "this",      "that",    "number",  "biggest",   "final",      "immediate", "additional",
        "updated", "revised", "tonight's", "further", "key",     "long-term", "short-term", "week's"};
/* "we're trying to …": a person has a goal, whatever the verb. */
static const char *const aim_wants[] = {"we need to",
                                        "we want to",
                                        "we have to",
                                        "we're trying to",
                                        "we are trying to",
                                        "we've got to",
                                        "we also need to",
                                        "we also want to",
                                        "we must",
                                        "we'd like to",
                                        "we would like to",
                                        "i want to",
                                        "i need to",
                                        "i'd like to",
                                        "i would like to",
                                        "i'm trying to",
                                        "i am trying to",
                                        "i have to",
                                        "i also need to",
                                        "i also want to",
                                        "help me to",
                                        "help me",
                                        "help us",
                                        "help us to",
                                        "i want you to",
                                        "i need you to",
                                        "we want you to",
                                        "we need you to",
                                        "i'd like you to",
                                        "i would like you to",
                                        "we'd like you to",
                                        "we're working to",
                                        "we are working to",
                                        "we aim to",
                                        "we plan to",
                                        "we intend to",
                                        "i plan to",
                                        "i intend to",
                                        "i aim to",
                                        "we're going to",
                                        "i also have to",
                                        "we also have to",
                                        "your assignment is to",
                                        "you should now",
                                        "work on",
                                        "work towards"};
