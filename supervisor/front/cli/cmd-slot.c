/* Runs: CLI. */
#include "base/io.h"
#include "base/size.h"
#include "belief/slot-view.h"
#include "belief/verdict.h"
#include "cli/actions.h"
#include "cli/verdict.h"
#include "engine/arbitration.h"
#include "schema/jsonschema.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
        "Slots are what persists: named values, each typed by a JSON Schema, with every version kept.\n"
        "VALUE is JSON (a string needs its quotes: '\"text\"'; put -- before a negative number);\n"
        "- reads standard input. put with --expect "
        "writes only over that version (0: none yet). watch prints each new version as it is written.\n\n"
        "With --arbitrate many regions may write the slot at once. The values of those that ended well are gathered, N of\n"
        "them, or until decide; then one value is taken by the rule, or none:\n"
        "  first/N           the earliest\n"
        "  cas/N             the earliest that expects the version that the slot has\n"
        "  priority:A,B/N    that of skill A, else of B; the earliest of several\n"
        "  quorum:K/N        the value that at least K regions wrote, that of most\n"
        "  confidence:F/N    the one of the highest confidence, F at least\n\n" HELP_STORE
        "  --json            objects with all that is known\n"
        "  -h, --help        this text\n";

#define WATCH_USEC 100000

typedef struct Slot {
        ActionArgs in;
        const char *name, *value, *schema, *rule;
        int64_t expect;
        uint64_t version, count, seq;
        const json_t *typed, *ruled; /* what is written: a schema or a value, and its rule */
        json_t *o, *list, *verdict;  /* what was read; owned */
} Slot;

/* The text of `arg`, or of standard input, or of a file, as JSON. Returns EXIT_*. */
static int read_json(ActionArgs *a, const char *what, const char *arg, bool is_file, unsigned depth, json_t **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = 0;

        if (strcmp(arg, "-") == 0)
                r = io_read_all(STDIN_FILENO, SLOT_VALUE_MAX, &text, &n);
        else if (is_file)
                r = io_read_file(AT_FDCWD, arg, SLOT_VALUE_MAX, &text, &n);
        else {
                n = strlen(arg);
                text = strdup(arg);
                if (!text)
                        r = -ENOMEM;
        }
        if (r == -EFBIG) {
                char message[96];

                snprintf(message, sizeof(message), "%s: more than %d bytes", what, SLOT_VALUE_MAX);
                return action_refused(a, engine_code_name(ENGINE_E_TOO_LARGE), message);
        }
        if (r < 0)
                return cli_fail("slot", EXIT_NOT, "%s %s cannot be read: %s", what, arg, strerror(-r));
        return action_parse(a, what, text, n, SLOT_VALUE_MAX, depth, is_file || strcmp(arg, "-") == 0 ? "" : " (a string needs quotes: '\"text\"')", ret);
}

/* Prints one object (stolen) of a verb that ended well. */
static int print_object(json_t *o) {
        int r = print_json(stdout, o);

        json_decref(o);
        return r < 0 ? cli_fail("slot", EXIT_NOT, "out of memory") : cli_done("slot", EXIT_OK);
}

static int do_define(Txn *t, void *user, Diag *reterr) {
        Slot *a = user;

        return engine_slot_define_ruled(t, action_who(), a->name, a->typed, a->ruled, &a->seq, reterr);
}

static int define(Slot *a) {
        _cleanup_json_ json_t *schema = NULL, *rule = NULL;
        Diag d = {0};
        int r;

        if (!a->schema)
                return cli_usage("slot", "define needs --schema FILE");
        if (a->rule) {
                ArbitrationRule parsed;

                if (arbitration_rule_parse_text(a->rule, &parsed, &d) != 0)
                        return cli_usage("slot", "--arbitrate: %s", d.text);
                rule = arbitration_rule_json(&parsed);
                if (!rule)
                        return cli_fail("slot", EXIT_NOT, "%s", strerror(ENOMEM));
        }
        r = read_json(&a->in, "the schema", a->schema, true, JSONSCHEMA_DEPTH_MAX, &schema);
        a->typed = schema;
        a->ruled = rule;
        if (r == EXIT_OK)
                r = action_write(&a->in, do_define, a);
        if (r != EXIT_OK)
                return r;
        if (!a->in.o.json) {
                printf("%s is defined (seq %" PRIu64 ")\n", a->name, a->seq);
                return cli_done("slot", EXIT_OK);
        }
        return print_object(json_pack("{s:i, s:s, s:o}", "version", 1, "slot", a->name, "seq", json_u64(a->seq)));
}

