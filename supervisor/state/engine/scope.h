/* Runs: supervisor, CLI. Scopes: each record belongs to exactly one scope (M-21). A scope has a unique number and a
 * name; the name is free again after the deletion (M-25). */
#pragma once

#include "engine/engine.h"
#include "record/kind.h"

#define SCOPE_DEFAULT "default" /* created by the first write without a scope's name */
#define SCOPE_CCS "ccs-"        /* and an id: the scope of a cognitive session; the id of a session that drives it */

/* Returns 0, -ENOENT, -EUCLEAN, -errno. */
int scope_get(Txn *t, const char *name, uint64_t *ret_scope);
/* The same with a message: ENGINE_E_BAD_NAME, ENGINE_E_NO_SCOPE. */
int scope_find(Txn *t, const char *name, uint64_t *ret_scope, Diag *reterr);
/* The name of an existing scope. Returns 0, -ENOENT. */
int scope_name_of(Txn *t, uint64_t scope, char ret[static SCOPE_NAME_MAX]);
/* Does another scope have such a record, whole or broken? 1, 0, -errno. */
int scope_others_have(Txn *t, uint64_t scope, Kind kind, const char *id);
/* Array of {"scope","seq","time","who"?} by name. */
int scope_list(Txn *t, json_t **ret);

/* Creates the scope and two active, empty kernels (M-22). Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_EXISTS, -errno. */
int engine_scope_create(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr);
/* As scope_find(), and creates a missing SCOPE_DEFAULT. */
int engine_scope_need(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr);
/* Deletes all rows of the scope: records of all classes, history, refs, index, pending requests; and erases the
 * payloads of all events about them. The ledger keeps the events without payload, and scope.deleted (M-24, M-25). Ends
 * the scope's runs. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_NO_SCOPE, ENGINE_E_CONFLICT for a run with unprocessed
 * notes, ENGINE_E_DRIVEN for the loop of an open session, -errno. */
int engine_scope_delete(Txn *t, const char *who, const char *name, const char *reason_or_null, uint64_t *ret_seq,
                        uint64_t *ret_records, Diag *reterr);
typedef struct ScopeErase {
        const char *name, *reason; /* reason: or NULL */
        const char *who, *region;  /* one of the two */
} ScopeErase;
/* The same for the loop of a session that ends now. */
int engine_scope_erase(Txn *t, const ScopeErase *e, uint64_t *ret_seq, uint64_t *ret_records, Diag *reterr);
