/* Runs: supervisor. The moments of a region's life that the ledger must know, each durable when the call returns. */
#pragma once

#include "base/diag.h"
#include "dispatch/dispatch.h"
#include "invoke/options.h"
#include "region/region.h"
#include "scrub/evidence.h"
#include "store/store.h"

enum {
        RECORD_E_STORE = 1, /* the store refused: message has the store's words */
        RECORD_E_LIMIT,     /* as many regions are alive as policy allows, of this skill or of all */
        RECORD_E_SLOTS,     /* a slot of the manifest is refused */
        RECORD_E_GATE,      /* a gate is closed; recorded */
        RECORD_E_COGNITION, /* the turn's state is refused, which is recorded (C-33) */
        RECORD_E_SCOPE,     /* a scope of the manifest does not exist */
};

/* For store_keep_ahead(): LMDB's commit is most of the cost of a region's start and end. */
#define RECORD_KEEP_AHEAD 8

/* Writes region.allocated, copies of the slots that the region reads (I-20), and values of its gates (I-50: object slot
 * -> value) in a transaction for record_started(). A closed gate is recorded at once, as region.refused and without
 * region.allocated. turn: of a session, or NULL; the state of its cognition is committed in the same transaction (C-41),
 * and a refused state is recorded at once. object: of whom the region is an execution, or NULL. with_pid: the worker's
 * process is recorded for recovery. *ret: owned. Returns 0, RECORD_E_*, -errno. */
int record_start(Store *s, Region *r, DispatchTurn *turn, const RunObject *object, const char *tier, bool with_pid,
                 json_t **ret_copies, json_t **ret_evidence, Txn **ret, Diag *reterr);
/* Commits t, of record_start(). ret_rest: as in store_commit_ahead(); NULL: the whole commit is done. */
int record_started(Store *s, Region *r, Txn *t, Txn **ret_rest, Diag *reterr);
/* A region that was recorded ahead now belongs to an invocation. Returns 0. RECORD_E_LIMIT (as many regions live as
 * policy allows), RECORD_E_STORE and -errno leave the region without an invocation. */
int record_taken(Store *s, Region *r, Diag *reterr);
/* The worker's pid, where the region was recorded before its worker was made. */
int record_pid(Store *s, const Region *r, Diag *reterr);
/* region.faulted: from here on no proposal of the region can be kept, whichever supervisor records its end (I-24). */
int record_fault(Store *s, const Region *r, Diag *reterr);
/* region.discard_asked: the same, because the client of the invocation asked for it. */
int record_discard(Store *s, const Region *r, Diag *reterr);
/* region.left: the kernel does not let the region die, and the supervisor stops waiting. The row stays. Returns as
 * record_fault(). */
int record_left(Store *s, const Region *r, const TeardownEvidence *evidence, const char *why, Diag *reterr);
/* layer.kept: the layer's digest, and the number of its paths. */
int record_layer_kept(Store *s, const Region *r, const char *digest, size_t paths, Diag *reterr);
/* layer.dropped, with the reason: the layer is beyond a bound, or beyond the policy. region: of the layer. */
int record_layer_dropped(Store *s, const char *region, const char *why, Diag *reterr);
/* In one transaction: region.cancelled and region.denied where they apply, the dispatch's writes to memory or
 * memory.discarded (dispatch.h), slot.written or slot.discarded, region.released, invocation.ended. Sets the positions
 * in r. dispatch: the region's, or NULL; object: as for record_start(), whose outcome comes last. ret_rest: as in
 * store_commit_ahead(), or NULL. */
int record_end(Store *s, Region *r, Dispatch *dispatch, const RunObject *object, const TeardownEvidence *evidence,
               Txn **ret_rest, Diag *reterr);
