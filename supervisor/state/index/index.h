/* Runs: supervisor, CLI. The term index: one index for memory search, for the resolver's candidates and for pending
 * requests. A document holds the terms of a record, by field, under (scope, kind, number). The callers of index_put()
 * choose the kinds and the text of each field. Scores: index/rank.h.
 *
 * A document of n terms adds four bytes to each of n rows and has a row of its own. A term's row covers at most 256
 * documents of neighbouring numbers and so stays short. No count is stored for a term: the lengths of the term's rows
 * give the number of documents with the term. */
#pragma once

#include "index/postings.h"
#include "index/tokenizer.h"
#include "store/table.h"

#define INDEX_ID_MAX 255 /* bytes */

/* Field numbers, for all kinds. */
enum {
        INDEX_TEXT = 0,   /* the record's text */
        INDEX_ALIAS = 1,  /* other names of the record */
        INDEX_PHRASE = 2, /* earlier references to the record */
        INDEX_REFUSED = 3, /* the text of evidence that no turn may use (cognition/qualify.h) */
        INDEX_LIVE = 4, /* INDEX_LIVE_TERM, on live rows of governed memory: for searches of live rows */
        INDEX_FIELDS = TERMS_FIELDS,
};

#define INDEX_LIVE_TERM "on"

/* The transaction's tokenizer, with an empty bag and the stems of earlier texts. Lent until the next index_bag(). */
int index_bag(Txn *t, Tokenizer **ret); /* 0, -ENOMEM */

/* Writes the document with all terms of `bag`, in place of the document with the same number (above 0). Writes only the
 * difference. Borrows all arguments. Returns 0, -EUCLEAN (broken index), -errno. */
int index_put(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, const char *id, Tokenizer *bag);
/* Removes the document from all rows (M-56). -ENOENT: no such document. */
int index_del(Txn *t, uint64_t scope, uint8_t kind, uint64_t number);

/* The sums of a kind; all 0 without documents. */
int index_stats(Txn *t, uint64_t scope, uint8_t kind, IndexStats *ret);
/* The number of documents with the term in the field. */
int index_df(Txn *t, uint64_t scope, uint8_t kind, uint8_t field, const char *term, size_t n, uint64_t *ret);
/* A document's row, for doc_open(): borrowed until the next write. -ENOENT. */
int index_doc(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, Bytes *ret);
