/* Runs: supervisor. The end of a dispatch: last counts as events of the region, and results for the receipt. Held
 * writes of memory have their end in write-buffer.c. */
#include "dispatch/dispatch-internal.h"

#include "engine/engine.h"

#include <errno.h>
#include <stdlib.h>

int dispatch_finish(Dispatch *d, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_json_ json_t *logged = NULL;
        int r = dispatch_trace_flush(d, true, reterr);

        if (r == 0)
                r = dispatch_log_summary(d, &logged);
        for (size_t code = 0; r == 0 && code < RPC_CODES; code++) {
                _cleanup_json_ json_t *fields = NULL;

                if (d->refused[code] <= 1)
                        continue;
                fields = json_pack("{s:s, s:o, s:b}", "code", rpc_word(code), "count", json_u64(d->refused[code] - 1),
                                   "further", 1);
                r = fields ? dispatch_record_in(d, &t, "request.refused", fields, reterr) : -ENOMEM;
                d->refused[code] = 1;
        }
        if (r == 0 && logged)
                r = dispatch_record_in(d, &t, "region.logged", logged, reterr);
        if (r == 0 && t && store_commit(TAKE_PTR(t), reterr) != 0)
                return DISPATCH_E_STORE;
        return r;
}

int dispatch_reads_end(Dispatch *d, Txn *t) {
        int r = 0;

        if (d->belief_reads > 0)
                r = dispatch_reads_put(d, t, "belief.read",
                                       json_pack("{s:s, s:o, s:o}", "scope", d->grant->canon, "count",
                                                 json_u64(d->belief_reads), "rows", json_u64(d->belief_rows)),
                                       &d->belief);
        if (r == 0 && d->memory_reads > 0)
                r = dispatch_reads_put(d, t, "memory.read",
                                       json_pack("{s:o, s:o}", "count", json_u64(d->memory_reads), "records",
                                                 json_u64(d->memory_records)),
                                       &d->remembered);
        return r == 0 && d->own_reads > 0 ? dispatch_note_reads_put(d, t) : r;
}

uint64_t dispatch_notes(const Dispatch *d) {
        return d->notes;
}

bool dispatch_holds_memory(const Dispatch *d) {
        return d->n_memory > 0;
}

const json_t *dispatch_memory_ended(const Dispatch *d) {
        return d->memory_end;
}

void dispatch_reads_deinit(DispatchReads *r) {
        json_decref(r->of);
        *r = (DispatchReads){0};
}

void dispatch_free(Dispatch *d) {
        if (!d)
                return;
        json_decref(d->copies);
        json_decref(d->held);
        json_decref(d->result);
        json_decref(d->traces);
        for (size_t i = 0; i < d->n_memory; i++)
                json_decref(d->memory[i].params);
        free(d->memory);
        json_decref(d->memory_end);
        json_decref(d->carries);
        json_decref(d->carried);
        json_decref(d->tools);
        dispatch_reads_deinit(&d->belief);
        dispatch_reads_deinit(&d->remembered);
        free(d->noted);
        free(d);
}
