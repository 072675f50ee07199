/* Runs: tests. What the tests of the redo file (store/wal.h) share: a commit of which is told ahead, processes that die before LMDB has it, and
 * the store's two files as they were at a time. */
#pragma once

#include "tests/support/store-fixture.h"

#define WAL_BYTES (256U << 10)
#define N_ENTRIES 3 /* of life() */
#define CHAIN 8     /* records that share one commit of LMDB */

/* Who comes after one that died. */
typedef enum Next { NEXT_READER, NEXT_WRITER, NEXT_SUPERVISOR, NEXT_KILLED_AGAIN, NEXT_COUNT_ } Next;

/* A region from its allocation to its end, in one transaction: rows of several tables, one of them put and deleted again. */
int life(Txn *t, Diag *reterr);
/* The same by store_commit_ahead(). */
int live_ahead(Store *s, Txn **ret_rest, Diag *reterr);
/* Entries of the ledger. */
uint64_t size_of(Store *s);
/* The same, and an audit finds all of them as they should be. */
uint64_t whole(StoreFixture *f, const char *when);
/* The path of a file of the store; good until the second call after it. */
const char *file_in(const StoreFixture *f, const char *name);
/* A store in which one has lived. */
void wal_init(StoreFixture *f);

/* A process that is told and dies before LMDB's commit. It first lives `before` times as others do. The store is closed. */
void leave(StoreFixture *f, unsigned before);
/* The same with all `n` that it is told of left in the file. */
void leave_chain(StoreFixture *f, unsigned n);

typedef struct Image {
        char *data, *redo;
        size_t n_data, n_redo;
} Image;
void image_deinit(Image *i);
#define _cleanup_image_ _cleanup_(image_deinit)
void image_take(StoreFixture *f, Image *ret);
/* data.mdb of one time beside that redo file; the store is closed. */
void image_put_back(StoreFixture *f, const Image *data, const char *redo, size_t n_redo);
