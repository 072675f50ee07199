/* Runs: supervisor, CLI. What the ledger does at the joints of the store's life. Defined once, by ledger/, so that store/ needs nothing
 * that stands above it. */
#pragma once

#include "base/diag.h"
#include "store/store.h"

typedef struct StoreHooks {
        int (*created)(Txn *t, Diag *reterr);       /* in the first transaction of a new store; 0, STORE_E_*, -errno */
        int (*opened)(Store *s, Diag *reterr);      /* after each open: is the store behind its anchor? 0, STORE_E_*, -errno */
        int (*before_commit)(Txn *t, Diag *reterr); /* last in a write transaction that has ledger state; 0 or -errno */
        void (*after_commit)(Txn *t);               /* durable now */
        void (*ended)(Txn *t);                      /* frees the ledger's state of t */
} StoreHooks;
extern const StoreHooks store_hooks;

/* The ledger's state in a transaction: NULL until the ledger sets it. */
void *txn_ledger(const Txn *t);
void txn_set_ledger(Txn *t, void *state);
Store *txn_store(const Txn *t);
bool txn_writes(const Txn *t);

/* Where the store's anchor is: kept with the store, because it is written with each commit that ends something. Takes the path. */
void store_set_anchor(Store *s, char *path);
const char *store_anchor(const Store *s);

/* Reads the key into a store that was opened with STORE_READ, for what is signed and not written. Returns 0, STORE_E_KEY, -errno. */
int store_need_key(Store *s, Diag *reterr);
/* Signs with the store's key (STORE_WRITE, or after store_need_key). Returns 0 or -ENOKEY. */
int store_sign(const Store *s, const void *msg, size_t n, uint8_t ret[static 64]);
StoreMode store_mode(const Store *s);
int store_dir_fd(const Store *s); /* borrowed */
