/* Runs: CLI. */
#include "base/size.h"
#include "belief/promote.h"
#include "cli/actions.h"
#include "cli/region-selector.h"
#include "invoke/advise.h"
#include "invoke/run.h"
#include "recover/recover.h"
#include "engine/scope.h"
#include "region/region-key.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define VERB "promote"

static const char help[] =
        "Usage: lethe promote RUN|--last [--most N] [--batch N] [--tau X] [--delta X] [--least X] [--advisor SKILL [--set NAME=VALUE]...]\n\n"
        "Promotes the notes of a run in order: each note is interpreted (which kind of statement?), resolved (which\n"
        "row?), validated and written to shared belief, or goes to the pending queue, or is refused.\n"
        "Each change retries pending requests. Prints the outcome of each note.\n\n"
        "Without --advisor the built-in interpreter is used: a note grammar and some plain cues (schema/governed.md).\n"
        "With --advisor a skill interprets, in a region of its own: a JSON line in, a JSON line out. After a bad answer\n"
        "the skill is asked again, then the built-in interpreter takes over, and the outcome says \"degraded\".\n\n" HELP_STORE
        HELP_LAST
        "  --most N          at most N notes\n"
        "  --batch N         N notes in a transaction, 1 to 64 (default: 64; with an advisor 1)\n"
        "  --tau X           bind only when the best row's score is at least X (0 to 1)\n"
        "  --delta X         and ahead of the second by at least X (0 to 1)\n"
        "  --least X         end a row by likeness only when it is right with a probability of X (0 to 1)\n"
        "  --advisor SKILL   a registered skill, or a skill's folder\n"
        "  --set NAME=VALUE  an option of `lethe run` for the advisor: timeout=30s, volume=/etc/advisor:/etc/advisor …\n"
        "  --policy FILE     the policy file (default: $LETHE_POLICY, else the usual places)\n"
        "  --json            an object for each note, then an object with the sums\n"
        "  -h, --help        print the help\n\n"
        "Exit status: 0, whatever the notes' outcomes; 1 no such run, or the promotion failed; 2 usage.\n";

typedef struct PromoteCall {
        StoreOptions o;
        Promoting p;
        ResolvePolicy policy;
        Policy *own_policy; /* owned */
        WaitLimits limits;
        const char *advisor;
        Advise advise;
        RegionSelector selector;
        RegionId region;
} PromoteCall;

static int promote_print(void *user, uint64_t note, const json_t *outcome) {
        const PromoteCall *c = user;

        if (c->o.json) {
                _cleanup_json_ json_t *o = json_copied(outcome);

                if (!o || json_object_set_new(o, "version", json_integer(1)) < 0 ||
                    json_object_set_new(o, "note", json_u64(note)) < 0)
                        return -ENOMEM;
                return cli_print_item(TAKE_PTR(o));
        }
        printf("%4" PRIu64 " ", note);
        action_show(outcome, "outcome", "");
        action_show(outcome, "bucket", " ");
        action_show(outcome, "id", " ");
        action_show(outcome, "state", " ");
        action_show(outcome, "code", ": ");
        if (strcmp(cli_text(outcome, "code") ?: "", cli_text(outcome, "message") ?: "") != 0)
                action_show(outcome, "message", ", ");
        if (json_is_true(json_object_get(json_object_get(outcome, "interpreted"), "degraded")))
                fputs(" (degraded)", stdout);
        putchar('\n');
        return 0;
}

/* "timeout=30s" as `lethe run --timeout 30s` takes it. */
static int promote_set(PromoteCall *c, char *text) {
        char *equals = strchr(text, '='), option[64];
        Diag d = {0};
        int r;

        if (!equals || equals == text || (size_t)(equals - text) >= sizeof(option))
                return cli_usage(VERB, "--set: '%s' is not NAME=VALUE", text);
        snprintf(option, sizeof(option), "%.*s", (int)(equals - text), text);
        r = request_option(&c->advise.ask.request, option, equals + 1, &d);
        if (r != 0)
                return cli_usage(VERB, "--set: %s", *d.text ? d.text : "out of memory");
        return EXIT_OK;
}

/* Returns -1 when the command line is complete, else the exit code. */
static int promote_read_options(int argc, char **argv, PromoteCall *c) {
        static const struct option options[] = {OPTIONS_STORE,          OPTION_LAST,
                                                OPTION("most", 'm'),    OPTION("batch", 'b'),
                                                OPTION("tau", 't'),     OPTION("delta", 'd'),
                                                OPTION("least", 'l'),
                                                OPTION("advisor", 'A'), OPTION("set", 'e'),
                                                OPTION("policy", 'p'),  {0}};
        const char **value = c->o.value;
        double least = (double)c->policy.least / RESOLVE_WHOLE;
        uint64_t batch = PROMOTE_BATCH_MAX;
        int opt, r = EXIT_OK;

        while (r == EXIT_OK && (opt = store_next_option(&c->o, argc, argv, options)) > 0) {
                value[opt] = optarg ?: "";
                if (opt == 'e')
                        r = promote_set(c, optarg);
        }
        if (r == EXIT_OK && opt < 0)
                return c->o.code;
        r = r ?: cli_number(VERB, "--most", value['m'], 1, COUNT_MOST, &c->p.most)
              ?: cli_number(VERB, "--batch", value['b'], 1, PROMOTE_BATCH_MAX, &batch)
              ?: cli_fraction(VERB, "--tau", value['t'], &c->policy.tau)
              ?: cli_fraction(VERB, "--delta", value['d'], &c->policy.delta)
              ?: cli_fraction(VERB, "--least", value['l'], &least);
        c->policy.least = (unsigned)(least * RESOLVE_WHOLE + 0.5);
        if (r != EXIT_OK)
                return r;
        c->advisor = value['A'];
        c->selector.last = value['L'];
        c->selector.runs = true;
        if (value['e'] && !c->advisor)
                return cli_usage(VERB, "--set configures an advisor: give --advisor, too");
        if (c->selector.last ? optind < argc : optind + 1 != argc)
                return cli_usage(VERB,
                                 optind == argc ? "which run?"
                                 : c->selector.last ? "'%s' and --last both name a run"
                                                : "promote takes a single RUN",
                                 argv[optind]);
        c->selector.text = c->selector.last ? NULL : argv[optind];
        c->p.batch = (unsigned)batch;
        return -1;
}

