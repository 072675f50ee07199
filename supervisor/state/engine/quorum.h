/* Runs: supervisor, CLI. Slots with a rule of arbitration (arbiter.h): what regions that ended well proposed is gathered, and when it is enough, or
 * the operator says so, one of it becomes the slot's value. Inside of engine/ only. */
#pragma once

#include "engine/arbitration.h"
#include "engine/engine.h"
#include "record/rows.h"

/* The rule of a slot that has one: read from its definition. */
int quorum_rule(Txn *t, const SlotRow *row, ArbitrationRule *ret);
/* Whether a proposal may be made under the rule; confidence: NULL for none. Returns 0, ENGINE_E_RULE, -errno. */
int quorum_may(Txn *t, const char *name, const SlotRow *row, int64_t expect, const double *confidence, Diag *reterr);

/* A held proposal of a region that ends well: gathered, or discarded when its region, or another that shares a key with it, has one already. What a
 * region proposed last counts, so that later ones are to be known: `newer` is whether there is one. *ret_full: the slot has as many as its rule wants. */
int quorum_take(Txn *t, const HeldRow *h, const SlotRow *row, bool newer, bool *ret_full);
/* The verdict on what was gathered: slot.arbitrated, and slot.written when one was taken. who: the operator that asked for it, or NULL. *ret (may be
 * NULL) is the verdict's entry as fields. Returns 0, ENGINE_E_NO_VALUE when nothing was gathered, -errno. */
int quorum_decide(Txn *t, const char *name, const char *who, uint64_t *ret_seq, json_t **ret, Diag *reterr);
