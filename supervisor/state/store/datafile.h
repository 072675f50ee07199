/* Runs: supervisor, CLI. Inside of store/: LMDB's data file as bytes, read without LMDB. */
#pragma once

#include "store/page-walk.h"

int datafile_read(int fd, uint64_t at, void *p, size_t n); /* 0, -ENODATA when the file ends before, -errno */
/* The same for the commit with number txn: one of the last two, else -EAGAIN. */
int datafile_walk_at(int fd, uint64_t txn, Diag *reterr);
/* The number of pages in that commit. */
int datafile_pages(int fd, uint64_t txn, uint64_t *ret);
