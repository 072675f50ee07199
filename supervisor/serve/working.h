/* Runs: lethe-serve, the front. Working state (M-9): one value a scope, in this process's memory and nowhere else. It is in no table, no ledger, no search;
 * it goes when it is cleared, when its scope is deleted, and with the daemon. */
#pragma once

#include "base/json.h"
#include "store/store.h"

#define WORKING_SCOPES_MAX 256
#define WORKING_VALUE_MAX (64 * 1024) /* canonical bytes */

typedef struct Working {
        json_t *values; /* number of the scope, as text -> value */
} Working;
void working_deinit(Working *w);

/* value NULL: clears it. Returns 0, SERVE_E_INVALID_PARAMS with a message, -errno. */
int working_set(Working *w, Store *s, const char *scope, json_t *value, Diag *reterr);
/* *ret is borrowed; NULL: none is set. */
int working_get(Working *w, Store *s, const char *scope, json_t **ret, Diag *reterr);
