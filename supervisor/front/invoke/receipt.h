/* Runs: supervisor. The receipt of one invocation: everything that a caller may want to know afterwards, as one JSON document (lethe-run(1), RECEIPT). */
#pragma once

#include "base/diag.h"
#include "region/region.h"
#include "scrub/evidence.h"

#define RECEIPT_VERSION 1

/* Of a region that came to an end. evidence NULL: nothing was torn down; result: what the skill said with `result`, or NULL; notes,
 * memory: what became of its notes, and of what it saved and deleted of memory, or NULL. New reference, NULL when out of memory. */
json_t *receipt_of_region(const Region *r, const Evidence *evidence, const json_t *result, const json_t *notes, const json_t *memory);
/* Of an invocation that never had a region: outcome is OUTCOME_DENIED (policy) or OUTCOME_SETUP_FAILED. name and digest may be NULL. */
json_t *receipt_of_refusal(const char *name, const char *digest, Outcome outcome, const char *reason);
/* Refuses a place where no receipt could be written, before anything runs. Returns 0 or -errno with a message. */
int receipt_check(const char *path, Diag *reterr);
/* Writes it whole or not at all; "-" is refused, standard output is the skill's. Returns 0 or -errno with a message. */
int receipt_write(const char *path, const json_t *receipt, Diag *reterr);

/* Parts that the ledger's events have too. New references. */
json_t *receipt_usage(const Region *r);
/* The member "teardown". callbacks: what became of them, or NULL. */
json_t *receipt_teardown(const Evidence *evidence, const json_t *callbacks);
json_t *receipt_ending(const Region *r); /* outcome, exit_code, signal, limiting_resource, the numbers of a breach, cause, reason */
/* {uid, of}: the region's user on the host, and whose it is (Spawned.host_user); null before there was one. */
json_t *receipt_user(const Region *r);
/* Sets limit, used, lent, asked, refused of a breach, each as far as it was measured and is not 0 (limit and used: also 0). Returns 0 or -ENOMEM. */
int receipt_breach(const Region *r, json_t *o);
