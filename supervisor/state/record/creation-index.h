/* Runs: supervisor, CLI. Records of some kinds in the order in which they were made (M-13): the documents of the term index are numbered so, and what was
 * removed, which has no terms any more, is kept there as a document of a kind of its own. */
#pragma once

#include "record/record.h"

#define CREATION_KINDS_MAX 4

/* Where one kind has come to, of those that live or of those that were removed. */
typedef struct CreationStream {
        Cursor *cursor;
        Kind kind;
        uint8_t prefix[RECORD_KEY_HEAD];
        uint64_t number; /* of the next one; 0: there is none */
        char id[RECORD_ID_MAX];
} CreationStream;

/* A record that was removed, by its number. */
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
        CreationRemoved *removed; /* owned: of a store of an older version, whose index may not have them all; in order */
        size_t n_removed, at;
} CreationWalk;
/* Those that were made after the event `after` (0: all), and of removed ones those, too, if `removed`. n: at most CREATION_KINDS_MAX. *ret is to be freed also on
 * failure. Returns 0, -EUCLEAN, -errno. */
int creation_walk(Txn *t, uint64_t scope, const Kind *of, size_t n, bool removed, uint64_t after, CreationWalk *ret);
int creation_walk_next(CreationWalk *w, Record *ret); /* 0, -ENOENT at the end, -EUCLEAN: the index has what is not there */
void creation_walk_deinit(CreationWalk *w);
#define _cleanup_creation_walk_ _cleanup_(creation_walk_deinit)

/* For refmem.c: the record, whose document is out of the index, has become a tombstone, or is gone altogether. */
int creation_put_removed(Txn *t, const Record *rec);
int creation_del_removed(Txn *t, const Record *rec); /* 0 also when it was none */
