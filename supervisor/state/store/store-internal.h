/* Runs: supervisor, CLI. Inside of store/: shared by its files, and included by tests. */
#pragma once

#include "base/pages.h"
#include "store/write-lock.h"
#include "store/hooks.h"
#include "store/store.h"
#include "store/row.h"
#include "store/ticket.h"

#include <lmdb.h>
#include <sys/stat.h>

/* 1: without tables of records; 2: the index did not mark ended rows (engine/fold.h); 3: without table claim */
#define STORE_VERSION 4
#define ORIGIN_MAX 32

/* Consecutive records in the write-ahead log (wal.h). */
typedef struct WalChain {
        unsigned n;
        size_t end;       /* the place of the next record */
        uint8_t last[32]; /* digest of the last record */
} WalChain;

struct Store {
        char *dir;
        StoreMode mode;
        MDB_env *env;
        MDB_dbi dbi[TABLE_COUNT_]; /* 0: a table that the store lacks */
        bool lacks_tables;
        int dir_fd;
        bool no_lock; /* reads without LMDB's lock file: a snapshot holds until the second later commit */
        uint64_t copy_of; /* of scratch tables: bytes of the data file beside; 0: no scratch tables */
        bool may_write;   /* the data file, in any mode */
        uint8_t public_key[32];
        uint8_t *secret;  /* 64 bytes in locked memory, NULL with STORE_READ */
        char origin[ORIGIN_MAX];
        Gate gate;        /* for the ticket's holder */
        int alone_fd;     /* store_alone(), or -1 */
        int lock_fd;      /* STORE_SUPERVISE, else -1 */
        uint64_t lock;
        char *anchor;     /* path, found at the open */
        StoreSeen seen;
        void *guard;      /* fault.c */
        Ticket ticket;        /* to write; the holder may use `batch` */
        struct TxnBatch *batch; /* open, or NULL */
        int wal_fd;      /* -1: no file */
        uint8_t *wal_bytes;    /* its bytes, for the ticket's holder */
        _Atomic bool said_broken; /* a broken record was reported */
        uint8_t *journal; /* a block for journal.h, zeros; for the ticket's holder; NULL: none */
        WalChain chain;  /* in the open batch, for the ticket's holder */
        WalChain chain_before; /* the chain before the last record was written */
        unsigned keeps;   /* the number of records that may wait for one commit of LMDB */
        struct WalCheckpoint *checkpoint; /* wal-checkpoint.c; NULL before the first left record */
        bool in_loop;            /* no thread: the loop of the store's user watches checkpoint_due */
        uint64_t checkpoint_due;     /* CLOCK_MONOTONIC usec; UINT64_MAX: no record is left */
        _Atomic uint32_t behind; /* odd while acknowledged changes wait for LMDB's commit: readers wait */
        _Atomic bool said;       /* a failed checkpoint was reported */
        bool checked;     /* the pages were checked by this process, or by the writer before (page-check.c) */
        unsigned walks;   /* of the pages, by this process */
        unsigned commits;
        _Atomic uint64_t regions_ahead;
};

typedef struct TxnBatch TxnBatch;
struct Txn {
        Store *store;
        MDB_txn *mdb;  /* of the batch, for a writer */
        bool write;
        bool leads;    /* opened the batch, and commits the batch */
        bool ahead;    /* is acknowledged as soon as the log has the record */
        bool slots;    /* changed a slot or a skill: not acknowledged ahead */
        TxnBatch *batch;  /* NULL for a reader */
        struct Change *changes; /* journal.h: of a follower, or since table_save() */
        uint8_t *journal; /* owned: memory for changes, n_journal bytes used; NULL: none */
        size_t n_journal;
        unsigned saves; /* open table_save() calls */
        void *ledger;
        void *kept; /* hooks.h, or NULL */
        void (*release)(void *kept);
        bool started;     /* the first half of the commit was done by store_commit_start(), with start_result */
        int start_result;
};

