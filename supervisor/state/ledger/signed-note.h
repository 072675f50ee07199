/* Runs: supervisor, CLI. Checkpoints as C2SP signed notes (c2sp.org/signed-note, c2sp.org/tlog-checkpoint) with one
 * Ed25519 key. Only the signature is not pure. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "ledger/merkle.h"

#define NOTE_MAX 1024
#define VKEY_MAX 256
#define NOTE_NAME_MAX 128
#define NOTE_KEYID_MAX 9

enum {
        NOTE_E_FORM = 1,  /* not a checkpoint: the message says where */
        NOTE_E_KEY,       /* no signature by this key */
        NOTE_E_SIGNATURE, /* the signature does not verify */
};

typedef struct Checkpoint {
        char origin[NOTE_NAME_MAX];
        uint64_t size;
        MerkleHash root;
} Checkpoint;

/* The signed text: "origin\nsize\nroot\n". Returns its length. */
size_t note_text(const Checkpoint *c, char out[static NOTE_MAX]);
/* The whole note for a signature over note_text(). Returns its length. */
size_t note_build(const Checkpoint *c, const uint8_t public_key[static 32], const uint8_t signature[static 64],
                  char out[static NOTE_MAX]);
/* Reads a note and verifies the signature with the key. Returns 0 or NOTE_E_*. */
int note_open(const char *note, size_t n, const uint8_t public_key[static 32], Checkpoint *ret, Diag *reterr);
/* Checks the form only, without a key. */
int note_parse(const char *note, size_t n, Checkpoint *ret, Diag *reterr);

/* "name+keyid+base64(01 || key)", without newline. */
void note_vkey(const char *name, const uint8_t public_key[static 32], char out[static VKEY_MAX]);
/* A key's name: 1 to NOTE_NAME_MAX - 1 bytes of printable ASCII, without blank and "+". */
bool note_name_valid(const char *name);
/* Reads only the form that note_vkey() writes: a valid name, and the keyid of name and key. Returns 0 or
 * NOTE_E_FORM. */
int note_vkey_parse(const char *vkey, char ret_name[static NOTE_NAME_MAX], uint8_t ret_key[static 32], Diag *reterr);
/* The keyid of a vkey: 8 hexadecimal digits. Returns out. */
const char *note_keyid(const char *name, const uint8_t public_key[static 32], char out[static NOTE_KEYID_MAX]);
/* base64 with padding into a buffer, without the allocation of base64_encode(); out: sodium_base64_encoded_len(). */
void note_base64(const uint8_t *p, size_t n, char *out, size_t n_out);

/* Takes the next line from the text *p of *n bytes; *line is not terminated. Returns false when no newline is left. */
bool note_line(const char **p, size_t *n, const char **line, size_t *n_line);
/* A decimal number without a leading zero, and below 2^64. */
bool note_number(const char *s, size_t n, uint64_t *ret);
