/* Who hears when a record stands in the redo file, and the loop that brings in what is left in it (store/store.h). */
#include "base/clock.h"
#include "engine/engine.h"
#include "ledger/ledger.h"
#include "tests/state/store/redo-fixture.h"
#include "tests/state/store/write-log.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void mark(void *userdata) {
        ++*(unsigned *)userdata;
        write_log_mark(1);
}

static int live_and_hear(Store *s, void (*written)(void *userdata), void *userdata, Txn **ret_rest, Diag *reterr) {
        Txn *t;
        int r = store_begin(s, true, &t, reterr);

        if (r == 0)
                r = life(t, reterr);
        if (r != 0)
                return r;
        if (store_commit_start(t))
                written(userdata);
        return store_commit_ahead(t, ret_rest, reterr);
}

// Who waits for the record to stand in the file hears of it when it does, and before the disk has it; where that never comes, LMDB's commit counts.
Test(redo, heard_of_before_the_disk_has_it) {
        for (unsigned broken = 0; broken < 3; broken++) { /* none, the write, the sync */
                _cleanup_store_fixture_ StoreFixture f;
                unsigned heard = 0;
                uint64_t size;
                size_t n_ops;
                Txn *rest;
                Op *ops;

                wal_init(&f);
                size = size_of(f.store);
                fail_after(file_in(&f, "redo"), broken, EIO, false);
                write_log_start(file_in(&f, "data.mdb"));
                write_log_also(file_in(&f, "redo"));
                cr_assert_eq(live_and_hear(f.store, mark, &heard, &rest, &f.d), 0);
                write_log_stop(&ops, &n_ops);
                fail_after(file_in(&f, "redo"), 0, 0, false);
                cr_assert_eq(rest != NULL, broken == 0, "%u", broken);
                cr_assert_eq(heard, broken != 1, "%u", broken);
                if (broken == 0) {
                        cr_assert_eq(n_ops, 3);
                        cr_assert(ops[0].kind == OP_WRITE && ops[0].file == 1 && !ops[0].durable);
                        cr_assert(ops[1].kind == OP_MARK && ops[2].kind == OP_SYNC && ops[2].file == 1);
                }
                store_commit_rest(rest);
                write_log_free(ops, n_ops);
                cr_assert_eq(size_of(f.store), size + N_ENTRIES, "%u", broken);
                whole(&f, "after it");
        }
}

static void die(void *userdata) {
        raise(SIGKILL);
}

// SIGKILL at that moment: the next start finds it.
Test(redo, killed_as_it_is_heard_of) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;
        int status;
        pid_t pid;

        wal_init(&f);
        size = size_of(f.store);
        store_fixture_close(&f);
        pid = fork();
        if (pid == 0) {
                Txn *rest;
                Diag d = {};
                Store *s;

                if (store_open(f.dir, STORE_SUPERVISE, &s, &d) == 0)
                        live_and_hear(s, die, NULL, &rest, &d);
                _exit(1);
        }
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "it ended with %x", status);
        store_fixture_open(&f, STORE_SUPERVISE);
        cr_assert_eq(size_of(f.store), size + N_ENTRIES);
        whole(&f, "killed as it was heard of");
}

static size_t count_threads(void) {
        DIR *d = opendir("/proc/self/task");
        struct dirent *e;
        size_t n = 0;

        cr_assert_neq(d, NULL);
        while ((e = readdir(d)))
                n += e->d_name[0] != '.';
        closedir(d);
        return n;
}

// Where a loop sees to what is left, it is told when to, and no thread is started before; what comes with another one's commit is only to be taken out of
// the file, and what is left at the end is not waited for.
Test(redo, left_to_a_loop) {
        _cleanup_store_fixture_ StoreFixture f;
        size_t threads = count_threads();
        const uint64_t *due;
        uint64_t size, first = 0;
        Txn *rest, *t;

        wal_init(&f);
        size = size_of(f.store);
        due = store_keep_ahead_in_loop(f.store, CHAIN);
        cr_assert_eq(*due, UINT64_MAX);
        for (unsigned i = 1; i <= 3; i++) {
                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                cr_assert_null(rest);
                first = i == 1 ? *due : first;
                cr_assert(*due == first && first <= clock_mono_usec() + wal_checkpoint_after_usec, "the first that is left does not wait for more");
        }
        t = store_fixture_begin(&f, true);
        cr_assert_eq(life(t, &f.d), 0);
        cr_assert_eq(store_commit(t, &f.d), 0);
        cr_assert_neq(*due, UINT64_MAX, "what came with another one's commit is not taken out of the file");
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        cr_assert_eq(count_threads(), threads);
        store_fixture_close(&f);
        cr_assert_eq(unlink(file_in(&f, "redo")), 0);
        store_fixture_open(&f, STORE_READ);
        cr_assert_eq(size_of(f.store), size + 5 * N_ENTRIES, "a store that is closed leaves something in the file");
}

// When the time has come a thread does it: LMDB's lock may be another one's for long, and the loop waits for nobody.
Test(redo, a_loop_waits_for_no_lock) {
        _cleanup_store_fixture_ StoreFixture f;
        size_t threads = count_threads();
        uint64_t size, seen = 0, until;
        const uint64_t *due;
        Txn *rest, *t;
        int hold[2], held[2];
        char c;
        pid_t pid;

        wal_init(&f);
        size = size_of(f.store);
        due = store_keep_ahead_in_loop(f.store, CHAIN);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        cr_assert_eq(pipe(hold), 0);
        cr_assert_eq(pipe(held), 0);
        pid = fork();
        if (pid == 0) {
                Diag d = {};
                Store *s;

                close(hold[1]);
                if (store_open(f.dir, STORE_WRITE, &s, &d) != 0 || store_begin(s, true, &t, &d) != 0 || write(held[1], "x", 1) != 1)
                        _exit(1);
                _exit(read(hold[0], &c, 1) == 0 ? 0 : 2); /* until the loop has gone on */
        }
        close(hold[0]);
        cr_assert_eq(read(held[0], &c, 1), 1);
        store_wal_checkpoint(f.store);
        cr_assert_eq(*due, UINT64_MAX);
        cr_assert_eq(count_threads(), threads + 1);
        close(hold[1]);
        cr_assert_eq(waitpid(pid, NULL, 0), pid);
        for (until = clock_mono_usec() + 120000000; seen < size + N_ENTRIES && clock_mono_usec() < until; usleep(1000)) {
                cr_assert_eq(store_begin_at_once(f.store, &t, &f.d), 0);
                cr_assert_eq(ledger_state(t, &seen, NULL), 0);
                store_abort(t);
        }
        cr_assert_eq(seen, size + N_ENTRIES, "it stays where it is");
        close(held[0]);
        close(held[1]);
}
