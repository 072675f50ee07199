#include "object/settle.h"

#include "base/clock.h"
#include "engine/execution.h"
#include "record/event.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdio.h>

static const json_t *settle_started(const Appending *a) {
        return json_object_get(a->memory.fold, "started");
}

/* A too large outcome loses value, remainder and proposal: the effects are recorded, so the entry must be, too (O-38).
 */
static int settle_append(Appending *a, const json_t *outcome, json_t *data, Diag *reterr) {
        static const char *const kept[] = {"kind", "latency_usec", "exit_code", "signal", "capability"};
        _cleanup_json_ json_t *small = NULL;
        int r = append_entry(a, ENTRY_OUTCOME, outcome, data, NULL, reterr);

        if (r != OBJECT_E_SIZE)
                return r > 0 ? -EUCLEAN : r;
        small = json_object();
        for (size_t i = 0; small && i < ARRAY_SIZE(kept); i++)
                if (json_object_get(outcome, kept[i]) &&
                    json_object_set(small, kept[i], json_object_get(outcome, kept[i])) < 0)
                        return -ENOMEM;
        json_object_del(data, "next");
        if (!small || json_object_set_new(small, "reason", json_string("the result was too large for an entry")) < 0)
                return -ENOMEM;
        r = append_entry(a, ENTRY_OUTCOME, small, data, NULL, reterr);
        return r > 0 ? -EUCLEAN : r;
}

/* The entry has the trace of the execution, not the trace of the present cycle. */
static int settle_with(Appending *a, const char *kind, const char *reason, uint64_t latency, const json_t *region,
                       bool recovered, Diag *reterr) {
        _cleanup_json_ json_t *outcome = json_pack("{s:s, s:o, s:s*}", "kind", kind, "latency_usec", json_u64(latency),
                                                   "reason", reason),
                              *data = json_pack("{s:O*, s:o*}", "region", region, "recovered",
                                                recovered ? json_true() : NULL),
                              *started = json_incref((json_t *)settle_started(a));
        const char *own = a->trace;
        int r;

        if (!outcome || !data)
                return -ENOMEM;
        a->trace = json_str(started, "trace");
        r = settle_append(a, outcome, data, reterr);
        a->trace = own;
        return r;
}

static uint64_t settle_usec(const json_t *event) {
        const char *time = json_text(json_object_get(event, "time"));
        uint64_t usec = 0;

        return time && clock_parse(time, &usec) == 0 ? usec : 0;
}

/* The region has ended: did the engine keep the changes? */
static int settle_ended(Appending *a, const ExecutionRow *x, Diag *reterr) {
        _cleanup_json_ json_t *ended = NULL;
        uint64_t began = json_number(settle_started(a), "time"), over;
        int r = event_get(a->t, x->ended, &ended);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        if (!json_is_true(json_object_get(ended, "kept")))
                return settle_with(a, "interrupted", "the region ended without effect, and the result is lost", 0,
                                   json_object_get(ended, "region"), false, reterr);
        over = settle_usec(ended);
        return settle_with(a, "success", NULL, over > began ? over - began : 0, json_object_get(ended, "region"), true,
                           reterr);
}

int settle_execution(Appending *a, bool died, bool *ret_settled, Diag *reterr) {
        const json_t *started = settle_started(a);
        RegionRow living = {0};
        ExecutionRow x = {0};
        int r;

        *ret_settled = false;
        if (!json_text_is(json_object_get(started, "node"), store_origin(txn_store(a->t))))
                return 0; /* only the node of the execution knows the end */
        r = execution_get(a->t, a->memory.object, json_str(started, "trace"), &x);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && x.ended == 0 && *x.region) {
                r = engine_region_get(a->t, x.region, &living);
                region_row_deinit(&living);
                return r == ENGINE_E_NO_REGION ? -EUCLEAN : MIN(r, 0);
        }
        if (r == 0 && x.ended > 0)
                r = settle_ended(a, &x, reterr);
        else if (died)
                r = settle_with(a, "interrupted", "the performer ended before a region began", 0, NULL, false, reterr);
        else
                return 0;
        *ret_settled = r == 0;
        return r;
}

