/* Runs: supervisor. handle.open, handle.read, handle.write, handle.close: the region's working state (I-4, I-6, I-8). What is asked goes to the
 * vaults of the isolation wing with the key that was presented; nothing of a section passes the store. */
#include "dispatch/dispatch-internal.h"

#include "region/region-handle.h"
#include "region/region-section.h"

#include <errno.h>
#include <string.h>

static RpcCode from_handle(int code) {
        switch (code) {
        case HANDLE_E_BAD:
                return RPC_E_BAD_HANDLE;
        case HANDLE_E_KEY:
                return RPC_E_BAD_KEY;
        case HANDLE_E_SCOPE:
                return RPC_E_KEY_SCOPE;
        case HANDLE_E_STALE:
                return RPC_E_STALE;
        case HANDLE_E_UNDECLARED:
                return RPC_E_UNDECLARED_SECTION;
        case HANDLE_E_READ_ONLY:
                return RPC_E_READ_ONLY;
        case HANDLE_E_TYPE:
                return RPC_E_SCHEMA;
        case HANDLE_E_TOO_LARGE:
                return RPC_E_TOO_LARGE;
        case HANDLE_E_NO_VALUE:
                return RPC_E_NO_VALUE;
        case HANDLE_E_CONFLICT:
                return RPC_E_CONFLICT;
        case HANDLE_E_TOO_MANY:
                return RPC_E_TOO_MANY;
        case HANDLE_E_OLD:
                return RPC_E_TOO_OLD;
        case HANDLE_E_ESCAPE:
                return RPC_E_KEY_ESCAPE;
        default:
                return RPC_E_INTERNAL;
        }
}

/* The code of a handle_ function as a method's answer. */
static int answer(int r) {
        return r > 0 ? (int)from_handle(r) : r;
}

/* The members `key`, which may be missing or null (that is no key), and `text`, which must be a string without NUL. */
static int take(const Dispatch *d, const json_t *key, const char *text, size_t n, const char *what, Presented *ret, Diag *reterr) {
        if (key && !json_is_string(key) && !json_is_null(key))
                return diag(reterr, RPC_E_INVALID_PARAMS, "key is to be a string");
        if (strlen(text) != n)
                return diag(reterr, RPC_E_INVALID_PARAMS, "%s is to be text without NUL", what);
        *ret = (Presented){.by = d->vault, .key = json_bytes(key), .n_key = json_string_length(key)};
        return d->vault ? 0 : diag(reterr, RPC_E_UNDECLARED_SECTION, "this region has no sections");
}

/* Parameters that are a handle and nothing else. */
static int take_handle(const Dispatch *d, json_t *params, const char **ret_handle, Presented *ret, Diag *reterr) {
        json_t *key = NULL;
        size_t n;

        if (json_take(params, "{s:s%, s?:o}", "handle", ret_handle, &n, "key", &key) < 0)
                return dispatch_bad_params(params, "{handle: string, key: string}", reterr);
        return take(d, key, *ret_handle, n, "handle", ret, reterr);
}

int dispatch_do_handle_open(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *section, *region = d->region;
        char handle[HANDLE_TEXT_MAX];
        size_t n, n_region = 0;
        json_t *key = NULL;
        Presented p;
        int r;

        if (json_take(params, "{s:s%, s?:o, s?:s%}", "section", &section, &n, "key", &key, "region", &region, &n_region) < 0)
                return dispatch_bad_params(params, "{section: string, key: string, region?: string}", reterr);
        if (region != d->region && strlen(region) != n_region)
                return diag(reterr, RPC_E_INVALID_PARAMS, "region is to be text without NUL");
        r = take(d, key, section, n, "section", &p, reterr);
        if (r == 0)
                r = answer(handle_open(&p, region, section, handle, reterr));
        if (r != 0)
                return r;
        *ret_result = json_pack("{s:s}", "handle", handle);
        return *ret_result ? 0 : -ENOMEM;
}

int dispatch_do_handle_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        json_t *value = NULL;
        const char *handle;
        uint64_t version;
        Presented p;
        int r;

        r = take_handle(d, params, &handle, &p, reterr);
        if (r == 0)
                r = answer(handle_read(&p, handle, &value, &version, reterr));
        if (r != 0)
                return r;
        *ret_result = json_pack("{s:o, s:o}", "value", value, "version", json_u64(version));
        return *ret_result ? 0 : -ENOMEM;
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
                return dispatch_bad_params(params, "{handle: string, key: string, value: any, expect?: integer}", reterr);
        if (expected) {
                expect = json_is_integer(expected) ? json_integer_value(expected) : -1;
                if (expect < 0 || expect > JSON_INTEGER_MOST)
                        return diag(reterr, RPC_E_INVALID_PARAMS, "expect is to be a version: an integer from 0 to 2^53-1");
        }
        r = take(d, key, handle, n, "handle", &p, reterr);
        if (r == 0)
                r = answer(handle_write(&p, handle, value, expect, &version, reterr));
        if (r != 0)
                return r;
        *ret_result = json_pack("{s:o}", "version", json_u64(version));
        return *ret_result ? 0 : -ENOMEM;
}

int dispatch_do_handle_close(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *handle;
        Presented p;
        int r;

        r = take_handle(d, params, &handle, &p, reterr);
        if (r == 0)
                r = answer(handle_close(&p, handle, reterr));
        if (r != 0)
                return r;
        *ret_result = json_object();
        return *ret_result ? 0 : -ENOMEM;
}

int dispatch_key_escape(const json_t *value, Diag *reterr) {
        int r = region_keys_in_json(value);

        return r > 0 ? diag(reterr, RPC_E_KEY_ESCAPE, "a region's key must not leave its region: nothing of this was taken") : r;
}
