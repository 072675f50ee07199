/* Runs: supervisor. skill.run: a region asks for another one. The dispatch checks what is asked against the grant; whoever owns the regions
 * starts it, and the answer comes when that one is recorded. */
#include "dispatch/dispatch-internal.h"

#include <errno.h>
#include <string.h>

void dispatch_set_starter(Dispatch *d, DispatchStartFn fn, void *userdata) {
        d->starter = fn;
        d->starter_data = userdata;
}

static RpcCode from_starter(int code) {
        switch (code) {
        case DISPATCH_START_E_SKILL:
                return RPC_E_NO_SKILL;
        case DISPATCH_START_E_TOO_MANY:
                return RPC_E_TOO_MANY;
        case DISPATCH_START_E_BUDGET:
                return RPC_E_NO_BUDGET;
        case DISPATCH_START_E_STORE:
                return RPC_E_INTERNAL;
        default:
                return RPC_E_REFUSED;
        }
}

static bool listed(char **list, const char *name, size_t n) {
        for (size_t i = 0; list && list[i]; i++)
                if (strlen(list[i]) == n && memcmp(list[i], name, n) == 0)
                        return true;
        return false;
}

/* Arguments of a program are strings of C: a NUL would end them early. */
static int take_args(const json_t *list, const char *ret[static SUBSKILL_ARGS_MAX + 1], Diag *reterr) {
        size_t n = json_array_size(list);

        if (list && !json_is_array(list))
                return diag(reterr, RPC_E_INVALID_PARAMS, "args is to be an array of strings");
        if (n > SUBSKILL_ARGS_MAX)
                return diag(reterr, RPC_E_TOO_MANY, "%zu arguments: at most %d are allowed", n, SUBSKILL_ARGS_MAX);
        for (size_t i = 0; i < n; i++) {
                const json_t *s = json_array_get(list, i);

                ret[i] = json_text(s);
                if (!ret[i])
                        return diag(reterr, RPC_E_INVALID_PARAMS, "args[%zu] is to be a string without NUL", i);
        }
        ret[n] = NULL;
        return 0;
}

int dispatch_do_skill_run(Dispatch *d, json_t *params, json_t **ret_result, Diag *reterr) {
        const char *args[SUBSKILL_ARGS_MAX + 1], *entry = NULL;
        json_t *list = NULL;
        DispatchStart start = {.id = d->id};
        size_t n_skill, n_entry = 0;
        char quoted[400];
        int r;

        if (json_take(params, "{s:s%, s?:s%, s?:o, s?:s%}", "skill", &start.skill, &n_skill, "entry", &entry, &n_entry,
                           "args", &list, "input", &start.input, &start.n_input) < 0)
                return dispatch_bad_params(params, "{skill: string, entry?: string, args?: array, input?: string}", reterr);
        if (entry && strlen(entry) != n_entry)
                return diag(reterr, RPC_E_INVALID_PARAMS, "entry is to be a string without NUL");
        r = take_args(list, args, reterr);
        if (r != 0)
                return r;
        if (!d->id)
                return diag(reterr, RPC_E_INVALID_REQUEST, "skill.run is answered with how it ended: it needs an id");
        if (!listed(d->grant->sub_skills, start.skill, n_skill))
                return diag(reterr, RPC_E_NOT_GRANTED, "skill \"%s\" is not among the sub_skills of this region",
                            diag_quote(start.skill, n_skill, quoted, sizeof(quoted)));
        r = dispatch_key_escape(params, reterr);
        if (r != 0)
                return r;
        if (!d->starter)
                return diag(reterr, RPC_E_REFUSED, "no sub-skill can be started here");
        start.entry = entry;
        start.args = args;
        r = d->starter(d->starter_data, &start, reterr);
        if (r != 0)
                return r > 0 ? (int)from_starter(r) : r;
        *ret_result = NULL;
        return DISPATCH_LATER;
}

int dispatch_output_refused(Dispatch *d, size_t n, Diag *reterr) {
        return dispatch_refuse(d, RPC_E_KEY_ESCAPE, "skill.run", n, reterr);
}

int dispatch_answer_started(const json_t *id, json_t *result, Buf *reply) {
        return reply_result(reply, id, result);
}
