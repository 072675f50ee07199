/* Runs: CLI. */
#include "base/io.h"
#include "base/size.h"
#include "belief/slot-view.h"
#include "cli/actions.h"
#include "engine/arbitration.h"
#include "schema/jsonschema.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

static const char help[] =
        "Usage: lethe slot define NAME --schema FILE|- [--arbitrate RULE]\n"
        "       lethe slot put NAME VALUE|- [--expect VERSION]\n"
        "       lethe slot get NAME [--version VERSION]\n"
        "       lethe slot list\n"
        "       lethe slot show NAME\n"
        "       lethe slot history NAME\n"
        "       lethe slot decide NAME\n"
        "       lethe slot watch NAME [--count N]\n\n"
        "Slots persist: named values, each typed by a JSON Schema, with every version kept.\n"
        "VALUE is JSON (a string needs its quotes: '\"text\"'; put -- before a negative number);\n"
        "- reads standard input. put with --expect "
        "writes only over VERSION (0: no value yet). watch prints each new version.\n\n"
        "With --arbitrate many regions may write the slot at once. Values of regions that ended well are gathered,\n"
        "N values, or until decide; then the rule takes a value, or no value:\n"
        "  first/N           the earliest\n"
        "  cas/N             the earliest that expects the slot's version\n"
        "  priority:A,B/N    the earliest of skill A, else of B\n"
        "  quorum:K/N        the value of most regions, at least K\n"
        "  confidence:F/N    the value of the highest confidence, at least F\n\n" HELP_STORE
        "  --json            JSON objects with all members\n"
        "  -h, --help        print the help\n";

#define WATCH_USEC 100000

typedef struct SlotArgs {
        ActionArgs in;
        const char *name, *value;
        int64_t expect;
        uint64_t version, count;
} SlotArgs;

/* The text of `arg`, or of standard input, or of a file, as JSON. Returns EXIT_*. */
static int slot_read_json(ActionArgs *a, const char *what, const char *arg, bool is_file, unsigned depth,
                          json_t **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = 0;

        if (strcmp(arg, "-") == 0)
                r = io_read_all(STDIN_FILENO, SLOT_VALUE_MAX, &text, &n);
        else if (is_file)
                r = io_read_file(AT_FDCWD, arg, SLOT_VALUE_MAX, &text, &n);
        else if (!(text = strndup(arg, n = strlen(arg))))
                r = -ENOMEM;
        if (r == -EFBIG) {
                char message[96];

                snprintf(message, sizeof(message), "%s: more than %d bytes", what, SLOT_VALUE_MAX);
                return action_refused(a, engine_code_name(ENGINE_E_TOO_LARGE), message);
        }
        if (r < 0)
                return cli_fail("slot", EXIT_NOT, "%s %s cannot be read: %s", what, arg, strerror(-r));
        return action_parse(a, what, text, n, SLOT_VALUE_MAX, depth,
                            is_file || strcmp(arg, "-") == 0 ? "" : " (a string needs quotes: '\"text\"')", ret);
}

/* Members of belief/'s objects: 0 and "?" when absent. */
static uint64_t slot_number(const json_t *o, const char *key) {
        uint64_t v = 0;

        json_get_u64(json_object_get(o, key), &v);
        return v;
}

static const char *slot_text(const json_t *o, const char *key) {
        return cli_text(o, key) ?: "?";
}

static void slot_print_skill(const json_t *o) {
        printf(" region %s  skill ", slot_text(o, "region"));
        cli_print_safe(slot_text(o, "skill"));
}

/* Prints a verdict, and below each proposal with its result. */
static void slot_print_verdict(const json_t *v) {
        const json_t *list = json_object_get(v, "proposals");
        const char *who = cli_text(v, "who");

        printf("verdict %-6s seq %-8" PRIu64 " %s  %s, %zu proposal%s: ", slot_text(json_object_get(v, "rule"), "rule"),
               slot_number(v, "seq"), slot_text(v, "time"), who ? who : "enough gathered", json_array_size(list),
               json_array_size(list) == 1 ? "" : "s");
        if (json_is_null(json_object_get(v, "winner")))
                printf("no value taken, %s\n", slot_text(v, "reason"));
        else
                printf("version %" PRIu64 "\n", slot_number(v, "version") + 1);
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *p = json_array_get(list, i), *sure = json_object_get(p, "confidence");

                printf("        %-14s seq %-8" PRIu64, slot_text(p, "verdict"), slot_number(p, "seq"));
                slot_print_skill(p);
                if (sure)
                        printf("  confidence %g", json_number_value(sure));
                putchar('\n');
        }
}

