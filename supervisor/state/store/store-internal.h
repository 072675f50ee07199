/* Runs: supervisor, CLI. Inside of store/: what its files share. Nobody else includes this. */
#pragma once

#include "base/pages.h"
#include "store/gate.h"
#include "store/hooks.h"
#include "store/store.h"
#include "store/table.h"
#include "store/ticket.h"

#include <lmdb.h>
#include <sys/stat.h>

#define STORE_VERSION 3 /* 1 had no tables of records; 2 did not say in the index which rows have ended (engine/fold.h) */
#define ORIGIN_MAX 32

/* Records that follow one another in the redo file (redo.h). */
typedef struct WalChain {
        unsigned n;
        size_t end;       /* where the next one goes */
        uint8_t last[32]; /* digest of the last one */
} WalChain;

struct Store {
        char *dir;
        StoreMode mode;
        MDB_env *env;
        MDB_dbi dbi[TABLE_COUNT_]; /* 0: a table that this store lacks */
        bool lacks_tables;
        int dir_fd;
        bool no_lock;     /* read without LMDB's lock file: a snapshot holds only until the second commit after it */
        uint64_t copy_of; /* of scratch tables: bytes of the data file that they are made beside; 0: it is none */
        bool may_write;   /* the file, whatever the mode */
        uint8_t public_key[32];
        uint8_t *secret;  /* 64 bytes in locked memory, NULL with STORE_READ */
        char origin[ORIGIN_MAX];
        Gate gate;        /* for who has the turn */
        int alone_fd;     /* alone.c, or -1 */
        int lock_fd;      /* STORE_SUPERVISE, else -1 */
        uint64_t lock;
        char *anchor;     /* path, found when opened */
        StoreSeen seen;
        void *guard;      /* fault.c */
        Ticket turn;        /* to write; who has it may use `batch` */
        struct Batch *batch; /* open, or NULL */
        int wal_fd;      /* redo.h; -1: no file */
        uint8_t *redo;    /* its bytes, for who has the turn */
        _Atomic bool said_broken; /* that it has a record which does not hold together */
        WalChain chain, chain_before;  /* in the open batch, and before its record was written; for who has the turn */
        unsigned keeps;   /* so many records may be left for one commit of LMDB */
        struct Settler *settler; /* settle.c; NULL while nothing was ever left */
        bool in_loop;            /* there will be none: whoever has the store looks at settle_due */
        uint64_t settle_due;     /* CLOCK_MONOTONIC usec; UINT64_MAX: nothing is left */
        _Atomic uint32_t behind; /* odd while what was told of is not committed by LMDB: readers wait for that */
        _Atomic bool said;       /* that what the redo file has cannot be brought in */
        bool checked;     /* by this process: the pages hold together (checked.c) */
        bool large;       /* then also: the file as our last commit left it */
        struct stat left;
        unsigned commits;
        _Atomic uint64_t regions_ahead;
};

typedef struct Batch Batch;
struct Txn {
        Store *store;
        MDB_txn *mdb;  /* of the batch, when it writes */
        bool write;
        bool leads;    /* opened the batch, and commits it */
        bool ahead;    /* is told as soon as it is sure to be kept */
        bool slots;    /* changed one: then it is not */
        Batch *batch;  /* NULL when it reads */
        struct Change *changes; /* journal.h: of one that does not lead, or since table_save() */
        uint8_t *journal; /* owned: where these stand, n_journal bytes of it, as long as there is room; or NULL */
        size_t n_journal;
        unsigned saves; /* table_save() without its end */
        void *ledger;
        void *kept; /* hooks.h, or NULL */
        void (*release)(void *kept);
        bool started;     /* store_commit_start() did the first half of its commit, with start_result */
        int start_result;
};

/* Is it of a version that this Lethe knows? A newer one may have been here since it was opened. 0, or STORE_E_VERSION with a message. */
int store_known(Txn *t, Diag *reterr);
/* txn.c: passes r on; an LMDB that failed within a batch has failed for all of its members. */
int txn_result(Txn *t, int r);
/* This row was written. */
void txn_wrote(Txn *t, Table table, Bytes key);

