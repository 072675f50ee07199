#include "ledger/dsse.h"

#include "base/hash.h"
#include "base/json.h"
#include "store/hooks.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define DER_BYTES 44

static void key_der(const uint8_t public_key[static 32], uint8_t ret[static DER_BYTES]) {
        /* RFC 8410 section 4: SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING } */
        static const uint8_t head[12] = {0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00};

        memcpy(ret, head, sizeof(head));
        memcpy(ret + sizeof(head), public_key, 32);
}

const char *key_id(const uint8_t public_key[static 32], char out[static KEY_ID_MAX]) {
        uint8_t der[DER_BYTES], hash[HASH_BYTES];

        key_der(public_key, der);
        hash_bytes(der, sizeof(der), hash);
        return hex_encode(hash, sizeof(hash), out);
}

const char *key_pem(const uint8_t public_key[static 32], char out[static KEY_PEM_MAX]) {
        uint8_t der[DER_BYTES];
        char b64[64];

        key_der(public_key, der);
        sodium_bin2base64(b64, sizeof(b64), der, sizeof(der), sodium_base64_VARIANT_ORIGINAL);
        snprintf(out, KEY_PEM_MAX, "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n", b64);
        return out;
}

int key_parse_pem(const char *text, size_t n, uint8_t ret[static 32]) {
        static const char head[] = "-----BEGIN PUBLIC KEY-----\n";
        uint8_t der[DER_BYTES], key[32];
        char again[KEY_PEM_MAX];

        if (n < sizeof(head) + 60 || memcmp(text, head, sizeof(head) - 1) != 0 ||
            base64_decode(text + sizeof(head) - 1, 60, der, sizeof(der)) != sizeof(der))
                return -EINVAL;
        memcpy(key, der + 12, sizeof(key));
        if (strlen(key_pem(key, again)) != n || memcmp(again, text, n) != 0)
                return -EINVAL;
        memcpy(ret, key, sizeof(key));
        return 0;
}

/* The signed bytes: pre-authentication encoding. */
static int dsse_encode(const char *type, const void *payload, size_t n, Buf *ret) {
        return buf_printf(ret, "DSSEv1 %zu %s %zu ", strlen(type), type, n) ?: buf_add(ret, payload, n);
}

static int dsse_envelope(const char *type, const void *payload, size_t n, const char *keyid,
                         const uint8_t signature[static 64], Buf *ret) {
        _cleanup_free_ char *b64 = base64_encode(payload, n), *sig = base64_encode(signature, 64), *text = NULL;
        _cleanup_json_ json_t *o = NULL;
        size_t n_text;
        int r;

        if (!b64 || !sig)
                return -ENOMEM;
        o = json_pack("{s:s, s:s, s:[{s:s, s:s}]}", "payload", b64, "payloadType", type, "signatures", "keyid", keyid,
                      "sig", sig);
        r = o ? json_canonical(o, &text, &n_text) : -ENOMEM;
        if (r == 0)
                r = buf_add(ret, text, n_text);
        return r == 0 ? buf_add(ret, "\n", 1) : r;
}

int dsse_seal(Store *s, const char *type, const void *payload, size_t n, Buf *ret, Diag *reterr) {
        _cleanup_buf_ Buf pae = {0};
        uint8_t signature[64];
        char id[KEY_ID_MAX];

        return store_need_key(s, reterr)
                ?: dsse_encode(type, payload, n, &pae)
                ?: store_sign(s, pae.data, pae.n, signature)
                ?: dsse_envelope(type, payload, n, key_id(store_public_key(s), id), signature, ret);
}

static int dsse_bad_form(Diag *reterr, const char *what) {
        return diag(reterr, DSSE_E_FORM, "not an envelope in the form that Lethe writes: %s", what);
}

int dsse_open(const char *text, size_t n, const char *type, const uint8_t public_key[static 32], char **ret,
              size_t *ret_n, Diag *reterr) {
        _cleanup_buf_ Buf pae = {0}, again = {0};
        _cleanup_free_ char *payload = NULL;
        _cleanup_json_ json_t *o = NULL;
        const char *b64, *sig;
        uint8_t signature[64];
        char id[KEY_ID_MAX];
        const json_t *first;
        ssize_t n_payload;
        int r = json_parse(text, n, DSSE_MAX, JSON_DEPTH_DEFAULT, &o, reterr);

        if (r != 0)
                return r > 0 ? DSSE_E_FORM : r;
        first = json_array_get(json_object_get(o, "signatures"), 0);
        b64 = json_str(o, "payload");
        sig = json_str(first, "sig");
        payload = malloc(strlen(b64) + 1);
        if (!payload)
                return -ENOMEM;
        n_payload = base64_decode(b64, strlen(b64), payload, strlen(b64));
        if (n_payload < 0)
                return dsse_bad_form(reterr, "payload is not base64");
        payload[n_payload] = 0;
        if (base64_decode(sig, strlen(sig), signature, sizeof(signature)) != sizeof(signature))
                return dsse_bad_form(reterr, "the signature is not one of Ed25519");
        if (strcmp(json_str(o, "payloadType"), type) != 0)
                return dsse_bad_form(reterr, "payloadType is not the expected type");
        if (strcmp(json_str(first, "keyid"), key_id(public_key, id)) != 0)
                return diag(reterr, DSSE_E_KEY, "signed by another key than %s", id);
        r = dsse_envelope(type, payload, (size_t)n_payload, id, signature, &again)
                ?: dsse_encode(type, payload, (size_t)n_payload, &pae);
        if (r < 0)
                return r;
        if (!again.data || again.n != n || memcmp(again.data, text, n) != 0)
                return dsse_bad_form(reterr, "the bytes differ from that form");
        if (crypto_sign_verify_detached(signature, (const uint8_t *)pae.data, pae.n, public_key) != 0)
                return diag(reterr, DSSE_E_SIGNATURE, "the signature does not verify");
        *ret = TAKE_PTR(payload);
        *ret_n = (size_t)n_payload;
        return 0;
}
