/* Runs: tests. Objects in a store: cycles with a clock that the test sets, and executions as regions without processes. */
#pragma once

#include "base/clock.h"
#include "base/id.h"
#include "engine/execution.h"
#include "object/append.h"
#include "object/object.h"
#include "object/transfer.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "tests/support/store-fixture.h"

#include <errno.h>
#include <inttypes.h>

#define SECOND UINT64_C(1000000)
#define YEAR (UINT64_C(365) * 86400 * SECOND)
#define WHO "uid:1000"

typedef struct Node {
        StoreFixture s;
        uint64_t now;                 /* usec */
        const char *ref, *verdict;    /* of the policy */
        const char *on_denied;
        int depth;                    /* of the policy */
        bool died;                    /* the performer of an open execution lives no more */
        bool later;
} Node;

static inline json_t *json_of(const char *text) {
        json_error_t e;
        json_t *o = json_loads(text, JSON_DECODE_ANY, &e);

        cr_assert(o, "%s: %s", text, e.text);
        return o;
}

static inline void node_init(Node *n) {
        *n = (Node){.now = clock_real_usec(), .ref = "p1", .verdict = "allowed", .on_denied = "dormant", .depth = 16};
        store_fixture_init(&n->s, STORE_SUPERVISE);
}

static inline void node_deinit(Node *n) {
        store_fixture_deinit(&n->s);
}
#define _cleanup_node_ _cleanup_(node_deinit)

static inline void node_restart(Node *n) {
        store_fixture_close(&n->s);
        store_fixture_open(&n->s, STORE_SUPERVISE);
}

/* Commits after 0, aborts after a refusal. */
static inline int node_end(Node *n, Txn *t, int r) {
        if (r == 0)
                store_fixture_commit(&n->s, t);
        else
                store_abort(t);
        return r;
}

static inline int node_create_within(Node *n, const char *intent, const char *scope, char id[static REGION_ID_MAX]) {
        _cleanup_json_ json_t *o = json_of(intent), *s = scope ? json_of(scope) : NULL;
        Txn *t = store_fixture_begin(&n->s, true);

        return node_end(n, t, object_create(t, &(ObjectNew){.who = WHO, .intent = o, .scope = s, .policy = n->ref, .now_usec = n->now}, id, NULL, &n->s.d));
}

static inline void node_create(Node *n, const char *intent, char id[static REGION_ID_MAX]) {
        cr_assert_eq(node_create_within(n, intent, NULL, id), 0, "%s: %s", intent, n->s.d.text);
}

static inline json_t *node_local(const Node *n) {
        json_t *o = json_pack("{s:o, s:s, s:{s:s, s:s, s:s, s:i, s:i, s:{}}, s:o*}", "now", json_u64(n->now), "node", store_origin(n->s.store), "policy", "ref", n->ref, "verdict",
                              n->verdict, "on_denied", n->on_denied, "depth", n->depth, "fanout", 1024, "allows", "interrupted", n->died ? json_true() : NULL);

        cr_assert(o);
        return o;
}

static inline int node_cycle_in(Node *n, Txn *t, const char *id, json_t **ret) {
        _cleanup_json_ json_t *local = node_local(n);
        char trace[REGION_ID_MAX];

        region_id_new(clock_real_usec(), trace);
        return object_cycle(t, id, &(ObjectCycle){.local = local, .who = WHO, .trace = trace, .later = n->later,
                                                  .lock = store_own_lock(n->s.store)}, ret, &n->s.d);
}

/* One cycle, made ahead where possible: *ret owned. */
static inline int node_cycle(Node *n, const char *id, json_t **ret) {
        _cleanup_object_ahead_ ObjectAhead *ahead = NULL;
        _cleanup_json_ json_t *local = node_local(n);
        char trace[REGION_ID_MAX];
        ObjectCycle c = {.local = local, .who = WHO, .trace = trace, .later = n->later, .lock = store_own_lock(n->s.store)};
        Txn *t;

        *ret = NULL;
        region_id_new(clock_real_usec(), trace);
        c.ahead = ahead = object_cycle_ahead(n->s.store, id, &c);
        t = store_fixture_begin(&n->s, true);
        return node_end(n, t, object_cycle(t, id, &c, ret, &n->s.d));
}