/* O-46: no outcome claims discarded effects. */
static int settle_checked(Txn *t, const ExecutionRow *x, const json_t *outcome, json_t **ret) {
        static const char *const good[] = {"success", "partial"};
        _cleanup_json_ json_t *ended = NULL;
        int r = x->ended > 0 ? event_get(t, x->ended, &ended) : 0;

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        *ret = json_copied(outcome);
        if (!*ret)
                return -ENOMEM;
        if (!ended || json_is_true(json_object_get(ended, "kept")) ||
            name_index(good, ARRAY_SIZE(good), json_str(outcome, "kind")) == ARRAY_SIZE(good))
                return 0;
        json_object_del(*ret, "value");
        json_object_del(*ret, "remainder");
        return json_object_set_new(*ret, "kind", json_string("failure")) < 0 ||
                               json_object_set_new(
                                       *ret, "reason",
                                       json_sprintf("the changes were discarded: %s", json_str(ended, "discarded"))) < 0
                       ? -ENOMEM
                       : 0;
}

static int settle_conflict(const char *id, const char *trace, Diag *reterr) {
        return diag(reterr, ENGINE_E_CONFLICT,
                    "object %s is not in the execution with trace %s (any more): the outcome is "
                    "too late, and is not appended",
                    id, trace);
}

/* For whom the skill ran. A user of another node is no user of this node: the node stands for the user. */
static void settle_who(const Appending *a, char ret[static MEMORY_BY_MAX + 1]) {
        const json_t *node = json_object_get(a->memory.context, "node");
        bool own = json_text_is(node, store_origin(txn_store(a->t)));

        snprintf(ret, MEMORY_BY_MAX + 1, "%s",
                 own ? json_str(a->memory.context, "by") : json_str(a->memory.context, "node"));
}

int object_outcome(Txn *t, const char *id, const char *trace, const char *region, const json_t *outcome,
                   const json_t *next, json_t **ret, Diag *reterr) {
        _cleanup_appending_ Appending a = APPENDING_NULL;
        _cleanup_json_ json_t *checked = NULL, *policy = NULL,
                              *data = json_pack("{s:s*, s:O*}", "region", region, "next", next);
        ExecutionRow x = {0};
        char who[MEMORY_BY_MAX + 1];
        int r = data ? append_open(t, id, &a, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        if (a.memory.state != OBJECT_EXECUTION || !json_text_is(json_object_get(settle_started(&a), "trace"), trace))
                return settle_conflict(id, trace, reterr);
        r = execution_get(t, id, trace, &x);
        if (r == -ENOENT || (r == 0 && region && strcmp(x.region, region) != 0))
                return settle_conflict(id, trace, reterr);
        if (outcome_kind_of(json_str(outcome, "kind")) == OUTCOME_KIND_COUNT_)
                return diag(reterr, ENGINE_E_BAD_PAYLOAD, "\"%s\" is no kind of outcome", json_str(outcome, "kind"));
        if (r == 0)
                r = settle_checked(t, &x, outcome, &checked);
        policy = json_pack("{s:O, s:s}", "ref", json_object_get(a.memory.fold, "policy"), "verdict", "allowed");
        if (r < 0)
                return r;
        settle_who(&a, who);
        a.who = who;
        a.trace = trace;
        a.policy = policy; /* of `started`, or NULL */
        a.now_usec = clock_real_usec();
        r = settle_append(&a, checked, data, reterr);
        if (r < 0)
                return r;
        *ret = json_pack("{s:s, s:s, s:o, s:O, s:s}", "object", id, "state", object_state_name(a.memory.state), "entry",
                         json_u64(a.memory.n - 1), "outcome", checked, "trace", trace);
        return *ret ? 0 : -ENOMEM;
}
