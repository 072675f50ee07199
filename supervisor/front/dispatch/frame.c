/* Runs: supervisor. One line into one request, strictly. Whatever is wrong has its own code. */
#include "dispatch/dispatch-internal.h"

#include <string.h>

#define ID_MAX 256 /* bytes of a string id: it is echoed, and nothing that is echoed is without bound */

void frame_deinit(Frame *f) {
        json_decref(f->whole);
        *f = (Frame){0};
}

static int read_text(const char *line, size_t n, json_t **ret, Diag *reterr) {
        size_t bad;
        int r;

        if (!utf8_valid(line, n, &bad))
                return diag(reterr, RPC_E_BAD_UTF8, "byte %zu of the line is not UTF-8", bad + 1);
        r = json_parse(line, n, PIPE_LINE_MAX, PIPE_DEPTH_MAX, ret, reterr);
        switch (r) {
        case JSON_E_SYNTAX:
                return RPC_E_PARSE;
        case JSON_E_DUPLICATE:
                return RPC_E_DUPLICATE_KEY;
        case JSON_E_DEPTH:
                return RPC_E_DEPTH;
        case JSON_E_SIZE:
                return RPC_E_LINE_TOO_LONG;
        default:
                return r;
        }
}

static bool id_valid(const json_t *id) {
        if (json_is_integer(id))
                return json_integer_value(id) <= JSON_INTEGER_MOST && json_integer_value(id) >= -JSON_INTEGER_MOST;
        return json_is_null(id) || (json_is_string(id) && json_string_length(id) <= ID_MAX);
}

int frame_read(const char *line, size_t n, Frame *ret, Diag *reterr) {
        __attribute__((cleanup(frame_deinit))) Frame f = {0};
        const json_t *version, *id, *method;
        const char *key;
        json_t *value;
        char quoted[400];
        int r;

        r = read_text(line, n, &f.whole, reterr);
        if (r != 0)
                return r;
        if (json_is_array(f.whole))
                return diag(reterr, RPC_E_BATCH, "batches are not taken: one request a line");
        if (!json_is_object(f.whole))
                return diag(reterr, RPC_E_INVALID_REQUEST, "a request is a JSON object");

        id = json_object_get(f.whole, "id");
        if (id && !id_valid(id))
                return diag(reterr, RPC_E_INVALID_REQUEST, "id is a string of at most %d bytes, an integer within 2^53-1, or null", ID_MAX);
        f.id = id;
        version = json_object_get(f.whole, "jsonrpc");
        method = json_object_get(f.whole, "method");
        f.params = json_object_get(f.whole, "params");
        f.method = json_text(method);

        r = 0;
        if (!json_text_is(version, "2.0"))
                r = diag(reterr, RPC_E_INVALID_REQUEST, "member jsonrpc is to be \"2.0\"");
        else if (!f.method)
                r = diag(reterr, RPC_E_INVALID_REQUEST, "member method is to be a method's name");
        json_object_foreach(f.whole, key, value)
                if (r == 0 && strcmp(key, "jsonrpc") && strcmp(key, "id") && strcmp(key, "method") && strcmp(key, "params"))
                        r = diag(reterr, RPC_E_INVALID_REQUEST, "member \"%s\" is not one of jsonrpc, id, method, params",
                                 diag_quote(key, strlen(key), quoted, sizeof(quoted)));
        if (r == 0 && f.params && !json_is_object(f.params))
                r = diag(reterr, RPC_E_INVALID_PARAMS, "params is to be an object: parameters go by name");
        *ret = f;
        f = (Frame){0};
        return r;
}
