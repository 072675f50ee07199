/* Runs: tests. Stands between LMDB and the kernel in this program: records what the store writes and syncs, and makes the n-th such call
 * fail. The program's own definitions of pwrite and the like win over libc's (they are found first when LMDB is linked in). */
#pragma once

#include "base/util.h"

typedef struct Op {
        enum { OP_WRITE, OP_SYNC, OP_MARK } kind;
        unsigned file; /* 0: the first one that is watched, 1: the other one */
        bool durable;  /* OP_WRITE: by RWF_DSYNC or through an O_DSYNC descriptor, as LMDB writes its meta pages */
        uint64_t at;   /* OP_WRITE: offset; OP_MARK: the test's number */
        size_t n;
        uint8_t *data; /* owned */
} Op;

/* Records writes and syncs of the file with this inode from now on. */
void write_log_start(const char *data_file);
/* Another file is watched as well: after write_log_start() or fail_after(). */
void write_log_also(const char *file);
void write_log_mark(uint64_t number);
void write_log_stop(Op **ret, size_t *ret_n); /* the list is the caller's */
void write_log_free(Op *ops, size_t n);

/* The call number `countdown` (1: the next) of pwrite, writev, fdatasync, fsync on this file fails with `error`; 0: none.
 * `half`: a write does half of its bytes first. */
/* By zeros, so that no commit of the test makes it longer ahead: such a write may fail, and the commit goes well. */
void lengthen(const char *file);
void fail_after(const char *file, unsigned countdown, int error, bool half);
bool fail_happened(void);
