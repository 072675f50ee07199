/* Runs: supervisor, CLI. The store's tables: bytes under bytes, in key order. Integers in keys are big-endian, so key
 * order is number order. All functions return 0 or -errno: -ENOENT: no such row, -EUCLEAN: broken pages, -ENOSPC: full.
 * Only ledger/ and engine/ write. */
#pragma once

#include "store/row.h"
#include "store/store.h"

const char *table_name(Table t);

int table_get(Txn *t, Table table, Bytes key, Bytes *ret);
int table_put(Txn *t, Table table, Bytes key, Bytes value); /* replaces */
int table_add(Txn *t, Table table, Bytes key, Bytes value); /* -EEXIST: there already */
int table_del(Txn *t, Table table, Bytes key);              /* -ENOENT: not there */
/* Deletes all rows whose key begins with prefix. */
int table_del_prefix(Txn *t, Table table, Bytes prefix);
int table_rows(Txn *t, Table table, uint64_t *ret);
bool bytes_begin(Bytes b, Bytes prefix);

/* table_restore() takes back all writes since table_save(), table_keep() keeps the writes; pairs may be nested. No
 * append to the ledger in between: the ledger cannot go back. After a failed table_restore(), abort the transaction. */
typedef struct Save {
        struct Change *at; /* journal.h */
} Save;
void table_save(Txn *t, Save *ret);
int table_restore(Txn *t, const Save *save);
void table_keep(Txn *t, const Save *save);

typedef struct Cursor Cursor;
/* Walks upwards from the first key >= `from` (empty: the first). cursor_next() gives rows until -ENOENT. */
int cursor_open(Txn *t, Table table, Bytes from, Cursor **ret);
/* The same, and cursor_next() ends before the first key that does not begin with the first n_prefix bytes of `from`. */
int cursor_open_within(Txn *t, Table table, Bytes from, size_t n_prefix, Cursor **ret);
int cursor_next(Cursor *c, Bytes *ret_key, Bytes *ret_value);
/* Walks from there instead, as a new cursor would. */
void cursor_seek(Cursor *c, Bytes from);
/* Changes one row, wherever the cursor stands, with one search for its place, or none near the row before. change()
 * gets the row (p NULL: no row) and returns 1: write *ret, outside of the store's map; 0: no row; -errno: keep the row
 * and return the error. change() must not use the store. Do not walk with the cursor afterwards. */
int cursor_update(Cursor *c, Bytes key, int (*change)(void *user, Bytes was, Bytes *ret), void *user);
void cursor_free(Cursor *c);
static inline void cursor_freep(Cursor **c) {
        cursor_free(*c);
}
#define _cleanup_cursor_ _cleanup_(cursor_freep)
