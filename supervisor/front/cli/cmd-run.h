/* Runs: CLI. The command line of `lethe run`, `lethe map` and `lethe session turn`, as shared by cmd-run.c (the run) and
 * cmd-run-options.c (the options). */
#pragma once

#include "cli/cli.h"
#include "cli/serve-client.h"
#include "invoke/run.h"
#include "request/resolve-request.h"

#include <limits.h>

extern const char cmd_run_help[], cmd_run_help_turn[], cmd_run_help_map[];

/* Options of request_option() have the value RUN_POLICY; the long name tells them apart. */
enum {
        RUN_STORE = 256, RUN_ANCHOR, RUN_RECEIPT, RUN_POLICY_FILE, RUN_EXEC, RUN_DRY_RUN, RUN_JSON, RUN_QUIET,
        RUN_VERBOSE, RUN_SOCKET, RUN_NO_SERVE, RUN_PROMOTE, RUN_FOREIGN, RUN_PROFILE, RUN_JOBS, RUN_FROM, RUN_TEXT,
        RUN_TTY, RUN_NO_TTY, RUN_APPLY, RUN_DETACH, RUN_INTERACTIVE, RUN_RM, RUN_POLICY, RUN_HERE, RUN_ENV_FILE, RUN_ACCEPTED,
        RUN_OPTIONS = 256
};

/* The value of each option but those of request_option(): "" for an option without a value, NULL: not given. */
typedef struct RunValues {
        const char *v[RUN_POLICY - RUN_OPTIONS];
} RunValues;

static inline const char *run_value(const RunValues *values, int option) {
        return values->v[option - RUN_OPTIONS];
}

extern bool cmd_run_has_terminal; /* the region has, or with --dry-run would have, a terminal of its own */

typedef struct RunCommand {
        SkillRequest ask;
        RunOptions run;
        ServeClient through;
        RunValues values;
        const char *exec;
        char *path; /* of the store, owned */
        json_t *profile;       /* owned: for --dry-run; or NULL */
        char folder[PATH_MAX]; /* the caller's; "": not to be had */
        RegionId region;       /* with --apply: the invocation's, once there is a region */
} RunCommand;

static inline const char *cmd_run_value(const RunCommand *c, int option) {
        return run_value(&c->values, option);
}

/* Options that count before all others are read. The receipt reports even a mistake that stands before --receipt:
 * else an earlier receipt would be taken for the receipt of the failed run. *ret_usec: the run's wall time, or 0. */
RunValues cmd_run_look_ahead(int argc, char **argv, uint64_t *ret_usec, bool *ret_here);
/* Returns -1 when the command is complete, else the exit code. */
int cmd_run_parse(int argc, char **argv, RunCommand *c);
/* The messages and the receipt of a run that did not begin. Return the exit code. */
int cmd_run_refuse(const RunCommand *c, const char *name, bool by_policy, int code, const Diag *d, int e);
int cmd_run_report_refusal(const RunCommand *c, const Refusal *r);
int cmd_run_request_failed(const RunCommand *c, const char *name, int e, const Diag *d);
