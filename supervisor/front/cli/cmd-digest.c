/* Runs: CLI. */
#include "cli/actions.h"
#include "invoke/advise.h"
#include "invoke/run.h"
#include "recover/recover.h"
#include "engine/scope.h"
#include "memory/digest.h"
#include "memory/records.h"
#include "memory/scan.h"
#include "spawn/find.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe digest run [--scope SCOPE] [--reasons LIST] [--approve policy|ask|auto:LIST] [--name LIST] [--apply]\n"
        "       lethe digest passes [--scope SCOPE]\n"
        "       lethe digest why FAMILY ID [--scope SCOPE]\n\n"
        "The digest looks for memory, pages and skills that their references say are stale, archives them and,\n"
        "in a later pass, removes what still is. It is a skill in a region of its own that sees references and\n"
        "no payload; what it proposes is approved by you or your policy and judged anew by the engine, all of it in one\n"
        "transaction. Without --apply nothing changes. Kernels are never touched.\n"
        "Reasons: broken_ref, superseded_by, retired_dependency; unsupported_since only when it is named.\n"
        "why tells which pass did what to a record, for which reason, with the references as they were.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --reasons LIST    what to look for (default: broken_ref,superseded_by,retired_dependency)\n"
        "  --approve HOW     policy (default): what its digest says; ask: only what --name says; auto:LIST: these reasons\n"
        "  --name LIST       FAMILY/ID, or ID: approved by name\n"
        "  --apply           do what is approved, and record the pass\n"
        "  --policy FILE     the operator's policy\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 refused, or the routine failed; 2 usage.\n";

#define NAMES_MAX 256

typedef struct Call {
        ActionArgs *a;
        const char *scope;
        Kind kind;
        Digest d;
        char *name[NAMES_MAX]; /* owned */
        json_t *scan, *proposed, *found;
} Call;

static int begin(ActionArgs *a, Call *ret) {
        *ret = (Call){.a = a, .scope = a->option['S'] ? a->option['S'] : SCOPE_DEFAULT};
        return EXIT_OK;
}

static int reasons_read(const ActionArgs *a, const char *what, const char *list, unsigned *ret) {
        _cleanup_free_ char *copy = strdup(list);
        char *at = copy, *one;

        if (!copy)
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        *ret = 0;
        while ((one = strsep(&at, ","))) {
                ReasonCode c = reason_from_name(one);

                if (!c)
                        return cli_usage(a->verb, "%s: '%s' is none of broken_ref, superseded_by, retired_dependency, unsupported_since", what, one);
                *ret |= 1U << c;
        }
        return EXIT_OK;
}

static unsigned reasons_of_policy(unsigned said) {
        unsigned reasons = 0;

        for (size_t i = 0; policy_reason_words[i]; i++)
                if (said & 1U << i)
                        reasons |= 1U << reason_from_name(policy_reason_words[i]);
        return reasons;
}

/* Without a person: what the policy file has of this scope. */
static void approve_by_policy(Call *c, const Policy *policy) {
        const DigestPolicy *of = policy_digest(policy, c->scope);

        if (!of)
                return;
        c->d.automatic = reasons_of_policy(of->archive);
        c->d.automatic_removal = reasons_of_policy(of->remove);
        c->d.approval = "policy_file";
}

/* "memory/a" is memory_substrate/a; what is no family that a digest cleans up (M-27) is refused. */
static int add_name(Call *c, const char *one) {
        const char *slash = strchr(one, '/');
        Kind kind = KIND_NONE;
        Diag d = {0};
        int r = 0;

        if (c->d.n_names == NAMES_MAX)
                return cli_usage(c->a->verb, "--name: at most %d", NAMES_MAX);
        if (slash) {
                _cleanup_free_ char *family = strndup(one, (size_t)(slash - one));

                r = family ? memory_family(family, &kind, &d) : -ENOMEM;
        }
        if (r > 0)
                return action_refused(c->a, engine_code_name((EngineCode)r), d.text);
        if (r == 0 && asprintf(&c->name[c->d.n_names], "%s%s", slash ? kind_name(kind) : "", slash ? slash : one) >= 0)
                c->d.n_names++;
        else
                return cli_fail(c->a->verb, EXIT_NOT, "out of memory");
        return EXIT_OK;
}

