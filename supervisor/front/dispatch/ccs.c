/* Runs: supervisor. ccs.*: the loop around the skill of a session (C-1, C-34, C-39, C-41). The skill gets the state that was
 * committed at the turn's start and the present input, always with the same members; no older state, no evidence (C-2).
 * Outputs of its tools are held until the turn's end: a turn that does not succeed has none. */
#include "dispatch/dispatch-internal.h"

#include "base/log.h"
#include "cognition/cognition.h"
#include "schema/limits.h"

#include <errno.h>
#include <string.h>

#define CCS_NO_OUTPUT "(no output)" /* the decision of a turn that only used tools */

static int ccs_need(const Dispatch *d, Diag *reterr) {
        return d->turn && d->turn->ccs
                       ? 0
                       : diag(reterr, RPC_E_NOT_GRANTED,
                              "this region is no turn of a session with \"cognition\" in its manifest");
}

int dispatch_do_ccs_read(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        int r = json_take(params, "{}") < 0 ? dispatch_bad_params(params, "{}", reterr) : ccs_need(d, reterr);

        if (r != 0)
                return r;
        return dispatch_answer(json_pack("{s:O, s:O, s:O}", "turn", json_object_get(d->turn->ccs, "turn"), "ccs",
                                         json_object_get(d->turn->ccs, "ccs"), "input",
                                         json_object_get(d->turn->observed, "input")),
                               ret_result);
}

int dispatch_do_ccs_tool(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        json_t *text, *name = NULL;
        int r;

        if (json_take(params, "{s:o, s?:o}", "text", &text, "name", &name) < 0 || !json_text(text) ||
            (name && !json_text(name)))
                return dispatch_bad_params(params, "{text: string, name?: string}", reterr);
        r = ccs_need(d, reterr);
        if (r != 0)
                return r;
        if (json_array_size(d->tools) == COGNITION_TEXTS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%d outputs of tools are the most of a turn", COGNITION_TEXTS_MAX);
        if (json_string_length(text) > COGNITION_TEXT_MAX ||
            d->tools_bytes + json_string_length(text) > COGNITION_INPUT_MAX)
                return diag(reterr, RPC_E_TOO_LARGE, "text has %zu bytes: at most %d are allowed, and %d of a turn",
                            json_string_length(text), COGNITION_TEXT_MAX, COGNITION_INPUT_MAX);
        r = dispatch_key_escape(params, reterr);
        if (r != 0)
                return r;
        if ((!d->tools && !(d->tools = json_array())) || json_array_append(d->tools, params) < 0)
                return -ENOMEM;
        d->tools_bytes += json_string_length(text);
        return dispatch_answer_held(d, json_pack("{s:b, s:o}", "held", true, "tools", json_u64(json_array_size(d->tools))),
                                    ret_result);
}

/* At most most bytes, and whole characters. */
static size_t ccs_cut(const char *text, size_t n, size_t most) {
        if (n <= most)
                return n;
        while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
                most--;
        return most;
}

int dispatch_ccs_end(Dispatch *d, Txn *t, const char *who, const char *said, size_t n) {
        _cleanup_json_ json_t *in = NULL, *decision = NULL, *made = NULL;
        _cleanup_buf_ Buf text = {0};
        Diag why = {0};
        int r = buf_add_plain(&text, said ?: "", n);

        if (r == 0 && text.n == 0 && json_array_size(d->tools) > 0)
                r = buf_add_str(&text, CCS_NO_OUTPUT);
        if (r < 0 || text.n == 0)
                return r; /* the next turn records that nobody decided */
        decision = json_stringn(text.data, ccs_cut(text.data, text.n, COGNITION_TEXT_MAX));
        if (!decision)
                return -ENOMEM;
        r = dispatch_key_escape(decision, &why);
        if (r == 0) {
                in = json_pack("{s:O, s:O*}", "decision", decision, "tools", d->tools);
                r = !in ? -ENOMEM
                        : cognition_decided(t, &(CognitionTurnOf){.who = who, .session = d->turn->cognition, .input = in,
                                                                  .of = d->turn->session}, &made, &why);
        }
        if (r > 0)
                log_warning("session %s: the decision of turn %llu is not kept: %s", d->turn->session,
                            (unsigned long long)d->turn->number, why.text);
        return MIN(r, 0);
}
