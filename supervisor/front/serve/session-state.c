/* Runs: lethe-serve, the front. Working state (M-9): a value per scope, in the memory of the daemon alone: in no table,
 * ledger or search. The value goes when cleared, with its scope, and with the daemon. */
#include "serve/serve.h"

#include "engine/scope.h"
#include "schema/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKING_SCOPES_MAX 256
#define WORKING_VALUE_MAX (64 * 1024) /* canonical bytes */
#define KEY_MAX 24

void session_state_deinit(SessionState *w) {
        json_decref(w->values);
        w->values = NULL;
}

/* The key is the scope's number: the value of a deleted scope is not found by a new scope of the same name (M-24). */
static int session_state_key_of(Store *s, const char *scope, char ret[static KEY_MAX], Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        uint64_t number;
        int r = store_begin(s, false, &t, reterr) ?: scope_find(t, scope, &number, reterr);

        if (r == 0)
                snprintf(ret, KEY_MAX, "%" PRIu64, number);
        return r > 0 ? SERVE_E_INVALID_PARAMS : r;
}

/* Removes the values of deleted scopes. */
static int session_state_sweep(SessionState *w, Store *s, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        const char *key;
        json_t *v;
        void *next;
        int r = store_begin(s, false, &t, reterr);

        if (r == 0)
                json_object_foreach_safe(w->values, next, key, v) {
                        char name[SCOPE_NAME_MAX];

                        if (scope_name_of(t, strtoull(key, NULL, 10), name) < 0)
                                json_object_del(w->values, key);
                }
        return r;
}

int session_state_set(SessionState *w, Store *s, const char *scope, json_t *value, Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        char key[KEY_MAX];
        size_t n;
        int r = w->values || (w->values = json_object()) ? session_state_key_of(s, scope, key, reterr) : -ENOMEM;

        if (r == 0)
                r = session_state_sweep(w, s, reterr);
        if (r != 0)
                return r;
        if (!value) {
                json_object_del(w->values, key);
                return 0;
        }
        r = json_canonical(value, &text, &n);
        if (r == -ERANGE)
                return diag(reterr, SERVE_E_INVALID_PARAMS, "value: an integer is beyond 2^53-1: write it as a string");
        if (r < 0)
                return r;
        if (n > WORKING_VALUE_MAX)
                return diag(reterr, SERVE_E_INVALID_PARAMS, "value has %zu bytes: at most %d are allowed", n,
                            WORKING_VALUE_MAX);
        if (!json_object_get(w->values, key) && json_object_size(w->values) == WORKING_SCOPES_MAX)
                return diag(reterr, SERVE_E_INVALID_PARAMS, "%d scopes have working state already: clear one",
                            WORKING_SCOPES_MAX);
        return json_object_set(w->values, key, value) < 0 ? -ENOMEM : 0;
}

int session_state_get(SessionState *w, Store *s, const char *scope, json_t **ret, Diag *reterr) {
        char key[KEY_MAX];
        int r = session_state_key_of(s, scope, key, reterr);

        if (r == 0)
                *ret = json_object_get(w->values, key);
        return r;
}
