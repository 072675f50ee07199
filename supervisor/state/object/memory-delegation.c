/* Delegations in the fold: children, their answers, and the aggregate (O-24, O-26..O-28). */
#include "object/memory-inside.h"

#include "object/intent.h"

#include <inttypes.h>
#include <stdio.h>

typedef enum GatherMode { GATHER_ALL, GATHER_ANY, GATHER_QUORUM, GATHER_COLLECT, GATHER_MODES } GatherMode;

static const char *const gather_modes[GATHER_MODES] = {
        [GATHER_ALL] = "all",
        [GATHER_ANY] = "any",
        [GATHER_QUORUM] = "quorum",
        [GATHER_COLLECT] = "collect",
};

static int memory_compare_keys(const void *a, const void *b) {
        return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int memory_keys(const json_t *o, const char ***ret, size_t *ret_n) {
        const char **keys = calloc(json_object_size(o) + 1, sizeof(*keys)), *key;
        json_t *v;
        size_t n = 0;

        if (!keys)
                return -ENOMEM;
        json_object_foreach((json_t *)o, key, v)
                keys[n++] = key;
        qsort(keys, n, sizeof(*keys), memory_compare_keys);
        *ret = keys;
        *ret_n = n;
        return 0;
}

/* Late answers are awaited from the newest children only: whole delegations go, the oldest first (O-54). */
static int memory_expect(ObjectMemory *m, const json_t *children, uint64_t serial) {
        _cleanup_json_ json_t *ever = json_copied(json_object_get(m->fold, "children_ever"));
        const char *id;
        json_t *v;
        void *tmp;

        if (!ever)
                return -ENOMEM;
        json_object_foreach((json_t *)children, id, v)
                if (json_object_set_new(ever, id, json_u64(serial)) < 0)
                        return -ENOMEM;
        while (json_object_size(ever) > MEMORY_CHILDREN_MAX) {
                uint64_t oldest = UINT64_MAX, of;

                json_object_foreach(ever, id, v)
                        if (json_get_u64(v, &of) == 0 && of < oldest)
                                oldest = of;
                json_object_foreach_safe(ever, tmp, id, v)
                        if (json_get_u64(v, &of) < 0 || of == oldest)
                        json_object_del(ever, id);
        }
        return memory_put(m, "children_ever", json_incref(ever));
}

static int memory_check_delegation(const ObjectMemory *m, const json_t *data, Diag *reterr) {
        const json_t *children = json_object_get(data, "children"), *gather = json_object_get(data, "gather");
        const json_t *scope = json_object_get(m->context, "scope"), *intent;
        size_t n = json_object_size(children), mode = name_index(gather_modes, GATHER_MODES, json_str(gather, "mode"));
        const char *id;

        if (json_object_get(m->fold, "delegation"))
                return diag(reterr, OBJECT_E_SYNTAX, "a delegation is open: its aggregate has to close first");
        if (json_number(data, "serial") != json_number(m->fold, "serial") + 1)
                return diag(reterr, OBJECT_E_SYNTAX, "delegation: serial %" PRIu64 " must be %" PRIu64,
                            json_number(data, "serial"), json_number(m->fold, "serial") + 1);
        if (n == 0 || n > INTENT_CHILDREN_MAX)
                return diag(reterr, OBJECT_E_SYNTAX, "delegation: %zu children; 1 to %d are possible", n,
                            INTENT_CHILDREN_MAX);
        if (json_number(scope, "depth") < 1 || n > json_number(scope, "fanout"))
                return diag(reterr, OBJECT_E_SCOPE,
                            "delegation: %zu children, but the trust scope has depth %" PRIu64 " and fanout %" PRIu64,
                            n, json_number(scope, "depth"), json_number(scope, "fanout"));
        if (mode == GATHER_MODES || (mode == GATHER_QUORUM &&
                                     (json_number(gather, "n") < 1 || json_number(gather, "n") > n)))
                return diag(reterr, OBJECT_E_SYNTAX,
                            "delegation: gather must have the mode all, any, collect, or quorum with n of 1 to the "
                            "number of children");
        json_object_foreach((json_t *)children, id, intent)
                if (!region_id_valid(id) || strcmp(id, m->object) == 0 || !json_is_object(intent) ||
                    json_object_get(json_object_get(m->fold, "children_ever"), id))
                        return diag(reterr, OBJECT_E_SYNTAX,
                                    "delegation: child \"%s\" must be the id of a new object, with its intent",
                                    DIAG_QUOTED(id));
        return 0;
}

int memory_take_delegation(ObjectMemory *m, const Entry *e, Diag *reterr) {
        const json_t *data = memory_data(e), *children = json_object_get(data, "children");
        const json_t *gather = json_object_get(data, "gather");
        uint64_t within = json_number(gather, "within_usec");
        uint64_t until = MIN(memory_add(e->time_usec, within), JSON_TIME_MAX);
        json_t *open, *list, *intent;
        const char *id;
        int r = memory_check_delegation(m, data, reterr);

        if (r != 0)
                return r;
        list = json_object();
        json_object_foreach((json_t *)children, id, intent)
                if (list && json_object_set_new(list, id, json_pack("{s:n, s:O}", "status", "intent", intent)) < 0) {
                        json_decref(list);
                        list = NULL;
                }
        open = json_pack("{s:O, s:O, s:O*, s:o, s:b, s:b, s:o}", "serial", json_object_get(data, "serial"), "mode",
                         json_object_get(gather, "mode"), "n", json_object_get(gather, "n"), "since",
                         json_u64(e->time_usec), "proposed", json_is_true(json_object_get(data, "proposed")),
                         "closed", 0, "children", list);
        if (within > 0 && (json_put(open, "within_usec", json_u64(within)) < 0 ||
                           json_put(open, "until_usec", json_u64(until)) < 0)) {
                json_decref(open);
                return -ENOMEM;
        }
        memory_drop(m, "next");
        if (memory_put(m, "delegation", open) < 0 || memory_put_number(m, "serial", json_number(data, "serial")) < 0)
                return -ENOMEM;
        return memory_expect(m, children, json_number(data, "serial"));
}

Tally memory_tally(const json_t *children) {
        Tally t = {0};
        const char *id;
        json_t *child;

        json_object_foreach((json_t *)children, id, child) {
                OutcomeKind k = outcome_kind_of(json_text(json_object_get(child, "status")));

                t.all++;
                t.ended += k != OUTCOME_KIND_COUNT_;
                t.successes += k == OUTCOME_KIND_SUCCESS;
        }
        return t;
}

OutcomeKind memory_aggregate(const json_t *delegation, const Tally *t) {
        uint64_t n = json_number(delegation, "n");

        switch ((GatherMode)name_index(gather_modes, GATHER_MODES, json_str(delegation, "mode"))) {
        case GATHER_ALL:
                if (t->ended < t->all)
                        break;
                return t->successes == t->all ? OUTCOME_KIND_SUCCESS : OUTCOME_KIND_PARTIAL;
        case GATHER_ANY:
                if (t->successes > 0)
                        return OUTCOME_KIND_SUCCESS;
                return t->ended < t->all ? OUTCOME_KIND_COUNT_ : OUTCOME_KIND_FAILURE;
        case GATHER_QUORUM:
                if (t->successes >= n)
                        return OUTCOME_KIND_SUCCESS;
                return t->successes + (t->all - t->ended) < n ? OUTCOME_KIND_FAILURE : OUTCOME_KIND_COUNT_;
        case GATHER_COLLECT:
        case GATHER_MODES:
                break;
        }
        return t->ended < t->all ? OUTCOME_KIND_COUNT_ : OUTCOME_KIND_SUCCESS;
}

/* The next attempt delegates what did not succeed, to new children (O-28, O-50). */
static int memory_put_again(ObjectMemory *m, const json_t *delegation, const Tally *t) {
        const json_t *children = json_object_get(delegation, "children");
        _cleanup_free_ const char **ids = NULL;
        _cleanup_json_ json_t *intents = json_array(), *gather = NULL;
        uint64_t n = json_number(delegation, "n");
        size_t n_ids;

        gather = json_pack("{s:O, s:O*}", "mode", json_object_get(delegation, "mode"), "within_usec",
                           json_object_get(delegation, "within_usec"));
        if (n > t->successes && json_put(gather, "n", json_u64(n - t->successes)) < 0)
                return -ENOMEM;
        if (!intents || !gather || memory_keys(children, &ids, &n_ids) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < n_ids; i++) {
                const json_t *child = json_object_get(children, ids[i]);

                if (strcmp(json_str(child, "status"), "success") != 0 &&
                    json_array_append(intents, json_object_get(child, "intent")) < 0)
                        return -ENOMEM;
        }
        return memory_put(m, "again",
                          json_pack("{s:O, s:O, s:O}", "delegate", intents, "gather", gather, "proposed",
                                    json_object_get(delegation, "proposed")));
}

/* {ID: {"kind","value"?}} of a collecting aggregate. */
static json_t *memory_collected(const json_t *children) {
        json_t *all = json_object(), *child;
        const char *id;

        json_object_foreach((json_t *)children, id, child)
                if (all && json_object_set_new(all, id,
                                               json_pack("{s:O, s:O*}", "kind", json_object_get(child, "status"),
                                                         "value", json_object_get(child, "value"))) < 0) {
                        json_decref(all);
                        all = NULL;
                }
        return all;
}

static int memory_put_closed(ObjectMemory *m, uint64_t serial, const json_t *descriptor) {
        _cleanup_json_ json_t *closed = json_copied(json_object_get(m->fold, "closed"));
        char name[24];

        snprintf(name, sizeof(name), "%" PRIu64, serial);
        if (!closed || json_object_set_new(closed, name, outcome_kept(descriptor, false)) < 0)
                return -ENOMEM;
        if (serial > MEMORY_CLOSED_MAX) {
                snprintf(name, sizeof(name), "%" PRIu64, serial - MEMORY_CLOSED_MAX);
                json_object_del(closed, name);
        }
        return memory_put(m, "closed", json_incref(closed));
}

/* A closed aggregate is an outcome of the step. */
static int memory_close(ObjectMemory *m, const json_t *delegation, OutcomeKind k, const Tally *t, uint64_t time_usec) {
        uint64_t since = json_number(delegation, "since");
        bool collect = strcmp(json_str(delegation, "mode"), "collect") == 0;
        json_t *descriptor =
                json_pack("{s:s, s:o}", "kind", outcome_kind_name(k), "latency_usec",
                          json_u64(time_usec > since ? time_usec - since : 0));
        int r = collect ? json_put(descriptor, "value", memory_collected(json_object_get(delegation, "children"))) : 0;

        r = descriptor && r == 0 ? memory_put_closed(m, json_number(delegation, "serial"), descriptor) : -ENOMEM;

        if (r < 0) {
                json_decref(descriptor);
                return r;
        }
        memory_drop(m, "delegation");
        r = memory_take_result(m, k, descriptor, time_usec);
        if (r == 0 && k != OUTCOME_KIND_SUCCESS)
                r = memory_put_again(m, delegation, t);
        else if (r == 0 && json_is_true(json_object_get(delegation, "proposed")))
                memory_drop(m, "again"); /* beside the steps */
        else if (r == 0)
                r = memory_step_done(m);
        return r == 0 ? memory_count(m, "closed", time_usec) : r;
}

/* The answer of a child of the open delegation. *ret: the delegation with the answer in it. */
static int memory_answer(const json_t *delegation, const char *id, const json_t *data, json_t **ret) {
        const json_t *old = json_object_get(json_object_get(delegation, "children"), id);
        json_t *value = json_object_get(data, "value");
        _cleanup_json_ json_t *children = json_copied(json_object_get(delegation, "children"));
        _cleanup_json_ json_t *child = json_copied(old), *next = json_copied(delegation);
        uint64_t bytes = json_number(delegation, "bytes");

        if (!children || !child || !next || json_object_set(child, "status", json_object_get(data, "status")) < 0)
                return -ENOMEM;
        if (value && strcmp(json_str(delegation, "mode"), "collect") == 0) {
                size_t n;

                if (outcome_bytes(value, &n) < 0)
                        return -ENOMEM;
                if (n <= MEMORY_VALUE_MAX && bytes + n <= MEMORY_REMAINDER_MAX &&
                    (json_object_set(child, "value", value) < 0 || json_put(next, "bytes", json_u64(bytes + n)) < 0))
                        return -ENOMEM;
        }
        if (json_object_set(children, id, child) < 0 || json_object_set(next, "children", children) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(next);
        return 0;
}

int memory_check_child(const ObjectMemory *m, const char *id, bool *ret_late, Diag *reterr) {
        const json_t *child = json_object_get(json_object_get(json_object_get(m->fold, "delegation"), "children"), id);

        if (!json_object_get(json_object_get(m->fold, "children_ever"), id))
                return diag(reterr, OBJECT_E_SYNTAX,
                            "\"%s\" is no child of object %s whose answer is awaited: a child answers once",
                            DIAG_QUOTED(id), m->object);
        *ret_late = !child || !json_is_null(json_object_get(child, "status"));
        return 0;
}

int memory_take_child(ObjectMemory *m, const Entry *e, Diag *reterr) {
        const json_t *data = memory_data(e), *late_said = json_object_get(data, "late");
        const char *id = json_str(data, "child"), *status = json_str(data, "status");
        json_t *delegation = json_object_get(m->fold, "delegation");
        _cleanup_json_ json_t *answered = NULL;
        bool late, silent = strcmp(status, "non_response") == 0;
        OutcomeKind k;
        Tally t;
        int r = memory_check_child(m, id, &late, reterr);

        if (r != 0)
                return r;
        if (outcome_kind_of(status) == OUTCOME_KIND_COUNT_)
                return diag(reterr, OBJECT_E_SYNTAX, "child %s: status \"%s\" is none of the kinds of outcomes", id,
                            DIAG_QUOTED(status));
        if (!json_is_boolean(late_said) || json_is_true(late_said) != late)
                return diag(reterr, OBJECT_E_SYNTAX,
                            "child %s: \"late\" must be %s: the aggregate of the child's delegation is %s", id,
                            late ? "true" : "false", late ? "closed" : "open");
        if (silent && late)
                return diag(reterr, OBJECT_E_SYNTAX, "child %s: a missing answer cannot be late", id);
        if (json_number(data, "serial") != json_number(json_object_get(m->fold, "children_ever"), id))
                return diag(reterr, OBJECT_E_SYNTAX, "child %s is of another delegation than %" PRIu64, id,
                            json_number(data, "serial"));
        if (!silent) { /* no second answer */
                _cleanup_json_ json_t *ever = json_copied(json_object_get(m->fold, "children_ever"));

                if (!ever)
                        return -ENOMEM;
                json_object_del(ever, id);
                r = memory_put(m, "children_ever", json_incref(ever));
        }
        if (r == 0)
                r = memory_count(m, "child", e->time_usec);
        if (r == 0)
                r = memory_count(m, status, e->time_usec);
        if (r < 0 || late)
                return r;
        r = memory_answer(delegation, id, data, &answered);
        if (r < 0)
                return r;
        t = memory_tally(json_object_get(answered, "children"));
        k = memory_aggregate(answered, &t);
        if (k != OUTCOME_KIND_COUNT_)
                return memory_close(m, answered, k, &t, e->time_usec);
        return memory_put(m, "delegation", json_incref(answered));
}
