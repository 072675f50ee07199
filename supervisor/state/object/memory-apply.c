/* The effect of each kind of entry to the fold. */
#include "object/memory-inside.h"

#include "object/intent.h"
#include "object/select.h"
#include "object/trigger.h"

#define WEIGHT10_MAX 10000 /* 2^1000 is beyond each delay */

size_t memory_steps(const json_t *intent) {
        const json_t *steps = json_object_get(json_object_get(intent, "do"), "steps");

        return steps ? json_array_size(steps) : 1;
}

const json_t *memory_step(const json_t *intent, size_t i) {
        const json_t *action = json_object_get(intent, "do"), *steps = json_object_get(action, "steps");

        return steps ? json_array_get(steps, i) : i == 0 ? action : NULL;
}

int memory_take_started(ObjectMemory *m, const Entry *e, Diag *reterr) {
        const json_t *data = memory_data(e), *skill = json_object_get(data, "skill");
        uint64_t deadline;
        json_t *started;

        if (!json_text(skill) ||
            json_get_u64(json_object_get(data, "deadline_usec"), &deadline) < 0)
                return diag(reterr, OBJECT_E_SYNTAX, "data of \"started\" must have a skill and deadline_usec");
        if (!intent_scope_has(json_object_get(json_object_get(m->context, "scope"), "skills"), skill))
                return diag(reterr, OBJECT_E_SCOPE, "data.skill: \"%s\": the trust scope does not have this skill",
                            DIAG_QUOTED(json_text(skill)));
        memory_drop(m, "next");
        started = json_pack("{s:O, s:O, s:o, s:o, s:o, s:O}", "trace", json_object_get(e->json, "trace"), "node",
                            json_object_get(e->json, "node"), "n", json_u64(e->n), "time", json_u64(e->time_usec),
                            "deadline_usec", json_u64(deadline), "skill", json_object_get(data, "skill"));
        return memory_put(m, "started", started);
}

int memory_step_done(ObjectMemory *m) {
        uint64_t step = json_number(m->fold, "step") + 1;

        memory_drop(m, "remainder");
        memory_drop(m, "again");
        if (step >= memory_steps(m->intent)) {
                step = 0;
                if (memory_put_number(m, "successes", memory_add(json_number(m->fold, "successes"), 1)) < 0 ||
                    memory_put(m, "rest", json_true()) < 0)
                        return -ENOMEM;
        }
        return memory_put_number(m, "timeouts", 0) < 0 ? -ENOMEM : memory_put_number(m, "step", step);
}

int memory_take_result(ObjectMemory *m, OutcomeKind k, json_t *descriptor, uint64_t time_usec) {
        bool success = k == OUTCOME_KIND_SUCCESS;
        uint64_t attempts = success ? 0 : memory_add(json_number(m->fold, "attempts"), 1);
        uint64_t weight = success ? 0 : json_number(m->fold, "weight10") + backoff_weight10(k);

        if (memory_put(m, "last", descriptor) < 0 || memory_put_number(m, "last_time", time_usec) < 0 ||
            memory_put_number(m, "attempts", attempts) < 0 ||
            memory_put_number(m, "weight10", MIN(weight, (uint64_t)WEIGHT10_MAX)) < 0 ||
            memory_put(m, "waited", json_false()) < 0)
                return -ENOMEM;
        return 0;
}

/* O-49: each node, capability and skill stands once, the newest last. */
static int memory_add_negative(ObjectMemory *m, const Entry *e, const json_t *kept) {
        const json_t *skill = json_object_get(json_object_get(m->fold, "started"), "skill"), *old;
        json_t *list = json_array(), *negative;
        size_t i, from = 0, n;

        negative = json_pack("{s:O, s:O*, s:O*, s:o}", "node", json_object_get(e->json, "node"), "capability",
                             json_object_get(kept, "capability"), "skill", skill, "n", json_u64(e->n));
        if (!list || !negative) {
                json_decref(list);
                json_decref(negative);
                return -ENOMEM;
        }
        n = json_array_size(json_object_get(m->fold, "negative"));
        if (n >= MEMORY_NEGATIVE_MAX)
                from = n - MEMORY_NEGATIVE_MAX + 1;
        json_array_foreach(json_object_get(m->fold, "negative"), i, old) {
                bool same = strcmp(json_str(old, "node"), json_str(negative, "node")) == 0 &&
                            strcmp(json_str(old, "skill"), json_str(negative, "skill")) == 0 &&
                            strcmp(json_str(old, "capability"), json_str(negative, "capability")) == 0;

                if (!same && i >= from && json_array_append(list, (json_t *)old) < 0) {
                        json_decref(list);
                        json_decref(negative);
                        return -ENOMEM;
                }
        }
        if (json_array_append_new(list, negative) < 0) {
                json_decref(list);
                return -ENOMEM;
        }
        return memory_put(m, "negative", list);
}

