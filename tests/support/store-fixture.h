/* Runs: tests. A store in a folder of its own, with its anchor beside it. */
#pragma once

#include "store/store.h"
#include "tests/support/temp.h"

#include "base/io.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char *store_fixture_text;

static int store_fixture_look(const char *path, const struct stat *st, int type, struct FTW *at) {
        _cleanup_free_ char *bytes = NULL;
        size_t n;

        (void)st;
        (void)at;
        if (type != FTW_F)
                return 0;
        cr_assert_eq(io_read_file(AT_FDCWD, path, 64 << 20, &bytes, &n), 0, "%s", path);
        return memmem(bytes, n, store_fixture_text, strlen(store_fixture_text)) != NULL;
}

/* Whether a file of the store's folder, or the anchor beside it, has these bytes. */
static inline bool store_fixture_has(const StoreFixture *f, const char *text) {
        store_fixture_text = text;
        return nftw(f->temp.path, store_fixture_look, 16, FTW_PHYS) != 0;
}

/* Everybody else is gone, and what is not in use leaves the files. */
static inline void store_fixture_compact(StoreFixture *f) {
        StoreCompacted compacted;
        int r;

        store_fixture_close(f);
        r = store_compact(f->dir, NULL, &compacted, &f->d);
        cr_assert_eq(r, 0, "store_compact: %d %s", r, f->d.text);
        store_fixture_open(f, STORE_SUPERVISE);
}
