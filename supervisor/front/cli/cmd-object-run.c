/* Runs: CLI. Actions of `lethe object` with changes: create, cycle, run, input, end. */
#include "cli/cmd-object.h"

#include "base/clock.h"
#include "base/size.h"
#include "invoke/run.h"
#include "object/intent.h"
#include "perform/perform.h"
#include "policy/policy.h"
#include "recover/recover.h"
#include "record/wake.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OBJECT_DUE_BATCH 64

/* The text of a file, or JSON of the command line, which begins with '{'. */
static int object_json(ActionArgs *a, const char *what, const char *said, bool may_be_text, json_t **ret) {
        const char *begin = said + strspn(said, " \t\n");
        _cleanup_free_ char *text = NULL;
        size_t n = strlen(said);
        int r = EXIT_OK;

        if (may_be_text && *begin != '{' && strcmp(said, "-") != 0 && access(said, F_OK) < 0)
                return cli_refuse(a->verb, EXIT_USAGE, "no_file", "%s: '%s' is neither a file nor an object of JSON ("
                                  "'{…}')", what, said);
        if (!(may_be_text && *begin == '{'))
                r = cmd_object_read(a, what, said, INTENT_BYTES_MAX, &text, &n);
        return r ?: action_parse(a, what, text ?: said, n, INTENT_BYTES_MAX, INTENT_JSON_DEPTH, "", ret);
}

int cmd_object_create(ActionArgs *a) {
        _cleanup_json_ json_t *intent = NULL, *scope = NULL, *meta = NULL;
        _cleanup_policy_ Policy *policy = NULL;
        ObjectNew n = {.who = action_who(), .now_usec = clock_real_usec()};
        char id[REGION_ID_MAX];
        uint64_t seq;
        int r;

        if (!a->o.value['i'])
                return cli_usage(a->verb,
                                 "create needs --intent FILE, the job (lethe-object(1) has examples)");
        r = object_json(a, "--intent", a->o.value['i'], true, &intent);
        if (r == EXIT_OK && a->o.value['S'])
                r = object_json(a, "--scope", a->o.value['S'], true, &scope);
        if (r == EXIT_OK && a->o.value['m'])
                r = object_json(a, "--meta", a->o.value['m'], true, &meta);
        r = r ?: cmd_object_policy(a, &policy);
        if (r != EXIT_OK)
                return r;
        n.intent = intent;
        n.scope = scope;
        n.meta = meta;
        n.policy = policy->ref;
        n.max_objects = policy->objects.max;
        r = action_begin(a, true) ?: action_end(a, object_create(a->t, &n, id, &seq, &a->d));
        return r ?: action_tell(a, json_pack("{s:s}", "object", id), "%s", id);
}

/* Everything for cycles. */
typedef struct ObjectRun {
        Store *store;
        Policy *policy;
        int signals;
        RunOptions run;
} ObjectRun;

static void object_run_deinit(ObjectRun *k) {
        store_stop_at(-1);
        store_free(k->store);
        policy_free(k->policy);
        closep(&k->signals);
}

static int object_run_failed(ActionArgs *a, const ObjectRun *k, int r, const Diag *d) {
        if (r > PERFORM_E_STORE)
                return with_store_failed(a->verb, k->store, r - PERFORM_E_STORE, d);
        if (r < 0 && *d->text)
                return cli_fail(a->verb, with_store_code(r), "%s", d->text);
        return action_failed(a, k->store, r, d);
}

static int object_run_begin(ActionArgs *a, ObjectRun *k) {
        Diag d = {0};
        int r = cmd_object_policy(a, &k->policy);

        if (r == EXIT_OK && (k->signals = run_take_signals()) < 0)
                r = cli_fail(a->verb, EXIT_NOT, "signals: %s", strerror(-k->signals));
        r = r ?: with_store(a->verb, &a->o, STORE_SUPERVISE, &k->store);
        if (r != EXIT_OK)
                return r;
        k->run = (RunOptions){.policy = k->policy, .verbose = a->o.value['v'], .quiet = !a->o.value['v']};
        r = recover_all(k->store, k->policy, NULL, true, &d);
        return r == 0 ? EXIT_OK
                      : cli_fail(a->verb, EXIT_NOT, "regions of a supervisor that died cannot be recovered: %s",
                                 *d.text ? d.text : store_strerror(r));
}

