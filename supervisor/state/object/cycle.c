#include "object/append.h"
#include "object/intent.h"
#include "object/report.h"
#include "object/select.h"
#include "object/settle.h"
#include "record/object-row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct Cycle {
        Appending a;
        json_t *local, *policy; /* of select.h, with "facts"; member "policy" of the entries; owned */
        json_t *needs, *facts; /* facts that selection looks at; owned and lent */
        Selected s;
        uint64_t before; /* entries when the cycle began */
} Cycle;

static void cycle_deinit(Cycle *y) {
        appending_deinit(&y->a);
        json_decref(y->local);
        json_decref(y->policy);
        json_decref(y->needs);
        selected_deinit(&y->s);
}

/* After the first entry of a transaction no refusal may be committed half. */
static int cycle_whole(const Cycle *y, int r) {
        return r > 0 && y->a.memory.n > y->before ? -EUCLEAN : r;
}

/* OBJECT_E_* and EngineCode are different numbers: callers get EngineCode. */
static int cycle_entry(Cycle *y, EntryKind kind, const json_t *data, Diag *reterr) {
        return object_code(append_entry(&y->a, kind, NULL, data, NULL, reterr));
}

static int cycle_open(Cycle *y, Txn *t, const char *id, const ObjectCycle *c, Diag *reterr) {
        static const char *const members[] = {"ref", "verdict", "rule"};
        const json_t *policy = json_object_get(c->local, "policy");
        int r = append_open(t, id, &y->a, reterr);

        y->before = y->a.memory.n;
        if (r == 0 && y->a.row.state == OBJECT_TERMINATED)
                r = diag(reterr, ENGINE_E_TERMINATED,
                         "object %s is terminated, and has no further cycle: `lethe object history "
                         "%s` shows what was done, and a new object may begin with the same intent",
                         id, id);
        if (r == 0)
                r = object_eligible(&y->a.row, reterr);
        if (r != 0)
                return r;
        y->local = json_copied(c->local);
        y->policy = json_object();
        for (size_t i = 0; y->policy && i < ARRAY_SIZE(members); i++)
                if (json_object_get(policy, members[i]) &&
                    json_object_set(y->policy, members[i], json_object_get(policy, members[i])) < 0)
                        return -ENOMEM;
        y->a.who = c->who;
        y->a.trace = c->trace;
        y->a.policy = y->policy;
        y->a.now_usec = json_number(c->local, "now");
        y->a.lock = c->lock;
        return y->local && y->policy ? 0 : -ENOMEM;
}

/* Changes since the last cycle: an interrupted execution, ended children, and delegations beyond their time. */
static int cycle_gather(Cycle *y, Diag *reterr) {
        bool died = json_is_true(json_object_get(y->local, "interrupted")), settled;
        int r = y->a.memory.state == OBJECT_EXECUTION ? settle_execution(&y->a, died, &settled, reterr) : 0;

        json_object_del(y->local, "interrupted");
        return r ?: report_gather(&y->a, false, reterr) ?: report_non_responses(&y->a, reterr);
}

/* The most children that the next delegation may have: of the step, of a retry, or of a proposal. */
static size_t cycle_children(const ObjectMemory *m) {
        const json_t *steps = json_object_get(json_object_get(m->intent, "do"), "steps"),
                     *step = steps ? json_array_get(steps, json_number(m->fold, "step"))
                                   : json_object_get(m->intent, "do"),
                     *of[] = {step, json_object_get(m->fold, "again"), json_object_get(m->fold, "next")};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(of); i++)
                n = MAX(n, json_array_size(json_object_get(of[i], "delegate")));
        return n;
}

