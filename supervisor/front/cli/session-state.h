/* Runs: CLI. `lethe memory working`: what a running `lethe serve` keeps of the moment, for a scope. There is no other place for it (M-9). */
#pragma once

#include "cli/actions.h"

int session_state_action(ActionArgs *a);
