/* Runs: supervisor. The sections of a session, in locked memory (I-48, I-84). A session lives over many turns and has
 * no thread of its own: the caller holds the session's lock.
 *
 *     carry_new -> carry_put, carry_values -> carry_wipe -> carry_free */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "region/region-section.h"

enum {
        CARRY_E_BAD = 1,    /* the declaration cannot be used, or the memory cannot be locked */
        CARRY_E_UNDECLARED, /* the manifest declares no section of that name */
        CARRY_E_SCHEMA,     /* the value does not fit the section's schema */
        CARRY_E_TOO_LARGE,
};

typedef struct Carry Carry;

/* sections: object name -> {"schema": JSON Schema, "bytes": n}. All memory is reserved at once, and a key is made.
 * Returns 0, CARRY_E_BAD, -errno. */
int carry_new(const json_t *sections, Carry **ret, Diag *reterr);
/* Checks a value against the declaration. Returns 0, CARRY_E_*, -errno. */
int carry_check(const json_t *sections, const char *name, const json_t *value, Diag *reterr);
/* Replaces the value of a section; a checked value fits. Returns 0, CARRY_E_*, -errno. */
int carry_put(Carry *c, const char *name, const json_t *value, uint64_t version, Diag *reterr);
/* Object name -> {"value","version"} of the sections with a value. New reference, NULL: out of memory. */
json_t *carry_values(const Carry *c);
uint64_t carry_bytes(const Carry *c); /* of locked memory */
/* The session's key as text: for the client that opens the session, once. The caller overwrites ret. */
void carry_hand_over(const Carry *c, char ret[static KEY_TEXT_BYTES + 1]);
bool carry_key_is(const Carry *c, const char *text); /* Compares in constant time. */
/* Overwrites key and sections, and reads back. */
void carry_wipe(Carry *c, unsigned passes, VaultWiped *ret);
void carry_free(Carry *c); /* Wipes the rest. NULL is fine. */
