/* Runs: supervisor, lethe-guard. Short turns on the processor, for a task that watches busy processes: a task with
 * short turns runs sooner, and not more in total (sched_setattr(2), since Linux 6.12; older kernels ignore the
 * request). No privilege is needed. */
#pragma once

#include <linux/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NSEC 100000 /* the shortest */
#define SLICE_RESET_ON_FORK 1

typedef struct SliceAttr {
        __u32 size, policy;
        __u64 flags;
        __s32 nice;
        __u32 priority;
        __u64 runtime, deadline, period;
} SliceAttr;

/* For the calling thread; its children have the usual turns. A thread with its own policy or priority is left alone. */
static inline void slice_shorten(void) {
        SliceAttr a = {};

        if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) < 0 || a.policy != 0 || a.nice < 0)
                return;
        a.size = sizeof(a);
        a.flags = SLICE_RESET_ON_FORK;
        a.runtime = SLICE_NSEC;
        syscall(SYS_sched_setattr, 0, &a, 0);
}
