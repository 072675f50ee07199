#include "object/memory-inside.h"

static const char *const outcome_kinds[OUTCOME_KIND_COUNT_] = {
        [OUTCOME_KIND_SUCCESS] = "success",
        [OUTCOME_KIND_FAILURE] = "failure",
        [OUTCOME_KIND_TIMEOUT] = "timeout",
        [OUTCOME_KIND_PARTIAL] = "partial",
        [OUTCOME_KIND_NON_RESPONSE] = "non_response",
        [OUTCOME_KIND_NEGATIVE] = "negative",
        [OUTCOME_KIND_DENIED] = "denied",
        [OUTCOME_KIND_INTERRUPTED] = "interrupted",
        [OUTCOME_KIND_FAULT] = "fault",
};

const char *outcome_kind_name(OutcomeKind k) {
        assert((unsigned)k < OUTCOME_KIND_COUNT_);
        return outcome_kinds[k];
}

OutcomeKind outcome_kind_of(const char *name) {
        return name ? name_index(outcome_kinds, OUTCOME_KIND_COUNT_, name) : OUTCOME_KIND_COUNT_;
}

int outcome_bytes(const json_t *v, size_t *ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = json_canonical(v, &text, &n);

        if (r == -ENOMEM)
                return r;
        *ret = r < 0 ? SIZE_MAX : n;
        return 0;
}

int outcome_same(const json_t *a, const json_t *b) {
        _cleanup_free_ char *one = NULL, *two = NULL;
        size_t n_one, n_two;

        if (json_equal(a, b))
                return 1;
        if (!a || !b)
                return 0;
        if (json_canonical(a, &one, &n_one) == -ENOMEM || json_canonical(b, &two, &n_two) == -ENOMEM)
                return -ENOMEM;
        return one && two && n_one == n_two && memcmp(one, two, n_one) == 0;
}

/* Members of a wrong form are left out: an outcome must be taken whatever a skill says (O-14). */
json_t *outcome_kept(const json_t *outcome, bool value) {
        static const char *const numbers[] = {"latency_usec", "exit_code", "signal"};
        static const char *const texts[] = {"reason", "capability"};
        json_t *kept = json_object(), *content = value ? json_object_get(outcome, "value") : NULL;
        int r = kept ? json_object_set(kept, "kind", json_object_get(outcome, "kind")) : -1;
        size_t n = SIZE_MAX;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(numbers); i++) {
                json_t *v = json_object_get(outcome, numbers[i]);
                uint64_t number;

                if (json_get_u64(v, &number) == 0)
                        r = json_object_set(kept, numbers[i], v);
        }
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(texts); i++) {
                json_t *v = json_object_get(outcome, texts[i]);

                if (json_text(v) && json_string_length(v) <= MEMORY_FOLD_REASON_MAX)
                        r = json_object_set(kept, texts[i], v);
        }
        if (r == 0 && content)
                r = outcome_bytes(content, &n);
        if (r == 0 && n <= MEMORY_VALUE_MAX)
                r = json_object_set(kept, "value", content);
        if (r < 0) {
                json_decref(kept);
                return NULL;
        }
        return kept;
}
