#include "engine/lineage.h"

#include "engine/region-row.h"
#include "record/event-types.h"

#include <errno.h>
#include <string.h>

static EventDetail lineage_row_detail(const json_t *row) {
        const char *s = json_text(json_object_get(row, "lineage"));

        return s && strcmp(s, "stats") == 0     ? EVENT_DETAIL_STATS
               : s && strcmp(s, "handles") == 0 ? EVENT_DETAIL_HANDLES
                                                : EVENT_DETAIL_EVENTS;
}

/* Adds the event's `count`, or 1; a refusal counts by code. */
static int lineage_count(json_t *row, const Event *e) {
        const char *code = json_text(json_object_get(e->fields, "code"));
        json_t *counts = json_object_get(row, "counts");
        uint64_t n, before = 0;
        char key[128];

        if (json_get_u64(json_object_get(e->fields, "count"), &n) < 0)
                n = 1;
        if (!counts && json_object_set_new(row, "counts", counts = json_object()) < 0)
                return -ENOMEM;
        snprintf(key, sizeof(key), "%s%s%s", e->type, code ? "/" : "", code ? code : "");
        json_get_u64(json_object_get(counts, key), &before);
        return json_object_set_new(counts, key, json_u64(before + n)) < 0 ? -ENOMEM : 0;
}

int lineage_event(Txn *t, json_t *row, const Event *e, uint64_t *ret_seq, bool *ret_counted) {
        int r;

        *ret_counted = row && lineage_row_detail(row) < event_type_detail(e->type);
        if (!*ret_counted)
                return event_append(t, e, ret_seq);
        r = e->fields ? lineage_count(row, e) : -ENOMEM;
        json_decref(e->fields);
        return r;
}

int lineage_event_of(Txn *t, const Event *e, uint64_t *ret_seq) {
        _cleanup_json_ json_t *row = NULL;
        bool counted = false;
        int r = event_type_detail(e->type) == EVENT_DETAIL_STATS || !e->region ? 0 : region_json_get(t, e->region, &row);

        if (r < 0)
                json_decref(e->fields);
        else
                r = lineage_event(t, row, e, ret_seq, &counted);
        return r == 0 && counted ? region_json_put(t, e->region, row, false) : r;
}

json_t *lineage_released(const json_t *row, const json_t *fields) {
        json_t *o = fields ? json_copied(fields) : json_object(), *counts = json_object_get(row, "counts");
        const char *detail = json_text(json_object_get(row, "lineage"));

        if (!o ||
            json_object_set_new(o, "lineage",
                                json_pack("{s:s, s:O*}", "detail", detail ? detail : "events", "counts", counts)) < 0) {
                json_decref(o);
                return NULL;
        }
        return o;
}
