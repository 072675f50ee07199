#include "audit/regions.h"

#include <errno.h>
#include <string.h>

const char *proof_name(Proof p) {
        static const char *const names[] = {
                [PROOF_CLEARED] = "cleared",
                [PROOF_EMPTY] = "nothing_held",
                [PROOF_PARTIAL] = "partial",
                [PROOF_NOTHING] = "unscrubbed",
        };

        return names[p];
}

uint64_t facts_number(const RegionFacts *f, const char *member) {
        return json_number(f->teardown, member);
}

const char *facts_text(const RegionFacts *f, const char *member) {
        return json_str(f->teardown, member);
}

/* True for a number above 0, an object with a member above 0, or a list with items. */
static bool facts_says_missed(const json_t *v) {
        const char *key;
        json_t *member;
        uint64_t n;

        if (json_get_u64(v, &n) == 0)
                return n > 0;
        json_object_foreach((json_t *)v, key, member)
                if (facts_says_missed(member))
                        return true;
        return json_array_size(v) > 0;
}

/* The record's counters report missed memory, whatever the grade. */
static bool facts_contradict_grade(const RegionFacts *f) {
        const json_t *counts = json_object_get(f->teardown, "counts");

        return facts_says_missed(json_object_get(f->teardown, "bytes_missed")) ||
               facts_says_missed(json_object_get(counts, "processes_missed")) ||
               facts_says_missed(json_object_get(counts, "registers_missed")) ||
               facts_number(f, "bytes_verified") <
                       MAX(facts_number(f, "bytes_overwritten"), facts_number(f, "bytes_held"));
}

Proof facts_proof(const RegionFacts *f) {
        const char *grade = facts_text(f, "grade");
        bool empty = strcmp(grade, "nothing_held") == 0;

        if (strcmp(grade, "partial") == 0)
                return PROOF_PARTIAL;
        if (!empty && strcmp(grade, "cleared") != 0 && strcmp(grade, "cleared_early") != 0 &&
            strcmp(grade, "cleared_kernel") != 0)
                return PROOF_NOTHING;
        /* Counters outweigh the grade: a grade in contradiction with its counters proves no more than the counters. */
        if (facts_contradict_grade(f))
                return PROOF_PARTIAL;
        if (empty && json_number(json_object_get(f->teardown, "counts"), "processes") > 0)
                return PROOF_NOTHING;
        return empty ? PROOF_EMPTY : PROOF_CLEARED;
}

bool facts_unproved(const RegionFacts *f) {
        Proof p = facts_proof(f);

        return f->ended > 0 && p != PROOF_CLEARED && p != PROOF_EMPTY;
}

bool facts_in_order(const RegionFacts *f) {
        if (f->hook_end || f->n_released > 1 || f->orphan)
                return false;
        return f->ended == 0 || (f->n_released == 1 && f->allocated < f->released && f->released < f->ended);
}

bool facts_late(const RegionFacts *f) {
        return f->passed ||
               (strcmp(f->outcome, "cancelled") == 0 && f->bound_usec > 0 && facts_number(f, "usec") > f->bound_usec);
}

const struct RegionQuestionText region_questions[] = {
        [REGION_UNRELEASED] = {"unreleased", "with zero or several releases before the end", true},
        [REGION_UNPROVED] = {"unproved", "with memory not proved overwritten", true},
        [REGION_LATE] = {"late", "with a teardown beyond the bound", true},
        [REGION_BREACHED] = {"breached", "with a broken budget: no change of slots, notes and memory was kept", false},
        [REGION_RECOVERED] = {"recovered", "finished by a later supervisor, since the first died", false},
        [REGION_WEAKER] = {"weaker", "of discipline none (by policy for trusted skills only)", false},
        [REGION_RELAXED] = {"relaxed", "with a key beyond the invocation, or more rights than the region above", false},
};

int region_question_parse(const char *word, RegionQuestion *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(region_questions); i++)
                if (strcmp(region_questions[i].word, word) == 0) {
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
