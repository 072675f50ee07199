/* Runs: supervisor. Gates: slots whose value must satisfy a schema before a region may begin. Each entry reads them anew, in the transaction
 * that begins the region: there is no reading to be kept, and none older than the invocation is ever looked at (I-52). A gate
 * may say how old the value may be that it reads (I-76): since that version was written. */
#pragma once

#include "engine/engine.h"

typedef struct Gates {
        json_t *rows;     /* array of the fields of gate.evaluated; owned */
        json_t *evidence; /* object slot -> {"value","until_usec"?: CLOCK_MONOTONIC} of the gates; of use when all hold; owned */
        bool failed;
        Diag why;         /* the first that failed */
} Gates;
void gates_deinit(Gates *g);
#define _cleanup_gates_ _cleanup_(gates_deinit)

/* Reads only. gates may be NULL: [{"slot","schema","max_age_usec"?}]. now_usec: CLOCK_REALTIME. Returns 0 (also when a gate fails), ENGINE_E_BAD_NAME, ENGINE_E_BAD_SCHEMA, -errno. */
int gates_evaluate(Txn *t, const json_t *gates, uint64_t now_usec, Gates *ret, Diag *reterr);
/* gate.evaluated for each, as the lineage detail of the region's row has it. row: NULL when there is none. */
int gates_record(Txn *t, json_t *row, const char *region, const Gates *g);
