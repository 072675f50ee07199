#include "object/transfer.h"

#include "base/hash.h"
#include "engine/fold-slot.h"
#include "object/append.h"
#include "object/chain.h"
#include "object/intent.h"
#include "object/report.h"
#include "object/trust.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>

#define BRANCHES_MAX 16 /* of an object, until an adoption */
#define KEYS_MAX 256    /* of the signers of an object */

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

typedef struct Import {
        Txn *t;
        const ObjectBundle *b;
        const char *who, *id, *how;
        uint64_t max_objects;
        ObjectRow row;   /* before the import; n 0: not here */
        uint64_t common; /* number of common entries */
        json_t *keys;    /* {KEYID: vkey} of signers without trust; owned */
        bool unknown;    /* a signer has no trust */
        bool other;      /* another object with the id is here */
} Import;

static void import_deinit(Import *i) {
        object_row_deinit(&i->row);
        json_decref(i->keys);
}

static int import_forged(const char *keyid, const char *vkey, const char *other, Diag *reterr) {
        return diag(reterr, ENGINE_E_UNKNOWN_SIGNER,
                    "the key id %s stands for the key %s in the file, and for %s here: either key "
                    "was made to look like the known key",
                    keyid, vkey, other);
}

/* O-9. With two keys under a single key id, the holder of either key could speak for both. */
static int import_judge_key(Import *i, const char *keyid, const char *vkey, SignerState *ret, Diag *reterr) {
        const char *had = json_text(json_object_get(json_object_get(i->row.row, "keys"), keyid));
        _cleanup_json_ json_t *known = NULL;
        char own[ENTRY_KEYID_LEN + 1];
        int r = trust_look(i->t, keyid, vkey, ret);

        if (r < 0 || *ret != SIGNER_UNKNOWN)
                return r;
        append_keyid(txn_store(i->t), own);
        if (strcmp(own, keyid) == 0)
                return import_forged(keyid, vkey, "the own key of the store", reterr);
        if (had && strcmp(had, vkey) != 0)
                return import_forged(keyid, vkey, had, reterr);
        r = object_trust_get(i->t, keyid, &known);
        return r == 0 ? import_forged(keyid, vkey, json_str(known, "vkey"), reterr) : r == -ENOENT ? 0 : r;
}

