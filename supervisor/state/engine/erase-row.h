/* Runs: supervisor, CLI. Erasure of a row of governed memory, by a person or by the policy's retention. With the row go
 * all copies of the text in the store: payloads of the row's events in all versions, the notes behind these events,
 * pending items that became the row, the index. The ledger keeps the events and the hashes (M-66). */
#pragma once

#include "engine/engine.h"
#include "record/record.h"

typedef struct RowErasure {
        const char *scope;    /* name */
        Kind kind;            /* a bucket */
        const char *id;
        bool cascade;         /* drop and erase open items that may be about the row, too */
        const char *reason;   /* becomes the event's body; or NULL */
        const char *retention; /* the stay that policy allows, as written there; or NULL */
        const char *who;
} RowErasure;
/* *ret: {"kind","id","seq","erased","items":[id…],"notes"}: erased: payloads of events, items: erased pending items,
 * notes: erased notes of open runs. Returns 0, ENGINE_E_NO_SCOPE, ENGINE_E_NO_RECORD, ENGINE_E_BAD_NAME,
 * ENGINE_E_BAD_OPERATION, ENGINE_E_BLOCKED, ENGINE_E_DEPENDENTS for an open pending item without cascade, -errno. A
 * refusal leaves mutation.refused in the transaction: commit. */
int engine_row_erase(Txn *t, const RowErasure *e, json_t **ret, Diag *reterr);
/* Array of the open pending items with the row as a candidate or target:
 * {"pending","state","operation","reason"?}. */
int engine_row_items(Txn *t, const RecordKey *k, json_t **ret);
