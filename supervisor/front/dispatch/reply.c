/* Runs: supervisor. Answers, in the canonical form, so that a test can name their bytes; and the table of errors. */
#include "dispatch/dispatch-internal.h"

#include <errno.h>

static const struct {
        const char *word;
        int number;
        RpcKind kind;
} codes[RPC_CODES] = {
        [RPC_OK] = {"ok", 0, RPC_ANSWER},
#define ERROR(id, w, n, k) [RPC_E_##id] = {w, n, RPC_##k},
#include "schema/errors.def"
#undef ERROR
};

const char *rpc_word(RpcCode code) {
        return codes[code].word;
}

int rpc_number(RpcCode code) {
        return codes[code].number;
}

RpcKind rpc_kind(RpcCode code) {
        return codes[code].kind;
}

static int reply(Buf *out, const json_t *id, const char *member, json_t *value) {
        _cleanup_json_ json_t *o = value ? json_pack("{s:s, s:O}", "jsonrpc", "2.0", member, value) : NULL;
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        if (!o || json_object_set_new(o, "id", id ? json_incref((json_t *)id) : json_null()) < 0)
                return -ENOMEM;
        r = json_canonical(o, &text, &n);
        if (r < 0)
                return r;
        text[n++] = '\n'; /* in place of the NUL */
        return buf_add(out, text, n);
}

int reply_with_id(Buf *out, const char *id, size_t n_id, const json_t *result) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = json_canonical(result, &text, &n);

        if (r < 0 || (r = buf_add_str(out, "{\"id\":")) < 0 || (r = buf_add(out, id, n_id)) < 0 ||
            (r = buf_add_str(out, ",\"jsonrpc\":\"2.0\",\"result\":")) < 0 || (r = buf_add(out, text, n)) < 0)
                return r;
        return buf_add_str(out, "}\n");
}

int reply_result(Buf *out, const json_t *id, json_t *result) {
        return reply(out, id, "result", result);
}

int reply_error(Buf *out, const json_t *id, RpcCode code, const char *message) {
        _cleanup_json_ json_t *error = json_pack("{s:i, s:s, s:{s:s}}", "code", rpc_number(code), "message", message, "data", "code", rpc_word(code));

        return reply(out, id, "error", error);
}
