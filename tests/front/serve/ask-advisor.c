/* Runs: tests. interpret() with a skill as the advisor:
 *
 *   ask-advisor STORE SKILL NOTE [--role tool_result] [--context JSON] [--first NOTE] [OPTION VALUE]...     options as of `lethe run`, without dashes
 *
 * --first: asked about before, by the same process; nothing is printed of it.
 * Prints one line of JSON: what interpret() returned, the request or the code, and what is kept with the outcome. SKILL "-" is nobody. */
#include "belief/interpret.h"
#include "invoke/advise.h"
#include "invoke/run.h"
#include "spawn/find.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
        _cleanup_interpreted_ Interpreted i = {0};
        _cleanup_store_ Store *store = NULL;
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_json_ json_t *context = NULL, *out = NULL;
        _cleanup_free_ char *text = NULL;
        const char *first = NULL;
        CueRole role = CUE_AGENT;
        Advise a = {0};
        Diag d = {0};
        size_t n;
        int r;

        if (argc < 4)
                return 2;
        find_set_folder(getenv("LETHE_BUILD"));
        a.signals = run_take_signals();
        for (int k = 4; k + 1 < argc; k += 2) {
                if (strcmp(argv[k], "--role") == 0)
                        role = strcmp(argv[k + 1], "agent") == 0 ? CUE_AGENT : CUE_TOOL_RESULT;
                else if (strcmp(argv[k], "--context") == 0)
                        context = json_loads(argv[k + 1], 0, NULL);
                else if (strcmp(argv[k], "--first") == 0)
                        first = argv[k + 1];
                else if ((r = request_option(&a.ask.request, argv[k], argv[k + 1], &d)) != 0) {
                        fprintf(stderr, "%s: %d %s\n", argv[k], r, d.text);
                        return 2;
                }
        }
        if ((r = store_open(argv[1], STORE_SUPERVISE, &store, &d)) != 0 || (r = policy_load(NULL, &policy, &d)) != 0) {
                fprintf(stderr, "%d %s\n", r, d.text);
                return 2;
        }
        a.store = store;
        a.policy = policy;
        a.ask.skill = argv[2];
        if (first) {
                _cleanup_interpreted_ Interpreted before = {0};

                if (interpret(&(Advisor){.name = "skill", .ask = advise_ask, .userdata = &a}, first, strlen(first), role, context, &before) != 0)
                        return 1;
        }
        if (strcmp(argv[2], "-") == 0)
                r = interpret(NULL, argv[3], strlen(argv[3]), role, context, &i);
        else
                r = interpret(&(Advisor){.name = "skill", .ask = advise_ask, .userdata = &a}, argv[3], strlen(argv[3]), role, context, &i);
        if (r < 0)
                out = json_pack("{s:i}", "r", r);
        else
                out = json_pack("{s:i, s:s, s:s, s:O?, s:o, s:s}", "r", r, "code", belief_code_name(i.code), "why", i.why.text, "request", i.request.value, "outcome",
                                interpreted_outcome(&i), "region", a.region);
        request_deinit(&a.ask.request);
        if (json_canonical(out, &text, &n) < 0)
                return 1;
        puts(text);
        return 0;
}
