/* Runs: supervisor, CLI. Inside of compress-cues.c: wordings of hypotheses and next steps. */
#pragma once

static const char *const cue_hypothesis[] = {
        "hypothesis :", "hypothesis is that", "hypothesis is", "hypothesis -", "working theory :", "working theory is that",
        "working theory is", "theory :", "my theory is that", "my theory is", "our theory is that", "our theory is",
        "suspicion :", "my suspicion is that", "my suspicion is", "suspected cause :", "suspected root cause :",
        "likely cause :", "probable cause :", "my guess is that", "my guess is", "i suspect that", "i suspect",
        "we suspect that", "we suspect", "i assume that", "we assume that", "working assumption :", "i hypothesize that"};
static const char *const cue_next[] = {
        "next :", "next step :", "next steps :", "next step is to", "next step is", "next step -", "next up :", "up next :",
        "next action :", "next check :", "next diagnostic :", "next i want to", "next i will", "next i'll", "next i",
        "next we want to", "next we will", "next we'll", "next we", "next , i will", "next , i'll", "next , i",
        "next , we will", "next , we'll", "next , we", "as next step , i", "my next step is to", "my next step is",
        "our next step is to", "our next step is", "next thing to check is", "next thing to check :", "next evidence :",
        "after that i will", "after that i'll", "after that we will", "after that we'll", "next i'm going to"};
static const char *const cue_rules[] = {"never", "do not", "don't", "no", "must", "always", "nothing", "nobody", "only"};
/* Before the pattern. */
static const char *const cue_before[] = {"my", "our", "the", "a", "new", "working", "current", "so", "ok", "okay", "and",
                                         "then", "another", "best", "active", "main", "first", "second", "well", "leading"};
static const char *const cue_refuted[] = {
        "ruled out", "rule out", "refuted", "disproved", "disproven", "not the cause", "wasn't the cause",
        "isn't the cause", "wrong", "not it", "wasn't it", "dead end", "innocent", "drop the hypothesis", "falsified",
        "excluded", "rejected"};
static const char *const cue_confirmed[] = {"hypothesis is confirmed", "hypothesis confirmed", "hypothesis was right",
                                            "theory was right", "theory is confirmed", "theory confirmed",
                                            "confirms the hypothesis", "hypothesis holds", "hypothesis is right",
                                            "confirmed the hypothesis", "suspicion was right", "suspicion confirmed"};
static const char *const cue_done[] = {"done", "checked", "ran", "finished", "completed", "verified", "looked at",
                                       "compared", "tested", "did", "executed", "reviewed", "skip", "examined",
                                       "was run", "inspected", "no need to", "analysed", "analyzed"};
