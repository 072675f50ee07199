/* What the anchor (ledger/anchor.h) knows of commits that are told of before LMDB has them (store_keep_ahead()), and that nothing but a store that has all
 * that it saw takes its place. */
#include "base/io.h"
#include "ledger/anchor.h"
#include "ledger/ledger.h"
#include "ledger/signed-note.h"
#include "tests/state/store/redo-fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/wait.h>

/* Entries that it knows of. */
static uint64_t anchored_at(const char *path) {
        _cleanup_free_ char *note = NULL;
        Checkpoint c;
        Diag d = {};
        size_t n;

        cr_assert_eq(io_read_file(AT_FDCWD, path, NOTE_MAX, &note, &n), 0);
        cr_assert_eq(note_parse(note, n, &c, &d), 0, "%s", d.text);
        return c.size;
}

static uint64_t anchored(const StoreFixture *f) {
        char path[PATH_MAX];

        snprintf(path, sizeof(path), "%.4000s/anchor", f->temp.path);
        return anchored_at(path);
}

// It lags behind what was told by less than one commit of LMDB takes together, and by nothing when that is done.
Test(anchor, lags_by_one_commit_at_most) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t told;
        unsigned most = 0;
        Txn *rest;

        wal_checkpoint_after_usec = UINT_MAX;
        wal_init(&f);
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
        wal_checkpoint_after_usec = 1000; /* nobody comes: it follows all the same */
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        store_keep_ahead(f.store, CHAIN);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        for (int i = 0; i < 12000 && anchored(&f) < told + N_ENTRIES; i++)
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

        wal_checkpoint_after_usec = UINT_MAX;
        wal_init(&f);
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

        wal_init(&f);
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

// An older copy is written over the file of a store that a process has open. The file itself does not tell. It is not continued, and the anchor does not go
// back.
Test(anchor, an_older_copy_under_an_open_store) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_free_ char *older = NULL;
        _cleanup_close_ int fd = -1;
        uint64_t told;
        size_t n;

        wal_init(&f);
        cr_assert_eq(io_read_file(AT_FDCWD, file_in(&f, "data.mdb"), 1 << 24, &older, &n), 0);
        for (int i = 0; i < 3; i++) {
                Txn *rest;

                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                store_commit_rest(rest);
        }
        told = anchored(&f);
        cr_assert_eq(told, size_of(f.store));
        fd = open(file_in(&f, "data.mdb"), O_WRONLY | O_CLOEXEC);
        cr_assert_eq(pwrite(fd, older, n, 0), (ssize_t)n);
        cr_assert_lt(size_of(f.store), told, "it is not older");
        for (int i = 0; i < 6; i++) {
                Txn *rest;

                cr_expect_neq(live_ahead(f.store, &rest, &f.d), 0, "time %d", i);
                cr_expect_eq(anchored(&f), told, "time %d: the anchor went back", i);
        }
}

/* Things in place of an anchor: the true one with another size under its signature, nothing, anything, and that of another ledger. Owned. */
static char *no_anchor(const char *path, unsigned i) {
        _cleanup_free_ char *note = NULL;
        char *out = NULL, *size, *rest;
        StoreFixture other;
        size_t n;

        if (i == 0) {
                cr_assert_eq(io_read_file(AT_FDCWD, path, NOTE_MAX, &note, &n), 0);
                size = strchr(note, '\n'); /* the second line */
                rest = size ? strchr(size + 1, '\n') : NULL;
                cr_assert(rest);
                *size = 0;
                cr_assert_gt(asprintf(&out, "%s\n%llu%s", note, strtoull(size + 1, NULL, 10) + 100, rest), 0);
        } else if (i == 1 || i == 2)
                out = strdup(i == 1 ? "" : "any text\n");
        else {
                wal_init(&other);
                store_fixture_close(&other);
                cr_assert_gt(asprintf(&note, "%.4000s/anchor", other.temp.path), 0);
                cr_assert_eq(io_read_file(AT_FDCWD, note, NOTE_MAX, &out, &n), 0);
                store_fixture_deinit(&other);
        }
        return out;
}

/* I-99: who names an anchor trusts it. An anchor that says nothing of this store is refused, and stays as it is. */
Test(anchor, a_named_one_that_says_nothing_is_refused) {
        static const char *const words[] = {"does not verify", "is no checkpoint", "is no checkpoint", "is of another ledger"};
        _cleanup_store_fixture_ StoreFixture f;
        char path[PATH_MAX];

        wal_init(&f);
        store_fixture_close(&f);
        snprintf(path, sizeof(path), "%.4000s/anchor", f.temp.path);
        for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
                _cleanup_free_ char *was = NULL, *put = no_anchor(path, i), *is = NULL;
                size_t n_was, n_is;

                cr_assert_eq(io_read_file(AT_FDCWD, path, NOTE_MAX, &was, &n_was), 0);
                cr_assert_eq(io_write_file(AT_FDCWD, path, put, strlen(put), 0600, false), 0);
                setenv("LETHE_ANCHOR", path, 1); /* wal_init() of another store set it */
                for (StoreMode m = STORE_READ; m <= STORE_SUPERVISE; m++) {
                        int r = store_open(f.dir, m, &f.store, &f.d);

                        cr_expect_eq(r, STORE_E_ROLLBACK, "row %u, mode %d: %d", i, m, r);
                        cr_expect(r != 0 && strstr(f.d.text, words[i]) && strstr(f.d.text, path), "row %u: %s", i, f.d.text);
                        if (r == 0)
                                store_fixture_close(&f);
                }
                cr_assert_eq(io_read_file(AT_FDCWD, path, NOTE_MAX, &is, &n_is), 0);
                cr_expect(n_is == strlen(put) && memcmp(is, put, n_is) == 0, "row %u: the anchor was replaced", i);
                cr_assert_eq(io_write_file(AT_FDCWD, path, was, n_was, 0600, false), 0);
                store_fixture_open(&f, STORE_SUPERVISE);
                store_fixture_close(&f);
        }
}

// The anchor that Lethe keeps by itself, when it says nothing: neither that the store is behind it, nor what comes after it.
Test(anchor, our_own_that_was_changed_is_not_used) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_free_ char *changed = NULL, *path = NULL;
        uint64_t told;
        Txn *t;

        wal_init(&f);
        unsetenv("LETHE_ANCHOR");
        setenv("XDG_STATE_HOME", f.temp.path, 1);
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        cr_assert_eq(live_ahead(f.store, &t, &f.d), 0);
        store_commit_rest(t);
        path = anchor_path(f.store, NULL);
        store_fixture_close(&f);
        changed = no_anchor(path, 0);
        cr_assert_eq(io_write_file(AT_FDCWD, path, changed, strlen(changed), 0600, false), 0);
        store_fixture_open(&f, STORE_READ);
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        cr_assert_eq(live_ahead(f.store, &t, &f.d), 0);
        store_commit_rest(t);
        told = size_of(f.store);
        store_fixture_close(&f);
        cr_assert_eq(anchored_at(path), told, "a true one takes its place");
}
