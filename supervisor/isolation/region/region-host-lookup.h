/* Runs: supervisor. Looks for a path of the host, named by a region that has ended: a living region could measure the
 * time of the look. The look stays on file systems of the kernel itself (disk, memory, /proc). The look stops before a
 * file system served by a process or another machine, so no server sees the name or delays the look (I-62). */
#pragma once

#include "base/util.h"

typedef enum HostHas { HOST_HAS_NOT, HOST_HAS, HOST_UNKNOWN } HostHas;

typedef struct HostLook {
        char *mounts;        /* /proc/self/mountinfo, read once; owned */
        uint64_t until_usec; /* monotonic; later paths are unknown */
} HostLook;

void host_look_begin(HostLook *l, uint64_t usec);
/* path: absolute and plain. A link in the last part is not followed. */
HostHas host_look(HostLook *l, const char *path);
void host_look_end(HostLook *l);
