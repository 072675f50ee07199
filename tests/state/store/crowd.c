/* Runs: tests. Many threads on one store, each living the lives of regions: allocated, slots read and proposed, events, refusals, ended; slots
 * put and put back by operators, lists and reads in between, transactions begun and left. What was acknowledged must be there when
 * the store is opened anew, and the audit must find the ledger whole. Without Criterion, which cannot run under ThreadSanitizer.
 *
 *   crowd THREADS ROUNDS [LEFT]     (in $TMPDIR, which is empty; LEFT: of store_keep_ahead()) */
#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"
#include "record/rows.h"
#include "engine/skill.h"
#include "ledger/ledger.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct Worker {
        Store *store;
        unsigned index, rounds;
        char own[24]; /* a slot that nobody else writes */
        uint64_t acknowledged;
} Worker;

static void must(int r, const Diag *d, const char *what) {
        if (r == 0)
                return;
        fprintf(stderr, "crowd: %s: %d %s\n", what, r, d->text);
        exit(1);
}

static Txn *begin(Store *s, bool write) {
        Diag d = {};
        Txn *t;

        must(store_begin(s, write, &t, &d), &d, "begin");
        return t;
}

static void commit(Txn *t) {
        Diag d = {};

        must(store_commit(t, &d), &d, "commit");
}

/* By who is in a hurry. */
static void commit_ahead(Txn *t) {
        Diag d = {};
        Txn *rest;

        must(store_commit_ahead(t, &rest, &d), &d, "commit ahead");
        store_commit_rest(rest);
}

static uint64_t put(Worker *w, bool keep) {
        _cleanup_json_ json_t *v = json_pack("{s:i}", "thread", (int)w->index);
        Txn *t = begin(w->store, true);
        uint64_t seq, version;
        Diag d = {};

        must(engine_slot_put(t, "uid:0", w->own, v, -1, &seq, &version, &d), &d, "put");
        if (keep)
                commit(t);
        else
                store_abort(t);
        return version;
}

static void refused(Worker *w) {
        _cleanup_json_ json_t *v = json_string("not an object");
        Txn *t = begin(w->store, true);
        uint64_t seq, version;
        Diag d = {};

        if (engine_slot_put(t, "uid:0", w->own, v, -1, &seq, &version, &d) != ENGINE_E_SCHEMA)
                must(1, &d, "a value against the schema was taken");
        commit(t);
}

static void sees(Worker *w, const char *id, bool alive) {
        Txn *t = begin(w->store, false);
        RegionRow row = {};
        int r = engine_region_get(t, id, &row);

        must(r != (alive ? 0 : ENGINE_E_NO_REGION), &(Diag){}, alive ? "a region that was told of is not seen" : "a region that is over is seen");
        region_row_deinit(&row);
        store_abort(t);
}

static void invocation(Worker *w, unsigned round) {
        _cleanup_json_ json_t *ended = json_pack("{s:s}", "outcome", "exited"), *fields = json_pack("{s:i}", "round", (int)round), *copies = NULL,
                              *value = json_pack("{s:i}", "round", (int)round);
        const char *const reads[] = {"crowd", w->own, NULL}, *const writes[] = {w->own, NULL};
        char id[REGION_ID_MAX];
        uint64_t seq, version;
        Diag d = {};
        Txn *t;
        RegionStart s = {.region = id, .skill_name = "crowd", .skill_digest = "sha256:0", .tier = "namespaces", .reads = reads, .writes = writes,
                         .lineage = round % 2 ? "stats" : "handles", .grant = fields};

        must(region_id_new(clock_real_usec(), id), &d, "id");
        t = begin(w->store, true);
        must(engine_region_start(t, &s, &seq, &copies, &d), &d, "start");
        (w->index % 3 ? commit_ahead : commit)(t);
        sees(w, id, true);
        t = begin(w->store, true);
        must(engine_event(t, id, "handle.issued", fields, &seq), &d, "event");
        must(engine_slot_propose(t, &(SlotProposal){.region = id, .name = w->own, .value = value, .expect = -1}, &seq, &version, NULL, &d), &d, "propose");
        commit(t);
        t = begin(w->store, true);
        if (engine_slot_propose(t, &(SlotProposal){.region = id, .name = "crowd", .value = value, .expect = -1}, &seq, &version, NULL, &d) != ENGINE_E_NOT_GRANTED)
                must(1, &d, "a slot that is not granted was taken");
        commit(t);
        t = begin(w->store, true);
        must(engine_region_end(t, &(RegionEnd){id, true, fields, ended}, NULL, NULL, &d), &d, "end");
        if (round % 3 == 0) { /* once more, because it was left */
                store_abort(t);
                t = begin(w->store, true);
                must(engine_region_end(t, &(RegionEnd){id, true, fields, ended}, NULL, NULL, &d), &d, "end");
        }
        (round % 2 ? commit_ahead : commit)(t);
        sees(w, id, false);
        w->acknowledged = version;
}

