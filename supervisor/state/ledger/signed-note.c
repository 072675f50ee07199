#include "ledger/signed-note.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define ALGORITHM_ED25519 1
#define DASH "\xe2\x80\x94" /* U+2014, which begins a signature line */

/* First four bytes of SHA256(name || 0A || 01 || key). */
static void note_key_id(const char *name, const uint8_t public_key[static 32], uint8_t ret[static 4]) {
        crypto_hash_sha256_state st;
        uint8_t hash[HASH_BYTES];

        crypto_hash_sha256_init(&st);
        crypto_hash_sha256_update(&st, (const uint8_t *)name, strlen(name));
        crypto_hash_sha256_update(&st, (const uint8_t[]){'\n', ALGORITHM_ED25519}, 2);
        crypto_hash_sha256_update(&st, public_key, 32);
        crypto_hash_sha256_final(&st, hash);
        memcpy(ret, hash, 4);
}

const char *note_keyid(const char *name, const uint8_t public_key[static 32], char out[static NOTE_KEYID_MAX]) {
        uint8_t id[4];

        note_key_id(name, public_key, id);
        return hex_encode(id, sizeof(id), out);
}

void note_base64(const uint8_t *p, size_t n, char *out, size_t n_out) {
        sodium_bin2base64(out, n_out, p, n, sodium_base64_VARIANT_ORIGINAL);
}

void note_vkey(const char *name, const uint8_t public_key[static 32], char out[static VKEY_MAX]) {
        uint8_t key[33] = {ALGORITHM_ED25519};
        char hex[NOTE_KEYID_MAX], b64[64];

        memcpy(key + 1, public_key, 32);
        note_base64(key, sizeof(key), b64, sizeof(b64));
        snprintf(out, VKEY_MAX, "%s+%s+%s", name, note_keyid(name, public_key, hex), b64);
}

bool note_name_valid(const char *name) {
        size_t n = strlen(name);

        for (size_t i = 0; i < n; i++)
                if (name[i] <= ' ' || name[i] > '~' || name[i] == '+')
                        return false;
        return n > 0 && n < NOTE_NAME_MAX;
}

int note_vkey_parse(const char *vkey, char ret_name[static NOTE_NAME_MAX], uint8_t ret_key[static 32], Diag *reterr) {
        size_t n_name = strcspn(vkey, "+"), n = strlen(vkey);
        char name[NOTE_NAME_MAX] = "", again[VKEY_MAX];
        uint8_t key[33];

        memcpy(name, vkey, MIN(n_name, sizeof(name) - 1));
        if (n_name >= sizeof(name) || !note_name_valid(name))
                return diag(reterr, NOTE_E_FORM,
                            "the key %s does not begin with a name of 1 to %d bytes of printable ASCII without blanks",
                            DIAG_QUOTED(vkey), NOTE_NAME_MAX - 1);
        if (n < n_name + 10 ||
            base64_decode(vkey + n_name + 10, n - n_name - 10, key, sizeof(key)) != (ssize_t)sizeof(key))
                return diag(reterr, NOTE_E_FORM,
                            "the key %s does not end with \"+\", 8 hexadecimal digits, \"+\" and 33 bytes in base64",
                            DIAG_QUOTED(vkey));
        note_vkey(name, key + 1, again);
        if (strcmp(again, vkey) != 0)
                return diag(reterr, NOTE_E_FORM,
                            "the key %s is not in the form %s: algorithm 1 (Ed25519), digits of name and key",
                            DIAG_QUOTED(vkey), again);
        memcpy(ret_name, name, sizeof(name));
        memcpy(ret_key, key + 1, 32);
        return 0;
}

size_t note_text(const Checkpoint *c, char out[static NOTE_MAX]) {
        char b64[64];

        note_base64(c->root.b, sizeof(c->root.b), b64, sizeof(b64));
        return (size_t)snprintf(out, NOTE_MAX, "%s\n%" PRIu64 "\n%s\n", c->origin, c->size, b64);
}

size_t note_build(const Checkpoint *c, const uint8_t public_key[static 32], const uint8_t signature[static 64],
                  char out[static NOTE_MAX]) {
        size_t n = note_text(c, out);
        uint8_t blob[68];
        char b64[128];

        note_key_id(c->origin, public_key, blob);
        memcpy(blob + 4, signature, 64);
        note_base64(blob, sizeof(blob), b64, sizeof(b64));
        return n + (size_t)snprintf(out + n, NOTE_MAX - n, "\n" DASH " %s %s\n", c->origin, b64);
}

