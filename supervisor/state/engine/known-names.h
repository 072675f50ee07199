/* Runs: supervisor, CLI. For engine/ only: the text of a record in the index, and reference memory (G-41..G-43): the
 * names of issues, constraints and decisions in the notes about them. */
#pragma once

#include "record/record.h"

#define REFMEM_PHRASES_MAX 16 /* with aliases; the oldest phrase goes first, then the oldest alias */
#define REFMEM_PHRASE_BYTES 512 /* longer phrases are cut at a character */

/* Issues, constraints and decisions have reference memory. */
bool refmem_remembers(Kind k);
/* Adds the body's "aliases" and "phrases" to the row's: normalised (lower case, single spaces), each once. Leaves kinds
 * without reference memory unchanged. Returns 0 or -ENOMEM. */
int refmem_grow(Record *rec, const json_t *body);
/* The hash at the end of an id ("c_1bb4a528c41f"), for notes with a longer or shorter form: at least REFMEM_HASH_LEAST
 * digits, lent. 0: none. */
#define REFMEM_HASH_LEAST 7
size_t refmem_hash(const char *id, const char **ret);
/* Puts the record's present text, aliases, phrases and INDEX_LIVE into the index, or removes the document after
 * OP_REMOVE and OP_DELETE. body: of this step's event. A record with an erased payload stays out: a later event removes
 * such a record. Returns 0 or -errno. */
int refmem_index(Txn *t, const Record *rec, Op op, const json_t *body);