/* open.c: a store without files; NULL: no memory. */
Store *store_new(StoreMode mode);
/* txn.c: passes r on. A failure of LMDB within a batch fails all members. */
int txn_result(Txn *t, int r);
/* Notes a written row. */
void txn_wrote(Txn *t, Table table, Bytes key);
/* read.c: begins a snapshot. at_once: without acknowledged changes that wait for LMDB's commit. */
int read_begin(Txn *t, bool at_once);
/* Readers of the process wait between both calls. Only one thread at a time. */
void read_hold_up(Store *s);
void read_let_go(Store *s);
/* wal-checkpoint.c. wal_checkpoint_soon() brings left records to the tables soon, unless a commit of LMDB is sooner;
 * returns 0, or -errno: no record may be left then. wal_checkpoint_done(): a commit included all left records. For the
 * ticket's holder. */
int wal_checkpoint_soon(Store *s);
void wal_checkpoint_done(Store *s);
/* Brings left records to the tables now, and ends the thread. */
void wal_checkpoint_close(Store *s);
/* Around each call into LMDB: a fault inside is known to be the store's (fault.c). */
#define LMDB(call)                \
        ({                        \
                int lmdb_r_;      \
                pages_depth++;    \
                lmdb_r_ = (call); \
                pages_depth--;    \
                lmdb_r_;          \
        })

/* lmdb.c: the only begin and end of LMDB's write transactions. LMDB's codes. */
int lmdb_write_begin(MDB_env *env, MDB_txn **ret);
int lmdb_write_commit(MDB_txn *t);
void lmdb_write_abort(MDB_txn *t);
/* The same behind the gate, for a store that other processes may have open. 0 or -errno, also gate_take()'s. */
int store_write_begin(Store *s, MDB_txn **ret);
int store_write_commit(Store *s, MDB_txn *t);
void store_write_abort(Store *s, MDB_txn *t);
/* LMDB's codes (0, positive errno, negative MDB_*) to -errno, the only place. */
int lmdb_to_errno(int rc);
/* A negative errno of the store as 0, STORE_E_* with a message, or -errno. The message begins with `what`. */
int store_refusal(const Store *s, int r, const char *what, Diag *reterr);

int fault_guard_install(Store *s); /* 0, or -EMFILE when too many stores are open */
void fault_guard_map(Store *s, const void *p, size_t n_file, size_t n_map);
void fault_guard_remove(Store *s);
/* datafile.c: reads the meta pages with pread before any mapping. 0, STORE_E_DAMAGED, STORE_E_MISSING, -errno. */
int datafile_check(int dir_fd, const char *dir, Diag *reterr);
/* For the holder of LMDB's lock. Extends a nearly full file with zeros, by at most a quarter: otherwise each second
 * commit needs a new page, and a commit that also writes a new file length and new blocks takes a fifth longer. */
void datafile_grow(Store *s);
/* env.c: opens LMDB in `path` with the tables. create: makes the tables. */
int env_open(Store *s, const char *path, bool create, Diag *reterr);
/* Makes the tables that an older store lacks, if the store is writable. 0 or -errno. */
int env_upgrade(Store *s);
void env_close(Store *s);
/* With store_alone(): data.mdb is going to be another file, and no process is just opening the present one. Until the
 * store is closed. 0, STORE_E_LOCKED with a message. */
int store_replaces(Store *s, Diag *reterr);
/* create.c: makes a store beside `dir` and renames it there. 0 also when another process was faster. */
int store_create(const char *dir, Diag *reterr);

int key_make(int dir_fd, uint8_t ret_public[static 32], Diag *reterr);
int key_load(Store *s, Diag *reterr);
void key_free(Store *s);
void origin_of(const uint8_t public_key[static 32], char ret[static ORIGIN_MAX]);
/* place.c: the places of living supervisors. */
int place_take(Store *s, Diag *reterr);
/* page-check.c. Walks the pages, unless they are as a writer who had checked them left them. With the gate and LMDB's
 * lock. 0, -EUCLEAN (logged), -errno. */
int page_check_before_write(Store *s, uint64_t txn);
void page_check_committed(Store *s); /* after each commit, with the gate */
