/* Runs: supervisor. For the handlers of memory.*: the record, or the scope, that a request means, and the region's
 * right to it. */
#pragma once

#include "dispatch/dispatch-internal.h"

typedef struct MemoryTarget {
        const MemoryRight *right;
        const char *scope;
        Kind kind;
        const char *id;
} MemoryTarget;

/* Takes the scope of the request, else the first scope of the manifest. Returns 0, RPC_E_NOT_GRANTED. */
int memory_take_scope(const Dispatch *d, const char *scope, MemoryAccess a, MemoryTarget *ret, Diag *reterr);
int memory_take_target(const Dispatch *d, json_t *params, const char *scope, const char *kind, const char *id,
                       MemoryAccess a, MemoryTarget *ret, Diag *reterr);
bool memory_may(const MemoryTarget *of, MemoryAccess a, Kind k);
/* Counts a read; *ret: as dispatch_memory_look(). Returns 0, RpcCode with a message. */
int memory_begin_read(Dispatch *d, Txn **ret, Diag *reterr);
/* Maps the result of a memory service read. rows NULL: a read of one record. */
int memory_end_read(const MemoryTarget *of, int r, json_t **rows, Diag *reterr);
/* Drops the names of records that the region may not read from "disputed" of rows of the scope (an array, or a row).
 * Returns 0, -ENOMEM. */
int dispatch_keep_disputes(const Dispatch *d, const char *scope, json_t *rows);
