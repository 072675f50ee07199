/* Runs: supervisor. handle.open, handle.read, handle.write, handle.close: the region's working state (I-4, I-6, I-8).
 * Requests go to the vaults of the isolation wing with the presented key; no byte of a section passes the store. */
#include "dispatch/dispatch-internal.h"

#include "region/region-handle.h"

#include <string.h>

/* The code of a handle_ function as a method's answer. */
static int handle_answer(int r) {
        static const RpcCode of[] = {
#define HANDLE_CODE(id, word, rpc) [HANDLE_E_##id] = RPC_E_##rpc,
#include "region/handle-codes.def"
#undef HANDLE_CODE
        };

        return r <= 0 ? r : (size_t)r < ARRAY_SIZE(of) ? (int)of[r] : (int)RPC_E_INTERNAL;
}

/* Reads the members `key` (missing or null: no key) and `text`, a string without NUL. */
static int handle_take_key(const Dispatch *d, const json_t *key, const char *text, size_t n, const char *what,
                           Presented *ret, Diag *reterr) {
        if (key && !json_is_string(key) && !json_is_null(key))
                return diag(reterr, RPC_E_INVALID_PARAMS, "key is to be a string");
        if (strlen(text) != n)
                return diag(reterr, RPC_E_INVALID_PARAMS, "%s is to be text without NUL", what);
        *ret = (Presented){.by = d->vault, .key = json_bytes(key), .n_key = json_string_length(key)};
        return d->vault ? 0 : diag(reterr, RPC_E_UNDECLARED_SECTION, "this region has no sections");
}

/* Reads parameters with only a handle and a key. */
static int handle_take_params(const Dispatch *d, json_t *params, const char **handle, Presented *ret, Diag *reterr) {
        json_t *key = NULL;
        size_t n;

        if (json_take(params, "{s:s%, s?:o}", "handle", handle, &n, "key", &key) < 0)
                return dispatch_bad_params(params, "{handle: string, key: string}", reterr);
        return handle_take_key(d, key, *handle, n, "handle", ret, reterr);
}

int dispatch_do_handle_open(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *section, *region = d->region;
        char handle[HANDLE_TEXT_MAX];
        size_t n, n_region = 0;
        json_t *key = NULL;
        Presented p;
        int r;

        if (json_take(params, "{s:s%, s?:o, s?:s%}", "section", &section, &n, "key", &key, "region", &region,
                      &n_region) < 0)
                return dispatch_bad_params(params, "{section: string, key: string, region?: string}", reterr);
        if (region != d->region && strlen(region) != n_region)
                return diag(reterr, RPC_E_INVALID_PARAMS, "region is to be text without NUL");
        r = handle_take_key(d, key, section, n, "section", &p, reterr)
                        ?: handle_answer(handle_open(&p, region, section, handle, reterr));
        return r != 0 ? r : dispatch_answer(json_pack("{s:s}", "handle", handle), ret_result);
}

int dispatch_do_handle_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        json_t *value = NULL;
        const char *handle;
        uint64_t version;
        Presented p;
        int r;

        r = handle_take_params(d, params, &handle, &p, reterr)
                        ?: handle_answer(handle_read(&p, handle, &value, &version, reterr));
        return r ?: dispatch_answer(json_pack("{s:o, s:o}", "value", value, "version", json_u64(version)), ret_result);
}

int dispatch_do_handle_write(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        json_t *key = NULL, *value, *expected = NULL;
        json_int_t expect = -1;
        const char *handle;
        uint64_t version;
        Presented p;
        size_t n;
        int r;

        if (json_take(params, "{s:s%, s:o, s?:o, s?:o}", "handle", &handle, &n, "value", &value, "key", &key, "expect",
                           &expected) < 0)
                return dispatch_bad_params(params, "{handle: string, key: string, value: any, expect?: integer}",
                                           reterr);
        r = dispatch_take_version(expected, &expect, reterr);
        if (r != 0)
                return r;
        r = handle_take_key(d, key, handle, n, "handle", &p, reterr)
                        ?: handle_answer(handle_write(&p, handle, value, expect, &version, reterr));
        return r != 0 ? r : dispatch_answer(json_pack("{s:o}", "version", json_u64(version)), ret_result);
}

int dispatch_do_handle_close(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *handle;
        Presented p;
        int r;

        r = handle_take_params(d, params, &handle, &p, reterr) ?: handle_answer(handle_close(&p, handle, reterr));
        return r != 0 ? r : dispatch_answer(json_object(), ret_result);
}

int dispatch_key_escape(const json_t *value, Diag *reterr) {
        int r = region_keys_in_json(value);

        return r > 0 ? diag(reterr, RPC_E_KEY_ESCAPE,
                            "a region's key must not leave its region: nothing of this was taken")
                     : r;
}
