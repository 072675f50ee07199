/* Runs: supervisor, CLI. Inside of store/: the header of a record in the redo file (redo.h), and its sums: a disk writes a sector whole or not at all, so that
 * torn and damaged can be told apart. */
#pragma once

#include "store/wal.h"

#define WAL_MAGIC "lethered"
#define WAL_DIGEST 32
#define WAL_SECTOR 512U
#define WAL_SUMS ((WAL_SECTOR - 152U) / sizeof(WalSums))

/* Of one unit of the rows: as it is written, and as the file had it before. */
typedef struct WalSums {
        uint8_t now[4], before[4];
} WalSums;

typedef struct WalHead {
        uint8_t magic[8];
        uint8_t version[8], txn[8], n_rows[8], n[8]; /* big-endian; n: bytes of rows */
        uint8_t store[32];                          /* its public key */
        uint8_t before[WAL_DIGEST];
        uint8_t digest[WAL_DIGEST];                     /* BLAKE2b of all before it, and of the rows */
        /* From version 2 on: */
        uint8_t sum[8];  /* of all else of the header */
        uint8_t unit[8]; /* bytes of each of `sums`: a sector, or twice that and so on where there are more */
        WalSums sums[WAL_SUMS];
} WalHead;
#define WAL_HEAD_1 offsetof(WalHead, sum) /* bytes of a header of version 1 */
static_assert(WAL_HEAD_1 == 136 && sizeof(WalHead) == WAL_SECTOR, "the file's format");

uint64_t wal_head_sum(const WalHead *h);
/* Was it one of this store's, whatever became of it? */
bool wal_head_is_ours(const Store *s, const WalHead *h);
/* Of version 1 that is not known. */
bool wal_head_is_whole(const WalHead *h);
size_t wal_head_bytes(const WalHead *h);
/* Bytes of each sum, for rows of n bytes. */
uint64_t wal_unit(uint64_t n);
/* p: the rows' n bytes, and what follows to the end of the last sector. now: as they are written. */
void wal_sums(const uint8_t *p, uint64_t n, uint64_t unit, WalSums *sums, bool now);
/* Of rows whose digest is not the header's, and what follows to the end of the last sector: is each unit as it was written, or as it was before? Of units
 * larger than a sector, one that is neither may have some of both. */
WalBroken wal_judge(const WalHead *h, const uint8_t *p, uint64_t n);
