/* Runs: supervisor, CLI. What the ledger does at the joints of the store's life. Defined once, by ledger/, so that store/ needs nothing
 * that stands above it. */
#pragma once

#include "base/diag.h"
#include "store/store.h"

typedef struct StoreHooks {
        int (*created)(Txn *t, Diag *reterr);       /* in the first transaction of a new store; 0, STORE_E_*, -errno */
        int (*opened)(Store *s, Diag *reterr);      /* after each open: is the store behind its anchor? 0, STORE_E_*, -errno */
        int (*before_commit)(Txn *t);               /* last in a batch that has ledger state; 0 or -errno */
        void (*after_commit)(Txn *t, bool more);    /* durable now, and nobody has been told yet; more: it has earlier ones in it that had no such call */
        void (*brought_in)(Store *s);               /* what it has now had no such call: earlier ones were committed alone, or by another process */
        void (*ended)(Txn *t);                      /* frees the ledger's state of t */
} StoreHooks;
extern const StoreHooks store_hooks;

/* The ledger's state in a transaction: NULL until the ledger sets it. At its commit it becomes that of the batch, which the next member of
 * the batch goes on from; what a member that aborts had is freed. */
void *txn_ledger(const Txn *t);
const void *txn_ledger_before(const Txn *t); /* of the batch when this one began, or NULL: only what is committed counts */
void txn_set_ledger(Txn *t, void *state);
/* What is worth keeping until a transaction ends, and no longer: one thing, engine's. Released with the transaction, by the thread that ends it. */
void *txn_kept(const Txn *t); /* NULL: nothing yet */
void txn_keep(Txn *t, void *kept, void (*release)(void *kept));

/* Are the tables of the newest form? And: now they are, all of them. 0, -EUCLEAN, -errno. */
int store_is_newest(Txn *t, bool *ret);
int store_made_newest(Txn *t);

/* Nobody else has the store open from the one to the other: whoever is about to waits. why: what is done when nobody has, for the message. 0, STORE_E_LOCKED
 * with a message that names who has, -errno. */
int store_alone(Store *s, const char *why, Diag *reterr);
void store_not_alone(Store *s);

Store *txn_store(const Txn *t);
bool txn_writes(const Txn *t);

/* Takes the turn and LMDB's lock, and gives them back: what was left in the redo file is in the tables then, and no longer in the file where it was there
 * already. Calls brought_in() in between, but for STORE_READ. 0 or -errno. */
int txn_bring_in(Store *s);

/* Where the store's anchor is: kept with the store, because it is written with each commit that ends something. NULL until the store was held against it:
 * what is written before then says nothing to it. Takes the path. */
void store_set_anchor(Store *s, char *path);
const char *store_anchor(const Store *s);

/* The ledger as this process found or left it last: its entries and the nodes of its tree's edge; all zeros before. Written and read by who has the turn. */
typedef struct StoreSeen {
        uint64_t size;
        uint8_t edge[64 * 32];
} StoreSeen;
StoreSeen *store_seen(Store *s);

/* Reads the key into a store that was opened with STORE_READ, for what is signed and not written. Returns 0, STORE_E_KEY, -errno. */
int store_need_key(Store *s, Diag *reterr);
/* Signs with the store's key (STORE_WRITE, or after store_need_key). Returns 0 or -ENOKEY. */
int store_sign(const Store *s, const void *msg, size_t n, uint8_t ret[static 64]);
StoreMode store_mode(const Store *s);
int store_dir_fd(const Store *s); /* borrowed */