static int do_put(Txn *t, void *user, Diag *reterr) {
        Slot *a = user;

        return engine_slot_put(t, action_who(), a->name, a->typed, a->expect, &a->seq, &a->version, reterr);
}

static int put(Slot *a) {
        _cleanup_json_ json_t *value = NULL;
        int r;

        if (!a->value)
                return cli_usage("slot", "put needs a value");
        r = read_json(&a->in, "the value", a->value, false, JSON_DEPTH_DEFAULT, &value);
        a->typed = value;
        if (r == EXIT_OK)
                r = action_write(&a->in, do_put, a);
        if (r != EXIT_OK)
                return r;
        if (!a->in.o.json) {
                printf("%s is at version %" PRIu64 " (seq %" PRIu64 ")\n", a->name, a->version, a->seq);
                return cli_done("slot", EXIT_OK);
        }
        return print_object(json_pack("{s:i, s:s, s:o, s:o}", "version", 1, "slot", a->name, "slot_version", json_u64(a->version), "seq", json_u64(a->seq)));
}

/* canon/'s objects say "version" for the slot's; at the top of what we print that word is the format's. */
static int rename_version(json_t *o) {
        return json_object_set(o, "slot_version", json_object_get(o, "version")) |
               json_object_set_new(o, "version", json_integer(1));
}

static int print_value(json_t *o, bool json) {
        int r;

        if (!json)
                return print_json(stdout, json_object_get(o, "value"));
        r = rename_version(o);
        return r < 0 ? -ENOMEM : print_json(stdout, o);
}

static int do_get(Txn *t, void *user, Diag *reterr) {
        Slot *a = user;

        return belief_slot_get(t, a->name, a->version, &a->o, reterr);
}

static int get(Slot *a) {
        int r = action_read(&a->in, do_get, a);

        if (r != EXIT_OK)
                return r;
        return print_value(a->o, a->in.o.json) < 0 ? cli_fail("slot", EXIT_NOT, "out of memory") : cli_done("slot", EXIT_OK);
}

static int do_list(Txn *t, void *user, Diag *reterr) {
        return belief_slot_list(t, &((Slot *)user)->list);
}

static int list(Slot *a) {
        int r = action_read(&a->in, do_list, a);
        json_t *o;
        size_t i;

        if (r != EXIT_OK)
                return r;
        if (a->in.o.json)
                return print_object(json_pack("{s:i, s:O}", "version", 1, "slots", a->list));
        json_array_foreach(a->list, i, o) {
                const char *held = json_text(json_object_get(json_object_get(o, "held"), "region"));

                const json_t *rule = json_object_get(o, "rule");

                printf("%-32s  version %-6" PRIu64 "%s%s", json_text(json_object_get(o, "slot")),
                       said_number(o, "version"), held ? "  held by region " : "", held ? held : "");
                if (rule)
                        printf("  %s: %" PRIu64 " of %" PRIu64 " gathered", json_text(json_object_get(rule, "rule")), said_number(o, "gathered"),
                               said_number(rule, "of"));
                putchar('\n');
        }
        return cli_done("slot", EXIT_OK);
}

static int do_decide(Txn *t, void *user, Diag *reterr) {
        Slot *a = user;

        return engine_slot_decide(t, action_who(), a->name, &a->seq, &a->verdict, reterr);
}

static int decide(Slot *a) {
        json_t *verdict;
        int r = action_write(&a->in, do_decide, a);

        if (r != EXIT_OK)
                return r;
        verdict = a->verdict;
        if (json_object_set_new(verdict, "seq", json_u64(a->seq)) < 0)
                return cli_fail("slot", EXIT_NOT, "out of memory");
        if (a->in.o.json) {
                r = rename_version(verdict);
                return r < 0 ? cli_fail("slot", EXIT_NOT, "out of memory") : print_object(json_incref(verdict));
        }
        if (json_is_null(json_object_get(verdict, "winner")))
                printf("nothing is taken for %s: %s (seq %" PRIu64 ")\n", a->name, said_text(verdict, "reason"), a->seq);
        else
                printf("%s is at version %" PRIu64 " (verdict at seq %" PRIu64 ")\n", a->name, said_number(verdict, "version") + 1, a->seq);
        return cli_done("slot", EXIT_OK);
}

