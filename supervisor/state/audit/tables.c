#include "audit/audit-internal.h"

#include "engine/engine.h"
#include "schema/jsonschema.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The canonical tables against what the fold gave. */

static int unequal(Audit *a, const char *what, const char *name, const char *field, uint64_t expected, uint64_t found) {
        broken(a, false, what, "%s: %s %" PRIu64, name, field, expected);
        return broken_found(a, "%" PRIu64, found);
}

static int count(Audit *a, Table table, uint64_t expected) {
        uint64_t n;
        int r = table_rows(a->txn, table, &n);

        if (r == 0 && n != expected)
                return unequal(a, "a table has another number of rows than the ledger gives", table_name(table), "rows",
                               expected, n);
        return r;
}

/* The value that holds now still fits the slot's schema. */
static int fits(Audit *a, const char *name, const SlotRow *row) {
        _cleanup_jsonschema_ JsonSchema *schema = NULL;
        _cleanup_json_ json_t *text = NULL, *value = NULL;
        Bytes body;
        Diag d = {0};
        int r = body_get(a->txn, row->defined, NULL, &body);

        if (r == 0)
                r = json_parse(body.p, body.n, SLOT_VALUE_MAX, JSONSCHEMA_DEPTH_MAX, &text, &d);
        if (r == 0)
                r = jsonschema_compile(text, &schema, &d);
        if (r == 0 && row->version > 0) {
                r = body_get(a->txn, row->body, NULL, &body);
                if (r == 0)
                        r = json_parse(body.p, body.n, SLOT_VALUE_MAX, JSON_DEPTH_DEFAULT, &value, &d);
                if (r == 0)
                        r = jsonschema_validate(schema, value, &d);
        }
        if (r > 0) {
                broken(a, false, "a slot's schema or value is not what its definition allows", "%s: a value that fits",
                       name);
                return broken_found(a, "%s", d.text);
        }
        return r;
}

static int check_slot(Audit *a, const char *name, const SlotRow *row) {
        const SlotRow *f = map_get(&a->slots, name);

        if (!f) {
                broken(a, false, "table slot has a slot that the ledger does not define", "no row %s", name);
                return broken_found(a, "one");
        }
        if (row->defined != f->defined)
                return unequal(a, "table slot differs from the ledger", name, "defined at", f->defined, row->defined);
        if (row->version != f->version)
                return unequal(a, "table slot differs from the ledger", name, "version", f->version, row->version);
        if (row->written != f->written)
                return unequal(a, "table slot differs from the ledger", name, "written at", f->written, row->written);
        if (row->body != f->body)
                return unequal(a, "table slot differs from the ledger", name, "payload of", f->body, row->body);
        if (row->arbitrated != f->arbitrated)
                return unequal(a, "table slot differs from the ledger", name, "rules of arbitration", f->arbitrated, row->arbitrated);
        if (row->held_version != f->held_version)
                return unequal(a, "table slot differs from the ledger", name, "held version", f->held_version,
                               row->held_version);
        if (f->held_version && (row->held_seq != f->held_seq || strcmp(row->held_by, f->held_by) != 0)) {
                broken(a, false, "table slot differs from the ledger", "%s: held by %s since %" PRIu64, name,
                       f->held_by, f->held_seq);
                return broken_found(a, "held by %s since %" PRIu64, row->held_by, row->held_seq);
        }
        return fits(a, name, row);
}

static int check_slots(Audit *a) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open(a->txn, TABLE_SLOT, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                char name[SLOT_NAME_MAX + 1] = "";
                SlotRow row;

                if (k.n > SLOT_NAME_MAX)
                        return -EUCLEAN;
                memcpy(name, k.p, k.n);
                r = slot_row_decode(v, &row);
                if (r == 0)
                        r = check_slot(a, name, &row);
        }
        return r == -ENOENT ? count(a, TABLE_SLOT, a->slots.n) : r;
}

