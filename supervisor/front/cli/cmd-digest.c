/* Runs: CLI. */
#include "base/clock.h"
#include "cli/actions.h"
#include "invoke/advise.h"
#include "perform/upkeep.h"
#include "invoke/run.h"
#include "recover/recover.h"
#include "memory/digest.h"
#include "memory/records.h"
#include "spawn/find.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe digest run [--scope SCOPE] [--reasons LIST] [--approve policy|ask|auto:LIST] [--name LIST] [--apply]\n"
        "                        [--routine NAME]\n"
        "       lethe digest due [--policy FILE]\n"
        "       lethe digest passes [--scope SCOPE]\n"
        "       lethe digest why FAMILY ID [--scope SCOPE]\n\n"
        "The digest looks for memory, pages and skills that are stale by their references, archives them, and\n"
        "removes them in a later pass when still stale. The digest is a skill in a region of its own that sees\n"
        "references and no payload. The user or the policy approves proposals, the engine judges them anew, in one\n"
        "transaction. Without --apply nothing changes. Kernels are never touched.\n"
        "Reasons: broken_ref, superseded_by, retired_dependency, disputed_by (a younger record says the opposite);\n"
        "unsupported_since only when named.\n"
        "due does what the policy's schedule asks for now, and erases what is beyond its retention, as `lethe serve`\n"
        "does by itself: for cron, or a timer of systemd, without a daemon.\n"
        "why tells the passes that changed a record, with the reason and the references of that time.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --reasons LIST    reasons to look for (default: all but unsupported_since)\n"
        "  --approve HOW     policy (default): by the policy file; ask: only --name; auto:LIST: the listed reasons\n"
        "  --name LIST       FAMILY/ID, or ID: approved by name\n"
        "  --routine NAME    a routine that the policy admits in this scope, in place of the built-in one\n"
        "  --apply           apply the approved proposals, and record the pass\n"
        "  --policy FILE     the operator's policy\n"
        HELP_JSON "\nExit status: 0; 1 refused, or the routine failed; 2 usage.\n";

#define NAMES_MAX 256

typedef struct DigestCall {
        ActionArgs *a;
        const char *scope;
        Digest d;
        char *name[NAMES_MAX]; /* owned */
        json_t *scan, *proposed, *found;
} DigestCall;

static int digest_read_reasons(const ActionArgs *a, const char *what, const char *list, unsigned *ret) {
        _cleanup_free_ char *copy = strdup(list);
        char *at = copy, *one;

        if (!copy)
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        *ret = 0;
        while ((one = strsep(&at, ","))) {
                ReasonCode c = reason_from_name(one);

                if (!c)
                        return cli_usage(
                                a->verb,
                                "%s: '%s' is no reason; reasons are broken_ref, superseded_by, retired_dependency, unsupported_since, "
                                "disputed_by",
                                what, one);
                *ret |= 1U << c;
        }
        return EXIT_OK;
}

static unsigned digest_policy_reasons(unsigned said) {
        unsigned reasons = 0;

        for (size_t i = 0; policy_reason_words[i]; i++)
                if (said & 1U << i)
                        reasons |= 1U << reason_from_name(policy_reason_words[i]);
        return reasons;
}

/* Approval without a person: the policy file's rule for the scope. */
static void digest_approve_by_policy(DigestCall *c, const Policy *policy) {
        const DigestPolicy *of = policy_digest(policy, c->scope);

        if (!of)
                return;
        c->d.automatic = digest_policy_reasons(of->archive);
        c->d.automatic_removal = digest_policy_reasons(of->remove);
        c->d.approval = "policy_file";
}

