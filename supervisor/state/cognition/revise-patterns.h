/* Runs: supervisor, CLI. Inside of compress-revise.c: words by which a value replaces an earlier value. */
#pragma once

/* The sentence corrects a value, even without naming the earlier one. */
static const char *const revise_words[] = {
        "instead", "rather", "make it", "make that", "on reflection", "on second thought", "correction", "misread",
        "misspoke", "mistaken", "i meant", "sorry", "my mistake", "my error", "scratch", "better", "actually", "i said",
        "in its place", "strike that", "after all", "move that", "move it", "shift it", "shift that", "push it", "push that"};
/* The sentence changes a value. */
static const char *const revise_turns[] = {
        "replace", "replaces", "replaced", "swap", "swaps", "swapped", "switch", "switches", "switched",
        "change", "changes", "changed", "move", "moves", "moved", "shift", "shifts", "push", "pushes", "pull", "passes",
        "passed", "hand", "hands", "handed", "takes over", "took over", "take over", "taking over", "in place",
        "meant", "wrong", "postpone", "postponed",
        "reschedule", "rescheduled", "bring forward", "from here", "steps in", "stepped in", "succeeds",
        "no longer", "now", "become", "becomes", "strike"};
/* The earlier value is of no use any more; the same sentence or the next may have a new value. */
static const char *const revise_ends[] = {
        "ill", "sick", "off", "away", "out", "gone", "full", "down", "broken", "unavailable", "not available", "slow",
        "lags", "lagging", "clash", "clashes", "break", "leave", "left", "quit", "busy", "closed", "booked", "taken",
        "crashed", "failed", "fails", "dead", "retired", "stuck", "impossible", "too late", "too early", "too long",
        "too expensive", "too high", "too low", "too small", "too big", "does not work", "doesn't work", "won't work",
        "cannot", "can't", "expired", "withdrew", "resigned", "holiday", "vacation"};
/* The sentence makes no decision. */
static const char *const revise_guesses[] = {"might", "maybe", "perhaps", "possibly", "whether", "if", "suspect", "suspects",
                                             "wonder", "guess", "not sure", "unless", "what if", "suppose", "claims",
                                             "says", "said"};
