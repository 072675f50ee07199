/* Runs: lethe-serve. What a client of the daemon's own user, or root, may pass as a stream of its run. */
#include "serve/serve.h"

#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Mask 0 and no synchronisation: what the kernel has in memory of any file is its kind and its device, and nobody is
 * asked for it (statx(2)). */
static int stream_look(int fd, struct statx *ret) {
        return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, ret) < 0 ? -errno : 0;
}

/* A file of a server's may never answer, and a regular file cannot be waited for. */
static bool stream_is_served(int fd, const struct statx *st) {
        switch (mounts_kind(st->stx_mnt_id)) {
        case MOUNT_LOCAL:
                return false;
        case MOUNT_UNKNOWN: /* in another namespace: that of a unit with ProtectSystem=, for one */
                return S_ISREG(st->stx_mode) && fcntl(fd, F_GET_SEALS) < 0 /* else it lies in memory */ &&
                       mounts_kind_of_device(st->stx_dev_major, st->stx_dev_minor) != MOUNT_LOCAL;
        case MOUNT_SERVED:
        default:
                return true;
        }
}

/* A descriptor is used as what it was opened for, and never in a way in which nobody can be kept waiting for it. */
int stream_check(int fd, size_t stream, bool *ret_null, Diag *reterr) {
        static const char *const names[] = {"stdin", "stdout", "stderr"};
        int flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE, e;
        struct statx st;

        if (flags < 0 || (flags & O_PATH))
                return diag(reterr, SERVE_E_STREAMS, "%s: was opened with O_PATH: it must be open for %s",
                            names[stream], stream ? "writing" : "reading");
        e = stream_look(fd, &st);
        if (e < 0)
                return diag(reterr, SERVE_E_STREAMS, "%s: %s", names[stream], strerror(-e));
        if (!S_ISREG(st.stx_mode) && !S_ISFIFO(st.stx_mode) && !S_ISCHR(st.stx_mode) && !S_ISSOCK(st.stx_mode))
                return diag(reterr, SERVE_E_STREAMS,
                            "%s: must be a file, a pipe, a terminal or another character device, or a socket",
                            names[stream]);
        if (mode != O_RDWR && mode != (stream ? O_WRONLY : O_RDONLY))
                return diag(reterr, SERVE_E_STREAMS, "%s: must be open for %s", names[stream],
                            stream ? "writing" : "reading");
        if (stream_is_served(fd, &st))
                return diag(
                        reterr, SERVE_E_STREAMS,
                        "%s: a file of a user-space or network file system, or of none that the daemon sees, may never answer: pass a pipe",
                        names[stream]);
        *ret_null = S_ISCHR(st.stx_mode) && makedev(st.stx_rdev_major, st.stx_rdev_minor) == makedev(1, 3);
        return 0;
}