bool note_line(const char **p, size_t *n, const char **line, size_t *n_line) {
        const char *nl = memchr(*p, '\n', *n);

        if (!nl)
                return false;
        *line = *p;
        *n_line = (size_t)(nl - *p);
        *n -= *n_line + 1;
        *p = nl + 1;
        return true;
}

bool note_number(const char *s, size_t n, uint64_t *ret) {
        uint64_t v = 0;

        if (n == 0 || n > 20 || (*s == '0' && n > 1))
                return false;
        for (size_t i = 0; i < n; i++)
                if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
                    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
                        return false;
        *ret = v;
        return true;
}

/* Reads up to the signatures, and leaves these in *text of *left bytes. */
static int note_read(const char **text, size_t *left, Checkpoint *ret, Diag *reterr) {
        const char *note = *text;
        size_t n = *left;
        Checkpoint c = {0};
        const char *line;
        size_t k;

        if (n > NOTE_MAX)
                return diag(reterr, NOTE_E_FORM, "a checkpoint of %zu bytes: at most %d are allowed", n, NOTE_MAX);
        if (memchr(note, 0, n))
                return diag(reterr, NOTE_E_FORM, "the checkpoint has a NUL byte");
        if (!note_line(&note, &n, &line, &k) || k == 0 || k >= sizeof(c.origin))
                return diag(reterr, NOTE_E_FORM, "the checkpoint's first line is no origin");
        memcpy(c.origin, line, k);
        if (!note_line(&note, &n, &line, &k) || !note_number(line, k, &c.size))
                return diag(reterr, NOTE_E_FORM, "the checkpoint's second line is no size");
        if (!note_line(&note, &n, &line, &k) ||
            base64_decode(line, k, c.root.b, sizeof(c.root.b)) != (ssize_t)sizeof(c.root.b))
                return diag(reterr, NOTE_E_FORM, "the checkpoint's third line is no root hash");
        if (!note_line(&note, &n, &line, &k) || k != 0)
                return diag(reterr, NOTE_E_FORM, "the checkpoint's fourth line is not empty");
        if (n == 0)
                return diag(reterr, NOTE_E_FORM, "the checkpoint has no signature");
        *ret = c;
        *text = note;
        *left = n;
        return 0;
}

int note_parse(const char *note, size_t n, Checkpoint *ret, Diag *reterr) {
        return note_read(&note, &n, ret, reterr);
}

int note_open(const char *note, size_t n, const uint8_t public_key[static 32], Checkpoint *ret, Diag *reterr) {
        Checkpoint c;
        const char *line;
        char text[NOTE_MAX];
        uint8_t id[4];
        size_t k, n_text;
        bool seen = false;
        int r = note_read(&note, &n, &c, reterr);

        if (r != 0)
                return r;
        n_text = note_text(&c, text);
        note_key_id(c.origin, public_key, id);
        while (n > 0) {
                uint8_t blob[68];
                size_t n_origin = strlen(c.origin);

                if (!note_line(&note, &n, &line, &k) || k < 4 || memcmp(line, DASH " ", 4) != 0)
                        return diag(reterr, NOTE_E_FORM, "a line below the checkpoint is no signature");
                if (k < 5 + n_origin || memcmp(line + 4, c.origin, n_origin) != 0 || line[4 + n_origin] != ' ')
                        continue; /* the signature of a different signer */
                if (base64_decode(line + 5 + n_origin, k - 5 - n_origin, blob, sizeof(blob)) != (ssize_t)sizeof(blob))
                        return diag(reterr, NOTE_E_FORM, "the signature of %s is malformed", c.origin);
                if (memcmp(blob, id, 4) != 0)
                        continue;
                seen = true;
                if (crypto_sign_verify_detached(blob + 4, (const uint8_t *)text, n_text, public_key) != 0)
                        return diag(reterr, NOTE_E_SIGNATURE,
                                    "the signature of %s over size %" PRIu64 " does not verify", c.origin, c.size);
        }
        if (!seen)
                return diag(reterr, NOTE_E_KEY, "the checkpoint has no signature of this ledger's key");
        *ret = c;
        return 0;
}
