#include "object/chain.h"
#include "object/transfer.h"
#include "object/trust.h"
#include "object/verify-ledger.h"
#include "record/object-row.h"

#include <errno.h>
#include <inttypes.h>

typedef struct Verifying {
        Txn *t;
        ObjectRow row;
        ObjectMemory memory;
        json_t *findings; /* borrowed */
        size_t *n;
        json_t *keys; /* {KEYID: vkey} so far; owned */
        bool all;     /* of a whole store: a signer without trust is in order if the row says so */
} Verifying;

static void verify_deinit(Verifying *v) {
        object_row_deinit(&v->row);
        memory_deinit(&v->memory);
        json_decref(v->keys);
}

#define VERIFY_NOTE(v, code, fmt, ...) \
        verify_note((v)->findings, (v)->n, (code), "object %s: " fmt, (v)->row.object, __VA_ARGS__)

/* A key without trust is noted once. *ret: borrowed; NULL: no known key. */
static int verify_find_key(Verifying *v, const Entry *e, const char **ret) {
        SignerState state;
        char vkey[VKEY_MAX];
        int r;

        *ret = json_text(json_object_get(v->keys, e->keyid));
        if (*ret)
                return 0;
        r = trust_key(v->t, &v->row, e->keyid, vkey);
        if (r == -ENOENT)
                return VERIFY_NOTE(v, "unknown_signer", "entry %" PRIu64 " was signed by the unknown key %s", e->n,
                                   e->keyid);
        if (r == 0)
                r = trust_look(v->t, e->keyid, vkey, &state);
        if (r < 0 || json_object_set_new(v->keys, e->keyid, json_string(vkey)) < 0)
                return r < 0 ? r : -ENOMEM;
        *ret = json_text(json_object_get(v->keys, e->keyid));
        if (state == SIGNER_OWN || state == SIGNER_TRUSTED || (v->all && v->row.unknown))
                return 0;
        return VERIFY_NOTE(v, "unknown_signer", "entry %" PRIu64 " was signed by the key %s (%s)", e->n, vkey,
                           state == SIGNER_REVOKED ? "revoked" : "not trusted");
}

static int verify_signature(Verifying *v, const Entry *e) {
        char name[NOTE_NAME_MAX];
        const char *vkey;
        uint8_t key[32];
        Diag why;
        int r = verify_find_key(v, e, &vkey);

        if (r < 0 || !vkey)
                return r;
        r = note_vkey_parse(vkey, name, key, &why);
        if (r == 0 && !json_text_is(json_object_get(e->json, "node"), name))
                r = diag(&why, 1, "the key belongs to node %s, not to node %s", name, json_str(e->json, "node"));
        if (r == 0)
                r = entry_verify(e, key, &why);
        return r > 0 ? VERIFY_NOTE(v, "bad_signature", "entry %" PRIu64 ": %s", e->n, why.text) : r;
}

/* IntentForm, chain, moves and signatures; *ret_whole: the entries can be folded to the end. */
static int verify_chain(Verifying *v, bool *ret_whole) {
        *ret_whole = false;
        for (uint64_t n = 0; n < v->row.n; n++) {
                _cleanup_entry_ Entry e = ENTRY_NULL;
                Diag why = {0};
                int r = chain_entry(v->t, v->row.object, n, &e, &why);

                if (r > 0)
                        return verify_note(v->findings, v->n, "bad_chain", "%s", why.text);
                if (r == 0)
                        r = verify_signature(v, &e);
                if (r < 0)
                        return r;
                r = memory_apply(&v->memory, &e, &why);
                if (r != 0)
                        return r < 0 ? r : VERIFY_NOTE(v, "bad_chain", "entry %" PRIu64 ": %s", n, why.text);
        }
        *ret_whole = true;
        return 0;
}

/* The fold from the newest checkpoint equals the fold from the beginning (O-54). */
static int verify_checkpoint(Verifying *v) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_json_ json_t *whole = NULL, *part = NULL;
        Diag why = {0};
        int r = object_memory(v->t, &v->row, false, &m, &why);

        if (r > 0)
                return VERIFY_NOTE(v, "bad_chain", "the newest checkpoint: %s", why.text);
        if (r == 0)
                r = memory_to_json(&v->memory, &whole) ?: memory_to_json(&m, &part);
        if (r != 0 || json_equal(whole, part))
                return MIN(r, 0);
        return VERIFY_NOTE(v, "bad_chain", "the checkpoint in entry %" PRIu64 " is not the fold of the entries before",
                           v->row.checkpoint - 1);
}

/* O-8, O-17: the row agrees with the entries. */
static int verify_row(Verifying *v) {
        const ObjectRow *row = &v->row;
        const ObjectMemory *m = &v->memory;
        uint64_t beyond;
        int r = object_entry_seq(v->t, row->object, row->n, &beyond);

        if (r == 0)
                return VERIFY_NOTE(v, "row", "there is an entry %" PRIu64 " behind the last one of the row", row->n);
        if (r != -ENOENT)
                return r;
        if (memcmp(row->head, m->head, ENTRY_HASH_BYTES) != 0)
                return VERIFY_NOTE(v, "row", "the row has another head than entry %" PRIu64, row->n - 1);
        if (row->state != m->state)
                return VERIFY_NOTE(v, "row", "the row says %s, and the entries say %s", object_state_name(row->state),
                                   object_state_name(m->state));
        return row->checkpoint > 0 ? verify_checkpoint(v) : 0;
}

static int verify_object(Txn *t, const char *id, bool all, json_t *findings, size_t *n, uint64_t *entries,
                         Diag *reterr) {
        _cleanup_(verify_deinit)
                Verifying v = {.t = t, .findings = findings, .n = n, .keys = json_object(), .all = all};
        bool whole;
        int r = v.keys ? object_get(t, id, &v.row, reterr) : -ENOMEM;

        if (r != 0)
                return r;
        *entries += v.row.n;
        r = verify_chain(&v, &whole);
        return r == 0 && whole ? verify_row(&v) : r;
}

int object_verify(Txn *t, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *findings = json_array();
        uint64_t entries = 0;
        size_t n = 0;
        int r = !findings ? -ENOMEM
                          : verify_object(t, id, false, findings, &n, &entries, reterr)
                                    ?: verify_ledger(t, id, findings, &n);

        if (r != 0)
                return r;
        *ret = json_pack("{s:s, s:b, s:o, s:o, s:O}", "object", id, "holds", n == 0, "entries", json_u64(entries),
                         "found", json_u64(n), "findings", findings);
        return *ret ? 0 : -ENOMEM;
}

int object_verify_all(Txn *t, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *findings = json_array();
        uint64_t entries = 0, objects = 0;
        char id[REGION_ID_MAX];
        size_t n = 0;
        int r = findings ? object_row_next(t, NULL, id) : -ENOMEM;

        for (; r == 0; objects++)
                r = verify_object(t, id, true, findings, &n, &entries, reterr) ?: object_row_next(t, id, id);
        if (r == -ENOENT)
                r = verify_ledger(t, NULL, findings, &n);
        if (r != 0)
                return r;
        *ret = json_pack("{s:o, s:o, s:o, s:O}", "objects", json_u64(objects), "entries", json_u64(entries), "found",
                         json_u64(n), "findings", findings);
        return *ret ? 0 : -ENOMEM;
}
