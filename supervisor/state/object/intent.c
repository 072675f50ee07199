#include "object/intent.h"

#include "object/intent-form.h"

#include <inttypes.h>
#include <string.h>

#define INTENT_CLASS_MAX 64
#define INTENT_NOTE_MAX 1024
#define INTENT_ROUNDS_MOST 1000000000
#define INTENT_ATTEMPTS_MOST 1000000
#define INTENT_MSEC UINT64_C(1000)
#define INTENT_SEC UINT64_C(1000000)
#define INTENT_DAY (UINT64_C(86400) * INTENT_SEC)

static const char *const intent_may_words[] = {"delegate", "mutate", "sleep", "end"};

static int intent_read_pace(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        static const struct {
                const char *name, *complete;
                uint64_t standard, least;
        } rows[] = {{"base", "base_usec", INTENT_SEC, INTENT_MSEC},
                    {"min", "min_usec", INTENT_SEC, INTENT_PACE_LEAST},
                    {"max", "max_usec", 3600 * INTENT_SEC, INTENT_MSEC},
                    {"target", "target_usec", 10 * INTENT_SEC, INTENT_MSEC}};
        _cleanup_json_ json_t *to = json_object();
        int e = !to ? -ENOMEM
                : v ? form_members(f, at, v,
                                   FORM_WORDS("base", "base_usec", "min", "min_usec", "max", "max_usec", "target",
                                              "target_usec"))
                    : 0;

        for (size_t i = 0; e == 0 && i < ARRAY_SIZE(rows); i++) {
                uint64_t t = rows[i].standard;

                e = form_duration(f, at, v, rows[i].name,
                                  json_object_get(v, rows[i].complete) ? INTENT_MSEC : rows[i].least, 365 * INTENT_DAY, &t, NULL);
                e = e ?: form_put(to, rows[i].complete, json_u64(t));
        }
        if (e == 0 && json_number(to, "min_usec") > json_number(to, "max_usec"))
                return form_bad(f, FORM_AT(at, "min"), json_object_get(to, "min_usec"),
                                "microseconds are more than \"max\", %" PRIu64, json_number(to, "max_usec"));
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

/* In the order of the words. */
static int intent_read_may(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        _cleanup_json_ json_t *to = json_array();
        bool said[ARRAY_SIZE(intent_may_words)] = {0};
        json_t *item;
        size_t i, word;
        int e = !to ? -ENOMEM : v ? form_array(f, at, v, true, ARRAY_SIZE(said)) : 0;

        json_array_foreach((json_t *)v, i, item) {
                e = e ?: form_word(f, FORM_ITEM(at, i), item, intent_may_words, ARRAY_SIZE(said), &word);
                if (e == 0 && said[word])
                        e = form_bad(f, FORM_ITEM(at, i), item, "stands there twice");
                if (e != 0)
                        return e;
                said[word] = true;
        }
        for (i = 0; e == 0 && i < ARRAY_SIZE(said); i++)
                if (said[i])
                        e = form_add(to, json_string(intent_may_words[i]));
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

static int intent_read_rest(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        if (v)
                return trigger_read(f, at, v, ret);
        *ret = json_pack("{s:{s:I}}", "elapsed", "for_usec", (json_int_t)(60 * INTENT_SEC));
        return *ret ? 0 : -ENOMEM;
}

static int intent_read_with(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        _cleanup_json_ json_t *to = json_object(), *pace = NULL, *may = NULL, *rest = NULL;
        const json_t *class = json_object_get(v, "class"), *attempts = json_object_get(v, "attempts");
        uint64_t timeout = 30 * INTENT_SEC, n = 0;
        const char *s;
        int e = !to ? -ENOMEM
                : v ? form_members(f, at, v,
                                   FORM_WORDS("class", "timeout", "timeout_usec", "pace", "attempts", "rest", "may"))
                    : 0;

        if (e == 0 && class)
                e = form_text(f, FORM_AT(at, "class"), class, 1, INTENT_CLASS_MAX, &s)
                            ?: form_put(to, "class", json_incref((json_t *)class));
        e = e ?: form_duration(f, at, v, "timeout", INTENT_MSEC, 30 * INTENT_DAY, &timeout, NULL);
        if (e == 0 && attempts)
                e = form_count(f, FORM_AT(at, "attempts"), attempts, 0, INTENT_ATTEMPTS_MOST, &n);
        e = e ?: intent_read_pace(f, FORM_AT(at, "pace"), json_object_get(v, "pace"), &pace);
        e = e ?: intent_read_rest(f, FORM_AT(at, "rest"), json_object_get(v, "rest"), &rest);
        e = e ?: intent_read_may(f, FORM_AT(at, "may"), json_object_get(v, "may"), &may);
        e = e ?: form_put(to, "timeout_usec", json_u64(timeout)) ?: form_put(to, "attempts", json_u64(n));
        e = e ?: form_put(to, "pace", TAKE_PTR(pace)) ?: form_put(to, "rest", TAKE_PTR(rest));
        e = e ?: form_put(to, "may", TAKE_PTR(may));
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

static int intent_read_until(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        uint64_t n = 1;
        int e = 0;

        if (json_text_is(v, "never"))
                *ret = json_incref((json_t *)v);
        else if (!v || json_object_get(v, "success")) {
                if (v)
                        e = form_members(f, at, v, FORM_WORDS("success"))
                                    ?: form_count(f, FORM_AT(at, "success"), json_object_get(v, "success"), 1,
                                                  INTENT_ROUNDS_MOST, &n);
                if (e != 0)
                        return e;
                *ret = json_pack("{s:o}", "success", json_u64(n));
        } else if (json_is_object(v))
                return condition_read(f, at, v, ret);
        else
                return form_bad(f, at, v, "must be \"never\", {\"success\": n} or a condition");
        return *ret ? 0 : -ENOMEM;
}

static int intent_read_deadline(const IntentForm *f, const FormPlace *at, const json_t *v, json_t *to) {
        const json_t *deadline = json_object_get(v, "deadline");
        bool said = false;
        uint64_t t = 0;
        int e;

        /* text with a dash is a date, other text a duration after creation */
        if (json_is_number(deadline) || (json_text(deadline) && strchr(json_text(deadline), '-')) ||
            json_get_u64(deadline, &t) == 0) {
                e = form_members(f, at, v, FORM_WORDS("deadline"))
                            ?: form_moment(f, FORM_AT(at, "deadline"), deadline, &t);
                return e ?: form_put(to, "deadline", json_u64(t));
        }
        e = form_members(f, at, v, FORM_WORDS("deadline", "deadline_usec"))
                    ?: form_duration(f, at, v, "deadline", 1, FORM_DURATION_MOST, &t, &said);
        return e ?: form_put(to, "deadline_usec", json_u64(t));
}

static int intent_read_constraint(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        const json_t *writes = json_object_get(v, "slots_write"), *skills = json_object_get(v, "skills"),
                     *note = json_object_get(v, "note");
        _cleanup_json_ json_t *to = json_object(), *names = NULL;
        const char *s;
        int e = to ? 0 : -ENOMEM;

        if (e == 0 && (json_object_get(v, "deadline") || json_object_get(v, "deadline_usec")))
                e = intent_read_deadline(f, at, v, to);
        else if (e == 0 && writes)
                e = form_members(f, at, v, FORM_WORDS("slots_write"))
                            ?: form_names(f, FORM_AT(at, "slots_write"), writes, true, &form_slots, &names)
                            ?: form_put(to, "slots_write", TAKE_PTR(names));
        else if (e == 0 && skills)
                e = form_members(f, at, v, FORM_WORDS("skills"))
                            ?: form_names(f, FORM_AT(at, "skills"), skills, false, &form_skills, &names)
                            ?: form_put(to, "skills", TAKE_PTR(names));
        else if (e == 0 && note)
                e = form_members(f, at, v, FORM_WORDS("note"))
                            ?: form_text(f, FORM_AT(at, "note"), note, 1, INTENT_NOTE_MAX, &s)
                            ?: form_put(to, "note", json_incref((json_t *)note));
        else if (e == 0)
                e = form_bad(f, at, v,
                             "a constraint has exactly one of \"deadline\", \"slots_write\", \"skills\" and \"note\"");
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

typedef struct IntentSorted {
        char *text;
        json_t *v; /* borrowed */
} IntentSorted;

static int intent_compare(const void *a, const void *b) {
        return strcmp(((const IntentSorted *)a)->text, ((const IntentSorted *)b)->text);
}

/* In the order of the canonical texts: the order says nothing, and must not look like a change. */
static int intent_sort_constraints(const json_t *list, json_t **ret) {
        IntentSorted rows[INTENT_CONSTRAINTS_MAX] = {0};
        const size_t n = json_array_size(list);
        _cleanup_json_ json_t *to = json_array();
        int e = to ? 0 : -ENOMEM;
        size_t bytes;

        for (size_t i = 0; e == 0 && i < n; i++) {
                rows[i].v = json_array_get(list, i);
                e = json_canonical(rows[i].v, &rows[i].text, &bytes);
        }
        if (e == 0)
                qsort(rows, n, sizeof(*rows), intent_compare);
        for (size_t i = 0; i < n; i++) {
                e = e ?: form_add(to, json_incref(rows[i].v));
                free(rows[i].text);
        }
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

static int intent_read_constraints(const IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        _cleanup_json_ json_t *to = json_array();
        json_t *item;
        size_t i;
        int e = !to ? -ENOMEM : v ? form_array(f, at, v, true, INTENT_CONSTRAINTS_MAX) : 0;

        json_array_foreach((json_t *)v, i, item) {
                json_t *constraint = NULL;

                e = e ?: intent_read_constraint(f, FORM_ITEM(at, i), item, &constraint);
                e = e ?: form_add(to, constraint);
        }
        return e ?: intent_sort_constraints(to, ret);
}

/* The constraint "skills" holds for the whole of the intent, with all delegated intents. */
static int intent_check_skills(const IntentForm *f, const FormPlace *at, const json_t *intent) {
        json_t *constraint;
        size_t i;
        int e = 0;

        json_array_foreach(json_object_get(intent, "constraints"), i, constraint)
                if (e == 0 && json_object_get(constraint, "skills"))
                        e = intent_allow_skills(f, FORM_AT(at, "do"), json_object_get(intent, "do"),
                                                json_object_get(constraint, "skills"), "the constraint \"skills\"");
        return e;
}

int intent_read(IntentForm *f, const FormPlace *at, const json_t *v, json_t **ret) {
        _cleanup_json_ json_t *to = json_object(), *action = NULL, *with = NULL, *until = NULL, *constraints = NULL;
        int e = to ? form_members(f, at, v, FORM_WORDS("do", "with", "until", "constraints")) : -ENOMEM;

        e = e ?: intent_read_do(f, FORM_AT(at, "do"), json_object_get(v, "do"), &action);
        e = e ?: intent_read_with(f, FORM_AT(at, "with"), json_object_get(v, "with"), &with);
        e = e ?: intent_read_until(f, FORM_AT(at, "until"), json_object_get(v, "until"), &until);
        if (e == 0)
                e = intent_read_constraints(f, FORM_AT(at, "constraints"), json_object_get(v, "constraints"),
                                            &constraints);
        e = e ?: form_put(to, "do", TAKE_PTR(action)) ?: form_put(to, "with", TAKE_PTR(with));
        e = e ?: form_put(to, "until", TAKE_PTR(until)) ?: form_put(to, "constraints", TAKE_PTR(constraints));
        e = e ?: intent_check_skills(f, at, to);
        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}

int intent_complete(const json_t *intent, const char *self, json_t **ret, Diag *reterr) {
        IntentForm f = {.self = self, .reterr = reterr};
        const FormPlace *root = FORM_ROOT("intent");
        _cleanup_json_ json_t *v = NULL, *to = NULL;
        int e = form_begin(&f, root, intent, &v) ?: intent_read(&f, root, v, &to) ?: form_end(&f, root, to);

        if (e == 0)
                *ret = TAKE_PTR(to);
        return e;
}
