/* Runs: supervisor. The outcome descriptor of an execution (O-48), from the end of its region and the skill's `result`:
 *
 *   exit code 0        success, or as in the result
 *   other exit codes   failure, with exit_code; a signal: failure, with signal
 *   the deadline       timeout
 *   another budget     failure, with the budget in the reason
 *   denied             denied: by on_denied, a closed gate, a limit of regions, the policy
 *   cancelled          interrupted
 *   set-up failed      fault; a missing or unusable skill: negative
 *
 * A result without the members "outcome" and "next" is the value of a success. A result with a member of the two is
 *
 *   {"outcome"?: "success"|"partial"|"negative", "value"?,
 *    "remainder": of partial: texts, the next args; or a text, the next input
 *    "capability": of negative: a text
 *    "next"?: a proposal}
 *
 * or is refused: failure, and no proposal of the region is kept. */
#pragma once

#include "request/resolve-request.h"

#define OUTCOME_VALUE_MAX (64 * 1024) /* bytes of canonical JSON, of the value and of the proposal */
#define OUTCOME_TEXT_MAX 256          /* bytes of a capability */

/* Whether a result may stand in a descriptor. Returns 0, 1 with a message, -errno. */
int outcome_check_result(const json_t *result_or_null, Diag *reterr);
/* ending: of receipt_ending(), or a receipt; usec: the execution's time; discards: "", or why the region's proposals
 * are not kept. *ret: the descriptor; *ret_next: the proposal, or NULL. Both new. Returns 0 or -errno. */
int outcome_of_region(const json_t *ending, uint64_t usec, const json_t *result_or_null, const char *discards,
                      json_t **ret, json_t **ret_next);
/* The skill's grant was refused, before there was a region. New, or NULL. */
json_t *outcome_of_refusal(const char *skill, const Refusal *refusal);
