/* Runs: supervisor, CLI. Inside of store/: the header of a record in the redo file (redo.h), and its sums: a disk writes a sector whole or not at all, so that
 * torn and damaged can be told apart. */
#pragma once

#include "store/redo.h"

#define REDO_MAGIC "lethered"
#define REDO_DIGEST 32
#define REDO_SECTOR 512U
#define REDO_SUMS ((REDO_SECTOR - 152U) / sizeof(RedoSums))

/* Of one unit of the rows: as it is written, and as the file had it before. */
typedef struct RedoSums {
        uint8_t now[4], before[4];
} RedoSums;

typedef struct RedoHead {
        uint8_t magic[8];
        uint8_t version[8], txn[8], n_rows[8], n[8]; /* big-endian; n: bytes of rows */
        uint8_t store[32];                          /* its public key */
        uint8_t before[REDO_DIGEST];
        uint8_t digest[REDO_DIGEST];                     /* BLAKE2b of all before it, and of the rows */
        /* From version 2 on: */
        uint8_t sum[8];  /* of all else of the header */
        uint8_t unit[8]; /* bytes of each of `sums`: a sector, or twice that and so on where there are more */
        RedoSums sums[REDO_SUMS];
} RedoHead;
#define REDO_HEAD_1 offsetof(RedoHead, sum) /* bytes of a header of version 1 */
static_assert(REDO_HEAD_1 == 136 && sizeof(RedoHead) == REDO_SECTOR, "the file's format");

uint64_t redo_head_sum(const RedoHead *h);
/* Was it one of this store's, whatever became of it? */
bool redo_head_is_ours(const Store *s, const RedoHead *h);
/* Of version 1 that is not known. */
bool redo_head_is_whole(const RedoHead *h);
size_t redo_head_bytes(const RedoHead *h);
/* Bytes of each sum, for rows of n bytes. */
uint64_t redo_unit(uint64_t n);
/* p: the rows' n bytes, and what follows to the end of the last sector. now: as they are written. */
void redo_sums(const uint8_t *p, uint64_t n, uint64_t unit, RedoSums *sums, bool now);
/* Of rows whose digest is not the header's, and what follows to the end of the last sector: is each unit as it was written, or as it was before? Of units
 * larger than a sector, one that is neither may have some of both. */
RedoBroken redo_judge(const RedoHead *h, const uint8_t *p, uint64_t n);
