/* Runs: supervisor, CLI. Inside of compress-revise.c: words by which a value replaces an earlier value. */
#pragma once

/* The sentence corrects a value, even without naming the earlier one. */
static const char *const revise_words[] = {
        "instead", "rather", "make it", "make that", "on reflection", "on second thought", "correction", "misread",
        "misspoke", "mistaken", "i meant", "sorry", "my mistake", "my error", "scratch", "better", "actually", "i said",
        "in its place", "strike that", "after all", "move that", "move it", "shift it", "shift that", "push it", "push that",
        "bump it", "raise it", "raised it", "lower it", "lowered it", "set it to", "cut it", "increase it", "increased it",
        "reduce it", "reduced it", "change it", "changed it", "i changed", "we changed", "switch to", "we switched",
        "handing over", "hand over", "handed over"};
/* The sentence changes a value. */
static const char *const revise_turns[] = {
        "replace", "replaces", "replaced", "swap", "swaps", "swapped", "switch", "switches", "switched",
        "change", "changes", "changed", "move", "moves", "moved", "shift", "shifts", "push", "pushes", "pull", "passes",
        "passed", "hand", "hands", "handed", "takes over", "took over", "take over", "taking over", "in place",
        "meant", "wrong", "postpone", "postponed",
        "reschedule", "rescheduled", "bring forward", "from here", "steps in", "stepped in", "succeeds",
        "no longer", "now", "become", "becomes", "strike", "slips", "slipped", "delayed", "extended", "bumped", "upgraded",
        "turns out", "settle on", "settled on"};
/* A date or time moves: the only one of the state is meant. */
static const char *const revise_shifts[] = {
        "moved", "moves", "slips", "slipped", "slip", "postponed", "postpone", "rescheduled", "reschedule", "shifted",
        "shifts", "delayed", "extended", "pushed", "brought forward", "day later", "day earlier", "week later",
        "week earlier", "hour later", "hour earlier", "put off", "pushed back", "pushes"};
/* A person takes the place of another. */
static const char *const revise_persons[] = {
        "handing over", "hand over", "handed over", "hands over", "takes over", "took over", "taking over", "take over",
        "in charge", "on duty", "on call", "steps in", "stepped in", "fills in", "is covering", "covers for",
        "replaces", "replaced", "succeeds", "is with", "leads from", "now leads", "is leading", "drives now"};
/* The earlier value is of no use any more; the same sentence or the next may have a new value. */
static const char *const revise_ends[] = {
        "ill", "sick", "off", "away", "out", "gone", "full", "down", "broken", "unavailable", "not available", "slow",
        "lags", "lagging", "clash", "clashes", "break", "leave", "left", "quit", "busy", "closed", "booked", "taken",
        "crashed", "failed", "fails", "dead", "retired", "stuck", "impossible", "is too", "are too", "was too", "too late", "too early", "too long",
        "too expensive", "too high", "too low", "too small", "too big", "does not work", "doesn't work", "won't work",
        "cannot", "can't", "won't do", "won't accept", "has no", "have no", "discontinued", "refuses", "called in sick",
        "sold out", "doesn't fit", "does not fit", "doesn't bind", "cancelled", "canceled", "expired", "withdrew", "resigned", "holiday", "vacation"};
/* The sentence speaks of a value without naming the value: "take 220, the other is too small". */
static const char *const revise_others[] = {"other", "others", "alternative", "alternatives"};
/* The sentence makes no decision. */
static const char *const revise_guesses[] = {"might", "maybe", "perhaps", "possibly", "whether", "if", "suspect", "suspects",
                                             "wonder", "guess", "not sure", "unless", "what if", "suppose", "claims",
                                             "says", "said"};
