/* Runs: supervisor, CLI. The built-in interpreter: a note grammar and a few cues of plain English (schema/governed.md).
 * Pure: the same note gives the same request. Nothing is guessed: a note without a cue is rejected as `no_cue`, a note
 * with two cues is refused, and a subject without a name is left to the resolver. */
#pragma once

#include "belief/request.h"

typedef enum CueRole {
        CUE_AGENT = 1,   /* the agent's own words */
        CUE_TOOL_RESULT, /* the output of a tool: not the agent's words, so only `result:` is read */
} CueRole;

#define CUES_FORM_CONFIDENCE 1 /* of a note in the grammar; a cue of plain English has less */
#define CUE_NO_CUE "no_cue" /* the rationale of a rejected note */

/* Returns 0 with a request, accepted or rejected; BELIEF_E_* for a refused note; -ENOMEM. */
int cues_interpret(const char *text, size_t n, CueRole role, BeliefRequest *ret, Diag *reterr);

/* Does an agent's note itself say a change of this kind (G-65)? *ret_same is set when the built-in interpreter reads the
 * same operation. Returns 0 or -ENOMEM. */
int cues_support(const char *text, size_t n, Kind kind, Op op, bool *ret, BeliefRequest *ret_same);

/* The note's first clause: the first line up to the end of the first sentence. Borrowed from text. */
void cues_first_clause(const char *text, size_t n, const char **ret, size_t *ret_n);
