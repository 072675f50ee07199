#include "audit/metrics.h"
#include "audit/history.h"
#include "base/cache.h"
#include "engine/engine.h"
#include "engine/session.h"
#include "object/entry.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CACHE_NAME "metrics"
#define CACHE_MAX (1024 * 1024)
#define STATE_VERSION 3
#define SKILLS_MAX 200 /* each skill is a series; later skills are counted as skill="" */

typedef enum MetricKind { COUNTER, GAUGE, HISTOGRAM } MetricKind;

/* The only list of series. Sums of seconds are kept in microseconds. */
static const struct MetricFamily {
        const char *name;
        MetricKind kind;
        bool labels;
        bool usec;
        const char *help;
} families[] = {
        {"lethe_build_info", GAUGE, true, false, "The version, as a label."},
        {"lethe_store_bytes", GAUGE, false, false, "Size of the store's data file."},
        {"lethe_ledger_entries_total", COUNTER, false, false, "Entries of the ledger."},
        {"lethe_regions_alive", GAUGE, false, false,
         "Regions that are alive, or wait for recovery after the death of their supervisor."},
        {"lethe_regions_allocated_total", COUNTER, true, false, "Regions allocated, by tier."},
        {"lethe_regions_refused_total", COUNTER, false, false,
         "Invocations refused a region after their grant (a gate, a limit)."},
        {"lethe_regions_recovered_total", COUNTER, false, false,
         "Regions finished by a later supervisor after the death of their own."},
        {"lethe_invocations_ended_total", COUNTER, true, false, "Ended invocations, by outcome."},
        {"lethe_skill_regions_total", COUNTER, true, false, "Regions allocated, by skill; the first 200 skills."},
        {"lethe_faults_total", COUNTER, true, false, "Budgets broken, by resource."},
        {"lethe_cancel_bound_passed_total", COUNTER, false, false, "Teardowns beyond their bound."},
        {"lethe_teardowns_total", COUNTER, true, false, "Teardowns, by discipline and grade."},
        {"lethe_teardown_bytes_total", COUNTER, true, false,
         "Bytes of ended regions: held, overwritten, read back, and missed."},
        {"lethe_denials_total", COUNTER, false, false, "Denied operations of skills."},
        {"lethe_requests_refused_total", COUNTER, true, false, "Refused requests on the pipes, by code."},
        {"lethe_slot_writes_total", COUNTER, false, false, "Values written to slots."},
        {"lethe_slot_refusals_total", COUNTER, true, false, "Refused proposals, by code."},
        {"lethe_sessions_open", GAUGE, false, false, "Sessions that are open."},
        {"lethe_sessions_opened_total", COUNTER, false, false, "Sessions opened."},
        {"lethe_sessions_ended_total", COUNTER, true, false, "Ended sessions, by reason."},
        {"lethe_session_turns_total", COUNTER, false, false, "Turns of sessions; each is a region."},
        {"lethe_session_carried_total", COUNTER, false, false, "Values carried into sections of sessions."},
        {"lethe_session_dropped_total", COUNTER, true, false,
         "Writes to sections of sessions that did not count, by the reason of the turn's end."},
        {"lethe_objects", GAUGE, true, false, "Objects, by state."},
        {"lethe_objects_due", GAUGE, false, false, "Objects with a time to be looked at, now or later."},
        {"lethe_objects_waits", GAUGE, false, false, "Conditions on slots, events and objects that sleeping objects wait for."},
        {"lethe_objects_woken_total", COUNTER, false, false, "Objects made due by a change that they waited for."},
        {"lethe_object_actions_total", COUNTER, true, false, "Actions in the memories of objects, also of imported ones, by action."},
        {"lethe_object_entries_total", COUNTER, false, false, "Entries of objects' memories."},
        {"lethe_cpu_seconds_total", COUNTER, false, true, "CPU time of ended regions."},
        {"lethe_run_seconds", HISTOGRAM, false, true, "Wall time of ended regions, to the end of their processes."},
        {"lethe_teardown_seconds", HISTOGRAM, false, true,
         "From the end of the processes to the end of the overwriting."},
};

/* usec */
static const uint64_t buckets[] = {1000, 2500, 5000, 10000, 25000, 50000,
                                   100000, 250000, 1000000, 5000000, 30000000, 300000000};

/* Series ("name{labels}") to value. */
typedef struct Metrics {
        json_t *series;
        uint64_t entries; /* entries folded so far */
        uint64_t skills;
        int error;
} Metrics;

