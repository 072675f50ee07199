#include "invoke/compressor.h"

#include "region/region-key.h"

#include <errno.h>
#include <string.h>

typedef struct CompressorAsk {
        Advise *advise;
        int options; /* positive: an option of the session no longer fits, and why */
        Diag why;
} CompressorAsk;

static int compressor_ask_skill(void *userdata, const char *line, char **ret, AdvisedFault *reterr) {
        const CompressorAsk *k = userdata;
        Diag d = k->why;
        int r = k->options ? BELIEF_E_ADVISOR_REFUSED : advise_ask(k->advise, line, ret, &d);

        if (r <= 0)
                return r;
        snprintf(reterr->code, sizeof(reterr->code), "%s", belief_code_name(r));
        reterr->why = d;
        reterr->repairs = r == BELIEF_E_ADVISOR_LINES || r == BELIEF_E_ADVISOR_TOO_LONG;
        return 1;
}

/* options: [[name, value]...]. */
static int compressor_take(Advise *a, const char *skill, const json_t *options, Diag *reterr) {
        json_t *one;
        size_t i;
        int r = 0;

        a->ask.skill = skill;
        a->ask.registered = !strchr(skill, '/'); /* a folder is named by its absolute path */
        a->reads_only = true;
        json_array_foreach((json_t *)options, i, one) {
                r = r ?: request_option(&a->ask.request, json_text(json_array_get(one, 0)) ?: "",
                                        json_text(json_array_get(one, 1)), reterr);
        }
        return r;
}

static void compressor_drop(Advise *a) {
        uid_t client = a->ask.request.client;

        request_deinit(&a->ask.request);
        a->ask.request.client = client;
        a->ask.skill = NULL; /* borrowed */
}

int compressor_check(Advise *a, const char *skill, const json_t *options, json_t **ret, Diag *reterr) {
        int r = compressor_take(a, skill, options, reterr) ?: advise_check(a, reterr);

        compressor_drop(a);
        if (r != 0)
                return r;
        *ret = json_pack("{s:s, s:O*}", "skill", skill, "options", json_array_size(options) > 0 ? options : NULL);
        return *ret ? 0 : -ENOMEM;
}

int compressor_ask(Advise *a, const CognitionTurnOf *of, CognitionProposal *ret, bool *ret_asked, bool *ret_store,
                   Diag *reterr) {
        _cleanup_cognition_turn_ CognitionTurn *c = NULL;
        CompressorAsk k = {.advise = a};
        const json_t *chosen;
        Txn *t = NULL;
        int r = store_begin(a->store, false, &t, reterr);

        *ret_asked = false;
        *ret_store = r != 0;
        if (r != 0)
                return r;
        r = cognition_observe(t, of, &c, reterr);
        store_abort(t); /* no transaction while the advisor runs */
        chosen = r == 0 ? cognition_turn_compressor(c) : NULL;
        if (r != 0 || !chosen)
                return r;
        k.options = compressor_take(a, json_str(chosen, "skill"), json_object_get(chosen, "options"), &k.why);
        if (k.options >= 0) {
                const CognitionAdvisor advisor = {.name = a->ask.skill, .ask = compressor_ask_skill, .userdata = &k,
                                                  .region = a->region, .keys = &region_keys};

                r = cognition_ask(c, &advisor, ret);
                *ret_asked = r == 0;
        } else
                r = k.options;
        compressor_drop(a);
        return r;
}
