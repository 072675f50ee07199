#include "perform/outcome.h"

#include "object/intent.h"
#include "object/memory.h"
#include "region/region-state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const outcome_words[] = {"outcome", "value", "remainder", "capability", "next"};

/* The result has the words of an outcome; else it is a value. */
static bool outcome_is_said(const json_t *result) {
        return json_object_get(result, "outcome") || json_object_get(result, "next");
}

static int outcome_check_size(const char *what, const json_t *value, size_t most, Diag *reterr) {
        _cleanup_json_ json_t *list = value ? json_pack("[O]", value) : NULL;
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        if (!value)
                return 0;
        r = list ? json_canonical(list, &text, &n) : -ENOMEM;
        if (r == -ERANGE)
                return diag(reterr, 1, "%s of the result has a number that JSON readers do not read alike", what);
        if (r == 0 && n > most)
                return diag(reterr, 1,
                            "%s of the result has %zu bytes, and an entry takes %zu: keep it in a slot, and answer "
                            "its name",
                            what, n, most);
        return r;
}

/* The remainder of a partial result takes the place of the step's arguments, a text that of its input. */
static int outcome_check_remainder(const json_t *list, Diag *reterr) {
        const size_t n = json_array_size(list);

        if (json_text(list) && json_string_length(list) <= INTENT_INPUT_MAX)
                return 0;
        if (n == 0 || n > INTENT_ARGS_MAX)
                return diag(reterr, 1,
                            "\"remainder\" of a partial result must be an array of 1 to %d texts, the arguments of the "
                            "next execution, or a text, its input",
                            INTENT_ARGS_MAX);
        for (size_t i = 0; i < n; i++) {
                const json_t *one = json_array_get(list, i);

                if (!json_text(one) || json_string_length(one) > INTENT_TEXT_MAX)
                        return diag(reterr, 1,
                                    "\"remainder\", element %zu: must be a text of at most %d bytes without U+0000", i,
                                    INTENT_TEXT_MAX);
        }
        return 0;
}

static int outcome_check_word(const json_t *result, Diag *reterr) {
        const json_t *word = json_object_get(result, "outcome"), *capability = json_object_get(result, "capability"),
                     *remainder = json_object_get(result, "remainder");
        const bool partial = json_text_is(word, "partial"), negative = json_text_is(word, "negative");

        if (word && !partial && !negative && !json_text_is(word, "success"))
                return diag(
                        reterr, 1,
                        "\"outcome\" of the result must be \"success\", \"partial\" or \"negative\"; a failure is an "
                        "exit code");
        if (remainder && !partial)
                return diag(reterr, 1, "\"remainder\" of the result goes with \"outcome\": \"partial\"");
        if (capability && !negative)
                return diag(reterr, 1, "\"capability\" of the result goes with \"outcome\": \"negative\"");
        if (negative && (!json_text(capability) || json_string_length(capability) == 0 ||
                         json_string_length(capability) > OUTCOME_TEXT_MAX))
                return diag(reterr, 1,
                            "\"capability\" of a negative result must be a text of 1 to %d bytes: what this node lacks",
                            OUTCOME_TEXT_MAX);
        return partial ? outcome_check_remainder(remainder, reterr) : 0;
}

int outcome_check_result(const json_t *result, Diag *reterr) {
        const json_t *next = json_object_get(result, "next");
        const char *key;
        json_t *v;
        int r;

        if (!outcome_is_said(result))
                return outcome_check_size("the value", result, OUTCOME_VALUE_MAX, reterr);
        json_object_foreach((json_t *)result, key, v)
                if (name_index(outcome_words, ARRAY_SIZE(outcome_words), key) == ARRAY_SIZE(outcome_words))
                        return diag(reterr, 1,
                                    "\"%s\": a result with \"outcome\" or \"next\" has the members outcome, value, "
                                    "remainder, capability and next alone; put yours into \"value\"",
                                    DIAG_QUOTED(key));
        if (next && !json_is_object(next))
                return diag(reterr, 1,
                            "\"next\" of the result must be an object: {\"delegate\"}, {\"mutate\"}, {\"sleep\"} or "
                            "{\"end\"}");
        r = outcome_check_word(result, reterr);
        return r ?: outcome_check_size("\"value\"", json_object_get(result, "value"), OUTCOME_VALUE_MAX, reterr)
                            ?: outcome_check_size("\"remainder\"", json_object_get(result, "remainder"),
                                                  MEMORY_REMAINDER_MAX, reterr)
                            ?: outcome_check_size("\"next\"", next, OUTCOME_VALUE_MAX, reterr);
}

