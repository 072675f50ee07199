/* Runs: supervisor. Child processes not yet able to die: the kernel holds them, or a process below. No thread waits for
 * them; dead children are reaped before the next child is made. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* pid 0: ignored. */
void left_add(pid_t pid);
void left_reap(void);
