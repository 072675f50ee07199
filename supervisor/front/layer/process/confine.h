/* Runs: lethe-layer. The rights that lethe-layer gives up. */
#pragma once

#include <stdbool.h>

/* Before the first hostile byte: system calls, and every capability but the one for reading all files. */
bool confine_begin(void);
/* Before the layer is read: from here on files are made and changed below the folder alone. A kernel without Landlock
 * leaves the system call filter. */
bool confine_writes(int folder);
