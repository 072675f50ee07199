/* Runs: CLI. */
#include "base/io.h"
#include "base/size.h"
#include "canon/slot-view.h"
#include "cli/with-store.h"
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
        "Usage: lethe slot define NAME --schema FILE|-\n"
        "       lethe slot put NAME VALUE|- [--expect VERSION]\n"
        "       lethe slot get NAME [--version VERSION]\n"
        "       lethe slot list\n"
        "       lethe slot history NAME\n"
        "       lethe slot watch NAME [--count N]\n\n"
        "Slots are what persists: named values, each typed by a JSON Schema, with every version kept.\n"
        "VALUE is JSON (a string needs its quotes: '\"text\"'; put -- before a negative number);\n"
        "- reads standard input. put with --expect "
        "writes only over that version (0: none yet). watch prints each new version as it is written.\n\n" HELP_STORE
        "  --json            objects with all that is known\n"
        "  -h, --help        this text\n";

#define WATCH_USEC 100000

typedef struct Slot {
        StoreOptions o;
        const char *name, *value, *schema;
        int64_t expect;
        uint64_t version, count;
} Slot;

/* The text of `arg`, or of standard input, or of a file, as JSON. Returns EXIT_*. */
static int read_json(const char *what, const char *arg, bool is_file, unsigned depth, json_t **ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        Diag d = {0};
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
        if (r == -EFBIG)
                return cli_fail("slot", EXIT_NOT, "%s: more than %d bytes", what, SLOT_VALUE_MAX);
        if (r < 0)
                return cli_fail("slot", EXIT_NOT, "%s %s cannot be read: %s", what, arg, strerror(-r));
        r = json_parse(text, n, SLOT_VALUE_MAX, depth, ret, &d);
        if (r > 0)
                return cli_fail("slot", EXIT_NOT, "%s is not JSON: %s%s", what, d.text,
                                is_file || strcmp(arg, "-") == 0 ? "" : " (a string needs quotes: '\"text\"')");
        return r < 0 ? cli_fail("slot", EXIT_NOT, "%s: %s", what, strerror(-r)) : EXIT_OK;
}

/* Prints one object (stolen) of a verb that ended well. */
static int print_object(Store *s, json_t *o) {
        Diag d = {0};
        int r = print_json(stdout, o);

        json_decref(o);
        return r < 0 ? with_store_failed("slot", s, r, &d) : cli_done("slot", EXIT_OK);
}

static int define(Slot *a) {
        _cleanup_json_ json_t *schema = NULL;
        _cleanup_store_ Store *s = NULL;
        Txn *t;
        uint64_t seq;
        char who[32];
        Diag d = {0};
        int r;

        if (!a->schema)
                return cli_usage("slot", "define needs --schema FILE");
        r = read_json("the schema", a->schema, true, JSONSCHEMA_DEPTH_MAX, &schema);
        if (r == EXIT_OK)
                r = with_store("slot", &a->o, STORE_WRITE, &s);
        if (r != EXIT_OK)
                return r;
        snprintf(who, sizeof(who), "uid:%u", (unsigned)getuid());
        r = store_begin(s, true, &t, &d);
        if (r != 0)
                return with_store_failed("slot", s, r, &d);
        r = engine_slot_define(t, who, NULL, a->name, schema, &seq, &d);
        if (r != 0) {
                store_abort(t);
                return with_store_failed("slot", s, r, &d);
        }
        r = store_commit(t, &d);
        if (r != 0)
                return with_store_failed("slot", s, r, &d);
        if (!a->o.json) {
                printf("%s is defined (seq %" PRIu64 ")\n", a->name, seq);
                return cli_done("slot", EXIT_OK);
        }
        return print_object(s, json_pack("{s:i, s:s, s:o}", "version", 1, "slot", a->name, "seq", json_u64(seq)));
}

static int put(Slot *a) {
        _cleanup_json_ json_t *value = NULL;
        _cleanup_store_ Store *s = NULL;
        Txn *t;
        uint64_t seq, version;
        char who[32];
        Diag d = {0}, d_commit = {0};
        int r, c;

        if (!a->value)
                return cli_usage("slot", "put needs a value");
        r = read_json("the value", a->value, false, JSON_DEPTH_DEFAULT, &value);
        if (r == EXIT_OK)
                r = with_store("slot", &a->o, STORE_WRITE, &s);
        if (r != EXIT_OK)
                return r;
        snprintf(who, sizeof(who), "uid:%u", (unsigned)getuid());
        r = store_begin(s, true, &t, &d);
        if (r != 0)
                return with_store_failed("slot", s, r, &d);
        r = engine_slot_put(t, who, a->name, value, a->expect, &seq, &version, &d);
        if (r < 0) {
                store_abort(t);
                return with_store_failed("slot", s, r, &d);
        }
        c = store_commit(t, &d_commit); /* a refusal is recorded, too */
        if (c != 0)
                return with_store_failed("slot", s, c, &d_commit);
        if (r > 0)
                return with_store_failed("slot", s, r, &d);
        if (!a->o.json) {
                printf("%s is at version %" PRIu64 " (seq %" PRIu64 ")\n", a->name, version, seq);
                return cli_done("slot", EXIT_OK);
        }
        return print_object(s, json_pack("{s:i, s:s, s:o, s:o}", "version", 1, "slot", a->name, "slot_version",
                                         json_u64(version), "seq", json_u64(seq)));
}

