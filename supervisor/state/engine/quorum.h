/* Runs: supervisor, CLI. For engine/ only: slots with a rule of arbitration (arbitration.h). Proposals of regions with
 * a good end are gathered. Enough proposals, or a request of the operator, bring the verdict: a proposal becomes the
 * slot's value, or none. */
#pragma once

#include "engine/arbitration.h"
#include "engine/engine.h"
#include "engine/judge.h"
#include "record/rows.h"

/* The slot's rule, read from the definition. */
int quorum_rule(Txn *t, const SlotRow *row, ArbitrationRule *ret);
/* Does the rule allow the proposal, and its value (canonical bytes)? confidence: NULL for none. Returns
 * 0, ENGINE_E_RULE, -errno. */
int quorum_may(Txn *t, const char *name, const SlotRow *row, Bytes value, int64_t expect, const double *confidence,
               Diag *reterr);

/* Gathers a held proposal of a region with a good end. Discards the proposal if the region, or a region that shares a
 * key, has a gathered proposal. newer: the region has a later proposal; only the last proposal of a region counts. A
 * proposal of another round, or after the deadline, is discarded (round.h). *ret_full: a verdict is due: the slot has
 * enough proposals for the rule, or the round's deadline is over. A judge's round takes no more than the rule says
 * (QUORUM_FULL), and is decided by the judge alone. */
#define QUORUM_FULL "full"
int quorum_take(Txn *t, const HeldRow *h, const SlotRow *row, bool newer, bool *ret_full);
/* Closes the open round without a winner, and drops what is gathered. Nothing without a round and without proposals. */
int quorum_close(Txn *t, const char *name, const char *who);
/* The verdict on the gathered proposals: slot.arbitrated, and slot.written for a winner; closes the round. who: the
 * asking operator, or NULL. *ret (may be NULL): the fields of the verdict's entry. Returns 0, ENGINE_E_NO_VALUE without
 * gathered proposals and without an open round, -errno. */
int quorum_decide(Txn *t, const char *name, const char *who, uint64_t *ret_seq, json_t **ret, Diag *reterr);
/* The verdict of a judge on the open round. Returns 0 or -errno. */
int quorum_judge(Txn *t, const char *name, const char *who, const JudgeQuestion *q, const Judgement *j,
                 uint64_t *ret_seq, json_t **ret);
