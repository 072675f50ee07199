/* Runs: supervisor, CLI. An object as a file (O-39..O-41; schema/object.md; "Bundle" alone is the files of a skill,
 * manifest/bundle.h). Lines:
 *
 *   lethe-object/1
 *   intent JSON      as at creation, complete
 *   context JSON     as at creation
 *   keys JSON        {KEYID: vkey of the node (ledger/signed-note.h)} of all signers of entries, without further keys
 *   schemas JSON     {SLOT: "sha256:…" of the schema} of the slots that the trust scope names: a claim of the
 *                    exporter, without a signature
 *   (empty line)
 *   entries, one a line (entry.h)
 *   end N HASH       number of entries, hash of the last
 *
 * JSON is canonical (RFC 8785), each line ends with a newline, and the last line ends the file: the same object
 * gives the same bytes. */
#pragma once

#include "object/memory.h"

#define OBJECT_BUNDLE_MAX (64 * 1024 * 1024) /* bytes */
#define OBJECT_BUNDLE_TEXTS_MAX (4 * 1024 * 1024) /* bytes of the lines "keys" and "schemas", each */
#define OBJECT_BUNDLE_VERSION 1

typedef struct ObjectBundle {
        Entry *entries; /* owned */
        size_t n;
        json_t *keys, *schemas; /* owned */
        ObjectMemory memory;    /* the fold of all entries */
} ObjectBundle;
#define OBJECT_BUNDLE_NULL ((ObjectBundle){0})
void object_bundle_deinit(ObjectBundle *b);
#define _cleanup_object_bundle_ _cleanup_(object_bundle_deinit)

/* Reads a file and verifies whatever proof is in the file: form, chain, moves, signatures by the keys in the file,
 * intent and context as in the first entry. Trust in bundle.keys is the caller's to decide. Returns 0,
 * OBJECT_E_* with a message that names the line, -errno. */
int object_bundle_parse(const char *text, size_t n, ObjectBundle *ret, Diag *reterr);
/* Appends the file of entries, keys and schemas (memory is not read). parse(print(b)) is b, and print(parse(text)) is
 * text. Returns 0, -ENOMEM, -EFBIG: more than OBJECT_BUNDLE_MAX. */
int object_bundle_print(const ObjectBundle *b, Buf *ret);
