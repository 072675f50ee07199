#include "object/bundle.h"

#include "base/hash.h"
#include "ledger/signed-note.h"

#include <errno.h>
#include <inttypes.h>

#define BUNDLE_HEAD "lethe-object/"
#define BUNDLE_END "end "
#define BUNDLE_JSON_DEPTH 2 /* levels of keys and schemas: an object of texts */

void object_bundle_deinit(ObjectBundle *b) {
        for (size_t i = 0; i < b->n; i++)
                entry_deinit(&b->entries[i]);
        free(b->entries);
        json_decref(b->keys);
        json_decref(b->schemas);
        memory_deinit(&b->memory);
        *b = OBJECT_BUNDLE_NULL;
}

/* A file while it is read. Texts are lent. */
typedef struct BundleText {
        const char *rest, *line;
        size_t n_rest, n_line;
        size_t number; /* of the line, from 1 */
        const char *intent, *context;
        size_t n_intent, n_context;
        json_t *signers; /* {KEYID: true} of the entries so far; owned */
} BundleText;

static int bundle_next_line(BundleText *t, Diag *reterr) {
        t->number++;
        if (note_line(&t->rest, &t->n_rest, &t->line, &t->n_line))
                return 0;
        return diag(reterr, OBJECT_E_CHAIN, "the file is cut: it ends before the newline of line %zu", t->number);
}

/* The rest of a line that begins with a name and a blank. */
static int bundle_named_line(BundleText *t, const char *name, const char **ret, size_t *ret_n, Diag *reterr) {
        size_t n = strlen(name);
        int r = bundle_next_line(t, reterr);

        if (r != 0)
                return r;
        if (t->n_line <= n + 1 || memcmp(t->line, name, n) != 0 || t->line[n] != ' ')
                return diag(reterr, OBJECT_E_SYNTAX,
                            "line %zu must begin with \"%s \" and have JSON behind", t->number, name);
        *ret = t->line + n + 1;
        *ret_n = t->n_line - n - 1;
        return 0;
}

/* O-41: the version decides before anything else is looked at. */
static int bundle_read_head(BundleText *t, Diag *reterr) {
        const size_t n = strlen(BUNDLE_HEAD);
        uint64_t version = 0;
        int r = bundle_next_line(t, reterr);

        if (r != 0 || t->n_line <= n || memcmp(t->line, BUNDLE_HEAD, n) != 0 ||
            !note_number(t->line + n, t->n_line - n, &version) || version == 0)
                return diag(reterr, OBJECT_E_SYNTAX,
                            "the file is no object: its first line must be \"%s%d\"", BUNDLE_HEAD,
                            OBJECT_BUNDLE_VERSION);
        if (version > OBJECT_BUNDLE_VERSION)
                return diag(reterr, OBJECT_E_VERSION,
                            "the file has version %" PRIu64 ": this program reads up to %d; use a newer one", version,
                            OBJECT_BUNDLE_VERSION);
        return 0;
}

/* Whether the JSON's canonical text is these bytes: 1, 0, -errno. */
static int bundle_is_canonical(const json_t *v, const char *text, size_t n) {
        _cleanup_free_ char *again = NULL;
        size_t n_again;
        int r = v ? json_canonical(v, &again, &n_again) : -ERANGE;

        return r == -ERANGE ? 0 : r < 0 ? r : n == n_again && memcmp(text, again, n) == 0;
}

/* A line with an object whose members are texts. */
static int bundle_read_texts(BundleText *t, const char *name, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *o = NULL;
        const char *text, *member;
        json_t *v;
        size_t n;
        int r = bundle_named_line(t, name, &text, &n, reterr);

        if (r != 0)
                return r;
        if (n > OBJECT_BUNDLE_TEXTS_MAX) /* parsed, a byte costs up to 14 */
                return diag(reterr, OBJECT_E_SIZE, "line %zu: \"%s\" has %zu bytes: at most %d", t->number, name, n,
                            OBJECT_BUNDLE_TEXTS_MAX);
        r = json_parse(text, n, OBJECT_BUNDLE_TEXTS_MAX, BUNDLE_JSON_DEPTH, &o, reterr);
        if (r > 0) {
                diag_prefix(reterr, "line %zu, JSON of \"%s\"", t->number, name);
                return OBJECT_E_SYNTAX;
        }
        if (r == 0)
                r = bundle_is_canonical(o, text, n);
        if (r < 0)
                return r;
        if (r == 0 || !json_is_object(o))
                return diag(reterr, OBJECT_E_SYNTAX,
                            "line %zu: \"%s\" must be an object in the canonical form of RFC 8785",
                            t->number, name);
        json_object_foreach(o, member, v)
                if (!json_text(v))
                        return diag(reterr, OBJECT_E_SYNTAX, "line %zu: member \"%s\" must be a text", t->number,
                                    DIAG_QUOTED(member));
        *ret = TAKE_PTR(o);
        return 0;
}

