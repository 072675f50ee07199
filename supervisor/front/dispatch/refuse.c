/* Runs: supervisor. What was refused is in the ledger, but never as a copy of hostile bytes: the ledger cannot forget (I-2). */
#include "dispatch/dispatch-internal.h"

#include "engine/engine.h"

#include <errno.h>

int dispatch_record(Dispatch *d, const char *type, const json_t *fields, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int r;

        r = store_begin(d->store, true, &t, reterr);
        if (r == 0) {
                r = engine_event(t, d->region, type, fields, NULL);
                if (r < 0)
                        diag(reterr, r, "event %s: %s", type, store_strerror(r));
        }
        if (r == 0)
                r = store_commit(TAKE_PTR(t), reterr);
        return r == 0 ? 0 : DISPATCH_E_STORE;
}

int dispatch_refuse(Dispatch *d, RpcCode code, const char *method, size_t n_line, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL;
        int r;

        if (rpc_kind(code) == RPC_ANSWER)
                return 0;
        if (d->refused[code]++ == 0) {
                fields = json_pack("{s:s, s:i, s:o}", "code", rpc_word(code), "count", 1, "bytes", json_u64(n_line));
                if (!fields || (method && json_object_set_new(fields, "method", json_string(method)) < 0))
                        return -ENOMEM;
                r = dispatch_record(d, "request.refused", fields, reterr);
                if (r != 0)
                        return r;
        }
        if (rpc_kind(code) == RPC_VIOLATION && ++d->violations >= PIPE_BAD_LINES_MAX)
                return diag(reterr, DISPATCH_E_END, "the region broke the pipe's protocol %d times, last with %s", PIPE_BAD_LINES_MAX, rpc_word(code));
        return 0;
}

/* One more event of the region at its end, in the transaction of all of them; fields NULL: none. */
static int finish_with(Dispatch *d, Txn **t, const char *type, const json_t *fields, Diag *reterr) {
        int r;

        if (!fields)
                return 0;
        r = *t ? 0 : store_begin(d->store, true, t, reterr);
        if (r == 0) {
                r = engine_event(*t, d->region, type, fields, NULL);
                if (r < 0)
                        diag(reterr, r, "events of the pipe: %s", store_strerror(r));
        }
        return r == 0 ? 0 : DISPATCH_E_STORE;
}

int dispatch_finish(Dispatch *d, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_json_ json_t *logged = NULL;
        int r;

        r = dispatch_trace_flush(d, true, reterr);
        if (r == 0)
                r = dispatch_log_summary(d, &logged);
        for (size_t code = 0; r == 0 && code < RPC_CODES; code++) {
                _cleanup_json_ json_t *fields = NULL;

                if (d->refused[code] <= 1)
                        continue;
                fields = json_pack("{s:s, s:o, s:b}", "code", rpc_word(code), "count", json_u64(d->refused[code] - 1), "further", 1);
                r = fields ? finish_with(d, &t, "request.refused", fields, reterr) : -ENOMEM;
                d->refused[code] = 1;
        }
        if (r == 0)
                r = finish_with(d, &t, "region.logged", logged, reterr);
        if (r == 0 && t && store_commit(TAKE_PTR(t), reterr) != 0)
                return DISPATCH_E_STORE;
        return r;
}
