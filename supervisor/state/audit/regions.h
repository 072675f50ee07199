/* Runs: CLI. An auditor's questions about regions (I-24, I-28, I-31, I-33, I-60). Each answer is a list of regions. */
#pragma once

#include "audit/history.h"

/* QUESTION(NAME, word, fails, text): the only list. fails: a non-empty answer is a failure. */
#define REGION_QUESTIONS(QUESTION)                                                                                   \
        QUESTION(UNRELEASED, "unreleased", true, "with zero or several releases before the end")                     \
        QUESTION(UNPROVED, "unproved", true, "with memory not proved overwritten")                                   \
        QUESTION(LATE, "late", true, "with a teardown beyond the bound")                                             \
        QUESTION(BREACHED, "breached", false, "with a broken budget: no change of slots, notes and memory was kept") \
        QUESTION(RECOVERED, "recovered", false, "finished by a later supervisor, since the first died")              \
        QUESTION(WEAKER, "weaker", false, "of discipline none (by policy for trusted skills only)")                  \
        QUESTION(RELAXED, "relaxed", false, "with a key beyond the invocation, or more rights than the region above")

typedef enum RegionQuestion {
#define QUESTION(name, word, fails, what) REGION_##name,
        REGION_QUESTIONS(QUESTION)
#undef QUESTION
                REGION_QUESTIONS_N
} RegionQuestion;

const char *region_question_word(RegionQuestion q);
const char *region_question_what(RegionQuestion q);
bool region_question_fails(RegionQuestion q);
/* Returns 0 or -EINVAL. */
int region_question_parse(const char *word, RegionQuestion *ret);
/* The question applies to f. */
bool region_question_is(RegionQuestion q, const RegionFacts *f);
