/* Runs: CLI. `lethe object why`: conditions for which an object waits, and what was tried. */
#include "cli/cmd-object.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/size.h"
#include "object/trust.h"
#include "perform/perform.h"
#include "policy/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define WHY_TRIED 5 /* the newest outcomes */
#define WHY_TRIES 16
#define WHY_CHILDREN 16 /* children that the text names */

/* The outcomes in the history, the newest last. */
static json_t *object_why_tried(const json_t *history) {
        json_t *tried = json_array(), *o;
        size_t i;

        json_array_foreach((json_t *)history, i, o) {
                json_t *outcome = json_object_get(o, "outcome");
                json_t *one = json_is_object(outcome)
                                      ? json_pack("{s:O, s:O, s:O, s:O, s:O*}", "entry", json_object_get(o, "n"), "time",
                                                  json_object_get(o, "time"), "node", json_object_get(o, "node"),
                                                  "outcome", outcome, "region",
                                                  json_object_get(json_object_get(o, "data"), "region"))
                                      : NULL;

                if (one && json_array_append_new(tried, one) < 0)
                        break;
        }
        while (json_array_size(tried) > WHY_TRIED)
                json_array_remove(tried, 0);
        return tried;
}

/* The first key of a signer without trust: "". *ret: its state. */
static int object_why_signer(Txn *t, const ObjectRow *row, char ret[static VKEY_MAX], SignerState *ret_state) {
        const json_t *signer;
        size_t i;
        int r = 0;

        *ret_state = SIGNER_OWN;
        json_array_foreach(json_object_get(row->row, "signers"), i, signer)
                if (r == 0 && *ret_state < SIGNER_REVOKED)
                        r = trust_key(t, row, json_text(signer), ret) ?: trust_look(t, json_text(signer), ret, ret_state);
        return r;
}

/* Why the object does not go on; *ret: NULL when it does. */
static int object_why_not(Txn *t, const ObjectRow *row, json_t **ret) {
        char vkey[VKEY_MAX] = "";
        SignerState state = SIGNER_OWN;
        int r = row->unknown ? object_why_signer(t, row, vkey, &state) : 0;

        if (r < 0 && r != -ENOENT)
                return r;
        *ret = row->away     ? json_string("away: exported with --move, the object goes on where the file is imported")
               : row->forked ? json_string("forked: two branches are known; `lethe object adopt` continues a branch")
               : row->behind ? json_string("behind: the imported copy is older than the known head")
               : row->unknown
                       ? json_sprintf("unknown_signer: the key %s is %s here; compare the key with `lethe object trust` on "
                                      "its node, then `lethe object trust VKEY`",
                                      vkey, state == SIGNER_REVOKED ? "revoked" : "not trusted")
                       : NULL;
        return 0;
}

/* The children of the open delegation: [{"object","status": kind of the answer|null,"state"?: in this store}]. */
static int object_why_children(Txn *t, const json_t *fold, json_t **ret) {
        const json_t *children = json_object_get(json_object_get(fold, "delegation"), "children");
        _cleanup_json_ json_t *list = children ? json_array() : NULL;
        const char *id;
        json_t *child;

        json_object_foreach((json_t *)children, id, child) {
                _cleanup_object_row_ ObjectRow row = {0};
                Diag d;
                int r = object_get(t, id, &row, &d);

                if (r < 0)
                        return r;
                if (json_array_append_new(list, json_pack("{s:s, s:O, s:s*}", "object", id, "status",
                                                          json_object_get(child, "status"), "state",
                                                          r == 0 ? object_state_name(row.state) : NULL)) < 0)
                        return -ENOMEM;
        }
        *ret = TAKE_PTR(list);
        return 0;
}

/* The next cycle, tried and thrown away: its action, or the conditions that do not hold. */
static int object_why_next(ActionArgs *a, const json_t *local, json_t **ret) {
        _cleanup_txn_ Txn *t = NULL;
        int r = store_begin(a->store, true, &t, &a->d);

        return r > 0 ? -EIO : r ?: perform_begin(t, a->argv[0], local, action_who(), false, ret, &a->d);
}

