/* Runs: supervisor. Answers in canonical form, for byte-exact tests; the table of errors; common parameters. */
#include "dispatch/dispatch-internal.h"

#include <errno.h>
#include <string.h>

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

RpcKind rpc_kind(RpcCode code) {
        return codes[code].kind;
}

static int reply_member(Buf *out, const json_t *id, const char *member, json_t *value) {
        _cleanup_json_ json_t *o = json_pack("{s:s, s:O, s:O?}", "jsonrpc", "2.0", member, value, "id", id);
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        if (!o)
                return -ENOMEM;
        r = json_canonical(o, &text, &n);
        if (r < 0)
                return r;
        text[n++] = '\n'; /* in place of the NUL */
        return buf_add(out, text, n);
}

int reply_result(Buf *out, const json_t *id, json_t *result) {
        return reply_member(out, id, "result", result);
}

int reply_error(Buf *out, const json_t *id, RpcCode code, const char *message) {
        _cleanup_json_ json_t *error = json_pack("{s:i, s:s, s:{s:s}}", "code", codes[code].number, "message", message,
                                                 "data", "code", rpc_word(code));

        return reply_member(out, id, "error", error);
}

RpcCode rpc_of_engine(EngineCode code) {
        static const RpcCode of[] = {
                [ENGINE_OK] = RPC_E_INTERNAL,
#define ENGINE_CODE(id, word, rpc) [ENGINE_E_##id] = RPC_E_##rpc,
#include "record/codes.def"
#undef ENGINE_CODE
        };

        return (size_t)code < ARRAY_SIZE(of) ? of[code] : RPC_E_INTERNAL;
}

int dispatch_bad_params(const json_t *params, const char *expected, Diag *reterr) {
        json_misfit(params, expected, false, reterr); /* a key may stand in a wrong member */
        return RPC_E_INVALID_PARAMS;
}

int dispatch_take_limit(const json_t *said, size_t standard, size_t most, size_t *ret, Diag *reterr) {
        *ret = standard;
        if (!said)
                return 0;
        if (!json_is_integer(said) || json_integer_value(said) < 1 || json_integer_value(said) > (json_int_t)most)
                return diag(reterr, RPC_E_INVALID_PARAMS, "limit is to be an integer from 1 to %zu", most);
        *ret = (size_t)json_integer_value(said);
        return 0;
}

int dispatch_take_version(const json_t *said, json_int_t *ret, Diag *reterr) {
        if (!said)
                return 0;
        *ret = json_is_integer(said) ? json_integer_value(said) : -1;
        if (*ret < 0 || *ret > JSON_INTEGER_MOST)
                return diag(reterr, RPC_E_INVALID_PARAMS, "expect is to be a version: an integer from 0 to 2^53-1");
        return 0;
}

bool dispatch_is_listed(char **list, const char *name, size_t n) {
        for (size_t i = 0; list && list[i]; i++)
                if (strlen(list[i]) == n && memcmp(list[i], name, n) == 0)
                        return true;
        return false;
}

int dispatch_answer(json_t *o, json_t **ret_result) {
        *ret_result = o;
        return o ? 0 : -ENOMEM;
}

int dispatch_answer_held(const Dispatch *d, json_t *o, json_t **ret_result) {
        if (o && d->discards && json_object_set_new(o, "discarded", json_true()) < 0) {
                json_decref(o);
                o = NULL;
        }
        return dispatch_answer(o, ret_result);
}
