#include "audit/regions.h"

#include <errno.h>
#include <string.h>

static const struct {
        const char *word;
        bool fails;
        const char *what;
} questions[] = {
#define QUESTION(name, w, f, s) {w, f, s},
        REGION_QUESTIONS(QUESTION)
#undef QUESTION
};

const char *region_question_word(RegionQuestion q) {
        return questions[q].word;
}

const char *region_question_what(RegionQuestion q) {
        return questions[q].what;
}

bool region_question_fails(RegionQuestion q) {
        return questions[q].fails;
}

int region_question_parse(const char *word, RegionQuestion *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(questions); i++)
                if (strcmp(questions[i].word, word) == 0) {
                        *ret = (RegionQuestion)i;
                        return 0;
                }
        return -EINVAL;
}

bool region_question_is(RegionQuestion q, const RegionFacts *f) {
        switch (q) {
        case REGION_UNRELEASED:
                return !facts_in_order(f);
        case REGION_UNPROVED:
                return facts_unproved(f);
        case REGION_LATE:
                return facts_late(f);
        case REGION_BREACHED:
                return f->faulted;
        case REGION_RECOVERED:
                return f->recovered > 0;
        case REGION_WEAKER:
                return strcmp(f->asked, "none") == 0;
        case REGION_RELAXED:
                return strcmp(f->scope, "invocation") != 0 || f->beyond;
        case REGION_QUESTIONS_N:
                break;
        }
        return false;
}
