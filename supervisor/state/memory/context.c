#include "memory/context.h"

#include "memory/ruleset.h"
#include "memory/records.h"

#include <errno.h>
#include <string.h>

static int context_core(Txn *t, const char *scope, json_t **ret, Diag *reterr) {
        static const struct {
                Kind kind;
                const char *name;
        } kernels[] = {{KIND_AGENT_KERNEL, "agent"}, {KIND_WORLD_KERNEL, "world"}};
        _cleanup_json_ json_t *a = json_array();
        int r = a ? 0 : -ENOMEM;

        for (size_t k = 0; r == 0 && k < ARRAY_SIZE(kernels); k++) {
                _cleanup_json_ json_t *rules = NULL;
                uint64_t version;
                json_t *rule;
                size_t i;

                r = ruleset_rules(t, scope, kernels[k].kind, 0, &rules, NULL, &version, reterr);
                json_array_foreach(rules, i, rule) {
                        if (r == 0 && json_text_is(json_object_get(rule, "lifecycle"), "active") &&
                            json_array_append_new(a, json_pack("{s:s, s:O, s:O}", "kernel", kernels[k].name, "id",
                                                               json_object_get(rule, "id"), "statement",
                                                               json_object_get(rule, "statement"))) < 0)
                                r = -ENOMEM;
                }
        }
        if (r == 0)
                *ret = TAKE_PTR(a);
        return r;
}

/* The kinds that grow without end; only their newest rows are served. */
static bool context_is_bounded(Kind k) {
        return k == KIND_RESULT || k == KIND_LEARNING;
}

static int context_row(Txn *t, const Record *rec, json_t *a) {
        _cleanup_json_ json_t *payload = NULL, *o = NULL;
        int r = record_payload(t, rec, &payload);

        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        o = json_pack("{s:s, s:s, s:o, s:o}", "id", rec->key.id, "state", record_state_name(rec->state), "version",
                      json_u64(rec->version), "seq", json_u64(rec->last));
        return o && json_object_set(o, "payload", payload) == 0 && json_array_append(a, o) == 0 ? 0 : -ENOMEM;
}

static int context_by_seq_down(const void *a, const void *b) {
        uint64_t x = json_number(*(json_t *const *)a, "seq"), y = json_number(*(json_t *const *)b, "seq");

        return (x < y) - (x > y);
}

static int context_newest(json_t **list, size_t most) {
        json_t *sorted = json_sorted(*list, context_by_seq_down);

        json_decref(*list);
        *list = sorted;
        while (json_array_size(sorted) > most)
                json_array_remove(sorted, json_array_size(sorted) - 1);
        return sorted ? 0 : -ENOMEM;
}

static int context_belief(Txn *t, uint64_t scope, size_t lane, json_t **ret) {
        _cleanup_json_ json_t *all = json_object();
        int r = all ? 0 : -ENOMEM;

        for (const Kind *k = kinds; r == 0 && *k; k++) {
                _cleanup_record_walk_ RecordWalk w = {0};
                _cleanup_record_ Record rec = RECORD_NULL;
                _cleanup_json_ json_t *a = NULL;

                if (kind_class(*k) != CLASS_CANON)
                        continue;
                a = json_array();
                r = a ? record_walk(t, scope, *k, &w) : -ENOMEM;
                while (r == 0 && (r = record_walk_next(&w, &rec)) == 0)
                        if (rec.state == RECORD_ACTIVE || rec.state == RECORD_OPEN)
                                r = context_row(t, &rec, a);
                if (r != -ENOENT)
                        return r;
                r = context_is_bounded(*k) ? context_newest(&a, lane) : 0;
                if (r == 0 && json_array_size(a) > 0 && json_object_set(all, kind_name(*k), a) < 0)
                        r = -ENOMEM;
        }
        if (r == 0)
                *ret = TAKE_PTR(all);
        return r;
}

