#include "object/entry.h"

#include "base/hash.h"
#include "ledger/signed-note.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>

#define ENTRY_VERSION 1
#define ENTRY_SIG_CHARS 88 /* base64 of 64 bytes */
#define ENTRY_TAIL (1 + ENTRY_KEYID_LEN + 1 + ENTRY_SIG_CHARS)

static_assert(ENTRY_LINE_MAX == ENTRY_TEXT_MAX + ENTRY_TAIL, "a line is TEXT and the tail");
static_assert(ENTRY_KEYID_LEN + 1 == NOTE_KEYID_MAX, "a key's id is that of signed notes");

void entry_deinit(Entry *e) {
        json_decref(e->json);
        free(e->text);
        *e = ENTRY_NULL;
}

static EntryKind entry_kind_of(const char *name) {
        EntryKind k = 0;

        while (k < ENTRY_KIND_COUNT_ && strcmp(entry_kind_name(k), name) != 0)
                k++;
        return k;
}

static bool entry_is_lower_hex(const char *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!(s[i] >= '0' && s[i] <= '9') && !(s[i] >= 'a' && s[i] <= 'f'))
                        return false;
        return true;
}

static bool entry_fits_object(const json_t *v) {
        return json_is_object(v);
}

static bool entry_fits_kind(const json_t *v) {
        const char *s = json_text(v);

        return s && entry_kind_of(s) < ENTRY_KIND_COUNT_;
}

static bool entry_fits_number(const json_t *v) {
        uint64_t u;

        return json_get_u64(v, &u) == 0;
}

static bool entry_fits_node(const json_t *v) {
        const char *s = json_text(v);

        return s && note_name_valid(s);
}

static bool entry_fits_id(const json_t *v) {
        const char *s = json_text(v);

        return s && region_id_valid(s);
}

static bool entry_fits_outcome(const json_t *v) {
        return json_is_null(v) || json_text(json_object_get(v, "kind"));
}

static bool entry_fits_policy(const json_t *v) {
        const json_t *rule = json_object_get(v, "rule"), *verdict = json_object_get(v, "verdict");

        return json_is_null(v) || (json_text(json_object_get(v, "ref")) && (!rule || json_text(rule)) &&
                                   (json_text_is(verdict, "allowed") || json_text_is(verdict, "denied")) &&
                                   json_object_size(v) == (rule ? 3 : 2));
}

static bool entry_fits_prev(const json_t *v) {
        const char *s = json_text(v);

        return s && strlen(s) == 2 * ENTRY_HASH_BYTES && entry_is_lower_hex(s, 2 * ENTRY_HASH_BYTES);
}

static bool entry_fits_state(const json_t *v) {
        return object_state_of(json_text(v)) != OBJECT_NONE;
}

static bool entry_fits_version(const json_t *v) {
        return json_is_integer(v) && json_integer_value(v) == ENTRY_VERSION;
}

/* O-5. The members of an entry, all of them needed. */
static const struct {
        const char *name;
        bool (*fits)(const json_t *v);
        const char *form;
} entry_members[] = {
        {"data", entry_fits_object, "an object"},
        {"kind", entry_fits_kind, "a kind of entry, such as \"evaluation\""},
        {"n", entry_fits_number, "a number from 0 on, beyond 2^53-1 as a string"},
        {"node", entry_fits_node, "a node's name of 1 to 127 bytes of printable ASCII"},
        {"object", entry_fits_id, "an id of 26 characters"},
        {"outcome", entry_fits_outcome, "null, or an object with a text \"kind\""},
        {"policy", entry_fits_policy,
         "null, or {\"ref\": text, \"verdict\": \"allowed\" or \"denied\", \"rule\"?: text}"},
        {"prev", entry_fits_prev, "64 hexadecimal digits in lower case"},
        {"state", entry_fits_state, "a state, such as \"evaluation\""},
        {"time", entry_fits_number, "microseconds from 0 on, beyond 2^53-1 as a string"},
        {"trace", entry_fits_id, "an id of 26 characters"},
        {"version", entry_fits_version, "1"},
};

static bool entry_has_member(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(entry_members); i++)
                if (strcmp(entry_members[i].name, name) == 0)
                        return true;
        return false;
}

/* O-41: the version decides before anything else is looked at. */
static int entry_check_version(const json_t *o, Diag *reterr) {
        const json_t *v = json_object_get(o, "version");

        if (json_is_integer(v) && json_integer_value(v) > ENTRY_VERSION)
                return diag(reterr, OBJECT_E_VERSION,
                            "the entry has version %" JSON_INTEGER_FORMAT
                            ": this program reads up to %d; use a newer one",
                            json_integer_value(v), ENTRY_VERSION);
        return 0;
}

