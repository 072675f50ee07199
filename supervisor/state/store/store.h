/* Runs: supervisor, CLI. The store: one folder with one LMDB environment (data.mdb), the ledger's signing key (key), its
 * public half (vkey), the redo file (redo), and a file (run/alive) of which each supervisor that lives holds a byte locked. Created whole or
 * not at all. LMDB's codes are translated here and nowhere else. */
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
        STORE_E_OWNER,       /* its folder, or a file in it, or its anchor, can be written by another user: message says who, and the fix */
        STORE_E_LOCKED,      /* a supervisor's place, or the turn to write, could not be had: message says who has it */
};

typedef enum StoreMode {
        STORE_READ,      /* must exist; no key is read */
        STORE_WRITE,     /* made when missing; key loaded into locked memory */
        STORE_SUPERVISE, /* STORE_WRITE and a lock of its own, so that others can tell that we live */
} StoreMode;

/* Before something else is written to a file that somebody named: it may not lie in a store, where it would take the place of a file of Lethe's (the key, the
 * ledger). Returns 0, -EPERM, -ENOMEM. */
int store_check_output(const char *path, Diag *reterr);
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
/* Damage can also show as a fault when a page is read: the process then says so and exits with this code (default 125); full: when it was a page of the lock
 * file, for which the disk has no room. */
void store_set_fault_exit(int code, int full);
/* The words for a negative code that came from the store through another module. */
const char *store_strerror(int negative_errno);
/* True when the supervisor that held this lock is gone (I-60). */
bool store_lock_is_free(Store *s, uint64_t lock);
uint64_t store_own_lock(const Store *s);
/* The turn to finish what dead supervisors left: one process, and one thread of it, has it at a time. Waits for it, but no longer than wait_usec,
 * nor than store_stop_at() and store_hurry() let the thread; says after a second whom it waits for. Returns a
 * descriptor for store_turn_leave(), -EAGAIN when somebody has it still, -errno. It goes with who has it, however that one ends. */
int store_turn_take(Store *s, uint64_t wait_usec);
void store_turn_leave(int *fd);
/* Of the regions that are recorded as alive: how many this process made ahead, for invocations that are yet to come. */
_Atomic uint64_t *store_regions_ahead(Store *s);
/* Where the supervisor that holds this lock listens, when it is one that does (`lethe serve`): a path that is short enough for a socket's, and good
 * in this process while the store is open. Whoever makes it removes it. */
#define STORE_SOCKET_MAX 64
void store_place_socket(const Store *s, uint64_t lock, char ret[static STORE_SOCKET_MAX]);
/* Removes those of dead supervisors. */
void store_sweep_sockets(Store *s);
/* What a supervisor leaves in the store's folder run/ while it lives has a name of 16 hexadecimal digits, its lock, and a suffix. Calls fn for each such file
 * of one that is dead; folder: run/, lent. fn returns 0 or -errno, and the walk goes on either way. Returns 0, or the first -errno. */
int store_each_dead(Store *s, const char *suffix, int (*fn)(void *userdata, int folder, const char *name, uint64_t lock), void *userdata);

/* For others that wait until this process has written: its name, the verb first ("lethe slot put"). Before a store is opened. */
void store_set_command(const char *command);
/* Waits of the calling thread for a writer of another process (I-79): it says after a second whom it waits for. A writer that works is waited for as long as it
 * takes, one that is stopped for half a minute. store_stop_at: not when fd is readable (borrowed; -1: none), and forgets store_hurry(): from there on two
 * seconds at most. What ends a wait so is STORE_E_LOCKED. */
void store_stop_at(int fd);
void store_hurry(void);

/* Transactions. A write transaction that appended to the ledger signs a checkpoint of the new size in store_commit, in the same
 * LMDB transaction; then the data is fsynced. store_commit frees t whatever it returns: 0, STORE_E_*, -errno.
 *
 * A Store may be used by many threads, a Txn by the one that began it. Those that write at the same time take turns in one LMDB transaction
 * (txn.c): each sees what those before it did, store_commit returns when all of it is on the disk, with one checkpoint and one flush for
 * all, and fails for all when that fails. One that aborts leaves nothing and harms nobody. A reader waits for no writer, but for a commit of
 * which somebody was told already (store_commit_ahead). Between store_begin and store_commit of a write, wait for nothing that another writer may
 * hold. */
