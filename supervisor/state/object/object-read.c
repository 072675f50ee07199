#include "object/append.h"
#include "object/kept.h"
#include "object/object.h"

#include "ledger/signed-note.h"
#include "record/object-row.h"
#include "record/rows.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void object_row_deinit(ObjectRow *r) {
        json_decref(r->row);
        *r = (ObjectRow){0};
}

int object_code(int r) {
        static const EngineCode codes[] = {
                [OBJECT_E_SYNTAX] = ENGINE_E_BAD_CHAIN,        [OBJECT_E_VERSION] = ENGINE_E_NEWER_VERSION,
                [OBJECT_E_CHAIN] = ENGINE_E_BAD_CHAIN,         [OBJECT_E_SIGNATURE] = ENGINE_E_BAD_SIGNATURE,
                [OBJECT_E_SIGNER] = ENGINE_E_UNKNOWN_SIGNER,   [OBJECT_E_MOVE] = ENGINE_E_BAD_CHAIN,
                [OBJECT_E_SIZE] = ENGINE_E_TOO_LARGE,          [OBJECT_E_INTENT] = ENGINE_E_BAD_INTENT,
                [OBJECT_E_SCOPE] = ENGINE_E_BEYOND_SCOPE,
        };

        if (r <= 0)
                return r;
        assert((size_t)r < ARRAY_SIZE(codes));
        return (int)codes[r];
}

int object_row_of(const char *id, json_t *row, ObjectRow *ret) {
        ObjectRow o = {.due_usec = UINT64_MAX,
                       .state = object_state_of(json_text(json_object_get(row, "state"))),
                       .away = json_object_get(row, "away"),
                       .behind = json_object_get(row, "behind"),
                       .forked = json_object_get(row, "branches"),
                       .unknown = json_object_get(row, "unknown")};

        if (o.state == OBJECT_NONE || json_get_u64(json_object_get(row, "n"), &o.n) < 0 || o.n == 0 ||
            json_get_u64(json_object_get(row, "last"), &o.last) < 0 ||
            hex_decode(json_str(row, "head"), o.head, sizeof(o.head)) < 0 ||
            json_row_number(row, "checkpoint", &o.checkpoint) < 0 || o.checkpoint > o.n ||
            json_row_number(row, "lock", &o.lock) < 0 ||
            (json_object_get(row, "due") && json_get_u64(json_object_get(row, "due"), &o.due_usec) < 0))
                return -EUCLEAN;
        strcpy(o.object, id);
        o.row = json_incref(row);
        *ret = o;
        return 0;
}

int object_get(Txn *t, const char *id, ObjectRow *ret, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        int r = object_row_get(t, id, &row);

        if (r == -ENOENT)
                return diag(reterr, ENGINE_E_NO_OBJECT,
                            "there is no object %s here: `lethe object list` shows all objects of this store",
                            DIAG_QUOTED(id));
        return r < 0 ? r : object_row_of(id, row, ret);
}

int object_eligible(const ObjectRow *row, Diag *reterr) {
        if (row->away)
                return diag(reterr, ENGINE_E_NOT_ELIGIBLE,
                            "object %s is away: exported with --move, the object goes on elsewhere; `lethe object "
                            "import` of a newer file brings the object back", row->object);
        if (row->forked)
                return diag(reterr, ENGINE_E_NOT_ELIGIBLE,
                            "object %s is forked: two nodes have appended different entries; `lethe object adopt %s "
                            "HEAD` chooses a head", row->object, row->object);
        if (row->behind)
                return diag(reterr, ENGINE_E_NOT_ELIGIBLE,
                            "object %s is behind: an older copy was imported over %" PRIu64 " entries of this store; "
                            "import the newest file, or choose the head of this store with `lethe object adopt %s`",
                            row->object, row->n, row->object);
        if (row->unknown)
                return diag(reterr, ENGINE_E_NOT_ELIGIBLE,
                            "object %s has an unknown_signer: the key of some entries is not trusted here; `lethe "
                            "object history %s` shows the keys, `lethe object trust VKEY` trusts a key",
                            row->object, row->object);
        return 0;
}

