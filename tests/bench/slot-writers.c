/* Runs: benchmarks. Several writers at once, each slot write on the disk before its writer goes on: threads of one process through the group
 * commit (schema check, event, body, Merkle tree, signed checkpoint, projection), and the least that an application would do with SQLite
 * instead (an event row and the slot's row, WAL, synchronous=FULL): with a connection for each thread, and with one connection and a mutex,
 * which spares it the waiting for its lock. In turns in one process on one file system.
 *
 *   slot-writers DIR ROUNDS      (a round: a quarter of a second of each way with 1, 8 and 64 writers) */
#include "stats.h"

#include "base/hash.h"
#include "engine/engine.h"

#include <sqlite3.h>
#include <sys/stat.h>

#define WRITERS_MAX 64
#define TEXT "All reservations can be cancelled within 24 hours of booking, or if the airline cancelled the flight."

typedef struct Sql {
        sqlite3 *db;
        sqlite3_stmt *begin, *event, *slot, *commit;
} Sql;

typedef enum Way { WAY_LETHE, WAY_SQLITE_EACH, WAY_SQLITE_ONE, WAYS_ } Way;
static const char *const names[] = {"Lethe", "SQLite WAL FULL, a connection each", "SQLite WAL FULL, one connection"};
static const size_t writers[] = {1, 8, 64};
#define SIZES (sizeof writers / sizeof *writers)

typedef struct Writer {
        Way way;
        size_t n; /* writes so far */
        char slot[24];
        Sql sql; /* of its own */
} Writer;

static Store *store;
static Sql shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

_Noreturn static void fail(const char *what, const char *why) {
        fprintf(stderr, "slot-writers: %s: %s\n", what, why);
        exit(1);
}

static void lethe_open(const char *dir) {
        Diag d = {};
        Txn *t;
        json_t *schema = json_pack("{s:s,s:{s:{s:s},s:{s:s,s:i}},s:[s,s]}", "type", "object", "properties", "number", "type", "integer",
                                   "sentence", "type", "string", "maxLength", 1000, "required", "number", "sentence");

        if (store_open(dir, STORE_SUPERVISE, &store, &d) != 0 || store_begin(store, true, &t, &d) != 0)
                fail("lethe", d.text);
        for (int i = 0; i < WRITERS_MAX; i++) {
                char slot[24];
                uint64_t seq;

                snprintf(slot, sizeof slot, "bench.w%d", i);
                if (engine_slot_define(t, "uid:0", NULL, slot, schema, &seq, &d) != 0)
                        fail("lethe", d.text);
        }
        if (store_commit(t, &d) != 0)
                fail("lethe", d.text);
        json_decref(schema);
}

static void lethe_write(Writer *w) {
        json_t *value = json_pack("{s:i,s:s}", "number", (int)w->n, "sentence", TEXT);
        uint64_t seq, version;
        Diag d = {};
        Txn *t;

        if (store_begin(store, true, &t, &d) != 0 || engine_slot_put(t, "uid:0", w->slot, value, -1, &seq, &version, &d) != 0 ||
            store_commit(t, &d) != 0)
                fail("lethe", d.text);
        json_decref(value);
}

static void sql(Sql *s, const char *text) {
        if (sqlite3_exec(s->db, text, NULL, NULL, NULL) != SQLITE_OK)
                fail("sqlite", sqlite3_errmsg(s->db));
}

static void prepare(Sql *s, const char *text, sqlite3_stmt **ret) {
        if (sqlite3_prepare_v2(s->db, text, -1, ret, NULL) != SQLITE_OK)
                fail("sqlite", sqlite3_errmsg(s->db));
}

static void sqlite_open(const char *path, Sql *s) {
        if (sqlite3_open(path, &s->db) != SQLITE_OK)
                fail("sqlite", sqlite3_errmsg(s->db));
        sqlite3_busy_timeout(s->db, 60000);
        sql(s, "PRAGMA journal_mode=WAL");
        sql(s, "PRAGMA synchronous=FULL");
        sql(s, "CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, entry TEXT NOT NULL)");
        sql(s, "CREATE TABLE IF NOT EXISTS slot (name TEXT PRIMARY KEY, version INTEGER NOT NULL, value TEXT NOT NULL) WITHOUT ROWID");
        prepare(s, "BEGIN IMMEDIATE", &s->begin);
        prepare(s, "INSERT INTO event (entry) VALUES (?1)", &s->event);
        prepare(s, "INSERT INTO slot VALUES (?2, 1, ?1) ON CONFLICT (name) DO UPDATE SET version = version + 1, value = excluded.value", &s->slot);
        prepare(s, "COMMIT", &s->commit);
}

