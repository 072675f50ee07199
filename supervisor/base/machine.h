/* Runs: supervisor, lethe-guard. Memory held by all programs of the machine together. */
#pragma once

#include <stdint.h>

/* Bytes of memory without a file behind: all anonymous, shared and swapped memory (/proc/meminfo). 0 when unknown. */
uint64_t machine_given(void);
