#include "object/trust.h"

#include "engine/fold-slot.h"
#include "object/append.h"
#include "object/report.h"
#include "object/transfer.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void trust_own(Txn *t, char ret[static VKEY_MAX]) {
        const Store *s = txn_store(t);

        note_vkey(store_origin(s), store_public_key(s), ret);
}

int trust_look(Txn *t, const char *keyid, const char *vkey, SignerState *ret) {
        _cleanup_json_ json_t *row = NULL;
        char own[VKEY_MAX];
        int r;

        trust_own(t, own);
        *ret = SIGNER_OWN;
        if (strcmp(own, vkey) == 0)
                return 0;
        *ret = SIGNER_UNKNOWN;
        r = object_trust_get(t, keyid, &row);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        if (json_text_is(json_object_get(row, "vkey"), vkey))
                *ret = json_text_is(json_object_get(row, "state"), "trusted") ? SIGNER_TRUSTED : SIGNER_REVOKED;
        return 0;
}

int trust_key(Txn *t, const ObjectRow *row, const char *keyid, char ret[static VKEY_MAX]) {
        const char *came = json_text(json_object_get(json_object_get(row->row, "keys"), keyid));
        char own[ENTRY_KEYID_LEN + 1];
        int r;

        append_keyid(txn_store(t), own);
        if (came)
                snprintf(ret, VKEY_MAX, "%s", came);
        else if (strcmp(own, keyid) == 0)
                trust_own(t, ret);
        else {
                _cleanup_json_ json_t *known = NULL;

                r = object_trust_get(t, keyid, &known);
                if (r < 0)
                        return r;
                snprintf(ret, VKEY_MAX, "%s", json_str(known, "vkey"));
        }
        return 0;
}

int trust_judge(Txn *t, const ObjectRow *row, bool *ret_unknown) {
        const json_t *signer;
        size_t i;

        *ret_unknown = false;
        json_array_foreach(json_object_get(row->row, "signers"), i, signer) {
                SignerState state = SIGNER_UNKNOWN;
                char vkey[VKEY_MAX];
                int r = trust_key(t, row, json_text(signer), vkey);

                if (r == 0)
                        r = trust_look(t, json_text(signer), vkey, &state);
                if (r < 0 && r != -ENOENT)
                        return r;
                *ret_unknown |= state == SIGNER_UNKNOWN || state == SIGNER_REVOKED;
        }
        return 0;
}

static bool trust_signed(const ObjectRow *row, const char *keyid) {
        const json_t *list = json_object_get(row->row, "signers");

        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_text_is(json_array_get(list, i), keyid))
                        return true;
        return false;
}

/* The object becomes eligible, or ceases to be eligible. */
static int trust_change(Txn *t, const char *id, const char *keyid, const char *who) {
        _cleanup_object_row_ ObjectRow row = {0};
        bool unknown;
        json_t *fields;
        Diag d;
        int r = object_get(t, id, &row, &d);

        if (r != 0 || !trust_signed(&row, keyid))
                return r > 0 ? -EUCLEAN : r;
        r = trust_judge(t, &row, &unknown);
        if (r < 0 || unknown == row.unknown)
                return r;
        fields = json_pack("{s:s, s:o, s:O*, s:O*, s:o*}", "object", id, "n", json_u64(row.n), "due",
                           json_object_get(row.row, "due"), "wake", json_object_get(row.row, "wake"), "unknown",
                           unknown ? json_true() : NULL);
        return fold_slot_append(t, &(Event){.type = "object.armed", .who = who, .fields = fields}, NULL)
                       ?: unknown ? 0 : report_arrived(t, id, who, &d);
}

/* The objects whose row has the key id. Other rows are not parsed: a store may have a million objects. */
static int trust_find(Txn *t, const char *keyid, json_t *ids) {
        static const char row[] = "\0row";
        _cleanup_cursor_ Cursor *c = NULL;
        char quoted[ENTRY_KEYID_LEN + 3];
        Bytes k, v;
        int r = cursor_open(t, TABLE_OBJECT, BYTES(NULL, 0), &c);

        snprintf(quoted, sizeof(quoted), "\"%s\"", keyid);
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0)
                if (k.n == REGION_ID_LEN + sizeof(row) - 1 &&
                    memcmp((const char *)k.p + REGION_ID_LEN, row, sizeof(row) - 1) == 0 &&
                    memmem(v.p, v.n, quoted, ENTRY_KEYID_LEN + 2) &&
                    json_array_append_new(ids, json_stringn(k.p, REGION_ID_LEN)) < 0)
                        r = -ENOMEM;
        return r == -ENOENT ? 0 : r;
}

