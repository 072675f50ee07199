/* Runs: tests. Random states that keep every rule but the bound, the same for the same seed. */
#pragma once

#include "cognition/ccs.h"

#include <criterion/criterion.h>
#include <stdio.h>

static inline unsigned random_below(uint64_t *seed, unsigned n) {
        *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
        return (unsigned)(*seed >> 33) % n;
}

static inline void random_word(uint64_t *seed, char *out, size_t n_out) {
        static const char *const words[] = {"car", "3 pm", "$500", "web1", "db-2", "Köln", "\"a, b\"", "\"q \\\"x\\\" & y\"", "after(deploy)", "18:00",
                                            "don't", "a\\b", "502_spikes", "\"(\\\\)\"", "東京", "x@y", "-", "possible(a, b c)"};

        snprintf(out, n_out, "%s", words[random_below(seed, ARRAY_SIZE(words))]);
}

static inline void random_state(uint64_t *seed, Ccs *ret) {
        static const char *const relations[] = {"timing", "before", "after", "cause", "possible", "depends", "part_of", "owner"};
        static const char *const polarities[] = {"must", "must_not", "allowed", "avoid"};
        static const char *const sources[] = {"user", "operator", "policy"};
        static const char *const levels[] = {"low", "medium", "high"};

        for (CcsField f = 0; f < CCS_FIELDS; f++) {
                size_t min, max, n;

                ccs_field_bounds(f, &min, &max);
                n = f == CCS_SEMANTIC_GIST ? 1 + random_below(seed, 3) : min + random_below(seed, max - min + 1);
                for (size_t i = 0; i < n; i++) {
                        char one[40], two[40], text[200];
                        unsigned number = random_below(seed, 1000);

                        random_word(seed, one, sizeof(one));
                        random_word(seed, two, sizeof(two));
                        switch (f) {
                        case CCS_FOCAL_ENTITIES:
                                snprintf(text, sizeof(text), "thing(e%u)", number);
                                break;
                        case CCS_RELATIONAL_MAP:
                                snprintf(text, sizeof(text), "%s(%s %s, e%u)", relations[random_below(seed, 8)], one, two, number);
                                break;
                        case CCS_CONSTRAINTS:
                                snprintf(text, sizeof(text), "%s(%s, %s e%u)", polarities[random_below(seed, 4)], sources[random_below(seed, 3)], one, number);
                                break;
                        case CCS_UNCERTAINTY_SIGNAL:
                                if (i == 0)
                                        snprintf(text, sizeof(text), "level(%s)", levels[random_below(seed, 3)]);
                                else
                                        snprintf(text, sizeof(text), "gap(%s, %u)", one, number);
                                break;
                        case CCS_RETRIEVED_ARTIFACTS:
                                snprintf(text, sizeof(text), "log(ev%u@%u)", number, 1 + random_below(seed, 9));
                                break;
                        case CCS_EPISODIC_TRACE:
                        case CCS_SEMANTIC_GIST:
                        case CCS_GOAL_ORIENTATION:
                        case CCS_PREDICTIVE_CUE:
                        case CCS_FIELDS:
                                snprintf(text, sizeof(text), "do(%s %u)", one, number);
                                break;
                        }
                        cr_assert_eq(ccs_add(ret, f, text, NULL), 0, "%s", text);
                }
        }
}
