/* Runs: supervisor, CLI. Signed statements in a public form: DSSE envelopes (secure-systems-lab/dsse, protocol 1.0.2)
 * with an Ed25519 signature, and the public key as openssl reads keys (SubjectPublicKeyInfo of RFC 8410, in PEM). The
 * signed bytes of an envelope begin with "DSSEv1 ", of a checkpoint with the origin: the two cannot be confused. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "store/store.h"

enum {
        DSSE_E_FORM = 1,  /* not in the form that dsse_seal writes: the message says why */
        DSSE_E_KEY,       /* signed by a different key */
        DSSE_E_SIGNATURE, /* the signature does not verify */
};

#define DSSE_MAX (1024 * 1024)
#define KEY_ID_MAX 65
#define KEY_PEM_MAX 256

/* Signs and appends the envelope: one line of canonical JSON. Returns 0, STORE_E_KEY with a message, -errno. */
int dsse_seal(Store *s, const char *type, const void *payload, size_t n, Buf *ret, Diag *reterr);
/* Reads an envelope and verifies it. Only the exact bytes that dsse_seal writes are accepted, so that every changed
 * byte is refused. Returns 0 with the payload, which the caller owns, DSSE_E_*, -ENOMEM. */
int dsse_open(const char *text, size_t n, const char *type, const uint8_t public_key[static 32], char **ret,
              size_t *ret_n, Diag *reterr);

/* The key's name in an envelope: SHA-256 of the key's DER form, in hex. Returns out. */
const char *key_id(const uint8_t public_key[static 32], char out[static KEY_ID_MAX]);
/* The key as "-----BEGIN PUBLIC KEY-----" … . Returns out. */
const char *key_pem(const uint8_t public_key[static 32], char out[static KEY_PEM_MAX]);
/* Reads only the form that key_pem and openssl write. Returns 0 or -EINVAL. */
int key_parse_pem(const char *text, size_t n, uint8_t ret[static 32]);
