/* Runs: supervisor, CLI. For rank.c, overlap.c and bucket.c: the rows of terms side by side, chunk by chunk. A caller
 * that counts the documents of a term, and asks for the overlap next, keeps the rows for the second step. */
#pragma once

#include "index/index.h"

typedef struct RankTerm {
        const char *p;
        uint8_t n;
        bool must;     /* only documents with the term are hits */
} RankTerm;

typedef struct Chunk {
        uint64_t number;  /* of the chunk */
        const uint8_t *p; /* borrowed from the store's map */
        uint32_t n;       /* entries */
} Chunk;

/* A term in a field of a kind. */
typedef struct List {
        Chunk *chunks; /* in `all` of the set; valid after lists_complete() */
        size_t first, n, at;
        uint64_t df;
        unsigned term, field;
        double weight;
        bool cut; /* further chunks may follow */
} List;

/* Room for most notes, on the caller's stack: for a piece above one kilobyte the C library's heap consolidates all
 * freed memory. */
typedef struct ListsRoom {
        List list[40];
        Chunk all[64];
} ListsRoom;

typedef struct Lists {
        ListsRoom *lent; /* used first, or NULL */
        List *list;      /* of `lent`, or owned */
        size_t n, room;
        Chunk *all; /* the chunks of all lists in a row: of `lent`, or owned */
        size_t n_all, room_all;
        Cursor *cursor; /* owned: one cursor for all rows; or NULL */
} Lists;
void lists_deinit(Lists *l);
#define _cleanup_lists_ _cleanup_(lists_deinit)

/* Adds a list for each term and field with rows, and finds the first rows_most chunks of each (0: all). 0, -EUCLEAN,
 * -errno. */
int lists_read(Lists *l, Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *terms, size_t n,
               size_t rows_most);
/* Adds the lists of one term under the number `as`. *ret: the number of documents, in the field with the most. */
int lists_count(Lists *l, Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *term, unsigned as,
                uint64_t *ret);
bool lists_have(const Lists *l, unsigned term);
/* Takes over the counted, complete lists of term `as` as lists of `term`. Reads no row. `from` must not grow while l is
 * used. Returns the number of lists, -ENOMEM. */
int lists_take(Lists *l, const Lists *from, unsigned as, unsigned term);
/* Sets `chunks`. To be called after the last lists_read(). */
void lists_complete(Lists *l);
/* The first chunk >= number, or NULL. Continues from the last position. */
const Chunk *list_seek(List *l, uint64_t number);