/* "memory/a" is memory_substrate/a; a family that a digest does not clean up (M-27) is refused. */
static int digest_add_name(DigestCall *c, const char *one) {
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

/* Only the built-in routine, and those of the policy's row, are registered (M-40, M-67). */
static int digest_take_routine(DigestCall *c, const DigestPolicy *of) {
        const char *said = c->a->o.value['U'];

        if (!said || strcmp(said, POLICY_ROUTINE_OWN) == 0)
                return EXIT_OK;
        for (char **name = of ? of->routines : NULL; name && *name; name++)
                if (strcmp(*name, said) == 0) {
                        c->d.routine = *name;
                        return EXIT_OK;
                }
        return cli_refuse(c->a->verb, EXIT_NOT, "not_granted",
                          "--routine %s: the policy's \"digest\" row of scope %s has no such routine in \"routines\"",
                          said, c->scope);
}

/* Translates the options into the digest's fields. */
static int digest_read_options(DigestCall *c, const Policy *policy) {
        const DigestPolicy *of = policy_digest(policy, c->scope);
        const char *approve = c->a->o.value['A'] ?: "policy";
        _cleanup_free_ char *names = NULL;
        char *at, *one;
        int r = EXIT_OK;

        c->d = (Digest){.scope = c->scope, .reasons = REASONS_DEFAULT, .names = (const char *const *)c->name,
                        .apply = c->a->o.value['Y'], .who = action_who(), .now_usec = clock_real_usec()};
        if (of)
                c->d.stay_usec = of->stay_usec;
        r = digest_take_routine(c, of);
        if (r != EXIT_OK)
                return r;
        if (c->a->o.value['R'])
                r = digest_read_reasons(c->a, "--reasons", c->a->o.value['R'], &c->d.reasons);
        if (r == EXIT_OK && strncmp(approve, "auto:", 5) == 0) {
                r = digest_read_reasons(c->a, "--approve", approve + 5, &c->d.automatic);
                c->d.automatic_removal = c->d.automatic;
                c->d.approval = "command_line";
        } else if (r == EXIT_OK && strcmp(approve, "policy") == 0)
                digest_approve_by_policy(c, policy);
        else if (r == EXIT_OK && strcmp(approve, "ask") != 0)
                r = cli_usage(c->a->verb, "--approve '%s': policy, ask, or auto: and a list of reasons", approve);
        if (r != EXIT_OK || !c->a->o.value['N'])
                return r;
        names = at = strdup(c->a->o.value['N']);
        if (!at)
                return cli_fail(c->a->verb, EXIT_NOT, "out of memory");
        while (r == EXIT_OK && (one = strsep(&at, ",")))
                r = digest_add_name(c, one);
        return r;
}

static int digest_scan_txn(Txn *t, DigestCall *c, Diag *reterr) {
        json_decref(TAKE_PTR(c->scan));
        return memory_scan(t, c->scope, c->d.reasons, &c->scan, reterr);
}

static int digest_scan(DigestCall *c, Store *s) {
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d);

        if (r != 0)
                return with_store_failed(c->a->verb, s, r, &d);
        r = digest_scan_txn(t, c, &d);
        return r == 0 ? EXIT_OK : action_failed(c->a, s, r, &d);
}

/* The routine runs in its region: reads the scan, answers with proposals. */
static int digest_ask(DigestCall *c, Store *s, Advise *advise) {
        _cleanup_free_ char *line = NULL, *answer = NULL, *skill = c->d.routine ? strdup(c->d.routine)
                                                                               : find_skill("digest");
        Diag d = {0};
        size_t n;
        int r = json_canonical(c->scan, &line, &n);

        if (!skill)
                return cli_refuse(c->a->verb, EXIT_NOT, "routine",
                                  "the skill digest, part of Lethe's installation, is missing");
        advise->store = s;
        advise->ask.skill = skill;
        advise->ask.foreign = !c->d.routine; /* the skill comes with Lethe, and is as trusted as the running program */
        if (r == 0)
                r = advise_ask(advise, line, &answer, &d);
        if (r == -ECANCELED)
                return cli_refuse(c->a->verb, 143, "cancelled", "ended by a signal");
        if (r != 0)
                return cli_refuse(c->a->verb, EXIT_NOT, "routine", "the routine: %s", r > 0 ? d.text : strerror(-r));
        r = json_parse(answer, strlen(answer), CANON_LINE_MAX, JSON_DEPTH_DEFAULT, &c->proposed, &d);
        if (r != 0)
                return cli_refuse(c->a->verb, EXIT_NOT, "routine", "the routine's answer is not JSON: %s",
                                  r > 0 ? d.text : strerror(-r));
        c->d.proposed = c->proposed;
        c->d.proposer = advise->region;
        return EXIT_OK;
}

