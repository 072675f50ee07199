/* The redo file (store/wal.h): who is told as soon as the record of a commit is in it is never told wrong, whatever happens next. */
#include "engine/engine.h"
#include "record/rows.h"
#include "tests/state/store/redo-fixture.h"
#include "tests/state/store/write-log.h"
#include "tests/support/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

// Told when the record is written through, before LMDB writes anything.
Test(redo, told_before_lmdb_commits) {
        _cleanup_store_fixture_ StoreFixture f;
        size_t n_ops, at = SIZE_MAX;
        struct stat st;
        Txn *rest;
        Op *ops;

        wal_init(&f);
        cr_assert_eq(stat(file_in(&f, "redo"), &st), 0);
        cr_assert_eq(st.st_mode & 07777, 0600);
        cr_assert_eq(st.st_size, WAL_BYTES);
        write_log_start(file_in(&f, "data.mdb"));
        write_log_also(file_in(&f, "redo"));
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        write_log_mark(1);
        cr_assert_neq(rest, NULL);
        store_commit_rest(rest);
        write_log_stop(&ops, &n_ops);
        for (size_t i = 0; i < n_ops; i++)
                if (ops[i].kind == OP_MARK)
                        at = i;
        cr_assert_eq(at, 1);
        cr_assert(ops[0].kind == OP_WRITE && ops[0].file == 1 && ops[0].durable && ops[0].at == 0);
        cr_assert_gt(n_ops, 3, "LMDB wrote nothing");
        for (size_t i = at + 1; i < n_ops; i++)
                cr_assert_eq(ops[i].file, 0);
        write_log_free(ops, n_ops);
        whole(&f, "after it");
}

// SIGKILL between being told and LMDB's commit, many times: whoever comes next, to read or to write, sees all that was told.
Test(redo, killed_in_between) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;

        wal_init(&f);
        size = size_of(f.store);
        for (unsigned round = 0; round < 120; round++) {
                unsigned before = round % 3;
                Next next = round % NEXT_COUNT_;

                leave(&f, before);
                size += (before + 1) * N_ENTRIES;
                if (next == NEXT_KILLED_AGAIN) {
                        leave(&f, 0);
                        size += N_ENTRIES;
                }
                store_fixture_open(&f, next == NEXT_READER ? STORE_READ : next == NEXT_WRITER ? STORE_WRITE : STORE_SUPERVISE);
                if (next == NEXT_WRITER) {
                        Txn *rest;

                        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0, "%s", f.d.text);
                        store_commit_rest(rest);
                        size += N_ENTRIES;
                }
                cr_assert_eq(size_of(f.store), size, "round %u", round);
                cr_assert_eq(whole(&f, "killed in between"), size);
        }
}

/* Lives as others do, telling of each, until it is killed. */
static pid_t start_process(StoreFixture *f, int told, int out, unsigned keeps) {
        pid_t pid = fork();

        if (pid == 0) {
                Diag d = {};
                Store *s;

                close(out);
                if (store_open(f->dir, STORE_SUPERVISE, &s, &d) != 0)
                        _exit(1);
                store_keep_ahead(s, keeps);
                for (;;) {
                        Txn *rest;

                        if (live_ahead(s, &rest, &d) != 0 || write(told, "x", 1) != 1)
                                _exit(2);
                        store_commit_rest(rest);
                }
        }
        return pid;
}

