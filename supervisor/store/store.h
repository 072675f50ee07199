/* Runs: supervisor, CLI. The store: one folder with one LMDB environment (data.mdb), the ledger's signing key (key), its
 * public half (vkey), and a folder of lock files (run/), one for each supervisor alive. Created whole or not at all.
 * LMDB's codes are translated here and nowhere else. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

typedef struct Store Store;
typedef struct Txn Txn;

enum {
        STORE_E_MISSING = 1, /* no store there (STORE_READ) */
        STORE_E_DAMAGED,     /* truncated, not ours, pages that do not hold: message says which file and why */
        STORE_E_VERSION,     /* made by a newer Lethe */
        STORE_E_READ_ONLY,   /* folder or file system cannot be written */
        STORE_E_FULL,        /* ENOSPC, quota, or the map is full */
        STORE_E_ROLLBACK,    /* behind its anchor: an older copy was put in place */
        STORE_E_KEY,         /* key file missing, of wrong length, or readable by others */
        STORE_E_LOCKED,      /* a supervisor's place could not be had */
};

typedef enum StoreMode {
        STORE_READ,      /* must exist; no key is read */
        STORE_WRITE,     /* made when missing; key loaded into locked memory */
        STORE_SUPERVISE, /* STORE_WRITE and a lock file of its own, so that others can tell that we live */
} StoreMode;

/* Opens the store in `dir`. One Store for one folder in one process, and none is used after fork (LMDB's rule: closing a
 * second descriptor would drop the locks of the first). Returns 0, STORE_E_* with a message, -errno. */
int store_open(const char *dir, StoreMode mode, Store **ret, Diag *reterr);
void store_free(Store *s);
static inline void store_freep(Store **s) {
        store_free(*s);
}
#define _cleanup_store_ _cleanup_(store_freep)

const char *store_dir(const Store *s);
/* "lethe/" and 16 hex digits of the key's hash: the ledger's name in checkpoints. */
const char *store_origin(const Store *s);
/* The 32 bytes of the ledger's public key (Ed25519, RFC 8032). */
const uint8_t *store_public_key(const Store *s);
/* Damage can also show as a fault when a page is read: the process then says so and exits with this code (default 125). */
void store_set_fault_exit(int code);
/* The words for a negative code that came from the store through another module. */
const char *store_strerror(int negative_errno);
/* True when the supervisor that held this lock is gone (I-60). */
bool store_lock_is_free(Store *s, uint64_t lock);
uint64_t store_own_lock(const Store *s);

/* Transactions. A write transaction that appended to the ledger signs a checkpoint of the new size in store_commit, in the same
 * LMDB transaction; then the data is fsynced. store_commit frees t whatever it returns: 0, STORE_E_*, -errno. */
int store_begin(Store *s, bool write, Txn **ret, Diag *reterr);
int store_commit(Txn *t, Diag *reterr);
void store_abort(Txn *t);
static inline void store_abortp(Txn **t) {
        if (*t)
                store_abort(*t);
}
#define _cleanup_txn_ _cleanup_(store_abortp)

/* Reads the data file page by page, not through LMDB, and checks that the pages of this transaction's snapshot hold together: bounds, order,
 * each used once, none of them in the list of free pages. Returns 0, STORE_E_DAMAGED, -EAGAIN (two commits came since: begin anew), -errno. */
int store_check_pages(Txn *t, Diag *reterr);
