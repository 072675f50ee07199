/* Runs: CLI. */
#include "base/size.h"
#include "belief/region-events.h"
#include "cli/region-selector.h"
#include "cli/with-store.h"
#include "record/rows.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

static const char help[] = "Usage: lethe log [OPTIONS]\n\n"
                           "Prints the ledger's entries, oldest first: number, time, type, region, and the other members of\n"
                           "the entry.\n\n" HELP_STORE "  --region REGION   only events of the region: its id, the beginning of an id, or a name\n" HELP_LAST
                           "  --type TYPE       only events of the type, such as slot.written; may be given several times\n"
                           "  --since SEQ       from entry SEQ on\n"
                           "  -f, --follow      goes on as entries are appended, until interrupted\n"
                           "  --json            each line is the entry as recorded, with seq added\n"
                           "  -h, --help        print the help\n";

#define FOLLOW_USEC 100000 /* interval of --follow */
#define TYPES_MAX 16
#define LOG_E_NO_REGION 1

typedef struct LogFilter {
        const char *region;
        const char *types[TYPES_MAX];
        size_t n_types;
        bool json;
} LogFilter;

/* An entry with a member `key` of the value at the top must contain the needle: the search rejects most entries
 * without parsing. */
static bool log_mentions(Bytes e, const char *key, const char *value) {
        char needle[256];
        int n = snprintf(needle, sizeof(needle), "\"%s\":\"%s\"", key, value);

        return n < (int)sizeof(needle) && memmem(e.p, e.n, needle, (size_t)n);
}

static bool log_wants_type(const LogFilter *f, Bytes e, const json_t *o) {
        bool any = f->n_types == 0;

        for (size_t i = 0; i < f->n_types && !any; i++)
                any = o ? json_text_is(json_object_get(o, "type"), f->types[i]) : log_mentions(e, "type", f->types[i]);
        return any;
}

/* Adds the fields of an entry from its body; fields too large for the ledger stand there. */
static int log_add_fields(Txn *t, uint64_t seq, json_t *o) {
        _cleanup_json_ json_t *fields = NULL;
        Bytes body;
        int r;

        if (!json_text_is(json_object_get(o, "fields"), "body"))
                return 0;
        r = body_get(t, seq, NULL, &body);
        if (r == -ENOENT)
                return 0; /* erased since */
        if (r == 0)
                r = json_parse(body.p, body.n, 1UL << 26, 2 * JSON_DEPTH_DEFAULT, &fields, NULL);
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        return json_object_update_missing(o, fields) < 0 ? -ENOMEM : 0;
}

/* parsed: the entry as JSON, taken; or NULL. */
static int log_show(Txn *t, const LogFilter *f, uint64_t seq, Bytes e, json_t *parsed) {
        _cleanup_json_ json_t *o = parsed;
        _cleanup_free_ char *rest = NULL;
        const char *region;
        size_t n;
        int r;

        if (!o && !log_wants_type(f, e, NULL))
                return 0;
        r = o ? 0 : json_parse_own(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o);
        if (r == 0 && !json_is_object(o))
                r = -EUCLEAN;
        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        if (!log_wants_type(f, e, o))
                return 0;
        r = log_add_fields(t, seq, o);
        if (r < 0)
                return r;
        if (f->json) {
                if (json_object_set_new(o, "seq", json_u64(seq)) < 0)
                        return -ENOMEM;
                return cli_print_item(TAKE_PTR(o));
        }
        region = cli_text(o, "region");
        printf("%8" PRIu64 "  %s  %-26s  %-18s", seq, cli_text(o, "time"),
               region ? region : "-", cli_text(o, "type"));
        json_object_del(o, "time");
        json_object_del(o, "type");
        json_object_del(o, "region");
        r = json_canonical(o, &rest, &n);
        if (r < 0)
                return r;
        printf("  ");
        print_safe(stdout, rest, n);
        putchar('\n');
        return 0;
}

static int log_no_region(const char *region, Diag *reterr) {
        return diag(reterr, LOG_E_NO_REGION, "region %s is not in this store's ledger", region);
}

