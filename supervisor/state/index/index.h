/* Runs: supervisor, CLI. The term index: one for memory search, for the resolver's candidates and for what waits. A document is the terms of a record, by
 * field, under (scope, kind, number); which kinds there are, and what goes into which field, is for those who put. Scores: index/rank.h.
 *
 * A document of n terms is n rows that grow by four bytes each, and one of its own: a common term's row has at most 256 documents of neighbouring numbers, so
 * that no row gets long. Nothing is counted apart: how many documents have a term is the length of its rows. */
#pragma once

#include "index/postings.h"
#include "index/tokenizer.h"
#include "store/table.h"

#define INDEX_ID_MAX 255 /* bytes */

/* Field numbers, for all kinds. */
enum {
        INDEX_TEXT = 0,   /* what the record says */
        INDEX_ALIAS = 1,  /* other names of it */
        INDEX_PHRASE = 2, /* how it was referred to */
        INDEX_LIVE = 4,   /* INDEX_LIVE_TERM, of a row of governed memory that has not ended: such rows are found without a look at the others */
        INDEX_FIELDS = TERMS_FIELDS,
};

#define INDEX_LIVE_TERM "on"

/* The transaction's bag, empty: one for all that is read in it, since stems that were found once are known to it. Lent until somebody asks again. */
int index_bag(Txn *t, Tokenizer **ret); /* 0, -ENOMEM */

/* Puts the document, in place of the one that had the number: `terms` has all of it. number is above 0. Only what differs is written. Borrows everything.
 * Returns 0, -EUCLEAN (the index does not hold), -errno. */
int index_put(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, const char *id, Tokenizer *terms);
/* Takes it out: nothing of it is left, in no row (M-56). -ENOENT: it is not there. */
int index_del(Txn *t, uint64_t scope, uint8_t kind, uint64_t number);

/* Sums of a kind; all 0 when it has no documents. */
int index_stats(Txn *t, uint64_t scope, uint8_t kind, IndexStats *ret);
/* How many documents have the term in the field. */
int index_df(Txn *t, uint64_t scope, uint8_t kind, uint8_t field, const char *term, size_t n, uint64_t *ret);
/* The row of a document, for doc_open(): borrowed until the next write. -ENOENT. */
int index_doc(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, Bytes *ret);
