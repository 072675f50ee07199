/* Runs: supervisor, CLI. The keys with signatures that count here (O-9). A keyid has 32 bits and can be forged: the
 * code compares whole keys. */
#pragma once

#include "ledger/signed-note.h"
#include "object/object.h"

typedef enum SignerState { SIGNER_OWN, SIGNER_TRUSTED, SIGNER_REVOKED, SIGNER_UNKNOWN } SignerState;
/* Is the key trusted? Returns 0 or -errno. */
int trust_look(Txn *t, const char *keyid, const char *vkey, SignerState *ret);
/* The key of a signer of the object: the key of the node, a key from an import (member "keys" of the row), or a key
 * with a row of trust. Returns 0, -ENOENT, -errno. */
int trust_key(Txn *t, const ObjectRow *row, const char *keyid, char ret[static VKEY_MAX]);
/* Has the object a signer without trust? Returns 0 or -errno. */
int trust_judge(Txn *t, const ObjectRow *row, bool *ret_unknown);
