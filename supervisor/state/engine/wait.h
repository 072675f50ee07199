/* Runs: supervisor, CLI. Pending: requests for writes that cannot be decided yet, kept with all that it takes to decide them later (G-44, G-45). A row is a
 * fold of the ledger: note.pending made it, pending.retried counts, a canon event with member "pending" resolves it, pending.dropped closes it. Nothing
 * takes a row away but the deletion of its scope (G-49). */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "index/rank.h"
#include "record/record.h"

#define WAIT_ATTEMPTS_MAX 20 /* failed ones: then it is stuck (G-49) */

typedef enum WaitState { WAIT_OPEN = 1, WAIT_RESOLVED, WAIT_STUCK, WAIT_DROPPED } WaitState;
const char *wait_state_name(WaitState s);

typedef struct Wait {
        uint64_t id; /* seq of note.pending, whose body has the request, the note and the candidates */
        uint64_t scope;
        Kind kind;
        Op op;
        WaitState state;
        uint64_t attempts; /* failed ones since it is pending */
        uint64_t last;     /* seq of the newest event about it */
} Wait;
int wait_get(Txn *t, uint64_t id, Wait *ret); /* 0, -ENOENT, -EUCLEAN, -errno */

/* Those with an id of at least `from`, oldest first; of one scope when that is not 0, in one state when that is not 0. 0 or -ENOENT;
 * -EUCLEAN: one cannot be read, its id is in *ret. */
int wait_next(Txn *t, uint64_t from, uint64_t scope, WaitState state, Wait *ret);
/* {"pending","scope","kind","operation","state","attempts","created","last","reason","agent","run","note","request","candidates"} */
int wait_show(Txn *t, const Wait *w, json_t **ret);

/* A request goes to the pending queue. fields: "reason", "run", "agent"…; body: "request", "note", "candidates"… *ret_id is its id. Returns 0 or -errno. */
int engine_wait(Txn *t, const char *who, const char *region, uint64_t scope, Kind kind, Op op, const json_t *fields, const json_t *body, uint64_t *ret_id);
/* Tried again without success, in one event; `root` is the commit after which it was, 0 on request. */
int engine_wait_failed(Txn *t, const char *who, const char *region, const uint64_t *ids, size_t n, uint64_t root);
/* By a person (G-50). Returns 0, ENGINE_E_NO_RECORD, ENGINE_E_BAD_STATE, -errno. */
int engine_wait_drop(Txn *t, const char *who, uint64_t id, const char *reason, uint64_t *ret_seq, Diag *reterr);

/* Does any open item wait for this bucket? 1, 0, -errno. */
int wait_any(Txn *t, uint64_t scope, Kind kind);
/* Open items that had the row for a candidate, or name it in the request: the oldest, in order. */
#define WAIT_HAVING_MOST 16
int wait_having(Txn *t, uint64_t scope, Kind kind, const char *id, uint64_t ret[static WAIT_HAVING_MOST], size_t *ret_n);
/* Words of what waits that begin like this, at most `most`. Lent by the store until something is written. */
int wait_words(Txn *t, uint64_t scope, Kind kind, const char *begin, size_t n, RankTerm *ret, size_t most, size_t *ret_n);
/* Open items whose note, reference or aliases have one of the terms (at most RANK_TERMS_MAX), in order, to `each`: o->number is the item. However many wait,
 * only the oldest that have a term are looked at for it (o->unread). */
int wait_sharing(Txn *t, uint64_t scope, Kind kind, const RankTerm *terms, size_t n, int (*each)(void *user, const RankOverlap *o), void *user);

/* For scope.c: the payloads of all of a scope. For project.c: the events about them. */
int wait_erase(Txn *t, uint64_t scope);
int wait_project(Txn *t, uint64_t seq, const char *type, const json_t *entry, const json_t *body);
int wait_project_resolved(Txn *t, uint64_t id, uint64_t seq);
int wait_project_forget(Txn *t, uint64_t scope);
