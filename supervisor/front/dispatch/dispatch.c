/* Runs: supervisor. */
#include "dispatch/dispatch-internal.h"

#include "base/json-form.h"

#include <errno.h>
#include <string.h>

static const struct {
        const char *name;
        bool allowed[DISPATCH_DONE + 1];
        DispatchHandler handler;
} methods[] = {
#define METHOD(name, id, in_new, in_open, in_done) {name, {in_new, in_open, in_done}, dispatch_do_##id},
#include "schema/methods.def"
#undef METHOD
};

static const char *const state_words[] = {[DISPATCH_NEW] = "new", [DISPATCH_OPEN] = "open", [DISPATCH_DONE] = "done"};

int dispatch_new(Store *store, const Grant *grant, const char *region, const json_t *copies, Dispatch **ret) {
        Dispatch *d = calloc(1, sizeof(*d));

        assert(region_id_valid(region));
        if (!d)
                return -ENOMEM;
        d->store = store;
        d->grant = grant;
        memcpy(d->region, region, REGION_ID_MAX);
        /* A copy of the table alone: nobody changes the values, and they may be large. */
        d->copies = copies ? json_copy((json_t *)copies) : json_object();
        d->held = json_object();
        d->traces = json_array();
        if (!d->copies || !d->held || !d->traces) {
                dispatch_free(d);
                return -ENOMEM;
        }
        *ret = d;
        return 0;
}

void dispatch_free(Dispatch *d) {
        if (!d)
                return;
        json_decref(d->copies);
        json_decref(d->held);
        json_decref(d->result);
        json_decref(d->traces);
        dispatch_memory_free(d);
        dispatch_reads_deinit(&d->belief);
        dispatch_reads_deinit(&d->remembered);
        free(d);
}

void dispatch_use_vault(Dispatch *d, Vault *vault) {
        d->vault = vault;
        vault_trace_to(vault, dispatch_trace, d);
}

void dispatch_set_discards(Dispatch *d) {
        d->discards = true;
}

int dispatch_answer_held(const Dispatch *d, json_t *o, json_t **ret_result) {
        if (o && d->discards && json_object_set_new(o, "discarded", json_true()) < 0) {
                json_decref(o);
                o = NULL;
        }
        *ret_result = o;
        return o ? 0 : -ENOMEM;
}

int dispatch_bad_params(const json_t *params, const char *expected, Diag *reterr) {
        json_misfit(params, expected, false, reterr); /* a key may stand where it does not belong */
        return RPC_E_INVALID_PARAMS;
}

/* The verdict on a frame that was read: runs its handler when the permit table allows. *ret_method: its name when it is one of ours. */
static int judge(Dispatch *d, const Frame *f, const char **ret_method, json_t **ret_result, Diag *reterr) {
        _cleanup_json_ json_t *params = f->params ? json_incref((json_t *)f->params) : json_object();
        char quoted[400];

        if (!params)
                return -ENOMEM;
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                if (strcmp(methods[i].name, f->method) != 0)
                        continue;
                *ret_method = methods[i].name;
                if (!methods[i].allowed[d->state])
                        return diag(reterr, RPC_E_NOT_PERMITTED, "%s is not permitted in state %s: %s", methods[i].name, state_words[d->state],
                                    d->state == DISPATCH_NEW ? "hello comes first" : "the result was given");
                return methods[i].handler(d, params, ret_result, reterr);
        }
        return diag(reterr, RPC_E_UNKNOWN_METHOD, "no method \"%s\"", diag_quote(f->method, strlen(f->method), quoted, sizeof(quoted)));
}

static int answer_line(Dispatch *d, const char *line, size_t n, Buf *out, Diag *reterr) {
        __attribute__((cleanup(frame_deinit))) Frame f = {0};
        _cleanup_json_ json_t *result = NULL;
        const char *method = NULL;
        bool answered;
        Diag message = {0};
        int code, r;

        code = frame_read(line, n, &f, &message);
        /* A notification is a whole request without id. What is not a whole request is answered all the same, with id null. */
        answered = f.id || !f.method || code == RPC_E_INVALID_REQUEST;
        if (code == 0)
                code = (d->id = f.id, judge(d, &f, &method, &result, &message));
        if (code < 0 || code == DISPATCH_LATER)
                return MIN(code, 0);
        if (code == RPC_OK)
                return answered ? reply_result(out, f.id, result) : 0;
        /* Why the store failed is the operator's: it may name folders of the host. */
        r = answered ? reply_error(out, f.id, (RpcCode)code, code == RPC_E_INTERNAL ? "the supervisor cannot record it" : message.text) : 0;
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

static bool permits(const Dispatch *d, DispatchHandler handler) {
        size_t i = 0;

        while (methods[i].handler != handler)
                i++;
        return methods[i].allowed[d->state];
}

int dispatch_line(Dispatch *d, const char *line, size_t n, Buf *out, Diag *reterr) {
        int r = n > 0 && permits(d, dispatch_do_slot_read) ? dispatch_answer_quickly(d, line, n, out) : 0;

        if (r == 0 && n > 0)
                r = answer_line(d, line, n, out, reterr);
        else
                r = MIN(r, 0);
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
