/* Runs: worker, in a warm interpreter. Whether its children could reach each other, or anything outside of their regions, through what it has: a second
 * thread, another process, an open description, a mapping that is shared, a timer. Each answer is 0 or an errno, and any but 0 means that it serves nobody:
 * then the program is executed in its region. */
#pragma once

#include <signal.h>

/* Once, when all is loaded and before it serves. The signals that it has are blocked from here on: *ret_before is what they were. */
int warm_alone_begin(sigset_t *ret_before);
/* Before each child: nothing changed since. */
int warm_alone_still(void);