/* canon/'s objects say "version" for the slot's; at the top of what we print that word is the format's. */
static int rename_version(json_t *o) {
        return json_object_set(o, "slot_version", json_object_get(o, "version")) |
               json_object_set_new(o, "version", json_integer(1));
}

static int print_value(Store *s, json_t *o, bool json) {
        int r;

        if (!json)
                return print_json(stdout, json_object_get(o, "value"));
        r = rename_version(o);
        return r < 0 ? -ENOMEM : print_json(stdout, o);
}

static int get(Slot *a) {
        _cleanup_json_ json_t *o = NULL;
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        int r = with_store("slot", &a->o, STORE_READ, &s);

        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = canon_slot_get(t, a->name, a->version, &o, &d);
        if (r == 0)
                r = print_value(s, o, a->o.json);
        return r != 0 ? with_store_failed("slot", s, r, &d) : cli_done("slot", EXIT_OK);
}

static uint64_t number(const json_t *o, const char *key) {
        uint64_t v = 0;

        json_get_u64(json_object_get(o, key), &v);
        return v;
}

static int list(Slot *a) {
        _cleanup_json_ json_t *l = NULL;
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        json_t *o;
        size_t i;
        int r = with_store("slot", &a->o, STORE_READ, &s);

        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = canon_slot_list(t, &l);
        if (r != 0)
                return with_store_failed("slot", s, r, &d);
        if (a->o.json)
                return print_object(s, json_pack("{s:i, s:O}", "version", 1, "slots", l));
        json_array_foreach(l, i, o) {
                const char *held = json_string_value(json_object_get(json_object_get(o, "held"), "region"));

                printf("%-32s  version %-6" PRIu64 "%s%s\n", json_string_value(json_object_get(o, "slot")),
                       number(o, "version"), held ? "  held by region " : "", held ? held : "");
        }
        return cli_done("slot", EXIT_OK);
}

static int history(Slot *a) {
        _cleanup_json_ json_t *l = NULL;
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        Diag d = {0};
        json_t *o;
        size_t i;
        int r = with_store("slot", &a->o, STORE_READ, &s);

        if (r != EXIT_OK)
                return r;
        r = store_begin(s, false, &t, &d);
        if (r == 0)
                r = canon_slot_history(t, a->name, &l, &d);
        if (r != 0)
                return with_store_failed("slot", s, r, &d);
        if (a->o.json)
                return print_object(s, json_pack("{s:i, s:s, s:O}", "version", 1, "slot", a->name, "history", l));
        json_array_foreach(l, i, o) {
                const char *region = json_string_value(json_object_get(o, "region")),
                           *who = json_string_value(json_object_get(o, "who"));

                printf("version %-6" PRIu64 " seq %-8" PRIu64 " %s  %s%s  %" PRIu64 " bytes  sha256 %s\n",
                       number(o, "version"), number(o, "seq"), json_string_value(json_object_get(o, "time")),
                       region ? "region " : "",
                       region ? region
                       : who  ? who
                              : "?",
                       number(o, "bytes"), json_string_value(json_object_get(o, "sha256")));
        }
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
                r = canon_slot_version(t, a->name, &version, reterr);
        while (r == 0 && *seen < version && (a->count == 0 || *printed < a->count)) {
                _cleanup_json_ json_t *o = NULL;

                r = canon_slot_get(t, a->name, *seen + 1, &o, reterr);
                if (r == 0)
                        r = print_value(s, o, a->o.json);
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
        int r = with_store("slot", &a->o, STORE_READ, &s);

        if (r != EXIT_OK)
                return r;
        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
        r = store_begin(s, false, &t, &d);
        if (r == 0) {
                r = canon_slot_version(t, a->name, &seen, &d);
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
        return r != 0 ? with_store_failed("slot", s, r, &d) : stopped ? EXIT_OK : cli_done("slot", EXIT_OK);
}

static const struct Action {
        const char *name;
        int (*fn)(Slot *a);
        int n_least, n_most; /* arguments behind its name */
} actions[] = {
        {"define", define, 1, 1}, {"put", put, 2, 2},         {"get", get, 1, 1},
        {"list", list, 0, 0},     {"history", history, 1, 1}, {"watch", watch, 1, 1},
};

int cmd_slot(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,
                                                {"schema", required_argument, NULL, 'S'},
                                                {"expect", required_argument, NULL, 'e'},
                                                {"version", required_argument, NULL, 'v'},
                                                {"count", required_argument, NULL, 'n'},
                                                {0}};
        Slot a = {.expect = -1};
        uint64_t v;
        int opt, n;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0)
                switch (opt) {
                case 'h':
                        fputs(help, stdout);
                        return cli_done("slot", EXIT_OK);
                case 'S':
                        a.schema = optarg;
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
                        if (!store_option(&a.o, opt, optarg))
                                return store_option_wrong(argv);
                }
        if (optind == argc)
                return cli_usage("slot", "define, put, get, list, history or watch?");
        n = argc - optind - 1;
        a.name = n > 0 ? argv[optind + 1] : NULL;
        a.value = n > 1 ? argv[optind + 2] : NULL;
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                if (strcmp(argv[optind], actions[i].name) == 0) {
                        if (n < actions[i].n_least || n > actions[i].n_most)
                                return cli_usage("slot", "%s takes %d argument%s, not %d", actions[i].name,
                                                 actions[i].n_least, actions[i].n_least == 1 ? "" : "s", n);
                        return actions[i].fn(&a);
                }
        return cli_usage("slot", "'%s' is none of define, put, get, list, history, watch", argv[optind]);
}
