/* Runs: supervisor. */
#include "desk/desk-internal.h"

#include "base/json-form.h"

#include <errno.h>
#include <string.h>

static const struct {
        const char *name;
        bool allowed[DESK_DONE + 1];
        DeskHandler handler;
} methods[] = {
#define METHOD(name, id, in_new, in_open, in_done) {name, {in_new, in_open, in_done}, desk_do_##id},
#include "schema/methods.def"
#undef METHOD
};

static const char *const state_words[] = {[DESK_NEW] = "new", [DESK_OPEN] = "open", [DESK_DONE] = "done"};

int desk_new(Store *store, const Grant *grant, const char *region, const json_t *copies, Desk **ret) {
        Desk *d = calloc(1, sizeof(*d));

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
                desk_free(d);
                return -ENOMEM;
        }
        *ret = d;
        return 0;
}

void desk_free(Desk *d) {
        if (!d)
                return;
        json_decref(d->copies);
        json_decref(d->held);
        json_decref(d->result);
        json_decref(d->traces);
        desk_memory_free(d);
        desk_reads_deinit(&d->belief);
        desk_reads_deinit(&d->remembered);
        free(d);
}

void desk_use_vault(Desk *d, Vault *vault) {
        d->vault = vault;
        vault_trace_to(vault, desk_trace, d);
}

void desk_set_discards(Desk *d) {
        d->discards = true;
}

int desk_answer_held(const Desk *d, json_t *o, json_t **ret_result) {
        if (o && d->discards && json_object_set_new(o, "discarded", json_true()) < 0) {
                json_decref(o);
                o = NULL;
        }
        *ret_result = o;
        return o ? 0 : -ENOMEM;
}

int desk_bad_params(const json_t *params, const char *expected, Diag *reterr) {
        json_misfit(params, expected, false, reterr); /* a key may stand where it does not belong */
        return RPC_E_INVALID_PARAMS;
}

/* The verdict on a frame that was read: runs its handler when the permit table allows. *ret_method: its name when it is one of ours. */
static int judge(Desk *d, const Frame *f, const char **ret_method, json_t **ret_result, Diag *reterr) {
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
                                    d->state == DESK_NEW ? "hello comes first" : "the result was given");
                return methods[i].handler(d, params, ret_result, reterr);
        }
        return diag(reterr, RPC_E_UNKNOWN_METHOD, "no method \"%s\"", diag_quote(f->method, strlen(f->method), quoted, sizeof(quoted)));
}

static int answer_line(Desk *d, const char *line, size_t n, Buf *out, Diag *reterr) {
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
        if (code < 0 || code == DESK_LATER)
                return MIN(code, 0);
        if (code == RPC_OK)
                return answered ? reply_result(out, f.id, result) : 0;
        /* Why the store failed is the operator's: it may name folders of the host. */
        r = answered ? reply_error(out, f.id, (RpcCode)code, code == RPC_E_INTERNAL ? "the supervisor cannot record it" : message.text) : 0;
        if (r < 0)
                return r;
        if (code == RPC_E_INTERNAL)
                return diag(reterr, DESK_E_STORE, "%s", message.text);
        if (d->recorded) {
                d->recorded = false;
                return 0;
        }
        return desk_refuse(d, (RpcCode)code, method, n, reterr);
}

static bool permits(const Desk *d, DeskHandler handler) {
        size_t i = 0;

        while (methods[i].handler != handler)
                i++;
        return methods[i].allowed[d->state];
}

int desk_line(Desk *d, const char *line, size_t n, Buf *out, Diag *reterr) {
        int r = n > 0 && permits(d, desk_do_slot_read) ? desk_answer_quickly(d, line, n, out) : 0;

        if (r == 0 && n > 0)
                r = answer_line(d, line, n, out, reterr);
        else
                r = MIN(r, 0);
        return r == 0 ? desk_trace_flush(d, false, reterr) : r;
}

int desk_bad_frame(Desk *d, LineKind kind, size_t n, Buf *out, Diag *reterr) {
        Diag message;
        int r;

        assert(kind == LINE_TOO_LONG || kind == LINE_PARTIAL);
        if (kind == LINE_PARTIAL)
                return desk_refuse(d, RPC_E_PARTIAL_LINE, NULL, n, reterr);
        diag(&message, 0, "a line is at most %d bytes", PIPE_LINE_MAX);
        r = reply_error(out, NULL, RPC_E_LINE_TOO_LONG, message.text);
        return r < 0 ? r : desk_refuse(d, RPC_E_LINE_TOO_LONG, NULL, PIPE_LINE_MAX, reterr);
}

const json_t *desk_result(const Desk *d) {
        return d->result;
}