/* Prints {"rule","gathered"}: the rule and the undecided proposals. Returns 0 or -errno. */
static int slot_print_waiting(const json_t *o) {
        const json_t *rule = json_object_get(o, "rule"), *list = json_object_get(o, "gathered");
        int r;

        printf("  rule     ");
        r = print_json(stdout, rule);
        printf("  gathered %zu of %" PRIu64 "\n", json_array_size(list), slot_number(rule, "of"));
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *p = json_array_get(list, i);

                printf("        seq %-8" PRIu64 " %s ", slot_number(p, "seq"), slot_text(p, "time"));
                slot_print_skill(p);
                putchar('\n');
        }
        return r;
}

static int slot_define(SlotArgs *a) {
        _cleanup_json_ json_t *schema = NULL, *rule = NULL;
        ActionArgs *in = &a->in;
        uint64_t seq = 0;
        int r;

        if (!in->o.value['S'])
                return cli_usage("slot", "define needs --schema FILE");
        if (in->o.value['R']) {
                ArbitrationRule parsed;

                if (arbitration_rule_parse_text(in->o.value['R'], &parsed, &in->d) != 0)
                        return cli_usage("slot", "--arbitrate: %s", in->d.text);
                rule = arbitration_rule_json(&parsed);
                if (!rule)
                        return cli_fail("slot", EXIT_NOT, "%s", strerror(ENOMEM));
        }
        r = slot_read_json(in, "the schema", in->o.value['S'], true, JSONSCHEMA_DEPTH_MAX, &schema)
                    ?: action_begin(in, true)
                    ?: action_end(in, engine_slot_define_ruled(in->t, action_who(), a->name, schema, rule, &seq, &in->d));
        return r ?: action_tell(in, json_pack("{s:s, s:o}", "slot", a->name, "seq", json_u64(seq)),
                                "%s is defined (seq %" PRIu64 ")", a->name, seq);
}

static int slot_put(SlotArgs *a) {
        _cleanup_json_ json_t *value = NULL;
        ActionArgs *in = &a->in;
        uint64_t seq = 0, version = 0;
        int r = slot_read_json(in, "the value", a->value, false, JSON_DEPTH_DEFAULT, &value)
                        ?: action_begin(in, true)
                        ?: action_end(in, engine_slot_put(in->t, action_who(), a->name, value, a->expect, &seq, &version,
                                                          &in->d));

        return r ?: action_tell(in,
                                json_pack("{s:s, s:o, s:o}", "slot", a->name, "slot_version", json_u64(version), "seq",
                                          json_u64(seq)),
                                "%s is at version %" PRIu64 " (seq %" PRIu64 ")", a->name, version, seq);
}

/* Objects of belief/ use "version" for the slot's version; at the top of the output "version" is the format's. */
static int slot_rename_version(json_t *o) {
        return json_object_set(o, "slot_version", json_object_get(o, "version")) |
               json_object_set_new(o, "version", json_integer(1));
}

static int slot_print_value(json_t *o, bool json) {
        if (!json)
                return print_json(stdout, json_object_get(o, "value"));
        return slot_rename_version(o) < 0 ? -ENOMEM : print_json(stdout, o);
}

static int slot_get(SlotArgs *a) {
        _cleanup_json_ json_t *o = NULL;
        ActionArgs *in = &a->in;
        int r = action_begin(in, false) ?: action_end(in, belief_slot_get(in->t, a->name, a->version, &o, &in->d));

        if (r != EXIT_OK)
                return r;
        return slot_print_value(o, in->o.json) < 0 ? cli_fail("slot", EXIT_NOT, "out of memory")
                                                   : cli_done("slot", EXIT_OK);
}

static void slot_print_row(const json_t *o) {
        const char *held = cli_text(json_object_get(o, "held"), "region");
        const json_t *rule = json_object_get(o, "rule");

        printf("%-32s  version %-6" PRIu64 "%s%s", cli_text(o, "slot"), slot_number(o, "version"),
               held ? "  held by region " : "", held ? held : "");
        if (rule)
                printf("  %s: %" PRIu64 " of %" PRIu64 " gathered", cli_text(rule, "rule"), slot_number(o, "gathered"),
                       slot_number(rule, "of"));
        putchar('\n');
}

static int slot_list(SlotArgs *a) {
        ActionArgs *in = &a->in;
        json_t *list = NULL;
        int r = action_begin(in, false) ?: action_end(in, belief_slot_list(in->t, &list));

        return r ?: action_rows(in, json_pack("{s:o}", "slots", list), "slots", slot_print_row);
}

