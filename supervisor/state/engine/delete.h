/* Runs: supervisor, CLI. Explicit delete: what nothing holds goes for ever, its payloads out of the store, and the ledger says what went, by whom and why
 * (M-52..M-56). */
#pragma once

#include "engine/engine.h"
#include "record/record.h"

#define DELETE_DEPENDENTS_MAX 256 /* named in the event, whose entry has 65,535 bytes; how many more there were is said */

typedef struct Deletion {
        const char *scope;     /* name; NULL: SCOPE_DEFAULT */
        Kind kind;
        const char *id;
        bool cascade;          /* with all that hold on to it */
        bool bounded;          /* for who cannot be trusted to ask for little: refused when more than DELETE_DEPENDENTS_MAX depend on it */
        const char *reason;    /* or NULL */
        const KeySet *keys;    /* of the regions that live, or NULL: scope, id and reason are searched for them */
        const char *who;       /* "uid:1000", or NULL with region */
        const char *region;    /* or NULL */
} Deletion;
/* *ret: array of what went, the record last: {"kind","id","seq","erased"}. Returns 0, ENGINE_E_NO_SCOPE, ENGINE_E_NO_RECORD, ENGINE_E_BAD_NAME,
 * ENGINE_E_BAD_OPERATION (a kernel, M-31),
 * ENGINE_E_DEPENDENTS with the first of them in words (graph_dependents() has all), -errno; on refusal mutation.refused is in the transaction: commit it. */
int engine_delete(Txn *t, const Deletion *d, json_t **ret, Diag *reterr);