/* 128 and a signal's number, when a signal ended the execution, or is pending; else EXIT_OK. */
static int object_signalled(const ObjectRun *k, const json_t *answer) {
        const json_t *outcome = json_object_get(answer, "outcome");
        struct signalfd_siginfo si;

        if (json_text_is(json_object_get(outcome, "kind"), outcome_kind_name(OUTCOME_KIND_INTERRUPTED)) &&
            json_number(outcome, "signal") > 0)
                return 128 + (int)json_number(outcome, "signal");
        return read(k->signals, &si, sizeof(si)) == (ssize_t)sizeof(si) ? 128 + (int)si.ssi_signo : EXIT_OK;
}

/* A line for people: "ID execution: success in 12 ms; evaluation, entry 3". */
static void object_print_cycle(const json_t *o) {
        const json_t *outcome = json_object_get(o, "outcome");
        char usec[SIZE_TEXT_MAX];

        printf("%s  %s", cli_text(o, "object"), cli_text(o, "action") ?: "?");
        if (outcome)
                printf(": %s in %s", cli_text(outcome, "kind") ?: "?",
                       duration_format(cli_u64(outcome, "latency_usec"), usec));
        else if (*json_str(o, "reason"))
                action_show(o, "reason", ": ");
        if (outcome && *json_str(outcome, "reason")) {
                fputs(" (", stdout);
                action_show(outcome, "reason", "");
                putchar(')');
        }
        printf("; now %s", cli_text(o, "state") ?: "?");
        if (json_object_get(o, "entry"))
                printf(", entry %" PRIu64, cli_u64(o, "entry"));
        putchar('\n');
}

/* Returns 0, PERFORM_E_STORE, a positive EngineCode with a message in a->d, -errno. */
static int object_run_find(ActionArgs *a, const ObjectRun *k) {
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(k->store, false, &t, &a->d);

        return r > 0 ? PERFORM_E_STORE + r : r ?: cmd_object_find(a, t);
}

int cmd_object_cycle(ActionArgs *a) {
        _cleanup_(object_run_deinit) ObjectRun k = {.signals = -1};
        _cleanup_json_ json_t *answer = NULL;
        int r = cmd_object_id(a) ?: object_run_begin(a, &k), signalled;

        if (r != EXIT_OK)
                return r;
        r = object_run_find(a, &k) ?: perform_cycle(&k.run, k.store, a->argv[0], action_who(), k.signals, &answer, &a->d);
        signalled = object_signalled(&k, answer);
        if (r != 0)
                return signalled ?: object_run_failed(a, &k, r, &a->d);
        r = action_print(a, json_incref(answer)); /* for programs in any case */
        return signalled ?: r;
}

/* The next due rows. Returns 0, PERFORM_E_STORE, -errno. */
static int object_next_due(Store *s, const WakeDue *after, WakeDue *ret, size_t *ret_n, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(s, false, &t, reterr);

        return r > 0 ? PERFORM_E_STORE + r : r ?: wake_due(t, clock_real_usec(), after, OBJECT_DUE_BATCH, ret, ret_n);
}

static int object_tell_cycle(const ActionArgs *a, json_t *answer) {
        if (a->o.json)
                return cli_print_item(json_incref(answer)) < 0 ? cli_fail(a->verb, EXIT_NOT, "out of memory") : EXIT_OK;
        object_print_cycle(answer);
        return EXIT_OK;
}

/* A cycle of a due object. A refusal is told, and does not stop the pass. *n: cycles with an action. Returns an exit
 * code. */
