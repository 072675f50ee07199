/* Runs: supervisor, CLI. The rows of a bucket as the resolver sees them, for one commit and all that it triggers: each is read and taken apart once, however
 * many requests are held against it. In the caller's transaction, who tells it of each row that is about to change. */
#pragma once

#include "belief/evidence.h"
#include "record/record.h"

typedef struct BucketRow {
        char id[RECORD_ID_MAX];
        uint64_t number; /* in the index */
        RecordState state;
        char *title; /* owned; NULL: it is to be read again */
        EvidenceRow evidence;
} BucketRow;
void bucket_row_free(BucketRow *row);

typedef struct Bucket {
        Txn *txn; /* borrowed */
        uint64_t scope;
        Kind kind;
        Lexicon *lexicon; /* owned; NULL: nothing was asked yet */
        bool counted;     /* the lexicon knows how many rows there are */
        unsigned fields;  /* 1 << INDEX_TEXT …: in which a row can have a term that it is found by, and some row has any */
        struct Lists *counting; /* index/lists.h: what is read of the terms that are counted now stays there; or NULL */
        BucketRow **rows; /* owned, by number: a hash table */
        size_t n, room;
        const BucketRow *last; /* that was asked for, one of rows: mostly it is the one that is committed next; or NULL */
} Bucket;
Bucket bucket_of(Txn *t, uint64_t scope, Kind kind);
void bucket_deinit(Bucket *b);
#define _cleanup_bucket_ _cleanup_(bucket_deinit)

/* The lexicon, with the counts of now. Returns how many rows the bucket has (0, 1 for any), -errno. */
int bucket_lexicon(Bucket *b, Lexicon **ret);
/* Borrowed until the row is taken. Returns 0, -ENOENT, -errno. After bucket_lexicon(). */
int bucket_row(Bucket *b, const char *id, const BucketRow **ret);
/* The row with this number in the index, likewise: what was read before is not read again. -EUCLEAN: there is none. */
int bucket_numbered(Bucket *b, uint64_t number, const BucketRow **ret);
/* The row is about to change, and with it what the words weigh: *ret is what it was, owned; NULL: it was not there. Returns 0 or -errno. */
int bucket_take(Bucket *b, const char *id, BucketRow **ret);
