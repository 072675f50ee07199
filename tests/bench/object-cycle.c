/* Runs: benchmarks. One cycle of an object without a skill beside one slot write, each with its durable commit, in turns in one process on one file system.
 * Both go through the engine: event, body, Merkle tree, signed checkpoint, projection. A cycle also reads the object's memory, selects, and signs its entries.
 *
 *   object-cycle DIR ROUNDS [slot|cycle]      (with a name: that way alone, for strace)
 *
 * A cycle is either a dormancy (one entry) or a reentry with its evaluation (two entries), in turns; both are samples of one row. */
#include "object-bench.h"

#include "engine/engine.h"

#define TEXT "All reservations can be cancelled within 24 hours of booking, or if the airline cancelled the flight."

static Store *store;
static BenchObject object;

static void prepare(const char *dir) {
        json_t *schema = json_pack("{s:s,s:{s:{s:s},s:{s:s,s:i}},s:[s,s]}", "type", "object", "properties", "number", "type", "integer", "sentence", "type",
                                   "string", "maxLength", 1000, "required", "number", "sentence");
        uint64_t seq;
        Diag d = {};
        Txn *t;

        if (store_open(dir, STORE_WRITE, &store, &d) != 0)
                bench_fail(dir, d.text);
        t = bench_begin(store);
        if (engine_slot_define(t, "uid:0", NULL, "bench.slot", schema, &seq, &d) != 0)
                bench_fail("slot", d.text);
        bench_object(t, &object);
        bench_commit(t);
        bench_cycle(store, &object); /* the first: from instantiated to dormant */
        json_decref(schema);
}

static void slot_write(int number) {
        json_t *value = json_pack("{s:i,s:s}", "number", number, "sentence", TEXT);
        uint64_t seq, version;
        Diag d = {};
        Txn *t = bench_begin(store);

        if (engine_slot_put(t, "uid:0", "bench.slot", value, -1, &seq, &version, &d) != 0)
                bench_fail("slot", d.text);
        bench_commit(t);
        json_decref(value);
}

int main(int argc, char **argv) {
        size_t rounds = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;
        const char *only = argc == 4 ? argv[3] : NULL;
        uint64_t *took[2] = {calloc(rounds + 1, sizeof(uint64_t)), calloc(rounds + 1, sizeof(uint64_t))};

        if (argc < 3 || !took[0] || !took[1] || (only && strcmp(only, "slot") != 0 && strcmp(only, "cycle") != 0)) {
                fprintf(stderr, "usage: object-cycle DIR ROUNDS [slot|cycle]\n");
                return 2;
        }
        prepare(argv[1]);
        for (size_t i = 0; i < rounds; i++)
                for (unsigned way = 0; way < 2; way++) {
                        if (only && strcmp(only, way == 0 ? "slot" : "cycle") != 0)
                                continue;
                        took[way][i] = bench_nsec();
                        if (way == 0)
                                slot_write((int)i);
                        else
                                bench_cycle(store, &object);
                        took[way][i] = bench_nsec() - took[way][i];
                }
        if (rounds > 0 && !only) {
                bench_print("a slot write", took[0], rounds, 1);
                bench_print("a cycle without a skill", took[1], rounds, 1);
        }
        free(took[0]);
        free(took[1]);
        store_free(store);
        return 0;
}
