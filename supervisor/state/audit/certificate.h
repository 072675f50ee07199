/* Runs: CLI. A certificate of one region's end, for third parties: an in-toto statement (Statement v1) in a DSSE
 * envelope. It has the fields of the certificate of sanitization of NIST SP 800-88 Rev. 1 (section 4.8, appendix G) as
 * far as memory has them, the evidence as recorded, and the proof that the record stands in the ledger. The statement
 * claims no more than the record: a region with memory left unwiped gets a statement that says so. */
#pragma once

#include "audit/history.h"
#include "base/buf.h"

enum {
        CERTIFICATE_E_NO_REGION = 1, /* not in the ledger */
        CERTIFICATE_E_NOT_RELEASED, /* alive, never released, or not in the order of I-15: no statement possible */
        CERTIFICATE_E_WRONG,         /* the certificate does not hold; the message gives the reason */
};

#define CERTIFICATE_PAYLOAD_TYPE "application/vnd.in-toto+json"
#define CERTIFICATE_STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define CERTIFICATE_PREDICATE_TYPE "urn:lethe:region-teardown:v1"

/* Appends the envelope. Returns 0, CERTIFICATE_E_*, HISTORY_E_BROKEN, STORE_E_KEY, each with a message, or -errno. */
int certificate_build(Txn *t, const char *region, Buf *ret, Diag *reterr);
/* Checks an envelope with the key alone: form and signature; the statement's subject is the entry inside; the entry
 * stands in the ledger under the checkpoint inside; evidence and method agree with the entry. *ret is the statement
 * (new reference). Returns 0, CERTIFICATE_E_WRONG, -ENOMEM. */
int certificate_check(const char *text, size_t n, const uint8_t public_key[static 32], json_t **ret, Diag *reterr);
/* The degree of proof of a checked statement. certificate_check() has compared method and result with the evidence. */
Proof certificate_proof(const json_t *statement);
