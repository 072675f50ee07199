/* Runs: supervisor. One invocation from its grant to its receipt. */
#pragma once

#include "invoke/options.h"
#include "engine/resolve.h"
#include "engine/wait-age.h"

/* Blocks SIGTERM, SIGINT and SIGHUP and returns a signalfd for them, or -errno. To be called before the first object
 * for a signal to leave behind. SIGTTIN, SIGTTOU and SIGPIPE are ignored from here on. */
int run_take_signals(void);
/* Finishes regions of dead supervisors, then runs, tears down and records the invocation, and writes the receipt.
 * Errors go to standard error. Returns the exit code of `lethe run`. store: with STORE_SUPERVISE, borrowed; NULL: the
 * store at store_path is opened, while the worker confines itself, and closed at the end. signals: a signalfd, or an
 * eventfd for o->ordered; readable bytes end the region. */
int run_invocation(const RunOptions *o, Store *store, const char *store_path, const Grant *g, int signals);
/* For an invocation that ends before it has a grant: gives the receipt of a refusal, if o asks for a receipt, and
 * returns code. */
int run_refused(const RunOptions *o, const char *name, const char *digest, bool by_policy, int code,
                const char *reason);
/* Promotes notes of a recorded region at once, for `--promote` (G-5), with the built-in interpreter and in the name of
 * user `uid`. Other notes wait for `lethe promote`; notes of a region that broke a budget went with its record (I-24).
 * A signal readable from `signals` ends the promotion; the notes left over stay as they are. Puts the members
 * "committed", "pending", "rejected", "invalid", "resolved" and "expired" into `into`, and "error" when notes are left
 * over. Returns 0; else there is a message. */
int run_promote_notes(Store *s, const char *region, uid_t uid, const Policy *policy_or_null, int signals,
                      json_t *into, Diag *reterr);
/* The limits of the age of pending items; policy NULL: the standard limits. */
WaitLimits run_wait_limits(const Policy *policy_or_null);
/* The thresholds of promotion, with the least probability of each bucket (G-71). NULL: the standard thresholds. */
ResolvePolicy run_resolve_policy(const Policy *policy_or_null);
