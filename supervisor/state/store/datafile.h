/* Runs: supervisor, CLI. Inside of store/: LMDB's data file as bytes, read without LMDB: its pages, and the walk that
 * checks all pages of a commit. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

/* LMDB's file format 1 (lmdb's mdb.c, MDB_page and MDB_meta) as far as needed before mapping: two meta pages, the newer
 * counts. LMDB does not compare any page number with the size of the file: a short file would end the process by SIGBUS
 * later. */
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

/* page-walk.c: walks all trees from one meta page. Each page must have its own number, hold together, be used once, lie
 * in the file, and be absent from the list of free pages. Returns 0, 1 with a message, -errno. */
int page_walk(int fd, const Meta *m, uint32_t page_size, Diag *reterr);

/* datafile.c; also for the write-ahead log */
int datafile_read(int fd, uint64_t at, void *p, size_t n); /* 0, -ENODATA when the file ends before, -errno */
/* The same for the commit with number txn: one of the last two, else -EAGAIN. */
int datafile_walk_at(int fd, uint64_t txn, Diag *reterr);