static int entry_check_members(const json_t *o, Diag *reterr) {
        const char *name;
        json_t *v;

        if (!json_is_object(o))
                return diag(reterr, OBJECT_E_SYNTAX, "the entry is not a JSON object");
        if (entry_check_version(o, reterr) != 0)
                return OBJECT_E_VERSION;
        for (size_t i = 0; i < ARRAY_SIZE(entry_members); i++) {
                v = json_object_get(o, entry_members[i].name);
                if (!v)
                        return diag(reterr, OBJECT_E_SYNTAX, "the entry has no member \"%s\": it must be %s",
                                    entry_members[i].name, entry_members[i].form);
                if (!entry_members[i].fits(v))
                        return diag(reterr, OBJECT_E_SYNTAX, "member \"%s\" of the entry must be %s",
                                    entry_members[i].name, entry_members[i].form);
        }
        json_object_foreach((json_t *)o, name, v)
                if (!entry_has_member(name))
                        return diag(reterr, OBJECT_E_SYNTAX,
                                    "the entry has an unknown member \"%s\"", DIAG_QUOTED(name));
        return 0;
}

/* An entry has a single text: other spellings of the same JSON are refused. */
static int entry_check_canonical(const json_t *o, const char *text, size_t n, Diag *reterr) {
        _cleanup_free_ char *again = NULL;
        size_t n_again, i = 0;
        int r = json_canonical(o, &again, &n_again);

        if (r == -ERANGE)
                return diag(reterr, OBJECT_E_SYNTAX, "the entry has an integer beyond 2^53-1: write it as a string");
        if (r < 0)
                return r;
        if (n == n_again && memcmp(text, again, n) == 0)
                return 0;
        while (i < n && i < n_again && text[i] == again[i])
                i++;
        return diag(reterr, OBJECT_E_SYNTAX,
                    "the entry is not in the canonical form of RFC 8785 from byte %zu on", i + 1);
}

/* Reads TEXT, which *ret owns then. Neither the key's id nor the signature is set; the form of TEXT is not checked. */
static int entry_read(char **text, size_t n, Entry *ret, Diag *reterr) {
        _cleanup_json_ json_t *o = NULL;
        int r;

        if (n > ENTRY_TEXT_MAX)
                return diag(reterr, OBJECT_E_SIZE, "an entry of %zu bytes: at most %d are allowed", n, ENTRY_TEXT_MAX);
        r = json_parse_plain(*text, n, ENTRY_DEPTH_MAX, &o); /* most entries; twice as fast */
        if (r > 0)
                r = json_parse(*text, n, ENTRY_TEXT_MAX, ENTRY_DEPTH_MAX, &o, reterr);
        if (r > 0) {
                diag_prefix(reterr, "the entry's JSON");
                return OBJECT_E_SYNTAX;
        }
        r = r ?: entry_check_members(o, reterr);
        if (r != 0)
                return r;
        *ret = (Entry){
                .n = json_number(o, "n"),
                .time_usec = json_number(o, "time"),
                .kind = entry_kind_of(json_str(o, "kind")),
                .state = object_state_of(json_str(o, "state")),
                .n_text = n,
        };
        r = hex_decode(json_str(o, "prev"), ret->prev, sizeof(ret->prev));
        assert(r == 0); /* entry_fits_prev() */
        hash_bytes(*text, n, ret->hash);
        ret->text = TAKE_PTR(*text);
        ret->json = TAKE_PTR(o);
        return 0;
}

/* The bytes that a signature is over. */
static int entry_signed_bytes(const Entry *e, Buf *ret) {
        return buf_reserve(ret, strlen(ENTRY_DOMAIN) + e->n_text)
                ?: buf_add_str(ret, ENTRY_DOMAIN)
                ?: buf_add(ret, e->text, e->n_text);
}

static json_t *entry_or_null(const json_t *v) {
        return v ? json_incref((json_t *)v) : json_null();
}

/* A string that was checked by nobody: entry_read() refuses bytes that are not UTF-8. */
static json_t *entry_string(const char *s) {
        return json_stringn_nocheck(s, strlen(s));
}

/* The values are shared with the caller until the text is made. NULL: out of memory. */
static json_t *entry_to_json(const EntryNew *e) {
        static const uint8_t none[ENTRY_HASH_BYTES];
        char prev[2 * ENTRY_HASH_BYTES + 1];
        _cleanup_json_ json_t *o = json_object();

        hex_encode(e->prev ?: none, ENTRY_HASH_BYTES, prev);
        if (!o || json_put(o, "data", e->data ? json_incref((json_t *)e->data) : json_object()) < 0 ||
            json_put(o, "kind", json_string(entry_kind_name(e->kind))) < 0 || json_put(o, "n", json_u64(e->n)) < 0 ||
            json_put(o, "node", entry_string(e->node)) < 0 || json_put(o, "object", entry_string(e->object)) < 0 ||
            json_put(o, "outcome", entry_or_null(e->outcome)) < 0 ||
            json_put(o, "policy", entry_or_null(e->policy)) < 0 || json_put(o, "prev", json_string(prev)) < 0 ||
            json_put(o, "state", json_string(object_state_name(e->state))) < 0 ||
            json_put(o, "time", json_u64(e->time_usec)) < 0 || json_put(o, "trace", entry_string(e->trace)) < 0 ||
            json_put(o, "version", json_integer(ENTRY_VERSION)) < 0)
                return NULL;
        return TAKE_PTR(o);
}

