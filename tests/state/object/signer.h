/* Runs: tests. Nodes with keys of their own, which sign entries; the same for the same number. */
#pragma once

#include "ledger/signed-note.h"
#include "object/entry.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>

typedef struct Signer {
        char node[NOTE_NAME_MAX], keyid[NOTE_KEYID_MAX], vkey[VKEY_MAX];
        uint8_t pk[32], sk[64];
        unsigned signs; /* signatures so far */
        int refuses;    /* returned instead of a signature, unless 0 */
} Signer;

static inline void signer_init(Signer *s, uint8_t number) {
        const uint8_t seed[32] = {number};

        *s = (Signer){0};
        cr_assert_geq(sodium_init(), 0);
        crypto_sign_seed_keypair(s->pk, s->sk, seed);
        snprintf(s->node, sizeof(s->node), "lethe/%016x", number);
        note_keyid(s->node, s->pk, s->keyid);
        note_vkey(s->node, s->pk, s->vkey);
}

/* An EntrySign. */
static inline int signer_sign(void *userdata, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]) {
        Signer *s = userdata;

        s->signs++;
        if (s->refuses)
                return s->refuses;
        return crypto_sign_detached(ret, NULL, msg, n, s->sk);
}

/* The line of a text that nobody checked, without a newline: an entry that is wrong in one way alone has a right signature. */
static inline void signer_line(Signer *s, const char *text, size_t n, Buf *ret) {
        _cleanup_buf_ Buf bytes = {0};
        uint8_t sig[ENTRY_SIG_BYTES];
        char b64[89];

        cr_assert_eq(buf_add_str(&bytes, ENTRY_DOMAIN), 0);
        cr_assert_eq(buf_add(&bytes, text, n), 0);
        cr_assert_eq(signer_sign(s, bytes.data, bytes.n, sig), 0);
        note_base64(sig, sizeof(sig), b64, sizeof(b64));
        cr_assert_eq(buf_add(ret, text, n), 0);
        cr_assert_eq(buf_printf(ret, " %s %s", s->keyid, b64), 0);
}

static inline unsigned random_below(uint64_t *seed, unsigned n) {
        *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
        return (unsigned)(*seed >> 33) % n;
}

static inline void random_id(uint64_t *seed, char out[static REGION_ID_MAX]) {
        static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

        for (size_t i = 0; i < REGION_ID_LEN; i++)
                out[i] = digits[random_below(seed, i == 0 ? 8 : 32)];
        out[REGION_ID_LEN] = 0;
}

/* Any JSON; at the depth 0 no array and no object. */
static inline json_t *random_json(uint64_t *seed, unsigned depth) {
        static const char *const texts[] = {"", "a", "Köln", "東京", "\"q\"\\", "line\nfeed\t\x01", "\U0001F600", "sha256:00", " ", "\x7f", "end 3 00", "lethe-object/2"};
        static const double reals[] = {0.5, -1.25, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 123456.789};
        json_t *v;

        switch (random_below(seed, depth > 0 ? 9 : 7)) {
        case 0: return json_null();
        case 1: return json_boolean(random_below(seed, 2));
        case 2: return json_integer((json_int_t)random_below(seed, 1000) - 500);
        case 3: return json_integer(random_below(seed, 2) ? JSON_INTEGER_MOST : -JSON_INTEGER_MOST);
        case 4: return json_real(reals[random_below(seed, ARRAY_SIZE(reals))]);
        case 5: return json_stringn("a\0b", 3); /* U+0000 is data like other text */
        case 6: return json_string(texts[random_below(seed, ARRAY_SIZE(texts))]);
        case 7:
                v = json_array();
                for (unsigned i = random_below(seed, 4); i > 0; i--)
                        json_array_append_new(v, random_json(seed, depth - 1));
                return v;
        default:
                v = json_object();
                for (unsigned i = random_below(seed, 4); i > 0; i--)
                        json_object_set_new(v, texts[random_below(seed, ARRAY_SIZE(texts))], random_json(seed, depth - 1));
                return v;
        }
}
