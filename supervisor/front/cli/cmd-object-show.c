/* Runs: CLI. Actions of `lethe object` that print objects: list, show, history. */
#include "cli/cmd-object.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/size.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define INPUT_SHOWN 60 /* bytes */

static const char *object_time(uint64_t usec, char out[static CLOCK_TEXT_MAX]) {
        return usec ? clock_format(usec, out) : "-";
}

/* The member "intent" of object_each(): {"skill": NAME}, {"delegate": n}, {"wait": true} or {"steps": n}. */
static void object_print_do(const json_t *todo) {
        if (json_object_get(todo, "skill"))
                action_show(todo, "skill", "skill ");
        else if (json_object_get(todo, "delegate"))
                printf("delegates to %" PRIu64, cli_u64(todo, "delegate"));
        else if (json_object_get(todo, "steps"))
                printf("%" PRIu64 " steps", cli_u64(todo, "steps"));
        else
                fputs("waits", stdout);
}

static void object_print_row(const json_t *o) {
        static const char *const flags[] = {"away", "forked", "behind", "unknown"};
        char due[CLOCK_TEXT_MAX];

        printf("%s  %-12s  %6" PRIu64 "  ", cli_text(o, "object"), cli_text(o, "state") ?: "?", cli_u64(o, "n"));
        object_print_do(json_object_get(o, "intent"));
        if (*json_str(o, "reason"))
                action_show(o, "reason", "  ");
        if (cli_u64(o, "due") > 0)
                printf("  due %s", object_time(cli_u64(o, "due"), due));
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                if (json_is_true(json_object_get(o, flags[i])))
                        printf("  %s", flags[i]);
        putchar('\n');
}

/* Rows are printed as they are read: a million objects are a list, too. */
typedef struct ObjectListing {
        bool json;
        uint64_t n;
} ObjectListing;

static int object_list_print(void *user, const json_t *one) {
        ObjectListing *l = user;

        if (!l->json)
                object_print_row(one);
        else if (fputs(l->n > 0 ? "," : "{\"objects\":[", stdout) < 0 || print_json_part(stdout, one) < 0)
                return -ENOMEM;
        l->n++;
        return ferror(stdout) ? -EPIPE : 0; /* nobody reads any more: cli_done() says so */
}

int cmd_object_list(ActionArgs *a) {
        const char *said = a->o.value['T'];
        ObjectState state = said ? object_state_of(said) : OBJECT_NONE;
        ObjectListing l = {.json = a->o.json};
        int r = said && state == OBJECT_NONE
                        ? cli_usage(a->verb,
                                    "--state: '%s' is no state: instantiated, evaluation, execution, mutation, "
                                    "delegation, dormant, reentry or terminated",
                                    said)
                        : EXIT_OK;

        if (r != EXIT_OK || (r = action_begin(a, false)) != EXIT_OK)
                return r;
        r = object_each(a->t, state, object_list_print, &l);
        r = action_end(a, r == -EPIPE ? 0 : r);
        if (r == EXIT_OK && l.json)
                puts(l.n > 0 ? "],\"version\":1}" : "{\"objects\":[],\"version\":1}");
        return r ?: cli_done(a->verb, EXIT_OK);
}

/* An object whole, from row and memory. Returns as object_memory(). */
static int object_whole(ActionArgs *a, json_t **ret) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_object_row_ ObjectRow row = {0};
        char head[2 * ENTRY_HASH_BYTES + 1];
        json_t *o;
        int r = object_get(a->t, a->argv[0], &row, &a->d) ?: object_memory(a->t, &row, false, &m, &a->d);

        if (r != 0)
                return r;
        o = json_pack("{s:s, s:s, s:o, s:s, s:o, s:O, s:O, s:O}", "object", row.object, "state",
                      object_state_name(row.state), "n", json_u64(row.n), "head",
                      hex_encode(row.head, sizeof(row.head), head), "time", json_u64(m.time_usec), "intent", m.intent,
                      "context", m.context, "fold", m.fold);
        if (!o || (row.due_usec != UINT64_MAX && json_object_set_new(o, "due", json_u64(row.due_usec)) < 0) ||
            (row.away && json_object_set_new(o, "away", json_true()) < 0) ||
            (row.forked && json_object_set_new(o, "forked", json_true()) < 0) ||
            (row.behind && json_object_set_new(o, "behind", json_true()) < 0) ||
            (row.unknown && json_object_set_new(o, "unknown_signer", json_true()) < 0)) {
                json_decref(o);
                return -ENOMEM;
        }
        *ret = o;
        return 0;
}

int cmd_object_show(ActionArgs *a) {
        json_t *o = NULL;
        int r = cmd_object_begin(a, false);

        r = r ?: action_end(a, object_whole(a, &o));
        return r ?: action_dump(a, o);
}

/* The beginning of an input's text. */
static void object_print_input(const json_t *data) {
        const char *text = json_text(json_object_get(data, "input"));
        size_t n = text ? strcspn(text, "\n") : 0;

        action_show(data, "from", "  ");
        if (n > INPUT_SHOWN)
                for (n = INPUT_SHOWN; n > 0 && ((uint8_t)text[n] & 0xc0) == 0x80;)
                        n--;
        if (!text)
                return;
        fputs(": ", stdout);
        print_safe(stdout, text, n);
        fputs(text[n] ? " …" : "", stdout);
}

static void object_print_entry(const json_t *o) {
        const json_t *outcome = json_object_get(o, "outcome"), *data = json_object_get(o, "data"),
                     *policy = json_object_get(o, "policy");
        char time[CLOCK_TEXT_MAX], usec[SIZE_TEXT_MAX];

        printf("%5" PRIu64 "  %s  %-12s", cli_u64(o, "n"), object_time(cli_u64(o, "time"), time),
               cli_text(o, "kind") ?: "?");
        if (json_is_object(outcome)) {
                printf("  %s in %s", cli_text(outcome, "kind") ?: "?",
                       duration_format(cli_u64(outcome, "latency_usec"), usec));
                action_show(outcome, "reason", ": ");
        }
        action_show(data, "skill", "  skill ");
        action_show(data, "reason", "  ");
        action_show(data, "region", "  region ");
        if (json_object_get(data, "input"))
                object_print_input(data);
        if (json_text_is(json_object_get(policy, "verdict"), "denied"))
                action_show(policy, "rule", "  denied: ");
        printf("  [%s]\n", cli_text(o, "keyid") ?: "?");
}

/* A line for each entry, for people and for programs. */
int cmd_object_history(ActionArgs *a) {
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_json_ json_t *list = NULL;
        json_t *o;
        size_t i;
        int r = cmd_object_begin(a, false);

        if (r != EXIT_OK)
                return r;
        r = object_get(a->t, a->argv[0], &row, &a->d) ?: object_history(a->t, &row, 0, &list, &a->d);
        r = action_end(a, r);
        json_array_foreach(list, i, o) {
                if (!a->o.json)
                        object_print_entry(o);
                else if (cli_print_item(json_incref(o)) < 0)
                        return cli_fail(a->verb, EXIT_NOT, "out of memory");
        }
        return r ?: cli_done(a->verb, EXIT_OK);
}
