/* Runs: supervisor, CLI. Records of some kinds in the order of creation (M-13). The term index numbers the documents in
 * this order. A removed record has no terms; the index keeps an empty document for each of these, under an extra
 * kind. */
#pragma once

#include "record/record.h"

#define CREATION_KINDS_MAX 4

/* The position of a walk in one kind, among the living or among the removed records. */
typedef struct CreationStream {
        Cursor *cursor;
        Kind kind;
        uint64_t number; /* of the next record; 0: the end */
        char id[RECORD_ID_MAX];
} CreationStream;

typedef struct CreationRemoved {
        uint64_t number;
        Kind kind;
        char id[RECORD_ID_MAX];
} CreationRemoved;

typedef struct CreationWalk {
        Txn *txn;
        CreationStream streams[2 * CREATION_KINDS_MAX];
        size_t n;
        uint64_t scope;
        CreationRemoved *removed; /* owned, ascending; only for stores of an older version */
        size_t n_removed, at;
} CreationWalk;
/* Walks the records with a number above `after` (0: all); with `removed` also the removed records. n: at most
 * CREATION_KINDS_MAX. *ret has to be freed on failure, too. Returns 0, -EUCLEAN, -errno. */
int creation_walk(Txn *t, uint64_t scope, const Kind *of, size_t n, bool removed, uint64_t after, CreationWalk *ret);
int creation_walk_next(CreationWalk *w, Record *ret); /* 0, -ENOENT at the end, -EUCLEAN: no such record */
void creation_walk_deinit(CreationWalk *w);
#define _cleanup_creation_walk_ _cleanup_(creation_walk_deinit)

/* For known-names.c: the record has become a tombstone, or its row was deleted; its document is out of the index. */
int creation_put_removed(Txn *t, const Record *rec);
int creation_del_removed(Txn *t, const Record *rec); /* 0 also for a record without a tombstone */