/* Entry n of an object from the body of its event. Returns 0, OBJECT_E_*, -errno. */
static int object_entry(Txn *t, const ObjectRow *row, uint64_t n, Entry *ret, uint64_t *ret_seq, Diag *reterr) {
        Bytes line;
        int r = object_entry_seq(t, row->object, n, ret_seq);

        if (r == 0)
                r = body_get(t, *ret_seq, NULL, &line);
        if (r == -ENOENT)
                return diag(reterr, OBJECT_E_CHAIN, "entry %" PRIu64 " of object %s is not there", n, row->object);
        r = r ?: entry_parse(line.p, line.n, ret, reterr);
        if (r > 0)
                diag_prefix(reterr, "object %s, entry %" PRIu64, row->object, n);
        return r;
}

static int object_fold(Txn *t, const ObjectRow *row, uint64_t from, ObjectMemory *ret, Diag *reterr) {
        int r = 0;

        for (uint64_t n = from; r == 0 && n < row->n; n++) {
                _cleanup_entry_ Entry e = ENTRY_NULL;
                uint64_t seq;

                r = object_entry(t, row, n, &e, &seq, reterr);
                if (r == 0)
                        r = n == from && from > 0 ? memory_from_checkpoint(&e, ret, reterr)
                                                  : memory_apply(ret, &e, reterr);
        }
        return r;
}

int object_memory(Txn *t, const ObjectRow *row, bool whole, ObjectMemory *ret, Diag *reterr) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        int r = object_fold(t, row, !whole && row->checkpoint > 0 ? row->checkpoint - 1 : 0, &m, reterr);

        if (r == 0 && (m.n != row->n || memcmp(m.head, row->head, sizeof(m.head)) != 0 || m.state != row->state ||
                       strcmp(m.object, row->object) != 0)) {
                char head[HASH_HEX_MAX], found[HASH_HEX_MAX];

                r = diag(reterr, OBJECT_E_CHAIN,
                         "object %s: the row has %" PRIu64 " entries with head %s, and the entries end at %" PRIu64
                         " with %s: see `lethe object verify`", row->object, row->n, hex_encode(row->head, 32, head),
                         m.n, hex_encode(m.head, 32, found));
        }
        if (r != 0)
                return object_code(r);
        *ret = m;
        m = OBJECT_MEMORY_NULL;
        return 0;
}

int object_memory_kept(Txn *t, const ObjectRow *row, ObjectMemory *ret, Diag *reterr) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        int r;

        if (kept_get(row->object, row->head, &m) && m.n == row->n && m.state == row->state && strcmp(m.object, row->object) == 0) {
                *ret = m;
                m = OBJECT_MEMORY_NULL;
                return 0;
        }
        r = object_memory(t, row, false, ret, reterr);
        if (r == 0)
                kept_put(ret);
        return r;
}

