/* Id maps that a process writes for itself, in a user namespace below its zygote's: one id, which it has already, gets its name there. */
#include "schema/zygote.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int write_own(const char *name, const char *text) {
        int fd = openat(ZYGOTE_FD_KEPT, name, O_WRONLY | O_CLOEXEC), e = 0;

        if (fd < 0)
                return -errno;
        if (write(fd, text, strlen(text)) != (ssize_t)strlen(text)) /* one write: the kernel takes a map whole */
                e = -errno;
        close(fd);
        return e;
}

int maps_write_own(uint32_t uid, uint32_t gid) {
        char text[64];
        int e = write_own("self/setgroups", "deny");

        snprintf(text, sizeof(text), "%u %u 1\n", (unsigned)uid, (unsigned)uid);
        if (e == 0)
                e = write_own("self/uid_map", text);
        snprintf(text, sizeof(text), "%u %u 1\n", (unsigned)gid, (unsigned)gid);
        if (e == 0)
                e = write_own("self/gid_map", text);
        return e;
}