/* A proposal waits for the next selection; a too large one is refused there. */
static int memory_put_next(ObjectMemory *m, const Entry *e) {
        json_t *next = json_object_get(memory_data(e), "next");
        size_t n;

        if (!next || json_is_null(next))
                return 0;
        if (outcome_bytes(next, &n) < 0)
                return -ENOMEM;
        return memory_put(m, "next", n <= MEMORY_NEXT_MAX ? json_incref(next) : json_pack("{s:b}", "too_large", 1));
}

int memory_take_outcome(ObjectMemory *m, const Entry *e, Diag *reterr) {
        const json_t *outcome = json_object_get(e->json, "outcome");
        OutcomeKind k = outcome_kind_of(json_str(outcome, "kind"));
        json_t *kept, *remainder = json_object_get(outcome, "remainder");
        size_t n_remainder = SIZE_MAX;
        int r = 0;

        if (k == OUTCOME_KIND_COUNT_)
                return diag(reterr, OBJECT_E_SYNTAX, "outcome: kind \"%s\" is none of the kinds of outcomes",
                            DIAG_QUOTED(json_str(outcome, "kind")));
        kept = outcome_kept(outcome, true);
        if (!kept)
                return -ENOMEM;
        if (k == OUTCOME_KIND_NEGATIVE)
                r = memory_add_negative(m, e, kept);
        if (r == 0)
                r = memory_put_number(m, "latency_usec", json_number(kept, "latency_usec"));
        if (r < 0) {
                json_decref(kept);
                return r;
        }
        memory_drop(m, "started");
        memory_drop(m, "next");
        r = memory_take_result(m, k, kept, e->time_usec);
        if (r == 0 && k == OUTCOME_KIND_TIMEOUT)
                r = memory_put_number(m, "timeouts", memory_add(json_number(m->fold, "timeouts"), 1));
        if (r == 0 && k == OUTCOME_KIND_PARTIAL && remainder)
                r = outcome_bytes(remainder, &n_remainder);
        if (r == 0 && n_remainder <= MEMORY_REMAINDER_MAX)
                r = memory_put(m, "remainder", json_incref(remainder));
        if (r == 0 && k == OUTCOME_KIND_SUCCESS)
                r = memory_step_done(m);
        return r == 0 ? memory_put_next(m, e) : r;
}

/* The actions that are done stay done as far as both intents begin alike. */
static int memory_put_intent(ObjectMemory *m, json_t *after) {
        size_t step = json_number(m->fold, "step"), i = 0;
        int same = 1;

        for (; i < step && i < memory_steps(after); i++) {
                same = outcome_same(memory_step(m->intent, i), memory_step(after, i));
                if (same <= 0)
                        break;
        }
        if (same > 0)
                same = outcome_same(memory_step(m->intent, step), memory_step(after, i));
        if (same < 0)
                return -ENOMEM;
        if (i < step || !same) {
                memory_drop(m, "remainder");
                memory_drop(m, "again");
        }
        json_decref(m->intent);
        m->intent = json_incref(after);
        if (i >= memory_steps(after)) { /* only done ones are left */
                if (memory_put_number(m, "step", i - 1) < 0)
                        return -ENOMEM;
                return memory_step_done(m);
        }
        return memory_put_number(m, "timeouts", 0) < 0 ? -ENOMEM : memory_put_number(m, "step", i);
}

/* A smaller trust scope (O-22: rescope). */
static int memory_narrow_scope(ObjectMemory *m, json_t *scope, Diag *reterr) {
        json_t *context;
        int r = intent_scope_within(scope, json_object_get(m->context, "scope"), reterr);

        if (r != 0)
                return r;
        context = json_copied(m->context);
        if (!context || json_object_set(context, "scope", scope) < 0) {
                json_decref(context);
                return -ENOMEM;
        }
        json_decref(m->context);
        m->context = context;
        return 0;
}

int memory_take_mutation(ObjectMemory *m, const Entry *e, Diag *reterr) {
        const json_t *data = memory_data(e);
        json_t *scope = json_object_get(data, "scope");
        _cleanup_json_ json_t *before = NULL, *after = NULL;
        int r = intent_complete(json_object_get(data, "before"), m->object, &before, reterr)
                        ?: intent_complete(json_object_get(data, "after"), m->object, &after, reterr);

        if (r != 0)
                return r;
        r = outcome_same(before, m->intent);
        if (r < 0)
                return r;
        if (r == 0)
                return diag(reterr, OBJECT_E_CHAIN, "the mutation's \"before\" is not the intent of the object");
        r = intent_refine_check(m->intent, after, json_str(data, "how"), json_object_get(m->context, "scope"), reterr);
        if (r == 0 && scope)
                r = memory_narrow_scope(m, scope, reterr);
        if (r == 0)
                r = intent_within(after, json_object_get(m->context, "scope"), reterr);
        memory_drop(m, "next");
        return r == 0 ? memory_put_intent(m, after) : r;
}

