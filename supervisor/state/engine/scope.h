/* Runs: supervisor, CLI. Scopes: each record belongs to exactly one (M-21). A scope is its number, which no other scope ever has, and a name, which may be
 * another's once the scope was deleted (M-25). */
#pragma once

#include "engine/engine.h"
#include "record/kind.h"

#define SCOPE_DEFAULT "default" /* made by the first write that names no scope */

/* Returns 0, -ENOENT, -EUCLEAN, -errno. */
int scope_get(Txn *t, const char *name, uint64_t *ret_scope);
/* The same with words: ENGINE_E_BAD_NAME, ENGINE_E_NO_SCOPE. */
int scope_find(Txn *t, const char *name, uint64_t *ret_scope, Diag *reterr);
/* Name of a scope that is there: ret has SCOPE_NAME_MAX bytes. Returns 0, -ENOENT. */
int scope_name_of(Txn *t, uint64_t scope, char ret[static SCOPE_NAME_MAX]);
/* Has any other scope than this one such a record, be it whole or not? 1, 0, -errno. */
int scope_others_have(Txn *t, uint64_t scope, Kind kind, const char *id);
/* Array of {"scope","seq","time","who"?} by name. */
int scope_list(Txn *t, json_t **ret);

/* Makes the scope and its two kernels, active and empty (M-22). Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_EXISTS, -errno. */
int engine_scope_create(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr);
/* As scope_find(), and makes the scope SCOPE_DEFAULT when it is not there. */
int engine_scope_need(Txn *t, const char *who, const char *name, uint64_t *ret_scope, Diag *reterr);
/* Removes all that the scope owns: records of all classes, their history, refs, index, what waits, and the payload of every event about them. The
 * ledger keeps the events without payload, and scope.deleted (M-24, M-25). Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_NO_SCOPE, ENGINE_E_CONFLICT while a
 * run of it has notes that nobody looked at, -errno; other runs of it are ended. */
int engine_scope_delete(Txn *t, const char *who, const char *name, const char *reason_or_null, uint64_t *ret_seq, uint64_t *ret_records, Diag *reterr);
