#include "cli/ccs-advised.h"

#include "invoke/compressor.h"
#include "invoke/run.h"
#include "recover/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int ccs_policy(ActionArgs *a, Policy **ret) {
        Diag d = {0};
        int r = policy_load(a->o.value['P'], ret, &d);

        return r == 0 ? EXIT_OK : cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
}

/* "timeout=30s connect=127.0.0.1:80" as [["timeout","30s"], ...]. */
static int ccs_compressor_options(ActionArgs *a, json_t **ret) {
        _cleanup_free_ char *text = strdup(a->o.value['e'] ?: "");
        _cleanup_json_ json_t *list = json_array();
        char *at = text, *one;

        while (text && list && (one = strsep(&at, " "))) {
                char *equals = strchr(one, '=');

                if (!*one)
                        continue;
                if (!equals || equals == one)
                        return cli_usage(a->verb, "--set: '%s' is not NAME=VALUE", one);
                if (json_array_append_new(list, json_pack("[s%, s]", one, (size_t)(equals - one), equals + 1)) < 0)
                        return cli_usage(a->verb, "--set: '%s' is not UTF-8", one);
        }
        if (!text || !list)
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        *ret = TAKE_PTR(list);
        return EXIT_OK;
}

int ccs_compressor(ActionArgs *a, json_t **ret) {
        _cleanup_json_ json_t *options = NULL;
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_store_ Store *s = NULL;
        const char *said = a->o.value['C'];
        _cleanup_free_ char *folder = strchr(said, '/') ? realpath(said, NULL) : NULL;
        Advise advise = {.signals = -1};
        Diag d = {0};
        int r = ccs_compressor_options(a, &options)
                        ?: ccs_policy(a, &policy)
                        ?: with_store(a->verb, &a->o, STORE_WRITE, &s);

        if (r != EXIT_OK)
                return r;
        advise.store = s;
        advise.policy = policy;
        r = compressor_check(&advise, folder ?: said, options, ret, &d);
        return r == 0  ? EXIT_OK
               : r > 0 ? action_refused(a, "compressor", d.text)
                       : cli_fail(a->verb, EXIT_NOT, "--compressor: %s", strerror(-r));
}

static int ccs_advised_commit(ActionArgs *a, Store *s, const CognitionTurnOf *of, json_t **ret) {
        Diag d = {0};
        Txn *t;
        int r = store_begin(s, true, &t, &d), e;

        if (r != 0)
                return with_store_failed(a->verb, s, r, &d);
        r = cognition_advised(t, of, ret, &a->d);
        if (r < 0) {
                store_abort(t);
                return action_failed(a, s, r, &a->d);
        }
        e = store_commit(t, &d);
        return e != 0 ? with_store_failed(a->verb, s, e, &d) : r > 0 ? action_failed(a, s, r, &a->d) : EXIT_OK;
}

static int ccs_advised_ask(ActionArgs *a, Store *s, Advise *advise, CognitionTurnOf *of, json_t **ret) {
        _cleanup_cognition_proposal_ CognitionProposal p = COGNITION_PROPOSAL_NULL;
        bool asked, of_store;
        Diag d = {0};
        int r = compressor_ask(advise, of, &p, &asked, &of_store, &d);

        if (r == -ECANCELED)
                return cli_refuse(a->verb, 143, "cancelled", "ended by a signal; the state is as before");
        if (r != 0)
                return of_store ? with_store_failed(a->verb, s, r, &d) : action_failed(a, s, r, &d);
        of->proposal = asked ? &p : NULL;
        return ccs_advised_commit(a, s, of, ret);
}

int ccs_advised_turn(ActionArgs *a, const json_t *input, json_t **ret) {
        CognitionTurnOf of = {.who = action_who(), .session = a->argv[0], .input = input};
        Advise advise = {.signals = -1, .recover = recover_all};
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_store_ Store *s = NULL;
        int r = ccs_policy(a, &policy);

        if (r == EXIT_OK && (advise.signals = run_take_signals()) < 0)
                r = cli_fail(a->verb, EXIT_NOT, "signals: %s", strerror(-advise.signals));
        r = r ?: with_store(a->verb, &a->o, STORE_SUPERVISE, &s);
        if (r != EXIT_OK)
                return r;
        advise.store = s;
        advise.policy = policy;
        r = ccs_advised_ask(a, s, &advise, &of, ret);
        store_stop_at(-1);
        closep(&advise.signals);
        return r;
}
