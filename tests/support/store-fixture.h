/* Runs: tests. A store in a folder of its own, with its anchor beside it. */
#pragma once

#include "store/store.h"
#include "tests/support/temp.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct StoreFixture {
        TempDir temp;
        char dir[PATH_MAX]; /* of the store */
        Store *store;
        Diag d;
} StoreFixture;

static inline void store_fixture_open(StoreFixture *f, StoreMode mode) {
        int r = store_open(f->dir, mode, &f->store, &f->d);

        cr_assert_eq(r, 0, "store_open: %d %s", r, f->d.text);
}

static inline void store_fixture_close(StoreFixture *f) {
        store_free(f->store);
        f->store = NULL;
}

static inline void store_fixture_init(StoreFixture *f, StoreMode mode) {
        char anchor[PATH_MAX];

        *f = (StoreFixture){.temp = TEMP_DIR_NULL};
        cr_assert_eq(temp_dir_make(&f->temp), 0);
        snprintf(f->dir, sizeof(f->dir), "%.4000s/store", f->temp.path);
        snprintf(anchor, sizeof(anchor), "%.4000s/anchor", f->temp.path);
        setenv("LETHE_ANCHOR", anchor, 1);
        store_fixture_open(f, mode);
}

static inline void store_fixture_deinit(StoreFixture *f) {
        store_free(f->store);
        temp_dir_remove(&f->temp);
}
#define _cleanup_store_fixture_ _cleanup_(store_fixture_deinit)

static inline Txn *store_fixture_begin(StoreFixture *f, bool write) {
        Txn *t = NULL;
        int r = store_begin(f->store, write, &t, &f->d);

        cr_assert_eq(r, 0, "store_begin: %d %s", r, f->d.text);
        return t;
}

static inline void store_fixture_commit(StoreFixture *f, Txn *t) {
        int r = store_commit(t, &f->d);

        cr_assert_eq(r, 0, "store_commit: %d %s", r, f->d.text);
}