static int promote_run(PromoteCall *c, Store *s) {
        Promoted sum = {0};
        bool of_store = false;
        Diag d = {0};
        int r = belief_promote(s, &c->p, &sum, &of_store, &d);

        if (r == -ECANCELED)
                return cli_refuse(VERB, EXIT_NOT, "cancelled",
                                  "ended by a signal after %" PRIu64 " notes; the remaining notes are unchanged",
                                  sum.notes);
        if (r > 0 && !of_store)
                return action_refused(&(ActionArgs){.verb = VERB, .o = c->o}, engine_code_name((EngineCode)r), d.text);
        if (r != 0)
                return with_store_failed(VERB, s, r, &d);
        if (c->o.json)
                return cli_print(VERB, EXIT_OK,
                                 json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "run",
                                           c->p.run, "notes", json_u64(sum.notes), "committed", json_u64(sum.committed),
                                           "pending", json_u64(sum.pending), "rejected", json_u64(sum.rejected),
                                           "invalid", json_u64(sum.invalid), "resolved", json_u64(sum.resolved),
                                           "expired", json_u64(sum.expired)));
        printf("%" PRIu64 " notes: %" PRIu64 " committed, %" PRIu64 " pending, %" PRIu64 " rejected, %" PRIu64
               " invalid",
               sum.notes, sum.committed, sum.pending, sum.rejected, sum.invalid);
        if (sum.resolved)
                printf("; %" PRIu64 " formerly pending resolved", sum.resolved);
        if (sum.expired)
                printf("; %" PRIu64 " pending expired", sum.expired);
        putchar('\n');
        return cli_done(VERB, EXIT_OK);
}

/* The name of the run's scope. */
static int promote_find_scope(Store *s, const char *run, char scope[static SCOPE_NAME_MAX]) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        NoteRun row;
        int r = store_begin(s, false, &t, &d) ?: engine_run_get(t, run, &row, &d);

        return r == 0 ? scope_name_of(t, row.scope, scope) : r;
}

/* A region's run has the region's id. Any other run has the id that `lethe note begin` printed. */
static int promote_name_run(PromoteCall *c, Store *s) {
        int r = selector_option(VERB, &c->selector) ?: selector_region(VERB, s, &c->selector, c->region);

        c->p.run = c->region;
        return r;
}

/* With an advisor: the advisor's skill is looked up before the first note. */
static int promote_with_advisor(PromoteCall *c, Store *s) {
        char scope[SCOPE_NAME_MAX];
        Advisor advisor = {.name = c->advisor, .ask = advise_ask, .userdata = &c->advise, .about = &c->advise.note,
                           .region = c->advise.region, .keys = &region_keys};
        Diag d = {0};
        int r;

        c->advise.store = s;
        c->advise.policy = c->own_policy;
        c->advise.recover = recover_all;
        c->advise.ask.skill = c->advisor;
        if (advise_check(&c->advise, &d) != 0)
                return cli_refuse(VERB, EXIT_NOT, "advisor", "%s", d.text);
        if ((r = promote_name_run(c, s)) != EXIT_OK)
                return r;
        if (promote_find_scope(s, c->p.run, scope) == 0) { /* belief_promote() reports a missing run */
                c->advise.run = c->p.run;
                c->advise.scope = scope;
        }
        c->p.advisor = &advisor;
        return promote_run(c, s);
}

static int promote_load_policy(PromoteCall *c) {
        Diag d = {0};
        int r = policy_load(c->o.value['p'], &c->own_policy, &d);

        if (r != 0)
                return cli_refuse(VERB, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
        c->limits = run_wait_limits(c->own_policy);
        c->p.limits = &c->limits;
        if (!c->o.value['l'])
                memcpy(c->policy.least_of, run_resolve_policy(c->own_policy).least_of, sizeof(c->policy.least_of));
        return EXIT_OK;
}

int cmd_promote(int argc, char **argv) {
        PromoteCall c = {.o = {.help = help, .must_exist = true}, .policy = RESOLVE_POLICY_DEFAULT};
        _cleanup_store_ Store *s = NULL;
        int r = promote_read_options(argc, argv, &c);

        c.p.who = action_who();
        c.p.policy = &c.policy;
        c.p.keys = &region_keys;
        c.p.told = promote_print;
        c.p.user = &c;
        if (r < 0) {
                if (c.advisor && (c.advise.signals = run_take_signals()) < 0)
                        r = cli_fail(VERB, EXIT_NOT, "signals: %s", strerror(-c.advise.signals));
                else
                        r = promote_load_policy(&c)
                                    ?: with_store(VERB, &c.o, c.advisor ? STORE_SUPERVISE : STORE_WRITE, &s);
                if (r == EXIT_OK && !c.advisor)
                        r = promote_name_run(&c, s);
                if (r == EXIT_OK)
                        r = c.advisor ? promote_with_advisor(&c, s) : promote_run(&c, s);
        }
        request_deinit(&c.advise.ask.request);
        policy_free(c.own_policy);
        return r;
}
