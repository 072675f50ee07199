/* Runs: supervisor, CLI. For engine/ only: the checks and refusals of slot.c. */
#pragma once

#include "engine/engine.h"
#include "engine/lineage.h"
#include "record/rows.h"

/* The present slot; *ret_value is owned, NULL for a slot without value or definition, and for
 * an erased value, whose version and event *ret still has. Returns 0, -EUCLEAN, -errno. */
int slot_value_get(Txn *t, const char *name, SlotRow *ret, json_t **ret_value);

/* The row of a slot with a rule of arbitration. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_UNDEFINED, ENGINE_E_RULE,
 * -errno. */
int slot_row_for_verdict(Txn *t, const char *name, SlotRow *ret, Diag *reterr);

/* Returns ENGINE_E_BAD_NAME with the rule of names. */
int slot_bad_name(const char *name, Diag *reterr);

typedef struct SlotChecked {
        SlotRow row;
        uint64_t version; /* of the new value */
        char *text;       /* canonical bytes; owned */
        size_t n;
} SlotChecked;
/* Checks name, definition, reservation, expected version, schema and size, without a change of the store. `region`, or
 * NULL for the operator. Returns 0, EngineCode, -errno. */
int slot_check(Txn *t, const char *region, const char *name, const json_t *value, int64_t expect, SlotChecked *ret,
               Diag *reterr);
void slot_checked_deinit(SlotChecked *c);

/* Appends or counts slot.refused; row: of the region, put after a count; NULL for the operator. Returns code or
 * -errno. */
int engine_refuse(Txn *t, json_t *row, const char *region, const char *who, const char *name, EngineCode code,
                  Diag *why);