static int object_run_one(ActionArgs *a, ObjectRun *k, const char *id, uint64_t *n) {
        _cleanup_json_ json_t *answer = NULL;
        Diag d = {0};
        int r = perform_cycle(&k->run, k->store, id, action_who(), k->signals, &answer, &d), signalled;

        signalled = object_signalled(k, answer);
        if (r == ENGINE_E_TERMINATED || r == ENGINE_E_CONFLICT) /* another process was faster */
                return signalled;
        if (r > 0 && r < PERFORM_E_STORE) {
                fprintf(stderr, "lethe object: %s: ", id);
                diag_print(stderr, d.text);
                fprintf(stderr, " (%s)\n", engine_code_name((EngineCode)r));
                return signalled;
        }
        if (r != 0)
                return signalled ?: object_run_failed(a, k, r, &d);
        if (json_text_is(json_object_get(answer, "action"), "none"))
                return signalled;
        ++*n;
        r = object_tell_cycle(a, answer);
        return signalled ?: r;
}

/* All due rows from the first on, once. */
static int object_run_pass(ActionArgs *a, ObjectRun *k, uint64_t most, uint64_t *n) {
        WakeDue rows[OBJECT_DUE_BATCH], after;
        size_t n_rows;
        bool first = true;
        int r = EXIT_OK;

        do {
                Diag d = {0};
                int e = object_next_due(k->store, first ? NULL : &after, rows, &n_rows, &d);

                if (e != 0)
                        return object_run_failed(a, k, e, &d);
                for (size_t i = 0; r == EXIT_OK && i < n_rows && *n < most; i++) {
                        r = object_run_one(a, k, rows[i].object, n);
                        after = rows[i];
                }
                first = false;
        } while (r == EXIT_OK && n_rows == OBJECT_DUE_BATCH && *n < most);
        return r;
}

int cmd_object_run(ActionArgs *a) {
        _cleanup_(object_run_deinit) ObjectRun k = {.signals = -1};
        uint64_t most = COUNT_MOST, n = 0, before;
        size_t recovered;
        Diag d = {0};
        int r = EXIT_OK;

        if (!a->o.value['d'])
                r = cli_usage(a->verb,
                              "run needs --due, for cycles of all due objects; `lethe object cycle OBJECT` has a cycle "
                              "of an object of your choice");
        r = r ?: cli_number(a->verb, "--most", a->o.value['M'], 1, COUNT_MOST, &most) ?: object_run_begin(a, &k);
        if (r != EXIT_OK)
                return r;
        r = perform_recover(k.store, k.policy, action_who(), &recovered, &d);
        if (r != 0)
                return object_run_failed(a, &k, r, &d);
        do {
                before = n;
                r = object_run_pass(a, &k, most, &n);
        } while (r == EXIT_OK && n > before && n < most);
        return r ?: cli_done(a->verb, EXIT_OK);
}

int cmd_object_input(ActionArgs *a) {
        _cleanup_json_ json_t *input = NULL;
        _cleanup_free_ char *text = NULL;
        json_t *made = NULL;
        size_t n;
        int r = cmd_object_id(a) ?: action_line(a, "--from", a->o.value['f'])
                        ?: action_text(a, a->argv[1], INTENT_INPUT_MAX, &text, &n);

        if (r != EXIT_OK)
                return r;
        input = memchr(text, 0, n) ? NULL : json_stringn(text, n);
        if (!input)
                return action_refused(a, engine_code_name(ENGINE_E_BAD_UTF8),
                                      "the input is no text: text is UTF-8 without "
                                      "U+0000");
        r = cmd_object_begin(a, true)
                    ?: action_end(a, object_input(a->t, a->argv[0], action_who(), a->o.value['f'] ?: action_who(),
                                                  input, &made, &a->d));
        if (r != EXIT_OK)
                return r;
        n = cli_u64(made, "entry");
        return action_tell(a, made, "noted as entry %zu: an input advises, and decides nothing", n);
}

int cmd_object_end(ActionArgs *a) {
        json_t *made = NULL;
        int r = action_line(a, "--reason", a->o.value['r']) ?: cmd_object_begin(a, true);

        if (r == EXIT_OK)
                r = action_end(a, object_end(a->t, a->argv[0], action_who(), a->o.value['r'] ?: "requested", &made,
                                             &a->d));
        return r ?: action_tell(a, made, "object %s has ended; its memory stays", a->argv[0]);
}
