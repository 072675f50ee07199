/* Runs: supervisor, lethe-guard. What all programs of the machine hold together. */
#pragma once

#include <stdint.h>

/* meminfo: the text of /proc/meminfo. Bytes of memory that is no copy of a file: all that is anonymous, shared or in swap. 0 when it does not say. */
uint64_t machine_given(const char *meminfo);