static int slot_decide(SlotArgs *a) {
        _cleanup_json_ json_t *verdict = NULL;
        ActionArgs *in = &a->in;
        uint64_t seq = 0;
        int r = action_begin(in, true)
                        ?: action_end(in, engine_slot_decide(in->t, action_who(), a->name, &seq, &verdict, &in->d));

        if (r != EXIT_OK)
                return r;
        if (json_object_set_new(verdict, "seq", json_u64(seq)) < 0 || (in->o.json && slot_rename_version(verdict) < 0))
                return cli_fail("slot", EXIT_NOT, "out of memory");
        if (in->o.json)
                return cli_print("slot", EXIT_OK, TAKE_PTR(verdict));
        if (json_is_null(json_object_get(verdict, "winner")))
                printf("no value is taken for %s: %s (seq %" PRIu64 ")\n", a->name,
                       slot_text(verdict, "reason"), seq);
        else
                printf("%s is at version %" PRIu64 " (verdict at seq %" PRIu64 ")\n", a->name,
                       slot_number(verdict, "version") + 1, seq);
        return cli_done("slot", EXIT_OK);
}

/* Reads all but values: definition, version, holder, and the undecided proposals. *ret: the slot's object;
 * *ret_verdict: the newest verdict, or null. */
static int slot_read_all(Txn *t, const char *name, json_t **ret, json_t **ret_verdict, Diag *reterr) {
        _cleanup_json_ json_t *waits = NULL, *list = NULL;
        json_t *o;
        int r = belief_gathered(t, name, &waits, reterr)
                        ?: belief_verdict_newest(t, name, ret_verdict, reterr) ?: belief_slot_list(t, &list);

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++)
                if (strcmp(slot_text(o = json_array_get(list, i), "slot"), name) == 0)
                        *ret = json_incref(o);
        if (r == 0 && (json_object_update(*ret, waits ? waits : *ret) < 0 ||
                       (waits && json_object_set(*ret, "verdict", *ret_verdict) < 0) || slot_rename_version(*ret) < 0))
                r = -ENOMEM;
        return r;
}

static int slot_show(SlotArgs *a) {
        _cleanup_json_ json_t *o = NULL, *verdict = NULL;
        ActionArgs *in = &a->in;
        int r = action_begin(in, false) ?: action_end(in, slot_read_all(in->t, a->name, &o, &verdict, &in->d));

        if (r != EXIT_OK)
                return r;
        if (in->o.json)
                return cli_print("slot", EXIT_OK, TAKE_PTR(o));
        printf("%s\n  version  %" PRIu64 "\n  defined  seq %" PRIu64 "\n", a->name, slot_number(o, "slot_version"),
               slot_number(o, "defined"));
        if (json_object_get(o, "held"))
                printf("  held     by region %s, version %" PRIu64 "\n",
                       slot_text(json_object_get(o, "held"), "region"),
                       slot_number(json_object_get(o, "held"), "version"));
        if (!json_object_get(o, "verdict")) /* the slot has no rule */
                return cli_done("slot", EXIT_OK);
        r = slot_print_waiting(o);
        if (!json_is_null(verdict))
                slot_print_verdict(verdict);
        return r < 0 ? cli_fail("slot", EXIT_NOT, "out of memory") : cli_done("slot", EXIT_OK);
}

static int slot_history(SlotArgs *a) {
        _cleanup_json_ json_t *list = NULL, *verdicts = NULL;
        ActionArgs *in = &a->in;
        size_t next = 0, i;
        json_t *o;
        int r = action_begin(in, false)
                        ?: action_end(in, belief_slot_history(in->t, a->name, &list, &in->d)
                                                  ?: belief_verdict_list(in->t, a->name, &verdicts, &in->d));

        if (r != EXIT_OK || in->o.json)
                return r ?: action_print(in, json_pack("{s:s, s:O, s:O}", "slot", a->name, "history", list, "verdicts",
                                                       verdicts));
        json_array_foreach(list, i, o) {
                for (; slot_number(json_array_get(verdicts, next), "seq") < slot_number(o, "seq") &&
                       next < json_array_size(verdicts);
                     next++)
                        slot_print_verdict(json_array_get(verdicts, next));
                printf("version %-6" PRIu64 " seq %-8" PRIu64 " %s  %s%s  %" PRIu64 " bytes  sha256 %s\n",
                       slot_number(o, "version"), slot_number(o, "seq"), cli_text(o, "time"),
                       cli_text(o, "region") ? "region " : "", cli_text(o, "region") ?: slot_text(o, "who"),
                       slot_number(o, "bytes"), cli_text(o, "sha256"));
        }
        for (; next < json_array_size(verdicts); next++)
                slot_print_verdict(json_array_get(verdicts, next));
        return cli_done("slot", EXIT_OK);
}

