/* Runs: supervisor, CLI. Erasure of a slot's versions: the values leave the store, the ledger keeps the hashes. An
 * erased version has no payload in table hist, and an erased newest version leaves the slot without a value. The
 * definition stays, and the next value gets the next version (M-66). */
#pragma once

#include "engine/engine.h"

#define SLOT_NEWEST UINT64_MAX

typedef struct SlotErasure {
        const char *name;
        uint64_t from, to;    /* versions, from 1; SLOT_NEWEST: the newest version */
        const char *reason;   /* becomes the event's body; or NULL */
        const char *retention; /* the stay that policy allows, as written there; or NULL */
        const char *who;
} SlotErasure;
/* Appends slot.erased. *ret_n: values erased now. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_UNDEFINED, ENGINE_E_NO_VALUE
 * (no such version, or all values are erased already), -errno. A refusal leaves slot.refused in the transaction: commit. */
int engine_slot_erase(Txn *t, const SlotErasure *e, uint64_t *ret_seq, uint64_t *ret_n, Diag *reterr);
/* Versions with a value, written before `usec`, oldest first, at most `most`: *ret_from to *ret_to. Returns 0, -ENOENT
 * without such a version, -EUCLEAN, -errno. */
int slot_versions_before(Txn *t, const char *name, uint64_t usec, uint64_t most, uint64_t *ret_from, uint64_t *ret_to);