/* What was asked, in the words of the digest. */
static int read_options(Call *c, const Policy *policy) {
        const char *approve = c->a->option['A'] ? c->a->option['A'] : "policy";
        _cleanup_free_ char *names = NULL;
        char *at, *one;
        int r = EXIT_OK;

        c->d = (Digest){.scope = c->scope, .reasons = REASONS_DEFAULT, .names = (const char *const *)c->name, .apply = c->a->option['Y'], .who = action_who()};
        if (c->a->option['R'])
                r = reasons_read(c->a, "--reasons", c->a->option['R'], &c->d.reasons);
        if (r == EXIT_OK && strncmp(approve, "auto:", 5) == 0) {
                r = reasons_read(c->a, "--approve", approve + 5, &c->d.automatic);
                c->d.automatic_removal = c->d.automatic;
                c->d.approval = "command_line";
        } else if (r == EXIT_OK && strcmp(approve, "policy") == 0)
                approve_by_policy(c, policy);
        else if (r == EXIT_OK && strcmp(approve, "ask") != 0)
                r = cli_usage(c->a->verb, "--approve '%s': policy, ask, or auto: and a list of reasons", approve);
        if (r != EXIT_OK || !c->a->option['N'])
                return r;
        names = at = strdup(c->a->option['N']);
        if (!at)
                return cli_fail(c->a->verb, EXIT_NOT, "out of memory");
        while (r == EXIT_OK && (one = strsep(&at, ",")))
                r = add_name(c, one);
        return r;
}

static int do_scan(Txn *t, Call *c, Diag *reterr) {
        json_decref(TAKE_PTR(c->scan));
        return memory_scan(t, c->scope, c->d.reasons, &c->scan, reterr);
}

static int scan(Call *c, Store *s) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d);

        if (r != 0)
                return with_store_failed(c->a->verb, s, r, &d);
        r = do_scan(t, c, &d);
        return r == 0 ? EXIT_OK : action_failed(c->a, s, r, &d);
}

/* The routine, in its region: the scan in, its proposals out. */
static int ask(Call *c, Store *s, Advise *advise) {
        _cleanup_free_ char *line = NULL, *answer = NULL, *skill = find_skill("digest");
        Diag d = {0};
        size_t n;
        int r = json_canonical(c->scan, &line, &n);

        if (!skill)
                return cli_refuse(c->a->verb, EXIT_NOT, "routine", "the skill digest, which comes with Lethe, is not there");
        advise->store = s;
        advise->ask.skill = skill;
        advise->ask.foreign = true; /* it comes with Lethe, and is as much the operator's as this program is */
        if (r == 0)
                r = advise_ask(advise, line, &answer, &d);
        if (r == -ECANCELED)
                return cli_refuse(c->a->verb, 143, "cancelled", "a signal ended it");
        if (r != 0)
                return cli_refuse(c->a->verb, EXIT_NOT, "routine", "the routine: %s", r > 0 ? d.text : strerror(-r));
        r = json_parse(answer, strlen(answer), CANON_LINE_MAX, JSON_DEPTH_DEFAULT, &c->proposed, &d);
        if (r != 0)
                return cli_refuse(c->a->verb, EXIT_NOT, "routine", "the routine's answer is not JSON: %s", r > 0 ? d.text : strerror(-r));
        c->d.proposed = c->proposed;
        c->d.proposer = advise->region;
        return EXIT_OK;
}

/* Looked at once more in the transaction that changes something: the evidence is of that moment. */
static int decide(Call *c, Store *s) {
        Diag d = {0}, d_commit = {0};
        Txn *t;
        int r = store_begin(s, c->d.apply, &t, &d), e;

        if (r != 0)
                return with_store_failed(c->a->verb, s, r, &d);
        r = do_scan(t, c, &d);
        if (r == 0) {
                c->d.scan = c->scan;
                r = memory_digest(t, &c->d, &c->found, &d);
        }
        if (r < 0 || !c->d.apply) {
                store_abort(t);
                return r == 0 ? EXIT_OK : action_failed(c->a, s, r, &d);
        }
        e = store_commit(t, &d_commit);
        return e != 0 ? with_store_failed(c->a->verb, s, e, &d_commit) : r > 0 ? action_failed(c->a, s, r, &d) : EXIT_OK;
}