static volatile sig_atomic_t slot_stopped;

static void slot_stop(int sig) {
        slot_stopped = sig;
}

/* Prints each version after *seen. */
static int slot_print_since(Store *s, const SlotArgs *a, uint64_t *seen, uint64_t *printed, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        uint64_t version;
        int r = store_begin(s, false, &t, reterr) ?: belief_slot_version(t, a->name, &version, reterr);

        while (r == 0 && *seen < version && (a->count == 0 || *printed < a->count)) {
                _cleanup_json_ json_t *o = NULL;

                r = belief_slot_get(t, a->name, *seen + 1, &o, reterr) ?: slot_print_value(o, a->in.o.json);
                ++*seen;
                ++*printed;
        }
        return r;
}

static int slot_watch(SlotArgs *a) {
        struct sigaction sa = {.sa_handler = slot_stop};
        _cleanup_store_ Store *s = NULL;
        uint64_t seen = 0, printed = 0;
        Diag d = {0};
        Txn *t;
        int r = with_store("slot", &a->in.o, STORE_READ, &s);

        if (r != EXIT_OK)
                return r;
        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
        r = store_begin(s, false, &t, &d);
        if (r == 0) {
                r = belief_slot_version(t, a->name, &seen, &d);
                store_abort(t);
        }
        while (r == 0 && !slot_stopped && (a->count == 0 || printed < a->count)) {
                struct pollfd gone = {.fd = STDOUT_FILENO};

                r = slot_print_since(s, a, &seen, &printed, &d);
                if (fflush(stdout) != 0 || ferror(stdout))
                        break;
                if ((a->count == 0 || printed < a->count) && poll(&gone, 1, WATCH_USEC / 1000) > 0 &&
                    (gone.revents & (POLLERR | POLLHUP)))
                        break; /* the reader of the pipe is gone */
        }
        return r != 0 ? action_failed(&a->in, s, r, &d) : slot_stopped ? EXIT_OK : cli_done("slot", EXIT_OK);
}

static const struct SlotAction {
        const char *name;
        int (*fn)(SlotArgs *a);
        int n_arguments; /* behind the action */
} actions[] = {
        {"define", slot_define, 1},   {"put", slot_put, 2},     {"get", slot_get, 1},   {"list", slot_list, 0},
        {"history", slot_history, 1}, {"watch", slot_watch, 1}, {"show", slot_show, 1}, {"decide", slot_decide, 1},
};

int cmd_slot(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("schema", 'S'), OPTION("arbitrate", 'R'),
                                                OPTION("expect", 'e'), OPTION("version", 'v'), OPTION("count", 'n'),
                                                {0}};
        SlotArgs a = {.in.verb = "slot", .in.o.help = help, };
        const char **value = a.in.o.value;
        uint64_t v;
        int n;

        if (store_options(&a.in.o, argc, argv, options) < 0)
                return a.in.o.code;
        if (value['e'] && count_parse(value['e'], &v) < 0)
                return cli_usage("slot", "--expect '%s' is not a version's number", value['e']);
        a.expect = value['e'] ? (int64_t)v : -1;
        if (value['v'] && (count_parse(value['v'], &a.version) < 0 || a.version == 0))
                return cli_usage("slot", "--version '%s' is not a version's number", value['v']);
        if (value['n'] && (count_parse(value['n'], &a.count) < 0 || a.count == 0))
                return cli_usage("slot", "--count '%s': must be a whole number from 1", value['n']);
        if (optind == argc)
                return cli_usage("slot", "define, put, get, list, show, history, decide or watch?");
        n = argc - optind - 1;
        a.name = n > 0 ? argv[optind + 1] : NULL;
        a.value = n > 1 ? argv[optind + 2] : NULL;
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                if (strcmp(argv[optind], actions[i].name) == 0) {
                        if (n != actions[i].n_arguments)
                                return cli_usage("slot", "%s takes %d argument%s, not %d", actions[i].name,
                                                 actions[i].n_arguments, actions[i].n_arguments == 1 ? "" : "s", n);
                        a.in.action = actions[i].name;
                        a.in.o.must_exist = actions[i].fn != slot_define;
                        return actions[i].fn(&a);
                }
        return cli_usage("slot", "'%s' is no action: define, put, get, list, show, history, decide, watch",
                         argv[optind]);
}
