/* Runs: supervisor, CLI. Inside of store/: the redo file. What a batch changes, whole, in one place and one write: that is kept as surely as
 * after LMDB's commit, and sooner. LMDB commits it all the same: right after, or together with some batches more (store_keep_ahead()), each of which
 * has its record behind the one before. When that does not come to pass (SIGKILL, power cut, full disk) the records are what is left, and whoever
 * takes LMDB's lock to write next writes them into the tables first.
 *
 *   record:  header of one sector (redo.c), then for each changed row, in order of tables and keys: table, 1 (there) or 0 (deleted), length of the key
 *            (be16) and of the value (be32), key, value as it is at the end of the batch
 *
 * LMDB's lock is held from the beginning of a batch to its record or to the end of its commit, so that there is never more than one chain of records
 * that counts: the one whose transaction is the next one of exactly the state that is there. The first says which: the store by its public key, the
 * transaction by LMDB's number, the state before it by a hash over the ledger's tree, its signed checkpoint and the size of each table. Each further one
 * begins on the next page and is of the same transaction; the state before it is the digest of the record before. Any other record (torn, of another
 * store, of an older or newer copy of data.mdb, of a transaction that was committed) does not count, and is written over, or taken out by a batch
 * without a record: of an older copy of data.mdb, put back alone, it would be the next transaction again, and what came without a record since
 * would be missing behind it.
 *
 * A disk writes a sector whole or not at all. So the header has a sum of itself, and for each sector of the rows two: of what is written, and of what was there
 * before. A record that does not hold together was torn while it was written when each of its sectors is one of the two: nobody was told of it. Else
 * it was damaged since, and a commit that somebody was told of is lost. */
#pragma once

#include "store/store-internal.h"

#define WAL_FILE "redo"
#define WAL_BYTES (256U * 1024) /* of the file; a batch that needs more has no record, and is told of when LMDB has committed it */
#define WAL_VERSION 2 /* 1: a header of 136 bytes without sums, read all the same */

/* Keys of the rows that a batch wrote, as often as it wrote them. */
typedef struct WalKeys {
        uint8_t *p;
        size_t n, room;
        unsigned count;
        bool lost; /* too many, or out of memory */
} WalKeys;
void wal_note(WalKeys *k, Table table, Bytes key);
void wal_keys_deinit(WalKeys *k);

/* Makes the file in a store's folder, whole or not at all, and does nothing when it is there. Returns 0 or -errno. */
int wal_make(int dir_fd);
/* Opens it; to write, it is made when it is not there. Returns 0, STORE_E_*, -errno; 0 without a file where none can be had: then nothing is
 * told of early, and to who may not read it there is nothing to bring in. */
int wal_open(Store *s, Diag *reterr);
void wal_close(Store *s);

/* Writes the record of the batch that t leads, as it is now, behind those that wal_apply() found there. sync: 0 is returned when
 * it is on the disk; else when the next start finds it, though this process be killed. -errno: LMDB's commit is all there is. */
int wal_write(Txn *t, const WalKeys *keys, bool sync);
/* The disk has the record that wal_write() wrote last. -errno: the record is wiped. */
int wal_sync(Store *s);
/* Of the transaction whose record is in the file, as it says; 0: none. Nearly always this one read is all: that transaction was committed. */
#define WAL_NUMBER_DAMAGED UINT64_MAX /* there is a header, and it is not as it was written */
uint64_t wal_number(const Store *s);
/* Takes out the record of a transaction that was committed, so that it counts for no state any more. A record with a damaged header says no number: it goes
 * when t commits, or when it is of no use for the state that t sees. The caller has LMDB's lock by t. The disk is not waited for. Returns 0, or -errno:
 * the record then stays until the next one is written over it. */
int wal_forget(Store *s, MDB_txn *t, bool commits);
/* Does the record hold together, is it of transaction number `next`, and does it follow the state that t sees? Returns 1, 0 or -errno. */
int wal_is_left(Store *s, MDB_txn *t, uint64_t next);
/* How a record does not hold together. */
typedef enum WalBroken {
        WAL_WHOLE,   /* it does, or it is none that would count */
        WAL_TORN,    /* nobody was told of it */
        WAL_DAMAGED, /* since it was written */
        WAL_UNKNOWN, /* one of the two */
} WalBroken;
/* After wal_is_left() said 0, or wal_apply() came to its end, for who has LMDB's lock, so that nobody is at it: of a record of that transaction and of this
 * state, or of one behind those that were brought in. */
WalBroken wal_broken(Store *s, MDB_txn *t, uint64_t next);
/* The same without the lock: a writer may be at it right now. */
bool wal_may_be_broken(const Store *s, uint64_t next);
/* Writes the rows of that record, which wal_is_left() found in the same transaction, in which nothing else was written, and of those behind it; s->chain
 * says then where they end. Returns 0 or -errno. */
int wal_apply(Store *s, MDB_txn *t);