/* Children count as objects: a delegation beyond the policy's objects.max is not allowed (O-25). */
static int cycle_bound(Cycle *y) {
        const json_t *policy = json_object_get(y->local, "policy");
        size_t children = cycle_children(&y->a.memory);
        _cleanup_json_ json_t *less = NULL, *allows = NULL;
        uint64_t most, alive;
        int r;

        if (children == 0 || json_get_u64(json_object_get(policy, "max_objects"), &most) < 0)
                return 0;
        r = object_row_alive(y->a.t, &alive);
        if (r < 0 || (alive <= most && children <= most - alive))
                return r;
        less = json_copied(policy);
        allows = json_is_object(json_object_get(policy, "allows")) ? json_copied(json_object_get(policy, "allows"))
                                                                     : json_object();
        return !less || !allows ||
                               json_object_set_new(allows, object_action_name(ACTION_DELEGATION), json_false()) < 0 ||
                               json_object_set(less, "allows", allows) < 0 ||
                               json_object_set(y->local, "policy", less) < 0
                       ? -ENOMEM
                       : 0;
}

static int cycle_select(Cycle *y, Diag *reterr) {
        int r = cycle_bound(y) ?: object_code(select_needs(&y->a.memory, &y->needs))
                        ?: object_facts(y->a.t, &y->a.row, y->needs, &y->facts);

        if (r != 0)
                return r;
        if (json_object_set_new(y->local, "facts", y->facts) < 0)
                return -ENOMEM;
        return object_code(select_action(&y->a.memory, y->local, &y->s, reterr));
}

/* A child is an object of its own, with a part of what scope and constraints leave its parent (O-24, O-25). */
static int cycle_create_child(Cycle *y, const char *id, const json_t *intent, uint64_t serial, Diag *reterr) {
        const json_t *context = y->a.memory.context;
        _cleanup_json_ json_t *scope = NULL, *outer = NULL, *clipped = NULL;
        char made[REGION_ID_MAX];
        uint64_t seq;
        int r = memory_scope(&y->a.memory, &outer)
                        ?: intent_scope_clip(outer, json_object_get(y->local, "policy"), &clipped)
                        ?: intent_scope_of_child(clipped, intent, &scope);

        if (r > 0)
                return diag(reterr, ENGINE_E_BEYOND_SCOPE,
                            "a child of object %s would need more than the trust scope allows", y->a.memory.object);
        if (r < 0)
                return r;
        return object_create(y->a.t,
                             &(ObjectNew){.who = json_str(context, "by"),
                                          .intent = intent,
                                          .scope = scope,
                                          .policy = json_str(y->policy, "ref"),
                                          .now_usec = y->a.now_usec,
                                          .id = id,
                                          .parent = y->a.memory.object,
                                          .serial = serial,
                                          .outer = outer,
                                          .trace = y->a.trace},
                             made, &seq, reterr);
}

static int cycle_delegate(Cycle *y, Diag *reterr) {
        _cleanup_json_ json_t *data = json_copied(y->s.data), *children = json_object();
        uint64_t serial = json_number(y->s.data, "serial");
        json_t *intent;
        const char *id;
        size_t i;
        int r = data && children ? 0 : -ENOMEM;

        json_array_foreach(json_object_get(data, "delegate"), i, intent) {
                char child[REGION_ID_MAX];

                if (r == 0)
                        r = region_id_new(y->a.now_usec, child);
                if (r == 0 && json_object_set(children, child, intent) < 0)
                        r = -ENOMEM;
        }
        if (r < 0)
                return r;
        json_object_del(data, "delegate");
        if (json_object_set(data, "children", children) < 0)
                return -ENOMEM;
        r = cycle_entry(y, ENTRY_DELEGATION, data, reterr);
        json_object_foreach(children, id, intent)
                if (r == 0)
                        r = cycle_create_child(y, id, intent, serial, reterr);
        return r;
}

/* O-23: a second check, so that no unchecked refinement is appended. */
static int cycle_mutate(Cycle *y, Diag *reterr) {
        const json_t *data = y->s.data;

        return object_code(intent_refine_check(y->a.memory.intent, json_object_get(data, "after"),
                                               json_str(data, "how"),
                                               json_object_get(y->a.memory.context, "scope"), reterr))
                       ?: cycle_entry(y, ENTRY_MUTATION, data, reterr)
                       ?: cycle_entry(y, ENTRY_EVALUATION, NULL, reterr);
}

