#include "engine/region-row.h"

#include "base/id.h"
#include "engine/execution.h"
#include "record/rows.h"
#include "store/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdatomic.h>
#include <string.h>

#define ROW_MAX (512 * 1024)

int region_json_get(Txn *t, const char *region, json_t **ret) {
        Bytes v;
        int r;

        if (!region_id_valid(region))
                return ENGINE_E_NO_REGION;
        r = table_get(t, TABLE_REGION, BYTES_STR(region), &v);
        if (r == -ENOENT)
                return ENGINE_E_NO_REGION;
        return r < 0 ? r : json_row_parse(v, ROW_MAX, ret);
}

int region_json_need(Txn *t, const char *region, json_t **ret, Diag *reterr) {
        int r = region_json_get(t, region, ret);

        return r == ENGINE_E_NO_REGION ? diag(reterr, r, "region %s is not alive", region) : r;
}

int region_json_put(Txn *t, const char *region, const json_t *row, bool fresh) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        return json_canonical(row, &text, &n)
                ?: (fresh ? table_add : table_put)(t, TABLE_REGION, BYTES_STR(region), BYTES(text, n));
}

int region_json_del(Txn *t, const char *region) {
        return table_del(t, TABLE_REGION, BYTES_STR(region));
}

int region_broke_above(Txn *t, const json_t *row, char ret[static REGION_BROKE_MAX]) {
        const char *above = json_text(json_object_get(row, "parent")),
                   *noted = json_text(json_object_get(row, "broke_above"));
        _cleanup_json_ json_t *owned = NULL;

        *ret = 0;
        if (json_object_get(row, "discard_asked")) {
                snprintf(ret, REGION_BROKE_MAX, "discard_asked");
                return 0;
        }
        if (noted) { /* noted for a region left behind: the regions above may have ended */
                snprintf(ret, REGION_BROKE_MAX, "%s", noted);
                return 0;
        }
        if (json_object_get(row, "object") && !json_object_get(row, "below")) {
                ExecutionRow open;
                int r = execution_get(t, json_str(row, "object"), json_str(row, "trace"), &open);

                if (r == -ENOENT)
                        snprintf(ret, REGION_BROKE_MAX, "%s", EXECUTION_OVER);
                if (r < 0)
                        return r == -ENOENT ? 0 : r;
        }
        while (above) {
                _cleanup_json_ json_t *next = NULL;
                const char *outcome;
                int r = region_json_get(t, above, &next);

                if (r != 0)
                        return r == ENGINE_E_NO_REGION ? 0 : r;
                outcome = json_text(json_object_get(next, "faulted"))
                                  ?: (json_object_get(next, "discard_asked") ? "discard_asked" : NULL);
                if (outcome) {
                        snprintf(ret, REGION_BROKE_MAX, "%s of %s", outcome, above);
                        return 0;
                }
                json_decref(owned);
                owned = TAKE_PTR(next);
                above = json_text(json_object_get(owned, "parent"));
        }
        return 0;
}

void region_row_deinit(RegionRow *r) {
        json_decref(r->detail);
        *r = (RegionRow){0};
}

void region_rows_free(RegionRow *rows, size_t n) {
        for (size_t i = 0; i < n; i++)
                region_row_deinit(&rows[i]);
        free(rows);
}

static int region_row_decode(const char *id, json_t *row, RegionRow *ret) {
        RegionRow out = {.cgroup = json_text(json_object_get(row, "cgroup")),
                         .scratch = json_text(json_object_get(row, "scratch"))};
        int r = json_row_number(row, "supervisor", &out.supervisor_pid)
                ?: json_row_number(row, "lock", &out.supervisor_lock)
                ?: json_row_number(row, "pid", &out.pid)
                ?: json_row_number(row, "start_ticks", &out.start_ticks);

        if (r < 0)
                return r;
        out.detail = json_incref(row);
        memcpy(out.region, id, REGION_ID_LEN);
        *ret = out;
        return 0;
}

int engine_region_get(Txn *t, const char *region, RegionRow *ret) {
        _cleanup_json_ json_t *row = NULL;
        int r = region_json_get(t, region, &row);

        return r != 0 ? r : region_row_decode(region, row, ret);
}

int engine_region_count(Txn *t, uint64_t *ret) {
        uint64_t ahead = atomic_load(store_regions_ahead(txn_store(t))), rows;
        int r = table_rows(t, TABLE_REGION, &rows);

        if (r == 0)
                *ret = rows - MIN(ahead, rows);
        return r;
}

int engine_region_list(Txn *t, RegionRow **ret, size_t *ret_n) {
        _cleanup_cursor_ Cursor *c = NULL;
        RegionRow *rows = NULL;
        size_t n = 0;
        Bytes k, v;
        int r = cursor_open(t, TABLE_REGION, BYTES(NULL, 0), &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                _cleanup_json_ json_t *row = NULL;
                char id[REGION_ID_MAX] = "";

                if (k.n != REGION_ID_LEN) {
                        r = -EUCLEAN;
                        break;
                }
                memcpy(id, k.p, REGION_ID_LEN);
                r = !GROW(rows, n) ? -ENOMEM : json_row_parse(v, ROW_MAX, &row) ?: region_row_decode(id, row, &rows[n]);
                if (r == 0)
                        n++;
        }
        if (r != -ENOENT) {
                region_rows_free(rows, n);
                return r;
        }
        *ret = rows;
        *ret_n = n;
        return 0;
}
