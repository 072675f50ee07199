/* The advisory lanes of a context. */
#include "memory/context.h"

#include "engine/claim.h"
#include "ledger/ledger.h"
#include "memory/records.h"
#include "record/creation-index.h"
#include "record/event.h"

#include <errno.h>
#include <string.h>

static const RecordFilter lane_active = {.states = 1U << RECORD_ACTIVE};

/* The last `lane` active records of one kind after an event, oldest first. *ret_all: the walk reached the end. */
static int lane_after(Context *c, Kind kind, uint64_t after, json_t **ret, bool *ret_all) {
        _cleanup_json_ json_t *list = json_array();
        _cleanup_creation_walk_ CreationWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        size_t looked = 0;
        int r = list ? creation_walk(c->t, c->scope, &kind, 1, false, after, &w) : -ENOMEM;

        while (r == 0 && looked <= c->ask->look && (r = creation_walk_next(&w, &rec)) == 0) {
                _cleanup_json_ json_t *row = NULL;
                size_t text;

                looked += looked < SIZE_MAX;
                r = memory_row(c->t, &lane_active, NULL, &rec, &row, &text);
                if (r > 0)
                        r = json_array_append(list, row) < 0 ? -ENOMEM : 0;
                if (r == 0 && json_array_size(list) > c->ask->lane)
                        json_array_remove(list, 0);
        }
        if (r < 0 && r != -ENOENT)
                return r;
        *ret_all = r == -ENOENT;
        *ret = TAKE_PTR(list);
        return 0;
}

/* The newest active records, oldest first. Only a part of a large family is read: the part after an event, which
 * is moved back until the part has enough records. */
