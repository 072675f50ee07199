/* Runs: supervisor. Lineage detail "handles": each issue, use, refusal and unbinding of a handle as an event of its own (I-37), of this region's
 * handles whoever uses them, and of others' handles that this region uses (I-75). The level changes what is recorded and nothing that occurs (I-38):
 * traces are kept here and written in batches, so that no request waits for the ledger because of them; they are bounded, because no region may write
 * the ledger without end. */
#include "dispatch/dispatch-internal.h"

#include "base/clock.h"
#include "engine/engine.h"
#include "region/region-handle.h"

#include <errno.h>
#include <stdio.h>

#define TRACES_BATCH 256
#define TRACES_MAX 16384 /* of one invocation; what comes then is counted */

static int add_trace(Dispatch *d, const HandleTrace *t) {
        _cleanup_json_ json_t *row = json_pack("{s:s, s:s?, s:s?, s:s*, s:s*}", "what", t->what, "handle", t->handle, "section", t->section, "by", t->by, "of", t->of);
        char time[CLOCK_TEXT_MAX];

        if (!row || json_object_set_new(row, "at", json_string(clock_format(t->usec ? t->usec : clock_real_usec(), time))) < 0)
                return -ENOMEM;
        if (t->code && json_object_set_new(row, "code", json_string(handle_code_name(t->code))) < 0)
                return -ENOMEM;
        if (*t->what == 'd' && (json_object_set_new(row, "access", json_string(t->write ? "write" : "read")) < 0 ||
                                json_object_set_new(row, "version", json_u64(t->version)) < 0))
                return -ENOMEM;
        return json_array_append(d->traces, row) < 0 ? -ENOMEM : 0;
}

void dispatch_trace(void *dispatch, const HandleTrace *t) {
        Dispatch *d = dispatch;

        if (d->grant->lineage != LINEAGE_HANDLES)
                return;
        d->traces_dropped += t->more;
        if (d->n_traces >= TRACES_MAX || add_trace(d, t) < 0)
                d->traces_dropped++;
        else
                d->n_traces++;
}

/* handle.issued, handle.dereferenced, handle.refused, handle.closed, handle.unbound; at the end handle.dropped with a count. */
static int write_traces(Dispatch *d, Txn *t, bool all) {
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
                r = write_traces(d, t, all);
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
