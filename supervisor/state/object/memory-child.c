/* Between the folds of a parent and of its children (O-26). */
#include "object/memory-inside.h"

/* The names of both; "*": all. */
static json_t *memory_both(const json_t *a, const json_t *b) {
        json_t *both, *name, *other;
        size_t i, k;

        if (json_text_is(a, "*"))
                return json_incref((json_t *)b);
        both = json_array();
        json_array_foreach(a, i, name)
                json_array_foreach(b, k, other)
                        if (both && json_equal(name, other) && json_array_append(both, name) < 0) {
                                json_decref(both);
                                both = NULL;
                        }
        return both;
}

int memory_scope(const ObjectMemory *m, json_t **ret) {
        static const struct {
                const char *constraint, *member;
        } lists[] = {{"slots_write", "writes"}, {"skills", "skills"}};
        _cleanup_json_ json_t *scope = json_copied(json_object_get(m->context, "scope"));
        const json_t *constraint;
        size_t i;

        json_array_foreach(json_object_get(m->intent, "constraints"), i, constraint)
                for (size_t k = 0; scope && k < ARRAY_SIZE(lists); k++) {
                        const json_t *names = json_object_get(constraint, lists[k].constraint);
                        json_t *had = json_object_get(scope, lists[k].member);

                        if (names && json_object_set_new(scope, lists[k].member, memory_both(had, names)) < 0)
                                return -ENOMEM;
                }
        if (!scope)
                return -ENOMEM;
        *ret = TAKE_PTR(scope);
        return 0;
}

static int memory_note(const ObjectMemory *m, const char *child, const char *status, const json_t *value, bool late,
                       json_t **ret) {
        json_t *note = json_pack("{s:s, s:s, s:O*, s:b, s:O}", "child", child, "status", status, "value", value, "late",
                                 late, "serial", json_object_get(json_object_get(m->fold, "children_ever"), child));

        if (!note)
                return -ENOMEM;
        *ret = note;
        return 0;
}

int memory_child_note(const ObjectMemory *m, const char *child, const json_t *outcome, json_t **ret, Diag *reterr) {
        const char *status = json_str(outcome, "kind");
        const json_t *value = json_object_get(outcome, "value");
        size_t n = 0;
        bool late;
        int r = memory_check_child(m, child, &late, reterr);

        if (r == 0 && value)
                r = outcome_bytes(value, &n);
        if (r != 0)
                return r;
        if (outcome_kind_of(status) == OUTCOME_KIND_COUNT_)
                return diag(reterr, OBJECT_E_SYNTAX, "child %s: kind \"%s\" is none of the kinds of outcomes", child,
                            DIAG_QUOTED(status));
        if (n > MEMORY_REMAINDER_MAX)
                value = NULL; /* the child's own memory has the value */
        return memory_note(m, child, status, value, late, ret);
}

int memory_non_responses(const ObjectMemory *m, uint64_t now_usec, json_t **ret) {
        json_t *delegation = json_object_get(m->fold, "delegation");
        const json_t *children = json_object_get(delegation, "children");
        _cleanup_json_ json_t *notes = json_array();
        _cleanup_free_ const char **ids = NULL;
        Tally t = memory_tally(children);
        uint64_t until;
        size_t n;

        if (!notes)
                return -ENOMEM;
        if (json_get_u64(json_object_get(delegation, "until_usec"), &until) < 0 || until > now_usec) {
                *ret = TAKE_PTR(notes);
                return 0;
        }
        if (memory_keys(children, &ids, &n) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n && memory_aggregate(delegation, &t) == OUTCOME_KIND_COUNT_; i++) {
                json_t *note;

                if (!json_is_null(json_object_get(json_object_get(children, ids[i]), "status")))
                        continue;
                if (memory_note(m, ids[i], outcome_kind_name(OUTCOME_KIND_NON_RESPONSE), NULL, false, &note) < 0 ||
                    json_array_append_new(notes, note) < 0)
                        return -ENOMEM;
                t.ended++;
        }
        *ret = TAKE_PTR(notes);
        return 0;
}

/* How an object's end looks to its parent. */
static OutcomeKind memory_end_kind(const ObjectMemory *m) {
        static const struct {
                const char *reason;
                OutcomeKind kind;
        } ends[] = {
                {"satisfied", OUTCOME_KIND_SUCCESS},
                {"policy", OUTCOME_KIND_DENIED},
                {"deadline", OUTCOME_KIND_TIMEOUT},
                {"requested", OUTCOME_KIND_INTERRUPTED},
        };
        const char *reason = json_str(m->fold, "ended");
        OutcomeKind last = outcome_kind_of(json_str(json_object_get(m->fold, "last"), "kind"));

        for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
                if (strcmp(ends[i].reason, reason) == 0)
                        return ends[i].kind;
        return last == OUTCOME_KIND_COUNT_ || last == OUTCOME_KIND_NON_RESPONSE ? OUTCOME_KIND_FAILURE : last;
}

int memory_status(const ObjectMemory *m, json_t **ret) {
        uint64_t created = json_number(m->context, "created");

        *ret = NULL;
        if (m->state != OBJECT_TERMINATED)
                return 0;
        *ret = json_pack("{s:s, s:o, s:O, s:O*}", "kind", outcome_kind_name(memory_end_kind(m)), "latency_usec",
                         json_u64(m->time_usec > created ? m->time_usec - created : 0), "reason",
                         json_object_get(m->fold, "ended"), "value",
                         json_object_get(json_object_get(m->fold, "last"), "value"));
        return *ret ? 0 : -ENOMEM;
}
