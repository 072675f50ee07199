/* Runs: tests. fill STORE N: makes a store whose ledger has exactly N entries: slots written by an operator and by
 * regions. */
#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"
#include "ledger/ledger.h"

#include <stdio.h>
#include <stdlib.h>

#define BATCH 500

static int must(int r, const Diag *d, const char *what) {
        if (r != 0) {
                fprintf(stderr, "fill: %s: %d %s\n", what, r, d->text);
                exit(1);
        }
        return 0;
}

/* A whole invocation with one write: five entries. */
static void invocation(Txn *t, const json_t *value, Diag *d) {
        _cleanup_json_ json_t *ended = json_pack("{s:s}", "outcome", "exited"), *none = json_object();
        char id[REGION_ID_MAX];
        uint64_t seq, version;
        RegionStart s = {.region = id,
                         .skill_name = "fill",
                         .skill_digest = "sha256:0",
                         .tier = "namespaces",
                         .writes = (const char *[]){"fill/region", NULL}};

        must(region_id_new(clock_real_usec(), id), d, "id");
        must(engine_region_start(t, &s, &seq, NULL, d), d, "start");
        must(engine_slot_propose(t, &(SlotProposal){.region = id, .name = "fill/region", .value = value, .expect = -1}, &seq, &version, NULL, d), d, "propose");
        must(engine_region_end(t, &(RegionEnd){id, true, none, ended}, NULL, NULL, d), d, "end");
}

int main(int argc, char **argv) {
        _cleanup_store_ Store *s = NULL;
        _cleanup_json_ json_t *schema = json_pack("{s:s}", "type", "object");
        uint64_t n = argc == 3 ? strtoull(argv[2], NULL, 10) : 0, size = 0, seq, version;
        Diag d = {0};
        Txn *t;

        if (n < 3)
                return 2;
        must(store_open(argv[1], STORE_SUPERVISE, &s, &d), &d, "open");
        must(store_begin(s, true, &t, &d), &d, "begin");
        must(engine_slot_define(t, "uid:0", NULL, "fill/operator", schema, &seq, &d), &d, "define");
        must(engine_slot_define(t, "uid:0", NULL, "fill/region", schema, &seq, &d), &d, "define");
        must(store_commit(t, &d), &d, "commit");
        for (size = 3; size < n;) {
                must(store_begin(s, true, &t, &d), &d, "begin");
                for (int i = 0; i < BATCH && size < n; i++) {
                        _cleanup_json_ json_t *value = json_pack("{s:I, s:s}", "entry", (json_int_t)size, "text",
                                                                 "what is written down survives");

                        if (n - size >= 5) {
                                invocation(t, value, &d);
                                size += 5;
                        } else {
                                must(engine_slot_put(t, "uid:0", "fill/operator", value, -1, &seq, &version, &d), &d,
                                     "put");
                                size++;
                        }
                }
                must(store_commit(t, &d), &d, "commit");
        }
        return 0;
}
