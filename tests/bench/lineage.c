/* Runs: benchmarks. `lethe audit touched` and `derived` over a large store: regions that each read a slot and some records, and write a slot and a record; a
 * part of them at lineage stats. Prints how long the answers take and what they came to.
 *
 *   lineage DIR EVENTS ROUNDS */
#include "stats.h"

#include "audit/flow.h"
#include "engine/mutate.h"
#include "ledger/ledger.h"
#include "store/hooks.h"

#include <inttypes.h>
#include <string.h>

#define SLOTS 97
#define BATCH 64

/* As large as those of real regions. */
static const char grant_text[] =
        "{\"arguments\":1,\"budgets\":{\"cpu_usec\":30000000,\"file_size_bytes\":67108864,\"memory_bytes\":134217728,\"open_files\":256,\"output_bytes\":16777216,"
        "\"processes\":64,\"scratch_bytes\":67108864,\"wall_usec\":30000000},\"cancel_bound_usec\":250000,\"canon\":\"default\",\"discipline\":\"zero\",\"files\":[],"
        "\"gates\":[],\"key_scope\":\"invocation\",\"lineage\":\"%s\",\"max_of_skill\":0,\"max_regions\":1000,\"memory\":[{\"read\":[\"memory_substrate\"],"
        "\"scope\":\"default\",\"write\":[\"memory_substrate\"]}],\"min_tier\":\"namespaces\",\"network\":{\"connect\":[],\"mode\":\"none\"},\"notes\":\"default\","
        "\"on_denial\":\"continue\",\"passes\":1,\"proc\":false,\"program\":\"python3\",\"reads\":[\"slot\"],\"reductions\":[],\"release\":[],\"report\":\"paths\","
        "\"resources\":[],\"sections\":[],\"skill\":{\"digest\":\"sha256:5c4d3a0986b915327add4f27d4fa9dde235c05e66a2ce9488b9eddc80660981c\",\"folder\":\"/srv/skills/a\","
        "\"name\":\"a\"},\"slots\":[],\"sub_skills\":[],\"tier\":null,\"workdir\":\"/work\",\"writes\":[\"slot\"]}";
static const char released_text[] =
        "{\"denials\":0,\"teardown\":{\"bytes_held\":5242880,\"bytes_missed\":{},\"bytes_overwritten\":5242880,\"bytes_verified\":5242880,\"callbacks\":[],\"discipline\":"
        "\"zero\",\"grade\":\"cleared\",\"handles_unbound\":0,\"not_covered\":[\"freed_memory\",\"freed_files\",\"pipe_buffers\",\"socket_buffers\",\"file_names\","
        "\"kernel_stacks\",\"kernel_objects\",\"caller_request\"],\"passes\":1,\"sections\":{\"bytes_held\":4096,\"bytes_overwritten\":4096,\"bytes_verified\":4096,"
        "\"resident\":true},\"usec\":1234},\"usage\":{\"cpu_usec\":30123,\"output_bytes\":100,\"peak_memory_bytes\":8388608,\"processes\":2,\"scratch_bytes\":0,"
        "\"wall_usec\":40123}}";

static void must(int r, const char *what, const Diag *d) {
        if (r == 0)
                return;
        fprintf(stderr, "lineage: %s: %d %s\n", what, r, d->text);
        exit(1);
}

/* The life of a region: seven entries, or less at lineage stats. */
static void live(Txn *t, unsigned i, json_t *value, Diag *d) {
        const bool stats = i % 50 == 7;
        json_t *released = json_loads(released_text, 0, NULL), *ended = json_pack("{s:s, s:i}", "outcome", "exited", "exit_code", 0), *grant, *read,
               *payload = json_pack("{s:s, s:s, s:s}", "subject", "a", "predicate", "b", "object", "c");
        char id[REGION_ID_MAX], from[32], to[32], record[32], text[sizeof(grant_text) + 16];
        const char *reads[] = {from, NULL}, *writes[] = {to, NULL};
        uint64_t seq, version;
        Mutated done;

        snprintf(id, sizeof(id), "%026u", i);
        snprintf(from, sizeof(from), "s%u", (i + SLOTS - 1) % SLOTS);
        snprintf(to, sizeof(to), "s%u", i % SLOTS);
        snprintf(record, sizeof(record), "r%u", i % 1000);
        snprintf(text, sizeof(text), grant_text, stats ? "stats" : "events");
        grant = json_loads(text, 0, NULL);
        must(engine_region_start(t,
                                 &(RegionStart){.region = id, .skill_name = "a", .skill_digest = "sha256:0", .tier = "namespaces", .grant = grant, .reads = reads, .writes = writes,
                                                .lineage = stats ? "stats" : "events"},
                                 NULL, NULL, d),
             "start", d);
        must(engine_slot_propose(t, &(SlotProposal){.region = id, .name = to, .value = value, .expect = -1}, &seq, &version, NULL, d), "propose", d);
        snprintf(from, sizeof(from), "r%u", (i + 999) % 1000);
        read = json_pack("{s:i, s:i, s:{s:{s:{s:[i], s:[i]}}}}", "count", 2, "records", 2, "read", "default", "memory_substrate", record, (int)(i / 1000), from,
                         (int)((i + 999) / 1000));
        must(engine_event(t, id, "memory.read", read, NULL), "read", d);
        must(engine_mutate(t,
                           &(Mutation){.kind = KIND_MEMORY, .op = OP_SAVE, .id = record, .type = i < 1000 ? "semantic" : NULL, .payload = payload, .expect = MUTATION_ANY,
                                       .region = id, .one_of_many = true},
                           &done, d),
             "save", d);
        must(engine_region_end(t, &(RegionEnd){id, true, released, ended}, NULL, NULL, d), "end", d);
        json_decref(grant);
        json_decref(read);
        json_decref(payload);
        json_decref(released);
        json_decref(ended);
}