static int cycle_append(Cycle *y, Diag *reterr) {
        int r = 0;

        if (select_evaluates_first(y->a.memory.state, y->s.action))
                r = cycle_entry(y, ENTRY_EVALUATION, NULL, reterr);
        if (r != 0)
                return r;
        switch (y->s.action) {
        case ACTION_EXECUTION: return cycle_entry(y, ENTRY_STARTED, y->s.data, reterr);
        case ACTION_MUTATION: return cycle_mutate(y, reterr);
        case ACTION_DELEGATION: return cycle_delegate(y, reterr);
        case ACTION_DORMANCY: return cycle_entry(y, ENTRY_DORMANT, y->s.data, reterr);
        case ACTION_REENTRY:
                return cycle_entry(y, ENTRY_REENTRY, y->s.data, reterr)
                               ?: cycle_entry(y, ENTRY_EVALUATION, NULL, reterr);
        case ACTION_TERMINATION:
                return cycle_entry(y, ENTRY_TERMINATED, y->s.data, reterr) ?: report_to_parent(&y->a, reterr);
        case ACTION_NONE:
        case ACTION_COUNT_: break;
        }
        return -EUCLEAN;
}

/* For the performer: with a region for `started`. */
static json_t *cycle_perform(const Cycle *y) {
        const json_t *d = y->s.data;

        return json_pack("{s:O, s:O*, s:O*, s:O*, s:O, s:O, s:O*, s:s}", "skill", json_object_get(d, "skill"), "entry",
                         json_object_get(d, "entry"), "args", json_object_get(d, "args"), "input",
                         json_object_get(d, "input"), "timeout_usec", json_object_get(d, "timeout_usec"), "scope",
                         json_object_get(y->a.memory.context, "scope"), "constraints",
                         json_object_get(y->a.memory.intent, "constraints"), "trace", y->a.trace);
}

static int cycle_answer(const Cycle *y, const char *action, const char *reason, json_t **ret) {
        bool begun = y->s.action == ACTION_EXECUTION && strcmp(action, "none") != 0;
        json_t *perform = begun ? cycle_perform(y) : NULL;

        if (begun && !perform)
                return -ENOMEM; /* json_pack() would leave the member out */
        *ret = json_pack("{s:s, s:s, s:s, s:o, s:s*, s:s, s:O*, s:o*}", "object", y->a.memory.object, "action", action,
                         "state", object_state_name(y->a.memory.state), "entry", json_u64(y->a.memory.n - 1), "reason",
                         reason, "trace", y->a.trace, "unmet", y->s.unmet, "perform", perform);
        return *ret ? 0 : -ENOMEM;
}

static int cycle_run(Cycle *y, bool later, json_t **ret, Diag *reterr) {
        int r = cycle_gather(y, reterr) ?: cycle_select(y, reterr);

        if (r != 0)
                return r;
        if (y->s.action == ACTION_EXECUTION && later)
                return cycle_answer(y, "none", "later", ret);
        if (y->s.action == ACTION_NONE)
                r = append_armed(&y->a);
        else
                r = cycle_append(y, reterr);
        return r ?: cycle_answer(y, object_action_name(y->s.action), y->s.reason, ret);
}

struct ObjectAhead {
        Cycle y; /* to its end */
        AppendLater later;
        json_t *row, *answer; /* the row as seen; owned, as all here */
        uint8_t *bytes;       /* of the row in its table */
        size_t n_bytes;
};

void object_ahead_free(ObjectAhead *h) {
        if (!h)
                return;
        cycle_deinit(&h->y);
        append_later_deinit(&h->later);
        json_decref(h->row);
        json_decref(h->answer);
        free(h->bytes);
        free(h);
}

