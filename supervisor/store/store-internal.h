/* Runs: supervisor, CLI. Inside of store/: what its files share. Nobody else includes this. */
#pragma once

#include "store/hooks.h"
#include "store/store.h"
#include "store/table.h"

#include <lmdb.h>

#define STORE_VERSION 1
#define ORIGIN_MAX 32

struct Store {
        char *dir;
        StoreMode mode;
        MDB_env *env;
        MDB_dbi dbi[TABLE_COUNT_];
        int dir_fd;
        bool no_lock;     /* read without LMDB's lock file: a snapshot holds only until the second commit after it */
        uint8_t public_key[32];
        uint8_t *secret;  /* 64 bytes in locked memory, NULL with STORE_READ */
        char origin[ORIGIN_MAX];
        int lock_fd;      /* STORE_SUPERVISE, else -1 */
        uint64_t lock;
        char *anchor;     /* path, found when opened */
};

struct Txn {
        Store *store;
        MDB_txn *mdb;
        bool write;
        void *ledger;
};

/* Each call into LMDB goes through this, so that a fault inside it is known to be the store's (fault.c). */
extern _Thread_local volatile int lmdb_depth;
#define LMDB(call)                                                                                                     \
        ({                                                                                                             \
                int lmdb_r_;                                                                                           \
                lmdb_depth++;                                                                                          \
                lmdb_r_ = (call);                                                                                      \
                lmdb_depth--;                                                                                          \
                lmdb_r_;                                                                                               \
        })

/* lmdb-error.c: LMDB's codes (0, positive errno, negative MDB_*) to ours, the only place. */
int lmdb_to_errno(int rc);
/* A negative errno of the store as 0, STORE_E_* with a message, or -errno. `what` is said in front. */
int store_refusal(const Store *s, int r, const char *what, Diag *reterr);

/* fault.c */
void fault_guard_install(const char *dir);
void fault_guard_map(const void *p, size_t n_file, size_t n_map);
void fault_guard_remove(void);

/* datafile.c: reads the meta pages with pread before anything is mapped. 0, STORE_E_DAMAGED, STORE_E_MISSING, -errno. */
int datafile_check(int dir_fd, const char *dir, Diag *reterr);

/* env.c: opens LMDB in `path` with the tables; `create` makes them. */
int env_open(Store *s, const char *path, bool create, Diag *reterr);
void env_close(Store *s);

/* create.c: makes a whole store beside `dir` and renames it there; 0 also when another process was faster. */
int store_create(const char *dir, Diag *reterr);

/* key.c */
int key_make(int dir_fd, uint8_t ret_public[static 32], Diag *reterr);
int key_load(Store *s, Diag *reterr);
void key_free(Store *s);
void origin_of(const uint8_t public_key[static 32], char ret[static ORIGIN_MAX]);

/* place.c: lock files in run/. */
int place_take(Store *s, Diag *reterr);
void place_leave(Store *s);
