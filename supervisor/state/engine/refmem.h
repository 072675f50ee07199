/* Runs: supervisor, CLI. Inside of engine/: what the text of a record is to the index, and reference memory (G-41..G-43): how issues, constraints and
 * decisions were called by the notes that were about them. */
#pragma once

#include "record/record.h"

#define REFMEM_PHRASES_MAX 16 /* aliases included; of those that are too many the oldest that is no alias goes first */
#define REFMEM_PHRASE_BYTES 512 /* a longer one is cut at a character */

/* Issues, constraints, decisions: the kinds whose rows are looked for by what is said of them. */
bool refmem_remembers(Kind k);
/* Members "aliases" and "phrases" of the row take in those of the body: normalised (lower case, single spaces), each once. Kinds without reference memory stay
 * as they are. Returns 0 or -ENOMEM. */
int refmem_grow(Record *rec, const json_t *body);
/* The hash that an id ends in ("c_1bb4a528c41f"), for notes that write it longer or shorter: at least REFMEM_HASH_LEAST digits, lent. 0: none. */
#define REFMEM_HASH_LEAST 7
size_t refmem_hash(const char *id, const char **ret);
/* The record's text, aliases and phrases in the index, and INDEX_LIVE, as they are now; out of it when op removed or deleted it. body: of the event of this
 * step. What was erased is not put: such a record is removed by a later event. Returns 0 or -errno. */
int refmem_index(Txn *t, const Record *rec, Op op, const json_t *body);
