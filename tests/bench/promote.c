/* Runs: benchmarks. Governed writes: notes that are promoted, durable, one in a transaction and 64, beside LMDB transactions of exactly the same puts and
 * deletes in an environment of its own (what the promotion passed to LMDB is written down as it happens); and how fast the ledger folds again.
 *
 *   promote DIR ROUNDS [named|found]
 *
 * named: each note says which row it means; found: half of them resolve what another note called in other words, so that the resolver looks for it. */
#include "stats.h"

#include "belief/promote.h"
#include "engine/fold.h"

#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH 64
#define OPS_MAX 65536
#define BYTES_MAX (32 << 20)

/* What went to LMDB: a put, a delete, the end of a transaction. */
typedef struct LmdbOp {
        enum { PUT, DEL, END } what;
        MDB_dbi dbi;
        MDB_val key, value;
} LmdbOp;
static LmdbOp ops[OPS_MAX];
static size_t n_ops;
static char *bytes; /* of keys and values; there from the beginning, so that writing down costs what is measured a copy and nothing else */
static size_t n_bytes;
static bool recording;

int __real_mdb_put(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags);
int __real_mdb_del(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int __real_mdb_cursor_put(MDB_cursor *c, MDB_val *key, MDB_val *value, unsigned flags);
int __real_mdb_cursor_del(MDB_cursor *c, unsigned flags);
int __real_mdb_txn_commit(MDB_txn *t);
int __wrap_mdb_put(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags);
int __wrap_mdb_del(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value);
int __wrap_mdb_cursor_put(MDB_cursor *c, MDB_val *key, MDB_val *value, unsigned flags);
int __wrap_mdb_cursor_del(MDB_cursor *c, unsigned flags);
int __wrap_mdb_txn_commit(MDB_txn *t);

static MDB_val copy(const MDB_val *v) {
        char *to = bytes + n_bytes;

        if (v->mv_size > BYTES_MAX - n_bytes)
                abort();
        n_bytes += v->mv_size;
        return (MDB_val){v->mv_size, memcpy(to, v->mv_data, v->mv_size)};
}

static void note_op(LmdbOp op) {
        if (n_ops == OPS_MAX)
                abort();
        ops[n_ops++] = op;
}

int __wrap_mdb_put(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags) {
        if (recording)
                note_op((LmdbOp){.what = PUT, .dbi = dbi, .key = copy(key), .value = copy(value)});
        return __real_mdb_put(t, dbi, key, value, flags);
}

int __wrap_mdb_del(MDB_txn *t, MDB_dbi dbi, MDB_val *key, MDB_val *value) {
        if (recording)
                note_op((LmdbOp){.what = DEL, .dbi = dbi, .key = copy(key)});
        return __real_mdb_del(t, dbi, key, value);
}

int __wrap_mdb_cursor_put(MDB_cursor *c, MDB_val *key, MDB_val *value, unsigned flags) {
        if (recording)
                note_op((LmdbOp){.what = PUT, .dbi = mdb_cursor_dbi(c), .key = copy(key), .value = copy(value)});
        return __real_mdb_cursor_put(c, key, value, flags);
}

int __wrap_mdb_cursor_del(MDB_cursor *c, unsigned flags) {
        MDB_val key, value;

        if (recording && mdb_cursor_get(c, &key, &value, MDB_GET_CURRENT) == 0)
                note_op((LmdbOp){.what = DEL, .dbi = mdb_cursor_dbi(c), .key = copy(&key)});
        return __real_mdb_cursor_del(c, flags);
}

int __wrap_mdb_txn_commit(MDB_txn *t) {
        if (recording)
                note_op((LmdbOp){.what = END});
        return __real_mdb_txn_commit(t);
}

_noreturn_ static void fail(const char *what, const char *why) {
        fprintf(stderr, "promote: %s: %s\n", what, why);
        exit(1);
}

static void lmdb(int r, const char *what) {
        if (r != 0)
                fail(what, mdb_strerror(r));
}

static MDB_env *raw;
static MDB_dbi raw_dbi[64];

static void open_raw(const char *path) {
        MDB_txn *t;

        lmdb(mdb_env_create(&raw), "raw");
        mdb_env_set_maxdbs(raw, 40);
        mdb_env_set_mapsize(raw, (size_t)16 << 30);
        lmdb(mkdir(path, 0700) < 0, path);
        lmdb(mdb_env_open(raw, path, 0, 0600), path);
        lmdb(mdb_txn_begin(raw, NULL, 0, &t), "raw");
        for (unsigned i = 2; i < 40; i++) {
                char name[8];

                snprintf(name, sizeof name, "t%u", i);
                lmdb(mdb_dbi_open(t, name, MDB_CREATE, &raw_dbi[i]), name);
        }
        lmdb(mdb_txn_commit(t), "raw");
}

/* The same again: read transactions ended there, too, and do nothing here. Returns nanoseconds. */
static uint64_t replay(void) {
        uint64_t begun = bench_nsec();
        MDB_txn *t = NULL;

        for (size_t i = 0; i < n_ops; i++) {
                if (ops[i].what == END) {
                        if (t)
                                lmdb(__real_mdb_txn_commit(t), "raw commit");
                        t = NULL;
                        continue;
                }
                if (!t)
                        lmdb(mdb_txn_begin(raw, NULL, 0, &t), "raw");
                if (ops[i].what == PUT)
                        lmdb(__real_mdb_put(t, raw_dbi[ops[i].dbi], &ops[i].key, &ops[i].value, 0), "raw put");
                else
                        __real_mdb_del(t, raw_dbi[ops[i].dbi], &ops[i].key, NULL);
        }
        if (t)
                mdb_txn_abort(t);
        begun = bench_nsec() - begun;
        n_ops = n_bytes = 0;
        return begun;
}

static Store *store;
static uint64_t made;

static Txn *begin(bool writes) {
        Diag d = {};
        Txn *t;

        if (store_begin(store, writes, &t, &d) != 0)
                fail("store", d.text);
        return t;
}

static void end(Txn *t) {
        Diag d = {};

        if (store_commit(t, &d) != 0)
                fail("store", d.text);
}

/* BATCH notes of a run, in one commit that is in no sample. */
static void write_notes(const char *run, bool found) {
        static const char *const things[] = {"reader", "queue", "parser", "cache", "index", "loader", "timer", "socket"},
                                 *const ails[] = {"leaks memory", "drops frames", "hangs at start", "reports a wrong length"};
        Txn *t = begin(true);

        for (unsigned i = 0; i < BATCH; i++) {
                char text[256];
                uint64_t number;
                Diag d = {};

                if (found && i % 2)
                        snprintf(text, sizeof text, "The %s of part p%lu is fixed now.", things[made % 8], (unsigned long)made);
                else {
                        made++;
                        snprintf(text, sizeof text, "issue the_issue_%lu: the %s of part p%lu %s", (unsigned long)made, things[made % 8], (unsigned long)made,
                                 ails[made % 4]);
                }
                if (engine_note_add(t, run, NOTE_AGENT, text, strlen(text), NULL, &number, &d) != 0)
                        fail("note", d.text);
        }
        end(t);
}

static void measure(const char *run, unsigned rounds, unsigned batch, bool found) {
        size_t per = batch == 1 ? 16 : BATCH, n = 0;
        uint64_t *ours = calloc(rounds, sizeof *ours), *bare = calloc(rounds, sizeof *bare);
        char name[80];

        for (; n < rounds; n++) {
                Promoting p = {.run = run, .most = per, .batch = batch, .policy = &RESOLVE_POLICY_DEFAULT, .who = "uid:0"};
                Promoted sum;
                bool of_store;
                Diag d = {};

                write_notes(run, found);
                recording = true;
                ours[n] = bench_nsec();
                if (belief_promote(store, &p, &sum, &of_store, &d) != 0 || sum.notes != per)
                        fail("promote", d.text);
                ours[n] = bench_nsec() - ours[n];
                recording = false;
                if (sum.committed != per)
                        fail("promote", "not all were committed");
                bare[n] = replay();
                if (per < BATCH) { /* what is left would be the next round's */
                        p.most = BATCH - per;
                        p.batch = BATCH;
                        if (belief_promote(store, &p, &sum, &of_store, &d) != 0)
                                fail("promote", d.text);
                }
        }
        snprintf(name, sizeof name, "LMDB, the same puts, %u a commit", batch);
        bench_print(name, bare, n, per);
        snprintf(name, sizeof name, "promote, %s, %u a commit", found ? "found" : "named", batch);
        bench_print(name, ours, n, per);
        free(ours);
        free(bare);
}

int main(int argc, char **argv) {
        bool found = argc > 3 && strcmp(argv[3], "found") == 0;
        char path[4096], raw_path[4096];
        uint64_t fold;
        FoldResult f;
        Diag d = {};
        NoteRun run;
        Txn *t;

        if (argc < 3)
                return 2;
        bytes = malloc(BYTES_MAX);
        if (!bytes)
                return 1;
        memset(bytes, 1, BYTES_MAX);
        memset(ops, 1, sizeof ops);
        json_wipe_freed(); /* as `lethe` does */
        snprintf(path, sizeof path, "%s/store", argv[1]);
        snprintf(raw_path, sizeof raw_path, "%s/raw", argv[1]);
        if (mkdir(argv[1], 0700) < 0 || store_open(path, STORE_WRITE, &store, &d) != 0)
                fail(path, d.text);
        open_raw(raw_path);
        t = begin(true);
        if (engine_run_begin(t, "uid:0", NULL, NULL, "bench", NULL, &run, &d) != 0)
                fail("run", d.text);
        end(t);
        measure(run.id, (unsigned)atoi(argv[2]), 1, found);
        measure(run.id, (unsigned)atoi(argv[2]), BATCH, found);
        t = begin(false);
        if (engine_fold_compare(t, &f, &d) != 0 || f.how)
                fail("fold", f.how ? f.key : d.text);
        store_abort(t);
        fold = f.usec * 1000;
        bench_print("fold and compare, one event", &fold, 1, f.events);
        store_free(store);
        return 0;
}
