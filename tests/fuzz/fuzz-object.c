/* Objects as files. The bytes are read as a file, and as an entry: what parses is written the same, all else is refused with a reason. Then each
 * line that is an object is taken for an entry: it gets its number, the hash of the entry before and a signature, and the file that is made of
 * them is read the same way, so that the fold sees what no stranger could sign. */
#include "object/bundle.h"
#include "base/hash.h"
#include "ledger/signed-note.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <string.h>

#define NODE "lethe/0000000000000001"
#define ENTRIES_MOST 64

static uint8_t public_key[32], secret[64];
static char keyid[NOTE_KEYID_MAX], vkey[VKEY_MAX];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        static const uint8_t seed[32] = {1};

        if (sodium_init() < 0 || crypto_sign_seed_keypair(public_key, secret, seed) != 0)
                return -1;
        note_keyid(NODE, public_key, keyid);
        note_vkey(NODE, public_key, vkey);
        return 0;
}

static void try_bundle(const char *text, size_t n) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        _cleanup_buf_ Buf again = {0};
        Diag why = {0};
        int r = object_bundle_parse(text, n, &b, &why);

        fuzz_check(r >= 0 && r <= OBJECT_E_SCOPE, "%d", r);
        fuzz_check((r == 0) == !*why.text, "%d: %s", r, why.text);
        if (r != 0)
                return;
        fuzz_check(object_bundle_print(&b, &again) == 0 && again.n == n && memcmp(again.data, text, n) == 0, "%s", again.data);
        fuzz_check(b.memory.n == b.n && memcmp(b.memory.head, b.entries[b.n - 1].hash, ENTRY_HASH_BYTES) == 0);
}

static void try_entry(const char *text, size_t n, bool is_signed) {
        _cleanup_entry_ Entry e = ENTRY_NULL;
        _cleanup_buf_ Buf again = {0};
        Diag why = {0};
        int r = entry_parse(text, n, &e, &why);

        fuzz_check(r == 0 || r == OBJECT_E_SYNTAX || r == OBJECT_E_VERSION || r == OBJECT_E_SIZE, "%d", r);
        fuzz_check((r == 0) == !*why.text, "%d: %s", r, why.text);
        if (r != 0)
                return;
        fuzz_check(entry_print(&e, &again) == 0 && again.n == n && memcmp(again.data, text, n) == 0, "%s", again.data);
        fuzz_check(entry_verify(&e, public_key, &why) == 0 || !is_signed, "%s", why.text);
}

static void check_add(int r) {
        fuzz_check(r == 0, "%d", r);
}

/* The text of a line as an entry's: canonical, with its number and the hash of the text before. NULL: the line is no object. */
static char *entry_text(const char *line, size_t n, uint64_t number, const uint8_t hash[static HASH_BYTES], json_t **ret, size_t *ret_n) {
        _cleanup_json_ json_t *o = NULL;
        char hex[HASH_HEX_MAX], *text = NULL;

        if (json_parse(line, n, ENTRY_TEXT_MAX, ENTRY_DEPTH_MAX, &o, NULL) != 0 || !json_is_object(o))
                return NULL;
        hex_encode(hash, HASH_BYTES, hex);
        if (json_put(o, "n", json_u64(number)) < 0 || json_put(o, "prev", json_string(hex)) < 0 || json_canonical(o, &text, ret_n) < 0)
                return NULL;
        *ret = TAKE_PTR(o);
        return text;
}

static void add_signed(Buf *file, const char *text, size_t n) {
        _cleanup_buf_ Buf bytes = {0};
        size_t start = file->n;
        uint8_t sig[64];
        char b64[89];

        check_add(buf_add_str(&bytes, ENTRY_DOMAIN) ?: buf_add(&bytes, text, n));
        crypto_sign_detached(sig, NULL, (const uint8_t *)bytes.data, bytes.n, secret);
        note_base64(sig, sizeof(sig), b64, sizeof(b64));
        check_add(buf_add(file, text, n) ?: buf_printf(file, " %s %s", keyid, b64));
        try_entry(file->data + start, file->n - start, true);
        check_add(buf_add(file, "\n", 1));
}

static void add_head(Buf *file, const char *name, const json_t *v) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        if (v && json_canonical(v, &text, &n) == 0)
                check_add(buf_printf(file, "%s ", name) ?: buf_add(file, text, n) ?: buf_add(file, "\n", 1));
}

/* A file of all lines that are objects; its head is that of the first. */
static void try_signed(const char *rest, size_t n) {
        _cleanup_buf_ Buf file = {0};
        uint8_t hash[HASH_BYTES] = {0};
        char hex[HASH_HEX_MAX];
        size_t n_line, entries = 0;
        const char *line;

        check_add(buf_add_str(&file, "lethe-object/1\n"));
        while (entries < ENTRIES_MOST && note_line(&rest, &n, &line, &n_line)) {
                _cleanup_json_ json_t *o = NULL;
                _cleanup_free_ char *text = entry_text(line, n_line, entries, hash, &o, &n_line);

                if (!text)
                        continue;
                if (entries++ == 0) {
                        add_head(&file, "intent", json_object_get(json_object_get(o, "data"), "intent"));
                        add_head(&file, "context", json_object_get(json_object_get(o, "data"), "context"));
                        check_add(buf_printf(&file, "keys {\"%s\":\"%s\"}\nschemas {}\n\n", keyid, vkey));
                }
                hash_bytes(text, n_line, hash);
                add_signed(&file, text, n_line);
        }
        check_add(buf_printf(&file, "end %zu %s\n", entries, hex_encode(hash, sizeof(hash), hex)));
        try_bundle(file.data, file.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_free_ char *copy = malloc(n + 1);

        if (!copy)
                return 0;
        memcpy(copy, data, n);
        try_bundle(copy, n);
        try_entry(copy, n, false);
        try_signed(copy, n);
        return 0;
}