static void metrics_add_series(Metrics *m, uint64_t n, const char *series) {
        const json_t *old = json_object_get(m->series, series);
        uint64_t sum = (uint64_t)json_integer_value(old) + n;

        if (json_object_set_new(m->series, series, json_integer((json_int_t)sum)) < 0)
                m->error = -ENOMEM;
}

_printf_(3, 4) static void metrics_add(Metrics *m, uint64_t n, const char *fmt, ...) {
        char series[512];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(series, sizeof(series), fmt, ap);
        va_end(ap);
        metrics_add_series(m, n, series);
}

/* A label's value: each byte that a message would escape becomes an underscore. */
static const char *metrics_label(const json_t *o, const char *key, char ret[static 128]) {
        const char *s = json_str(o, key);
        char *to = ret;

        diag_quote(s, strlen(s), ret, 128);
        for (const char *p = ret; *p;) {
                const bool escaped = *p == '\\';

                *to++ = escaped ? '_' : *p;
                p += escaped ? strlen("\\x00") : 1;
        }
        *to = 0;
        return ret;
}

static void metrics_observe(Metrics *m, const char *name, uint64_t usec) {
        for (size_t i = 0; i < ARRAY_SIZE(buckets); i++)
                if (usec <= buckets[i])
                        metrics_add(m, 1, "%s_bucket{le=\"%g\"}", name, (double)buckets[i] / 1e6);
        metrics_add(m, 1, "%s_bucket{le=\"+Inf\"}", name);
        metrics_add(m, usec, "%s_sum", name);
        metrics_add(m, 1, "%s_count", name);
}

static void metrics_fold_allocated(Metrics *m, const json_t *o) {
        char text[128], series[512];

        metrics_add(m, 1, "lethe_regions_allocated_total{tier=\"%s\"}", metrics_label(o, "tier", text));
        metrics_label(json_object_get(o, "skill"), "name", text);
        snprintf(series, sizeof(series), "lethe_skill_regions_total{skill=\"%s\"}", text);
        if (!json_object_get(m->series, series) && ++m->skills > SKILLS_MAX)
                strcpy(series, "lethe_skill_regions_total{skill=\"\"}");
        metrics_add_series(m, 1, series);
        if (json_object_get(o, "session"))
                metrics_add(m, 1, "lethe_session_turns_total");
}

static void metrics_fold_teardown(Metrics *m, const json_t *teardown) {
        const json_t *missed = json_object_get(teardown, "bytes_missed"), *v;
        char discipline[128], grade[128];
        const char *reason;
        uint64_t n, lost = 0;

        metrics_add(m, 1, "lethe_teardowns_total{discipline=\"%s\",grade=\"%s\"}",
                    metrics_label(teardown, "discipline", discipline), metrics_label(teardown, "grade", grade));
        metrics_add(m, json_number(teardown, "bytes_held"), "lethe_teardown_bytes_total{what=\"held\"}");
        metrics_add(m, json_number(teardown, "bytes_overwritten"), "lethe_teardown_bytes_total{what=\"overwritten\"}");
        metrics_add(m, json_number(teardown, "bytes_verified"), "lethe_teardown_bytes_total{what=\"verified\"}");
        json_object_foreach((json_t *)missed, reason, v)
                lost += json_get_u64(v, &n) < 0 ? 0 : n;
        metrics_add(m, lost, "lethe_teardown_bytes_total{what=\"missed\"}");
        metrics_observe(m, "lethe_teardown_seconds", json_number(teardown, "usec"));
}

/* Refusals: counted in sums at lineage stats, else event by event. */
static void metrics_fold_refusal(Metrics *m, const char *type, const char *code, uint64_t n) {
        if (strcmp(type, "slot.refused") == 0)
                metrics_add(m, n, "lethe_slot_refusals_total{code=\"%s\"}", code);
        else if (strcmp(type, "request.refused") == 0 || strcmp(type, "handle.refused") == 0)
                metrics_add(m, n, "lethe_requests_refused_total{code=\"%s\"}", code);
}

