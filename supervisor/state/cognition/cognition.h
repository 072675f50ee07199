/* Runs: supervisor, CLI. Cognitive sessions: begin, turn, decide, show (C-1..C-3, C-19..C-37). A session is a scope of
 * its own with one record of KIND_CCS, replaced once a turn, and a record of KIND_EVIDENCE for each text that it was
 * told or said. Version n + 1 of the state is turn n; old versions stay in the ledger, and only the operator's verbs read
 * them (C-2). Each writing function belongs into one transaction and one commit.
 *
 *   begin -> CCS_0        turn: recall, qualify, compress, check, replace, store x_t        decide: store the decision
 *
 * x_t is the turn's input with its tools, and decision and tools of the turn before (C-20). ReAct and planning are the
 * same contract (C-41, C-42): REASON and PLAN are the caller's work between turn and decide, ACT yields the tools of
 * decide, REFLECT is the work after the next turn, which may have an empty input.
 *
 * All functions return 0, a positive EngineCode with a message, -errno. */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "cognition/ccs.h"
#include "engine/engine.h"

#define SESSION_NAME_MAX (4 + REGION_ID_MAX) /* "ccs-", id, NUL */

#define COGNITION_TEXT_MAX (256 * 1024) /* bytes of a text of the input */
#define COGNITION_TEXTS_MAX 64          /* tools, or documents, of an input */
#define COGNITION_INPUT_MAX (1024 * 1024)

typedef struct CognitionBegin {
        const char *who;
        const char *role; /* of --role: text or JSON (compress.h), or NULL */
        size_t n_role;
        const char *recall;    /* a further scope for recall, or NULL */
        const CcsBound *bound; /* or NULL: of the role, or the default */
        size_t k;              /* the most artifacts of a turn; 0: RECALL_K */
        /* {"skill", "options"?: [[name, value]...]}: the compressing advisor; NULL: built in. Borrowed. */
        const json_t *compressor;
        const char *of;    /* the region of the session (engine/session.h) that drives the turns, or NULL */
        uint64_t now_usec; /* for the session's id, which is that of `of` if given */
} CognitionBegin;
/* ENGINE_E_BAD_STATE_TEXT, ENGINE_E_OVER_BUDGET for the role; ENGINE_E_NO_SCOPE. *ret: {"session","turn":0,"ccs",
 * "tokens","bound","schema","seq","compressor"?}. */
int cognition_begin(Txn *t, const CognitionBegin *b, json_t **ret, Diag *reterr);

/* The proposal of an advisor (advised.h), or the reason of its absence. */
typedef struct CognitionProposal {
        char by[128];    /* the advisor's name */
        uint64_t before; /* the newest turn at the time of the question */
        Ccs state;       /* as parsed; owned. Empty when degraded */
        bool repaired, degraded;
        char code[24];   /* of the last fault, or "" */
        Diag why;
        char region[REGION_ID_MAX]; /* of the last answer, or "" */
} CognitionProposal;
#define COGNITION_PROPOSAL_NULL ((CognitionProposal){0})
void cognition_proposal_deinit(CognitionProposal *p);
#define _cleanup_cognition_proposal_ _cleanup_(cognition_proposal_deinit)

typedef struct CognitionTurnOf {
        const char *who, *session;
        const json_t *input;
        const char *of; /* as at the session's beginning: another driver is refused */
        /* The built-in compressor takes over from a degraded or invalid proposal. NULL: only for a session without an
         * advisor, else ENGINE_E_ADVISED. */
        const CognitionProposal *proposal;
} CognitionTurnOf;
/* input: {"input": text, "source"?: "user"|"operator"|"policy", "tools"?: [...], "turn"?: n}. A tool is a text, or an
 * object with "name"? and "text" or "output". *ret: {"turn","ccs","tokens","evidence":[{"id","version","label","source",
 * "qualified","clause"?}],"degraded","fault"?: {"code","message"},"dropped","seq"}. ENGINE_E_NO_SESSION,
 * ENGINE_E_BAD_PAYLOAD, ENGINE_E_TOO_LARGE; ENGINE_E_NOT_NEXT, also when another turn came before the proposal;
 * ENGINE_E_OVER_BUDGET, ENGINE_E_LOST: the transaction has mutation.refused, and is to be committed. */
int cognition_advised(Txn *t, const CognitionTurnOf *of, json_t **ret, Diag *reterr);
/* The same without an advisor, by a caller who is no session. */
int cognition_turn(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr);
/* input: {"decision": text, "tools"?: [...], "turn"?: n}. *ret: {"turn","evidence":[id],"seq"}. ENGINE_E_DECIDED: a
 * second decision of the turn; ENGINE_E_NO_TURN: before the first turn. */
int cognition_decided(Txn *t, const CognitionTurnOf *of, json_t **ret, Diag *reterr);
/* The same by a caller who is no session. */
int cognition_decide(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr);
/* input: {"documents": [...]}, as tools, with "source"? "document"|"tool": evidence that later turns may recall. */
int cognition_store(Txn *t, const char *who, const char *session, const json_t *input, json_t **ret, Diag *reterr);

#define COGNITION_NEWEST UINT64_MAX
/* {"session","turn","ccs","tokens","schema","seq",...}: all that is recorded about a turn. ENGINE_E_NO_TURN. */
int cognition_show(Txn *t, const char *session, uint64_t turn, json_t **ret, Diag *reterr);
/* Array of the same, oldest first, without the states' texts. */
int cognition_history(Txn *t, const char *session, json_t **ret, Diag *reterr);
/* Array of {"session","turn","time"}, by name. */
int cognition_list(Txn *t, json_t **ret);
