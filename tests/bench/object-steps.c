/* Runs: benchmarks. Several clients at once, each step on the disk before its client goes on: cycles of objects through the group commit, each client with an
 * object of its own, and what a step takes where PostgreSQL keeps the state of workflows: a row inserted when it begins and updated with its result when it
 * ends. Two ways there: both statements in one transaction, which is the least, and each in its own, because the work is between them. In turns, in one
 * process, on one file system.
 *
 *   object-steps DIR ROUNDS CLIENTS [SOCKET-FOLDER]     (a round: a quarter of a second of each way; without a folder: Lethe alone)
 *
 * libpq is loaded at run time: no build needs it. Statements are prepared, which is the fastest that libpq has. */
#include "object-bench.h"

#include "base/hash.h"

#include <dlfcn.h>

#define CLIENTS_MAX 64
#define RESULT "{\"kind\":\"success\",\"latency_usec\":1200,\"value\":{\"file\":\"report.md\",\"bytes\":4096}}"

/* As in libpq-fe.h. */
typedef struct PGconn PGconn;
typedef struct PGresult PGresult;
enum { CONNECTION_OK_ = 0, COMMAND_OK_ = 1 };
static struct {
        PGconn *(*connectdb)(const char *);
        int (*status)(const PGconn *);
        char *(*error)(const PGconn *);
        PGresult *(*exec)(PGconn *, const char *);
        PGresult *(*prepare)(PGconn *, const char *, const char *, int, const unsigned *);
        PGresult *(*exec_prepared)(PGconn *, const char *, int, const char *const *, const int *, const int *, int);
        int (*result)(const PGresult *);
        void (*clear)(PGresult *);
        void (*finish)(PGconn *);
} pq;

typedef enum Way { WAY_LETHE, WAY_ONE, WAY_TWO, WAYS_ } Way;
static const char *const names[] = {"Lethe, a cycle", "PostgreSQL, insert and update in one transaction", "PostgreSQL, insert, then update"};

typedef struct Client {
        Way way;
        size_t index, n; /* steps so far */
        BenchObject object;
        PGconn *conn;
} Client;

static Store *store;

static void libpq_load(void) {
        void *lib = dlopen("libpq.so.5", RTLD_NOW);
        const struct {
                void *at;
                const char *name;
        } calls[] = {{&pq.connectdb, "PQconnectdb"}, {&pq.status, "PQstatus"}, {&pq.error, "PQerrorMessage"}, {&pq.exec, "PQexec"}, {&pq.prepare, "PQprepare"},
                     {&pq.exec_prepared, "PQexecPrepared"}, {&pq.result, "PQresultStatus"}, {&pq.clear, "PQclear"}, {&pq.finish, "PQfinish"}};

        if (!lib)
                bench_fail("libpq.so.5", dlerror());
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
                void *f = dlsym(lib, calls[i].name);

                if (!f)
                        bench_fail(calls[i].name, "not in libpq");
                memcpy(calls[i].at, &f, sizeof f);
        }
}

static void pg_done(const Client *c, PGresult *r) {
        if (pq.result(r) != COMMAND_OK_)
                bench_fail("PostgreSQL", pq.error(c->conn));
        pq.clear(r);
}

static void pg_open(Client *c, const char *folder) {
        char where[4096];

        snprintf(where, sizeof where, "host='%s' dbname=postgres user=bench", folder);
        c->conn = pq.connectdb(where);
        if (pq.status(c->conn) != CONNECTION_OK_)
                bench_fail("PostgreSQL", pq.error(c->conn));
        pg_done(c, pq.exec(c->conn, "SET client_min_messages = warning"));
        if (c->way == WAY_ONE && c->index == 0)
                pg_done(c, pq.exec(c->conn, "CREATE TABLE IF NOT EXISTS step (workflow text, n bigint, begun timestamptz NOT NULL DEFAULT now(), ended timestamptz,"
                                            " input text NOT NULL, result text, PRIMARY KEY (workflow, n))"));
        pg_done(c, pq.prepare(c->conn, "begin", "INSERT INTO step (workflow, n, input) VALUES ($1, $2, $3)", 3, NULL));
        pg_done(c, pq.prepare(c->conn, "end", "UPDATE step SET ended = now(), result = $3 WHERE workflow = $1 AND n = $2", 3, NULL));
}

static void pg_step(Client *c) {
        char workflow[32], n[32];
        const char *values[] = {workflow, n, RESULT};

        snprintf(workflow, sizeof workflow, "%d-%zu", (int)c->way, c->index);
        snprintf(n, sizeof n, "%zu", c->n++);
        if (c->way == WAY_ONE)
                pg_done(c, pq.exec(c->conn, "BEGIN"));
        pg_done(c, pq.exec_prepared(c->conn, "begin", 3, values, NULL, NULL, 0));
        pg_done(c, pq.exec_prepared(c->conn, "end", 3, values, NULL, NULL, 0));
        if (c->way == WAY_ONE)
                pg_done(c, pq.exec(c->conn, "COMMIT"));
}

static void step(void *arg) {
        Client *c = arg;

        if (c->way == WAY_LETHE)
                bench_cycle(store, &c->object);
        else
                pg_step(c);
}

int main(int argc, char **argv) {
        size_t rounds = argc >= 4 ? strtoul(argv[2], NULL, 10) : 0, n = argc >= 4 ? strtoul(argv[3], NULL, 10) : 0;
        const char *socket = argc == 5 ? argv[4] : NULL;
        Way ways = socket ? WAYS_ : WAY_ONE;
        static Client clients[WAYS_][CLIENTS_MAX];
        static BenchThread threads[WAYS_][CLIENTS_MAX];
        uint64_t took[WAYS_] = {0};
        Diag d = {};
        Txn *t;

        if (rounds == 0 || n == 0 || n > CLIENTS_MAX) {
                fprintf(stderr, "usage: object-steps DIR ROUNDS CLIENTS [SOCKET-FOLDER]\n");
                return 2;
        }
        hash_many(); /* as the daemon does */
        if (store_open(argv[1], STORE_SUPERVISE, &store, &d) != 0)
                bench_fail(argv[1], d.text);
        if (socket)
                libpq_load();
        t = bench_begin(store);
        for (Way way = 0; way < ways; way++)
                for (size_t i = 0; i < n; i++) {
                        clients[way][i] = (Client){.way = way, .index = i};
                        threads[way][i] = (BenchThread){.step = step, .arg = &clients[way][i]};
                        if (way == WAY_LETHE)
                                bench_object(t, &clients[way][i].object);
                        else
                                pg_open(&clients[way][i], socket);
                }
        bench_commit(t);
        for (size_t round = 0; round < rounds; round++)
                for (Way way = 0; way < ways; way++)
                        took[(round + way) % ways] += bench_window(threads[(round + way) % ways], n);
        for (Way way = 0; way < ways; way++) {
                bench_print_threads(names[way], "client", threads[way], n, took[way]);
                for (size_t i = 0; way != WAY_LETHE && i < n; i++)
                        pq.finish(clients[way][i].conn);
        }
        store_free(store);
        return 0;
}