int object_history(Txn *t, const ObjectRow *row, uint64_t from, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        int r = list ? 0 : -ENOMEM;

        for (uint64_t n = from; r == 0 && n < row->n; n++) {
                _cleanup_entry_ Entry e = ENTRY_NULL;
                _cleanup_json_ json_t *o = NULL;
                char hash[HASH_HEX_MAX];
                uint64_t seq;

                r = object_entry(t, row, n, &e, &seq, reterr);
                if (r != 0)
                        return object_code(r);
                o = json_copied(e.json);
                if (!o || (json_put(o, "hash", json_string(hex_encode(e.hash, sizeof(e.hash), hash))) |
                           json_put(o, "keyid", json_string(e.keyid)) | json_put(o, "seq", json_u64(seq))) != 0 ||
                    json_array_append(list, o) < 0)
                        r = -ENOMEM;
        }
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

static json_t *object_list_one(const ObjectRow *o) {
        static const char *const kept[] = {"parent", "reason", "status"};
        const struct {
                const char *name;
                bool is;
        } flags[] = {{"away", o->away}, {"forked", o->forked}, {"behind", o->behind}, {"unknown", o->unknown}};
        _cleanup_json_ json_t *one = json_pack(
                "{s:s, s:s, s:o, s:O*, s:o*}", "object", o->object, "state", object_state_name(o->state), "n",
                json_u64(o->n), "intent", json_object_get(o->row, "do"), "due",
                o->due_usec < UINT64_MAX ? json_u64(o->due_usec) : NULL);

        if (!one || JSON_ROW_KEEP(one, o->row, kept) < 0)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
                if (flags[i].is && json_object_set_new(one, flags[i].name, json_true()) < 0)
                        return NULL;
        return TAKE_PTR(one);
}

int object_each(Txn *t, ObjectState state, int (*each)(void *user, const json_t *one), void *user) {
        char id[REGION_ID_MAX] = "";
        int r = object_row_next(t, NULL, id);

        for (; r == 0; r = r ?: object_row_next(t, id, id)) {
                _cleanup_object_row_ ObjectRow o = {0};
                _cleanup_json_ json_t *one = NULL;
                Diag d;

                r = object_get(t, id, &o, &d);
                if (r != 0)
                        return r > 0 ? -EUCLEAN : r;
                if (state != OBJECT_NONE && o.state != state)
                        continue;
                one = object_list_one(&o);
                r = one ? each(user, one) : -ENOMEM;
        }
        return r == -ENOENT ? 0 : r;
}

/* {"version","value"?}; null: not defined. */
static int object_fact_of_slot(Txn *t, const char *name, json_t **ret) {
        _cleanup_json_ json_t *value = NULL;
        SlotRow slot;
        Bytes body;
        int r = slot_name_valid(name) ? slot_row_get(t, name, &slot) : -ENOENT;

        if (r == 0 && slot.version > 0)
                r = body_get(t, slot.body, NULL, &body) ?: json_row_parse(body, SLOT_VALUE_MAX, &value);
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = r == -ENOENT ? json_null() : json_pack("{s:o, s:O*}", "version", json_u64(slot.version), "value", value);
        return *ret ? 0 : -ENOMEM;
}

/* {"state","status"?}; null: not here. */
static int object_fact_of_object(Txn *t, const char *id, json_t **ret) {
        static const char *const kept[] = {"state", "status"};
        _cleanup_json_ json_t *row = NULL, *fact = NULL;
        int r = object_row_get(t, id, &row);

        if (r < 0 && r != -ENOENT)
                return r;
        fact = r == 0 ? json_object() : json_null();
        if (!fact || (r == 0 && JSON_ROW_KEEP(fact, row, kept) < 0))
                return -ENOMEM;
        *ret = TAKE_PTR(fact);
        return 0;
}

static int object_facts_of(Txn *t, const json_t *names, int (*fact)(Txn *t, const char *name, json_t **ret),
                           json_t *to) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(names); i++) {
                const char *name = json_text(json_array_get(names, i));
                json_t *one = NULL;

                r = name ? fact(t, name, &one) : -EINVAL;
                if (r == 0 && json_object_set_new(to, name, one) < 0)
                        r = -ENOMEM;
        }
        return r;
}

int object_facts(Txn *t, const ObjectRow *row, const json_t *needs, json_t **ret) {
        json_t *woken = row ? json_object_get(row->row, "woken") : NULL;
        _cleanup_json_ json_t *facts = json_pack("{s:{}, s:{}, s:[]}", "slots", "objects", "events");
        int r = facts && (!woken || json_array_extend(json_object_get(facts, "events"), woken) == 0) ? 0 : -ENOMEM;

        r = r ?: object_facts_of(t, json_object_get(needs, "slots"), object_fact_of_slot,
                                 json_object_get(facts, "slots"))
              ?: object_facts_of(t, json_object_get(needs, "objects"), object_fact_of_object,
                                 json_object_get(facts, "objects"));
        if (r == 0)
                *ret = TAKE_PTR(facts);
        return r;
}