/* Prints the region's entries from *next on. */
static int log_print_region(Txn *t, const LogFilter *f, uint64_t *next, Diag *reterr) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        int r = region_events(t, f->region, &w);

        if (r == REGION_EVENTS_E_NONE)
                return log_no_region(f->region, reterr);
        while (r == 0 && !ferror(stdout)) {
                _cleanup_json_ json_t *o = NULL;
                uint64_t seq;
                Bytes e;

                r = region_events_next(&w, &seq, &e, &o);
                if (r == 0 && seq >= *next) {
                        r = log_show(t, f, seq, e, TAKE_PTR(o));
                        *next = seq + 1;
                }
        }
        return r == -ENOENT ? 0 : r;
}

/* Prints the entries from *next on. */
static int log_print_from(Store *s, const LogFilter *f, uint64_t *next, Diag *reterr) {
        _cleanup_walk_ LedgerWalk w = {0};
        _cleanup_txn_ Txn *t = NULL;
        uint64_t size, seq;
        Bytes e;
        int r = store_begin(s, false, &t, reterr);

        if (r != 0)
                return r;
        if (f->region)
                return log_print_region(t, f, next, reterr);
        r = ledger_state(t, &size, NULL);
        if (r < 0 || size <= *next)
                return r;
        r = ledger_walk(t, *next, &w);
        while (r == 0 && *next < size && !ferror(stdout)) {
                r = ledger_next(&w, &seq, &e) ?: log_show(t, f, seq, e, NULL);
                if (r == 0)
                        *next = seq + 1;
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

static volatile sig_atomic_t log_stopped;

static void log_stop(int sig) {
        log_stopped = sig;
}

static int log_follow(Store *s, const LogFilter *f, uint64_t *next, Diag *reterr) {
        struct sigaction sa = {.sa_handler = log_stop};

        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
        while (!log_stopped && !ferror(stdout)) {
                struct pollfd gone = {.fd = STDOUT_FILENO};
                int r = log_print_from(s, f, next, reterr);

                if (r != 0)
                        return r;
                if (fflush(stdout) != 0)
                        return 0;
                if (poll(&gone, 1, FOLLOW_USEC / 1000) > 0 && (gone.revents & (POLLERR | POLLHUP)))
                        return 0; /* the reader of the pipe is gone */
        }
        return 0;
}

int cmd_log(int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_STORE,        OPTION("region", 'r'),      OPTION_LAST, OPTION("type", 't'),
                OPTION("since", 'S'), OPTION_FLAG("follow", 'f'), {0}};
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {.help = help, .no_arguments = true, .letters = ":hf"};
        LogFilter f = {0};
        RegionId region;
        RegionSelector selector;
        bool go_on;
        uint64_t next = 0;
        Diag d = {0};
        int r, opt;

        while ((opt = store_next_option(&o, argc, argv, options)) > 0) {
                o.value[opt] = optarg ?: "";
                if (opt == 't' && f.n_types == TYPES_MAX)
                        return cli_usage("log", "--type may be given %d times", TYPES_MAX);
                if (opt == 't')
                        f.types[f.n_types++] = optarg;
        }
        if (opt < 0)
                return o.code;
        if (o.value['S'] && count_parse(o.value['S'], &next) < 0)
                return cli_usage("log", "--since '%s' is not an entry's number", o.value['S']);
        f.json = o.json;
        go_on = o.value['f'];
        selector = (RegionSelector){.text = o.value['r'], .last = o.value['L']};
        r = selector_option("log", &selector) ?: with_store("log", &o, STORE_READ, &s);
        if (r == EXIT_OK && (selector.last || selector.text)) {
                r = selector_region("log", s, &selector, region);
                f.region = region;
        }
        if (r != EXIT_OK)
                return r;
        r = go_on ? log_follow(s, &f, &next, &d) : log_print_from(s, &f, &next, &d);
        if (r != 0)
                return with_store_failed("log", s, r, &d);
        return go_on && log_stopped ? EXIT_OK : cli_done("log", EXIT_OK);
}