/* Scans again within the writing transaction: the evidence is of the moment of the change. */
static int digest_decide(DigestCall *c, Store *s) {
        Diag d = {0}, d_commit = {0};
        Txn *t;
        int r = store_begin(s, c->d.apply, &t, &d), e;

        if (r != 0)
                return with_store_failed(c->a->verb, s, r, &d);
        r = digest_scan_txn(t, c, &d);
        if (r == 0) {
                c->d.scan = c->scan;
                r = memory_digest(t, &c->d, &c->found, &d);
        }
        if (r < 0 || !c->d.apply) {
                store_abort(t);
                return r == 0 ? EXIT_OK : action_failed(c->a, s, r, &d);
        }
        e = store_commit(t, &d_commit);
        return e != 0  ? with_store_failed(c->a->verb, s, e, &d_commit)
               : r > 0 ? action_failed(c->a, s, r, &d)
                       : EXIT_OK;
}

static void digest_print_steps(const json_t *list, bool blocked) {
        json_t *o;
        size_t i;

        json_array_foreach(list, i, o) {
                const json_t *reason = json_object_get(o, "reason"), *ref = json_object_get(reason, "id"),
                             *first = json_array_get(json_object_get(o, "blockers"), 0);

                printf("%-8s %-21s %-32s %s", cli_text(o, "op"), cli_text(o, "kind"),
                       cli_text(o, "id"), cli_text(reason, "reason"));
                if (ref)
                        printf(" %s/%s", cli_text(reason, "kind"), json_text(ref));
                if (blocked)
                        printf("  blocked by %s/%s\n", cli_text(first, "kind"), cli_text(first, "id"));
                else
                        printf("  approved: %s\n", cli_text(o, "approved"));
        }
}

static int digest_print_found(const DigestCall *c) {
        if (c->a->o.json)
                return action_print(c->a, json_incref(c->found));
        digest_print_steps(json_object_get(c->found, "candidates"), false);
        digest_print_steps(json_object_get(c->found, "blocked"), true);
        if (c->d.apply)
                printf("pass %lld: %lld archived, %lld removed\n", cli_integer(c->found, "pass"),
                       cli_integer(c->found, "archived"), cli_integer(c->found, "removed"));
        else
                printf("dry run: nothing changed; --apply applies the approved proposals\n");
        if (json_is_true(json_object_get(c->found, "cut")))
                printf("more proposals remain: a pass is full, the next pass continues\n");
        return cli_done(c->a->verb, EXIT_OK);
}

static int digest_run(ActionArgs *a) {
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_store_ Store *s = NULL;
        Advise advise = {.signals = -1, .recover = recover_all};
        Diag d = {0};
        DigestCall c = {.a = a, .scope = action_scope(a)};
        int r = policy_load(a->o.value['P'], &policy, &d);

        if (r != 0)
                r = cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
        if (r == EXIT_OK)
                r = digest_read_options(&c, policy);
        if (r == EXIT_OK && (advise.signals = run_take_signals()) < 0)
                r = cli_fail(a->verb, EXIT_NOT, "signals: %s", strerror(-advise.signals));
        advise.policy = policy;
        if (r == EXIT_OK)
                r = with_store(a->verb, &a->o, STORE_SUPERVISE, &s)
                                ?: digest_scan(&c, s)
                                ?: digest_ask(&c, s, &advise)
                                ?: digest_decide(&c, s)
                                ?: digest_print_found(&c);
        json_decref(c.scan);
        json_decref(c.proposed);
        json_decref(c.found);
        for (size_t i = 0; i < c.d.n_names; i++)
                free(c.name[i]);
        store_stop_at(-1);
        closep(&advise.signals);
        return r;
}

