/* Runs: supervisor. One invocation from its grant to its receipt. */
#pragma once

#include "base/diag.h"
#include "policy/grant.h"
#include "engine/engine.h"
#include "store/store.h"

typedef struct RunOptions {
        const Policy *policy;/* borrowed: what sub-skills may have; NULL: none can be started */
        const char *receipt; /* file, or NULL */
        bool verbose;        /* one line also when all went well */
        bool quiet;          /* errors only */
} RunOptions;

/* Blocks SIGTERM, SIGINT and SIGHUP and returns a signalfd for them, or -errno: before anything is made that a signal must not leave
 * behind. SIGTTIN and SIGPIPE are ignored from here on. */
int run_take_signals(void);
/* Finishes what dead supervisors left, runs the invocation, tears it down, records it, writes the receipt. Errors are told on standard
 * error. Returns what `lethe run` exits with. The store (STORE_SUPERVISE) is borrowed; NULL: the one at store_path is opened, while the
 * worker confines itself, and closed at the end. */
int run_invocation(const RunOptions *o, Store *store, const char *store_path, const Grant *g, int signals);
/* Release callbacks of a region whose supervisor died, that had not begun; all that ran in it is gone. policy NULL: the operator's. *ret: what
 * became of each of its callbacks, new reference, NULL when it has none. Returns 0 or -errno: that one fails is in *ret. */
int run_release_left(Store *store, const Policy *policy_or_null, const RegionRow *row, json_t **ret);
/* For an invocation that ends before it has a grant: writes the receipt of a refusal, when one is asked for, and returns code. */
int run_refused(const RunOptions *o, const char *name, const char *digest, bool by_policy, int code, const char *reason);
