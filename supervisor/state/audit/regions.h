/* Runs: CLI. An auditor's questions about regions (I-24, I-28, I-31, I-33, I-60). Each answer is a list of regions. */
#pragma once

#include "audit/history.h"

typedef enum RegionQuestion {
        REGION_UNRELEASED,
        REGION_UNPROVED,
        REGION_LATE,
        REGION_BREACHED,
        REGION_RECOVERED,
        REGION_WEAKER,
        REGION_RELAXED,
        REGION_QUESTIONS_N
} RegionQuestion;

extern const struct RegionQuestionText {
        const char *word, *what;
        bool fails; /* a non-empty answer is a failure */
} region_questions[REGION_QUESTIONS_N];
/* Returns 0 or -EINVAL. */
int region_question_parse(const char *word, RegionQuestion *ret);
/* The question applies to f. */
bool region_question_is(RegionQuestion q, const RegionFacts *f);
