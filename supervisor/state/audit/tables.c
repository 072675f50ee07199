#include "audit/fold-state.h"
#include "audit/history.h"
#include "engine/engine.h"
#include "schema/jsonschema.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Compares the canonical tables with the result of the fold. */

static int tables_unequal(Audit *a, const char *what, const char *name, const char *field, uint64_t expected,
                          uint64_t found) {
        return audit_store_differs(a, what, audit_text("%" PRIu64, found).s, "%s: %s %" PRIu64, name, field, expected);
}

static int tables_count(Audit *a, Table table, uint64_t expected) {
        uint64_t n;
        int r = table_rows(a->txn, table, &n);

        if (r == 0 && n != expected)
                return tables_unequal(a, "a table's number of rows differs from the ledger", table_name(table), "rows",
                               expected, n);
        return r;
}

/* The valid value still fits the slot's schema. */
static int tables_check_schema(Audit *a, const char *name, const SlotRow *row) {
        _cleanup_jsonschema_ JsonSchema *schema = NULL;
        _cleanup_json_ json_t *text = NULL, *value = NULL;
        Bytes body;
        Diag d = {0};
        int r = body_get(a->txn, row->defined, NULL, &body)
                ?: json_parse(body.p, body.n, SLOT_VALUE_MAX, JSONSCHEMA_DEPTH_MAX, &text, &d)
                ?: jsonschema_compile(text, &schema, &d);

        if (r == 0 && row->version > 0) {
                r = body_get(a->txn, row->body, NULL, &body);
                if (r == 0)
                        r = json_parse(body.p, body.n, SLOT_VALUE_MAX, JSON_DEPTH_DEFAULT, &value, &d)
                                ?: jsonschema_validate(schema, value, &d);
        }
        if (r > 0)
                return audit_store_differs(a, "a slot's schema or value does not agree with its definition", d.text,
                                           "%s: a value that fits", name);
        return r;
}

static int tables_check_slot(Audit *a, const char *name, const SlotRow *row) {
        static const char differs[] = "table slot differs from the ledger";
        const SlotRow *f = map_get(&a->slots, name);

        if (!f)
                return audit_store_differs(a, "table slot has a slot that the ledger does not define", "one",
                                           "no row %s", name);
        const struct {
                const char *name;
                uint64_t expected, found;
        } fields[] = {
                {"defined at", f->defined, row->defined},
                {"version", f->version, row->version},
                {"written at", f->written, row->written},
                {"payload of", f->body, row->body},
                {"rules of arbitration", f->arbitrated, row->arbitrated},
                {"held version", f->held_version, row->held_version},
        };
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                if (fields[i].expected != fields[i].found)
                        return tables_unequal(a, differs, name, fields[i].name, fields[i].expected, fields[i].found);
        if (f->held_version && (row->held_seq != f->held_seq || strcmp(row->held_by, f->held_by) != 0))
                return audit_store_differs(a, differs,
                                           audit_text("held by %s since %" PRIu64, row->held_by, row->held_seq).s,
                                           "%s: held by %s since %" PRIu64, name, f->held_by, f->held_seq);
        return tables_check_schema(a, name, row);
}

static int tables_check_slots(Audit *a) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open(a->txn, TABLE_SLOT, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                char name[SLOT_NAME_MAX + 1] = "";
                SlotRow row;

                if (k.n > SLOT_NAME_MAX)
                        return -EUCLEAN;
                memcpy(name, k.p, k.n);
                r = slot_row_decode(v, &row) ?: tables_check_slot(a, name, &row);
        }
        return r == -ENOENT ? tables_count(a, TABLE_SLOT, a->slots.n) : r;
}

static int tables_check_held(Audit *a, uint64_t *ret_n) {
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
                if (!h || h->version != row.version || strcmp(h->slot, row.name) != 0)
                        return audit_store_differs(a, "table held has a proposal that is not open in the ledger",
                                                   audit_text("version %" PRIu64 " of %s", row.version, row.name).s,
                                                   "no row of region %s, seq %" PRIu64, row.region, row.seq);
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

/* A region without an end needs a living supervisor. The region may have ended between the snapshot and now. */
static int tables_check_alive(Audit *a, const RegionRow *row) {
        const FoldedRegion *f;
        bool there;
        int r;

        if (!store_lock_is_free(txn_store(a->txn), row->supervisor_lock))
                return 0;
        r = history_is_there_now(a->txn, row->region, &there);
        if (r < 0 || !there)
                return r;
        f = map_get(&a->regions, row->region);
        return audit_store_differs(
                a, "a region was allocated and never released, and its supervisor is gone (I-60)",
                f && f->left ? "region.left: the next 'lethe run' after the end of its processes records that"
                             : "neither; the next 'lethe run' on this store recovers it",
                "region.released of %s, or its supervisor %" PRIu64 " alive", row->region, row->supervisor_pid);
}

static int tables_check_regions(Audit *a) {
        RegionRow *rows = NULL;
        size_t n = 0;
        int r = engine_region_list(a->txn, &rows, &n);

        for (size_t i = 0; i < n; i++) {
                if (r == 0) {
                        const FoldedRegion *f = map_get(&a->regions, rows[i].region);

                        if (!f || f->ended) {
                                r = audit_store_differs(a, "table region has a region that is not alive in the ledger",
                                                        f ? "a row of an ended region"
                                                          : "a row of a region that was never allocated",
                                                        "no row %s", rows[i].region);
                        } else
                                r = tables_check_alive(a, &rows[i]);
                }
                region_row_deinit(&rows[i]);
        }
        free(rows);
        return r == 0 ? tables_count(a, TABLE_REGION, a->report->alive) : r;
}

int tables_check(Audit *a) {
        uint64_t held = 0, gathered = 0;

        return tables_check_slots(a)
                ?: tables_check_held(a, &held)
                ?: tables_count(a, TABLE_HELD, held)
                ?: tables_count(a, TABLE_HIST, a->n_hist)
                ?: arbitration_check(a, &gathered)
                ?: tables_count(a, TABLE_GATHER, gathered)
                ?: tables_count(a, TABLE_VERDICT, a->n_verdicts)
                ?: tables_check_regions(a)
                ?: skills_check(a);
}
