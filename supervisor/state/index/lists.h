/* Runs: supervisor, CLI. Inside of engine/rank: the rows of terms, side by side, chunk by chunk. Who counts how many documents have a term, and asks for
 * their overlap right after, keeps what was read for that. */
#pragma once

#include "index/rank.h"

typedef struct Chunk {
        uint64_t number;  /* of the chunk */
        const uint8_t *p; /* borrowed from the store's map */
        uint32_t n;       /* entries */
} Chunk;

/* One term in one field of one kind. */
typedef struct List {
        Chunk *chunks; /* in `all` of its set, once that is complete */
        size_t first, n, at;
        uint64_t df;
        unsigned term, field;
        double weight;
        bool cut; /* there may be further chunks, behind those that were found */
} List;

/* Room for what most notes ask for, on the stack of who asks: a piece of more than a kilobyte makes the C library's heap put all in order that was freed. */
typedef struct ListsRoom {
        List list[40];
        Chunk all[64];
} ListsRoom;

typedef struct Lists {
        ListsRoom *lent; /* that is used first, or NULL */
        List *list;      /* of `lent`, or owned */
        size_t n, room;
        Chunk *all; /* of all lists, one behind the other: of `lent`, or owned */
        size_t n_all, room_all;
        Cursor *cursor; /* owned: one for all that is read; or NULL */
} Lists;
void lists_deinit(Lists *l);
#define _cleanup_lists_ _cleanup_(lists_deinit)

/* Adds a list for each term and field that has any, and finds their chunks, the first rows_most of each (0: all). 0, -EUCLEAN, -errno. */
int lists_read(Lists *l, Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *terms, size_t n, size_t rows_most);
/* The lists of one term, which are said to be of the term `as`; *ret: in how many documents it is, in the field where it is in most. */
int lists_count(Lists *l, Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *term, unsigned as, uint64_t *ret);
bool lists_have(const Lists *l, unsigned term);
/* Those of the term `as` that were counted, as lists of `term`, which are read to their ends there. Returns how many, -ENOMEM. Nothing is read, and `from` is
 * not added to while l is used. */
int lists_take(Lists *l, const Lists *from, unsigned as, unsigned term);
/* Sets `chunks`: after the last lists_read(). */
void lists_complete(Lists *l);
/* The first chunk >= number, or NULL. Goes on from where it was. */
const Chunk *list_seek(List *l, uint64_t number);