static void metrics_fold_released(Metrics *m, const json_t *o) {
        const json_t *usage = json_object_get(o, "usage"), *v;
        const char *counted;

        if (json_is_object(json_object_get(o, "teardown")))
                metrics_fold_teardown(m, json_object_get(o, "teardown"));
        metrics_add(m, json_number(o, "denials"), "lethe_denials_total");
        metrics_add(m, json_number(usage, "cpu_usec"), "lethe_cpu_seconds_total");
        if (usage)
                metrics_observe(m, "lethe_run_seconds", json_number(usage, "wall_usec"));
        json_object_foreach(json_object_get(json_object_get(o, "lineage"), "counts"), counted, v) {
                const char *slash = strchr(counted, '/');
                char type[64], code[64];
                uint64_t n;

                if (slash && json_get_u64(v, &n) == 0 && (size_t)(slash - counted) < sizeof(type)) {
                        snprintf(type, sizeof(type), "%.*s", (int)(slash - counted), counted);
                        snprintf(code, sizeof(code), "%.60s", slash + 1);
                        metrics_fold_refusal(m, type, code, n);
                }
        }
}

static void metrics_fold_session(Metrics *m, const char *what, const json_t *o) {
        char text[128];

        if (strcmp(what, "opened") == 0)
                metrics_add(m, 1, "lethe_sessions_opened_total");
        else if (strcmp(what, "ended") == 0)
                metrics_add(m, 1, "lethe_sessions_ended_total{reason=\"%s\"}", metrics_label(o, "reason", text));
        else if (strcmp(what, "carried") == 0)
                metrics_add(m, 1, "lethe_session_carried_total");
        else if (strcmp(what, "dropped") == 0)
                metrics_add(m, json_number(o, "count"), "lethe_session_dropped_total{reason=\"%s\"}",
                            metrics_label(o, "reason", text));
}

/* Each cycle with an action has one entry of that action. */
static void metrics_fold_object(Metrics *m, const char *what, const json_t *o) {
        static const struct {
                EntryKind kind;
                const char *action;
        } actions[] = {{ENTRY_STARTED, "execution"}, {ENTRY_MUTATION, "mutation"}, {ENTRY_DELEGATION, "delegation"},
                       {ENTRY_DORMANT, "dormancy"},  {ENTRY_REENTRY, "reentry"},   {ENTRY_TERMINATED, "termination"}};

        if (strcmp(what, "woken") == 0)
                metrics_add(m, json_array_size(json_object_get(o, "objects")), "lethe_objects_woken_total");
        if (strcmp(what, "entry") != 0)
                return;
        metrics_add(m, 1, "lethe_object_entries_total");
        for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
                if (json_text_is(json_object_get(o, "kind"), entry_kind_name(actions[i].kind)))
                        metrics_add(m, 1, "lethe_object_actions_total{action=\"%s\"}", actions[i].action);
}

static void metrics_fold_event(Metrics *m, const char *type, const json_t *o) {
        char text[128];

        if (strcmp(type, "region.allocated") == 0)
                metrics_fold_allocated(m, o);
        else if (strcmp(type, "region.released") == 0)
                metrics_fold_released(m, o);
        else if (strcmp(type, "region.recovered") == 0)
                metrics_add(m, 1, "lethe_regions_recovered_total");
        else if (strcmp(type, "region.refused") == 0)
                metrics_add(m, 1, "lethe_regions_refused_total");
        else if (strcmp(type, "region.bound_passed") == 0)
                metrics_add(m, 1, "lethe_cancel_bound_passed_total");
        else if (strcmp(type, "region.faulted") == 0)
                metrics_add(m, 1, "lethe_faults_total{resource=\"%s\"}", metrics_label(o, "resource", text));
        else if (strcmp(type, "invocation.ended") == 0)
                metrics_add(m, 1, "lethe_invocations_ended_total{outcome=\"%s\"}", metrics_label(o, "outcome", text));
        else if (strcmp(type, "slot.written") == 0)
                metrics_add(m, 1, "lethe_slot_writes_total");
        else if (strncmp(type, "session.", 8) == 0)
                metrics_fold_session(m, type + 8, o);
        else if (strncmp(type, "object.", 7) == 0)
                metrics_fold_object(m, type + 7, o);
        else
                metrics_fold_refusal(m, type, metrics_label(o, "code", text),
                                     json_object_get(o, "count") ? json_number(o, "count") : 1);
}

static int metrics_fold_entry(Metrics *m, Txn *t, uint64_t seq, Bytes e) {
        _cleanup_json_ json_t *o = NULL;
        int r = json_row_parse(e, LEDGER_ENTRY_MAX, &o) ?: history_unfold(t, seq, o);

        if (r < 0)
                return r;
        metrics_fold_event(m, json_str(o, "type"), o);
        return m->error;
}

