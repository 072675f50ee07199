/* Runs: supervisor, CLI. An advisor as compressor (C-26..C-31, schema/ccs.md).
 *
 *   cognition_observe() -> cognition_ask() -> valid proposal                        committed, checked anew
 *    (a reader)             (no transaction)   `-> invalid -> repair: asked once more, with the errors
 *                                                             `-> valid              committed, `repaired`
 *                                                             `-> invalid again      built in, `degraded`
 *                                              `-> failed, ran too long              built in, `degraded`
 *   cognition_advised() commits in one transaction (cognition.h). A turn that came between is a conflict.
 *
 * The advisor may be misled by a text that it reads, so its answer is a proposal. Goals and constraints are those of the
 * built-in compressor: the proposal has to have the very same ones (C-24, C-30). */
#pragma once

#include "base/keyscan.h"
#include "cognition/cognition.h"

#define ADVISED_VERSION 1
#define ADVISED_RAW_KEPT 4096 /* bytes of a refused answer in the second question */
#define ADVISED_ERRORS_MAX 32

typedef struct AdvisedFault {
        char code[24];
        bool repairs; /* a second question may help */
        Diag why;
} AdvisedFault;

typedef struct CognitionAdvisor {
        const char *name;
        /* line: JSON without a line feed. Returns 0 with *ret owned; 1 with the fault; -errno for Lethe's own trouble. */
        int (*ask)(void *userdata, const char *line, char **ret, AdvisedFault *reterr);
        void *userdata;
        const char *region;  /* of the last answer, borrowed; or NULL */
        const KeyHold *keys; /* an answer with a key of a living region is refused; or NULL */
} CognitionAdvisor;

/* Reads the turn, as cognition_advised() does, and compresses it with the built-in compressor. of->input is borrowed as
 * long as *ret lives. Returns 0, ENGINE_E_* with a message, -errno. */
typedef struct CognitionTurn CognitionTurn;
int cognition_observe(Txn *t, const CognitionTurnOf *of, CognitionTurn **ret, Diag *reterr);
void cognition_turn_free(CognitionTurn *c);
static inline void cognition_turn_freep(CognitionTurn **c) {
        cognition_turn_free(*c);
}
#define _cleanup_cognition_turn_ _cleanup_(cognition_turn_freep)
/* {"skill","options"?} of the session, borrowed; NULL: built in. */
const json_t *cognition_turn_compressor(const CognitionTurn *c);
/* Asks at most twice, outside of any transaction. A turn that the built-in compressor refuses is not asked about. Returns
 * 0: *ret is set, perhaps degraded; -errno of the advisor's ask(), -ENOMEM. */
int cognition_ask(const CognitionTurn *c, const CognitionAdvisor *a, CognitionProposal *ret);

/* For cognition.c: checks the proposal against the turn as it is now, and puts it in the place of c->next; a proposal that
 * is not valid becomes degraded. Returns 0, -errno. */
int advised_take(Txn *t, CognitionTurn *c, CognitionProposal *p);
/* {"code","message"}; NULL: no fault, or no memory. */
json_t *advised_fault(const CognitionProposal *p);