static int trust_change_all(Txn *t, const char *keyid, const char *who) {
        _cleanup_json_ json_t *ids = json_array();
        const json_t *id;
        size_t i;
        int r = ids ? trust_find(t, keyid, ids) : -ENOMEM;

        json_array_foreach(ids, i, id)
                if (r == 0)
                        r = trust_change(t, json_text(id), keyid, who);
        return r;
}

static int trust_answer(const char *node, const char *vkey, const char *state, json_t **ret) {
        *ret = json_pack("{s:s, s:s, s:s}", "node", node, "vkey", vkey, "state", state);
        return *ret ? 0 : -ENOMEM;
}

int object_trust(Txn *t, const char *vkey, bool revoke, const char *who, json_t **ret, Diag *reterr) {
        const char *state = revoke ? "revoked" : "trusted";
        char name[NOTE_NAME_MAX], keyid[NOTE_KEYID_MAX];
        _cleanup_json_ json_t *known = NULL;
        uint8_t key[32];
        SignerState now;
        int r = note_vkey_parse(vkey, name, key, reterr);

        if (r > 0)
                return ENGINE_E_BAD_PAYLOAD;
        note_keyid(name, key, keyid);
        r = trust_look(t, keyid, vkey, &now);
        if (r < 0)
                return r;
        if (now == SIGNER_OWN && revoke)
                return diag(reterr, ENGINE_E_BAD_OPERATION,
                            "%s is the own key of the store: a store without a key cannot append", vkey);
        if (now == SIGNER_OWN)
                return trust_answer(name, vkey, "own", ret);
        if (!revoke && strcmp(name, store_origin(txn_store(t))) == 0)
                return diag(reterr, ENGINE_E_BAD_OPERATION,
                            "%s has the name of this node, and is not its key: entries of the key would count as "
                            "entries of this node",
                            vkey);
        r = object_trust_get(t, keyid, &known);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && now == SIGNER_UNKNOWN)
                return diag(reterr, ENGINE_E_EXISTS,
                            "the key id %s belongs to the key %s here: either key was made to look like "
                            "the known key",
                            keyid, json_str(known, "vkey"));
        if (now == (revoke ? SIGNER_REVOKED : SIGNER_TRUSTED))
                return trust_answer(name, vkey, state, ret);
        r = fold_slot_append(
                    t,
                    &(Event){.type = revoke ? "object.revoked" : "object.trusted",
                             .who = who,
                             .fields = json_pack("{s:s, s:s, s:s}", "keyid", keyid, "node", name, "vkey", vkey)},
                    NULL)
                    ?: trust_change_all(t, keyid, who);
        return r ?: trust_answer(name, vkey, state, ret);
}

int object_trusted(Txn *t, json_t **ret) {
        static const char prefix[] = OBJECT_TRUST; /* with the NUL */
        _cleanup_json_ json_t *list = json_array();
        _cleanup_cursor_ Cursor *c = NULL;
        char own[VKEY_MAX];
        Bytes k, v;
        int r;

        trust_own(t, own);
        if (json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "node", store_origin(txn_store(t)), "vkey", own,
                                                  "state", "own")) < 0)
                return -ENOMEM;
        r = cursor_open_within(t, TABLE_OBJECT, BYTES(prefix, sizeof(prefix)), sizeof(prefix), &c);
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                _cleanup_json_ json_t *row = NULL;

                r = json_row_parse(v, OBJECT_ROW_MAX, &row);
                if (r == 0 &&
                    json_array_append_new(list, json_pack("{s:O, s:O, s:O}", "node", json_object_get(row, "node"),
                                                          "vkey", json_object_get(row, "vkey"), "state",
                                                          json_object_get(row, "state"))) < 0)
                        r = -ENOMEM;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(list);
        return 0;
}
