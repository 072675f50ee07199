#include "belief/end-row.h"

#include "belief/settle.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <stdio.h>

static json_t *end_request(const RowEnd *e) {
        _cleanup_json_ json_t *payload = json_pack("{s:s, s:s*}", "why", e->why, "superseded_by", e->successor);

        return payload ? json_pack("{s:s, s:s, s:s, s:s, s:O, s:i}", "decision", "accept", "bucket", kind_name(e->kind),
                                   "operation", op_name(OP_INVALIDATE), "target_id", e->id, "payload", payload,
                                   "confidence", 1)
                       : NULL;
}

int belief_end_row(Txn *t, const RowEnd *e, uint64_t *ret_seq, Diag *reterr) {
        _cleanup_json_ json_t *value = end_request(e);
        _cleanup_canon_request_ BeliefRequest q = {0};
        _cleanup_bucket_ Bucket b = bucket_of(t, e->scope, e->kind);
        _cleanup_applied_ Applied done = {0};
        char note[CANON_NOTE_MAX];
        uint64_t more;
        int n, r;

        if (!kind_has_op(e->kind, OP_INVALIDATE))
                return diag(reterr, ENGINE_E_BAD_OPERATION, "%s %s cannot be ended: both stay, or the other ends",
                            kind_name(e->kind), e->id);
        n = snprintf(note, sizeof(note), "invalidate %.*s %s: %s", (int)strlen(kind_name(e->kind)) - 1,
                     kind_name(e->kind), e->id, e->why);
        if (!value || n < 0 || (size_t)n >= sizeof(note))
                return value ? -EFBIG : -ENOMEM;
        r = belief_request_read(value, &q, reterr);
        if (r != 0)
                return r > 0 ? ENGINE_E_BAD_PAYLOAD : r;
        r = belief_apply(t,
                         &(Applying){.scope = e->scope,
                                     .scope_name = e->scope_name,
                                     .request = &q,
                                     .note = note,
                                     .n_note = (size_t)n,
                                     .target = e->id,
                                     .settles = e->for_row,
                                     .bucket = &b,
                                     .by = e->by},
                         &done);
        if (r == 0 && done.outcome != NOTE_COMMITTED)
                return diag(reterr, ENGINE_E_BAD_STATE, "%s %s: %s%s%s", kind_name(e->kind), e->id, done.code,
                            *done.why.text ? ": " : "", done.why.text);
        if (r == 0 && done.applied)
                r = belief_settle(t, &b, &done, e->by, &more);
        if (r == 0)
                *ret_seq = done.seq;
        return r == 0 ? ledger_want_anchor(t) : r;
}