/* All but values: what it is, what holds, and who has proposed what is not decided yet. */
static int do_show(Txn *t, void *user, Diag *reterr) {
        _cleanup_json_ json_t *waits = NULL;
        Slot *a = user;
        json_t *o;
        int r = belief_gathered(t, a->name, &waits, reterr);

        if (r == 0)
                r = belief_verdict_newest(t, a->name, &a->verdict, reterr);
        if (r == 0)
                r = belief_slot_list(t, &a->list);
        for (size_t i = 0; r == 0 && i < json_array_size(a->list); i++)
                if (strcmp(said_text(o = json_array_get(a->list, i), "slot"), a->name) == 0)
                        a->o = json_incref(o);
        if (r == 0 && (json_object_update(a->o, waits ? waits : a->o) < 0 || (waits && json_object_set(a->o, "verdict", a->verdict) < 0) ||
                       rename_version(a->o) < 0))
                r = -ENOMEM;
        return r;
}

static int show(Slot *a) {
        int r = action_read(&a->in, do_show, a);
        const json_t *o = a->o;

        if (r != EXIT_OK)
                return r;
        if (a->in.o.json)
                return print_object(TAKE_PTR(a->o));
        printf("%s\n  version  %" PRIu64 "\n  defined  seq %" PRIu64 "\n", a->name, said_number(o, "slot_version"), said_number(o, "defined"));
        if (json_object_get(o, "held"))
                printf("  held     by region %s, version %" PRIu64 "\n", said_text(json_object_get(o, "held"), "region"), said_number(json_object_get(o, "held"), "version"));
        if (!json_object_get(o, "verdict")) /* it has no rule */
                return cli_done("slot", EXIT_OK);
        r = print_waiting(o);
        if (!json_is_null(a->verdict))
                print_verdict(a->verdict);
        return r < 0 ? cli_fail("slot", EXIT_NOT, "out of memory") : cli_done("slot", EXIT_OK);
}

static int do_history(Txn *t, void *user, Diag *reterr) {
        Slot *a = user;
        int r = belief_slot_history(t, a->name, &a->list, reterr);

        return r == 0 ? belief_verdict_list(t, a->name, &a->verdict, reterr) : r;
}

static int history(Slot *a) {
        int r = action_read(&a->in, do_history, a);
        const json_t *verdicts = a->verdict;
        size_t next = 0, i;
        json_t *o;

        if (r != EXIT_OK)
                return r;
        if (a->in.o.json)
                return print_object(json_pack("{s:i, s:s, s:O, s:O}", "version", 1, "slot", a->name, "history", a->list, "verdicts", verdicts));
        json_array_foreach(a->list, i, o) {
                const char *region = json_text(json_object_get(o, "region")),
                           *who = json_text(json_object_get(o, "who"));

                for (; said_number(json_array_get(verdicts, next), "seq") < said_number(o, "seq") && next < json_array_size(verdicts); next++)
                        print_verdict(json_array_get(verdicts, next));
                printf("version %-6" PRIu64 " seq %-8" PRIu64 " %s  %s%s  %" PRIu64 " bytes  sha256 %s\n",
                       said_number(o, "version"), said_number(o, "seq"), json_text(json_object_get(o, "time")),
                       region ? "region " : "",
                       region ? region
                       : who  ? who
                              : "?",
                       said_number(o, "bytes"), json_text(json_object_get(o, "sha256")));
        }
        for (; next < json_array_size(verdicts); next++)
                print_verdict(json_array_get(verdicts, next));
        return cli_done("slot", EXIT_OK);
}

static volatile sig_atomic_t stopped;

static void stop(int sig) {
        stopped = sig;
}

