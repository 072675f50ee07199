/* Runs: supervisor, CLI. An object as a file (O-39..O-41; schema/object.md). Lines:
 *
 *   lethe-object/1
 *   intent JSON      as at creation, complete
 *   context JSON
 *   keys JSON        {KEYID: vkey of the node (ledger/signed-note.h)} of all signers
 *   schemas JSON     {SLOT: "sha256:…" of the schema} of the slots that the trust scope names
 *   (empty line)
 *   entries, one a line (entry.h)
 *   end N HASH       number of entries, hash of the last
 *
 * The same object gives the same bytes. */
#pragma once

#include "object/memory.h"

#define BUNDLE_MAX (64 * 1024 * 1024) /* bytes */
#define BUNDLE_VERSION 1

typedef struct Bundle {
        Entry *entries; /* owned */
        size_t n;
        json_t *keys, *schemas; /* owned */
        ObjectMemory memory;    /* the fold of all entries */
} Bundle;
#define BUNDLE_NULL ((Bundle){0})
void bundle_deinit(Bundle *b);
#define _cleanup_bundle_ _cleanup_(bundle_deinit)

/* Reads and verifies everything that a file proves by itself: form, chain, moves, signatures by the keys that it carries,
 * intent and context as in the first entry. Whether those keys are to be trusted is the reader's: bundle.keys. Returns 0,
 * OBJECT_E_* with a message that names the line, -errno. */
int bundle_parse(const char *text, size_t n, Bundle *ret, Diag *reterr);
int bundle_print(const Bundle *b, Buf *ret);
