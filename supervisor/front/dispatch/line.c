/* Runs: supervisor. The life of a Dispatch, and the way of one line: read, judged by the permit table, answered. */
#include "dispatch/dispatch-internal.h"

#include <errno.h>
#include <string.h>

#define FRAME_ID_MAX 256 /* bytes of a string id: an id is echoed, and every echo is bounded */

/* A request. */
typedef struct Frame {
        json_t *whole;        /* owned; the other members are borrowed from whole */
        const json_t *id;     /* NULL: a notification, or not known because the frame is broken */
        const char *method;
        const json_t *params; /* an object, or NULL when there is none */
} Frame;

static const struct {
        const char *name;
        bool allowed[DISPATCH_DONE + 1];
        DispatchHandler handler;
} methods[] = {
#define METHOD(name, id, in_new, in_open, in_done) {name, {in_new, in_open, in_done}, dispatch_do_##id},
#include "schema/methods.def"
#undef METHOD
};

static const char *const line_state_words[] = {
        [DISPATCH_NEW] = "new", [DISPATCH_OPEN] = "open", [DISPATCH_DONE] = "done"};

int dispatch_new(Store *store, const Grant *grant, const char *region, const json_t *copies, Dispatch **ret) {
        Dispatch *d = calloc(1, sizeof(*d));

        assert(region_id_valid(region));
        if (!d)
                return -ENOMEM;
        d->store = store;
        d->grant = grant;
        memcpy(d->region, region, REGION_ID_MAX);
        /* A shallow copy: the values may be large, and no code changes them. */
        d->copies = copies ? json_copied(copies) : json_object();
        d->held = json_object();
        d->traces = json_array();
        if (!d->copies || !d->held || !d->traces) {
                dispatch_free(d);
                return -ENOMEM;
        }
        *ret = d;
        return 0;
}

void dispatch_set_starter(Dispatch *d, DispatchStartFn fn, void *userdata) {
        d->starter = fn;
        d->starter_data = userdata;
}

void dispatch_use_vault(Dispatch *d, Vault *vault) {
        d->vault = vault;
        vault_trace_to(vault, dispatch_trace, d);
}

void dispatch_set_discards(Dispatch *d) {
        d->discards = true;
}

static void frame_deinit(Frame *f) {
        json_decref(f->whole);
        *f = (Frame){0};
}

static int frame_read_text(const char *line, size_t n, json_t **ret, Diag *reterr) {
        size_t bad;
        int r;

        if (!utf8_valid(line, n, &bad))
                return diag(reterr, RPC_E_BAD_UTF8, "byte %zu of the line is not UTF-8", bad + 1);
        r = json_parse(line, n, PIPE_LINE_MAX, PIPE_DEPTH_MAX, ret, reterr);
        switch (r) {
        case JSON_E_SYNTAX: return RPC_E_PARSE;
        case JSON_E_DUPLICATE: return RPC_E_DUPLICATE_KEY;
        case JSON_E_DEPTH: return RPC_E_DEPTH;
        case JSON_E_SIZE: return RPC_E_LINE_TOO_LONG;
        default: return r;
        }
}

static bool frame_id_valid(const json_t *id) {
        if (json_is_integer(id))
                return json_integer_value(id) <= JSON_INTEGER_MOST && json_integer_value(id) >= -JSON_INTEGER_MOST;
        return json_is_null(id) || (json_is_string(id) && json_string_length(id) <= FRAME_ID_MAX);
}

