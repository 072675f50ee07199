/* Runs: supervisor. Our children that the kernel does not let die yet, or that wait for such ones. Nobody waits for
 * them; the dead are reaped before the next child is made. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* pid 0: none. */
void left_add(pid_t pid);
void left_reap(void);