int entry_make(const EntryNew *e, const char keyid[static ENTRY_KEYID_LEN + 1], EntrySign sign, void *userdata,
               Entry *ret, Diag *reterr) {
        _cleanup_json_ json_t *o = entry_to_json(e);
        _cleanup_free_ char *text = NULL;
        _cleanup_entry_ Entry made = ENTRY_NULL;
        _cleanup_buf_ Buf bytes = {0};
        size_t n;
        int r = o ? json_canonical(o, &text, &n) : -ENOMEM;

        assert(strlen(keyid) == ENTRY_KEYID_LEN && entry_is_lower_hex(keyid, ENTRY_KEYID_LEN));
        if (r == -ERANGE)
                return diag(reterr, OBJECT_E_SYNTAX,
                            "the entry would have an integer beyond 2^53-1: write it as a string");
        r = r ?: entry_read(&text, n, &made, reterr) ?: entry_signed_bytes(&made, &bytes);
        r = r ?: sign(userdata, bytes.data, bytes.n, made.sig);
        if (r != 0)
                return r;
        memcpy(made.keyid, keyid, sizeof(made.keyid));
        *ret = made;
        made = ENTRY_NULL;
        return 0;
}

int entry_print(const Entry *e, Buf *line) {
        char tail[ENTRY_TAIL + 1] = " ";

        memcpy(tail + 1, e->keyid, ENTRY_KEYID_LEN);
        tail[1 + ENTRY_KEYID_LEN] = ' ';
        note_base64(e->sig, sizeof(e->sig), tail + ENTRY_TAIL - ENTRY_SIG_CHARS, ENTRY_SIG_CHARS + 1);
        return buf_reserve(line, e->n_text + ENTRY_TAIL)
                ?: buf_add(line, e->text, e->n_text)
                ?: buf_add(line, tail, ENTRY_TAIL);
}

int entry_parse(const char *line, size_t n, Entry *ret, Diag *reterr) {
        _cleanup_entry_ Entry read = ENTRY_NULL;
        _cleanup_free_ char *text = NULL;
        const char *tail;
        int r;

        if (n > ENTRY_LINE_MAX)
                return diag(reterr, OBJECT_E_SIZE, "an entry of %zu bytes: at most %d are allowed", n, ENTRY_LINE_MAX);
        if (n <= ENTRY_TAIL)
                return diag(reterr, OBJECT_E_SYNTAX, "an entry of %zu bytes is cut: the signature alone has %d", n,
                            ENTRY_TAIL);
        n -= ENTRY_TAIL;
        tail = line + n;
        if (tail[0] != ' ' || !entry_is_lower_hex(tail + 1, ENTRY_KEYID_LEN) || tail[1 + ENTRY_KEYID_LEN] != ' ')
                return diag(reterr, OBJECT_E_SYNTAX,
                            "no key of 8 hexadecimal digits stands between the entry's text and %s",
                            "the signature of 88 characters");
        text = malloc(n + 1);
        if (!text)
                return -ENOMEM;
        memcpy(text, line, n);
        text[n] = 0;
        r = entry_read(&text, n, &read, reterr) ?: entry_check_canonical(read.json, read.text, n, reterr);
        if (r != 0)
                return r;
        if (base64_decode(tail + ENTRY_TAIL - ENTRY_SIG_CHARS, ENTRY_SIG_CHARS, read.sig, sizeof(read.sig)) !=
            (ssize_t)sizeof(read.sig))
                return diag(reterr, OBJECT_E_SYNTAX,
                            "the signature of entry %" PRIu64 " is not base64 of 64 bytes", read.n);
        memcpy(read.keyid, tail + 1, ENTRY_KEYID_LEN);
        *ret = read;
        read = ENTRY_NULL;
        return 0;
}

int entry_verify(const Entry *e, const uint8_t key[static 32], Diag *reterr) {
        _cleanup_buf_ Buf bytes = {0};
        int r = entry_signed_bytes(e, &bytes);

        if (r < 0)
                return r;
        if (crypto_sign_verify_detached(e->sig, (const uint8_t *)bytes.data, bytes.n, key) != 0)
                return diag(reterr, OBJECT_E_SIGNATURE,
                            "the signature of key %s under entry %" PRIu64 " does not verify",
                            e->keyid, e->n);
        return 0;
}
