/* Runs: supervisor. Shared by the files that make a plan. */
#pragma once

#include "spawn/plan.h"

/* The plan takes the text over. Returns the text, or "" and sets p->failed when out of memory (NULL: the text's). */
const char *plan_keep(Plan *p, char *text);
const char *plan_text(Plan *p, const char *fmt, ...) _printf_(2, 3);
LaunchEntry *plan_add(Plan *p, LaunchKind kind, uint8_t flags, const char *target, const char *source);
/* plan-system.c: what every region sees: programs, their configuration, devices; /proc where it is granted. */
void plan_add_system(Plan *p, const PlanInput *in);
