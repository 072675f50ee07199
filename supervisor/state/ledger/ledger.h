/* Runs: supervisor, CLI. The ledger: an append-only list of entries, lines of canonical JSON, under a Merkle tree.
 * Entries go into the caller's transaction: no change is without its record. store_commit() signs a checkpoint of the
 * new size. */
#pragma once

#include "base/util.h"
#include "ledger/merkle.h"
#include "ledger/signed-note.h"
#include "store/table.h"

#define LEDGER_ENTRY_MAX 65535 /* c2sp.org/tlog-tiles: entries have a length of 16 bits */
#define TILE_HEIGHT 8          /* hashes are stored for levels 0, 8, 16 …, of which tiles are made */

/* Appends; only engine/ calls it. time_usec: of the entry, a bound for the next entry. Returns 0, -EMSGSIZE, -errno. */
int ledger_append(Txn *t, const char *entry, size_t n, uint64_t time_usec, uint64_t *ret_seq);
/* Number of entries and the time of the last entry, this transaction's own included. */
int ledger_state(Txn *t, uint64_t *ret_size, uint64_t *ret_last_usec);
/* -ENOENT: no such entry. */
int ledger_get(Txn *t, uint64_t seq, Bytes *ret);

/* Asks for a copy of this commit's checkpoint outside the store (anchor.h). */
int ledger_want_anchor(Txn *t);

/* The signed checkpoint as last committed. */
int ledger_checkpoint(Txn *t, Bytes *ret);
/* MerkleRead over the committed tree of `ctx`, a Txn. */
int ledger_node(void *ctx, unsigned level, uint64_t index, MerkleHash *ret);

/* Walks the entries from seq. ledger_next returns 0, -ENOENT at the end, -EUCLEAN when a number is missing. */
typedef struct LedgerWalk {
        Cursor *cursor;
        uint64_t next;
} LedgerWalk;
int ledger_walk(Txn *t, uint64_t from, LedgerWalk *ret);
int ledger_next(LedgerWalk *w, uint64_t *ret_seq, Bytes *ret);
void ledger_walk_deinit(LedgerWalk *w);
#define _cleanup_walk_ _cleanup_(ledger_walk_deinit)

/* Keys and rows of table hash and of meta's tree, for the audit. */
#define HASH_KEY_BYTES 9
void ledger_hash_key(unsigned level, uint64_t index, uint8_t ret[static HASH_KEY_BYTES]);
typedef struct LedgerTree {
        MerkleEdge edge;
        uint64_t last_usec;
} LedgerTree;
int ledger_tree_read(Txn *t, LedgerTree *ret);