static int ahead_keep_row(ObjectAhead *h, Txn *t, const char *id) {
        Bytes row;
        int r = object_row_bytes(t, id, &row);

        if (r < 0)
                return r;
        h->row = json_incref(h->y.a.row.row);
        h->bytes = malloc(row.n);
        if (!h->bytes)
                return -ENOMEM;
        h->n_bytes = row.n;
        memcpy(h->bytes, row.p, row.n);
        return 0;
}

/* A cycle depends on row, memory and facts alone, but for executions to settle, for children, and for the number of all
 * objects. */
static bool ahead_is_possible(const Cycle *y) {
        return y->a.memory.state != OBJECT_EXECUTION && !json_object_get(y->a.memory.fold, "delegation") &&
               cycle_children(&y->a.memory) == 0;
}

static bool ahead_can_append(ObjectAction a) {
        return a == ACTION_EXECUTION || a == ACTION_MUTATION || a == ACTION_DORMANCY || a == ACTION_REENTRY;
}

static int ahead_run(ObjectAhead *h, Txn *t, const char *id, const ObjectCycle *c) {
        Cycle *y = &h->y;
        Diag d;
        int r = cycle_open(y, t, id, c, &d) ?: ahead_keep_row(h, t, id);

        if (r != 0 || !ahead_is_possible(y))
                return r ?: -ENOTSUP;
        json_object_del(y->local, "interrupted");
        r = cycle_select(y, &d);
        if (r != 0 || !ahead_can_append(y->s.action) || (y->s.action == ACTION_EXECUTION && c->later))
                return r ?: -ENOTSUP;
        return cycle_append(y, &d) ?: cycle_answer(y, object_action_name(y->s.action), y->s.reason, &h->answer);
}

ObjectAhead *object_cycle_ahead(Store *s, const char *id, const ObjectCycle *c) {
        ObjectAhead *h = calloc(1, sizeof(*h));
        _cleanup_txn_ Txn *t = NULL;
        Diag d;

        if (!h)
                return NULL;
        h->y.a.later = &h->later;
        if (store_begin_at_once(s, &t, &d) == 0 && ahead_run(h, t, id, c) == 0)
                return h;
        object_ahead_free(h);
        return NULL;
}

/* Returns 1, 0 or -errno. */
static int ahead_holds(const ObjectAhead *h, Txn *t, const char *id) {
        _cleanup_json_ json_t *facts = NULL;
        Bytes row;
        int r = object_row_bytes(t, id, &row);

        if (r < 0 || row.n != h->n_bytes || memcmp(row.p, h->bytes, row.n) != 0)
                return r == -ENOENT ? 0 : r;
        if (json_array_size(json_object_get(h->y.needs, "slots")) == 0 &&
            json_array_size(json_object_get(h->y.needs, "objects")) == 0)
                return 1; /* the events stand in the row */
        r = object_facts(t, &(ObjectRow){.row = h->row}, h->y.needs, &facts);
        return r < 0 ? r : json_equal(facts, h->y.facts);
}

static int ahead_append(ObjectAhead *h, Txn *t, json_t **ret) {
        int r = append_made(t, h->y.a.who, &h->later, &h->row);

        if (r < 0)
                return r;
        h->y.a.later = NULL; /* the memory is kept */
        *ret = TAKE_PTR(h->answer);
        return 0;
}

int object_cycle(Txn *t, const char *id, const ObjectCycle *c, json_t **ret, Diag *reterr) {
        _cleanup_(cycle_deinit) Cycle y = {0};
        int r = c->ahead ? ahead_holds(c->ahead, t, id) : 0;

        if (r != 0)
                return r < 0 ? r : ahead_append(c->ahead, t, ret);
        r = cycle_open(&y, t, id, c, reterr);

        return cycle_whole(&y, r ?: cycle_run(&y, c->later, ret, reterr));
}