int store_begin(Store *s, bool write, Txn **ret, Diag *reterr);
int store_commit(Txn *t, Diag *reterr);
void store_abort(Txn *t);
static inline void store_abortp(Txn **t) {
        if (*t)
                store_abort(*t);
}
#define _cleanup_txn_ _cleanup_(store_abortp)

/* As store_commit(), for who has something to do that waits for nothing but the certainty that t is kept. Returns 0 when it is: it will be
 * there whatever happens to this process or to the machine, in this store's tables or in its redo file (store/wal.h), and who begins to read or to
 * write from now on, in any process, sees it. *ret_rest, when it is not NULL, is the rest of the commit, which this thread is to do by
 * store_commit_rest() as soon as it has done what it was in a hurry for: until then all writers, and the readers of this process, wait for it. Nothing
 * of this store, and nothing that another may hold while it writes, may be waited for in between.
 *
 * What changed a slot or a skill is told of as by store_commit(), so that store_begin_at_once() sees each that anybody was told of. */
int store_commit_ahead(Txn *t, Txn **ret_rest, Diag *reterr);
/* The first half of store_commit_ahead(t), which has to follow: true when the writes of t stand in the write-ahead log, where the next start finds them though
 * this process be killed. The disk may not have them yet: work that needs the record, and not the disk, can be done in between. The store may not be asked for
 * anything meanwhile. False where t shares the commit of another transaction, or nothing is written ahead. */
bool store_commit_start(Txn *t);
/* NULL: nothing. When it fails, what was told of is still kept, and nothing is written before it is brought in. */
void store_commit_rest(Txn *rest);
static inline void store_commit_restp(Txn **rest) {
        store_commit_rest(*rest);
}
/* Lets up to n commits of which all members are told ahead share one commit of LMDB: it comes with the next one that is not, with the n-th, when
 * somebody begins to read, or after a twentieth of a second. 0, from the start: each has its own. Before other threads use s. */
void store_keep_ahead(Store *s, unsigned n);
/* The same, of a process with one thread and a loop of its own: nothing is started for the twentieth of a second. *return, borrowed, is when store_wal_checkpoint()
 * is to be called (CLOCK_MONOTONIC usec), UINT64_MAX while nothing is left. That starts a thread, which does from then on what store_keep_ahead()'s does. */
const uint64_t *store_keep_ahead_in_loop(Store *s, unsigned n);
void store_wal_checkpoint(Store *s);
/* That time, for another loop of the same process; NULL where no loop sees to it. */
const uint64_t *store_wal_checkpoint_due(const Store *s);
extern unsigned wal_checkpoint_after_usec; /* that twentieth; tests change it */
/* To read slots and skills, without waiting for a commit: of other tables, what is on its way into them may not be seen yet. */
int store_begin_at_once(Store *s, Txn **ret, Diag *reterr);

/* Empty tables, of no ledger and on no disk, to fold into: for one write transaction, which is never committed. Its files are in the store's folder, or
 * in TMPDIR where that cannot be written, and have no names. Returns 0, STORE_E_*, -errno. */
int store_scratch(const Store *beside, Store **ret, Diag *reterr);

typedef struct StoreCompacted {
        uint64_t bytes_before, bytes_after; /* of data.mdb */
} StoreCompacted;
/* Something else that needs the store for itself: done before data.mdb is written anew, in a read transaction. fn returns 0 or -errno. */
typedef struct StoreAlone {
        int (*fn)(Txn *t, void *userdata, Diag *reterr);
        void *userdata;
} StoreAlone;
/* Writes data.mdb anew without what was deleted: no page of it, no rest in a page that has other rows, nothing in the redo file. The new file is whole and
 * on the disk before it takes the old one's place. While it works nobody else can open the store; when somebody has it open, it is refused. Returns 0,
 * STORE_E_LOCKED (the message says who), what store_open() returns, -errno. */
int store_compact(const char *dir, const StoreAlone *also_or_null, StoreCompacted *ret, Diag *reterr);

/* Reads the data file page by page, not through LMDB, and checks that the pages of this transaction's snapshot hold together: bounds, order,
 * each used once, none of them in the list of free pages. Returns 0, STORE_E_DAMAGED, -EAGAIN (two commits came since: begin anew), -errno. */
int store_check_pages(Txn *t, Diag *reterr);
