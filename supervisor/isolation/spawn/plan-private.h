/* Runs: supervisor. Shared by the files that make a plan. */
#pragma once

#include "spawn/plan.h"

/* The plan takes the text over (NULL: no memory for the text). Returns the text; or "" after a failure, and sets
 * p->failed. */
const char *plan_keep(Plan *p, char *text);
const char *plan_text(Plan *p, const char *fmt, ...) _printf_(2, 3);
LaunchEntry *plan_add(Plan *p, LaunchKind kind, uint8_t flags, const char *target, const char *source);
/* plan-system.c: the view of every region: programs, configuration, devices; and a granted /proc. */
void plan_add_system(Plan *p, const PlanInput *in);
