/* Runs: CLI. The questions that an auditor asks about regions (I-24, I-28, I-31, I-33, I-60), each answered with the regions to which it applies. */
#pragma once

#include "audit/history.h"

/* QUESTION(NAME, word, fails, what): the only list. fails: an answer other than "none" means that something does not hold. */
#define REGION_QUESTIONS(QUESTION)                                                                                                      \
        QUESTION(UNRELEASED, "unreleased", true, "without exactly one release before their end")                                        \
        QUESTION(UNPROVED, "unproved", true, "whose memory is not proved overwritten")                                                  \
        QUESTION(LATE, "late", true, "whose teardown passed its bound")                                                                 \
        QUESTION(BREACHED, "breached", false, "that broke a budget, and of whose slots, notes and memory nothing was kept")                                     \
        QUESTION(RECOVERED, "recovered", false, "whose supervisor died, finished by a later one")                                       \
        QUESTION(WEAKER, "weaker", false, "of discipline none, which policy allows to trusted skills only")                             \
        QUESTION(RELAXED, "relaxed", false, "whose key reached further than the invocation, or which had more than the region above")

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
/* The question applies to this region. */
bool region_question_is(RegionQuestion q, const RegionFacts *f);