static int bundle_read_keys(BundleText *t, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *keys = NULL;
        const char *id;
        json_t *v;
        int r = bundle_read_texts(t, "keys", &keys, reterr);

        if (r != 0)
                return r;
        json_object_foreach(keys, id, v) {
                char name[NOTE_NAME_MAX], keyid[NOTE_KEYID_MAX];
                uint8_t key[32];

                if (note_vkey_parse(json_text(v), name, key, reterr) != 0) {
                        diag_prefix(reterr, "line %zu", t->number);
                        return OBJECT_E_SYNTAX;
                }
                if (strcmp(note_keyid(name, key, keyid), id) != 0)
                        return diag(reterr, OBJECT_E_SYNTAX, "line %zu: the key %s is under the id \"%s\": it has %s",
                                    t->number, json_text(v), DIAG_QUOTED(id), keyid);
        }
        *ret = TAKE_PTR(keys);
        return 0;
}

static int bundle_read_schemas(BundleText *t, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *schemas = NULL;
        const char *slot;
        json_t *v;
        int r = bundle_read_texts(t, "schemas", &schemas, reterr);

        if (r != 0)
                return r;
        json_object_foreach(schemas, slot, v) {
                const char *s = json_text(v);

                if (!slot_name_valid(slot))
                        return diag(reterr, OBJECT_E_SYNTAX, "line %zu: \"%s\" is not a slot's name", t->number,
                                    DIAG_QUOTED(slot));
                if (strncmp(s, "sha256:", 7) != 0 || strlen(s + 7) != 64 || strspn(s + 7, "0123456789abcdef") != 64)
                        return diag(reterr, OBJECT_E_SYNTAX,
                                    "line %zu: the schema of slot %s must be \"sha256:\" and 64 digits, not \"%s\"",
                                    t->number, slot, DIAG_QUOTED(s));
        }
        *ret = TAKE_PTR(schemas);
        return 0;
}

/* O-9, O-40: the file carries the key of each signer, and a key signs for its own node alone. */
static int bundle_check_signature(BundleText *t, const ObjectBundle *b, const Entry *e, Diag *reterr) {
        const char *vkey = json_text(json_object_get(b->keys, e->keyid)), *node = json_str(e->json, "node");
        char name[NOTE_NAME_MAX];
        uint8_t key[32];

        if (!vkey)
                return diag(reterr, OBJECT_E_SIGNER,
                            "entry %" PRIu64 " is signed by key %s: \"keys\" has no such key", e->n,
                            e->keyid);
        if (note_vkey_parse(vkey, name, key, reterr) != 0)
                return OBJECT_E_SYNTAX;
        if (strcmp(name, node) != 0)
                return diag(reterr, OBJECT_E_SIGNER,
                            "entry %" PRIu64 " names node %s: key %s is of node %s", e->n, node,
                            e->keyid, name);
        if (json_object_set_new(t->signers, e->keyid, json_true()) < 0)
                return -ENOMEM;
        return entry_verify(e, key, reterr);
}

/* The first entry has intent and context, as their lines have. */
static int bundle_check_first(const BundleText *t, const Entry *e, Diag *reterr) {
        const json_t *data = json_object_get(e->json, "data");
        int r;

        if (e->kind != ENTRY_INSTANTIATED)
                return diag(reterr, OBJECT_E_CHAIN, "the first entry is \"%s\": an object begins with \"instantiated\"",
                            entry_kind_name(e->kind));
        r = bundle_is_canonical(json_object_get(data, "intent"), t->intent, t->n_intent);
        if (r == 0)
                return diag(reterr, OBJECT_E_CHAIN, "the intent of line 2 is not that of the first entry");
        r = r < 0 ? r : bundle_is_canonical(json_object_get(data, "context"), t->context, t->n_context);
        if (r == 0)
                return diag(reterr, OBJECT_E_CHAIN, "the context of line 3 is not that of the first entry");
        return r < 0 ? r : 0;
}

/* Takes the entry of the present line. */
static int bundle_read_entry(BundleText *t, ObjectBundle *b, Diag *reterr) {
        _cleanup_entry_ Entry e = ENTRY_NULL;
        int r = entry_parse(t->line, t->n_line, &e, reterr);

        r = r ?: bundle_check_signature(t, b, &e, reterr);
        if (r == 0 && b->n == 0)
                r = bundle_check_first(t, &e, reterr);
        r = r ?: memory_apply(&b->memory, &e, reterr);
        if (r > 0)
                diag_prefix(reterr, "line %zu", t->number);
        if (r != 0)
                return r;
        if (!GROW(b->entries, b->n))
                return -ENOMEM;
        b->entries[b->n++] = e;
        e = ENTRY_NULL;
        return 0;
}

