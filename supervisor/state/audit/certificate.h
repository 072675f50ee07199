/* Runs: CLI. What can be shown to others about one region's end: an in-toto statement (Statement v1) in a DSSE envelope, with the fields of the
 * certificate of sanitization of NIST SP 800-88 Rev. 1 (section 4.8, appendix G) as far as memory has them, the evidence as it was recorded,
 * and the proof that the record stands in the ledger. It claims nothing that the record does not: a region whose memory was not overwritten
 * gets a statement that says so. */
#pragma once

#include "audit/history.h"
#include "base/buf.h"

enum {
        CERTIFICATE_E_NO_REGION = 1, /* not in this ledger */
        CERTIFICATE_E_NOT_RELEASED,  /* alive, never released, or not in the order of I-15: there is nothing to state */
        CERTIFICATE_E_WRONG,         /* a certificate that does not hold: message says what */
};

#define CERTIFICATE_PAYLOAD_TYPE "application/vnd.in-toto+json"
#define CERTIFICATE_STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define CERTIFICATE_PREDICATE_TYPE "urn:lethe:region-teardown:v1"

/* Appends the envelope. Returns 0, CERTIFICATE_E_*, HISTORY_E_BROKEN, STORE_E_KEY, each with a message, or -errno. */
int certificate_build(Txn *t, const char *region, Buf *ret, Diag *reterr);
/* Checks an envelope with the key alone: form and signature; that the statement's subject is the entry inside, the entry stands in the ledger
 * under the checkpoint inside, and evidence and method are the entry's. *ret is the statement (new reference). Returns 0,
 * CERTIFICATE_E_WRONG, -ENOMEM. */
int certificate_check(const char *text, size_t n, const uint8_t public_key[static 32], json_t **ret, Diag *reterr);
/* How much a statement that holds proves. Method and result are what its evidence bears out: certificate_check() saw to it. */
Proof certificate_proof(const json_t *statement);
