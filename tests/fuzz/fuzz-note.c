/* Checkpoints. The bytes are read as a note: no key of ours signed them, so that they never open; what parses is written the same. Then they
 * are taken for a size, a root and a bit: a checkpoint that was signed opens as itself, and with the bit turned over it opens as nothing
 * else. */
#include "base/json.h"
#include "ledger/signed-note.h"
#include "tests/fuzz/fuzz.h"

#include <sodium.h>
#include <string.h>

static uint8_t public_key[32], secret[64];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        static const uint8_t seed[32] = {1, 2, 3};

        if (sodium_init() < 0)
                return -1;
        return crypto_sign_seed_keypair(public_key, secret, seed);
}

static void sign(const Checkpoint *c, char note[static NOTE_MAX], size_t *ret_n) {
        char text[NOTE_MAX];
        uint8_t signature[64];
        size_t n = note_text(c, text);

        crypto_sign_detached(signature, NULL, (const uint8_t *)text, n, secret);
        *ret_n = note_build(c, public_key, signature, note);
}

static bool same(const Checkpoint *a, const Checkpoint *b) {
        return strcmp(a->origin, b->origin) == 0 && a->size == b->size && memcmp(&a->root, &b->root, sizeof(a->root)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Checkpoint c, opened, made = {.origin = "lethe/fuzz"};
        char note[NOTE_MAX], text[NOTE_MAX];
        size_t n_note, bit;
        Diag why = {0};
        int r = note_parse((const char *)data, n, &c, &why);

        fuzz_check(r == 0 || r == NOTE_E_FORM, "%d", r);
        fuzz_check((r == 0) == !*why.text);
        if (r == 0) {
                size_t n_text = note_text(&c, text);

                fuzz_check(n_text < n && memcmp(text, data, n_text) == 0, "%s", text);
                fuzz_check(c.size == 0 || c.origin[0]);
        }
        r = note_open((const char *)data, n, public_key, &opened, &why);
        fuzz_check(r == NOTE_E_FORM || r == NOTE_E_KEY || r == NOTE_E_SIGNATURE, "a note that was never signed opens: %d", r);

        if (n < 10)
                return 0;
        memcpy(&made.size, data, 8);
        hash_bytes(data, n, made.root.b);
        sign(&made, note, &n_note);
        fuzz_check(note_open(note, n_note, public_key, &opened, &why) == 0 && same(&made, &opened), "%s", why.text);
        bit = (size_t)(data[8] << 8 | data[9]) % (8 * n_note);
        note[bit / 8] = (char)(note[bit / 8] ^ 1 << bit % 8);
        r = note_open(note, n_note, public_key, &opened, &why);
        fuzz_check(r != 0 || same(&made, &opened), "bit %zu makes another checkpoint", bit);
        return 0;
}
