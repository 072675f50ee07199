/* Several records in the redo file (store/wal.h) for one commit of LMDB (store_keep_ahead()). */
#include "ledger/ledger.h"
#include "tests/state/store/redo-fixture.h"
#include "tests/state/store/write-log.h"

#include <limits.h>

static size_t writes_to(const Op *ops, size_t n_ops, unsigned file) {
        size_t n = 0;

        for (size_t i = 0; i < n_ops; i++)
                n += ops[i].kind == OP_WRITE && ops[i].file == file;
        return n;
}

// Several records share one commit of LMDB: nothing but the records is written until the last of them, each behind the one before.
Test(wal_chain, several_in_one_commit) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;
        size_t n_ops;
        Txn *rest;
        Op *ops;

        wal_checkpoint_after_usec = UINT_MAX;
        wal_init(&f);
        size = size_of(f.store);
        store_keep_ahead(f.store, CHAIN);
        for (int turn = 0; turn < 2; turn++) {
                uint64_t end = 0;

                write_log_start(file_in(&f, "data.mdb"));
                write_log_also(file_in(&f, "redo"));
                for (int i = 0; i < CHAIN - 1; i++) {
                        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                        cr_assert_null(rest, "record %d", i);
                }
                write_log_stop(&ops, &n_ops);
                cr_assert_eq(n_ops, CHAIN - 1);
                for (size_t i = 0; i < n_ops; i++) {
                        cr_assert(ops[i].kind == OP_WRITE && ops[i].file == 1 && ops[i].durable && ops[i].at == end);
                        end += ops[i].n;
                }
                write_log_free(ops, n_ops);
                write_log_start(file_in(&f, "data.mdb"));
                cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
                cr_assert_neq(rest, NULL, "one commit for more than %d", CHAIN);
                store_commit_rest(rest);
                write_log_stop(&ops, &n_ops);
                cr_assert_gt(writes_to(ops, n_ops, 0), 2);
                write_log_free(ops, n_ops);
                size += CHAIN * N_ENTRIES;
                cr_assert_eq(whole(&f, "all of them"), size);
        }
}

// SIGKILL with several records left, many times: whoever comes next, to read or to write, with more to be left or not, sees all that was told.
Test(wal_chain, killed_with_several_left) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size;

        wal_init(&f);
        size = size_of(f.store);
        for (unsigned round = 0; round < 60; round++) {
                unsigned n = 1 + round % (CHAIN - 2);
                Next next = round % NEXT_COUNT_;

                leave_chain(&f, n);
                size += n * N_ENTRIES;
                if (next == NEXT_KILLED_AGAIN) {
                        leave_chain(&f, 1); /* behind those */
                        size += N_ENTRIES;
                }
                store_fixture_open(&f, next == NEXT_READER ? STORE_READ : next == NEXT_WRITER ? STORE_WRITE : STORE_SUPERVISE);
                if (next == NEXT_WRITER) {
                        Txn *rest;

                        store_keep_ahead(f.store, round % 8 < 4 ? CHAIN : 0);
                        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0, "%s", f.d.text);
                        store_commit_rest(rest);
                        size += N_ENTRIES;
                }
                cr_assert_eq(size_of(f.store), size, "round %u", round);
                cr_assert_eq(whole(&f, "killed with several left"), size);
        }
}

/* A life that is left in the file. The thread that brings in may be at work, and what shares its commit is not left: then another one. Returns how many. */
static unsigned leave_one(StoreFixture *f) {
        Txn *rest = NULL;
        unsigned n = 0;

        do {
                store_commit_rest(rest);
                cr_assert_eq(live_ahead(f->store, &rest, &f->d), 0, "%s", f->d.text);
                n++;
        } while (rest);
        return n;
}

// Who waits for LMDB, and a slot, is not left: the records before it are committed with it.
Test(wal_chain, others_bring_it_in) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t size, seen = 0;
        Txn *rest, *t;

        wal_checkpoint_after_usec = UINT_MAX;
        wal_init(&f);
        size = size_of(f.store);
        store_keep_ahead(f.store, CHAIN);
        cr_assert_eq(live_ahead(f.store, &rest, &f.d), 0);
        cr_assert_null(rest);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(life(t, &f.d), 0);
        wal_checkpoint_after_usec = 1000; /* from now on */
        cr_assert_eq(store_commit(t, &f.d), 0);
        size += 2 * N_ENTRIES;
        cr_assert_eq(store_begin_at_once(f.store, &t, &f.d), 0);
        cr_assert_eq(ledger_state(t, &seen, NULL), 0);
        store_abort(t);
        cr_assert_eq(seen, size, "what was left is not committed with what was waited for");
        /* Nobody comes. */
        size += leave_one(&f) * N_ENTRIES;
        for (int i = 0; i < 12000 && seen < size; i++) {
                usleep(10000);
                cr_assert_eq(store_begin_at_once(f.store, &t, &f.d), 0);
                cr_assert_eq(ledger_state(t, &seen, NULL), 0);
                store_abort(t);
        }
        cr_assert_eq(seen, size, "it stays where it is");
        /* Closed. */
        wal_checkpoint_after_usec = UINT_MAX;
        size += leave_one(&f) * N_ENTRIES;
        store_fixture_close(&f);
        cr_assert_eq(unlink(file_in(&f, "redo")), 0);
        store_fixture_open(&f, STORE_READ);
        cr_assert_eq(size_of(f.store), size, "a store that is closed leaves something in the file");
}