/* read.c: a snapshot. at_once: without what was told of and is not committed by LMDB. */
int read_begin(Txn *t, bool at_once);
/* Readers of this process wait from the one to the other; nobody else may be in between. */
void read_hold_up(Store *s);
void read_let_go(Store *s);

/* settle.c: brings in what is left, soon, unless LMDB's commit was sooner, or forgets what came with one. For who has the turn. Returns 0, or -errno:
 * nothing is to be left then. */
int wal_checkpoint_soon(Store *s);
void wal_checkpoint_done(Store *s);
/* Brings it in now, and ends what was set going. */
void wal_checkpoint_close(Store *s);

/* Each call into LMDB goes through this, so that a fault inside it is known to be the store's (fault.c). */
#define LMDB(call)                                                                                                     \
        ({                                                                                                             \
                int lmdb_r_;                                                                                           \
                pages_depth++;                                                                                          \
                lmdb_r_ = (call);                                                                                      \
                pages_depth--;                                                                                          \
                lmdb_r_;                                                                                               \
        })

/* lmdb-write.c: the only ways to begin and to end a write transaction of LMDB. LMDB's codes. */
int lmdb_write_begin(MDB_env *env, MDB_txn **ret);
int lmdb_write_commit(MDB_txn *t);
void lmdb_write_abort(MDB_txn *t);
/* The same for a store that others may have open, behind its gate. 0 or -errno, also those of gate_take(). */
int store_write_begin(Store *s, MDB_txn **ret);
int store_write_commit(Store *s, MDB_txn *t);
void store_write_abort(Store *s, MDB_txn *t);

/* lmdb-error.c: LMDB's codes (0, positive errno, negative MDB_*) to ours, the only place. */
int lmdb_to_errno(int rc);
/* A negative errno of the store as 0, STORE_E_* with a message, or -errno. `what` is said in front. */
int store_refusal(const Store *s, int r, const char *what, Diag *reterr);

/* fault.c */
int fault_guard_install(Store *s); /* 0, or -EMFILE when too many stores are open */
void fault_guard_map(Store *s, const void *p, size_t n_file, size_t n_map);
void fault_guard_remove(Store *s);

/* datafile.c: reads the meta pages with pread before anything is mapped. 0, STORE_E_DAMAGED, STORE_E_MISSING, -errno. */
int datafile_check(int dir_fd, const char *dir, Diag *reterr);

/* For who has LMDB's lock. Where the file is nearly used up it gets longer, by zeros and at most a quarter: a file system that has to write down a
 * new length, and new blocks, with a commit takes a fifth longer for it, and every second commit needs a page more. */
void datafile_grow(Store *s);

/* env.c: opens LMDB in `path` with the tables; `create` makes them. */
int env_open(Store *s, const char *path, bool create, Diag *reterr);
/* Makes the tables that a store of an older version lacks, where the store can be written. 0 or -errno. */
int env_upgrade(Store *s);
void env_close(Store *s);

/* txn.c: LMDB calls a write that was cut short an EIO; mostly it is the disk that is full. A result as it is meant. */
int store_true_error(const Store *s, int r);

/* create.c: makes a whole store beside `dir` and renames it there; 0 also when another process was faster. */
int store_create(const char *dir, Diag *reterr);

/* key.c */
int key_make(int dir_fd, uint8_t ret_public[static 32], Diag *reterr);
int key_load(Store *s, Diag *reterr);
void key_free(Store *s);
void origin_of(const uint8_t public_key[static 32], char ret[static ORIGIN_MAX]);

/* place.c: who is alive. */
int place_take(Store *s, Diag *reterr);
void place_leave(Store *s);

/* checked.c. Walks the pages of commit txn, unless this process did. Called with LMDB's lock for writers. 0, -EUCLEAN (and says which page), -errno. */
int checked_before_write(Store *s, uint64_t txn);
void checked_committed(Store *s); /* after each commit */
void checked_leave(Store *s);     /* when the store is closed */