static int lane_newest(Context *c, Kind kind, json_t **ret, bool *ret_cut) {
        _cleanup_json_ json_t *list = NULL;
        uint64_t size, last;
        int r = ledger_state(c->t, &size, &last);

        *ret_cut = false;
        /* n events make at most n records: the first part is within the bound */
        for (uint64_t span = MIN(1024, c->ask->look); r == 0; span *= 4) {
                uint64_t after = span < size ? size - span : 0;
                json_t *more = NULL;
                bool all = false;

                r = lane_after(c, kind, after, &more, &all);
                if (r == 0 && all) {
                        json_decref(list);
                        list = TAKE_PTR(more);
                } else
                        json_decref(more);
                *ret_cut = r == 0 && !all;
                if (r != 0 || !all || after == 0 || json_array_size(list) >= c->ask->lane)
                        break;
        }
        if (r == 0 && !list)
                r = (list = json_array()) ? 0 : -ENOMEM;
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

static int lane_by_creation(const void *a, const void *b) {
        uint64_t x = json_number(*(json_t *const *)a, "created"), y = json_number(*(json_t *const *)b, "created");

        return (x > y) - (x < y);
}

static int lane_past_row(Context *c, const Record *rec, json_t *list) {
        _cleanup_json_ json_t *payload = NULL, *entry = NULL, *o = NULL;
        int r = event_get(c->t, rec->created, &entry) ?: record_payload(c->t, rec, &payload);

        if (r < 0 && (r != -ENOENT || !entry))
                return r;
        o = json_pack("{s:s, s:s*, s:o, s:O*, s:o}", "id", rec->key.id, "type",
                      *record_type(rec) ? record_type(rec) : NULL, "version", json_u64(rec->version), "time",
                      json_object_get(entry, "time"), "created", json_u64(rec->created));
        return o && context_put_content(o, payload) == 0 && json_array_append(list, o) == 0 ? 0 : -ENOMEM;
}

/* The newest active records of then, oldest first, whole: lane_add() takes the rows unchanged but for `created`. */
static int lane_past(Context *c, Kind kind, json_t **ret, bool *ret_cut) {
        _cleanup_past_walk_ PastWalk w = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_json_ json_t *list = json_array(), *sorted = NULL;
        int r = list ? past_walk(c->t, c->scope, kind, c->ask->upto, &w) : -ENOMEM;

        w.look = c->ask->look;
        while (r == 0 && (r = past_walk_next(&w, &rec)) == 0)
                if (rec.state == RECORD_ACTIVE)
                        r = lane_past_row(c, &rec, list);
        if (r < 0 && r != -ENOENT)
                return r;
        *ret_cut = w.cut;
        sorted = json_sorted(list, lane_by_creation);
        while (sorted && json_array_size(sorted) > c->ask->lane)
                json_array_remove(sorted, 0);
        *ret = TAKE_PTR(sorted);
        return *ret ? 0 : -ENOMEM;
}

static int lane_found(Context *c, Kind kind, const MemoryQuery *query, json_t **ret, bool *ret_cut) {
        MemoryQuery q = *query; /* the caller's query owns the phrases and the bag */
        MemoryBound bound = {.records = c->ask->look, .text = SIZE_MAX};

        q.filter.types = 0;
        if (!filter_takes_kind(&q.filter, kind, ""))
                return (*ret = json_array()) ? 0 : -ENOMEM;
        q.filter.types = query->filter.types;
        q.filter.kinds[0] = kind;
        q.filter.n_kinds = 1;
        q.filter.states = lane_active.states;
        if (c->ask->look == SIZE_MAX)
                return memory_search(c->t, c->ask->scope, &q, ret, c->reterr);
        for (unsigned i = 0; i < ARRAY_SIZE(memory_families); i++)
                if (c->ask->tiers & 1U << (CONTEXT_MEMORY + i))
                        bound.classes |= 1U << kind_class(memory_families[i]);
        return memory_search_within(c->t, c->ask->scope, &q, &bound, ret, ret_cut, c->reterr);
}

static int lane_add(Context *c, Kind kind, json_t *row, json_t *records, size_t *room) {
        _cleanup_json_ json_t *record = NULL, *o = NULL;
        int r;

        if (context_is_past(c->ask)) {
                json_object_del(row, "created");
                return context_take(records, row, room);
        }
        r = memory_load(c->t, c->ask->scope, kind, json_text(json_object_get(row, "id")), &record, c->reterr);

        if (r != 0)
                return r;
        r = disputes_keep(record, context_classes(c->ask));
        if (r < 0)
                return r;
        o = json_pack("{s:O, s:O*, s:O, s:O, s:O, s:O*, s:O*, s:O*}", "id", json_object_get(record, "id"), "type",
                      json_object_get(record, "type"), "payload", json_object_get(record, "payload"), "version",
                      json_object_get(record, "version"), "time", json_object_get(row, "time"), "score",
                      json_object_get(row, "score"), "disputed", json_object_get(record, "disputed"), "disputed_more",
                      json_object_get(record, "disputed_more"));
        return o ? context_take(records, o, room) : -ENOMEM;
}

int context_lane_put(json_t *lanes, Kind kind, json_t *records) {
        json_t *o = json_pack("{s:s, s:b, s:o}", "lane", class_name(kind_class(kind)), "advisory", 1, "records", records);

        return json_array_append_new(lanes, o) == 0 ? 0 : -ENOMEM;
}

static int lane_one(Context *c, Kind kind, const MemoryQuery *q, json_t *lanes) {
        _cleanup_json_ json_t *rows = NULL, *records = json_array();
        const char *name = class_name(kind_class(kind));
        size_t room = c->left == SIZE_MAX ? SIZE_MAX : c->left / 2, before = room;
        bool cut = false;
        int r = !records       ? -ENOMEM
                : q            ? lane_found(c, kind, q, &rows, &cut)
                : context_is_past(c->ask) ? lane_past(c, kind, &rows, &cut)
                               : lane_newest(c, kind, &rows, &cut);

        /* The best of a search, and the newest of a list, which stand last, come before others into the room. */
        for (size_t i = 0, n = json_array_size(rows); r == 0 && i < n; i++) {
                r = lane_add(c, kind, json_array_get(rows, q ? i : n - 1 - i), records, &room);
                if (r == 0)
                        cut = true;
                if (r == 0)
                        break;
                r = MIN(r, 0);
        }
        if (r == 0 && cut)
                r = context_cut(c, name);
        if (r == 0 && !q) { /* oldest first */
                for (size_t i = 0, n = json_array_size(records); i < n / 2; i++) {
                        json_t *x = json_incref(json_array_get(records, i));

                        json_array_set(records, i, json_array_get(records, n - 1 - i));
                        json_array_set_new(records, n - 1 - i, x);
                }
        }
        c->left -= c->left == SIZE_MAX ? 0 : before - room;
        return r ?: context_lane_put(lanes, kind, json_incref(records));
}

/* Archived and removed records are never served, so a query must not ask for them. */
static int lane_query(const ContextAsk *ask, MemoryQuery *ret, Diag *reterr) {
        const char *query = ask->query;
        int r = query_parse(query, strlen(query), ask->lane, ask->now_usec, ret, reterr);

        if (r == 0 && ret->filter.states && ret->filter.states != 1U << RECORD_ACTIVE)
                r = diag(reterr, QUERY_E_BAD, "query \"%s\": state: only active records are served",
                         DIAG_QUOTED(query));
        return r > 0 ? ENGINE_E_BAD_QUERY : r;
}

int context_check_query(const ContextAsk *ask, Diag *reterr) {
        _cleanup_query_ MemoryQuery q = QUERY_NULL;

        return ask->query ? lane_query(ask, &q, reterr) : 0;
}

int context_lanes(Context *c, json_t *lanes) {
        _cleanup_query_ MemoryQuery q = QUERY_NULL;
        int r;

        if (c->ask->query && context_is_past(c->ask))
                return diag(c->reterr, ENGINE_E_BAD_QUERY,
                            "a context of an earlier moment has no search: the index has the present words alone");
        r = c->ask->query ? lane_query(c->ask, &q, c->reterr) : 0;
        for (unsigned i = 0; r == 0 && i < ARRAY_SIZE(memory_families); i++)
                if (c->ask->tiers & 1U << (CONTEXT_MEMORY + i))
                        r = lane_one(c, memory_families[i], c->ask->query ? &q : NULL, lanes);
        return r;
}
