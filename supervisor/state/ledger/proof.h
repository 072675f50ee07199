/* Runs: supervisor, CLI. Proof files of an entry (c2sp.org/tlog-proof@v1): index, audit path, checkpoint; no store
 * needed. */
#pragma once

#include "base/buf.h"
#include "ledger/ledger.h"

enum {
        PROOF_E_NO_ENTRY = 1, /* the ledger has no such entry */
        PROOF_E_FORM,         /* not a proof file: the message says where */
        PROOF_E_WRONG,        /* the file does not prove the entry under the key: the message says why */
};

#define PROOF_MAX (16 * 1024)

/* Writes the proof of entry seq under the newest checkpoint. Returns 0, PROOF_E_NO_ENTRY, -errno. */
int proof_build(Txn *t, uint64_t seq, Buf *ret, Diag *reterr);
/* Checks a proof of `entry`. Returns 0 with the index and the checkpoint, PROOF_E_*. */
int proof_check(const char *text, size_t n, const void *entry, size_t n_entry, const uint8_t public_key[static 32],
                uint64_t *ret_index, Checkpoint *ret, Diag *reterr);
/* Checks that an entry, as read, is in the ledger of t under the newest checkpoint, signed with the store's key. For a
 * caller that shows few entries and does not read the whole ledger. Returns 0, PROOF_E_WRONG with a message, -errno. */
int proof_entry(Txn *t, uint64_t seq, Bytes entry, Diag *reterr);
