/* Runs: supervisor, lethe-guard. What all programs of the machine hold together. */
#pragma once

#include <stdint.h>

/* Bytes of memory that is no copy of a file: all that is anonymous, shared or in swap (/proc/meminfo). 0 when the
 * kernel does not tell. */
uint64_t machine_given(void);
