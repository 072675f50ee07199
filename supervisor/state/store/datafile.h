/* Runs: supervisor, CLI. LMDB's data file as bytes, read without LMDB. Inside of store/. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

/* LMDB's file format 1 as far as it is needed before mapping (lmdb.h's mdb.c, MDB_page and MDB_meta): two meta pages, the newer
 * counts. LMDB itself compares nothing with the size of the file, and would be killed by SIGBUS later. */
#define META_MAGIC 0xBEEFC0DEU
#define META_FORMAT 1U
#define PAGE_META 0x08U
#define PAGE_HEADER 16

typedef struct MetaTable {
        uint32_t pad; /* of the first table: the page size */
        uint16_t flags, depth;
        uint64_t branch, leaf, overflow, entries, root;
} MetaTable;

typedef struct Meta {
        uint32_t magic, format;
        uint64_t address, map_size;
        MetaTable tables[2]; /* free pages, main */
        uint64_t last_page, txn;
} Meta;

int datafile_read(int fd, uint64_t at, void *p, size_t n); /* 0, -ENODATA when the file ends before, -errno */

/* Walks all trees from one meta page: each page is where it says, holds together, is used once, lies in the file, and is not also in the list
 * of free pages. Returns 0, 1 with a message, -errno. */
int datafile_walk(int fd, const Meta *m, uint32_t page_size, Diag *reterr);
/* The same for the commit with this number, which must be one of the last two: else -EAGAIN. */
int datafile_walk_at(int fd, uint64_t txn, Diag *reterr);
/* How many pages it counts. */
int datafile_pages(int fd, uint64_t txn, uint64_t *ret);