/* Prints each version that came since *seen. */
static int print_since(Store *s, const Slot *a, uint64_t *seen, uint64_t *printed, Diag *reterr) {
        _cleanup_txn_ Txn *t = NULL;
        uint64_t version;
        int r = store_begin(s, false, &t, reterr);

        if (r == 0)
                r = belief_slot_version(t, a->name, &version, reterr);
        while (r == 0 && *seen < version && (a->count == 0 || *printed < a->count)) {
                _cleanup_json_ json_t *o = NULL;

                r = belief_slot_get(t, a->name, *seen + 1, &o, reterr);
                if (r == 0)
                        r = print_value(o, a->in.o.json);
                ++*seen;
                ++*printed;
        }
        return r;
}

static int watch(Slot *a) {
        struct sigaction sa = {.sa_handler = stop};
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
        while (r == 0 && !stopped && (a->count == 0 || printed < a->count)) {
                struct pollfd gone = {.fd = STDOUT_FILENO};

                r = print_since(s, a, &seen, &printed, &d);
                if (fflush(stdout) != 0 || ferror(stdout))
                        break;
                if ((a->count == 0 || printed < a->count) && poll(&gone, 1, WATCH_USEC / 1000) > 0 &&
                    (gone.revents & (POLLERR | POLLHUP)))
                        break; /* nobody reads any more */
        }
        return r != 0 ? action_failed(&a->in, s, r, &d) : stopped ? EXIT_OK : cli_done("slot", EXIT_OK);
}

static const struct SlotAction {
        const char *name;
        int (*fn)(Slot *a);
        int n_least, n_most; /* arguments behind its name */
} actions[] = {
        {"define", define, 1, 1}, {"put", put, 2, 2},         {"get", get, 1, 1},
        {"list", list, 0, 0},     {"history", history, 1, 1}, {"watch", watch, 1, 1}, {"show", show, 1, 1}, {"decide", decide, 1, 1},
};

int cmd_slot(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,
                                                {"schema", required_argument, NULL, 'S'},
                                                {"arbitrate", required_argument, NULL, 'R'},
                                                {"expect", required_argument, NULL, 'e'},
                                                {"version", required_argument, NULL, 'v'},
                                                {"count", required_argument, NULL, 'n'},
                                                {0}};
        Slot a = {.in.verb = "slot", .expect = -1};
        uint64_t v;
        int opt, n, r;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0)
                switch (opt) {
                case 'h':
                        fputs(help, stdout);
                        return cli_done("slot", EXIT_OK);
                case 'S':
                        a.schema = optarg;
                        break;
                case 'R':
                        a.rule = optarg;
                        break;
                case 'e':
                        if (count_parse(optarg, &v) < 0)
                                return cli_usage("slot", "--expect '%s' is not a version's number", optarg);
                        a.expect = (int64_t)v;
                        break;
                case 'v':
                        if (count_parse(optarg, &a.version) < 0 || a.version == 0)
                                return cli_usage("slot", "--version '%s' is not a version's number", optarg);
                        break;
                case 'n':
                        if (count_parse(optarg, &a.count) < 0 || a.count == 0)
                                return cli_usage("slot", "--count '%s': must be a whole number from 1", optarg);
                        break;
                default:
                        if (!store_option(&a.in.o, opt, optarg))
                                return store_option_wrong(argv);
                }
        if (optind == argc)
                return cli_usage("slot", "define, put, get, list, show, history, decide or watch?");
        n = argc - optind - 1;
        a.name = n > 0 ? argv[optind + 1] : NULL;
        a.value = n > 1 ? argv[optind + 2] : NULL;
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                if (strcmp(argv[optind], actions[i].name) == 0) {
                        if (n < actions[i].n_least || n > actions[i].n_most)
                                return cli_usage("slot", "%s takes %d argument%s, not %d", actions[i].name,
                                                 actions[i].n_least, actions[i].n_least == 1 ? "" : "s", n);
                        a.in.action = actions[i].name;
                        a.in.o.must_exist = actions[i].fn != define;
                        r = actions[i].fn(&a);
                        json_decref(a.o);
                        json_decref(a.list);
                        json_decref(a.verdict);
                        return r;
                }
        return cli_usage("slot", "'%s' is none of define, put, get, list, show, history, decide, watch", argv[optind]);
}