// Two processes at once, killed at any moment, while a third reads: all that was told is seen at once and stays.
Test(redo, two_processes_and_a_reader) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;

        wal_init(&f);
        size = size_of(f.store);
        store_fixture_close(&f);
        for (unsigned round = 0; round < 20; round++) {
                _cleanup_store_ Store *reader = NULL;
                uint64_t told = 0;
                pid_t pid[2];
                char buf[64];
                ssize_t n;
                int p[2];

                cr_assert_eq(pipe(p), 0);
                cr_assert_eq(store_open(f.dir, STORE_READ, &reader, &f.d), 0);
                for (int i = 0; i < 2; i++)
                        pid[i] = start_process(&f, p[1], p[0], round % 3 == 0 ? 0 : i == 0 ? CHAIN : round % 3 == 1 ? 0 : 3);
                close(p[1]);
                while (told < 10 + round && (n = read(p[0], buf, sizeof(buf))) > 0) {
                        told += (uint64_t)n;
                        cr_assert_geq(size_of(reader), size + told * N_ENTRIES, "round %u: a reader does not see what was told", round);
                }
                for (int i = 0; i < 2; i++)
                        cr_assert_eq(kill(pid[i], SIGKILL), 0);
                while ((n = read(p[0], buf, sizeof(buf))) > 0)
                        told += (uint64_t)n;
                for (int i = 0; i < 2; i++) {
                        int status;

                        cr_assert_eq(waitpid(pid[i], &status, 0), pid[i]);
                        cr_assert(WIFSIGNALED(status), "round %u: the store failed for process %d", round, i);
                }
                close(p[0]);
                cr_assert_geq(size_of(reader), size + told * N_ENTRIES, "round %u: a reader does not see what was told by the dead", round);
                store_fixture_open(&f, STORE_SUPERVISE);
                cr_assert_geq(whole(&f, "two processes"), size + told * N_ENTRIES);
                size = size_of(f.store);
                store_fixture_close(&f);
        }
}

// Each system call of a commit fails in turn, with each error, whole or half done: who was told is not told wrong, and the store opened anew has it.
Test(redo, every_failure_point) {
        static const int errors[] = {ENOSPC, EIO, EDQUOT};
        unsigned points = 0, after = 0;

        for (size_t e = 0; e < ARRAY_SIZE(errors); e++)
                for (int half = 0; half < 2; half++)
                        for (unsigned point = 1;; point++) {
                                _cleanup_store_fixture_ StoreFixture f;
                                uint64_t told;
                                bool happened;
                                Txn *rest;
                                int r;

                                wal_init(&f);
                                told = size_of(f.store);
                                fail_after(file_in(&f, "data.mdb"), point, errors[e], half);
                                write_log_also(file_in(&f, "redo"));
                                r = live_ahead(f.store, &rest, &f.d);
                                told += r == 0 ? N_ENTRIES : 0;
                                after += r == 0 && rest && !fail_happened();
                                store_commit_rest(rest);
                                happened = fail_happened();
                                after -= r == 0 && !happened;
                                fail_after(file_in(&f, "data.mdb"), 0, 0, false);
                                /* In the same process: what was told is brought in before anything else is done, or nothing is done. */
                                if (live_ahead(f.store, &rest, &f.d) == 0) {
                                        store_commit_rest(rest);
                                        told += N_ENTRIES;
                                        cr_assert_geq(size_of(f.store), told, "point %u", point);
                                }
                                store_fixture_close(&f);
                                store_fixture_open(&f, STORE_SUPERVISE);
                                cr_assert_geq(whole(&f, "failure"), told, "point %u, error %d: what was told is lost", point, errors[e]);
                                if (!happened)
                                        break;
                                points++;
                        }
        cr_assert_geq(points, 12, "only %u failure points were met", points);
        cr_assert_geq(after, 6, "only %u of them after it was told", after);
}

// While LMDB cannot commit what was told, nobody writes anything else, and a reader that may go on says what it lacks.
Test(redo, fails_closed_until_it_is_in) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;
        Txn *rest, *t;

        wal_init(&f);
        lengthen(file_in(&f, "data.mdb"));
        size = size_of(f.store);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        fail_after(file_in(&f, "data.mdb"), 1, ENOSPC, false);
        store_commit_rest(rest);
        cr_assert(fail_happened());
        for (int i = 0; i < 3; i++) {
                fail_after(file_in(&f, "data.mdb"), 1, ENOSPC, false);
                cr_assert_eq(store_begin(f.store, i % 2, &t, &f.d), STORE_E_FULL, "%s", f.d.text);
                cr_assert(fail_happened());
        }
        cr_assert_eq(store_begin_at_once(f.store, &t, &f.d), 0); /* who reads slots waits for nothing */
        store_abort(t);
        fail_after(file_in(&f, "data.mdb"), 0, 0, false);
        cr_assert_eq(size_of(f.store), size + N_ENTRIES);
        whole(&f, "when there is room again");
}

