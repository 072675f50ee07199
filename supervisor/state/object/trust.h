/* Runs: supervisor, CLI. Whose signatures count here (O-9). A keyid has 32 bits and can be forged: whole keys are compared. */
#pragma once

#include "ledger/signed-note.h"
#include "object/object.h"

typedef enum SignerState { SIGNER_OWN, SIGNER_TRUSTED, SIGNER_REVOKED, SIGNER_UNKNOWN } SignerState;
/* Is the key trusted? Returns 0 or -errno. */
int trust_look(Txn *t, const char *keyid, const char *vkey, SignerState *ret);
/* The key of a signer of this object: the node's own, a key that came with the object (member "keys" of the row), or one
 * that is or was trusted. Returns 0, -ENOENT, -errno. */
int trust_key(Txn *t, const ObjectRow *row, const char *keyid, char ret[static VKEY_MAX]);
/* Has the object a signer who is not trusted? Returns 0 or -errno. */
int trust_judge(Txn *t, const ObjectRow *row, bool *ret_unknown);