/* The rows of a lane: the result of a search, or the newest records; only active records, whatever the query says. */
static int context_lane_rows(Txn *t, const char *scope, Kind kind, const MemoryQuery *query, unsigned lane,
                             json_t **ret, Diag *reterr) {
        RecordFilter f = {.kinds = {kind}, .n_kinds = 1, .states = 1U << RECORD_ACTIVE};
        int r;

        if (query) {
                MemoryQuery q = *query; /* the caller's query owns the phrases and the bag */

                q.filter.types = 0;
                if (!filter_takes_kind(&q.filter, kind, ""))
                        return (*ret = json_array()) ? 0 : -ENOMEM;
                q.filter.types = query->filter.types;
                q.filter.kinds[0] = kind;
                q.filter.n_kinds = 1;
                q.filter.states = f.states;
                return memory_search(t, scope, &q, ret, reterr);
        }
        r = memory_list(t, scope, &f, ret, reterr);
        while (r == 0 && json_array_size(*ret) > lane) /* the oldest first */
                json_array_remove(*ret, 0);
        return r;
}

static int context_lane(Txn *t, const char *scope, Kind kind, const MemoryQuery *query, unsigned lane, json_t *lanes,
                        Diag *reterr) {
        _cleanup_json_ json_t *rows = NULL, *records = json_array();
        json_t *o;
        size_t i;
        int r = records ? context_lane_rows(t, scope, kind, query, lane, &rows, reterr) : -ENOMEM;

        json_array_foreach(rows, i, o) {
                _cleanup_json_ json_t *record = NULL;

                if (r == 0)
                        r = memory_load(t, scope, kind, json_text(json_object_get(o, "id")), &record, reterr);
                if (r == 0 &&
                    json_array_append_new(
                            records,
                            json_pack("{s:O, s:O*, s:O, s:O, s:O, s:O*}", "id", json_object_get(record, "id"), "type",
                                      json_object_get(record, "type"), "payload", json_object_get(record, "payload"),
                                      "version", json_object_get(record, "version"), "time", json_object_get(o, "time"),
                                      "score", json_object_get(o, "score"))) < 0)
                        r = -ENOMEM;
        }
        if (r == 0 && json_array_append_new(lanes, json_pack("{s:s, s:b, s:O}", "lane", class_name(kind_class(kind)),
                                                             "advisory", 1, "records", records)) < 0)
                r = -ENOMEM;
        return r;
}

/* Archived and removed records are never served, so a query must not ask for them. */
static int context_query(const char *query, unsigned lane, uint64_t now, MemoryQuery *ret, Diag *reterr) {
        int r = query_parse(query, strlen(query), lane, now, ret, reterr);

        if (r == 0 && ret->filter.states && ret->filter.states != 1U << RECORD_ACTIVE)
                r = diag(reterr, QUERY_E_BAD, "query \"%s\": state: only active records are served",
                         DIAG_QUOTED(query));
        return r > 0 ? ENGINE_E_BAD_QUERY : r;
}

int memory_context(Txn *t, const char *scope, const char *query, unsigned lane, uint64_t now, json_t **ret,
                   Diag *reterr) {
        _cleanup_json_ json_t *truth = NULL, *rows = NULL, *advice = json_array();
        _cleanup_query_ MemoryQuery q = QUERY_NULL;
        uint64_t number;
        int r = advice ? scope_find(t, scope, &number, reterr) : -ENOMEM;

        if (r == 0 && query)
                r = context_query(query, lane, now, &q, reterr);
        if (r == 0)
                r = context_core(t, scope, &truth, reterr) ?: context_belief(t, number, lane, &rows);
        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(memory_families); i++)
                r = context_lane(t, scope, memory_families[i], query ? &q : NULL, lane, advice, reterr);
        if (r != 0)
                return r;
        *ret = json_pack("{s:s, s:O, s:O, s:O}", "scope", scope, "core", truth, "belief", rows, "advisory", advice);
        return *ret ? 0 : -ENOMEM;
}
