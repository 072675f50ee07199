/* Runs: supervisor, CLI. Inside of store/: the header of a record in the write-ahead log (wal.h), and its checksums: a
 * disk writes a sector whole or not at all, so torn and damaged records differ. */
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
/* The state of a broken record. */
typedef enum WalBroken {
        WAL_WHOLE,   /* not broken, or of no account */
        WAL_TORN,    /* never acknowledged */
        WAL_DAMAGED, /* after the write */
        WAL_UNKNOWN, /* torn or damaged */
} WalBroken;
/* Judges rows whose digest is not the header's: each unit is as written, or as before, or neither. p as for wal_sums().
 * A unit larger than a sector may be a mixture of both. */
WalBroken wal_judge(const WalHead *h, const uint8_t *p, uint64_t n);
/* Reports a broken record, once; a power cut leaves a torn record. */
void wal_say_broken(Store *s, WalBroken how);
