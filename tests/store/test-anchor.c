/* What the anchor (ledger/anchor.h) knows of commits that are told of before LMDB has them (store_keep_ahead()), and that nothing but a store that has all
 * that it saw takes its place. */
#include "base/io.h"
#include "ledger/ledger.h"
#include "ledger/note.h"
#include "tests/store/redo-fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/wait.h>

/* Entries that it knows of. */
static uint64_t anchored(const StoreFixture *f) {
        _cleanup_free_ char *note = NULL;
        char path[PATH_MAX];
        Checkpoint c;
        Diag d = {};
        size_t n;

        snprintf(path, sizeof(path), "%.4000s/anchor", f->temp.path);
        cr_assert_eq(io_read_file(AT_FDCWD, path, NOTE_MAX, &note, &n), 0);
        cr_assert_eq(note_parse(note, n, &c, &d), 0, "%s", d.text);
        return c.size;
}

// It lags behind what was told by less than one commit of LMDB takes together, and by nothing when that is done.
Test(anchor, lags_by_one_commit_at_most) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t told;
        unsigned most = 0;
        Txn *rest;

        settle_after_usec = UINT_MAX;
        redo_init(&f);
        told = size_of(f.store);
        cr_assert_eq(anchored(&f), told);
        store_keep_ahead(f.store, CHAIN);
        for (int i = 1; i <= 3 * CHAIN; i++) {
                unsigned lag;

                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                told += N_ENTRIES;
                store_commit_rest(rest);
                lag = (unsigned)(told - anchored(&f)) / N_ENTRIES;
                cr_assert_leq(lag, CHAIN - 1, "after %d", i);
                cr_assert(i % CHAIN > 0 || lag == 0, "after %d it lags by %u", i, lag);
                most = MAX(most, lag);
        }
        cr_assert_eq(most, CHAIN - 1);
        settle_after_usec = 1000; /* nobody comes: it follows all the same */
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        store_keep_ahead(f.store, CHAIN);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        for (int i = 0; i < 1000 && anchored(&f) < told + N_ENTRIES; i++)
                usleep(10000);
        cr_assert_eq(anchored(&f), told + N_ENTRIES);
}

static void read_in_another_process(const StoreFixture *f, uint64_t size) {
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                uint64_t now = 0;
                Diag d = {};
                Store *s;
                Txn *t;

                if (store_open(f->dir, STORE_READ, &s, &d) == 0 && store_begin(s, false, &t, &d) == 0)
                        ledger_state(t, &now, NULL);
                _exit(now == size ? 0 : 1);
        }
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert_eq(status, 0);
}

// A reader that brings in what was left writes no anchor; whoever left it does, and where that one is dead, the next who opens the store to write.
Test(anchor, follows_what_a_reader_brought_in) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t told;
        Txn *rest;

        settle_after_usec = UINT_MAX;
        redo_init(&f);
        told = size_of(f.store);
        store_keep_ahead(f.store, CHAIN);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        cr_assert_null(rest);
        read_in_another_process(&f, told += N_ENTRIES);
        cr_assert_lt(anchored(&f), told);
        store_fixture_close(&f);
        cr_assert_eq(anchored(&f), told, "a store that is closed leaves its anchor behind");
        leave_chain(&f, 3);
        read_in_another_process(&f, told += 3 * N_ENTRIES);
        cr_assert_lt(anchored(&f), told);
        store_fixture_open(&f, STORE_WRITE);
        cr_assert_eq(anchored(&f), told, "a store that is open to be written is ahead of its anchor");
}

// An older copy of the whole store, taken while something was left in its redo file, is refused as often as it is opened: what is brought in to look at it
// does not become the anchor.
Test(anchor, an_older_copy_with_something_left) {
        _cleanup_image_ Image older = {};
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t told;

        redo_init(&f);
        leave_chain(&f, 2);
        image_take(&f, &older);
        store_fixture_open(&f, STORE_SUPERVISE);
        for (int i = 0; i < 2; i++) {
                Txn *rest;

                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                store_commit_rest(rest);
        }
        told = size_of(f.store);
        store_fixture_close(&f);
        cr_assert_eq(anchored(&f), told);
        image_put_back(&f, &older, older.redo, older.n_redo);
        for (int i = 0; i < 6; i++) {
                StoreMode m = STORE_SUPERVISE - i % 3;

                cr_assert_eq(store_open(f.dir, m, &f.store, &f.d), STORE_E_ROLLBACK, "opened by mode %d, time %d", m, i);
                cr_assert_eq(anchored(&f), told, "mode %d: the anchor went back", m);
        }
}

// An anchor whose text was changed under its signature says nothing: neither that the store is behind it, nor what comes after it.
Test(anchor, one_that_was_changed_is_not_used) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_free_ char *note = NULL, *changed = NULL;
        char path[PATH_MAX], *size, *rest;
        uint64_t told;
        size_t n;
        Txn *t;

        redo_init(&f);
        store_fixture_close(&f);
        told = anchored(&f);
        snprintf(path, sizeof(path), "%.4000s/anchor", f.temp.path);
        cr_assert_eq(io_read_file(AT_FDCWD, path, NOTE_MAX, &note, &n), 0);
        size = strchr(note, '\n'); /* the second line */
        rest = size ? strchr(size + 1, '\n') : NULL;
        cr_assert(rest);
        *size = 0;
        cr_assert_gt(asprintf(&changed, "%s\n%llu%s", note, (unsigned long long)told + 100, rest), 0);
        cr_assert_eq(io_write_file(AT_FDCWD, path, changed, strlen(changed), 0600, false), 0);
        cr_assert_eq(anchored(&f), told + 100);
        store_fixture_open(&f, STORE_READ);
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        cr_assert_eq(live_ahead(f.store, &t, &f.d), 0);
        store_commit_rest(t);
        told = size_of(f.store);
        store_fixture_close(&f);
        cr_assert_eq(anchored(&f), told, "a true one takes its place");
}