typedef struct Reader {
        Store *store;
        _Atomic pid_t tid;
        _Atomic bool over;
        uint64_t size;
} Reader;

static void *slot_reader(void *arg) {
        Reader *r = arg;
        Diag d = {};
        Txn *t;

        cr_assert_eq(store_begin_at_once(r->store, &t, &d), 0);
        store_abort(t);
        return NULL;
}

static void *reader(void *arg) {
        Reader *r = arg;

        atomic_store(&r->tid, (pid_t)syscall(SYS_gettid));
        r->size = size_of(r->store);
        atomic_store(&r->over, true);
        return NULL;
}

// A reader of the same process waits for what was told and is not committed; who reads slots does not.
Test(redo, readers_wait_and_slots_do_not) {
        _cleanup_store_fixture_ StoreFixture f;
        pthread_t thread, slots;
        Txn *rest;
        Reader r;

        wal_init(&f);
        r = (Reader){.store = f.store};
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        cr_assert_eq(pthread_create(&thread, NULL, reader, &r), 0);
        thread_until_it_waits(&r.tid);
        cr_assert(!atomic_load(&r.over));
        cr_assert_eq(pthread_create(&slots, NULL, slot_reader, &r), 0);
        pthread_join(slots, NULL);
        cr_assert(!atomic_load(&r.over));
        store_commit_rest(rest);
        pthread_join(thread, NULL);
        cr_assert_eq(r.size, size_of(f.store));
}

// What changed a slot is told of when LMDB has committed it: who reads slots without waiting sees all that anybody was told of.
Test(redo, a_slot_is_never_told_ahead) {
        _cleanup_json_ json_t *schema = json_object(), *v = json_integer(7);
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t seq, version;
        SlotRow row;
        Txn *t, *rest;

        wal_init(&f);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "n", schema, NULL, &f.d), 0);
        cr_assert_eq(store_commit_ahead(t, &rest, &f.d), 0);
        cr_assert_null(rest);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_put(t, "uid:0", "n", v, -1, &seq, &version, &f.d), 0);
        cr_assert_eq(store_commit_ahead(t, &rest, &f.d), 0);
        cr_assert_null(rest);
        cr_assert_eq(store_begin_at_once(f.store, &t, &f.d), 0);
        cr_assert_eq(slot_row_get(t, "n", &row), 0);
        cr_assert_eq(row.version, version);
        store_abort(t);
}

// A batch that has no room in the file is told of when LMDB has committed it.
Test(redo, too_large_for_the_file) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_free_ char *big = NULL;
        Txn *t, *rest;

        wal_init(&f);
        big = calloc(1, WAL_BYTES);
        cr_assert_neq(big, NULL);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("big"), BYTES(big, WAL_BYTES)), 0);
        cr_assert_eq(store_commit_ahead(t, &rest, &f.d), 0);
        cr_assert_null(rest);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(table_del(t, TABLE_META, BYTES_STR("big")), 0); /* LMDB counts it, but a record of deletions alone could come to nothing */
        cr_assert_eq(store_commit_ahead(t, &rest, &f.d), 0);
        cr_assert_null(rest);
        whole(&f, "large");
}

// A record that cannot be written tells nobody anything: then LMDB's commit is what is waited for.
Test(redo, a_record_that_cannot_be_written) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;
        Txn *rest;

        for (int half = 0; half < 2; half++) {
                wal_init(&f);
                size = size_of(f.store);
                fail_after(file_in(&f, "redo"), 1, EIO, half);
                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0, "%s", f.d.text);
                cr_assert(fail_happened());
                cr_assert_null(rest, "told of what is not written");
                cr_assert_eq(size_of(f.store), size + N_ENTRIES);
                if (half == 0)
                        store_fixture_deinit(&f);
        }
        whole(&f, "without a record");
}
