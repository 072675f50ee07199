/* Runs: supervisor. result: the invocation's answer to whoever ran it. It goes into the receipt; the ledger has its digest and size, so
 * that the receipt can be held against it, and not the value (I-2). */
#include "dispatch/dispatch-internal.h"

#include "base/hash.h"

#include <errno.h>

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
                return diag(reterr, RPC_E_INVALID_PARAMS, "an integer of the value is beyond 2^53-1, which not every reader keeps: write it as a string");
        if (r < 0)
                return r;
        if (n > SLOT_VALUE_MAX)
                return diag(reterr, RPC_E_TOO_LARGE, "a result of %zu bytes: at most %d are allowed", n, SLOT_VALUE_MAX);
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
