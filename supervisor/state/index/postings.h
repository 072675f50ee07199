/* Runs: supervisor, CLI. For index/ and its readers: the format of the rows of TABLE_TERM and TABLE_DOC. Pure.
 *
 * TABLE_TERM, key: scope (8), kind (1), field (1), term, NUL, chunk (8): a document's number without the low byte.
 * Value: for each document of the chunk with the term, by number: low byte, times (1), length of the field (2). No row
 * is empty. Also in TABLE_TERM, key: scope (8), kind (1), 0xFF, a document's number without the low six bits (8).
 * Value: for each of these documents, by number: low six bits (1), length of the id (1), id. The ids order hits of
 * equal score: a read of each document's row takes ten times as long. TABLE_DOC, key: scope (8), kind (1), number (8).
 * Value: length of the id (1), id; for each field with terms, by number: field (1), length (2), terms (4), and of each
 * term, sorted: length (1), times (1), bytes. Number 0 is no document but the sums: documents (8); for each field with
 * terms: field (1), documents with the field (8), the sum of the lengths (8).
 *
 * The bytes depend only on the present documents, not on the order of the writes (G-29). */
#pragma once

#include "index/tokenizer.h"
#include "store/table.h"

#define POSTING_BYTES 4
#define CHUNK_BYTES_MAX (256 * POSTING_BYTES)
#define TERM_KEY_MAX (8 + 1 + 1 + TERM_BYTES_MAX + 1 + 8)
#define DOC_KEY_BYTES (8 + 1 + 8)

typedef struct Posting {
        uint8_t low, times;
        uint16_t length;
} Posting;

static inline Posting posting_at(const uint8_t *chunk, size_t i) {
        const uint8_t *p = chunk + i * POSTING_BYTES;

        return (Posting){.low = p[0], .times = p[1], .length = (uint16_t)(p[2] << 8 | p[3])};
}

/* Writes the common part of all keys of a term, *ret_n bytes; the chunk follows. */
size_t term_key(uint64_t scope, uint8_t kind, uint8_t field, const char *term, size_t n,
                uint8_t ret[static TERM_KEY_MAX]);
void doc_key(uint64_t scope, uint8_t kind, uint64_t number, uint8_t ret[static DOC_KEY_BYTES]);

/* Is the length of a chunk's value possible? Then its first entry is readable. */
bool chunk_sane(Bytes chunk);
/* Writes a chunk's value with the entry added or replaced (put), or without the entry (drop). Returns the bytes
 * written, 0 for an empty chunk. `ret` has room for CHUNK_BYTES_MAX. -EUCLEAN: a broken chunk, or no entry to drop. */
int chunk_put(Bytes chunk, Posting p, uint8_t *ret);
int chunk_drop(Bytes chunk, uint8_t low, uint8_t *ret);

#define IDS_KEY_BYTES (8 + 1 + 1 + 8)
#define IDS_LOW 63
#define IDS_BYTES_MAX (64 * (2 + 255))
void ids_key(uint64_t scope, uint8_t kind, uint64_t number, uint8_t ret[static IDS_KEY_BYTES]);
/* Writes a row of ids with the id added or replaced; n 0: without the id. Returns the bytes written, 0 for an empty
 * row, -EUCLEAN. */
int ids_change(Bytes row, uint8_t low, const char *id, size_t n, uint8_t ret[static IDS_BYTES_MAX]);
/* Moves *p forward in a row to the id of `low`: 0, -EUCLEAN without such an id. */
int ids_seek(const uint8_t **p, const uint8_t *end, uint8_t low, Bytes *ret);

/* Reads a document's row: the fields, and the terms of each field. */
typedef struct DocReader {
        const uint8_t *p, *end;
        const char *id; /* n_id bytes, no NUL behind them */
        uint8_t n_id;
        uint8_t field;
        uint16_t length; /* of the field */
        uint32_t left;   /* terms of the field */
} DocReader;
int doc_open(Bytes row, DocReader *ret);       /* 0 or -EUCLEAN */
/* The next term: p, n, field, times. 1, 0 at the end, -EUCLEAN. */
int doc_next(DocReader *d, Term *ret);
/* Makes a document's row from sorted terms. *ret is owned. Returns 0, -ENOMEM. */
int doc_encode(const char *id, const Term *terms, size_t n, const Tokenizer *bag, uint8_t **ret, size_t *ret_n);

typedef struct IndexStats {
        uint64_t docs;
        struct {
                uint64_t docs, length;
        } field[TERMS_FIELDS];
} IndexStats;
#define STATS_BYTES_MAX (8 + TERMS_FIELDS * 17)
int stats_decode(Bytes row, IndexStats *ret);
size_t stats_encode(const IndexStats *s, uint8_t ret[static STATS_BYTES_MAX]);
