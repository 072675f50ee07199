#include "object/append.h"
#include "object/import-inside.h"
#include "object/trust.h"
#include "record/object-row.h"
#include "store/hooks.h"

#include <errno.h>
#include <inttypes.h>

#define KEYS_MAX 256 /* of the signers of an object */

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

int import_judge_keys(Import *i, Diag *reterr) {
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

/* The row has the keys without trust of all histories of the object. */
int import_check_room(const Import *i, Diag *reterr) {
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
int import_check_trust(const Import *i, Diag *reterr) {
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
int import_check_other(const Import *i, Diag *reterr) {
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
int import_check_max(const Import *i, Diag *reterr) {
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