static const char *bundle_end_line(const ObjectBundle *b, char out[static 128]) {
        char hash[2 * ENTRY_HASH_BYTES + 1];

        snprintf(out, 128, BUNDLE_END "%zu %s", b->n, hex_encode(b->entries[b->n - 1].hash, ENTRY_HASH_BYTES, hash));
        return out;
}

/* From the empty line on. */
static int bundle_read_entries(BundleText *t, ObjectBundle *b, Diag *reterr) {
        char end[128];
        int r = bundle_next_line(t, reterr);

        if (r == 0 && t->n_line > 0)
                return diag(reterr, OBJECT_E_SYNTAX, "line %zu must be empty", t->number);
        for (;;) {
                r = r ?: bundle_next_line(t, reterr);
                if (r != 0)
                        return r;
                if (t->n_line >= strlen(BUNDLE_END) && memcmp(t->line, BUNDLE_END, strlen(BUNDLE_END)) == 0)
                        break;
                r = bundle_read_entry(t, b, reterr);
        }
        if (b->n == 0)
                return diag(reterr, OBJECT_E_CHAIN, "the file has no entry");
        if (strlen(bundle_end_line(b, end)) != t->n_line || memcmp(end, t->line, t->n_line) != 0)
                return diag(reterr, OBJECT_E_CHAIN,
                            "line %zu must be \"%s\", not \"%s\": entries are missing, or added",
                            t->number, end, DIAG_QUOTED_N(t->line, t->n_line));
        if (t->n_rest > 0)
                return diag(reterr, OBJECT_E_SYNTAX, "%zu bytes follow the last line", t->n_rest);
        if (json_object_size(t->signers) != json_object_size(b->keys))
                return diag(reterr, OBJECT_E_SIGNER, "\"keys\" has %zu keys, the entries have %zu signers",
                            json_object_size(b->keys), json_object_size(t->signers));
        return 0;
}

int object_bundle_parse(const char *text, size_t n, ObjectBundle *ret, Diag *reterr) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        _cleanup_json_ json_t *signers = NULL;
        BundleText t = {.rest = text, .n_rest = n};
        int r;

        if (n > OBJECT_BUNDLE_MAX)
                return diag(reterr, OBJECT_E_SIZE, "a file of %zu bytes: at most %d are allowed", n, OBJECT_BUNDLE_MAX);
        t.signers = signers = json_object();
        if (!signers)
                return -ENOMEM;
        r = bundle_read_head(&t, reterr)
                    ?: bundle_named_line(&t, "intent", &t.intent, &t.n_intent, reterr)
                    ?: bundle_named_line(&t, "context", &t.context, &t.n_context, reterr)
                    ?: bundle_read_keys(&t, &b.keys, reterr)
                    ?: bundle_read_schemas(&t, &b.schemas, reterr)
                    ?: bundle_read_entries(&t, &b, reterr);
        if (r != 0)
                return r;
        *ret = b;
        b = OBJECT_BUNDLE_NULL;
        return 0;
}

static int bundle_print_json(const char *name, const json_t *v, Buf *ret) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        return json_canonical(v, &text, &n)
                ?: buf_add_str(ret, name)
                ?: buf_add(ret, " ", 1)
                ?: buf_add(ret, text, n)
                ?: buf_add(ret, "\n", 1);
}

static int bundle_print_all(const ObjectBundle *b, Buf *ret) {
        const json_t *data = json_object_get(b->entries[0].json, "data");
        size_t start = ret->n;
        char end[128];
        int r = buf_printf(ret, BUNDLE_HEAD "%d\n", OBJECT_BUNDLE_VERSION)
                        ?: bundle_print_json("intent", json_object_get(data, "intent"), ret)
                        ?: bundle_print_json("context", json_object_get(data, "context"), ret)
                        ?: bundle_print_json("keys", b->keys, ret)
                        ?: bundle_print_json("schemas", b->schemas, ret)
                        ?: buf_add(ret, "\n", 1);

        for (size_t i = 0; r == 0 && i < b->n; i++) {
                r = entry_print(&b->entries[i], ret) ?: buf_add(ret, "\n", 1);
                if (r == 0 && ret->n - start > OBJECT_BUNDLE_MAX)
                        r = -EFBIG;
        }
        r = r ?: buf_printf(ret, "%s\n", bundle_end_line(b, end));
        return r ?: ret->n - start > OBJECT_BUNDLE_MAX ? -EFBIG : 0;
}

int object_bundle_print(const ObjectBundle *b, Buf *ret) {
        size_t start = ret->n;
        int r;

        assert(b->n > 0);
        r = bundle_print_all(b, ret);
        if (r < 0 && ret->data) {
                ret->n = start;
                ret->data[start] = 0;
        }
        return r;
}