static int object_why_gather(ActionArgs *a, const Policy *p, json_t **ret) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_json_ json_t *history = NULL, *local = NULL, *next = NULL, *o = NULL;
        _cleanup_json_ json_t *why = NULL, *children = NULL;
        const json_t *dormant, *started;
        int r = cmd_object_find(a, a->t)
                        ?: object_get(a->t, a->argv[0], &row, &a->d)
                        ?: object_memory(a->t, &row, false, &m, &a->d)
                        ?: object_history(a->t, &row, 0, &history, &a->d)
                        ?: object_why_not(a->t, &row, &why)
                        ?: object_why_children(a->t, m.fold, &children);

        if (r != 0)
                return r;
        store_abort(TAKE_PTR(a->t));
        dormant = json_object_get(m.fold, "dormant");
        started = row.state == OBJECT_EXECUTION ? json_object_get(m.fold, "started") : NULL;
        if (!why && row.state != OBJECT_TERMINATED) {
                r = perform_local(a->store, p, a->argv[0], &local, &a->d);
                r = r ?: object_why_next(a, local, &next);
                if (r != 0)
                        return r > PERFORM_E_STORE ? -EIO : r;
        }
        o = json_pack("{s:s, s:s, s:o, s:O, s:O, s:o, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:o*}", "object", row.object, "state",
                      object_state_name(row.state), "n", json_u64(row.n), "intent", m.intent, "step",
                      json_object_get(m.fold, "step"), "tried", object_why_tried(history), "not_eligible",
                      why, "children", children, "dormant", dormant, "ended", json_object_get(m.fold, "ended"),
                      "negative", json_object_get(m.fold, "negative"), "started", started, "elsewhere",
                      started && !json_text_is(json_object_get(started, "node"), store_origin(a->store)) ? json_true()
                                                                                                          : NULL);
        if (!o || (next && (json_object_del(next, "perform"), json_object_set(o, "next", next) < 0)) ||
            (row.due_usec != UINT64_MAX && row.due_usec > 0 &&
             json_object_set_new(o, "due", json_u64(row.due_usec)) < 0))
                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

static void object_why_print_tried(const json_t *tried) {
        const json_t *one;
        size_t i;

        if (json_array_size(tried) == 0)
                puts("tried: not yet");
        json_array_foreach((json_t *)tried, i, one) {
                const json_t *outcome = json_object_get(one, "outcome");
                char time[CLOCK_TEXT_MAX], usec[SIZE_TEXT_MAX];

                printf("tried: %s  %s in %s", clock_format(cli_u64(one, "time"), time),
                       cli_text(outcome, "kind") ?: "?", duration_format(cli_u64(outcome, "latency_usec"), usec));
                if (cli_integer(outcome, "exit_code") > 0)
                        printf(", exit code %" JSON_INTEGER_FORMAT, cli_integer(outcome, "exit_code"));
                if (cli_integer(outcome, "signal") > 0)
                        printf(", signal %" JSON_INTEGER_FORMAT, cli_integer(outcome, "signal"));
                action_show(outcome, "capability", ", lacks ");
                action_show(outcome, "reason", ": ");
                if (cli_text(one, "region") && !json_text_is(json_object_get(outcome, "kind"), "success"))
                        printf("; `lethe why %s` tells more", cli_text(one, "region"));
                putchar('\n');
        }
}

static void object_why_print_children(const json_t *children) {
        const json_t *one;
        size_t i;

        json_array_foreach((json_t *)children, i, one) {
                if (i == WHY_CHILDREN) {
                        printf("child: and %zu more; `lethe object graph` draws all\n", json_array_size(children) - i);
                        break;
                }
                printf("child: %s  %s\n", cli_text(one, "object") ?: "?",
                       cli_text(one, "status") ?: cli_text(one, "state") ?: "not here");
        }
}

static void object_why_print_line(const char *before, const Buf *b) {
        fputs(before, stdout);
        print_safe(stdout, b->data ?: "", b->n);
        putchar('\n');
}

