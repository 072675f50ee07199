/* Runs: worker, in a warm interpreter. The two processes of a region, with a single copy of the interpreter's memory. A
 * fork copies each page table of the interpreter, and each first write a page, so that a second copy would cost as much
 * as all other steps.
 *
 *   interpreter    clones with CLONE_VM | CLONE_VFORK, and stands still until the exec below
 *     -> first process, for some system calls in the interpreter's memory: forks the program's process, gives up its
 *        privilege, and executes lethe-worker (ZYGOTE_FD_FIRST, worker/first.c)
 *          -> the program's process, with the only copy: goes on with the steps of a worker
 *
 * No byte of a region's spec is read before the fork: nothing of a region comes into the interpreter's memory. */
#pragma once

#include <stdint.h>

/* For ZygoteWay.make. Returns 0 in the program's process, with FIRST_FD_SHARED and FIRST_FD_STARTED. */
long warm_make(uint64_t flags, int *ret_pidfd);
