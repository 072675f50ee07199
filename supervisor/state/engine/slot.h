/* Runs: supervisor, CLI. What slot.c shares inside of engine/. */
#pragma once

#include "engine/engine.h"
#include "engine/lineage.h"
#include "record/rows.h"

typedef struct SlotChecked {
        SlotRow row;
        uint64_t version; /* that the value will have */
        char *text;       /* canonical bytes; owned */
        size_t n;
} SlotChecked;
/* Name, definition, reservation, expected version, schema and size: everything that does not change the store. `region` or NULL for the
 * operator. Returns 0, EngineCode, -errno. */
int slot_check(Txn *t, const char *region, const char *name, const json_t *value, int64_t expect, SlotChecked *ret, Diag *reterr);
void slot_checked_deinit(SlotChecked *c);

/* Appends or counts slot.refused; row: of the region, put when it counted; NULL for the operator. Returns code or -errno. */
int engine_refuse(Txn *t, json_t *row, const char *region, const char *who, const char *name, EngineCode code, Diag *why);
