/* Runs: supervisor, CLI. The age of pending items (G-63). An item is overdue beyond a number of microseconds, or beyond
 * a number of commits of its scope. An overdue item is never applied: the next commit of its scope, or a retry on
 * request, closes the item with event pending.expired. Expiry is final: the ledger's time and the count of commits only grow.
 *
 * The commits of a scope (changes of its shared belief) are counted from the first item of the scope on: note.pending
 * has the count by then. Items of an older Lethe lack the count, and begin at 0. */
#pragma once

#include "engine/wait.h"

#define WAIT_AGE_USEC (30 * 86400 * UINT64_C(1000000))
#define WAIT_COMMITS 1000
#define WAIT_EXPIRES_MOST 64 /* items that a commit closes */

typedef struct WaitLimits {
        uint64_t age_usec, commits; /* beyond either an item is overdue */
} WaitLimits;
#define WAIT_LIMITS_DEFAULT ((WaitLimits){.age_usec = WAIT_AGE_USEC, .commits = WAIT_COMMITS})

typedef enum WaitLimit { WAIT_LIMIT_NONE = 0, WAIT_LIMIT_AGE, WAIT_LIMIT_COMMITS } WaitLimit;
const char *wait_limit_name(WaitLimit l); /* "age", "commits" */

/* The commits of a scope since its first item; 0 before. Returns 0, -EUCLEAN, -errno. */
int wait_commits(Txn *t, uint64_t scope, uint64_t *ret);
/* The limit that an item has passed now. limits NULL: WAIT_LIMITS_DEFAULT. Returns a WaitLimit, -EUCLEAN, -errno. */
int wait_overdue(Txn *t, const Wait *w, const WaitLimits *limits);
/* Closes the scope's overdue open items, the oldest of each bucket first, at most WAIT_EXPIRES_MOST. *ret_n: their
 * number. who or region: the one of the commit. A damaged item is left. Returns 0, -EUCLEAN, -errno. */
int engine_wait_expire(Txn *t, const char *who, const char *region, uint64_t scope, const WaitLimits *limits,
                       size_t *ret_n);
/* The same for all open and stuck items of a scope (0: of all scopes), however many. A damaged item is left. */
int engine_wait_expire_all(Txn *t, const char *who, uint64_t scope, const WaitLimits *limits, uint64_t *ret_n);

/* For wait.c: adds member "expired" (wait_show()). */
int wait_show_expired(Txn *t, const Wait *w, json_t *o);
/* For project.c and wait.c: counts a commit of the scope if the scope counts; begins to count. */
int wait_count_commit(Txn *t, uint64_t scope);
int wait_begin_commits(Txn *t, uint64_t scope);
int wait_project_expired(Txn *t, const Projection *p);
