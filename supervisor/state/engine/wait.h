/* Runs: supervisor, CLI. The pending queue: requests that cannot be decided yet, with all data for a later decision
 * (G-44, G-45). A row is a fold of the ledger: note.pending creates, pending.retried counts, a canon event with member
 * "pending" resolves, pending.dropped and pending.expired (wait-age.h) close, pending.erased erases. Only the deletion of
 * the scope deletes rows (G-49). */
#pragma once

#include "engine/project.h"
#include "index/rank.h"

#define WAIT_ATTEMPTS_MAX 20 /* failed attempts; then the item is stuck (G-49) */

typedef enum WaitState { WAIT_OPEN = 1, WAIT_RESOLVED, WAIT_STUCK, WAIT_DROPPED, WAIT_EXPIRED } WaitState;
const char *wait_state_name(WaitState s);
/* Does an item in this state wait for a decision: open, or stuck? */
static inline bool wait_state_waits(WaitState s) {
        return s == WAIT_OPEN || s == WAIT_STUCK;
}

typedef struct Wait {
        uint64_t id; /* seq of note.pending; the body has the request, the note and the candidates */
        uint64_t scope;
        Kind kind;
        Op op;
        WaitState state;
        uint64_t attempts; /* failed attempts */
        uint64_t last;     /* seq of the newest event, other than pending.erased */
        uint64_t erased;   /* seq of pending.erased: request, note and candidates are gone; 0: they are there */
        uint64_t since_usec; /* the time of note.pending; 0: an item of an older Lethe, see the event */
        uint64_t commits;  /* of the scope by then (wait-age.h); 0 for an item of an older Lethe */
} Wait;
int wait_get(Txn *t, uint64_t id, Wait *ret); /* 0, -ENOENT, -EUCLEAN, -errno */

/* The next item from id `from` on, oldest first; of a scope if not 0, in a state if not 0. 0 or -ENOENT; -EUCLEAN: a
 * broken row, *ret has the id. */
int wait_next(Txn *t, uint64_t from, uint64_t scope, WaitState state, Wait *ret);
/* {"pending","scope","kind","operation","state","attempts","created","last","reason","agent","run","note","request",
 * "candidates"}; of an expired item also "expired": {"time","limit","age_usec"?,"commits"?} */
int wait_show(Txn *t, const Wait *w, json_t **ret);

/* Adds a request to the queue. fields: "reason", "run", "agent"…; body: "request", "note", "candidates"… *ret_id is the
 * item's id. Returns 0 or -errno. */
int engine_wait(Txn *t, const char *who, const char *region, uint64_t scope, Kind kind, Op op, const json_t *fields,
                const json_t *body, uint64_t *ret_id);
/* Records failed attempts of n items in an event; root: the commit that caused the attempts, 0: on request. */
int engine_wait_failed(Txn *t, const char *who, const char *region, const uint64_t *ids, size_t n, uint64_t root);
/* Dropped by a person (G-50). Returns 0, ENGINE_E_NO_RECORD, ENGINE_E_BAD_STATE, -errno. */
int engine_wait_drop(Txn *t, const char *who, uint64_t id, const char *reason, uint64_t *ret_seq, Diag *reterr);

/* Erases the request, the note and the candidates of a resolved, dropped or expired item, and the reason of the
 * drop (M-66).
 * retention: of policy, or NULL. Returns 0, -EUCLEAN for an open item, -ENOENT, -errno. */
int engine_wait_erase(Txn *t, const char *who, uint64_t id, const char *retention, uint64_t *ret_seq);

/* The first open item of the scope from bucket `kind` and id `from` on: by bucket in the order of Kind, then by age.
 * Returns 0, -ENOENT, -EUCLEAN (*ret has kind and id), -errno. */
int wait_next_open(Txn *t, uint64_t scope, Kind kind, uint64_t from, Wait *ret);
/* Has the bucket open items? 1, 0, -errno. */
int wait_any(Txn *t, uint64_t scope, Kind kind);
/* Open items with the row as a candidate or as the request's target: the oldest, in order. */
#define WAIT_HAVING_MOST 16
int wait_having(Txn *t, uint64_t scope, Kind kind, const char *id, uint64_t ret[static WAIT_HAVING_MOST],
                size_t *ret_n);
/* Words of pending items with the given beginning, at most `most`. Lent by the store until the next write. */
int wait_words(Txn *t, uint64_t scope, Kind kind, const char *begin, size_t n, RankTerm *ret, size_t most,
               size_t *ret_n);
/* Calls `each` for open items with a term (at most RANK_TERMS_MAX) in note, reference or aliases, in order: o->number
 * is the item. Only the oldest items of a term are searched (o->unread). */
int wait_sharing(Txn *t, uint64_t scope, Kind kind, const RankTerm *terms, size_t n,
                 int (*each)(void *user, const RankOverlap *o), void *user);

/* For scope.c: erases the payloads of a scope's items. For project.c: projects the events about items. */
int wait_erase(Txn *t, uint64_t scope);
int wait_project_pending(Txn *t, const Projection *p);
int wait_project_retried(Txn *t, const Projection *p);
int wait_project_dropped(Txn *t, const Projection *p);
int wait_project_erased(Txn *t, const Projection *p);
/* Closes an open or stuck item; a state that ends the waiting. */
int wait_close(Txn *t, uint64_t id, uint64_t seq, WaitState state);
int wait_project_resolved(Txn *t, uint64_t id, uint64_t seq);
int wait_project_forget(Txn *t, uint64_t scope);