/* Reads one line strictly (JSON-RPC 2.0). Pure. Returns 0, RpcCode with message (ret->id if known), -ENOMEM. */
static int frame_read(const char *line, size_t n, Frame *ret, Diag *reterr) {
        __attribute__((cleanup(frame_deinit))) Frame f = {0};
        const json_t *version, *id, *method;
        const char *key;
        json_t *value;
        int r;

        r = frame_read_text(line, n, &f.whole, reterr);
        if (r != 0)
                return r;
        if (json_is_array(f.whole))
                return diag(reterr, RPC_E_BATCH, "batches are not taken: one request a line");
        if (!json_is_object(f.whole))
                return diag(reterr, RPC_E_INVALID_REQUEST, "a request is a JSON object");

        id = json_object_get(f.whole, "id");
        if (id && !frame_id_valid(id))
                return diag(reterr, RPC_E_INVALID_REQUEST,
                            "id is a string of at most %d bytes, an integer within 2^53-1, or null", FRAME_ID_MAX);
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
                if (r == 0 && strcmp(key, "jsonrpc") && strcmp(key, "id") && strcmp(key, "method") &&
                    strcmp(key, "params"))
                        r = diag(reterr, RPC_E_INVALID_REQUEST, "member \"%s\" is not one of jsonrpc, id, method, "
                                 "params", DIAG_QUOTED(key));
        if (r == 0 && f.params && !json_is_object(f.params))
                r = diag(reterr, RPC_E_INVALID_PARAMS, "params is to be an object: parameters go by name");
        *ret = f;
        f = (Frame){0};
        return r;
}

/* Runs the method's handler when the permit table allows the method. *ret_method: the name of a known method. */
static int line_judge(Dispatch *d, const Frame *f, const char **ret_method, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *params = f->params ? json_incref((json_t *)f->params) : json_object();

        if (!params)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                if (strcmp(methods[i].name, f->method) != 0)
                        continue;
                *ret_method = methods[i].name;
                if (!methods[i].allowed[d->state])
                        return diag(reterr, RPC_E_NOT_PERMITTED, "%s is not permitted in state %s: %s", methods[i].name,
                                    line_state_words[d->state],
                                    d->state == DISPATCH_NEW ? "hello comes first" : "the result was given");
                return methods[i].handler(d, params, ret_result, reterr);
        }
        return diag(reterr, RPC_E_UNKNOWN_METHOD, "no method \"%s\"", DIAG_QUOTED(f->method));
}

static int line_answer(Dispatch *d, const char *line, size_t n, Buf *out, Diag *reterr) {
        __attribute__((cleanup(frame_deinit))) Frame f = {0};
        _cleanup_json_ json_t *result = NULL;
        const char *method = NULL;
        bool answered;
        Diag message = {0};
        int code, r;

        code = frame_read(line, n, &f, &message);
        /* A notification is a whole request without id. A line that is not a whole request is answered with id null. */
        answered = f.id || !f.method || code == RPC_E_INVALID_REQUEST;
        if (code == 0)
                code = (d->id = f.id, line_judge(d, &f, &method, &result, &message));
        if (code < 0 || code == DISPATCH_LATER)
                return MIN(code, 0);
        if (code == RPC_OK)
                return answered ? reply_result(out, f.id, result) : 0;
        /* The reason of a store's failure is for the operator only: the text may name folders of the host. */
        r = answered ? reply_error(out, f.id, (RpcCode)code,
                                   code == RPC_E_INTERNAL ? "the supervisor cannot record it" : message.text)
                     : 0;
        if (r < 0)
                return r;
        if (code == RPC_E_INTERNAL)
                return diag(reterr, DISPATCH_E_STORE, "%s", message.text);
        if (d->recorded) {
                d->recorded = false;
                return 0;
        }
        return dispatch_refuse(d, (RpcCode)code, method, n, reterr);
}

int dispatch_line(Dispatch *d, const char *line, size_t n, Buf *out, Diag *reterr) {
        int r = n > 0 ? line_answer(d, line, n, out, reterr) : 0;

        return r == 0 ? dispatch_trace_flush(d, false, reterr) : r;
}

int dispatch_bad_frame(Dispatch *d, LineKind kind, size_t n, Buf *out, Diag *reterr) {
        Diag message;
        int r;

        assert(kind == LINE_TOO_LONG || kind == LINE_PARTIAL);
        if (kind == LINE_PARTIAL)
                return dispatch_refuse(d, RPC_E_PARTIAL_LINE, NULL, n, reterr);
        diag(&message, 0, "a line is at most %d bytes", PIPE_LINE_MAX);
        r = reply_error(out, NULL, RPC_E_LINE_TOO_LONG, message.text);
        return r < 0 ? r : dispatch_refuse(d, RPC_E_LINE_TOO_LONG, NULL, PIPE_LINE_MAX, reterr);
}

const json_t *dispatch_result(const Dispatch *d) {
        return d->result;
}
