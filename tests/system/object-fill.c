// Runs: tests. Dormant objects in great number, a thousand in one transaction, as `lethe object create` and the first cycle would make them.
//
//   object-fill STORE N UNTIL         each sleeps until this time (microseconds since 1970)
//   object-fill STORE N event NAME    each sleeps until the slot NAME is written; prints the ids
#include "base/clock.h"
#include "object/object.h"
#include "object/select.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 1000

_noreturn_ static void fail(const char *what, const char *why) {
        fprintf(stderr, "object-fill: %s: %s\n", what, why);
        exit(1);
}

static json_t *fill_intent(const char *how, const char *name) {
        json_t *trigger = name ? json_pack("{s:{s:s, s:{s:s}}}", "event", "type", "slot.written", "match", "slot", name)
                               : json_pack("{s:{s:o}}", "elapsed", "at", json_u64(strtoull(how, NULL, 10)));

        return json_pack("{s:{s:o}}", "do", "wait", trigger);
}

static json_t *fill_local(const Store *s, uint64_t now) {
        json_t *allows = json_object();

        for (int a = ACTION_EXECUTION; a < ACTION_COUNT_; a++)
                json_object_set_new(allows, object_action_name((ObjectAction)a), json_true());
        return json_pack("{s:o, s:s, s:{s:s, s:s, s:s, s:i, s:i, s:o}}", "now", json_u64(now), "node", store_origin(s), "policy", "ref", "sha256:0", "verdict",
                         "allowed", "on_denied", "dormant", "depth", 4, "fanout", 64, "allows", allows);
}

static void fill_one(Txn *t, const Store *s, const json_t *intent, bool tell) {
        char id[REGION_ID_MAX], trace[REGION_ID_MAX];
        uint64_t seq, now = clock_real_usec();
        json_t *local = fill_local(s, now), *done = NULL;
        Diag d = {};

        if (object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .policy = "sha256:0", .now_usec = now}, id, &seq, &d) != 0)
                fail("create", d.text);
        if (region_id_new(now, trace) != 0 ||
            object_cycle(t, id, &(ObjectCycle){.local = local, .who = "uid:0", .trace = trace}, &done, &d) != 0)
                fail("cycle", d.text);
        if (!json_str(done, "action") || strcmp(json_str(done, "action"), "dormancy") != 0)
                fail(id, "the first cycle is no dormancy");
        if (tell)
                puts(id);
        json_decref(done);
        json_decref(local);
}

int main(int argc, char **argv) {
        unsigned long n = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0;
        const char *name = argc == 5 ? argv[4] : NULL;
        json_t *intent;
        Diag d = {};
        Store *s;
        Txn *t;

        if (n == 0 || (argc == 5) != (strcmp(argv[3], "event") == 0)) {
                fprintf(stderr, "usage: object-fill STORE N UNTIL | STORE N event NAME\n");
                return 2;
        }
        intent = fill_intent(argv[3], name);
        if (!intent || store_open(argv[1], STORE_WRITE, &s, &d) != 0)
                fail(argv[1], d.text);
        for (unsigned long i = 0; i < n;) {
                if (store_begin(s, true, &t, &d) != 0)
                        fail("store", d.text);
                for (unsigned long k = 0; k < BATCH && i < n; k++, i++)
                        fill_one(t, s, intent, name != NULL);
                if (store_commit(t, &d) != 0)
                        fail("store", d.text);
        }
        json_decref(intent);
        store_free(s);
        return 0;
}
