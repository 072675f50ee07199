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
        TABLE_SCOPE,  /* name -> a scope's number and state */
        TABLE_REC,    /* scope, kind, id -> a record as it is now */
        TABLE_CHANGE, /* scope, kind, id, NUL, seq -> what that event did to it */
        TABLE_REF,    /* source (scope, kind, id), NUL, target (kind, id), NUL, role -> strength and seq */
        TABLE_RREF,   /* target, NUL, source, NUL, role -> the same, backwards */
        TABLE_TERM,   /* scope, kind, field, term, NUL, chunk -> who has the term */
        TABLE_DOC,    /* scope, kind, number -> what of it is in TABLE_TERM */
        TABLE_WAIT,   /* pending id -> what cannot be decided yet */
        TABLE_UNAPPLIED, /* seq -> why the projection of that event failed */
        TABLE_RUN,    /* run id -> whose notes they are */
        TABLE_NOTE,   /* run id, NUL, number -> a working note: of its run alone, and not of the ledger */
        TABLE_GATHER, /* slot name, NUL, seq -> a proposal of a region that ended well, which waits for the slot's verdict */
        TABLE_VERDICT, /* slot name, NUL, seq of slot.arbitrated -> seq of the proposal that was taken, 0: none */
        TABLE_COUNT_,
        TABLE_OLDEST_LAST = TABLE_SKILL, /* of a store of version 1 */
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
/* All rows whose key begins so. */
int table_del_prefix(Txn *t, Table table, Bytes prefix);
int table_rows(Txn *t, Table table, uint64_t *ret);
bool bytes_begin(Bytes b, Bytes prefix);

/* What is written from table_save() on is taken back by table_restore(), or kept; one may stand within another. Nothing may be appended to the ledger
 * in between, which goes on in one direction only. When table_restore() fails, the transaction is to be aborted. */
typedef struct Save {
        struct Change *at; /* journal.h */
} Save;
void table_save(Txn *t, Save *ret);
int table_restore(Txn *t, const Save *save);
void table_keep(Txn *t, const Save *save);

typedef struct Cursor Cursor;
/* Walks upwards from the first key >= `from` (empty: the first). cursor_next gives rows until -ENOENT. */
int cursor_open(Txn *t, Table table, Bytes from, Cursor **ret);
int cursor_next(Cursor *c, Bytes *ret_key, Bytes *ret_value);
/* Walks from there instead, as a new one would. */
void cursor_seek(Cursor *c, Bytes from);
/* A row from what it was, wherever the cursor stands, with one search for its place, and none where it is near the one before. change() gets what is there (p
 * NULL: nothing), and says what is to be: 1: *ret, which is not of the store's map; 0: nothing; -errno: the row stays as it is, and that is returned. It does
 * nothing with the store. The cursor is not walked with after that. */
int cursor_update(Cursor *c, Bytes key, int (*change)(void *user, Bytes was, Bytes *ret), void *user);
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
