/* Runs: supervisor. The receipt of an invocation, one JSON document for its caller (lethe-run(1), RECEIPT). */
#pragma once

#include "base/diag.h"
#include "region/region.h"
#include "scrub/evidence.h"

#define RECEIPT_VERSION 1

/* Of a region at its end. evidence NULL: nothing was torn down; result: of the skill's request `result`, or NULL;
 * notes, memory: outcomes of the region's notes, and of its saves and deletions of memory, or NULL. New reference,
 * NULL: out of memory. */
json_t *receipt_of_region(const Region *r, const TeardownEvidence *evidence, const json_t *result, const json_t *notes,
                          const json_t *memory);
/* Of an invocation without a region: outcome is OUTCOME_DENIED (policy) or OUTCOME_SETUP_FAILED. name, digest: or
 * NULL. */
json_t *receipt_of_refusal(const char *name, const char *digest, Outcome outcome, const char *reason);
/* Before anything runs: refuses a path to which no receipt could be written. Returns 0 or -errno with a message. */
int receipt_check(const char *path, Diag *reterr);
/* Writes the receipt whole or not at all; "-" is refused, as standard output is the skill's. Returns 0 or -errno with a
 * message. */
int receipt_write(const char *path, const json_t *receipt, Diag *reterr);

/* Parts of a receipt and of the ledger's events. New references. */
json_t *receipt_usage(const Region *r);
/* The member "teardown". callbacks: their outcomes, or NULL. */
json_t *receipt_teardown(const TeardownEvidence *evidence, const json_t *callbacks);
json_t *receipt_ending(
        const Region *r); /* outcome, exit_code, signal, limiting_resource, the numbers of a breach, cause, reason */
/* {uid, of}: the region's user on the host, and the owner of that user id (Spawned.host_user); null before there is a
 * worker. */
json_t *receipt_user(const Region *r);
/* Sets limit, used, lent, asked, refused of a breach: each number that was measured and is not 0 (limit and used: also
 * 0). Returns 0 or -ENOMEM. */
int receipt_breach(const Region *r, json_t *o);
