/* Runs: supervisor. Gates: slots whose value must satisfy a schema before the start of a region. Each start reads the
 * slots anew, in the transaction that begins the region: no reading older than the invocation is used (I-52). A gate
 * may limit the age of the value (I-76), counted from the write of the version. */
#pragma once

#include "engine/engine.h"

typedef struct Gates {
        json_t *rows;     /* array of the fields of gate.evaluated; owned */
        json_t *evidence; /* object slot -> {"value","until_usec"?: CLOCK_MONOTONIC}; valid if all gates hold; owned */
        bool failed;
        Diag why;         /* the first failure */
} Gates;
void gates_deinit(Gates *g);
#define _cleanup_gates_ _cleanup_(gates_deinit)

/* Reads only. gates may be NULL: [{"slot","schema","max_age_usec"?}]. now_usec: CLOCK_REALTIME. Returns 0 (also for a
 * failing gate), ENGINE_E_BAD_NAME, ENGINE_E_BAD_SCHEMA, -errno. */
int gates_evaluate(Txn *t, const json_t *gates, uint64_t now_usec, Gates *ret, Diag *reterr);
/* Appends gate.evaluated for each gate, by the lineage detail of the region's row; row NULL: no row. */
int gates_record(Txn *t, json_t *row, const char *region, const Gates *g);
