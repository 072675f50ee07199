/* Runs: supervisor. The steps of every invocation (steps.c). */
#pragma once

#include "invoke/types.h"

extern const Life invocation_life;
