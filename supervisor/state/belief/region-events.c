#include "belief/region-events.h"

#include "record/event.h"
#include "record/rows.h"

#include <errno.h>
#include <string.h>

/* *ret_o is NULL when the entry is not the region's. memmem() excludes most entries without parsing. */
static int region_events_own(const char *region, Bytes entry, json_t **ret_o) {
        _cleanup_json_ json_t *o = NULL;
        int r;

        *ret_o = NULL;
        if (!memmem(entry.p, entry.n, region, REGION_ID_LEN))
                return 0;
        r = json_row_parse(entry, LEDGER_ENTRY_MAX, &o);
        if (r == 0 && json_text_is(json_object_get(o, "region"), region))
                *ret_o = TAKE_PTR(o);
        return r;
}

/* Tells whether this event must be the first of the region. The events of a region that a gate refused stand
 * together; only objects that waited for such an event may wake in between. */
static int region_events_is_first(Txn *t, const char *region, uint64_t seq, const json_t *o, bool *ret) {
        _cleanup_json_ json_t *before = NULL;
        static const char woken[] = "\"type\":\"object.woken\"";
        const json_t *type = json_object_get(o, "type");
        Bytes entry = {0};
        int r = 0;

        *ret = json_text_is(type, "region.allocated");
        if (seq > 0 && (json_text_is(type, "gate.evaluated") || json_text_is(type, "region.refused"))) {
                do
                        r = ledger_get(t, --seq, &entry);
                while (r == 0 && seq > 0 && memmem(entry.p, entry.n, woken, sizeof(woken) - 1));
                if (r == 0)
                        r = region_events_own(region, entry, &before);
                *ret = r == 0 && !before;
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

/* The region's first event at `from` or later. Returns 0, -ENOENT, -errno. */
static int region_events_find(Txn *t, const char *region, uint64_t from, uint64_t size, uint64_t *ret,
                              bool *ret_begins) {
        _cleanup_walk_ LedgerWalk w = {0};
        int r = ledger_walk(t, from, &w);

        for (uint64_t i = from; r == 0 && i < size; i++) {
                _cleanup_json_ json_t *o = NULL;
                Bytes entry;

                r = ledger_next(&w, ret, &entry) ?: region_events_own(region, entry, &o);
                if (r == 0 && o)
                        return region_events_is_first(t, region, *ret, o, ret_begins);
        }
        return r == 0 ? -ENOENT : r == -ENOENT ? -EUCLEAN : r;
}

int region_events(Txn *t, const char *region, RegionEvents *ret) {
        uint64_t first;
        RegionEvents e = {.txn = t};
        bool begins = false;
        int r = ledger_state(t, &e.size, NULL);

        if (r < 0)
                return r;
        r = event_since(t, e.size, region_id_usec(region), &first)
                ?: region_events_find(t, region, first, e.size, &e.first, &begins);
        /* The clock was set back after the id was made: an earlier event is possible. */
        if ((r == 0 && !begins) || r == -ENOENT)
                r = region_events_find(t, region, 0, e.size, &e.first, &begins);
        if (r < 0)
                return r == -ENOENT ? REGION_EVENTS_E_NONE : r;
        r = ledger_walk(t, e.first, &e.walk);
        if (r < 0)
                return r;
        memcpy(e.region, region, REGION_ID_LEN);
        *ret = e;
        return 0;
}

int region_events_next(RegionEvents *e, uint64_t *ret_seq, Bytes *ret_entry, json_t **ret_o) {
        while (!e->over && e->walk.next < e->size) {
                json_t *o;
                int r = ledger_next(&e->walk, ret_seq, ret_entry) ?: region_events_own(e->region, *ret_entry, &o);

                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
                if (o) {
                        const json_t *type = json_object_get(o, "type");

                        e->over = !e->beyond_end &&
                                  (json_text_is(type, "invocation.ended") || json_text_is(type, "region.refused"));
                        *ret_o = o;
                        return 0;
                }
        }
        return -ENOENT;
}

void region_events_deinit(RegionEvents *e) {
        ledger_walk_deinit(&e->walk);
}