static void fill(Store *s, uint64_t most) {
        json_t *schema = json_object(), *value = json_integer(1);
        uint64_t n = 0, seq, version;
        Txn *t = NULL;
        Diag d = {0};

        must(store_begin(s, true, &t, &d), "begin", &d);
        for (unsigned i = 0; i < SLOTS; i++) {
                char name[32];

                snprintf(name, sizeof(name), "s%u", i);
                must(engine_slot_define(t, "uid:0", NULL, name, schema, &seq, &d), "define", &d);
                must(engine_slot_put(t, "uid:0", name, value, -1, &seq, &version, &d), "put", &d);
        }
        must(store_commit(t, &d), "commit", &d);
        for (unsigned i = 0; n < most;) {
                must(store_begin(s, true, &t, &d), "begin", &d);
                for (unsigned k = 0; k < BATCH; k++)
                        live(t, i++, value, &d);
                must(ledger_state(t, &n, NULL), "state", &d);
                must(store_commit(t, &d), "commit", &d);
        }
        json_decref(schema);
        json_decref(value);
}

static int count(void *userdata, const FlowNode *region, const char *value, const char *why) {
        (void)region;
        (void)value;
        (void)why;
        ++*(size_t *)userdata;
        return 0;
}

/* Of this thread alone: others may have the processor meanwhile. */
static uint64_t cpu_nsec(void) {
        struct timespec t;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A question as a command answers it. Returns its processor time. */
static uint64_t ask(Store *s, const char *what, bool derived, size_t *ret_found, size_t *ret_unknown, uint64_t *ret_entries) {
        uint64_t began = cpu_nsec();
        FlowNode **found = NULL;
        FlowAsked asked;
        Flow f = {0};
        Txn *t = NULL;
        Diag d = {0};

        *ret_found = *ret_unknown = 0;
        must(store_begin(s, false, &t, &d), "begin", &d);
        must(flow_read(t, &f, &d), "read", &d);
        must(flow_ask(&f, what, NULL, derived, &asked, &d), "ask", &d);
        if (derived)
                must(flow_follow(&asked, &found, ret_found), "follow", &d);
        else
                flow_mark(&asked);
        for (const FlowNode *n = derived ? NULL : asked.first; n; n = n->next)
                for (const FlowEdge *e = n->reached ? n->out : NULL; e; e = e->next_out)
                        ++*ret_found;
        must(flow_unknown(&f, &asked, count, ret_unknown), "unknown", &d);
        *ret_entries = f.entries;
        free(found);
        flow_deinit(&f);
        store_abort(t);
        return cpu_nsec() - began;
}

int main(int argc, char **argv) {
        static const struct {
                const char *name, *what;
                bool derived;
        } rows[] = {{"touched, version 3 of a slot", "slot/s5@3", false},
                    {"touched, a record", "memory_substrate/r5", false},
                    {"derived, an early slot: all after it", "slot/s0@2", true},
                    {"derived, a late record", "memory_substrate/r5@9", true}};
        unsigned rounds = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
        uint64_t *took = calloc(rounds + 1, sizeof(*took)), entries = 0;
        Store *s = NULL;
        Diag d = {0};

        if (rounds == 0 || !took)
                return 2;
        must(store_open(argv[1], STORE_SUPERVISE, &s, &d), "open", &d);
        fill(s, (uint64_t)atoll(argv[2]));
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                size_t found = 0, unknown = 0;

                for (unsigned k = 0; k < rounds; k++)
                        took[k] = ask(s, rows[i].what, rows[i].derived, &found, &unknown, &entries);
                bench_print(rows[i].name, took, rounds, 1);
                printf("{\"name\":\"%s\",\"entries\":%" PRIu64 ",\"found\":%zu,\"unknown\":%zu}\n", rows[i].name, entries, found, unknown);
        }
        store_free(s);
        free(took);
        return 0;
}
