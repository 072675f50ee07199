/* Runs: worker, in a warm interpreter. Checks whether the children could reach each other, or the world outside of
 * their regions, through the interpreter: by a second thread, a second process, an open description, a shared mapping,
 * a timer. Each check returns 0 or an errno. After an errno the interpreter serves no region. */
#pragma once

#include <signal.h>

/* Called once, after loading and before serving. Blocks all signals: *ret_before is the mask before. */
int warm_alone_begin(sigset_t *ret_before);
/* Called before each child: checks for changes since. */
int warm_alone_still(void);
