/* Runs: CLI. Slots with a rule of arbitration, as text. */
#pragma once

#include "base/json.h"

/* Members of what canon/ tells: 0 and "?" when they are not there. */
uint64_t said_number(const json_t *o, const char *key);
const char *said_text(const json_t *o, const char *key);

/* A verdict, and below it what became of each proposal. */
void print_verdict(const json_t *v);
/* {"rule","gathered"}: the rule, and who has proposed what is not decided yet. Returns 0 or -errno. */
int print_waiting(const json_t *o);