/* The leaf of the last folded entry: detects a different ledger, or a restored older copy. */
static int metrics_leaf(Txn *t, uint64_t entries, char ret[static HASH_HEX_MAX]) {
        MerkleHash leaf;
        Bytes e;
        int r;

        *ret = 0;
        if (entries == 0)
                return 0;
        r = ledger_get(t, entries - 1, &e);
        if (r < 0)
                return r;
        merkle_leaf(e.p, e.n, &leaf);
        hex_encode(leaf.b, sizeof(leaf.b), ret);
        return 0;
}

static void metrics_load(Metrics *m, Txn *t, int cache, uint64_t entries) {
        _cleanup_json_ json_t *state = NULL;
        _cleanup_free_ uint8_t *bytes = NULL;
        char leaf[HASH_HEX_MAX];
        const char *known;
        json_t *series;
        uint64_t upto;
        size_t n;

        if (cache < 0 || cache_get(cache, CACHE_NAME, CACHE_MAX, &bytes, &n) < 0 ||
            json_parse((const char *)bytes, n, CACHE_MAX, JSON_DEPTH_DEFAULT, &state, NULL) != 0)
                return;
        series = json_object_get(state, "series");
        known = json_text(json_object_get(state, "leaf"));
        upto = json_number(state, "entries");
        if (json_number(state, "version") != STATE_VERSION || !json_is_object(series) || !known || upto > entries)
                return;
        if (metrics_leaf(t, upto, leaf) < 0 || strcmp(leaf, known) != 0)
                return;
        json_decref(m->series);
        m->series = json_incref(series);
        m->entries = upto;
        m->skills = json_number(state, "skills");
}

static void metrics_save(const Metrics *m, Txn *t, int cache) {
        _cleanup_json_ json_t *state = NULL;
        _cleanup_free_ char *text = NULL;
        char leaf[HASH_HEX_MAX];
        size_t n;

        if (cache < 0 || metrics_leaf(t, m->entries, leaf) < 0)
                return;
        state = json_pack("{s:i, s:s, s:o, s:o, s:O}", "version", STATE_VERSION, "leaf", leaf, "entries",
                          json_u64(m->entries), "skills", json_u64(m->skills), "series", m->series);
        if (state && json_canonical(state, &text, &n) == 0)
                cache_put(cache, CACHE_NAME, text, n);
}

static int metrics_fold_rest(Metrics *m, Txn *t, uint64_t entries) {
        _cleanup_walk_ LedgerWalk w = {0};
        int r = m->entries < entries ? ledger_walk(t, m->entries, &w) : 0;

        while (r == 0 && m->entries < entries) {
                uint64_t seq;
                Bytes e;

                r = ledger_next(&w, &seq, &e) ?: metrics_fold_entry(m, t, seq, e);
                if (r == 0)
                        m->entries++;
        }
        return r;
}

static int metrics_add_objects(Metrics *m, Txn *t) {
        uint64_t due = 0, waits = 0, n = 0;
        int r = table_rows(t, TABLE_DUE, &due) ?: table_rows(t, TABLE_WAKE, &waits);

        for (ObjectState s = OBJECT_INSTANTIATED; r == 0 && s < OBJECT_STATE_COUNT_; s++) {
                r = object_row_in_state(t, object_state_name(s), &n);
                if (r == 0)
                        metrics_add(m, n, "lethe_objects{state=\"%s\"}", object_state_name(s));
        }
        metrics_add(m, due, "lethe_objects_due");
        metrics_add(m, waits, "lethe_objects_waits");
        return r;
}

/* Values of the moment, outside of the ledger. */
static int metrics_add_gauges(Metrics *m, Txn *t) {
        RegionRow *rows = NULL;
        struct stat st;
        size_t n = 0, sessions = 0;
        int r = engine_region_list(t, &rows, &n); /* decodes each row: a damaged row is no living region */

        for (size_t i = 0; i < n; i++)
                sessions += session_of_row(&rows[i]) != NULL;
        region_rows_free(rows, n);
        if (r != 0)
                return r;
        metrics_add(m, sessions, "lethe_sessions_open");
        metrics_add(m, n, "lethe_regions_alive");
        metrics_add(m, 1, "lethe_build_info{version=\"%s\"}", LETHE_VERSION);
        metrics_add(m, m->entries, "lethe_ledger_entries_total");
        if (fstatat(store_dir_fd(txn_store(t)), "data.mdb", &st, 0) == 0)
                metrics_add(m, (uint64_t)st.st_size, "lethe_store_bytes");
        return metrics_add_objects(m, t) ?: m->error;
}

