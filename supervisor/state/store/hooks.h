/* Runs: supervisor, CLI. The store's calls to the ledger, defined by ledger/: store/ needs no upper layer. */
#pragma once

#include "base/diag.h"
#include "store/store.h"

typedef struct StoreHooks {
        int (*created)(Txn *t, Diag *reterr);       /* in the first transaction of a new store; 0, STORE_E_*, -errno */
        int (*opened)(Store *s, Diag *reterr); /* after each open: compares with the anchor; 0, STORE_E_*, -errno */
        int (*before_commit)(Txn *t);               /* last in a batch with ledger state; 0 or -errno */
        /* the batch is durable, and no caller has an answer yet; more: includes earlier batches without such a call */
        void (*after_commit)(Txn *t, bool more);
        void (*brought_in)(Store *s); /* the tables have batches without such a call: left, or by another process */
        void (*ended)(Txn *t);                      /* frees the ledger's state of t */
} StoreHooks;
extern const StoreHooks store_hooks;

/* The ledger's state in a transaction: NULL until set by the ledger. The commit hands the state to the batch, and the
 * next member of the batch continues from there. The state of an aborted member is freed. */
void *txn_ledger(const Txn *t);
const void *txn_ledger_before(const Txn *t); /* of the batch at the member's begin, or NULL: the committed state */
void txn_set_ledger(Txn *t, void *state);
/* An object of engine/, released at the end of the transaction by the ending thread. */
void *txn_kept(const Txn *t); /* NULL: none */
void txn_keep(Txn *t, void *kept, void (*release)(void *kept));

/* Whether all tables have the newest form; and the mark for it. 0, -EUCLEAN, -errno. */
int store_is_newest(Txn *t, bool *ret);
int store_made_newest(Txn *t);

/* Between both calls no other process has the store open: a process that opens the store waits. why: the intended work,
 * for the message. 0, STORE_E_LOCKED with a message that names the other process, -errno. */
int store_alone(Store *s, const char *why, Diag *reterr);
void store_not_alone(Store *s);

Store *txn_store(const Txn *t);
bool txn_writes(const Txn *t);

/* Takes the ticket and LMDB's lock, and returns both. In between, batches left in the write-ahead log go to the tables,
 * and batches already in the tables leave the log. Calls brought_in(), except with STORE_READ. 0 or -errno. */
int txn_bring_in(Store *s);

/* The path of the store's anchor, which each commit with a region's end writes. NULL until the store was compared with
 * the anchor: earlier writes leave the anchor alone. Takes the path. */
void store_set_anchor(Store *s, char *path);
const char *store_anchor(const Store *s);

/* The ledger as last seen: size and nodes of the tree's edge; zeros before. For the ticket's holder. */
typedef struct StoreSeen {
        uint64_t size;
        uint8_t edge[64 * 32];
} StoreSeen;
StoreSeen *store_seen(Store *s);

/* Reads the key into a store opened with STORE_READ, for signing without writing. Returns 0, STORE_E_KEY, -errno. */
int store_need_key(Store *s, Diag *reterr);
/* Signs with the store's key (STORE_WRITE, or after store_need_key). Returns 0 or -ENOKEY. */
int store_sign(const Store *s, const void *msg, size_t n, uint8_t ret[static 64]);
StoreMode store_mode(const Store *s);
int store_dir_fd(const Store *s); /* borrowed */
