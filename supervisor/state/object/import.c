#include "base/hash.h"
#include "engine/fold-slot.h"
#include "object/append.h"
#include "object/chain.h"
#include "object/import-inside.h"
#include "object/report.h"
#include "store/hooks.h"

#include <errno.h>

#define BRANCHES_MAX 16 /* of an object, until an adoption */

static void import_deinit(Import *i) {
        object_row_deinit(&i->row);
        json_decref(i->keys);
}

static int import_look(Import *i, Diag *reterr) {
        Diag none;
        int r = object_get(i->t, i->id, &i->row, &none);

        if (r == ENGINE_E_NO_OBJECT) {
                i->how = "new";
                return 0;
        }
        if (r == 0)
                r = chain_common(i->t, i->id, i->row.n, i->b, &i->common, reterr);
        if (r != 0)
                return r;
        i->other = i->common == 0;
        i->how = i->other ? "new"
                 : i->common < i->b->n && i->common < i->row.n ? "forked"
                 : i->common < i->b->n                       ? "ahead"
                 : i->common < i->row.n                      ? "behind"
                                                             : "equal";
        return 0;
}

static int import_event(const Import *i) {
        json_t *fields = json_pack("{s:s, s:s, s:o, s:o*, s:O*}", "object", i->id, "how", i->how, "n",
                                   json_u64(i->b->n), "unknown", i->unknown ? json_true() : NULL, "keys",
                                   json_object_size(i->keys) > 0 ? i->keys : NULL);

        return fold_slot_append(i->t, &(Event){.type = "object.imported", .who = i->who, .fields = fields}, NULL);
}

static int import_replace(const Import *i) {
        char head[HASH_HEX_MAX];
        json_t *fields = json_pack("{s:s, s:o, s:s}", "object", i->id, "n", json_u64(i->row.n), "head",
                                   hex_encode(i->row.head, ENTRY_HASH_BYTES, head));

        return fold_slot_append(i->t, &(Event){.type = "object.replaced", .who = i->who, .fields = fields}, NULL);
}

static int import_ahead(const Import *i) {
        int r = i->other ? import_replace(i) : 0;

        for (size_t n = i->common; r == 0 && n < i->b->n; n++)
                r = append_foreign(i->t, &i->b->entries[n], &i->b->memory, n + 1 == i->b->n, i->who);
        return r ?: import_event(i);
}

/* No new entry; but the object may be back, or the verdict on the keys may have changed. */
static int import_equal(const Import *i) {
        return i->row.away || i->row.behind || i->row.unknown != i->unknown ? import_event(i) : 0;
}

/* O-8. Only an absent object waits for an import: an old copy of a present object is no news. */
static int import_behind(const Import *i) {
        return i->row.away && !i->row.behind ? import_event(i) : 0;
}

/* O-42: the store keeps the second history, whole, beside the own history. */
static int import_branch(const Import *i, Diag *reterr) {
        const json_t *branches = json_object_get(i->row.row, "branches");
        const Entry *last = &i->b->entries[i->b->n - 1];
        _cleanup_buf_ Buf lines = {.max = OBJECT_BUNDLE_MAX};
        char hex[HASH_HEX_MAX];
        json_t *fields;
        int r = 0;

        hex_encode(last->hash, ENTRY_HASH_BYTES, hex);
        for (size_t k = 0; k < json_array_size(branches); k++)
                if (json_text_is(json_object_get(json_array_get(branches, k), "head"), hex))
                        return 0;
        if (json_array_size(branches) >= BRANCHES_MAX)
                return diag(reterr, ENGINE_E_TOO_MANY,
                            "object %s has %d more histories here already: `lethe object adopt %s HEAD` "
                            "continues a history",
                            i->id, BRANCHES_MAX, i->id);
        for (size_t n = i->common; r == 0 && n < i->b->n; n++)
                r = entry_print(&i->b->entries[n], &lines) ?: buf_add(&lines, "\n", 1);
        if (r < 0)
                return r;
        fields = json_pack("{s:s, s:o, s:o, s:s, s:O*}", "object", i->id, "from", json_u64(i->common), "n",
                           json_u64(i->b->n), "head", hex, "keys", json_object_size(i->keys) > 0 ? i->keys : NULL);
        return fold_slot_append(i->t,
                                &(Event){.type = "object.branch",
                                         .who = i->who,
                                         .fields = fields,
                                         .payload = lines.data,
                                         .n_payload = lines.n},
                                NULL);
}

static int import_answer(const Import *i, json_t **ret, Diag *reterr) {
        _cleanup_object_row_ ObjectRow row = {0};
        Diag none;
        int r = object_get(i->t, i->id, &row, reterr);

        if (r != 0)
                return r;
        *ret = json_pack("{s:s, s:s, s:o, s:s, s:b}", "object", i->id, "how", i->other ? "replaced" : i->how, "n",
                         json_u64(row.n), "state",
                         object_state_name(row.state), "eligible", object_eligible(&row, &none) == 0);
        return *ret ? 0 : -ENOMEM;
}

int object_import(Txn *t, const ObjectBundle *b, const char *who, uint64_t max_objects, json_t **ret, Diag *reterr) {
        _cleanup_(import_deinit)
                Import i = {.t = t, .b = b, .who = who, .id = b->memory.object, .max_objects = max_objects};
        int r = import_look(&i, reterr) ?: import_judge_keys(&i, reterr) ?: import_check_other(&i, reterr)
                        ?: import_check_trust(&i, reterr) ?: import_check_room(&i, reterr) ?: import_check_max(&i, reterr)
                        ?: import_check_parent(&i, reterr) ?: import_check_children(&i, reterr);

        if (r != 0)
                return r;
        switch (*i.how) {
        case 'n':
        case 'a': r = import_ahead(&i) ?: report_arrived(t, i.id, who, reterr); break;
        case 'e': r = import_equal(&i) ?: report_arrived(t, i.id, who, reterr); break;
        case 'b': r = import_behind(&i); break;
        default: r = import_branch(&i, reterr);
        }
        return r ?: import_answer(&i, ret, reterr);
}
