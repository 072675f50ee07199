/* Runs: CLI. `lethe slot decide --judge SKILL`: the skill of an operator's choice judges a round (engine/judge.h). */
#pragma once

#include "cli/actions.h"

/* Asks the judge in a region of its own, and records the verdict; an answer that is missing or bad closes the round
 * without a value. *ret: as of engine_slot_decide(); *ret_why: the cause of a missing answer, or empty. Options of a:
 * J the skill, T the longest time, P the policy. A judge that cannot be started, and an ended wait (143), leave the
 * round open. Returns EXIT_*. */
int slot_judge(ActionArgs *a, uint64_t *ret_seq, json_t **ret, Diag *ret_why);
