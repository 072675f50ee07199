/* Runs: benchmarks. Slot writes that are on the disk before they are answered: through the engine (schema check, event, body, Merkle
 * tree, signed checkpoint, projection, one fsync), and the least that an application would do with SQLite instead (an event
 * row and the slot's row, WAL, synchronous=FULL), in turns in one process on one file system.
 *
 *   slot-durable DIR ROUNDS */
#include "stats.h"

#include "engine/engine.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH 64
#define TEXT "All reservations can be cancelled within 24 hours of booking, or if the airline cancelled the flight."

static Store *store;
static sqlite3 *db;
static sqlite3_stmt *insert_event, *upsert_slot;

_noreturn_ static void fail(const char *what, const char *why) {
        fprintf(stderr, "slot-durable: %s: %s\n", what, why);
        exit(1);
}

static void lethe_open(const char *dir) {
        Diag d = {};
        Txn *t;
        uint64_t seq;
        json_t *schema = json_pack("{s:s,s:{s:{s:s},s:{s:s,s:i}},s:[s,s]}", "type", "object", "properties", "number", "type", "integer",
                                   "sentence", "type", "string", "maxLength", 1000, "required", "number", "sentence");

        if (store_open(dir, STORE_WRITE, &store, &d) != 0 || store_begin(store, true, &t, &d) != 0 ||
            engine_slot_define(t, "uid:0", NULL, "bench.slot", schema, &seq, &d) != 0 || store_commit(t, &d) != 0)
                fail("lethe", d.text);
        json_decref(schema);
}

static void lethe_write(size_t n) {
        static int number;
        Diag d = {};
        Txn *t;

        if (store_begin(store, true, &t, &d) != 0)
                fail("lethe", d.text);
        for (size_t i = 0; i < n; i++) {
                json_t *value = json_pack("{s:i,s:s}", "number", number++, "sentence", TEXT);
                uint64_t seq, version;
                if (engine_slot_put(t, "uid:0", "bench.slot", value, -1, &seq, &version, &d) != 0)
                        fail("lethe", d.text);
                json_decref(value);
        }
        if (store_commit(t, &d) != 0)
                fail("lethe", d.text);
}

static void sql(const char *text) {
        if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
                fail("sqlite", sqlite3_errmsg(db));
}

static void sqlite_open(const char *path) {
        if (sqlite3_open(path, &db) != SQLITE_OK)
                fail("sqlite", sqlite3_errmsg(db));
        sql("PRAGMA journal_mode=WAL");
        sql("PRAGMA synchronous=FULL");
        sql("CREATE TABLE event (seq INTEGER PRIMARY KEY, entry TEXT NOT NULL)");
        sql("CREATE TABLE slot (name TEXT PRIMARY KEY, version INTEGER NOT NULL, value TEXT NOT NULL) WITHOUT ROWID");
        if (sqlite3_prepare_v2(db, "INSERT INTO event (entry) VALUES (?1)", -1, &insert_event, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(db, "INSERT INTO slot VALUES ('bench.slot', 1, ?1) ON CONFLICT (name) DO UPDATE SET version = version + 1,"
                                   " value = excluded.value", -1, &upsert_slot, NULL) != SQLITE_OK)
                fail("sqlite", sqlite3_errmsg(db));
}

static void step(sqlite3_stmt *s, const char *text) {
        sqlite3_bind_text(s, 1, text, -1, SQLITE_TRANSIENT);
        if (sqlite3_step(s) != SQLITE_DONE)
                fail("sqlite", sqlite3_errmsg(db));
        sqlite3_reset(s);
}

static void sqlite_write(size_t n) {
        static int number;
        char value[256], entry[512];

        sql("BEGIN IMMEDIATE");
        for (size_t i = 0; i < n; i++) {
                snprintf(value, sizeof value, "{\"number\":%d,\"sentence\":\"%s\"}", number++, TEXT);
                snprintf(entry, sizeof entry, "{\"slot\":\"bench.slot\",\"type\":\"slot.written\",\"value\":%s}", value);
                step(insert_event, entry);
                step(upsert_slot, value);
        }
        sql("COMMIT");
}

static uint64_t timed(void (*write_slots)(size_t), size_t n) {
        uint64_t begun = bench_nsec();
        write_slots(n);
        return bench_nsec() - begun;
}

int main(int argc, char **argv) {
        size_t rounds = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, batches = rounds / 10 + 1;
        uint64_t *one[2], *many[2];
        char path[4096];

        if (rounds == 0) {
                fprintf(stderr, "usage: slot-durable DIR ROUNDS\n");
                return 2;
        }
        if (mkdir(argv[1], 0700) < 0)
                fail(argv[1], "cannot be made (a new folder is needed)");
        for (size_t i = 0; i < 2; i++) {
                one[i] = calloc(rounds, sizeof(uint64_t));
                many[i] = calloc(batches, sizeof(uint64_t));
        }
        snprintf(path, sizeof path, "%s/store", argv[1]);
        lethe_open(path);
        snprintf(path, sizeof path, "%s/sqlite.db", argv[1]);
        sqlite_open(path);

        for (size_t i = 0; i < rounds; i++) {
                one[0][i] = timed(lethe_write, 1);
                one[1][i] = timed(sqlite_write, 1);
        }
        for (size_t i = 0; i < batches; i++) {
                many[0][i] = timed(lethe_write, BATCH);
                many[1][i] = timed(sqlite_write, BATCH);
        }
        bench_print("Lethe, one slot a commit", one[0], rounds, 1);
        bench_print("SQLite WAL FULL, one slot a commit", one[1], rounds, 1);
        bench_print("Lethe, 64 slots a commit", many[0], batches, BATCH);
        bench_print("SQLite WAL FULL, 64 slots a commit", many[1], batches, BATCH);
        for (size_t i = 0; i < 2; i++) {
                free(one[i]);
                free(many[i]);
        }
        sqlite3_finalize(insert_event);
        sqlite3_finalize(upsert_slot);
        sqlite3_close(db);
        store_free(store);
        return 0;
}