/* The same for its action alone: "execution", "none" …; borrowed until the next call. */
static inline const char *node_act(Node *n, const char *id) {
        static char action[40];
        _cleanup_json_ json_t *o = NULL;

        cr_assert_eq(node_cycle(n, id, &o), 0, "%s", n->s.d.text);
        snprintf(action, sizeof(action), "%s", json_str(o, "action"));
        return action;
}

/* What `cycle` says of an execution: the region of "perform", allocated. */
static inline int node_region(Node *n, const char *id, const json_t *cycle, const char *slot) {
        _cleanup_json_ json_t *grant = json_of("{\"commit\": \"success\"}"), *slots = json_object();
        const char *trace = json_str(json_object_get(cycle, "perform"), "trace"), *const writes[] = {slot, NULL};
        Txn *t = store_fixture_begin(&n->s, true);

        json_object_set_new(slots, slot ?: "n", json_object());
        return node_end(n, t, engine_region_start(t, &(RegionStart){.region = trace, .skill_name = json_str(json_object_get(cycle, "perform"), "skill"), .skill_digest = "sha256:0",
                                                                    .tier = "namespaces", .start = "cold", .grant = grant, .slots = slots, .writes = slot ? writes : NULL,
                                                                    .supervisor_pid = 1, .object = id, .trace = trace}, NULL, NULL, &n->s.d));
}

static inline void node_propose(Node *n, const json_t *cycle, const char *slot, int value) {
        _cleanup_json_ json_t *v = json_integer(value);
        Txn *t = store_fixture_begin(&n->s, true);
        uint64_t seq, version;

        cr_assert_eq(node_end(n, t, engine_slot_propose(t, &(SlotProposal){.region = json_str(json_object_get(cycle, "perform"), "trace"), .name = slot, .value = v, .expect = -1},
                                                        &seq, &version, NULL, &n->s.d)), 0, "%s", n->s.d.text);
}

/* The region's end in t, with exit code 0 or 1. */
static inline void node_region_end_in(Node *n, Txn *t, const char *region, int code) {
        _cleanup_json_ json_t *none = json_object(), *ended = json_pack("{s:s, s:i}", "outcome", "exited", "exit_code", code);

        cr_assert_eq(engine_region_end(t, &(RegionEnd){.region = region, .keep = true, .released = none, .ended = ended}, NULL, NULL, &n->s.d), 0, "%s", n->s.d.text);
}

static inline int node_outcome_in(Node *n, Txn *t, const char *id, const char *trace, const char *region, const char *outcome, const char *next) {
        _cleanup_json_ json_t *o = json_of(outcome), *p = next ? json_of(next) : NULL, *answer = NULL;

        return object_outcome(t, id, trace, region, o, p, &answer, &n->s.d);
}

#define SUCCESS "{\"kind\": \"success\", \"latency_usec\": 1000}"
#define FAILURE "{\"kind\": \"failure\", \"latency_usec\": 1000, \"exit_code\": 1}"

/* After a cycle with "perform": a region that writes `slot` (NULL: nothing), its end and the outcome in one transaction. */
static inline void node_perform(Node *n, const char *id, const json_t *cycle, const char *slot, const char *outcome, const char *next) {
        const char *trace = json_str(json_object_get(cycle, "perform"), "trace");
        Txn *t;

        cr_assert_str_neq(trace, "", "no execution: %s, %s", json_str(cycle, "action"), json_str(cycle, "reason"));
        cr_assert_eq(node_region(n, id, cycle, slot), 0, "%s", n->s.d.text);
        if (slot)
                node_propose(n, cycle, slot, 1);
        t = store_fixture_begin(&n->s, true);
        node_region_end_in(n, t, trace, strstr(outcome, "\"success\"") || strstr(outcome, "\"partial\"") ? 0 : 1);
        cr_assert_eq(node_end(n, t, node_outcome_in(n, t, id, trace, trace, outcome, next)), 0, "%s", n->s.d.text);
}

