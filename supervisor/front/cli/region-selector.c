#include "cli/region-selector.h"

#include "belief/region-events.h"
#include "cli/with-store.h"
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SELECTOR_SHOWN 8 /* candidates that a message lists */

typedef struct SelectorFound {
        RegionId named, begins[SELECTOR_SHOWN]; /* "": none; begins: the newest regions with the given beginning */
        uint64_t n_begins;
} SelectorFound;

int selector_argument(const char *verb, RegionSelector *selector, int argc, char **argv) {
        if (selector->last && optind < argc)
                return cli_usage(verb, "'%s' and --last both name a region", argv[optind]);
        if (!selector->last && optind + 1 != argc)
                return cli_usage(verb, optind < argc ? "give a single region"
                                       : selector->alive ? "REGION is missing; --last is the youngest living region"
                                                     : "REGION is missing; --last is the region that ended last");
        if (!selector->last)
                selector->text = argv[optind];
        return selector_option(verb, selector);
}

int selector_option(const char *verb, const RegionSelector *selector) {
        if (selector->last && selector->text)
                return cli_usage(verb, "--region and --last both name a region");
        if (selector->text && !region_id_valid(selector->text) && !scope_name_valid(selector->text))
                return cli_usage(
                        verb,
                        "'%s' is neither a region's id (%d characters of 0-9 a-z), nor the beginning of an id, nor a name (--name)",
                        selector->text, REGION_ID_LEN);
        return EXIT_OK;
}

static bool selector_is_alive(const RegionRow *rows, size_t n, const char *id) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(rows[i].region, id) == 0)
                        return true;
        return false;
}

/* The region's first event. NULL without an event, or when the event cannot be read. */
static json_t *selector_first(Txn *t, const char *id) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        json_t *o = NULL;
        uint64_t seq;
        Bytes e;

        return region_events(t, id, &w) == 0 && region_events_next(&w, &seq, &e, &o) == 0 ? o : NULL;
}

static bool selector_has_parent(Txn *t, const char *id) {
        _cleanup_json_ json_t *o = selector_first(t, id);

        return json_text_is(json_object_get(o, "tier"), "session") ||
               (json_object_get(o, "parent") && !json_object_get(o, "session"));
}

/* The living region with the latest request. Regions that a daemon keeps ready come last. */
static void selector_youngest(Txn *t, const RegionRow *rows, size_t n, char ret[static REGION_ID_MAX]) {
        for (size_t i = n; i > 0; i--) {
                _cleanup_json_ json_t *o = selector_first(t, rows[i - 1].region);
                const json_t *program = json_object_get(json_object_get(o, "grant"), "program");

                if (json_text_is(json_object_get(o, "tier"), "session") ||
                    (json_object_get(o, "parent") && !json_object_get(o, "session")))
                        continue;
                if (program || !*ret)
                        strcpy(ret, rows[i - 1].region);
                if (program)
                        return;
        }
}

/* Parses an entry of one of two types about a region. *ret_region: borrowed from *ret; NULL: no such entry. */
static int selector_entry(Bytes e, const char *type, const char *or_type, json_t **ret, const char **ret_region) {
        const char *is;
        int r;

        *ret_region = NULL;
        if (!memmem(e.p, e.n, type, strlen(type)) && !memmem(e.p, e.n, or_type, strlen(or_type)))
                return 0;
        r = json_parse_own(e.p, e.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, ret);
        is = cli_text(*ret, "type");
        if (r == 0 && is && (strcmp(is, type) == 0 || strcmp(is, or_type) == 0)) {
                *ret_region = cli_text(*ret, "region");
                if (*ret_region && !region_id_valid(*ret_region))
                        *ret_region = NULL;
        }
        return r > 0 ? -EUCLEAN : r;
}

/* Tells whether a daemon recorded the region ahead of a request and no request came. Such a region has no program
 * and never ran, and ends after regions that ran. */
static bool selector_was_never_taken(Txn *t, const json_t *ended, const char *id) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        bool taken = !json_text_is(json_object_get(ended, "outcome"), "cancelled");
        int r = taken ? 0 : region_events(t, id, &w);

        while (r == 0 && !taken) {
                _cleanup_json_ json_t *o = NULL;
                uint64_t seq, wall = 1;
                Bytes e;

                r = region_events_next(&w, &seq, &e, &o);
                if (r != 0)
                        break;
                if (json_text_is(json_object_get(o, "type"), "region.allocated"))
                        taken = cli_text(json_object_get(o, "grant"), "program");
                else if (json_text_is(json_object_get(o, "type"), "region.released"))
                        return json_get_u64(json_object_get(json_object_get(o, "usage"), "wall_usec"), &wall) == 0 &&
                               wall == 0;
        }
        return false;
}

