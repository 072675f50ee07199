/* Runs: supervisor, CLI. The documents with a query's terms, and their scores. No write may happen meanwhile.
 *
 * The work is one step for each row of the query's terms (at most 256 documents a row), and one step for each document
 * of rows that still matter. With enough hits, BM25 skips rows whose terms are all too common for another hit. Ids are
 * compared only for ties with the worst hit. */
#pragma once

#include "index/lists.h"

#define RANK_TERMS_MAX 64
#define RANK_ENOUGH 2
#define RANK_K1 1.2
#define RANK_B 0.75

typedef struct RankHit {
        double score;
        uint64_t number;
        uint8_t kind;
        char id[INDEX_ID_MAX + 1];
} RankHit;

typedef struct RankQuery {
        uint64_t scope;
        const uint8_t *kinds;
        size_t n_kinds;
        unsigned fields;       /* 1 << INDEX_TEXT | ... */
        const RankTerm *terms; /* each once */
        size_t n_terms;        /* at most RANK_TERMS_MAX */
        size_t most;           /* hits */
        /* Called for each document, best first, until `most` hits: 1: a hit; 0: no hit; RANK_ENOUGH: no hit, and the
         * search ends; -errno fails the search. NULL: all are hits. No more documents are read than needed. */
        int (*accept)(void *user, uint8_t kind, uint64_t number, const char *id);
        void *user;
} RankQuery;

/* BM25 (k1 1.2, b 0.75), summed over the fields, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)) over all documents of
 * the kinds. Best first; equal scores by id (bytes), then by kind (M-14). `ret` has room for `most`. Returns 0,
 * -EUCLEAN, -errno. */
int rank_bm25(Txn *t, const RankQuery *q, RankHit *ret, size_t *ret_n);

/* The terms of the field with the given first n bytes, in order, at most `most`. Lent by the store until the next
 * write. */
int prefix_scan(Txn *t, uint64_t scope, uint8_t kind, uint8_t field, const char *begin, size_t n, RankTerm *ret,
                size_t most, size_t *ret_n);

/* A document's share of the terms: in each field, the sum of the weights of its terms. */
typedef struct RankOverlap {
        uint64_t number;
        double field[INDEX_FIELDS];
        uint64_t terms[INDEX_FIELDS]; /* bit n: term n */
        uint16_t length[INDEX_FIELDS]; /* words of the field, if the field has a term */
        uint64_t unread; /* bit n: the document lies beyond the rows read for term n, and may have the term */
} RankOverlap;

/* Calls `each` for all documents of the kind with a term (n: at most RANK_TERMS_MAX) in a given field, by number; a
 * result other than 0 ends the walk and is returned. `weight[i]` belongs to term `i`. rows_most: the number of rows
 * read for each term and field, lowest numbers first; 0: all. live: only documents with INDEX_LIVE_TERM; all others
 * cost next to nothing. */
int rank_overlap(Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *terms, const double *weight,
                 size_t n, size_t rows_most, bool live, int (*each)(void *user, const RankOverlap *o), void *user);
/* The same for terms counted before (index/lists.h): `as[i]` is the number of term `i` in `counted`. No write has
 * happened since. */
int rank_overlap_counted(Txn *t, uint64_t scope, uint8_t kind, const Lists *counted, const unsigned *as,
                         const double *weight, size_t n, bool live, int (*each)(void *user, const RankOverlap *o),
                         void *user);
