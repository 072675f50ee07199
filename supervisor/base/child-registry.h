/* Runs: supervisor. The processes that this one started itself and has not reaped yet, in whatever thread: workers and
 * guards. In tier landlock what a dead worker leaves falls to us, and is told from them by this list alone. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* Around the making of a child and child_registry_note(): several at once, but none while somebody holds the list to
 * look for strangers. */
void child_registry_begin(void);
void child_registry_hold(void);
void child_registry_done(void); /* ends either */

/* False: out of memory. */
bool child_registry_note(pid_t pid);
/* After it was reaped. One that is not there is not missed. */
void child_registry_forget(pid_t pid);
bool child_registry_is(pid_t pid);