static int check_held(Audit *a, uint64_t *ret_n) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint64_t n = 0, open = 0;
        Bytes k, v;
        int r = cursor_open(a->txn, TABLE_HELD, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                const FoldedRegion *f;
                const FoldedHeld *h = NULL;
                HeldRow row;

                r = held_row_decode(k, v, &row);
                if (r < 0)
                        return r;
                f = map_get(&a->regions, row.region);
                for (uint64_t i = f && f->held ? f->n_settled : UINT64_MAX; f && f->held && i < f->n_held && !h; i++)
                        if (f->held[i].seq == row.seq)
                                h = &f->held[i];
                if (!h || h->version != row.version || strcmp(h->slot, row.name) != 0) {
                        broken(a, false, "table held has a proposal that the ledger does not have open",
                               "no row of region %s, seq %" PRIu64, row.region, row.seq);
                        return broken_found(a, "version %" PRIu64 " of %s", row.version, row.name);
                }
                n++;
        }
        for (size_t i = 0; i < a->regions.room; i++) {
                const FoldedRegion *f = a->regions.items[i].value;

                if (f && !f->ended)
                        open += f->n_held - f->n_settled;
        }
        *ret_n = open;
        return r == -ENOENT ? 0 : r;
}

/* A region may be without its end only while its supervisor lives. Between our snapshot and now it may have ended well.
 */
static int check_alive(Audit *a, const RegionRow *row) {
        _cleanup_txn_ Txn *now = NULL;
        const FoldedRegion *f;
        RegionRow again = {0};
        int r;

        if (!store_lock_is_free(txn_store(a->txn), row->supervisor_lock))
                return 0;
        r = store_begin(txn_store(a->txn), false, &now, NULL);
        if (r != 0)
                return r < 0 ? r : -EIO;
        r = engine_region_get(now, row->region, &again);
        region_row_deinit(&again);
        if (r == ENGINE_E_NO_REGION)
                return 0;
        if (r < 0)
                return r;
        broken(a, false, "a region was allocated and never released, and its supervisor is gone (I-60)",
               "region.released of %s, or its supervisor %" PRIu64 " alive", row->region, row->supervisor_pid);
        f = map_get(&a->regions, row->region);
        if (f && f->left)
                return broken_found(a, "region.left: the next 'lethe run' after the end of its processes records that");
        return broken_found(a, "neither; the next 'lethe run' on this store recovers it");
}

static int check_regions(Audit *a) {
        RegionRow *rows = NULL;
        size_t n = 0;
        int r = engine_region_list(a->txn, &rows, &n);

        for (size_t i = 0; i < n; i++) {
                if (r == 0) {
                        const FoldedRegion *f = map_get(&a->regions, rows[i].region);

                        if (!f || f->ended) {
                                broken(a, false, "table region has a region that the ledger does not have alive",
                                       "no row %s", rows[i].region);
                                r = broken_found(a, "%s",
                                                 f ? "one, though it ended" : "one, though it was never allocated");
                        } else
                                r = check_alive(a, &rows[i]);
                }
                region_row_deinit(&rows[i]);
        }
        free(rows);
        return r == 0 ? count(a, TABLE_REGION, a->report->alive) : r;
}

int tables_check(Audit *a) {
        uint64_t held = 0, gathered = 0;
        int r = check_slots(a);

        if (r == 0)
                r = check_held(a, &held);
        if (r == 0)
                r = count(a, TABLE_HELD, held);
        if (r == 0)
                r = count(a, TABLE_HIST, a->n_hist);
        if (r == 0)
                r = arbitration_check(a, &gathered);
        if (r == 0)
                r = count(a, TABLE_GATHER, gathered);
        if (r == 0)
                r = count(a, TABLE_VERDICT, a->n_verdicts);
        if (r == 0)
                r = check_regions(a);
        if (r == 0)
                r = check_skills(a);
        return r;
}