/* A cycle that has to be an execution, with its outcome. */
static inline void node_execute(Node *n, const char *id, const char *slot, const char *outcome, const char *next) {
        _cleanup_json_ json_t *o = NULL;

        cr_assert_eq(node_cycle(n, id, &o), 0, "%s", n->s.d.text);
        cr_assert_str_eq(json_str(o, "action"), "execution", "%s", json_str(o, "reason"));
        node_perform(n, id, o, slot, outcome, next);
}

static inline void node_row(Node *n, const char *id, ObjectRow *ret) {
        Txn *t = store_fixture_begin(&n->s, false);

        cr_assert_eq(object_get(t, id, ret, &n->s.d), 0, "%s", n->s.d.text);
        store_abort(t);
}

static inline void node_memory(Node *n, const char *id, ObjectMemory *ret) {
        _cleanup_object_row_ ObjectRow row = {0};
        Txn *t = store_fixture_begin(&n->s, false);

        cr_assert_eq(object_get(t, id, &row, &n->s.d), 0, "%s", n->s.d.text);
        cr_assert_eq(object_memory(t, &row, true, ret, &n->s.d), 0, "%s", n->s.d.text);
        store_abort(t);
}

/* The kinds of all entries, "instantiated evaluation started"; owned. */
static inline char *node_kinds(Node *n, const char *id) {
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_json_ json_t *list = NULL;
        Txn *t = store_fixture_begin(&n->s, false);
        Buf b = {0};

        cr_assert_eq(object_get(t, id, &row, &n->s.d) ?: object_history(t, &row, 0, &list, &n->s.d), 0, "%s", n->s.d.text);
        store_abort(t);
        for (size_t i = 0; i < json_array_size(list); i++)
                cr_assert_eq(buf_printf(&b, "%s%s", i > 0 ? " " : "", json_str(json_array_get(list, i), "kind")), 0);
        return b.data;
}

/* The last entry of this kind, as JSON; owned. */
static inline json_t *node_last(Node *n, const char *id, const char *kind) {
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_json_ json_t *list = NULL;
        Txn *t = store_fixture_begin(&n->s, false);
        json_t *found = NULL;

        cr_assert_eq(object_get(t, id, &row, &n->s.d) ?: object_history(t, &row, 0, &list, &n->s.d), 0, "%s", n->s.d.text);
        store_abort(t);
        for (size_t i = 0; i < json_array_size(list); i++)
                if (strcmp(json_str(json_array_get(list, i), "kind"), kind) == 0)
                        found = json_array_get(list, i);
        cr_assert(found, "no entry %s", kind);
        return json_incref(found);
}

static inline uint64_t node_entries(Node *n, const char *id) {
        _cleanup_object_row_ ObjectRow row = {0};

        node_row(n, id, &row);
        return row.n;
}

static inline uint64_t node_versions(Node *n, const char *slot) {
        Txn *t = store_fixture_begin(&n->s, false);
        SlotRow row = {0};
        int r = slot_row_get(t, slot, &row);

        store_abort(t);
        return r == 0 ? row.version : 0;
}

/* object_verify() finds nothing. */
static inline void node_holds(Node *n, const char *id, const char *row) {
        _cleanup_json_ json_t *found = NULL;
        _cleanup_free_ char *text = NULL;
        Txn *t = store_fixture_begin(&n->s, false);

        cr_assert_eq(object_verify(t, id, &found, &n->s.d), 0, "%s: %s", row, n->s.d.text);
        store_abort(t);
        text = json_dumps(json_object_get(found, "findings"), 0);
        cr_assert(json_is_true(json_object_get(found, "holds")), "%s: %s", row, text);
}