static void digest_print_due(const json_t *o) {
        const json_t *one;
        size_t i;

        json_array_foreach(json_object_get(o, "passes"), i, one)
                printf("scope %s, routine %s: pass %lld, %lld archived, %lld removed\n", cli_text(one, "scope"),
                       cli_text(one, "routine"), cli_integer(one, "pass"), cli_integer(one, "archived"),
                       cli_integer(one, "removed"));
        json_array_foreach(json_object_get(o, "failed"), i, one)
                printf("failed: %s %s: %s\n", cli_text(one, "what"), cli_text(one, "scope") ?: "",
                       cli_text(one, "message"));
        printf("%" PRIu64 " rows and values erased\n", cli_u64(o, "erased"));
}

/* A single turn of the schedule that lethe-serve keeps. */
static int digest_due(ActionArgs *a) {
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_store_ Store *s = NULL;
        _cleanup_json_ json_t *report = NULL, *failed = json_object();
        Upkeep u = {.who = action_who(), .advise = {.signals = -1, .recover = recover_all}};
        uint64_t next;
        Diag d = {0};
        bool bad;
        int r = policy_load(a->o.value['P'], &policy, &d);

        if (r != 0)
                return cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? d.text : strerror(-r));
        if ((u.advise.signals = run_take_signals()) < 0)
                return cli_fail(a->verb, EXIT_NOT, "signals: %s", strerror(-u.advise.signals));
        r = with_store(a->verb, &a->o, STORE_SUPERVISE, &s);
        if (r == EXIT_OK) {
                u.store = s;
                u.policy = policy;
                r = upkeep_run(&u, failed, NULL, NULL, &next, &report, &d);
                r = r == UPKEEP_E_CANCELLED ? cli_refuse(a->verb, 143, "cancelled", "ended by a signal")
                    : r > 0                 ? cli_refuse(a->verb, EXIT_NOT, "store", "%s", d.text)
                    : r < 0                 ? cli_fail(a->verb, EXIT_NOT, "%s", strerror(-r))
                                            : EXIT_OK;
        }
        store_stop_at(-1);
        closep(&u.advise.signals);
        if (r != EXIT_OK)
                return r;
        bad = json_array_size(json_object_get(report, "failed")) > 0;
        if (a->o.json)
                r = action_print(a, json_incref(report));
        else
                digest_print_due(report);
        return r != EXIT_OK ? r : cli_done(a->verb, bad ? EXIT_NOT : EXIT_OK);
}

static void digest_print_pass(const json_t *o) {
        printf("pass %-6lld seq %-8lld %s  %lld archived, %lld removed\n", cli_integer(o, "pass"),
               cli_integer(o, "seq"), cli_text(o, "time"), cli_integer(o, "archived"), cli_integer(o, "removed"));
}

static int digest_passes(ActionArgs *a) {
        json_t *passes = NULL;
        int r = action_begin(a, false) ?: action_end(a, memory_passes(a->t, action_scope(a), &passes, &a->d));

        return r ?: action_rows(a, json_pack("{s:s, s:o}", "scope", action_scope(a), "passes", passes), "passes",
                                digest_print_pass);
}

static int digest_why(ActionArgs *a) {
        json_t *found = NULL;
        Kind kind;
        int r = memory_family(a->argv[0], &kind, &a->d);

        if (r != 0)
                return action_failed(a, NULL, r, &a->d);
        r = action_begin(a, false)
                    ?: action_end(a, memory_why(a->t, action_scope(a), kind, a->argv[1], &found, &a->d));
        return r ?: action_dump(a, found);
}

int cmd_digest(int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_STORE,       OPTION("scope", 'S'),      OPTION("reasons", 'R'), OPTION("approve", 'A'),
                OPTION("name", 'N'), OPTION_FLAG("apply", 'Y'), OPTION("policy", 'P'),  OPTION("routine", 'U'),
                {0}};
        static const Action actions[] = {
                {"run", "", 0, 0, "SRANYPU", digest_run},
                {"due", "", 0, 0, "P", digest_due},
                {"passes", "", 0, 0, "S", digest_passes},
                {"why", "FAMILY ID", 2, 2, "S", digest_why},
        };

        return actions_main("digest", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
