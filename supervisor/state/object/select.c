/* Selection: the rules, in their order (schema/object.md, "Selection"). */
#include "object/select-inside.h"

#include "object/intent.h"
#include "object/trigger.h"

static const char *const select_names[ACTION_COUNT_] = {
        [ACTION_NONE] = "none",
        [ACTION_EXECUTION] = "execution",
        [ACTION_MUTATION] = "mutation",
        [ACTION_DELEGATION] = "delegation",
        [ACTION_DORMANCY] = "dormancy",
        [ACTION_REENTRY] = "reentry",
        [ACTION_TERMINATION] = "termination",
};

const char *object_action_name(ObjectAction a) {
        assert((unsigned)a < ACTION_COUNT_);
        return select_names[a];
}

void selected_deinit(Selected *s) {
        json_decref(s->data);
        json_decref(s->unmet);
        *s = (Selected){0};
}

bool select_evaluates_first(ObjectState from, ObjectAction a) {
        static const ObjectState to[ACTION_COUNT_] = {
                [ACTION_EXECUTION] = OBJECT_EXECUTION,
                [ACTION_MUTATION] = OBJECT_MUTATION,
                [ACTION_DELEGATION] = OBJECT_DELEGATION,
                [ACTION_DORMANCY] = OBJECT_DORMANT,
                [ACTION_REENTRY] = OBJECT_REENTRY,
                [ACTION_TERMINATION] = OBJECT_TERMINATED,
        };

        return a != ACTION_NONE && !object_state_can_move(from, to[a]);
}

int select_take(Selection *s, ObjectAction a, const char *reason, json_t *data) {
        if (!data)
                return -ENOMEM;
        s->out->action = a;
        s->out->reason = reason;
        s->out->data = data;
        return 1;
}

const json_t *select_facts(const Selection *s) {
        return json_object_get(s->local, "facts");
}

bool select_allows(const Selection *s, ObjectAction a) {
        return !json_is_false(json_object_get(json_object_get(s->policy, "allows"), object_action_name(a)));
}

int select_scope(const Selection *s, json_t **ret) {
        _cleanup_json_ json_t *scope = NULL;

        return memory_scope(s->m, &scope) ?: intent_scope_clip(scope, s->policy, ret);
}

static TriggerView select_view(const Selection *s, uint64_t since, const json_t *counts) {
        return (TriggerView){
                .now_usec = s->now,
                .since_usec = since,
                .counts = counts,
                .facts = select_facts(s),
                .policy = s->policy,
        };
}

uint64_t select_deadline_usec(const Selection *s) {
        const json_t *constraint;
        uint64_t first = UINT64_MAX, v;
        size_t i;

        json_array_foreach(json_object_get(s->m->intent, "constraints"), i, constraint) {
                if (json_get_u64(json_object_get(constraint, "deadline"), &v) == 0)
                        first = MIN(first, v);
                if (json_get_u64(json_object_get(constraint, "deadline_usec"), &v) == 0)
                        first = MIN(first, memory_add(json_number(s->m->context, "created"), v));
        }
        return first;
}

/* The trigger, or the deadline. A trigger without room for a further part is left alone. Takes trigger; NULL: out of
 * memory. */
static json_t *select_or_deadline(const Selection *s, json_t *trigger) {
        _cleanup_json_ json_t *old = trigger, *parts = NULL, *either = NULL, *complete = NULL;
        uint64_t deadline = select_deadline_usec(s);
        int r;

        if (!trigger || deadline >= JSON_TIME_MAX)
                return TAKE_PTR(old);
        parts = json_object_get(trigger, "any") ? json_copy(json_object_get(trigger, "any"))
                                                : json_pack("[O]", trigger);
        either = json_pack("{s:O}", "any", parts);
        if (!either ||
            json_array_append_new(parts, json_pack("{s:{s:o}}", "elapsed", "at", json_u64(deadline))) < 0)
                return NULL;
        r = trigger_complete(either, s->m->object, &complete, NULL);
        return r < 0 ? NULL : r > 0 ? TAKE_PTR(old) : TAKE_PTR(either);
}

/* A trigger that holds already when the object falls asleep counts after the least pace: no object spins. */
int select_dormancy(Selection *s, const char *reason, json_t *trigger) {
        _cleanup_json_ json_t *holds = NULL, *counts = json_object();
        _cleanup_json_ json_t *taken = select_or_deadline(s, trigger);
        const json_t *pace = json_object_get(s->with, "pace");
        TriggerView view = select_view(s, s->now, counts);
        uint64_t not_before = 0;
        int r = taken && counts ? trigger_holds(taken, &view, &holds) : -ENOMEM;

        if (r < 0)
                return r;
        if (r > 0)
                not_before = MIN(memory_add(s->now, MAX(json_number(pace, "min_usec"), (uint64_t)INTENT_PACE_LEAST)), JSON_TIME_MAX);
        return select_take(s, ACTION_DORMANCY, reason,
                           json_pack("{s:O, s:s, s:o}", "trigger", taken, "reason", reason, "not_before",
                                     json_u64(not_before)));
}

