/* Runs: supervisor, CLI. The store: one folder with one LMDB environment (data.mdb), the ledger's signing key (key),
 * the key's public half (vkey), the write-ahead log (redo), and a file (run/alive) in which each living supervisor
 * holds a byte locked. Created whole or not at all. Only store/ translates LMDB's codes. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

typedef struct Store Store;
typedef struct Txn Txn;

enum {
        STORE_E_MISSING = 1, /* no store there (STORE_READ) */
        STORE_E_DAMAGED,     /* truncated, foreign, or with broken pages: message with file and reason */
        STORE_E_VERSION,     /* made by a newer Lethe */
        STORE_E_READ_ONLY,   /* folder or file system cannot be written */
        STORE_E_FULL,        /* ENOSPC, quota, or a full map */
        STORE_E_ROLLBACK,    /* behind its anchor: replaced by an older copy */
        STORE_E_KEY,         /* key file missing, of wrong length, or readable by others */
        STORE_E_OWNER, /* folder, file or anchor writable by another user: message with user and fix */
        STORE_E_LOCKED,      /* a supervisor's place or the ticket is not available: message with the holder */
};

typedef enum StoreMode {
        STORE_READ,      /* must exist; no key is read */
        STORE_WRITE,     /* made when missing; key loaded into locked memory */
        STORE_SUPERVISE, /* STORE_WRITE and a lock of its own, the sign of a living supervisor */
} StoreMode;

/* Call before writing to a file named by a user: the file must not lie in a store, in the place of a file of Lethe's
 * (the key, the ledger). Returns 0, -EPERM, -ENOMEM. */
int store_check_output(const char *path, Diag *reterr);
/* Opens the store in `dir`. One Store for one folder in one process, unused after fork (LMDB's rule: closing a second
 * descriptor would drop the first one's locks). Returns 0, STORE_E_* with a message, -errno. */
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
/* Damage may also show as a fault while a page is read: the process reports the damage and exits with code (default
 * 125). full: the exit code for a page of the lock file without room on the disk. */
void store_set_fault_exit(int code, int full);
/* The words for a negative code that came from the store through another module. */
const char *store_strerror(int negative_errno);
/* True when the supervisor with this lock is gone (I-60). */
bool store_lock_is_free(Store *s, uint64_t lock);
uint64_t store_own_lock(const Store *s);
/* The turn to finish regions of dead supervisors: one thread of one process at a time. Waits up to wait_usec, limited
 * by store_stop_at() and store_hurry(); reports the holder after a second. Returns a descriptor for store_turn_leave(),
 * -EAGAIN after the wait, -errno. The holder's end, in any way, frees the turn. */
int store_turn_take(Store *s, uint64_t wait_usec);
void store_turn_leave(int *fd);
/* The number of recorded live regions that the process made ahead, for future invocations. */
_Atomic uint64_t *store_regions_ahead(Store *s);
/* The socket of the supervisor with this lock, when that supervisor is a `lethe serve`: a path short enough for a
 * socket, valid in this process while the store is open. The maker of the socket removes the socket. */
#define STORE_SOCKET_MAX 64
void store_place_socket(const Store *s, uint64_t lock, char ret[static STORE_SOCKET_MAX]);
/* Removes the sockets of dead supervisors. */
void store_sweep_sockets(Store *s);
/* Files of a supervisor in the store's folder run/ have a name of 16 hexadecimal digits, the lock, and a suffix. Calls
 * fn for each such file of a dead supervisor; folder: run/, lent. fn returns 0 or -errno; the walk goes on either way.
 * Returns 0, or the first -errno. */
int store_each_dead(Store *s, const char *suffix,
                    int (*fn)(void *userdata, int folder, const char *name, uint64_t lock), void *userdata);

/* The name of the process for waiting processes, verb first ("lethe slot put"). Call before a store is opened. */
void store_set_command(const char *command);
/* Limits for waits of the calling thread for another process's writer (I-79). The holder is reported after a second. A
 * working writer is waited for without limit, a stopped writer for half a minute. store_stop_at(): a wait also ends
 * when fd is readable (borrowed; -1: none); cancels store_hurry(). store_hurry(): from now on two seconds at most. The
 * result of an ended wait is STORE_E_LOCKED. */
void store_stop_at(int fd);
void store_hurry(void);

