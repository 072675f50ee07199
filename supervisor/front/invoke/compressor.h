/* Runs: CLI, supervisor. A skill compresses the turns of a cognitive session (cognition/advised.h): each question is an
 * invocation of the skill, in a separate region without a right to write outside. */
#pragma once

#include "cognition/advised.h"
#include "invoke/advise.h"

/* {"skill","options"?} from a command line or a manifest: the skill can be had, and its options are right. A skill with
 * a slash is the absolute path of a folder; without, it is registered. a: store, policy and spawner are set. Returns 0
 * with a new reference, a positive code with a message, -errno. */
int compressor_check(Advise *a, const char *skill, const json_t *options_or_null, json_t **ret, Diag *reterr);
/* Reads the turn in a transaction of its own, and asks the session's advisor. *ret_asked: false for a session with the
 * built-in compressor, whose *ret is empty. Returns 0, ENGINE_E_* with a message, -ECANCELED after a signal, STORE_E_*
 * with *ret_store, -errno. */
int compressor_ask(Advise *a, const CognitionTurnOf *of, CognitionProposal *ret, bool *ret_asked, bool *ret_store,
                   Diag *reterr);