static void print_steps(const json_t *list, bool blocked) {
        json_t *o;
        size_t i;

        json_array_foreach(list, i, o) {
                const json_t *reason = json_object_get(o, "reason"), *ref = json_object_get(reason, "id"),
                             *first = json_array_get(json_object_get(o, "blockers"), 0);

                printf("%-8s %-21s %-32s %s", json_text(json_object_get(o, "op")), json_text(json_object_get(o, "kind")),
                       json_text(json_object_get(o, "id")), json_text(json_object_get(reason, "reason")));
                if (ref)
                        printf(" %s/%s", json_text(json_object_get(reason, "kind")), json_text(ref));
                if (blocked)
                        printf("  blocked by %s/%s\n", json_text(json_object_get(first, "kind")), json_text(json_object_get(first, "id")));
                else
                        printf("  approved: %s\n", json_text(json_object_get(o, "approved")));
        }
}

static int print_found(const Call *c) {
        if (c->a->o.json)
                return action_print(c->a, json_incref(c->found));
        print_steps(json_object_get(c->found, "candidates"), false);
        print_steps(json_object_get(c->found, "blocked"), true);
        if (c->d.apply)
                printf("pass %lld: %lld archived, %lld removed\n", json_integer_value(json_object_get(c->found, "pass")),
                       json_integer_value(json_object_get(c->found, "archived")), json_integer_value(json_object_get(c->found, "removed")));
        else
                printf("dry run: nothing changed; --apply does what is approved\n");
        if (json_is_true(json_object_get(c->found, "cut")))
                printf("that is not all: one pass holds no more, the next one goes on\n");
        return cli_done(c->a->verb, EXIT_OK);
}

static int run(ActionArgs *a) {
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_store_ Store *s = NULL;
        Advise advise = {.signals = -1, .recover = recover_all};
        Diag d = {0};
        Call c;
        int r = begin(a, &c);

        if (r == EXIT_OK && (r = policy_load(a->option['P'], &policy, &d)) != 0)
                r = cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
        if (r == EXIT_OK)
                r = read_options(&c, policy);
        if (r == EXIT_OK && (advise.signals = run_take_signals()) < 0)
                r = cli_fail(a->verb, EXIT_NOT, "signals: %s", strerror(-advise.signals));
        advise.policy = policy;
        if (r == EXIT_OK)
                r = with_store(a->verb, &a->o, STORE_SUPERVISE, &s);
        if (r == EXIT_OK)
                r = scan(&c, s);
        if (r == EXIT_OK)
                r = ask(&c, s, &advise);
        if (r == EXIT_OK)
                r = decide(&c, s);
        if (r == EXIT_OK)
                r = print_found(&c);
        json_decref(c.scan);
        json_decref(c.proposed);
        json_decref(c.found);
        for (size_t i = 0; i < c.d.n_names; i++)
                free(c.name[i]);
        store_stop_at(-1);
        closep(&advise.signals);
        return r;
}

static int do_passes(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_passes(t, c->scope, &c->found, reterr);
}

static int passes(ActionArgs *a) {
        json_t *o;
        size_t i;
        Call c;
        int r = begin(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, do_passes, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "scope", c.scope, "passes", c.found));
        json_array_foreach(c.found, i, o)
                printf("pass %-6lld seq %-8lld %s  %lld archived, %lld removed\n", json_integer_value(json_object_get(o, "pass")),
                       json_integer_value(json_object_get(o, "seq")), json_text(json_object_get(o, "time")),
                       json_integer_value(json_object_get(o, "archived")), json_integer_value(json_object_get(o, "removed")));
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int do_why(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_why(t, c->scope, c->kind, c->a->argv[1], &c->found, reterr);
}

static int why(ActionArgs *a) {
        Diag d = {0};
        Call c;
        int r = begin(a, &c), e;

        if (r == EXIT_OK && (e = memory_family(a->argv[0], &c.kind, &d)) != 0)
                return action_failed(a, NULL, e, &d);
        if (r == EXIT_OK)
                r = action_read(a, do_why, &c);
        if (r != EXIT_OK)
                return r;
        return a->o.json ? action_print(a, c.found) : action_dump(a, c.found);
}

int cmd_digest(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,
                                                {"scope", required_argument, NULL, 'S'},
                                                {"reasons", required_argument, NULL, 'R'},
                                                {"approve", required_argument, NULL, 'A'},
                                                {"name", required_argument, NULL, 'N'},
                                                {"apply", no_argument, NULL, 'Y'},
                                                {"policy", required_argument, NULL, 'P'},
                                                {0}};
        static const Action actions[] = {
                {"run", "", 0, 0, "SRANYP", run},
                {"passes", "", 0, 0, "S", passes},
                {"why", "FAMILY ID", 2, 2, "S", why},
        };

        return actions_main("digest", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
