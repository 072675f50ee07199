/* Runs: supervisor. Refusals are in the ledger, never with hostile bytes: the ledger cannot forget (I-2). */
#include "dispatch/dispatch-internal.h"

#include "engine/engine.h"
#include "base/clock.h"
#include "region/region-handle.h"

#include <errno.h>
#include <stdio.h>

#define TRACES_BATCH 256
#define TRACES_MAX 16384 /* of one invocation; later traces are counted */

int dispatch_record_in(Dispatch *d, Txn **t, const char *type, const json_t *fields, Diag *reterr) {
        int r = *t ? 0 : store_begin(d->store, true, t, reterr);

        if (r == 0 && (r = engine_event(*t, d->region, type, fields, NULL)) < 0)
                diag(reterr, r, "event %s: %s", type, store_strerror(r));
        return r == 0 ? 0 : DISPATCH_E_STORE;
}

int dispatch_record(Dispatch *d, const char *type, const json_t *fields, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int r = dispatch_record_in(d, &t, type, fields, reterr);

        return r ?: store_commit(TAKE_PTR(t), reterr) == 0 ? 0 : DISPATCH_E_STORE;
}

int dispatch_refuse(Dispatch *d, RpcCode code, const char *method, size_t n_line, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL;
        int r;

        if (rpc_kind(code) == RPC_ANSWER)
                return 0;
        if (d->refused[code]++ == 0) {
                fields = json_pack("{s:s, s:i, s:o, s:s*}", "code", rpc_word(code), "count", 1, "bytes",
                                   json_u64(n_line), "method", method);
                r = fields ? dispatch_record(d, "request.refused", fields, reterr) : -ENOMEM;
                if (r != 0)
                        return r;
        }
        if (rpc_kind(code) == RPC_VIOLATION && ++d->violations >= PIPE_BAD_LINES_MAX)
                return diag(reterr, DISPATCH_E_END, "the region broke the pipe's protocol %d times, last with %s",
                            PIPE_BAD_LINES_MAX, rpc_word(code));
        return 0;
}

/* Lineage detail "handles": each issue, use, refusal and unbinding of a handle is an event (I-37). The events cover
 * this region's handles with any user, and foreign handles in use by this region (I-75). The level changes the record
 * and no behaviour (I-38): traces wait here and are written in batches, so that no request waits for the ledger. Traces
 * are bounded, because no region may write the ledger without end. */
static int lineage_add_trace(Dispatch *d, const HandleTrace *t) {
        const bool dereferenced = *t->what == 'd';
        char time[CLOCK_TEXT_MAX];
        _cleanup_json_ json_t *row = json_pack(
                "{s:s, s:s?, s:s?, s:s*, s:s*, s:s, s:s*, s:s*}", "what", t->what, "handle", t->handle, "section",
                t->section, "by", t->by, "of", t->of, "at", clock_format(t->usec ? t->usec : clock_real_usec(), time),
                "code", t->code ? handle_code_name(t->code) : NULL, "access",
                !dereferenced ? NULL : t->write ? "write" : "read");

        if (!row || (dereferenced && json_object_set_new(row, "version", json_u64(t->version)) < 0))
                return -ENOMEM;
        return json_array_append(d->traces, row) < 0 ? -ENOMEM : 0;
}

void dispatch_trace(void *dispatch, const HandleTrace *t) {
        Dispatch *d = dispatch;

        if (d->grant->lineage != LINEAGE_HANDLES)
                return;
        d->traces_dropped += t->more;
        if (d->n_traces >= TRACES_MAX || lineage_add_trace(d, t) < 0)
                d->traces_dropped++;
        else
                d->n_traces++;
}

/* handle.issued, handle.dereferenced, handle.refused, handle.closed, handle.unbound; at the end handle.dropped. */
static int lineage_write(Dispatch *d, Txn *t, bool all) {
        _cleanup_json_ json_t *dropped = NULL;
        json_t *row;
        size_t i;
        int r;

        json_array_foreach(d->traces, i, row) {
                char type[40];

                snprintf(type, sizeof(type), "handle.%s", json_text(json_object_get(row, "what")));
                json_object_del(row, "what");
                r = engine_event(t, d->region, type, row, NULL);
                if (r < 0)
                        return r;
        }
        if (!all || d->traces_dropped == 0)
                return 0;
        dropped = json_pack("{s:o}", "count", json_u64(d->traces_dropped));
        return dropped ? engine_event(t, d->region, "handle.dropped", dropped, NULL) : -ENOMEM;
}

int dispatch_trace_flush(Dispatch *d, bool all, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        size_t n = json_array_size(d->traces);
        int r;

        if (all ? n == 0 && d->traces_dropped == 0 : n < TRACES_BATCH)
                return 0;
        r = store_begin(d->store, true, &t, reterr);
        if (r == 0) {
                r = lineage_write(d, t, all);
                if (r < 0)
                        diag(reterr, r, "traces of handles: %s", store_strerror(r));
        }
        if (r == 0)
                r = store_commit(TAKE_PTR(t), reterr);
        json_array_clear(d->traces);
        if (all)
                d->traces_dropped = 0;
        return r == 0 ? 0 : DISPATCH_E_STORE;
}
