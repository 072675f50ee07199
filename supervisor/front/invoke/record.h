/* Runs: supervisor. The moments of a region's life that the ledger must know, each one durable when the call returns. */
#pragma once

#include "base/diag.h"
#include "dispatch/dispatch.h"
#include "region/region.h"
#include "scrub/evidence.h"
#include "store/store.h"

enum {
        RECORD_E_STORE = 1, /* the store refused: message has its words */
        RECORD_E_LIMIT,     /* as many regions are alive as policy allows, of this skill or at all */
        RECORD_E_SLOTS,     /* a slot that the manifest names or defines is refused */
        RECORD_E_GATE,      /* a gate is closed; recorded */
        RECORD_E_SCOPE,     /* a scope that the manifest names is not there */
};

/* For store_keep_ahead(): what a region's beginning and its end cost most of is LMDB's commit. */
#define RECORD_KEEP_AHEAD 8

/* region.allocated, the copies of the slots that it reads (I-20), and the values that its gates read (I-50: object slot -> value), in a transaction that
 * record_started() commits. When a gate fails, region.refused is recorded, and no region.allocated. with_pid: with the worker's process, so that recovery
 * finds it. *ret: to be handed to record_started(), or aborted. Returns 0, RECORD_E_*, -errno. */
int record_start(Store *s, Region *r, const char *tier, bool with_pid, json_t **ret_copies, json_t **ret_evidence, Txn **ret, Diag *reterr);
/* Commits t, of record_start(). ret_rest: as store_commit_ahead() has it; NULL: all of the commit at once. */
int record_started(Store *s, Region *r, Txn *t, Txn **ret_rest, Diag *reterr);
/* A region that was recorded ahead is an invocation's now. Returns 0; RECORD_E_LIMIT when as many live as policy allows, RECORD_E_STORE, -errno: it
 * is nobody's still. */
int record_taken(Store *s, Region *r, Diag *reterr);
/* The worker's pid, where the region was recorded before its worker was made. */
int record_pid(Store *s, const Region *r, Diag *reterr);
/* region.faulted: from here on nothing that the region proposed can be kept, whoever records its end (I-24). */
int record_fault(Store *s, const Region *r, Diag *reterr);
/* region.discard_asked: the same, because the client asked for it who runs it. */
int record_discard(Store *s, const Region *r, Diag *reterr);
/* region.left: the kernel does not let it die, and nobody waits any more. The row stays. Returns as record_fault(). */
int record_left(Store *s, const Region *r, const Evidence *evidence, const char *why, Diag *reterr);
/* In one transaction: region.cancelled and region.denied where they apply, what the dispatch holds of memory or memory.discarded (dispatch.h), slot.written or
 * slot.discarded, region.released, invocation.ended. Sets the positions in r. dispatch: the region's, or NULL. ret_rest: as store_commit_ahead() has it, or
 * NULL. */
int record_end(Store *s, Region *r, Dispatch *dispatch, const Evidence *evidence, Txn **ret_rest, Diag *reterr);