static json_t *outcome_new(OutcomeKind kind, uint64_t usec, const char *reason) {
        return json_pack("{s:s, s:o, s:s*}", "kind", outcome_kind_name(kind), "latency_usec", json_u64(usec), "reason",
                         reason && *reason ? reason : NULL);
}

/* A skill that ended with 0. */
static int outcome_said(uint64_t usec, const json_t *result, const char *discards, json_t **ret, json_t **ret_next) {
        const bool said = outcome_is_said(result);
        const json_t *word = json_object_get(result, "outcome");
        _cleanup_json_ json_t *o = NULL;
        Diag d = {0};
        int r = outcome_check_result(result, &d);

        if (r < 0)
                return r;
        if (r == 0 && *discards)
                r = diag(&d, 1, "nothing that the region proposed was kept: %s", discards);
        o = outcome_new(r > 0                            ? OUTCOME_KIND_FAILURE
                        : json_text_is(word, "partial")  ? OUTCOME_KIND_PARTIAL
                        : json_text_is(word, "negative") ? OUTCOME_KIND_NEGATIVE
                                                         : OUTCOME_KIND_SUCCESS,
                        usec, d.text);
        if (!o || json_object_set_new(o, "exit_code", json_integer(0)) < 0)
                return -ENOMEM;
        for (size_t i = 1; r == 0 && said && i + 1 < ARRAY_SIZE(outcome_words); i++) {
                json_t *v = json_object_get(result, outcome_words[i]);

                if (v && json_object_set(o, outcome_words[i], v) < 0)
                        return -ENOMEM;
        }
        if (r == 0 && result && !said && json_object_set(o, "value", (json_t *)result) < 0)
                return -ENOMEM;
        if (r == 0 && said)
                *ret_next = json_incref(json_object_get(result, "next"));
        *ret = TAKE_PTR(o);
        return 0;
}

static OutcomeKind outcome_kind(const char *word) {
        static const struct {
                Outcome outcome;
                OutcomeKind kind;
        } kinds[] = {
                {OUTCOME_TIMED_OUT, OUTCOME_KIND_TIMEOUT},     {OUTCOME_DENIED, OUTCOME_KIND_DENIED},
                {OUTCOME_CANCELLED, OUTCOME_KIND_INTERRUPTED}, {OUTCOME_GUARD_LOST, OUTCOME_KIND_FAULT},
                {OUTCOME_SETUP_FAILED, OUTCOME_KIND_FAULT},    {OUTCOME_NONE, OUTCOME_KIND_FAULT},
        };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (strcmp(outcome_name(kinds[i].outcome), word) == 0)
                        return kinds[i].kind;
        return OUTCOME_KIND_FAILURE; /* exited, signaled, or a budget that was broken */
}

int outcome_of_region(const json_t *ending, uint64_t usec, const json_t *result, const char *discards, json_t **ret,
                      json_t **ret_next) {
        const char *word = json_text(json_object_get(ending, "outcome")) ?: outcome_name(OUTCOME_NONE);
        static const char *const numbers[] = {"exit_code", "signal"};
        const bool exited = strcmp(word, outcome_name(OUTCOME_EXITED)) == 0,
                   own = exited || strcmp(word, outcome_name(OUTCOME_SIGNALED)) == 0; /* the program's own end */
        const char *reason = json_text(json_object_get(ending, "reason"));
        _cleanup_json_ json_t *o = NULL;
        char text[1200];

        *ret_next = NULL;
        if (exited && json_number(ending, "exit_code") == 0)
                return outcome_said(usec, result, discards, ret, ret_next);
        snprintf(text, sizeof(text), "%s%s%s", word, reason ? ": " : "", reason ?: "");
        o = outcome_new(outcome_kind(word), usec, own && !reason ? NULL : text);
        if (!o)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                if (json_number(ending, numbers[i]) > 0 &&
                    json_object_set(o, numbers[i], json_object_get(ending, numbers[i])) < 0)
                        return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

json_t *outcome_of_refusal(const char *skill, const Refusal *refusal) {
        _cleanup_json_ json_t *o = NULL;
        char capability[OUTCOME_TEXT_MAX];

        if (refusal->by_policy)
                return outcome_new(OUTCOME_KIND_DENIED, 0, refusal->why.text);
        snprintf(capability, sizeof(capability), "skill:%s", skill);
        o = outcome_new(OUTCOME_KIND_NEGATIVE, 0, refusal->why.text);
        return o && json_object_set_new(o, "capability", json_string(capability)) == 0 ? TAKE_PTR(o) : NULL;
}