/* Transactions. A write transaction that appended to the ledger signs a checkpoint of the new size in store_commit(),
 * in the same LMDB transaction; then the data is fsynced. store_commit() frees t in all cases and returns 0, STORE_E_*,
 * -errno.
 *
 * Many threads may use a Store; only its own thread may use a Txn. Concurrent writers take turns in one LMDB
 * transaction (txn.c). Each sees the changes of the writers before. store_commit() returns when all changes are on the
 * disk, with one checkpoint and one flush for all; a failure fails all. An abort leaves no trace and harms no other
 * writer. A reader waits for no writer, except for the commit of an already acknowledged change (store_commit_ahead()).
 * Between store_begin() and store_commit() of a write, never wait for anything that another writer may hold. */
int store_begin(Store *s, bool write, Txn **ret, Diag *reterr);
int store_commit(Txn *t, Diag *reterr);
void store_abort(Txn *t);
static inline void store_abortp(Txn **t) {
        if (*t)
                store_abort(*t);
}
#define _cleanup_txn_ _cleanup_(store_abortp)

/* As store_commit(), for a caller with urgent work after the commit is certain. Returns 0 when t is certain: the
 * changes survive the death of the process and of the machine, in the tables or in the write-ahead log (store/wal.h).
 * Any later reader or writer in any process sees the changes. A *ret_rest other than NULL is the rest of the commit:
 * the same thread must call store_commit_rest() right after the urgent work. Until then all writers and the readers of
 * the process wait. In between, never wait for the store, nor for anything that another writer may hold.
 *
 * Changes of slots and skills are acknowledged as by store_commit(): so store_begin_at_once() sees every acknowledged
 * slot and skill. */
int store_commit_ahead(Txn *t, Txn **ret_rest, Diag *reterr);
/* The first half of store_commit_ahead(t), which has to follow. True: the log has the changes of t, and the next start
 * finds them even after a kill of the process; the disk may not have them yet. Work that depends only on the knowledge
 * of the changes can be done before the second half. The store must not be used meanwhile. False: t shares another
 * member's commit, or the log has no record. */
bool store_commit_start(Txn *t);
/* NULL: no action. After a failure, acknowledged changes reach the tables before any other write. */
void store_commit_rest(Txn *rest);
static inline void store_commit_restp(Txn **rest) {
        store_commit_rest(*rest);
}
/* Up to n commits whose members are all acknowledged ahead share one commit of LMDB. LMDB commits with the next other
 * commit, with the n-th, when a reader begins, or after a twentieth of a second. 0 (default): each commit has its own.
 * Call before other threads use s. */
void store_keep_ahead(Store *s, unsigned n);
/* The same for a process with one thread and a loop of its own: no thread is started. *return, borrowed, is the time
 * for store_wal_checkpoint() (CLOCK_MONOTONIC usec), UINT64_MAX: no record is left. store_wal_checkpoint() starts a
 * thread for this time and all later times. */
const uint64_t *store_keep_ahead_in_loop(Store *s, unsigned n);
void store_wal_checkpoint(Store *s);
/* The same time, for another loop of the process; NULL without such a loop. */
const uint64_t *store_wal_checkpoint_due(const Store *s);
extern unsigned wal_checkpoint_after_usec; /* the twentieth of a second; shorter in tests */
/* A read of slots and skills without waiting for a commit. Other tables may lack acknowledged changes. */
int store_begin_at_once(Store *s, Txn **ret, Diag *reterr);

/* Empty tables without a ledger and without a place on the disk, for a fold: for one write transaction, which is never
 * committed. The files are in the store's folder, or in TMPDIR if the folder is not writable, and have no names.
 * Returns 0, STORE_E_*, -errno. */
int store_scratch(const Store *beside, Store **ret, Diag *reterr);

typedef struct StoreCompacted {
        uint64_t bytes_before, bytes_after; /* of data.mdb */
} StoreCompacted;
/* Work that needs the store alone: done before data.mdb is rewritten, in a read transaction. fn returns 0 or -errno. */
typedef struct StoreAlone {
        int (*fn)(Txn *t, void *userdata, Diag *reterr);
        void *userdata;
} StoreAlone;
/* Rewrites data.mdb without deleted rows: not in a page of their own, not in a page with other rows, not in the
 * write-ahead log. The new file is whole and on the disk before the rename. Other processes cannot open the store
 * meanwhile; a store open elsewhere is refused. Returns 0, STORE_E_LOCKED (the message names the process),
 * store_open()'s codes, -errno. */
int store_compact(const char *dir, const StoreAlone *also_or_null, StoreCompacted *ret, Diag *reterr);

/* Reads the data file page by page, without LMDB, and checks the pages of the transaction's snapshot: bounds, order,
 * each used once, none in the list of free pages. Returns 0, STORE_E_DAMAGED, -EAGAIN (two commits came since: begin
 * anew), -errno. */
int store_check_pages(Txn *t, Diag *reterr);
