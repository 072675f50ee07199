/* Runs: lethe-serve. What stands ready shows the host's mounts as they were when it was made; which ones, is part of
 * its mark (base/mounts.h). The kernel tells of each change of this namespace's mounts (proc_pid_mountinfo(5):
 * POLLPRI), so that their list need not be read each time. */
#include "serve/serve.h"

#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>

static int on_change(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        mounts_changed();
        return 0;
}

int server_watch_mounts(Server *s, Diag *reterr) {
        int e;

        s->mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
        if (s->mounts < 0)
                return diag(reterr, -errno, "/proc/self/mountinfo: %s", strerror(errno));
        e = sd_event_add_io(s->event, &s->mounting, s->mounts, EPOLLPRI, on_change, s);
        mounts_changed();
        /* Before any request that came in the same turn of the loop. */
        return e < 0 ? e : sd_event_source_set_priority(s->mounting, SD_EVENT_PRIORITY_IMPORTANT);
}