static int object_why_print_sleep(const json_t *o) {
        const json_t *dormant = json_object_get(o, "dormant"),
                     *unmet = json_object_get(json_object_get(o, "next"), "unmet");
        _cleanup_buf_ Buf b = {0}, missing = {0};
        char time[CLOCK_TEXT_MAX];
        int r = cmd_object_say_trigger(&b, json_object_get(dormant, "trigger"));

        for (size_t i = 0; r == 0 && i < json_array_size(unmet); i++) {
                _cleanup_json_ json_t *one = json_copied(json_array_get(unmet, i));

                json_object_del(one, "until");
                r = (i > 0 ? buf_add_str(&missing, "; ") : 0) ?: cmd_object_say_trigger(&missing, one);
        }
        if (r != 0)
                return r;
        printf("sleeps: since %s", clock_format(cli_u64(dormant, "since"), time));
        action_show(dormant, "reason", ": ");
        putchar('\n');
        object_why_print_line("wakes: when ", &b);
        if (missing.n > 0)
                object_why_print_line("not yet: ", &missing);
        if (json_object_get(o, "due"))
                printf("next look: %s\n", clock_format(cli_u64(o, "due"), time));
        return 0;
}

/* Only the node of an execution knows the end of the execution. */
static void object_why_print_started(const json_t *o) {
        const json_t *started = json_object_get(o, "started");
        char time[CLOCK_TEXT_MAX];

        if (!json_object_get(o, "elsewhere"))
                return;
        printf("runs: since %s", clock_format(cli_u64(started, "time"), time));
        action_show(started, "node", " on node ");
        printf("\nnot yet: the outcome, which a file of that node has (`lethe object import`); when the node is gone for "
               "good, `lethe object end %s`\n",
               cli_text(o, "object"));
}

static int object_why_print(const json_t *o) {
        const json_t *next = json_object_get(o, "next"), *todo = json_object_get(json_object_get(o, "intent"), "do"),
                     *steps = json_object_get(todo, "steps"), *step = json_array_get(steps, cli_u64(o, "step"));
        _cleanup_buf_ Buf b = {0};
        int r = step ? buf_printf(&b, "step %" PRIu64 " of %zu: ", cli_u64(o, "step") + 1, json_array_size(steps)) : 0;

        r = r ?: cmd_object_say_todo(&b, step ?: todo);

        if (r != 0)
                return r;
        printf("object %s: %s, %" PRIu64 " entries\n", cli_text(o, "object"), cli_text(o, "state"), cli_u64(o, "n"));
        object_why_print_line("does: ", &b);
        object_why_print_tried(json_object_get(o, "tried"));
        if (json_text(json_object_get(o, "ended")))
                cli_print_text("ended: ", json_object_get(o, "ended"));
        if (json_text(json_object_get(o, "not_eligible")))
                cli_print_text("does not go on: ", json_object_get(o, "not_eligible"));
        object_why_print_started(o);
        object_why_print_children(json_object_get(o, "children"));
        if (json_text_is(json_object_get(o, "state"), object_state_name(OBJECT_DORMANT)))
                r = object_why_print_sleep(o);
        if (r == 0 && next && !json_text_is(json_object_get(next, "action"), "none")) {
                printf("next cycle: %s", cli_text(next, "action") ?: "?");
                action_show(next, "reason", ", ");
                putchar('\n');
        } else if (r == 0 && next && !json_object_get(next, "unmet")) {
                fputs("next cycle: nothing", stdout);
                action_show(next, "reason", ", ");
                putchar('\n');
        }
        return r;
}

/* A cycle of another process may come between the looks: the question is asked again. */
static int object_why_ask(ActionArgs *a, const Policy *p, json_t **ret) {
        int r = ENGINE_E_CONFLICT;

        for (unsigned i = 0; i < WHY_TRIES && r == ENGINE_E_CONFLICT; i++) {
                store_abort(TAKE_PTR(a->t));
                r = store_begin(a->store, false, &a->t, &a->d);
                if (r != 0)
                        return with_store_failed(a->verb, a->store, r, &a->d);
                r = object_why_gather(a, p, ret);
        }
        return action_end(a, r);
}

int cmd_object_why(ActionArgs *a) {
        _cleanup_policy_ Policy *policy = NULL;
        json_t *o = NULL;
        int r = cmd_object_id(a)
                        ?: cmd_object_policy(a, &policy)
                        ?: with_store(a->verb, &a->o, STORE_SUPERVISE, &a->store)
                        ?: object_why_ask(a, policy, &o);

        store_free(TAKE_PTR(a->store));
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, o);
        r = object_why_print(o);
        json_decref(o);
        return r < 0 ? cli_fail(a->verb, EXIT_NOT, "%s", strerror(-r)) : cli_done(a->verb, EXIT_OK);
}
