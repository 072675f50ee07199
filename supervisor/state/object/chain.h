/* Runs: supervisor, CLI. The entries of an object as they are in this store. */
#pragma once

#include "object/bundle.h"
#include "object/object.h"

/* Entry n. Returns 0, ENGINE_E_BAD_CHAIN with a message (missing, unreadable, or erased), -errno. */
int chain_entry(Txn *t, const char *id, uint64_t n, Entry *ret, Diag *reterr);
/* The entries from `from` up to, and without, `to`, appended to b->entries; the same codes. */
int chain_read(Txn *t, const char *id, uint64_t from, uint64_t to, ObjectBundle *b, Diag *reterr);
/* The number of entries that both begin with: this store's `here` entries, and those of b. */
int chain_common(Txn *t, const char *id, uint64_t here, const ObjectBundle *b, uint64_t *ret, Diag *reterr);
