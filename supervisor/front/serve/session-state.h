/* Runs: lethe-serve, the front. SessionState state (M-9): one value a scope, in this process's memory and nowhere else.
 * It is in no table, no ledger, no search; it goes when it is cleared, when its scope is deleted, and with the
 * daemon. */
#pragma once

#include "base/json.h"
#include "store/store.h"

#define WORKING_SCOPES_MAX 256
#define WORKING_VALUE_MAX (64 * 1024) /* canonical bytes */

typedef struct SessionState {
        json_t *values; /* number of the scope, as text -> value */
} SessionState;
void session_state_deinit(SessionState *w);

/* value NULL: clears it. Returns 0, SERVE_E_INVALID_PARAMS with a message, -errno. */
int session_state_set(SessionState *w, Store *s, const char *scope, json_t *value, Diag *reterr);
/* *ret is borrowed; NULL: none is set. */
int session_state_get(SessionState *w, Store *s, const char *scope, json_t **ret, Diag *reterr);
