/* Runs: CLI. The shared answers of `lethe audit`, `audit regions`, `audit touched` and `audit derived`. Exit code 1
 * means a broken claim, 2 no answer. */
#pragma once

#include "cli/with-store.h"

/* The help of all forms. */
extern const char audit_help[];
/* Converts with_store()'s code, and prints the answer's JSON form (member is the form's verdict). */
int audit_not_opened(const StoreOptions *o, const char *member, int code);
/* Prints the reason of a failed read; returns the exit code. */
int audit_failed(const Store *s, int r, const Diag *d);
/* `lethe audit regions`, cmd-audit-regions.c. */
int cmd_audit_regions(int argc, char **argv);
/* `lethe audit derived`, else `lethe audit touched`. */
int cmd_audit_flow(int argc, char **argv, bool derived);
