/* Runs: supervisor, CLI. The interpreter that is built in: a note grammar and a few cues of plain English (schema/governed.md). Pure, the same request for
 * the same note, and nothing is guessed: a note without a cue is rejected as `no_cue`, one with two is refused, and what it does not name
 * is left for the resolver to find. */
#pragma once

#include "belief/request.h"

typedef enum CueRole {
        CUE_AGENT = 1,   /* the agent's own words */
        CUE_TOOL_RESULT, /* what a tool printed: whoever wrote that is not the agent, so that only `result:` is read */
} CueRole;

#define CUE_NO_CUE "no_cue" /* rationale of a note that was rejected */

/* Returns 0 with a request, accepted or rejected; BELIEF_E_* for a note that is refused; -ENOMEM. */
int cues_interpret(const char *text, size_t n, CueRole role, BeliefRequest *ret, Diag *reterr);

/* What a note calls the thing that it is about, for whoever looks for that thing: phrases in quotes or back quotes, and words that look like names in
 * a program (with "_", "()", "::" or "->" in them). Array of at most CANON_ALIASES_MAX strings without doubles, new reference; NULL: no memory. */
json_t *cues_hints(const char *text, size_t n);

/* The note's first clause: its first line up to the end of the first sentence. Lent from text. */
void cues_first_clause(const char *text, size_t n, const char **ret, size_t *ret_n);
