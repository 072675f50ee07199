/* Runs: supervisor, CLI. The rows of a bucket for the resolver, during a commit and the attempts that the commit
 * triggers. Each row is read and analysed once. In the caller's transaction; the caller announces each row before its
 * change. */
#pragma once

#include "belief/pair.h"
#include "record/record.h"

typedef struct BucketRow {
        char id[RECORD_ID_MAX];
        uint64_t number; /* in the index */
        RecordState state;
        char *title; /* owned; NULL: the row must be read again */
        uint64_t agent; /* pair_name() of the agent that made the row; 0: unknown */
        EvidenceRow evidence;
} BucketRow;
void bucket_row_free(BucketRow *row);

typedef struct Bucket {
        Txn *txn; /* borrowed */
        uint64_t scope;
        Kind kind;
        Lexicon *lexicon; /* owned; NULL before the first use */
        bool counted;     /* the lexicon has the number of rows */
        unsigned fields;  /* 1 << INDEX_TEXT …: fields with terms for the search, as far as any row has terms there */
        struct Lists *counting; /* index/lists.h: a store for the posting lists of the terms under count; or NULL */
        BucketRow **rows; /* owned, by number: a hash table */
        size_t n, room;
        const BucketRow *last; /* the last requested row, mostly the next to be committed; or NULL */
} Bucket;
Bucket bucket_of(Txn *t, uint64_t scope, Kind kind);
void bucket_deinit(Bucket *b);
#define _cleanup_bucket_ _cleanup_(bucket_deinit)

/* The lexicon, with the current counts. Returns whether the bucket has rows (0, 1), -errno. */
int bucket_lexicon(Bucket *b, Lexicon **ret);
/* The row, borrowed until bucket_take(). After bucket_lexicon(). Returns 0, -ENOENT, -errno. */
int bucket_row(Bucket *b, const char *id, const BucketRow **ret);
/* The same by the row's number in the index, from memory when the row was read before. -EUCLEAN: no such row. */
int bucket_numbered(Bucket *b, uint64_t number, const BucketRow **ret);
/* Announces a change of the row, and so of the words' weights. *ret: the old row, owned; NULL: new. Returns 0 or
 * -errno. */
int bucket_take(Bucket *b, const char *id, BucketRow **ret);

/* The weighed candidate c as a pair, borrowed from the row. */
Pair bucket_pair(const BucketRow *row, ResolveCandidate *c);
/* Sets the probabilities of the candidates of a request that ends a row; leaves those of other requests alone. Returns 0
 * or -errno. */
int bucket_compare(Lexicon *l, const ResolveEvidence *e, const ResolveQuestion *asked, const Pair *pairs, size_t n);
