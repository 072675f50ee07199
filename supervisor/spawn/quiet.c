#include "spawn/quiet.h"

#include "spawn/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

typedef struct QuietOpen {
        struct open_how how;
        char path[PATH_MAX];
} QuietOpen;

__attribute__((no_sanitize("address", "undefined"))) static long quiet_open_aside(void *arg) {
        QuietOpen *q = arg;

        return aside_do(SYS_openat2, AT_FDCWD, q->path, &q->how, sizeof(q->how));
}

int quiet_open(const char *path, int more, uint64_t resolve) {
        QuietOpen q = {.how = {.flags = (uint64_t)(unsigned)(O_PATH | O_CLOEXEC | more), .resolve = resolve | RESOLVE_CACHED}};
        int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &q.how, sizeof(q.how));

        if (fd >= 0 || (errno != EAGAIN && errno != EINVAL)) /* EINVAL: a kernel before 5.12 */
                return fd >= 0 ? fd : -errno;
        if (strlen(path) >= sizeof(q.path))
                return -ENAMETOOLONG;
        strcpy(q.path, path);
        q.how.resolve = resolve;
        return (int)aside_run(quiet_open_aside, &q, sizeof(q), QUIET_USEC);
}

int quiet_fstat(int fd, struct stat *ret) {
        struct statx x;

        if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x) < 0)
                return -errno;
        *ret = (struct stat){.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor), .st_ino = x.stx_ino, .st_mode = x.stx_mode, .st_nlink = x.stx_nlink,
                             .st_uid = x.stx_uid, .st_gid = x.stx_gid, .st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor), .st_size = (off_t)x.stx_size};
        return 0;
}

int quiet_stat(const char *path, bool follow, struct stat *ret) {
        _cleanup_close_ int fd = quiet_open(path, follow ? 0 : O_NOFOLLOW, 0);

        return fd < 0 ? fd : quiet_fstat(fd, ret);
}
