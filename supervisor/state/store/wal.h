/* Runs: supervisor, CLI. Inside of store/: the write-ahead log (file redo). One record has all changes of a batch, in
 * one place and one write: as durable as LMDB's commit, and sooner. LMDB commits all the same: right after, or together
 * with some more batches (store_keep_ahead()), each with a record behind the record before. After a SIGKILL, a power
 * cut or a full disk only the records remain. The next process with LMDB's lock for writers first applies the records
 * to the tables.
 *
 *   record:  header of one sector (WalHead), then for each changed row, in order of tables and keys:
 *            table, 1 (there) or 0 (deleted), length of the key (be16) and of the value (be32), key, value at the end
 *
 * LMDB's lock is held from the begin of a batch to its record, or to the end of its commit. So only one chain of
 * records ever counts: the chain whose transaction follows exactly the present state. The first record names the state:
 * the store by its public key, the transaction by LMDB's number, the state before by a hash over the ledger's tree, the
 * signed checkpoint and the size of each table. Each further record begins on the next page and belongs to the same
 * transaction; its state before is the digest of the record before. Any other record does not count: torn, of another
 * store, of an older or newer copy of data.mdb, of a committed transaction. The next record overwrites such a record,
 * and a batch without a record wipes the record: beside an older copy of data.mdb, restored alone, the record would be
 * the next transaction again, without the later batches that left no record.
 *
 * A disk writes a sector whole or not at all. So the header has a checksum of itself and, for each sector of the rows,
 * two: of the bytes written, and of the bytes before. When each sector of a broken record matches one of the two, the
 * record was torn while written, and its commit was never acknowledged. Otherwise the record was damaged later, and an
 * acknowledged commit is lost. */
#pragma once

#include "store/store-internal.h"

#define WAL_FILE "redo"
#define WAL_MAGIC "lethered"
#define WAL_DIGEST 32
#define WAL_SECTOR 512U
#define WAL_SUMS ((WAL_SECTOR - 152U) / sizeof(WalSums))

/* Of one unit of the rows: as written, and as the file had the unit before. */
typedef struct WalSums {
        uint8_t now[4], before[4];
} WalSums;

typedef struct WalHead {
        uint8_t magic[8];
        uint8_t version[8], txn[8], n_rows[8], n[8]; /* big-endian; n: bytes of rows */
        uint8_t store[32];                          /* the store's public key */
        uint8_t before[WAL_DIGEST];
        uint8_t digest[WAL_DIGEST];                     /* BLAKE2b of all fields before, and of the rows */
        /* From version 2 on: */
        uint8_t sum[8];  /* of all other bytes of the header */
        uint8_t unit[8]; /* bytes for each of `sums`: a sector, times 2, 4, … for more rows */
        WalSums sums[WAL_SUMS];
} WalHead;
#define WAL_HEAD_1 offsetof(WalHead, sum) /* bytes of a header of version 1 */
static_assert(WAL_HEAD_1 == 136 && sizeof(WalHead) == WAL_SECTOR, "the file's format");

#define WAL_BYTES (256U * 1024) /* a larger batch has no record, and is acknowledged after LMDB's commit */
#define WAL_VERSION 2 /* 1: a header of 136 bytes without checksums, still readable */

/* The state of a broken record. */
typedef enum WalBroken {
        WAL_WHOLE,   /* not broken, or of no account */
        WAL_TORN,    /* never acknowledged */
        WAL_DAMAGED, /* after the write */
        WAL_UNKNOWN, /* torn or damaged */
} WalBroken;

/* Keys of the rows written by a batch, one for each write. */
typedef struct WalKeys {
        uint8_t *p;
        size_t n, room;
        unsigned count;
        bool lost; /* too many keys, or out of memory */
} WalKeys;
void wal_note(WalKeys *k, Table table, Bytes key);
void wal_keys_deinit(WalKeys *k);

/* Makes the file in a store's folder, whole or not at all; an existing file stays. Returns 0 or -errno. */
int wal_make(int dir_fd);
/* Opens the file; for writing, makes a missing file. Returns 0, STORE_E_*, -errno. Returns 0 without a file if none is
 * possible: then no commit is acknowledged early, and a process without read access has no record to apply. */
int wal_open(Store *s, Diag *reterr);
void wal_close(Store *s);

/* Writes the record of the batch that t leads, behind the records found by wal_apply(). Returns 0 when the next start
 * finds the record even after a kill of the process, and with `sync` when the disk has the record; else -errno, and
 * only LMDB's commit remains. */
int wal_write(Txn *t, const WalKeys *keys, bool sync);
/* Flushes the record of the last wal_write() to the disk. -errno: the record is wiped. */
int wal_sync(Store *s);
/* The transaction number in the first record; 0: none. Mostly this one read is enough. */
#define WAL_NUMBER_DAMAGED UINT64_MAX /* a header with a wrong checksum */
uint64_t wal_number(const Store *s);
/* Wipes the record of a committed transaction. A damaged header has no number: wiped when t commits, or when useless
 * for the state that t sees. t holds LMDB's lock. Does not wait for the disk. Returns 0, or -errno: the record stays
 * until the next record overwrites it. */
int wal_forget(Store *s, MDB_txn *t, bool commits);
/* Checks for a whole record of transaction number `next` that follows the state of t. Returns 1, 0 or -errno. */
int wal_is_left(Store *s, MDB_txn *t, uint64_t next);
/* The state of a broken record of transaction `next` and the present state, or behind the applied records. Call after
 * wal_is_left() returned 0, or after wal_apply(), with LMDB's lock: no writer is at work. */
WalBroken wal_broken(Store *s, MDB_txn *t, uint64_t next);
/* The same without the lock: a writer may be at work. */
bool wal_may_be_broken(const Store *s, uint64_t next);
/* Applies the record found by wal_is_left() in t, and those behind; s->chain has their end. 0 or -errno. */
int wal_apply(Store *s, MDB_txn *t);

/* wal-head.c: the header of a record, and its checksums. */
uint64_t wal_head_sum(const WalHead *h);
/* True for a header that once belonged to a record of the store, in any state. */
bool wal_head_is_ours(const Store *s, const WalHead *h);
/* Always true for version 1, which has no checksum. */
bool wal_head_is_whole(const WalHead *h);
size_t wal_head_bytes(const WalHead *h);
/* Bytes of each unit, for rows of n bytes. */
uint64_t wal_unit(uint64_t n);
/* p: n bytes of rows, and the bytes to the end of the last sector. now: as written; else as before. */
void wal_sums(const uint8_t *p, uint64_t n, uint64_t unit, WalSums *sums, bool now);
/* Judges rows whose digest is not the header's: each unit is as written, or as before, or neither. p as for wal_sums().
 * A unit larger than a sector may be a mixture of both. */
WalBroken wal_judge(const WalHead *h, const uint8_t *p, uint64_t n);
/* Reports a broken record, once; a power cut leaves a torn record. */
void wal_say_broken(Store *s, WalBroken how);
