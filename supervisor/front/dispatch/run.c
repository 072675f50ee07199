/* Runs: supervisor. skill.run and result: a region starts a sub-skill, and answers its caller. The dispatch checks the
 * request against the grant; the owner of the regions starts the sub-skill, and the answer comes when the sub-skill's
 * end is recorded. */
#include "dispatch/dispatch-internal.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

static RpcCode run_rpc_code(int code) {
        switch (code) {
        case DISPATCH_START_E_SKILL: return RPC_E_NO_SKILL;
        case DISPATCH_START_E_TOO_MANY: return RPC_E_TOO_MANY;
        case DISPATCH_START_E_BUDGET: return RPC_E_NO_BUDGET;
        case DISPATCH_START_E_STORE: return RPC_E_INTERNAL;
        default: return RPC_E_REFUSED;
        }
}

/* Arguments of a program are C strings: a NUL would end them early. */
static int run_take_args(const json_t *list, const char *ret[static SUBSKILL_ARGS_MAX + 1], Diag *reterr) {
        size_t n = json_array_size(list);

        if (list && !json_is_array(list))
                return diag(reterr, RPC_E_INVALID_PARAMS, "args is to be an array of strings");
        if (n > SUBSKILL_ARGS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%zu arguments: at most %d are allowed", n, SUBSKILL_ARGS_MAX);
        for (size_t i = 0; i < n; i++) {
                const json_t *s = json_array_get(list, i);

                ret[i] = json_text(s);
                if (!ret[i])
                        return diag(reterr, RPC_E_INVALID_PARAMS, "args[%zu] is to be a string without NUL", i);
        }
        ret[n] = NULL;
        return 0;
}

int dispatch_do_skill_run(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *args[SUBSKILL_ARGS_MAX + 1], *entry = NULL;
        json_t *list = NULL;
        DispatchStart start = {.id = d->id};
        size_t n_skill, n_entry = 0;
        int r;

        if (json_take(params, "{s:s%, s?:s%, s?:o, s?:s%}", "skill", &start.skill, &n_skill, "entry", &entry, &n_entry,
                           "args", &list, "input", &start.input, &start.n_input) < 0)
                return dispatch_bad_params(params, "{skill: string, entry?: string, args?: array, input?: string}",
                                           reterr);
        if (entry && strlen(entry) != n_entry)
                return diag(reterr, RPC_E_INVALID_PARAMS, "entry is to be a string without NUL");
        r = run_take_args(list, args, reterr);
        if (r != 0)
                return r;
        if (!d->id)
                return diag(reterr, RPC_E_INVALID_REQUEST,
                            "skill.run is answered when the sub-skill ends: the request needs an id");
        if (!dispatch_is_listed(d->grant->sub_skills, start.skill, n_skill))
                return diag(reterr, RPC_E_NOT_GRANTED, "skill \"%s\" is not among the sub_skills of this region",
                            DIAG_QUOTED_N(start.skill, n_skill));
        r = dispatch_key_escape(params, reterr);
        if (r != 0)
                return r;
        if (!d->starter)
                return diag(reterr, RPC_E_REFUSED, "no sub-skill can be started here");
        start.entry = entry;
        start.args = args;
        r = d->starter(d->starter_data, &start, reterr);
        if (r != 0)
                return r > 0 ? (int)run_rpc_code(r) : r;
        *ret_result = NULL;
        return DISPATCH_LATER;
}

int dispatch_output_refused(Dispatch *d, const char *method, size_t n, Diag *reterr) {
        return dispatch_refuse(d, RPC_E_KEY_ESCAPE, method, n, reterr);
}

int dispatch_answer_started(const json_t *id, json_t *result, Buf *reply) {
        return reply_result(reply, id, result);
}

/* The receipt has the value. The ledger has digest and size, for checks of the receipt, and not the value (I-2). */
int dispatch_do_result(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *fields = NULL;
        _cleanup_free_ char *text = NULL;
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX];
        json_t *value;
        size_t n;
        int r;

        if (json_take(params, "{s:o}", "value", &value) < 0)
                return dispatch_bad_params(params, "{value: any}", reterr);
        r = json_canonical(value, &text, &n);
        if (r == -ERANGE)
                return diag(reterr, RPC_E_INVALID_PARAMS, "an integer of the value is beyond 2^53-1, which some JSON "
                            "readers round: write the integer as a string");
        if (r < 0)
                return r;
        if (n > SLOT_VALUE_MAX)
                return diag(reterr, RPC_E_TOO_LARGE, "a result of %zu bytes: at most %d are allowed", n,
                            SLOT_VALUE_MAX);
        r = dispatch_key_escape(value, reterr);
        if (r != 0)
                return r;
        hash_bytes(text, n, hash);
        fields = json_pack("{s:s, s:o}", "sha256", hex_encode(hash, sizeof(hash), hex), "bytes", json_u64(n));
        if (!fields)
                return -ENOMEM;
        r = dispatch_record(d, "region.result", fields, reterr);
        if (r != 0)
                return r == DISPATCH_E_STORE ? RPC_E_INTERNAL : r;
        *ret_result = json_object();
        if (!*ret_result)
                return -ENOMEM;
        d->result = json_incref(value);
        d->state = DISPATCH_DONE;
        return 0;
}
