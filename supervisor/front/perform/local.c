/* Runs: supervisor, CLI. The local policy result of an object's next step (O-10, O-11, O-15). Policy judges, and
 * performs nothing (O-45). */
#include "perform/perform.h"

#include "base/clock.h"
#include "object/select.h"
#include "object/trigger.h"
#include "request/resolve-request.h"

#include <errno.h>
#include <string.h>

/* As seen in a read transaction. */
typedef struct LocalView {
        uint64_t n;
        ObjectState state;
        char *skill, *entry; /* of the step; owned; NULL: no skill, or no verdict is asked for */
        ObjectAction action; /* of the step */
        bool asks;           /* somebody looks at the verdict */
        bool interrupted;    /* an execution of the node, with a dead performer */
} LocalView;

static void local_view_deinit(LocalView *v) {
        free(v->skill);
        free(v->entry);
}

/* The next step of the intent, or the whole. */
static const json_t *local_step(const ObjectMemory *m) {
        const json_t *todo = json_object_get(m->intent, "do"), *steps = json_object_get(todo, "steps");

        return steps ? json_array_get(steps, (size_t)json_number(m->fold, "step")) : todo;
}

/* A sleeping object needs the verdict when its trigger looks at the policy. */
static int local_asks(const ObjectMemory *m, bool *ret) {
        const json_t *dormant = json_object_get(m->fold, "dormant");
        _cleanup_json_ json_t *needs = NULL;
        uint64_t due;
        int r;

        *ret = m->state != OBJECT_EXECUTION && m->state != OBJECT_TERMINATED;
        if (m->state != OBJECT_DORMANT)
                return 0;
        r = trigger_needs(json_object_get(dormant, "trigger"), json_number(dormant, "since"), &needs, &due);
        *ret = json_is_true(json_object_get(needs, "policy"));
        return r;
}

static int local_copy(const json_t *text, char **ret) {
        const char *s = json_text(text);

        return s && !(*ret = strdup(s)) ? -ENOMEM : 0;
}

static int local_see_step(const ObjectMemory *m, LocalView *v) {
        const json_t *step = local_step(m);
        int r = local_asks(m, &v->asks);

        v->action = json_object_get(step, "delegate") ? ACTION_DELEGATION
                    : json_object_get(step, "wait")   ? ACTION_DORMANCY
                                                      : ACTION_EXECUTION;
        if (r < 0 || !v->asks)
                return r;
        return local_copy(json_object_get(step, "skill"), &v->skill)
                       ?: local_copy(json_object_get(step, "entry"), &v->entry);
}

/* An execution of the node without a living performer, and without a region that waits for recovery. */
static int local_is_interrupted(Txn *t, Store *s, const ObjectRow *row, const ObjectMemory *m, bool *ret) {
        const json_t *started = json_object_get(m->fold, "started");
        _cleanup_(region_row_deinit) RegionRow region = {0};
        const char *trace = json_str(started, "trace");
        int r;

        if (m->state != OBJECT_EXECUTION || !json_text_is(json_object_get(started, "node"), store_origin(s)) ||
            !store_lock_is_free(s, row->lock))
                return 0;
        r = region_id_valid(trace) ? engine_region_get(t, trace, &region) : ENGINE_E_NO_REGION;
        *ret = r == ENGINE_E_NO_REGION;
        return *ret ? 0 : r;
}

static int local_see(Store *s, const char *id, LocalView *v, Diag *reterr) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(s, false, &t, reterr);

        if (r != 0)
                return r > 0 ? PERFORM_E_STORE + r : r;
        r = object_get(t, id, &row, reterr);
        v->n = row.n;
        v->state = row.state;
        if (r != 0 || row.state == OBJECT_TERMINATED || row.away || row.forked || row.behind || row.unknown)
                return r; /* object_cycle() refuses, whatever the policy says */
        r = object_memory_kept(t, &row, &m, reterr);
        if (r == 0)
                r = local_see_step(&m, v);
        return r == 0 ? local_is_interrupted(t, s, &row, &m, &v->interrupted) : r;
}

/* Whether "objects" of the policy forbids the action of the step. */
static bool local_forbids(const Policy *p, const LocalView *v, Diag *ret) {
        if (!v->asks || policy_object_action(p, object_action_name(v->action)))
                return false;
        diag(ret, 0, "objects.actions of the policy does not allow %s", object_action_name(v->action));
        return true;
}

/* Whether the policy refuses the step's skill. A missing or unusable skill is no refusal, but an outcome of the
 * execution: the node lacks the capability (O-49). */
static bool local_refuses(Store *s, const Policy *p, const LocalView *v, Diag *ret) {
        _cleanup_grant_ Grant grant = {0};
        SkillRequest ask = {.skill = v->skill, .registered = true, .request.entry = v->entry};
        Refusal refusal = {0};

        if (!v->skill || resolve_request(&ask, s, p, true, &grant, &refusal) || !refusal.by_policy)
                return false;
        *ret = refusal.why;
        return true;
}

int perform_local(Store *s, const Policy *p, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_(local_view_deinit) LocalView v = {0};
        _cleanup_json_ json_t *o = NULL, *policy = NULL, *allows = json_object();
        Diag why = {0};
        bool denied;
        int r = local_see(s, id, &v, reterr);

        if (r != 0)
                return r;
        denied = local_forbids(p, &v, &why) || local_refuses(s, p, &v, &why);
        for (ObjectAction a = ACTION_NONE + 1; a < ACTION_COUNT_; a++) {
                const bool may = policy_object_action(p, object_action_name(a)) && !(denied && a == v.action);

                if (json_object_set_new(allows, object_action_name(a), json_boolean(may)) < 0)
                        return -ENOMEM;
        }
        policy = json_pack("{s:s, s:s, s:s*, s:s, s:o, s:o, s:o, s:O}", "ref", p->ref, "verdict",
                           denied ? "denied" : "allowed", "rule", denied ? why.text : NULL, "on_denied",
                           p->objects.terminates ? "terminate" : "dormant", "depth", json_u64(p->objects.depth),
                           "fanout", json_u64(p->objects.fanout), "max_objects", json_u64(p->objects.max), "allows",
                           allows);
        o = json_pack("{s:o, s:s, s:O, s:o, s:s?}", "now", json_u64(clock_real_usec()), "node", store_origin(s),
                      "policy", policy, "n", json_u64(v.n), "skill", v.skill);
        if (!policy || !o || (v.interrupted && json_object_set_new(o, "interrupted", json_true()) < 0))
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}