/* From the newest entry back. */
static int selector_last(Txn *t, char ret[static REGION_ID_MAX]) {
        uint64_t size;
        int r = ledger_state(t, &size, NULL);

        while (r == 0 && size-- > 0) {
                _cleanup_json_ json_t *o = NULL;
                const char *region;
                Bytes e;

                r = ledger_get(t, size, &e) ?: selector_entry(e, "invocation.ended", "region.refused", &o, &region);
                if (r < 0 || !region || selector_has_parent(t, region) || selector_was_never_taken(t, o, region))
                        continue;
                strcpy(ret, region);
                return 0;
        }
        return r;
}

static void selector_take(SelectorFound *f, const char *text, const char *id, const char *name) {
        if (name && strcmp(name, text) == 0)
                strcpy(f->named, id);
        if (strncmp(id, text, strlen(text)) == 0)
                strcpy(f->begins[f->n_begins++ % SELECTOR_SHOWN], id);
}

/* rows: the living regions; with selector->alive no other region counts. */
static int selector_search(Txn *t, const RegionSelector *selector, const RegionRow *rows, size_t n,
                           SelectorFound *ret) {
        _cleanup_walk_ LedgerWalk w = {0};
        uint64_t size, seq;
        int r = ledger_state(t, &size, NULL) ?: ledger_walk(t, 0, &w);

        for (uint64_t i = 0; r == 0 && i < size; i++) {
                _cleanup_json_ json_t *o = NULL;
                const char *region;
                Bytes e;

                r = ledger_next(&w, &seq, &e) ?: selector_entry(e, "region.allocated", "region.refused", &o, &region);
                if (r == 0 && region && (!selector->alive || selector_is_alive(rows, n, region)))
                        selector_take(ret, selector->text, region, cli_text(json_object_get(o, "grant") ?: o, "name"));
        }
        return r;
}

static int selector_ambiguous(const char *verb, const char *text, const SelectorFound *f) {
        char list[SELECTOR_SHOWN * (REGION_ID_LEN + 2) + 1] = "", more[48] = "";
        size_t n = MIN(f->n_begins, (uint64_t)SELECTOR_SHOWN), o = 0;

        for (size_t i = 0; i < n; i++)
                o += (size_t)snprintf(list + o, sizeof(list) - o, "%s%s", i ? ", " : "",
                                      f->begins[(f->n_begins - n + i) % SELECTOR_SHOWN]);
        if (f->n_begins > n)
                snprintf(more, sizeof(more), ", and %" PRIu64 " older ones", f->n_begins - n);
        return cli_refuse(verb, EXIT_USAGE, "ambiguous", "'%s' is the beginning of %" PRIu64 " regions: %s%s", text,
                          f->n_begins, list, more);
}

static int selector_find(const char *verb, Store *s, const RegionSelector *selector, char ret[static REGION_ID_MAX]) {
        _cleanup_txn_ Txn *t = NULL;
        SelectorFound f = {0};
        RegionRow *rows = NULL;
        size_t n = 0;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d);

        *ret = 0;
        if (r == 0 && selector->alive)
                r = engine_region_list(t, &rows, &n);
        if (r == 0 && selector->last && selector->alive)
                selector_youngest(t, rows, n, ret);
        else if (r == 0)
                r = selector->last ? selector_last(t, ret) : selector_search(t, selector, rows, n, &f);
        region_rows_free(rows, n);
        if (r != 0)
                return with_store_failed(verb, s, r, &d);
        if (!selector->last && !*f.named && f.n_begins > 1)
                return selector_ambiguous(verb, selector->text, &f);
        if (!selector->last)
                strcpy(ret, *f.named ? f.named : f.begins[0]);
        if (*ret)
                return EXIT_OK;
        if (selector->last)
                return cli_refuse(verb, EXIT_NOT, "no_record", "%s",
                                  selector->alive ? "no region is alive in the store"
                                                  : "no region has ended in the store");
        return cli_refuse(verb, EXIT_NOT, "no_record",
                          "'%s' is neither the name nor the beginning of the id of a region %s%s", selector->text,
                          selector->alive ? "that is alive in the store" : "in the store's ledger",
                          selector->runs ? ", nor the id of a run of notes, which `lethe note runs` shows" : "");
}

int selector_region(const char *verb, Store *s, const RegionSelector *selector, char ret[static REGION_ID_MAX]) {
        if (selector->last || !region_id_valid(selector->text))
                return selector_find(verb, s, selector, ret);
        strcpy(ret, selector->text);
        return EXIT_OK;
}