static int import_judge_keys(Import *i, Diag *reterr) {
        const char *keyid;
        json_t *vkey;

        i->keys = json_object();
        if (json_object_size(i->b->keys) > KEYS_MAX)
                return diag(reterr, ENGINE_E_BAD_BUNDLE,
                            "object %s: the file has entries of %zu signers: an object has at most %d", i->id,
                            json_object_size(i->b->keys), KEYS_MAX);
        json_object_foreach(i->b->keys, keyid, vkey) {
                SignerState state;
                int r = import_judge_key(i, keyid, json_text(vkey) ?: "", &state, reterr);

                if (r != 0)
                        return r;
                i->unknown |= state == SIGNER_UNKNOWN || state == SIGNER_REVOKED;
                if (state == SIGNER_UNKNOWN && json_object_set(i->keys, keyid, vkey) < 0)
                        return -ENOMEM;
        }
        return i->keys ? 0 : -ENOMEM;
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

/* The row has the keys without trust of all histories of the object. */
static int import_check_room(const Import *i, Diag *reterr) {
        const json_t *had = json_object_get(i->row.row, "keys");
        size_t n = json_object_size(had);
        const char *keyid;
        json_t *vkey;

        json_object_foreach(i->keys, keyid, vkey)
                n += !json_object_get(had, keyid);
        return n <= KEYS_MAX ? 0
                             : diag(reterr, ENGINE_E_TOO_MANY,
                                    "object %s: with the file its histories would have %zu keys without trust: at most "
                                    "%d are possible; `lethe object adopt %s HEAD` continues a history",
                                    i->id, n, KEYS_MAX, i->id);
}

/* O-9. A stranger's entry would make the object ineligible for good: entries are never removed. An object without trust
 * already takes all. */
static int import_check_trust(const Import *i, Diag *reterr) {
        const char *keyid = json_object_iter_key(json_object_iter(i->keys));

        if (!i->unknown || i->row.n == 0 || i->row.unknown || i->common == i->b->n)
                return 0;
        return diag(reterr, ENGINE_E_UNKNOWN_SIGNER,
                    "object %s: the file has more entries than are here, and the key of some of them is not trusted "
                    "here%s%s: no entry is taken, so that no file stops the object; `lethe object trust VKEY`, and then "
                    "import the file again",
                    i->id, keyid ? ": " : " (it was revoked)", keyid ? json_str(i->keys, keyid) : "");
}

/* Was each signer of the object here without trust at all times? Then the object never was eligible, and has neither an
 * entry of this node nor an effect. */
static int import_never_trusted(const Import *i, bool *ret) {
        const json_t *signer;
        size_t k;

        *ret = i->row.unknown;
        json_array_foreach(json_object_get(i->row.row, "signers"), k, signer) {
                SignerState state = SIGNER_UNKNOWN;
                char vkey[VKEY_MAX];
                int r = trust_key(i->t, &i->row, json_text(signer), vkey);

                if (r == 0)
                        r = trust_look(i->t, json_text(signer), vkey, &state);
                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
                *ret = *ret && state == SIGNER_UNKNOWN;
        }
        return 0;
}

/* O-9. A stranger may know an id before the object arrives: the stranger's object gives way to one of trusted signers. */
static int import_check_other(const Import *i, Diag *reterr) {
        bool never = false;
        int r = i->other && !i->unknown ? import_never_trusted(i, &never) : 0;

        return r < 0 || !i->other || never
                       ? r
                       : diag(reterr, ENGINE_E_BAD_BUNDLE,
                              "object %s: the first entry of the file differs from the first entry here: "
                              "the same id, and not the same object",
                              i->id);
}

/* O-25. The policy's objects.max, as for an object that is created here. */
static int import_check_max(const Import *i, Diag *reterr) {
        uint64_t alive;
        int r = i->max_objects > 0 && i->row.n == 0 && i->b->memory.state != OBJECT_TERMINATED
                        ? object_row_alive(i->t, &alive)
                        : -ENOENT;

        return r < 0 ? (r == -ENOENT ? 0 : r)
               : alive < i->max_objects
                       ? 0
                       : diag(reterr, ENGINE_E_TOO_MANY,
                              "object %s: %" PRIu64 " objects are not terminated: policy allows %" PRIu64
                              " (max_objects): end one of them with `lethe object end`, and import the file again",
                              i->id, alive, i->max_objects);
}

/* O-25. A child has no more than its parent, as the parent was created: a later mutation of the parent does not shrink
 * the children that exist. */
static int import_check_parent(const Import *i, Diag *reterr) {
        const json_t *context = i->b->memory.context,
                     *parent = json_object_get(json_object_get(context, "parent"), "object");
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_json_ json_t *outer = NULL;
        uint64_t depth;
        Diag none;
        int r = i->common == 0 && json_text(parent) ? object_get(i->t, json_text(parent), &row, &none)
                                                    : ENGINE_E_NO_OBJECT;

        if (r == ENGINE_E_NO_OBJECT || (r == 0 && row.unknown))
                return 0;
        r = r ?: object_memory(i->t, &row, false, &m, reterr);
        if (r != 0)
                return r;
        depth = json_number(json_object_get(m.context, "scope"), "depth");
        outer = json_copied(json_object_get(m.context, "scope"));
        if (!outer || json_put(outer, "depth", json_u64(depth > 0 ? depth - 1 : 0)) < 0)
                return -ENOMEM;
        if (depth == 0)
                return diag(reterr, ENGINE_E_BEYOND_SCOPE,
                            "object %s: the file is a child of %s, and the trust scope of %s allows no children", i->id,
                            row.object, row.object);
        r = object_code(intent_scope_within(json_object_get(context, "scope"), outer, reterr));
        if (r > 0)
                diag_prefix(reterr, "object %s, a child of %s that is here", i->id, row.object);
        return r;
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
                        ?: import_check_parent(&i, reterr);

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
