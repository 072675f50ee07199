/* Runs: CLI. */
#include "audit/history.h"
#include "base/clock.h"
#include "base/size.h"
#include "cli/with-store.h"
#include "engine/engine.h"
#include "layer/layer.h"
#include "scrub/kept.h"

#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe ps [OPTIONS]\n\n"
        "Lists the living regions of the store. A region whose supervisor died is an orphan: the next\n"
        "'lethe run', or 'lethe kill REGION', clears the orphan up.\n\n"
        HELP_STORE
        "  -a, --all         also ended regions, with their end\n"
        "  --json            a JSON object on each line\n"
        "  -h, --help        print the help\n";

/* The first ten characters of an id are the id's time in milliseconds, in Crockford's base32. */
static uint64_t ps_id_usec(const char *id) {
        static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
        uint64_t ms = 0;

        for (size_t i = 0; i < 10; i++) {
                const char *p = strchr(digits, id[i]);

                ms = ms << 5 | (uint64_t)(p ? p - digits : 0);
        }
        return ms * 1000;
}

static int ps_print_json(const RegionRow *r, bool orphan) {
        char since[CLOCK_TEXT_MAX];

        return cli_print_item(json_pack("{s:i, s:s, s:O?, s:O?, s:s, s:o, s:o, s:b}", "version", 1, "region", r->region,
                                        "skill", json_object_get(r->detail, "skill"), "tier",
                                        json_object_get(r->detail, "tier"), "since",
                                        clock_format(ps_id_usec(r->region), since), "supervisor",
                                        json_u64(r->supervisor_pid), "pid", r->pid ? json_u64(r->pid) : json_null(),
                                        "orphan", orphan));
}

static void ps_print_text(const RegionRow *r, bool orphan) {
        const json_t *skill = json_object_get(r->detail, "skill");
        const char *name = cli_text(skill, "name"), *tier = cli_text(r->detail, "tier");
        uint64_t now = clock_real_usec(), since = ps_id_usec(r->region);
        char age[SIZE_TEXT_MAX], pid[24] = "-";

        if (r->pid)
                snprintf(pid, sizeof(pid), "%" PRIu64, r->pid);
        printf("%-26s  %-24s  %-10s  %10s  %10" PRIu64 "  %10s%s\n", r->region, name ? name : "-", tier ? tier : "-",
               duration_format(now > since ? now - since : 0, age), r->supervisor_pid, pid, orphan ? "  orphan" : "");
}

/* NULL: the store keeps no layer of the region. */
static const KeptFolder *ps_layer(const KeptList *layers, const char *region) {
        for (size_t i = 0; i < layers->n; i++)
                if (strcmp(layers->folders[i].region, region) == 0)
                        return &layers->folders[i];
        return NULL;
}

static int ps_print_any(const RegionFacts *f, const KeptList *layers, bool json, uint64_t now) {
        const KeptFolder *layer = ps_layer(layers, f->id);
        char since[CLOCK_TEXT_MAX], age[SIZE_TEXT_MAX], bytes[SIZE_TEXT_MAX], how[64];

        if (json)
                return cli_print_item(json_pack(
                        "{s:i, s:s, s:{s:s, s:s}, s:s, s:s, s:b, s:b, s:s*, s:o, s:s*, s:s*, s:o*}", "version", 1, "region",
                        f->id, "skill", "name", f->skill, "digest", f->digest, "tier", f->tier, "since",
                        clock_format(f->allocated_usec, since), "alive", f->ended == 0, "orphan", f->orphan, "outcome",
                        *f->outcome ? f->outcome : NULL, "exit_code",
                        f->exit_code >= 0 ? json_integer(f->exit_code) : json_null(), "name", *f->name ? f->name : NULL,
                        "parent", *f->parent ? f->parent : NULL, "layer_bytes", layer ? json_u64(layer->bytes) : NULL));
        snprintf(how, sizeof(how), f->exit_code > 0 ? "%s %d" : "%s",
                 f->orphan       ? "orphan"
                 : f->ended == 0 ? "alive"
                                 : f->outcome,
                 f->exit_code);
        printf("%-26s  %-24s  %-10s  %10s  %-20s  %s%s%s\n", f->id, f->skill, f->tier,
               duration_format(now > f->allocated_usec ? now - f->allocated_usec : 0, age), how,
               *f->name ? f->name : "-", layer ? "  layer " : "", layer ? size_format(layer->bytes, bytes) : "");
        return 0;
}

/* Only signed entries are listed. */
static int ps_print_all(Store *s, Txn *t, bool json) {
        const uint64_t now = clock_real_usec();
        _cleanup_kept_list_ KeptList layers = {0};
        _cleanup_history_ History h = {0};
        Diag d = {0};
        int r = history_read(t, &(HistoryQuery){0}, &h, &d);

        kept_list(store_dir(s), LAYER_SHELF, &layers); /* else none is shown */
        if (r == 0 && !json)
                printf("%-26s  %-24s  %-10s  %10s  %-20s  %s\n", "REGION", "SKILL", "TIER", "AGE", "END", "NAME");
        for (size_t i = 0; r == 0 && i < h.n; i++)
                r = ps_print_any(h.regions[i], &layers, json, now);
        return r != 0 ? with_store_failed("ps", s, r, &d) : cli_done("ps", EXIT_OK);
}

int cmd_ps(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_FLAG("all", 'a'), {0}};
        _cleanup_store_ Store *s = NULL;
        _cleanup_txn_ Txn *t = NULL;
        StoreOptions o = {.help = help, .no_arguments = true, .letters = ":ha"};
        RegionRow *rows = NULL;
        size_t n = 0;
        Diag d = {0};
        int r;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        r = with_store_read("ps", &o, &s, &t);
        if (r != EXIT_OK)
                return r;
        if (o.value['a'])
                return ps_print_all(s, t, o.json);
        r = engine_region_list(t, &rows, &n);
        if (r != 0)
                return with_store_failed("ps", s, r, &d);
        if (!o.json)
                printf("%-26s  %-24s  %-10s  %10s  %10s  %10s\n", "REGION", "SKILL", "TIER", "AGE", "SUPERVISOR",
                       "PID");
        for (size_t i = 0; i < n; i++) {
                bool orphan = store_lock_is_free(s, rows[i].supervisor_lock);

                if (o.json)
                        r = r == 0 ? ps_print_json(&rows[i], orphan) : r;
                else
                        ps_print_text(&rows[i], orphan);
        }
        region_rows_free(rows, n);
        return r < 0 ? with_store_failed("ps", s, r, &d) : cli_done("ps", EXIT_OK);
}
