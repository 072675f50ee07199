#include "engine/engine.h"

#include "engine/lineage.h"
#include "engine/region-row.h"
#include "engine/slot.h"
#include "ledger/ledger.h"

#include <errno.h>
#include <string.h>

/* What becomes of one held proposal. The row of table slot is let go when this is the newest of the region's proposals
 * for it. */
static int settle(Txn *t, const HeldRow *h, bool keep, const char *reason) {
        _cleanup_json_ json_t *fields = NULL, *proposed = NULL;
        uint8_t key[HELD_KEY_BYTES];
        SlotRow row;
        uint64_t seq;
        int r;

        r = event_get(t, h->seq, &proposed);
        if (r == 0)
                r = slot_row_get(t, h->name, &row);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        fields = json_pack("{s:s, s:o, s:o}", "slot", h->name, "version", json_u64(h->version), "proposed",
                           json_u64(h->seq));
        if (!fields)
                return -ENOMEM;
        if (!keep && reason && json_object_set_new(fields, "reason", json_string(reason)) < 0)
                return -ENOMEM;
        r = event_append(t,
                         &(Event){.type = keep ? "slot.written" : "slot.discarded",
                                  .region = h->region,
                                  .fields = fields,
                                  .commitment = keep ? json_object_get(proposed, "body") : NULL},
                         &seq, NULL);
        if (r < 0)
                return r;
        if (row.held_seq == h->seq)
                row.held_version = 0;
        r = keep ? slot_project(t, h->name, &row, h->version, seq, h->seq) : slot_row_put(t, h->name, &row);
        if (r == 0) {
                held_key(h->region, h->seq, key);
                r = table_del(t, TABLE_HELD, BYTES(key, sizeof(key)));
        }
        return r == -ENOENT ? -EUCLEAN : r;
}

/* All of a region's proposals, in their order. */
static int settle_all(Txn *t, const char *region, bool keep, const char *reason) {
        for (;;) {
                _cleanup_cursor_ Cursor *c = NULL;
                HeldRow h;
                Bytes k, v;
                int r = cursor_open(t, TABLE_HELD, BYTES(region, REGION_ID_LEN), &c);

                if (r == 0)
                        r = cursor_next(c, &k, &v);
                if (r == -ENOENT)
                        return 0;
                if (r == 0)
                        r = held_row_decode(k, v, &h);
                if (r < 0)
                        return r;
                if (strcmp(h.region, region) != 0)
                        return 0;
                cursor_free(TAKE_PTR(c)); /* before its table is written */
                r = settle(t, &h, keep, reason);
                if (r < 0)
                        return r;
        }
}

static int end(Txn *t, const json_t *row, const RegionEnd *e, const json_t *recovered, uint64_t *ret_released, uint64_t *ret_ended) {
        const char *outcome = json_string_value(json_object_get(e->ended, "outcome"));
        _cleanup_json_ json_t *released = lineage_released(row, e->released);
        int r = released ? settle_all(t, e->region, e->keep, outcome) : -ENOMEM;

        if (r == 0)
                r = event_append(t, &(Event){.type = "region.released", .region = e->region, .fields = released},
                                 ret_released, NULL);
        if (r == 0 && recovered)
                r = event_append(t, &(Event){.type = "region.recovered", .region = e->region, .fields = recovered},
                                 NULL, NULL);
        if (r == 0)
                r = event_append(t, &(Event){.type = "invocation.ended", .region = e->region, .fields = e->ended},
                                 ret_ended, NULL);
        if (r == 0)
                r = region_json_del(t, e->region);
        if (r == 0)
                r = ledger_want_anchor(t);
        return r;
}

int engine_region_end(Txn *t, const RegionEnd *e, uint64_t *ret_released, uint64_t *ret_ended, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        int r = region_json_get(t, e->region, &row);

        if (r == ENGINE_E_NO_REGION)
                return diag(reterr, r, "region %s is not alive", e->region);
        return r < 0 ? r : end(t, row, e, NULL, ret_released, ret_ended);
}

int engine_region_recover(Txn *t, const char *region, const json_t *evidence, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL, *ended = NULL, *recovered = NULL;
        int r = region_json_get(t, region, &row);

        /* Another process was faster: what was to be done is done. */
        if (r == ENGINE_E_NO_REGION)
                return diag(reterr, r, "region %s is not alive", region);
        if (r < 0)
                return r;
        ended = json_pack("{s:s, s:s}", "outcome", "cancelled", "reason", "supervisor_died");
        recovered = json_pack("{s:O, s:O, s:O?}", "supervisor", json_object_get(row, "supervisor"), "allocated",
                              json_object_get(row, "allocated"), "pid", json_object_get(row, "pid"));
        if (!ended || !recovered)
                return -ENOMEM;
        /* The proposals were acknowledged: they hold, unless a breach of a budget was recorded already. */
        return end(t, row,
                   &(RegionEnd){.region = region,
                                .keep = !json_object_get(row, "faulted"),
                                .released = evidence,
                                .ended = ended},
                   recovered, NULL, NULL);
}
