/* Runs: supervisor. One invocation from its grant to its receipt. */
#pragma once

#include "invoke/options.h"

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
