#include "base/hash.h"
#include "engine/fold-slot.h"
#include "object/chain.h"
#include "object/transfer.h"
#include "object/trust.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>

/* Exactly the keys of the signers of the entries. */
static int transfer_add_keys(Txn *t, const ObjectRow *row, ObjectBundle *b, Diag *reterr) {
        b->keys = json_object();
        for (size_t i = 0; b->keys && i < b->n; i++) {
                char vkey[VKEY_MAX];
                int r;

                if (json_object_get(b->keys, b->entries[i].keyid))
                        continue;
                r = trust_key(t, row, b->entries[i].keyid, vkey);
                if (r == -ENOENT)
                        return diag(reterr, ENGINE_E_UNKNOWN_SIGNER,
                                    "object %s: entry %zu was signed by the key %s, and the "
                                    "key is not known here",
                                    row->object, i, b->entries[i].keyid);
                if (r < 0 || json_object_set_new(b->keys, b->entries[i].keyid, json_string(vkey)) < 0)
                        return r < 0 ? r : -ENOMEM;
        }
        return b->keys ? 0 : -ENOMEM;
}

static int transfer_add_schema(Txn *t, const char *slot, json_t *schemas) {
        char text[sizeof("sha256:") + HASH_HEX_MAX] = "sha256:";
        SlotRow row;
        Bytes body;
        int r = slot_row_get(t, slot, &row) ?: body_get(t, row.defined, NULL, &body);

        if (r < 0) /* no such slot here */
                return r == -ENOENT ? 0 : r;
        hash_hex(body.p, body.n, text + strlen(text));
        return json_object_set_new(schemas, slot, json_string(text)) < 0 ? -ENOMEM : 0;
}

static int transfer_add_schemas(Txn *t, ObjectBundle *b) {
        const json_t *first = json_object_get(b->entries[0].json, "data"),
                     *scope = json_object_get(json_object_get(first, "context"), "scope"), *slot;
        static const char *const lists[] = {"reads", "writes"};
        size_t k;
        int r = 0;

        b->schemas = json_object();
        for (size_t i = 0; b->schemas && i < ARRAY_SIZE(lists); i++)
                json_array_foreach(json_object_get(scope, lists[i]), k, slot)
                        if (r == 0 && json_text(slot))
                                r = transfer_add_schema(t, json_text(slot), b->schemas);
        return b->schemas ? r : -ENOMEM;
}

static int transfer_may_move(const ObjectRow *row, Diag *reterr) {
        int r = object_eligible(row, reterr);

        if (r == 0 && row->state == OBJECT_EXECUTION)
                r = diag(reterr, ENGINE_E_RUNNING,
                         "object %s executes: the object can move after the outcome; after a crash, "
                         "`lethe object cycle %s` records the interruption",
                         row->object, row->object);
        return r;
}

int object_export(Txn *t, const char *id, bool move, const char *who, Buf *ret, Diag *reterr) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        _cleanup_object_row_ ObjectRow row = {0};
        char hex[HASH_HEX_MAX];
        int r = object_get(t, id, &row, reterr);

        if (r == 0 && move)
                r = transfer_may_move(&row, reterr);
        if (r == 0)
                r = chain_read(t, id, 0, row.n, &b, reterr)
                        ?: transfer_add_keys(t, &row, &b, reterr)
                        ?: transfer_add_schemas(t, &b)
                        ?: object_bundle_print(&b, ret);
        if (r == -EFBIG)
                return diag(reterr, ENGINE_E_TOO_LARGE, "object %s: the file would have more than %d bytes", id,
                            OBJECT_BUNDLE_MAX);
        if (r != 0 || !move)
                return r;
        return fold_slot_append(t,
                                &(Event){.type = "object.moved",
                                         .who = who,
                                         .fields = json_pack("{s:s, s:o, s:s}", "object", id, "n", json_u64(row.n),
                                                             "head", hex_encode(row.head, ENTRY_HASH_BYTES, hex))},
                                NULL);
}