/* The family's name, for a histogram plus one of the three endings, then labels or the end. */
static bool metrics_is_of_family(const char *series, const struct MetricFamily *f) {
        static const char *const ends[] = {"_bucket", "_sum", "_count"};
        size_t n = strlen(f->name);

        if (strncmp(series, f->name, n) != 0)
                return false;
        series += n;
        for (size_t i = 0; f->kind == HISTOGRAM && i < ARRAY_SIZE(ends); i++)
                if (strncmp(series, ends[i], strlen(ends[i])) == 0) {
                        series += strlen(ends[i]);
                        return *series == 0 || *series == '{';
                }
        return f->kind != HISTOGRAM && (*series == 0 || *series == '{');
}

static bool metrics_is_seconds(const struct MetricFamily *f, const char *series) {
        return f->usec && (f->kind != HISTOGRAM || strstr(series, "_sum"));
}

/* An uncounted series is 0. */
static int metrics_print_series(Buf *b, const json_t *all, const struct MetricFamily *f, const char *series) {
        uint64_t v = (uint64_t)json_integer_value(json_object_get(all, series));

        return metrics_is_seconds(f, series)
                       ? buf_printf(b, "%s %" PRIu64 ".%06" PRIu64 "\n", series, v / 1000000, v % 1000000)
                       : buf_printf(b, "%s %" PRIu64 "\n", series, v);
}

/* Buckets in numeric order; the order of names differs. */
static int metrics_print_histogram(Buf *b, const json_t *all, const struct MetricFamily *f) {
        char series[128];
        int r = 0;

        for (size_t i = 0; r == 0 && i <= ARRAY_SIZE(buckets); i++) {
                if (i < ARRAY_SIZE(buckets))
                        snprintf(series, sizeof(series), "%s_bucket{le=\"%g\"}", f->name, (double)buckets[i] / 1e6);
                else
                        snprintf(series, sizeof(series), "%s_bucket{le=\"+Inf\"}", f->name);
                r = metrics_print_series(b, all, f, series);
        }
        for (int i = 0; r == 0 && i < 2; i++) {
                snprintf(series, sizeof(series), "%s_%s", f->name, i == 0 ? "sum" : "count");
                r = metrics_print_series(b, all, f, series);
        }
        return r;
}

static int metrics_print_family(Buf *b, const json_t *all, const struct MetricFamily *f) {
        static const char *const kinds[] = {"counter", "gauge", "histogram"};
        const char *series;
        json_t *v;
        int r = buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, kinds[f->kind]);

        if (r == 0 && f->kind == HISTOGRAM)
                return metrics_print_histogram(b, all, f);
        /* Also before the first count: a scraper sees its first step. Series with labels are not known. */
        if (r == 0 && !f->labels)
                return metrics_print_series(b, all, f, f->name);
        json_object_foreach((json_t *)all, series, v)
                if (r == 0 && metrics_is_of_family(series, f))
                        r = metrics_print_series(b, all, f, series);
        return r;
}

int metrics_read(Txn *t, json_t **ret, Diag *reterr) {
        _cleanup_close_ int cache = cache_open(store_dir(txn_store(t)));
        Metrics m = {.series = json_object()};
        uint64_t entries, before;
        int r = m.series ? ledger_state(t, &entries, NULL) : -ENOMEM;

        if (r == 0) {
                metrics_load(&m, t, cache, entries);
                before = m.entries;
                r = metrics_fold_rest(&m, t, entries);
                if (r == 0 && m.entries > before)
                        metrics_save(&m, t, cache);
        }
        if (r == 0)
                r = metrics_add_gauges(&m, t);
        if (r == 0)
                *ret = json_incref(m.series);
        json_decref(m.series);
        return history_result(r, reterr);
}

int metrics_text(const json_t *series, Buf *ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++)
                r = metrics_print_family(ret, series, &families[i]);
        return r;
}

json_t *metrics_json(const json_t *series) {
        _cleanup_json_ json_t *o = json_object();
        const char *name;
        json_t *v;

        json_object_foreach((json_t *)series, name, v)
                for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
                        if (!metrics_is_of_family(name, &families[i]))
                                continue;
                        v = metrics_is_seconds(&families[i], name) ? json_real((double)json_integer_value(v) / 1e6)
                                                                   : json_u64((uint64_t)json_integer_value(v));
                        if (!o || json_object_set_new(o, name, v) < 0)
                                return NULL;
                        break;
                }
        return json_pack("{s:i, s:O}", "version", 1, "series", o);
}
