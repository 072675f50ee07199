/* Runs: supervisor, CLI. For cognition.c and advised.c: a turn before its commit, read from the store, compressed and
 * checked (C-19..C-33). */
#pragma once

#include "cognition/advised.h"
#include "cognition/ccs-check.h"
#include "cognition/gather.h"
#include "cognition/observe.h"
#include "cognition/session.h"

#define TURN_NO_GOAL "assist(user)" /* stands until a goal is named */

/* x_t, with what is borrowed from the evidence of the turn before (C-20). */
struct CognitionTurn {
        CognitionSession s;
        Observed *in;
        json_t *bodies[1 + COGNITION_TEXTS_MAX]; /* owned; the first is the decision's */
        CompressText decision;
        CompressText tools[2 * COGNITION_TEXTS_MAX];
        size_t n_bodies, n_tools;
        Recalled got;
        uint64_t other; /* the further scope of recall; 0: none */
        char *text[RECALL_K_MAX]; /* owned: of the qualified artifacts, after turn_read_texts(); else NULL */
        CompressReport report;
        Ccs next; /* of the built-in compressor, after turn_compress() */
        size_t dropped;
        uint64_t undecided; /* the turn before without a decision, else 0 */
        int refused;        /* the built-in compressor's own refusal: ENGINE_E_* */
        Diag why;
};

/* input is borrowed as long as *ret lives. Reads only. Returns as cognition_turn(). */
int turn_read(Txn *t, const char *session, const json_t *input, CognitionTurn **ret, Diag *reterr);
int turn_read_texts(Txn *t, CognitionTurn *c);
/* The built-in compressor, and all checks: c->next. Returns 0, ENGINE_E_OVER_BUDGET, ENGINE_E_LOST, ... , -errno. */
int turn_compress(CognitionTurn *c, Diag *reterr);
/* The checks of a proposed state (C-6, C-30..C-33). trace: drop a trace that is not of this turn; else refuse. Returns 0,
 * CCS_E_*, -errno. */
int turn_check(const CognitionTurn *c, Ccs *next, bool trace, size_t *ret_dropped, Diag *reterr);
/* CCS_E_* as ENGINE_E_*. */
int turn_code(int r);