static int select_none(Selection *s, const char *reason, json_t *unmet) {
        s->out->action = ACTION_NONE;
        s->out->reason = reason;
        s->out->unmet = unmet ?: json_array();
        return s->out->unmet ? 1 : -ENOMEM;
}

static int select_running(Selection *s) {
        if (s->m->state != OBJECT_EXECUTION)
                return 0;
        return select_none(s, json_is_true(json_object_get(s->local, "interrupted")) ? "interrupted" : "running", NULL);
}

/* The limit that is over, or NULL. */
static const char *select_limit(const Selection *s) {
        uint64_t attempts = json_number(s->with, "attempts");

        if (s->now >= select_deadline_usec(s))
                return "deadline";
        return attempts > 0 && json_number(s->m->fold, "attempts") >= attempts ? "attempts" : NULL;
}

static int select_limits(Selection *s) {
        const char *reason = select_limit(s);

        return reason ? select_take(s, ACTION_TERMINATION, reason, json_pack("{s:s}", "reason", reason)) : 0;
}

/* O-32..O-34; a denied policy is looked at after the reentry. */
static int select_dormant(Selection *s) {
        const json_t *dormant = json_object_get(s->m->fold, "dormant");
        uint64_t since = json_number(dormant, "since"), not_before = json_number(dormant, "not_before");
        TriggerView view = select_view(s, since, json_object_get(s->m->fold, "counts"));
        _cleanup_json_ json_t *holds = NULL;
        int r;

        view.backoff = json_text_is(json_object_get(dormant, "reason"), "backoff");
        if (s->m->state != OBJECT_DORMANT)
                return 0;
        if (s->now >= select_deadline_usec(s))
                return select_limits(s);
        if (not_before > s->now && s->now >= since) /* unless the clock was set back */
                return select_none(s, "asleep",
                                   json_pack("[{s:{s:o}, s:o}]", "elapsed", "at", json_u64(not_before), "until",
                                             json_u64(not_before)));
        r = trigger_holds(json_object_get(dormant, "trigger"), &view, &holds);
        if (r < 0)
                return r;
        if (r == 0)
                return select_none(s, "asleep", json_incref(json_object_get(holds, "unmet")));
        return select_take(s, ACTION_REENTRY, "trigger", TAKE_PTR(holds));
}

/* The effect of a denial, in another state than dormant (O-15). Takes trigger. */
static int select_denial(Selection *s, json_t *trigger) {
        _cleanup_json_ json_t *taken = trigger;

        if (strcmp(json_str(s->policy, "on_denied"), "terminate") == 0)
                return select_take(s, ACTION_TERMINATION, "policy", json_pack("{s:s}", "reason", "policy"));
        return select_dormancy(s, "denied", TAKE_PTR(taken));
}

int select_denied(Selection *s) {
        return select_denial(s, json_pack("{s:{s:s}}", "policy", "not", s->ref));
}

static int select_policy(Selection *s) {
        return strcmp(json_str(s->policy, "verdict"), "allowed") == 0 ? 0 : select_denied(s);
}

/* The decision, judged by the policy's list of actions. A denial is a dormancy or a termination in any case. */
static int select_judge(Selection *s) {
        const ObjectAction a = s->out->action;
        json_t *trigger;
        bool ends = strcmp(json_str(s->policy, "on_denied"), "terminate") == 0;

        if (a == ACTION_NONE || select_allows(s, a) || strcmp(s->out->reason, "policy") == 0 ||
            (a == ACTION_DORMANCY && !ends))
                return 0;
        selected_deinit(s->out);
        trigger = json_pack("{s:{s:s}}", "policy", "allows", object_action_name(a));
        if (s->m->state == OBJECT_DORMANT && !ends)
                return select_none(s, "denied", json_pack("[o]", trigger));
        return select_denial(s, trigger);
}

/* O-35. */
static int select_until(Selection *s) {
        const json_t *until = json_object_get(s->m->intent, "until");
        _cleanup_json_ json_t *evidence = NULL;
        uint64_t n;
        int r;

        if (!json_is_object(until)) /* "never" */
                return 0;
        if (json_get_u64(json_object_get(until, "success"), &n) == 0)
                r = json_number(s->m->fold, "successes") >= n;
        else
                r = condition_holds(until, select_facts(s), &evidence);
        if (r <= 0)
                return r;
        return select_take(s, ACTION_TERMINATION, "satisfied",
                           json_pack("{s:s, s:O*}", "reason", "satisfied", "evidence", evidence));
}

