/* Runs: supervisor. slot.read, slot.write, slot.list. A read answers with the region's own write, else with the copy of
 * its entry (I-20): later writes of other regions stay invisible. A write is a proposal (I-18). */
#include "dispatch/dispatch-internal.h"

#include "base/id.h"
#include "engine/engine.h"
#include "region/region-key.h"

#include <errno.h>
#include <string.h>

/* Later code handles names as C strings: a name with a NUL is refused. */
static int slot_check_name(const char *name, size_t n, Diag *reterr) {
        if (strlen(name) == n && slot_name_valid(name))
                return 0;
        return diag(reterr, RPC_E_BAD_NAME, "\"%s\" is not a slot's name: [a-z][a-z0-9._/-]*, at most %d bytes",
                    DIAG_QUOTED_N(name, n), SLOT_NAME_MAX);
}

int dispatch_do_slot_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *name;
        json_t *value;
        size_t n;
        int r;

        if (json_take(params, "{s:s%}", "name", &name, &n) < 0)
                return dispatch_bad_params(params, "{name: string}", reterr);
        r = slot_check_name(name, n, reterr);
        if (r != 0)
                return r;
        value = json_object_get(d->held, name);
        if (!value && !dispatch_is_listed(d->grant->reads, name, strlen(name)))
                return diag(reterr, RPC_E_NOT_GRANTED, "slot %s is not among the slots that this region may read",
                            name);
        if (!value)
                value = json_object_get(d->copies, name);
        if (!json_is_object(value))
                return diag(reterr, RPC_E_NO_VALUE, "slot %s had no value when the region began", name);
        *ret_result = json_incref(value);
        return 0;
}

/* A single transaction: the proposal, or its refusal, is durable before the answer. */
static int slot_propose(Dispatch *d, const SlotProposal *said, uint64_t *ret_seq, uint64_t *ret_version,
                        bool *ret_arbitrated, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_keys_ const KeySet *keys = NULL;
        SlotProposal p = *said;
        EngineCode code;
        int r = store_begin(d->store, true, &t, reterr);

        if (r != 0)
                return RPC_E_INTERNAL;
        p.keys = keys = region_keys_hold();
        r = engine_slot_propose(t, &p, ret_seq, ret_version, ret_arbitrated, reterr);
        region_keys_let_go(&keys);
        if (r < 0)
                return diag(reterr, RPC_E_INTERNAL, "slot %s: %s", p.name, store_strerror(r));
        code = (EngineCode)r;
        if ((code == ENGINE_OK || rpc_of_engine(code) != RPC_E_INTERNAL) && store_commit(TAKE_PTR(t), reterr) != 0)
                return RPC_E_INTERNAL;
        d->recorded = code != ENGINE_OK;
        return code == ENGINE_OK ? RPC_OK : (int)rpc_of_engine(code);
}

int dispatch_do_slot_write(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *kept = NULL;
        uint64_t seq, version;
        json_int_t expect = -1;
        const char *name;
        json_t *value, *expected = NULL, *sure = NULL;
        double confidence = 0;
        SlotProposal said;
        bool arbitrated;
        size_t n;
        int r;

        if (json_take(params, "{s:s%, s:o, s?:o, s?:o}", "name", &name, &n, "value", &value, "expect", &expected,
                      "confidence", &sure) < 0)
                return dispatch_bad_params(params, "{name: string, value: any, expect?: integer, confidence?: number}",
                                           reterr);
        r = dispatch_take_version(expected, &expect, reterr);
        if (r != 0)
                return r;
        if (sure) {
                confidence = json_is_number(sure) ? json_number_value(sure) : -1;
                if (!(confidence >= 0 && confidence <= 1))
                        return diag(reterr, RPC_E_INVALID_PARAMS, "confidence is to be a number from 0 to 1");
        }
        r = slot_check_name(name, n, reterr);
        if (r != 0)
                return r;
        /* Refused proposals are events as well, and no region may write the ledger without end. */
        if (d->proposals >= SLOT_PROPOSALS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d slot writes of one invocation are the most, the refused ones "
                            "with them", SLOT_PROPOSALS_MAX);
        d->proposals++;
        said = (SlotProposal){.region = d->region, .name = name, .value = value, .expect = expect,
                              .confidence = sure ? &confidence : NULL};
        r = slot_propose(d, &said, &seq, &version, &arbitrated, reterr);
        if (r != 0)
                return r;
        kept = json_pack("{s:o, s:O}", "version", json_u64(version), "value", value);
        if (!kept || json_object_set(d->held, name, kept) < 0)
                return -ENOMEM;
        r = dispatch_answer_held(d,
                                 json_pack("{s:o, s:o, s:b}", "seq", json_u64(seq), "version", json_u64(version),
                                           "held", 1),
                                 ret_result);
        if (r == 0 && arbitrated && json_object_set_new(*ret_result, "arbitrated", json_true()) < 0)
                return -ENOMEM;
        return r;
}

static int slot_add_row(Dispatch *d, json_t *rows, const char *name) {
        json_t *value = json_object_get(d->held, name), *row;
        bool reads = dispatch_is_listed(d->grant->reads, name, strlen(name));

        if (!value && reads)
                value = json_object_get(d->copies, name);
        row = json_pack("{s:s, s:b, s:b, s:O*}", "name", name, "read", reads, "write",
                        dispatch_is_listed(d->grant->writes, name, strlen(name)), "version",
                        json_object_get(value, "version"));
        return json_array_append_new(rows, row) < 0 ? -ENOMEM : 0;
}

int dispatch_do_slot_list(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *rows = json_array();
        int r = 0;

        if (json_take(params, "{}") < 0)
                return dispatch_bad_params(params, "{}", reterr);
        if (!rows)
                return -ENOMEM;
        for (size_t i = 0; r == 0 && d->grant->reads && d->grant->reads[i]; i++)
                r = slot_add_row(d, rows, d->grant->reads[i]);
        for (size_t i = 0; r == 0 && d->grant->writes && d->grant->writes[i]; i++)
                if (!dispatch_is_listed(d->grant->reads, d->grant->writes[i], strlen(d->grant->writes[i])))
                        r = slot_add_row(d, rows, d->grant->writes[i]);
        if (r < 0)
                return r;
        return dispatch_answer(json_pack("{s:O}", "slots", rows), ret_result);
}
