/* Runs: supervisor, CLI. The entries of an object in the store. */
#pragma once

#include "object/bundle.h"
#include "object/object.h"

/* Entry n. Returns 0, ENGINE_E_BAD_CHAIN with a message (missing, unreadable, or erased), -errno. */
int chain_entry(Txn *t, const char *id, uint64_t n, Entry *ret, Diag *reterr);
/* The entries from `from` up to, and without, `to`, appended to b->entries; the same codes. */
int chain_read(Txn *t, const char *id, uint64_t from, uint64_t to, ObjectBundle *b, Diag *reterr);
/* The length of the common beginning of the `here` entries in the store and the entries of b. */
int chain_common(Txn *t, const char *id, uint64_t here, const ObjectBundle *b, uint64_t *ret, Diag *reterr);
