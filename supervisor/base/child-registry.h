/* Runs: supervisor. The processes started by this supervisor and not reaped yet, of all threads: workers and guards. In
 * tier landlock, orphans of a dead worker become children, too; only this list tells them apart. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* Around a child's making and child_registry_note(): many threads at once, no thread during a search for strangers. */
void child_registry_begin(void);
void child_registry_hold(void);
void child_registry_done(void); /* ends either */

/* False: out of memory. */
bool child_registry_note(pid_t pid);
/* After the child was reaped. A pid that is not in the list is ignored. */
void child_registry_forget(pid_t pid);
bool child_registry_is(pid_t pid);
/* Waits for the end of a child, with or without a signal at the end, and forgets the child. */
void child_registry_reap(pid_t pid);
/* For a child that is not yet able to die, because the kernel holds the child, or a process below: no thread waits for
 * such a child. pid 0: ignored. */
void child_registry_reap_later(pid_t pid);
/* Reaps and forgets all of these children that have died since. Before the next child is made. */
void child_registry_reap_dead(void);
