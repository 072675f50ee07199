#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>

/* Whoever has the environment open holds byte 0 of lock.mdb locked, shared (LMDB does that). This takes it for ourselves alone: those who are
 * about to open it wait (env.c: for a while), and nobody has it open meanwhile. */

static int set(const Store *s, short type) {
        struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

        return fcntl(s->alone_fd, F_SETLK, &l) < 0 ? -errno : 0;
}

int store_alone(Store *s, const char *why, Diag *reterr) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        int r;

        if (s->alone_fd < 0) /* closed with the store: closing drops LMDB's own locks, too */
                s->alone_fd = openat(s->dir_fd, "lock.mdb", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        r = s->alone_fd < 0 ? -errno : set(s, F_WRLCK);
        if (r != -EAGAIN && r != -EACCES)
                return r;
        if (fcntl(s->alone_fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
                return diag(reterr, STORE_E_LOCKED, "store %s: another process has it open: try again", s->dir);
        return diag(reterr, STORE_E_LOCKED, "store %s: process %d has it open: %s when nobody else has", s->dir, (int)l.l_pid, why);
}

void store_not_alone(Store *s) {
        set(s, F_RDLCK);
}
