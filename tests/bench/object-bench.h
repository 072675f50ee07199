/* Runs: benchmarks. Objects without a skill whose every cycle is due: the benchmark's clock runs two hours a cycle. */
#pragma once

#include "stats.h"

#include "base/clock.h"
#include "object/object.h"
#include "object/select.h"

#include <string.h>

#define CYCLE_STEP_USEC UINT64_C(7200000000)

typedef struct BenchObject {
        char id[REGION_ID_MAX];
        uint64_t now_usec; /* of the next cycle */
} BenchObject;

_noreturn_ static inline void bench_fail(const char *what, const char *why) {
        fprintf(stderr, "bench of objects: %s: %s\n", what, why);
        exit(1);
}

static inline Txn *bench_begin(Store *s) {
        Diag d = {};
        Txn *t;

        if (store_begin(s, true, &t, &d) != 0)
                bench_fail("store", d.text);
        return t;
}

static inline void bench_commit(Txn *t) {
        Diag d = {};

        if (store_commit(t, &d) != 0)
                bench_fail("store", d.text);
}

/* The local policy result of an encounter at that time; everything is allowed. */
static inline json_t *bench_local(const Store *s, uint64_t now_usec) {
        json_t *allows = json_object(), *local;

        for (int a = ACTION_EXECUTION; a < ACTION_COUNT_; a++)
                json_object_set_new(allows, object_action_name((ObjectAction)a), json_true());
        local = json_pack("{s:o, s:s, s:{s:s, s:s, s:s, s:i, s:i, s:o}}", "now", json_u64(now_usec), "node", store_origin(s), "policy", "ref", "sha256:0",
                          "verdict", "allowed", "on_denied", "dormant", "depth", 4, "fanout", 64, "allows", allows);
        if (!local)
                bench_fail("memory", "none left");
        return local;
}

/* An object that waits an hour, rests an hour, and is never done. Of the caller's transaction. */
static inline void bench_object(Txn *t, BenchObject *ret) {
        json_t *intent = json_pack("{s:{s:{s:{s:s}}}, s:{s:{s:{s:s}}}, s:s}", "do", "wait", "elapsed", "for", "1h", "with", "rest", "elapsed", "for", "1h",
                                   "until", "never");
        uint64_t seq;
        Diag d = {};

        ret->now_usec = clock_real_usec();
        if (object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .policy = "sha256:0", .now_usec = ret->now_usec}, ret->id, &seq, &d) != 0)
                bench_fail("create", d.text);
        json_decref(intent);
}

/* One cycle that appends something, as a performer takes it: the work ahead, then the writer's turn with its durable commit. */
static inline void bench_cycle(Store *s, BenchObject *o) {
        json_t *local = bench_local(s, o->now_usec), *done = NULL;
        char trace[REGION_ID_MAX];
        ObjectCycle c = {.local = local, .who = "uid:0", .trace = trace};
        const char *action;
        Diag d = {};
        Txn *t;

        if (region_id_new(clock_real_usec(), trace) != 0)
                bench_fail("trace", "no random bytes");
        c.ahead = object_cycle_ahead(s, o->id, &c);
        t = bench_begin(s);
        if (object_cycle(t, o->id, &c, &done, &d) != 0)
                bench_fail("cycle", d.text);
        bench_commit(t);
        action = json_string_value(json_object_get(done, "action"));
        if (!action || strcmp(action, "none") == 0)
                bench_fail("cycle", "nothing was due");
        o->now_usec += CYCLE_STEP_USEC;
        object_ahead_free(c.ahead);
        json_decref(done);
        json_decref(local);
}