static void look(Worker *w) {
        Txn *t = begin(w->store, false);
        RegionRow *rows = NULL;
        uint64_t size;
        size_t n = 0;
        Diag d = {};
        SlotRow row;

        must(ledger_state(t, &size, NULL), &d, "size");
        must(engine_region_list(t, &rows, &n), &d, "list");
        must(slot_row_get(t, w->own, &row), &d, "slot");
        if (row.version < w->acknowledged)
                must(1, &d, "an acknowledged version is not seen");
        for (size_t i = 0; i < n; i++)
                region_row_deinit(&rows[i]);
        free(rows);
        store_abort(t);
}

static void *work(void *arg) {
        Worker *w = arg;

        for (unsigned i = 0; i < w->rounds; i++) {
                w->acknowledged = put(w, true);
                look(w);
                invocation(w, i);
                put(w, false);
                refused(w);
        }
        return NULL;
}

static void define(Store *s, const char *slot) {
        _cleanup_json_ json_t *schema = json_pack("{s:s}", "type", "object");
        Txn *t = begin(s, true);
        Diag d = {};

        must(engine_slot_define(t, "uid:0", NULL, slot, schema, NULL, &d), &d, "define");
        commit(t);
}

static void check(const char *dir, const Worker *w, unsigned n) {
        _cleanup_store_ Store *s = NULL;
        AuditReport a;
        Diag d = {};

        must(store_open(dir, STORE_READ, &s, &d), &d, "open anew");
        must(audit_run(s, &a), &(Diag){}, a.what);
        for (unsigned i = 0; i < n; i++) {
                Txn *t = begin(s, false);
                SlotRow row;

                must(slot_row_get(t, w[i].own, &row), &d, "slot");
                must(row.version != 2 * w[i].rounds || row.version != w[i].acknowledged, &d, "an acknowledged version is lost");
                store_abort(t);
        }
}

int main(int argc, char **argv) {
        unsigned n = argc >= 3 ? (unsigned)atoi(argv[1]) : 0;
        char dir[PATH_MAX], anchor[PATH_MAX];
        _cleanup_free_ pthread_t *threads = calloc(n, sizeof(*threads));
        _cleanup_free_ Worker *w = calloc(n, sizeof(*w));
        Diag d = {};
        Store *s;

        if (n == 0 || !threads || !w || !getenv("TMPDIR"))
                return 2;
        snprintf(dir, sizeof(dir), "%.4000s/store", getenv("TMPDIR"));
        snprintf(anchor, sizeof(anchor), "%.4000s/anchor", getenv("TMPDIR"));
        setenv("LETHE_ANCHOR", anchor, 1);
        must(store_open(dir, STORE_SUPERVISE, &s, &d), &d, "open");
        store_keep_ahead(s, argc > 3 ? (unsigned)atoi(argv[3]) : 0);
        define(s, "crowd");
        for (unsigned i = 0; i < n; i++) {
                w[i] = (Worker){.store = s, .index = i, .rounds = (unsigned)atoi(argv[2])};
                snprintf(w[i].own, sizeof(w[i].own), "crowd/t%u", i);
                define(s, w[i].own);
        }
        for (unsigned i = 0; i < n; i++)
                must(pthread_create(&threads[i], NULL, work, &w[i]), &d, "thread");
        for (unsigned i = 0; i < n; i++)
                pthread_join(threads[i], NULL);
        store_free(s);
        check(dir, w, n);
        return 0;
}
