/* Runs: CLI. */
#include "base/id.h"
#include "base/size.h"
#include "belief/region-events.h"
#include "cli/region-selector.h"
#include "cli/with-store.h"
#include "record/rows.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char help[] = "Usage: lethe log [OPTIONS]\n\n"
                           "Prints the ledger's entries, oldest first: number, time, type, region, and the other members of\n"
                           "the entry.\n\n" HELP_STORE "  --region REGION   only events of the region: its id, the beginning of an id, or a name\n" HELP_LAST
                           "  --session SESSION only events of the session and of its turns\n"
                           "  --type TYPE       only events of the type, such as slot.written; may be given several times\n"
                           "  --since SEQ       from entry SEQ on\n"
                           "  -f, --follow      goes on as entries are appended, until interrupted\n"
                           "  --json            each line is the entry as recorded, with seq added\n"
                           "  -h, --help        print the help\n";

#define TYPES_MAX 16
#define LOG_E_NO_REGION 1

typedef struct LogCall {
        const char *region, *session;
        const char *types[TYPES_MAX];
        size_t n_types;
        json_t *turns; /* of the session: object region -> true; owned */
        bool json;
        Store *store;
        uint64_t next; /* the first entry that was not read yet */
        Diag d;
} LogCall;

/* An entry with a member `key` of the value at the top must contain the needle: the search rejects most entries
 * without parsing. */
static bool log_mentions(Bytes e, const char *key, const char *value) {
        char needle[256];
        int n = snprintf(needle, sizeof(needle), "\"%s\":\"%s\"", key, value);

        return n < (int)sizeof(needle) && memmem(e.p, e.n, needle, (size_t)n);
}

/* An event of the session's region, an event that names the session, or an event of a region that is a turn. */
static bool log_is_of_session(LogCall *f, Bytes e) {
        _cleanup_json_ json_t *o = NULL;
        const char *region;

        if (!f->session)
                return true;
        if (log_mentions(e, "region", f->session) || log_mentions(e, "session", f->session)) {
                if (log_mentions(e, "type", "region.allocated") &&
                    json_parse_own(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o) == 0 &&
                    (region = cli_text(o, "region")))
                        json_object_set_new(f->turns, region, json_true());
                return true;
        }
        if (json_object_size(f->turns) == 0 || json_parse_own(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o) != 0)
                return false;
        region = cli_text(o, "region");
        if (cli_text(o, "parent") && json_object_get(f->turns, cli_text(o, "parent")) && region)
                json_object_set_new(f->turns, region, json_true()); /* a sub-skill of a turn */
        return region && json_object_get(f->turns, region);
}

static bool log_wants_type(const LogCall *f, Bytes e, const json_t *o) {
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
static int log_show(Txn *t, const LogCall *f, uint64_t seq, Bytes e, json_t *parsed) {
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

/* Prints the region's entries from f->next on. */
static int log_print_region(Txn *t, LogCall *f) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        int r = region_events(t, f->region, &w);

        w.beyond_end = true; /* its layer may have been applied */
        if (r == REGION_EVENTS_E_NONE)
                return diag(&f->d, LOG_E_NO_REGION, "region %s is not in this store's ledger", f->region);
        while (r == 0 && !ferror(stdout)) {
                _cleanup_json_ json_t *o = NULL;
                uint64_t seq;
                Bytes e;

                r = region_events_next(&w, &seq, &e, &o);
                if (r == 0 && seq >= f->next) {
                        r = log_show(t, f, seq, e, TAKE_PTR(o));
                        f->next = seq + 1;
                }
        }
        return r == -ENOENT ? 0 : r;
}

/* Prints the entries from f->next on. */
static int log_print_new(void *userdata, bool *ret_end) {
        LogCall *f = userdata;
        _cleanup_walk_ LedgerWalk w = {0};
        _cleanup_txn_ Txn *t = NULL;
        uint64_t size, seq;
        Bytes e;
        int r = store_begin(f->store, false, &t, &f->d);

        if (r != 0)
                return r;
        if (f->region)
                return log_print_region(t, f);
        r = ledger_state(t, &size, NULL);
        if (r < 0 || size <= f->next)
                return r;
        r = ledger_walk(t, f->next, &w);
        while (r == 0 && f->next < size && !ferror(stdout)) {
                r = ledger_next(&w, &seq, &e);
                if (r == 0 && log_is_of_session(f, e))
                        r = log_show(t, f, seq, e, NULL);
                if (r == 0)
                        f->next = seq + 1;
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

int cmd_log(int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_STORE,        OPTION("region", 'r'),      OPTION_LAST, OPTION("type", 't'),
                OPTION("since", 'S'), OPTION("session", 'N'), OPTION_FLAG("follow", 'f'), {0}};
        _cleanup_store_ Store *s = NULL;
        StoreOptions o = {.help = help, .no_arguments = true, .letters = ":hf"};
        LogCall f = {0};
        RegionId region;
        RegionSelector selector;
        int r, opt, code;

        while ((opt = store_next_option(&o, argc, argv, options)) > 0) {
                o.value[opt] = optarg ?: "";
                if (opt == 't' && f.n_types == TYPES_MAX)
                        return cli_usage("log", "--type may be given %d times", TYPES_MAX);
                if (opt == 't')
                        f.types[f.n_types++] = optarg;
        }
        if (opt < 0)
                return o.code;
        if (o.value['S'] && count_parse(o.value['S'], &f.next) < 0)
                return cli_usage("log", "--since '%s' is not an entry's number", o.value['S']);
        f.json = o.json;
        f.session = o.value['N'];
        if (f.session && (o.value['r'] || o.value['L'] || !region_id_valid(f.session)))
                return cli_usage("log", "--session takes a session's id, and does not go with --region or --last");
        if (f.session)
                f.turns = json_object();
        selector = (RegionSelector){.text = o.value['r'], .last = o.value['L']};
        r = selector_option("log", &selector) ?: with_store("log", &o, STORE_READ, &s);
        if (r == EXIT_OK && (selector.last || selector.text)) {
                r = selector_region("log", s, &selector, region);
                f.region = region;
        }
        if (r != EXIT_OK)
                return r;
        f.store = s;
        r = o.value['f'] ? cli_follow("log", log_print_new, &f, &code) : log_print_new(&f, NULL);
        if (r != 0)
                return with_store_failed("log", s, r, &f.d);
        return o.value['f'] ? code : cli_done("log", EXIT_OK);
}
