/* Many threads, and processes of many threads, that write to one store; and how its data file grows. */
#include "ledger/ledger.h"
#include "tests/state/store/slot-fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Many threads in one process, for as long as `until` says or `n` times each. */
typedef struct Crowd {
        Store *store;
        unsigned index;
        int n, told; /* told: a descriptor that is told of each acknowledged version, or -1 */
        uint64_t acknowledged;
        Diag d;
} Crowd;

typedef struct Told {
        unsigned index;
        uint64_t version;
} Told;

static void *crowd(void *arg) {
        Crowd *c = arg;
        char slot[16];

        snprintf(slot, sizeof(slot), "t%u", c->index);
        for (int i = 0; i < c->n; i++) {
                _cleanup_txn_ Txn *t = NULL;
                uint64_t version, size;

                if (i % 5 == 4) { /* reads in between, and writers that change their mind */
                        if (store_begin(c->store, i % 2, &t, &c->d) != 0)
                                return c->d.text;
                        if (ledger_state(t, &size, NULL) != 0 || (i % 2 && slot_put(t, slot, i, &version, &c->d) != 0))
                                return c->d.text;
                        continue;
                }
                if (store_begin(c->store, true, &t, &c->d) != 0 || slot_put(t, slot, i, &version, &c->d) != 0 ||
                    store_commit(TAKE_PTR(t), &c->d) != 0)
                        return c->d.text;
                c->acknowledged = version;
                if (c->told >= 0 && write(c->told, &(Told){c->index, version}, sizeof(Told)) != sizeof(Told))
                        return "pipe";
        }
        return NULL;
}

#define CROWD 16

static void run_crowd(Store *s, Crowd *c, int n, int told) {
        pthread_t thread[CROWD];

        for (unsigned i = 0; i < CROWD; i++) {
                c[i] = (Crowd){.store = s, .index = i, .n = n, .told = told};
                cr_assert_eq(pthread_create(&thread[i], NULL, crowd, &c[i]), 0);
        }
        for (unsigned i = 0; i < CROWD; i++) {
                void *why;

                pthread_join(thread[i], &why);
                cr_assert_null(why, "thread %u: %s", i, (const char *)why);
        }
}

static void define_crowd(StoreFixture *f) {
        for (unsigned i = 0; i < CROWD; i++) {
                char slot[16];

                snprintf(slot, sizeof(slot), "t%u", i);
                slot_define(f, slot);
        }
}

// What was acknowledged to any thread is there when the store is opened anew.
Test(many, a_crowd_of_threads) {
        _cleanup_store_fixture_ StoreFixture f;
        Crowd c[CROWD];

        store_fixture_init(&f, STORE_SUPERVISE);
        define_crowd(&f);
        run_crowd(f.store, c, 50, -1);
        reopened_is_whole(&f);
        for (unsigned i = 0; i < CROWD; i++) {
                char slot[16];

                snprintf(slot, sizeof(slot), "t%u", i);
                cr_assert_eq(c[i].acknowledged, 40);
                cr_assert_eq(slot_version(&f, slot), c[i].acknowledged, "slot %s", slot);
        }
}

/* A process of its own: opens the store and writes with all its threads until it is killed. */
static pid_t start_process(StoreFixture *f, int told, int out) {
        pid_t pid = fork();

        if (pid == 0) {
                Crowd c[CROWD];
                Store *s;
                Diag d;

                close(out);
                if (store_open(f->dir, STORE_SUPERVISE, &s, &d) != 0)
                        _exit(1);
                run_crowd(s, c, 1000000, told);
                _exit(2);
        }
        return pid;
}

// SIGKILL in the middle, of one process or of two that share the store: no acknowledged write is lost, and the ledger is whole.
Test(many, killed_in_the_middle) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t most[CROWD] = {0};

        store_fixture_init(&f, STORE_SUPERVISE);
        define_crowd(&f);
        store_fixture_close(&f);
        for (int round = 0; round < 12; round++) {
                int p[2], n = 1 + round % 2;
                pid_t pid[2];
                Told told;

                cr_assert_eq(pipe(p), 0);
                for (int i = 0; i < n; i++)
                        pid[i] = start_process(&f, p[1], p[0]);
                close(p[1]);
                for (int got = 0; got < 40 * (round + 1) && read(p[0], &told, sizeof(told)) == sizeof(told); got++)
                        most[told.index] = MAX(most[told.index], told.version);
                for (int i = 0; i < n; i++)
                        cr_assert_eq(kill(pid[i], SIGKILL), 0);
                while (read(p[0], &told, sizeof(told)) == sizeof(told))
                        most[told.index] = MAX(most[told.index], told.version);
                for (int i = 0; i < n; i++)
                        cr_assert_eq(waitpid(pid[i], NULL, 0), pid[i]);
                close(p[0]);
                store_fixture_open(&f, STORE_SUPERVISE);
                reopened_is_whole(&f);
                for (unsigned i = 0; i < CROWD; i++) {
                        char slot[16];

                        snprintf(slot, sizeof(slot), "t%u", i);
                        cr_assert_geq(slot_version(&f, slot), most[i], "round %d: slot %s lost an acknowledged version", round, slot);
                }
                store_fixture_close(&f);
        }
}

// A reader of another process that was killed in the middle keeps no page for long, in a process that lives for days.
Test(many, a_killed_reader_makes_no_file_grow) {
        enum { N = 900 };
        _cleanup_store_fixture_ StoreFixture f;
        char file[PATH_MAX];
        struct stat before, after;
        int p[2];
        pid_t pid;

        store_fixture_init(&f, STORE_SUPERVISE);
        slot_define(&f, "n");
        cr_assert_eq(pipe(p), 0);
        pid = fork();
        if (pid == 0) {
                Store *s;
                Txn *t;
                Diag d;

                if (store_open(f.dir, STORE_READ, &s, &d) == 0 && store_begin(s, false, &t, &d) == 0 && write(p[1], "x", 1) == 1)
                        pause();
                _exit(1);
        }
        cr_assert_eq(read(p[0], file, 1), 1);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(p[0]);
        close(p[1]);
        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
        for (int i = 0; i < N; i++) {
                Txn *t = store_fixture_begin(&f, true);

                cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("x"), BYTES(&i, sizeof(i))), 0);
                store_fixture_commit(&f, t);
                if (i == N / 3)
                        cr_assert_eq(stat(file, &before), 0);
        }
        cr_assert_eq(stat(file, &after), 0);
        cr_assert_leq(after.st_size, before.st_size, "%lld bytes after %d commits, %lld after %d", (long long)before.st_size, N / 3, (long long)after.st_size, N);
}

// The data file grows in few steps, a quarter at a time: a commit that makes it longer is one that the file system has to write down as well.
Test(many, the_file_grows_in_steps) {
        enum { N = 400 };
        _cleanup_store_fixture_ StoreFixture f;
        char file[PATH_MAX];
        struct stat st;
        off_t before = 0;
        int grew = 0;

        store_fixture_init(&f, STORE_SUPERVISE);
        slot_define(&f, "n");
        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
        for (int i = 0; i < N; i++) {
                Txn *t = store_fixture_begin(&f, true);
                uint64_t version;

                cr_assert_eq(slot_put(t, "n", i, &version, &f.d), 0);
                store_fixture_commit(&f, t);
                cr_assert_eq(stat(file, &st), 0);
                cr_assert_geq(st.st_size, before);
                grew += st.st_size > before;
                before = st.st_size;
        }
        cr_assert_leq(grew, 12, "it grew %d times to %lld bytes", grew, (long long)st.st_size);
        reopened_is_whole(&f);
}