/* Before `until`: a result may count as the last success and ask for more in one. */
static int select_proposal(Selection *s) {
        return select_limit(s) ? 0 : select_next(s);
}

static int select_children(Selection *s) {
        const json_t *delegation = json_object_get(s->m->fold, "delegation"), *until;

        if (!delegation || select_limit(s))
                return 0;
        until = json_object_get(delegation, "until_usec");
        if (!until)
                return select_dormancy(s, "children",
                                       json_pack("{s:{s:s, s:i}}", "outcomes", "kind", "closed", "n", 1));
        return select_dormancy(s, "children",
                               json_pack("{s:[{s:{s:s, s:i}}, {s:{s:O}}]}", "any", "outcomes", "kind", "closed", "n", 1,
                                         "elapsed", "at", until));
}

/* O-49: this node could not do the step before. */
static int select_negative(Selection *s) {
        const char *skill = json_str(memory_step(s->m->intent, json_number(s->m->fold, "step")), "skill");
        const json_t *negative;
        size_t i;

        if (json_object_get(s->m->fold, "again"))
                return 0;
        json_array_foreach(json_object_get(s->m->fold, "negative"), i, negative)
                if (*skill && strcmp(json_str(negative, "node"), s->node) == 0 &&
                    (strcmp(json_str(negative, "skill"), skill) == 0 ||
                     strcmp(json_str(negative, "capability"), skill) == 0))
                        return select_dormancy(s, "negative",
                                               json_pack("{s:[{s:{s:s}}, {s:{s:s, s:i}}, {s:{s:s}}]}", "any",
                                                         "policy", "not", s->ref, "outcomes", "kind", "input", "n", 1,
                                                         "event", "type", "skill.registered"));
        return 0;
}

/* O-51, O-52. A clock set back makes the delay no longer. */
static int select_backoff(Selection *s) {
        const json_t *fold = s->m->fold;
        OutcomeKind k = outcome_kind_of(json_str(json_object_get(fold, "last"), "kind"));
        uint64_t weight = json_number(fold, "weight10"), delay, at;
        int r;

        if (k == OUTCOME_KIND_COUNT_ || k == OUTCOME_KIND_SUCCESS || k == OUTCOME_KIND_NEGATIVE ||
            json_is_true(json_object_get(fold, "waited")))
                return 0;
        delay = backoff_delay_usec(json_object_get(s->with, "pace"), weight, json_number(fold, "latency_usec"));
        delay = MAX(delay, (uint64_t)INTENT_PACE_LEAST);
        at = MIN(memory_add(MIN(json_number(fold, "last_time"), s->now), delay), JSON_TIME_MAX);
        if (at <= s->now)
                return 0;
        r = select_dormancy(s, "backoff", json_pack("{s:{s:o}}", "elapsed", "at", json_u64(at)));
        if (r > 0 && json_put(s->out->data, "backoff",
                              json_pack("{s:o, s:o}", "w", json_u64(weight), "delay_usec", json_u64(delay))) < 0)
                return -ENOMEM;
        return r;
}

static int select_rest(Selection *s) {
        if (!json_is_true(json_object_get(s->m->fold, "rest")))
                return 0;
        return select_dormancy(s, "rest", json_incref(json_object_get(s->with, "rest")));
}

static const SelectRule select_rules[] = {
        select_running, select_dormant, select_policy,   select_proposal, select_children, select_until,
        select_limits,  select_rest,    select_negative, select_split,    select_backoff,  select_step,
};

int select_action(const ObjectMemory *m, const json_t *local, Selected *ret, Diag *reterr) {
        _cleanup_(selected_deinit) Selected out = {0};
        Selection s = {
                .m = m,
                .local = local,
                .policy = json_object_get(local, "policy"),
                .with = json_object_get(m->intent, "with"),
                .node = json_text(json_object_get(local, "node")),
                .out = &out,
        };
        int r = 0;

        if (m->state == OBJECT_TERMINATED || m->state == OBJECT_NONE)
                return diag(reterr, OBJECT_E_MOVE, "object %s %s", m->object,
                            m->state == OBJECT_NONE ? "has no entry: create it first"
                                                    : "is terminated, which is final: create a new object");
        s.ref = json_text(json_object_get(s.policy, "ref"));
        if (!s.node || !s.ref || json_get_u64(json_object_get(local, "now"), &s.now) < 0)
                return -EINVAL;
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(select_rules); i++)
                r = select_rules[i](&s);
        if (r > 0)
                r = select_judge(&s) ?: r;
        if (r > 0 && s.refused && out.data &&
            json_object_set_new(out.data, "refused_next", json_string(s.refused)) < 0)
                r = -ENOMEM;
        free(s.refused);
        if (r <= 0)
                return r < 0 ? r : -EINVAL; /* a step of no kind: memory_apply() refuses such intents */
        *ret = out;
        out = (Selected){0};
        return 0;
}
