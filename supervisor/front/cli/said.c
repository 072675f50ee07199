#include "cli/said.h"

#include "belief/region-events.h"
#include "cli/with-store.h"
#include "engine/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SAID_SHOWN 8 /* candidates that a message lists */

typedef struct SaidFound {
        RegionId named, begins[SAID_SHOWN]; /* "": none; begins: the newest regions with the given beginning */
        uint64_t n_begins;
} SaidFound;

int said_argument(const char *verb, Said *said, int argc, char **argv) {
        if (said->last && optind < argc)
                return cli_usage(verb, "'%s' and --last both name a region", argv[optind]);
        if (!said->last && optind + 1 != argc)
                return cli_usage(verb, optind < argc ? "give a single region"
                                       : said->alive ? "REGION is missing; --last is the youngest living region"
                                                     : "REGION is missing; --last is the region that ended last");
        if (!said->last)
                said->text = argv[optind];
        return said_option(verb, said);
}

int said_option(const char *verb, const Said *said) {
        if (said->last && said->text)
                return cli_usage(verb, "--region and --last both name a region");
        if (said->text && !region_id_valid(said->text) && !scope_name_valid(said->text))
                return cli_usage(
                        verb,
                        "'%s' is neither a region's id (%d characters of 0-9 a-z), nor the beginning of an id, nor a name (--name)",
                        said->text, REGION_ID_LEN);
        return EXIT_OK;
}

static bool said_is_alive(const RegionRow *rows, size_t n, const char *id) {
        for (size_t i = 0; i < n; i++)
                if (strcmp(rows[i].region, id) == 0)
                        return true;
        return false;
}

/* The region's first event. NULL without an event, or when the event cannot be read. */
static json_t *said_first(Txn *t, const char *id) {
        _cleanup_region_events_ RegionEvents w = REGION_EVENTS_NULL;
        json_t *o = NULL;
        uint64_t seq;
        Bytes e;

        return region_events(t, id, &w) == 0 && region_events_next(&w, &seq, &e, &o) == 0 ? o : NULL;
}

static bool said_has_parent(Txn *t, const char *id) {
        _cleanup_json_ json_t *o = said_first(t, id);

        return json_object_get(o, "parent") != NULL;
}

/* The living region with the latest request. Regions that a daemon keeps ready come last. */
static void said_youngest(Txn *t, const RegionRow *rows, size_t n, char ret[static REGION_ID_MAX]) {
        for (size_t i = n; i > 0; i--) {
                _cleanup_json_ json_t *o = said_first(t, rows[i - 1].region);
                const json_t *program = json_object_get(json_object_get(o, "grant"), "program");

                if (json_object_get(o, "parent"))
                        continue;
                if (program || !*ret)
                        strcpy(ret, rows[i - 1].region);
                if (program)
                        return;
        }
}

/* Parses an entry of one of two types about a region. *ret_region: borrowed from *ret; NULL: no such entry. */
static int said_entry(Bytes e, const char *type, const char *or_type, json_t **ret, const char **ret_region) {
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
static bool said_was_never_taken(Txn *t, const json_t *ended, const char *id) {
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
static int said_last(Txn *t, char ret[static REGION_ID_MAX]) {
        uint64_t size;
        int r = ledger_state(t, &size, NULL);

        while (r == 0 && size-- > 0) {
                _cleanup_json_ json_t *o = NULL;
                const char *region;
                Bytes e;

                r = ledger_get(t, size, &e) ?: said_entry(e, "invocation.ended", "region.refused", &o, &region);
                if (r < 0 || !region || said_has_parent(t, region) || said_was_never_taken(t, o, region))
                        continue;
                strcpy(ret, region);
                return 0;
        }
        return r;
}

static void said_take(SaidFound *f, const char *text, const char *id, const char *name) {
        if (name && strcmp(name, text) == 0)
                strcpy(f->named, id);
        if (strncmp(id, text, strlen(text)) == 0)
                strcpy(f->begins[f->n_begins++ % SAID_SHOWN], id);
}

/* rows: the living regions; with said->alive no other region counts. */
static int said_search(Txn *t, const Said *said, const RegionRow *rows, size_t n, SaidFound *ret) {
        _cleanup_walk_ LedgerWalk w = {0};
        uint64_t size, seq;
        int r = ledger_state(t, &size, NULL) ?: ledger_walk(t, 0, &w);

        for (uint64_t i = 0; r == 0 && i < size; i++) {
                _cleanup_json_ json_t *o = NULL;
                const char *region;
                Bytes e;

                r = ledger_next(&w, &seq, &e) ?: said_entry(e, "region.allocated", "region.refused", &o, &region);
                if (r == 0 && region && (!said->alive || said_is_alive(rows, n, region)))
                        said_take(ret, said->text, region, cli_text(json_object_get(o, "grant") ?: o, "name"));
        }
        return r;
}

static int said_ambiguous(const char *verb, const char *text, const SaidFound *f) {
        char list[SAID_SHOWN * (REGION_ID_LEN + 2) + 1] = "", more[48] = "";
        size_t n = MIN(f->n_begins, (uint64_t)SAID_SHOWN), o = 0;

        for (size_t i = 0; i < n; i++)
                o += (size_t)snprintf(list + o, sizeof(list) - o, "%s%s", i ? ", " : "",
                                      f->begins[(f->n_begins - n + i) % SAID_SHOWN]);
        if (f->n_begins > n)
                snprintf(more, sizeof(more), ", and %" PRIu64 " older ones", f->n_begins - n);
        return cli_refuse(verb, EXIT_USAGE, "ambiguous", "'%s' is the beginning of %" PRIu64 " regions: %s%s", text,
                          f->n_begins, list, more);
}

static int said_find(const char *verb, Store *s, const Said *said, char ret[static REGION_ID_MAX]) {
        _cleanup_txn_ Txn *t = NULL;
        SaidFound f = {0};
        RegionRow *rows = NULL;
        size_t n = 0;
        Diag d = {0};
        int r = store_begin(s, false, &t, &d);

        *ret = 0;
        if (r == 0 && said->alive)
                r = engine_region_list(t, &rows, &n);
        if (r == 0 && said->last && said->alive)
                said_youngest(t, rows, n, ret);
        else if (r == 0)
                r = said->last ? said_last(t, ret) : said_search(t, said, rows, n, &f);
        for (size_t i = 0; i < n; i++)
                region_row_deinit(&rows[i]);
        free(rows);
        if (r != 0)
                return with_store_failed(verb, s, r, &d);
        if (!said->last && !*f.named && f.n_begins > 1)
                return said_ambiguous(verb, said->text, &f);
        if (!said->last)
                strcpy(ret, *f.named ? f.named : f.begins[0]);
        if (*ret)
                return EXIT_OK;
        if (said->last)
                return cli_refuse(verb, EXIT_NOT, "no_record", "%s",
                                  said->alive ? "no region is alive in the store" : "no region has ended in the store");
        return cli_refuse(verb, EXIT_NOT, "no_record",
                          "'%s' is neither the name nor the beginning of the id of a region %s", said->text,
                          said->alive ? "that is alive in the store" : "in the store's ledger");
}

int said_region(const char *verb, Store *s, const Said *said, char ret[static REGION_ID_MAX]) {
        if (said->last || !region_id_valid(said->text))
                return said_find(verb, s, said, ret);
        strcpy(ret, said->text);
        return EXIT_OK;
}
