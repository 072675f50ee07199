/* Runs: supervisor. The sections of a session, in locked memory (I-48, I-84). A session lives over many turns and has
 * no thread of its own: the caller has entered the session.
 *
 *     carry_new -> [carry_hand_over] -> {carry_reserve -> commit -> carry_put}, carry_values -> carry_wipe -> carry_free
 *
 * A section takes memory with the first reserved value, so that hundreds of sessions may be open under a small
 * RLIMIT_MEMLOCK; a value is reserved before the record promises the value. */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "region/region-section.h"

enum {
        CARRY_E_BAD = 1,    /* the declaration cannot be used */
        CARRY_E_UNDECLARED, /* the manifest declares no section of that name */
        CARRY_E_SCHEMA,     /* the value does not fit the section's schema */
        CARRY_E_TOO_LARGE,
        CARRY_E_UNLOCKED,   /* the memory cannot be locked: the message has the limit */
};

typedef struct Carry Carry;

/* sections: object name -> {"schema": JSON Schema, "bytes": n}. Returns 0, CARRY_E_BAD, -errno. */
int carry_new(const json_t *sections, Carry **ret, Diag *reterr);
/* Checks a value against the declaration. ret_n (may be NULL): its canonical bytes. Returns 0, CARRY_E_*, -errno. */
int carry_check(const json_t *sections, const char *name, const json_t *value, size_t *ret_n, Diag *reterr);
/* Locks memory for a value of n bytes; the present value stays. Returns 0, CARRY_E_*, -errno. */
int carry_reserve(Carry *c, const char *name, size_t n, Diag *reterr);
/* Replaces the value of a section; a checked and reserved value fits. Returns 0, CARRY_E_*, -errno. */
int carry_put(Carry *c, const char *name, const json_t *value, uint64_t version, Diag *reterr);
/* Object name -> {"value","version"} of the sections with a value. New reference, NULL: out of memory. */
json_t *carry_values(const Carry *c);
uint64_t carry_bytes(const Carry *c); /* of locked memory */
/* Makes a key for the client that opens the session; only its hash stays. The caller overwrites ret. Returns 0, -EIO. */
int carry_hand_over(Carry *c, char ret[static KEY_TEXT_BYTES + 1]);
bool carry_key_is(const Carry *c, const char *text); /* Compares in constant time. false: no key was handed over */
/* Overwrites the sections, and reads back. *ret counts all memory that the session ever held. */
void carry_wipe(Carry *c, unsigned passes, VaultWiped *ret);
void carry_free(Carry *c); /* Wipes the rest. NULL is fine. */
