/* Objects that the kernel counts per user and user namespace. A user namespace has limits of its own for them, which hold for this region alone and
 * below those of the user on the host. Only a process of that namespace sees them, in any /proc. */
#include "schema/zygote.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int objects_limit(int proc, const LaunchLimit *l) {
        const char *name = l->resource == LAUNCH_LIMIT_INOTIFY_INSTANCES ? "sys/user/max_inotify_instances" : "sys/user/max_inotify_watches";
        int fd = openat(proc, name, O_WRONLY | O_CLOEXEC), e = 0, n;
        char text[24];

        if (fd < 0)
                return -errno; /* also where there is no such file: the supervisor has seen it, and the filter lets inotify through */
        n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)l->hard);
        if (write(fd, text, (size_t)n) != n)
                e = -errno;
        close(fd);
        return e;
}

int step_objects(Worker *w) {
        int proc, e = 0;

        if (w->spec.tier != 2)
                return 0;
        proc = w->spec.flags & LAUNCH_TEMPLATE ? ZYGOTE_FD_KEPT : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (proc < 0)
                return -errno;
        for (size_t i = 0; e == 0 && i < w->spec.n_limits; i++)
                if (w->spec.limits[i].resource >= LAUNCH_LIMIT_INOTIFY_INSTANCES)
                        e = objects_limit(proc, &w->spec.limits[i]);
        close(proc);
        return e;
}
