/* Runs: supervisor, CLI. Which documents of the index have a query's terms, and how much they say. Nothing may be written while it runs.
 *
 * The work is one step for each row of a query's terms (a row has up to 256 documents), and one for each document of rows that can still matter: with
 * BM25, once as many as are wanted are found, rows that have only terms too common to get another document in are passed over without a look at their
 * documents. Of documents that tie with the worst hit each id is compared. */
#pragma once

#include "index/index.h"

#define RANK_TERMS_MAX 64
#define RANK_ENOUGH 2
#define RANK_K1 1.2
#define RANK_B 0.75

typedef struct RankTerm {
        const char *p;
        uint8_t n;
        bool must;     /* a document without it is none of the answer */
} RankTerm;

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
        /* Called for one document after the other, the best first, until there are enough: 1: it is a hit, 0: it is none, RANK_ENOUGH: it is none, and
         * neither is anyone after it, -errno ends the search. NULL: all are. Only as many are read as it takes. */
        int (*accept)(void *user, uint8_t kind, uint64_t number, const char *id);
        void *user;
} RankQuery;

/* BM25 (k1 1.2, b 0.75), summed over the fields, with idf = ln(1 + (N - df + 0.5) / (df + 0.5)) over all documents of the kinds; best first, equal ones by id
 * (bytes), then by kind (M-14). `ret` has room for `most`. Returns 0, -EUCLEAN, -errno. */
int rank_bm25(Txn *t, const RankQuery *q, RankHit *ret, size_t *ret_n);

/* Tokenizer of the field that begin with these n bytes, in order, at most `most`. Lent by the store until something is written. */
int prefix_scan(Txn *t, uint64_t scope, uint8_t kind, uint8_t field, const char *begin, size_t n, RankTerm *ret, size_t most, size_t *ret_n);

/* What a document of one kind has of the terms: in each field, the sum of the weights of those that are there. */
typedef struct RankOverlap {
        uint64_t number;
        double field[INDEX_FIELDS];
        uint64_t terms[INDEX_FIELDS]; /* bit i: the term i is there */
        uint16_t length[INDEX_FIELDS]; /* words of the field, where it has a term */
        uint64_t unread;              /* bit i: it is behind the rows that were looked at of the term i, and may have it */
} RankOverlap;

/* All documents of the kind that have at least one of the n terms (at most RANK_TERMS_MAX) in one of the fields, in order of numbers, to `each`: 0 goes on,
 * another value ends it and is returned. weight[i] is of term i. rows_most: only so many rows of each term and field
 * are looked at, those of the lowest numbers, 0: all. live: only documents with INDEX_LIVE_TERM; others cost next to nothing. */
int rank_overlap(Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *terms, const double *weight, size_t n,
                 size_t rows_most, bool live, int (*each)(void *user, const RankOverlap *o), void *user);
/* The same of terms whose rows were read when they were counted (index/lists.h): as[i] is what term i was called there. Nothing was written since. */
struct Lists;
int rank_overlap_counted(Txn *t, uint64_t scope, uint8_t kind, const struct Lists *counted, const unsigned *as, const double *weight, size_t n, bool live,
                         int (*each)(void *user, const RankOverlap *o), void *user);