static void sqlite_close(Sql *s) {
        sqlite3_finalize(s->begin);
        sqlite3_finalize(s->event);
        sqlite3_finalize(s->slot);
        sqlite3_finalize(s->commit);
        sqlite3_close(s->db);
}

static void step(Sql *s, sqlite3_stmt *statement, const char *text, const char *name) {
        if (text)
                sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT);
        if (name)
                sqlite3_bind_text(statement, 2, name, -1, SQLITE_TRANSIENT);
        if (sqlite3_step(statement) != SQLITE_DONE)
                fail("sqlite", sqlite3_errmsg(s->db));
        sqlite3_reset(statement);
}

static void sqlite_write(Sql *s, const Writer *w) {
        char value[256], entry[512];

        snprintf(value, sizeof value, "{\"number\":%zu,\"sentence\":\"%s\"}", w->n, TEXT);
        snprintf(entry, sizeof entry, "{\"slot\":\"%s\",\"type\":\"slot.written\",\"value\":%s}", w->slot, value);
        step(s, s->begin, NULL, NULL);
        step(s, s->event, entry, NULL);
        step(s, s->slot, value, w->slot);
        step(s, s->commit, NULL, NULL);
}

static void write_slot(void *arg) {
        Writer *w = arg;

        if (w->way == WAY_LETHE)
                lethe_write(w);
        else if (w->way == WAY_SQLITE_EACH)
                sqlite_write(&w->sql, w);
        else {
                pthread_mutex_lock(&mutex);
                sqlite_write(&shared, w);
                pthread_mutex_unlock(&mutex);
        }
        w->n++;
}

int main(int argc, char **argv) {
        size_t rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
        static Writer w[WAYS_][SIZES][WRITERS_MAX];
        static BenchThread threads[WAYS_][SIZES][WRITERS_MAX];
        uint64_t took[WAYS_][SIZES] = {0};
        char path[4096];

        if (rounds == 0) {
                fprintf(stderr, "usage: slot-writers DIR ROUNDS\n");
                return 2;
        }
        hash_many(); /* as the daemon does */
        if (mkdir(argv[1], 0700) < 0)
                fail(argv[1], "cannot be made (a new folder is needed)");
        snprintf(path, sizeof path, "%s/store", argv[1]);
        lethe_open(path);
        snprintf(path, sizeof path, "%s/one.db", argv[1]);
        sqlite_open(path, &shared);
        snprintf(path, sizeof path, "%s/each.db", argv[1]);
        for (Way way = 0; way < WAYS_; way++)
                for (size_t size = 0; size < SIZES; size++)
                        for (size_t i = 0; i < writers[size]; i++) {
                                w[way][size][i] = (Writer){.way = way};
                                threads[way][size][i] = (BenchThread){.step = write_slot, .arg = &w[way][size][i]};
                                snprintf(w[way][size][i].slot, sizeof w[way][size][i].slot, "bench.w%zu", i % WRITERS_MAX);
                                if (way == WAY_SQLITE_EACH)
                                        sqlite_open(path, &w[way][size][i].sql);
                        }
        for (size_t round = 0; round < rounds; round++)
                for (size_t size = 0; size < SIZES; size++)
                        for (Way way = 0; way < WAYS_; way++)
                                took[way][size] += bench_window(threads[way][size], writers[size]);
        for (size_t size = 0; size < SIZES; size++)
                for (Way way = 0; way < WAYS_; way++) {
                        bench_print_threads(names[way], "writer", threads[way][size], writers[size], took[way][size]);
                        for (size_t i = 0; way == WAY_SQLITE_EACH && i < writers[size]; i++)
                                sqlite_close(&w[way][size][i].sql);
                }
        sqlite_close(&shared);
        store_free(store);
        return 0;
}
