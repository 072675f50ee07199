/* Runs: supervisor, CLI. The store's tables: bytes under bytes, in key order. Integers in keys are big-endian, so that order of keys is
 * order of numbers. All functions return 0 or -errno: -ENOENT for no such row, -EUCLEAN for pages that do not hold, -ENOSPC when
 * full. Only ledger/ and engine/ write. */
#pragma once

#include "base/util.h"
#include "store/store.h"

typedef enum Table {
        TABLE_META,   /* version, origin, public key, tree, checkpoint: by name */
        TABLE_EVENT,  /* seq -> ledger entry, canonical JSON */
        TABLE_BODY,   /* seq -> nonce and payload, apart from the entry so that it can be erased */
        TABLE_HASH,   /* tile level and index -> tree hash */
        TABLE_SLOT,   /* name -> what holds now */
        TABLE_HIST,   /* name, NUL, version -> where that version is recorded */
        TABLE_HELD,   /* region, seq -> a proposal that waits for its region's end */
        TABLE_REGION, /* region -> who runs it */
        TABLE_SKILL,  /* name -> seq of the skill.registered that holds now */
        TABLE_COUNT_,
} Table;
const char *table_name(Table t);

typedef struct Bytes {
        const void *p; /* borrowed from the store's map: valid until the next write or the end of the transaction */
        size_t n;
} Bytes;
#define BYTES(p_, n_) ((Bytes){(p_), (n_)})
#define BYTES_STR(s_) ((Bytes){(s_), strlen(s_)})

int table_get(Txn *t, Table table, Bytes key, Bytes *ret);
int table_put(Txn *t, Table table, Bytes key, Bytes value); /* replaces */
int table_add(Txn *t, Table table, Bytes key, Bytes value); /* -EEXIST when there */
int table_del(Txn *t, Table table, Bytes key);              /* -ENOENT when not there */
int table_rows(Txn *t, Table table, uint64_t *ret);

typedef struct Cursor Cursor;
/* Walks upwards from the first key >= `from` (empty: the first). cursor_next gives rows until -ENOENT. */
int cursor_open(Txn *t, Table table, Bytes from, Cursor **ret);
int cursor_next(Cursor *c, Bytes *ret_key, Bytes *ret_value);
/* The last row of the table. */
int cursor_last(Txn *t, Table table, Bytes *ret_key, Bytes *ret_value);
void cursor_free(Cursor *c);
static inline void cursor_freep(Cursor **c) {
        cursor_free(*c);
}
#define _cleanup_cursor_ _cleanup_(cursor_freep)

static inline void be64_put(uint8_t *out, uint64_t v) {
        for (int i = 7; i >= 0; i--, v >>= 8)
                out[i] = (uint8_t)v;
}
static inline uint64_t be64_get(const uint8_t *in) {
        uint64_t v = 0;

        for (int i = 0; i < 8; i++)
                v = v << 8 | in[i];
        return v;
}
