/* Runs: supervisor, CLI. For cognition.c: a session's rows. */
#pragma once

#include "cognition/ccs.h"
#include "cognition/cognition.h"
#include "record/record.h"

#define SESSION_RECORD "state"

typedef struct CognitionSession {
        const char *name; /* borrowed */
        uint64_t scope, turn;
        Record rec; /* of the present state */
        Ccs state;
        CcsBound bound;
        char recall[SCOPE_NAME_MAX]; /* "": none */
        size_t k;
        json_t *compressor; /* owned; NULL: built in */
        char of[REGION_ID_MAX]; /* the driving session, or "" */
} CognitionSession;
#define SESSION_NULL ((CognitionSession){0})
void session_deinit(CognitionSession *s);
#define _cleanup_session_ _cleanup_(session_deinit)

/* Returns 0, ENGINE_E_NO_SESSION with a message, -EUCLEAN, -errno. */
int session_open(Txn *t, const char *name, CognitionSession *ret, Diag *reterr);
/* Finds the session alone. */
int session_find(Txn *t, const char *name, uint64_t *ret_scope, Record *ret, Diag *reterr);
/* Does the session have such evidence? 1, 0, -errno. */
int session_has(Txn *t, const CognitionSession *s, const char *id);
/* Reads a state from the body of its event. */
int session_state_of(const json_t *body, Ccs *ret);
