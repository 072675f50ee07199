/* Runs: supervisor. Looks whether the host has a path that a region named. Only for a region that has ended: nothing of it can then measure how long the
 * look takes. The look stays on file systems that the kernel itself keeps (a disk, memory, /proc): it stops before it would enter one that a process or
 * another machine serves, so that nobody there sees the name or can hold the look (I-62). */
#pragma once

#include "base/util.h"

typedef enum HostHas { HOST_HAS_NOT, HOST_HAS, HOST_UNKNOWN } HostHas;

typedef struct HostLook {
        char *mounts;        /* /proc/self/mountinfo, read once; owned */
        uint64_t until_usec; /* monotonic: what is asked later is unknown */
} HostLook;

void host_look_begin(HostLook *l, uint64_t usec);
/* path: absolute and plain. The last part of it is not followed when it is a link. */
HostHas host_look(HostLook *l, const char *path);
void host_look_end(HostLook *l);
