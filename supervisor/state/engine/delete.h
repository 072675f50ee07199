/* Runs: supervisor, CLI. Explicit deletion: removes a record without holding dependents, and erases the payloads of its
 * events. The ledger records what was deleted, by whom and why (M-52..M-56). */
#pragma once

#include "engine/engine.h"
#include "record/record.h"

#define DELETE_DEPENDENTS_MAX 256 /* named in the event (an entry has 65,535 bytes), with the number of further ones */

typedef struct Deletion {
        const char *scope;     /* name; NULL: SCOPE_DEFAULT */
        Kind kind;
        const char *id;
        bool cascade;          /* delete holding dependents, too */
        bool bounded;          /* for untrusted callers: refused for more than DELETE_DEPENDENTS_MAX dependents */
        const char *reason;    /* or NULL */
        const char *retention; /* of policy, for the event; or NULL: a person's deletion */
        const KeySet *keys;    /* of the living regions, or NULL; scope, id and reason are searched for keys */
        const char *who;       /* "uid:1000", or NULL with region */
        const char *region;    /* or NULL */
} Deletion;
/* *ret: array of the deleted records, `id` last: {"kind","id","seq","erased"}. Returns 0, ENGINE_E_NO_SCOPE,
 * ENGINE_E_NO_RECORD, ENGINE_E_BAD_NAME, ENGINE_E_BAD_OPERATION (a kernel, M-31), ENGINE_E_DEPENDENTS with the first
 * dependent in words (graph_dependents() lists all), -errno. A refusal leaves mutation.refused in the transaction:
 * commit. */
int engine_delete(Txn *t, const Deletion *d, json_t **ret, Diag *reterr);