int memory_take_dormant(ObjectMemory *m, const Entry *e, Diag *reterr) {
        const json_t *data = memory_data(e);
        json_t *trigger = json_object_get(data, "trigger"), *reason = json_object_get(data, "reason");
        _cleanup_json_ json_t *complete = NULL;
        uint64_t not_before;
        int r;

        if (!json_text(reason) || json_string_length(reason) > MEMORY_FOLD_REASON_MAX ||
            json_get_u64(json_object_get(data, "not_before"), &not_before) < 0)
                return diag(reterr, OBJECT_E_SYNTAX,
                            "data of \"dormant\" must have not_before, and a reason of at most %d bytes",
                            MEMORY_FOLD_REASON_MAX);
        r = json_is_object(trigger) ? trigger_complete(trigger, m->object, &complete, reterr)
                                    : diag(reterr, OBJECT_E_INTENT, "data of \"dormant\" must have a trigger");
        if (r != 0)
                return r;
        memory_drop(m, "started");
        memory_drop(m, "next");
        r = memory_put(m, "dormant",
                       json_pack("{s:O, s:O, s:o, s:o}", "trigger", trigger, "reason", reason, "since",
                                 json_u64(e->time_usec), "not_before", json_u64(not_before)));
        return r == 0 ? memory_put(m, "counts", json_object()) : r;
}

/* The node that woke the object has a reason to try again (O-49); others keep what they cannot do. */
static int memory_forget_negative(ObjectMemory *m, const char *node) {
        json_t *list = json_array(), *old;
        size_t i;

        json_array_foreach(json_object_get(m->fold, "negative"), i, old)
                if (list && strcmp(json_str(old, "node"), node) != 0 && json_array_append(list, old) < 0) {
                        json_decref(list);
                        list = NULL;
                }
        return memory_put(m, "negative", list);
}

int memory_take_reentry(ObjectMemory *m, const Entry *e, Diag *reterr) {
        _cleanup_json_ json_t *dormant = json_incref(json_object_get(m->fold, "dormant"));
        const json_t *step = memory_step(m->intent, json_number(m->fold, "step"));
        const char *reason = json_str(dormant, "reason");
        int r = 0;

        if (!json_is_object(json_object_get(memory_data(e), "trigger")) || !json_object_get(memory_data(e), "evidence"))
                return diag(reterr, OBJECT_E_SYNTAX, "data of \"reentry\" must have a trigger and its evidence");
        memory_drop(m, "dormant");
        if (strcmp(reason, "wait") == 0)
                r = json_object_get(step, "wait") ? memory_step_done(m) : 0;
        else if (strcmp(reason, "rest") == 0)
                r = memory_put(m, "rest", json_false());
        else if (strcmp(reason, "backoff") == 0)
                r = memory_put(m, "waited", json_true());
        else if (strcmp(reason, "negative") == 0)
                r = memory_forget_negative(m, json_str(e->json, "node"));
        return r == 0 ? memory_put(m, "counts", json_object()) : r;
}

int memory_take_end(ObjectMemory *m, const Entry *e, Diag *reterr) {
        static const char *const over[] = {"started", "next", "dormant", "delegation", "again", "remainder"};
        json_t *reason = json_object_get(memory_data(e), "reason");

        if (!json_text(reason) || json_string_length(reason) > MEMORY_FOLD_REASON_MAX)
                return diag(reterr, OBJECT_E_SYNTAX, "data of \"terminated\" must have a reason of at most %d bytes",
                            MEMORY_FOLD_REASON_MAX);
        for (size_t i = 0; i < ARRAY_SIZE(over); i++)
                memory_drop(m, over[i]);
        return memory_put(m, "ended", json_incref(reason)) < 0 ? -ENOMEM : memory_put(m, "counts", json_object());
}

int memory_count(ObjectMemory *m, const char *kind, uint64_t time_usec) {
        const json_t *old = json_object_get(json_object_get(m->fold, "counts"), kind);
        _cleanup_json_ json_t *counts = NULL, *times = NULL;
        json_t *v;
        size_t i, n = json_array_size(old);

        if (m->state != OBJECT_DORMANT)
                return 0;
        counts = json_copied(json_object_get(m->fold, "counts"));
        times = json_array();
        if (!counts || !times)
                return -ENOMEM;
        json_array_foreach(old, i, v)
                if (i + MEMORY_COUNTS_MAX > n && json_array_append(times, v) < 0)
                        return -ENOMEM;
        if (json_array_append_new(times, json_u64(time_usec)) < 0 || json_object_set(counts, kind, times) < 0)
                return -ENOMEM;
        return memory_put(m, "counts", json_incref(counts));
}
