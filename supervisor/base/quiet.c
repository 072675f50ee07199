#include "base/quiet.h"

#include "base/aside.h"
#include "base/clock.h"
#include "base/mounts.h"
#include "base/proc-path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define CACHED_TRIES 4

typedef struct QuietOpen {
        struct open_how how;
        char path[PATH_MAX];
} QuietOpen;

static __thread uint64_t quiet_left = QUIET_USEC;
static __thread bool quiet_counts, quiet_remote;
static bool quiet_local; /* of the whole process */

void quiet_begin(void) {
        quiet_left = QUIET_USEC;
        quiet_counts = true;
        quiet_remote = false;
}

bool quiet_is_over(void) {
        return quiet_left == 0;
}

static void quiet_took(uint64_t usec) {
        if (quiet_counts)
                quiet_left -= MIN(usec, quiet_left);
}

__attribute__((no_sanitize("address", "undefined"))) static long quiet_open_aside(void *arg) {
        QuietOpen *q = arg;

        return aside_do(SYS_openat2, AT_FDCWD, q->path, &q->how, sizeof(q->how));
}

__attribute__((no_sanitize("address", "undefined"))) static long quiet_chdir_aside(void *arg) {
        QuietOpen *q = arg;

        return aside_do(SYS_chdir, q->path);
}

/* how: NULL for chdir(2). */
static int quiet_aside(const char *path, const struct open_how *how) {
        uint64_t since = clock_mono_usec();
        QuietOpen q;
        int r;

        if (strlen(path) >= sizeof(q.path))
                return -ENAMETOOLONG;
        if (quiet_left == 0)
                return -ETIMEDOUT;
        q.how = how ? *how : (struct open_how){};
        strcpy(q.path, path);
        r = how ? aside_open(quiet_open_aside, &q, sizeof(q), quiet_left)
                : (int)aside_run(quiet_chdir_aside, &q, sizeof(q), -1, quiet_left);
        quiet_took(clock_mono_usec() - since);
        return r;
}

int quiet_open_cached(int dir, const char *path, const struct open_how *how) {
        int fd, tries = CACHED_TRIES;

        do
                fd = (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
        while (fd < 0 && errno == EAGAIN && --tries > 0);
        return fd;
}

int quiet_open(const char *path, int more, uint64_t resolve) {
        struct open_how how = {.flags = (uint64_t)(unsigned)(O_PATH | O_CLOEXEC | more),
                               .resolve = resolve | RESOLVE_CACHED};
        int fd = quiet_open_cached(AT_FDCWD, path, &how);

        if (fd >= 0 || (errno != EAGAIN && errno != EINVAL)) /* EINVAL: a kernel before 5.12 */
                return fd >= 0 ? fd : -errno;
        how.resolve = resolve;
        return quiet_aside(path, &how);
}

int quiet_chdir(const char *path) {
        int r = quiet_aside(path, NULL);

        if (r == -ETIMEDOUT &&
            unshare(CLONE_FS) < 0) /* otherwise a late answer would change the supervisor's folder */
                abort();
        return r;
}

/* The kernel has the path of an opened place in its cache. */
static int quiet_real_of(int fd, const struct stat *st, char **ret) {
        char real[PATH_MAX];
        ssize_t n;

        n = readlink(PROC_FD(fd), real, sizeof(real) - 1);
        if (n < 0)
                return -errno;
        if (n == (ssize_t)sizeof(real) - 1)
                return -ENAMETOOLONG;
        real[n] = 0;
        /* Outside of the root folder, or removed meanwhile. */
        if (*real != '/' || (st->st_nlink == 0 && strstr(real, " (deleted)")))
                return -ENOENT;
        *ret = strdup(real);
        return *ret ? 0 : -ENOMEM;
}

int quiet_real_stat(const char *path, char **ret, struct stat *ret_st) {
        _cleanup_close_ int fd = quiet_open(path, 0, 0);
        int e = fd < 0 ? fd : quiet_fstat(fd, ret_st);

        return e < 0 ? e : quiet_real_of(fd, ret_st, ret);
}

int quiet_real(const char *path, char **ret) {
        struct stat st;

        return quiet_real_stat(path, ret, &st);
}

int quiet_stat_folder(const char *path, struct stat *ret_st, char **ret) {
        _cleanup_close_ int fd = quiet_open(path, 0, 0);
        int e = fd < 0 ? fd : quiet_fstat(fd, ret_st);

        *ret = NULL;
        if (e == 0 && S_ISDIR(ret_st->st_mode))
                (void)quiet_real_of(fd, ret_st, ret);
        return e;
}

const char *quiet_strerror(int e) {
        return e == -ETIMEDOUT
                       ? "its file system does not answer within 2 s: its server hangs, or the disk is very slow"
               : e == -EREMOTE
                       ? "lies on a file system that a program or another machine serves, of which lethe serve reads no files"
                       : strerror(-e);
}

void quiet_read_local_alone(bool is) {
        quiet_local = is;
}

static int quiet_place_is_served(int fd) {
        uint64_t mount;
        int e = quiet_mount(fd, &mount);

        return e < 0 ? e : mounts_kind(mount) != MOUNT_LOCAL;
}

int quiet_is_served(const char *path) {
        _cleanup_close_ int fd = quiet_open(path, 0, 0);

        return fd < 0 ? fd : quiet_place_is_served(fd);
}

/* served: 1, 0, -ETIMEDOUT, -errno. */
static int quiet_refuse(int served) {
        quiet_remote |= served > 0;
        return served > 0 ? -EREMOTE : served;
}

int quiet_may_read(const char *path) {
        int r = quiet_local ? quiet_is_served(path) : 0;

        if (quiet_local && r == 0)
                r = mounts_served_below(path);
        return quiet_refuse(r);
}

int quiet_may_read_link(int fd) {
        return quiet_refuse(quiet_local ? quiet_place_is_served(fd) : 0);
}

bool quiet_was_remote(void) {
        return quiet_remote;
}

int quiet_mount(int fd, uint64_t *ret) {
        struct statx x;

        if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) < 0)
                return -errno;
        *ret = x.stx_mnt_id;
        return 0;
}

int quiet_fstat(int fd, struct stat *ret) {
        struct statx x;

        if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x) < 0)
                return -errno;
        *ret = (struct stat){.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
                             .st_ino = x.stx_ino,
                             .st_mode = x.stx_mode,
                             .st_nlink = x.stx_nlink,
                             .st_uid = x.stx_uid,
                             .st_gid = x.stx_gid,
                             .st_rdev = makedev(x.stx_rdev_major, x.stx_rdev_minor),
                             .st_size = (off_t)x.stx_size,
                             .st_blocks = (blkcnt_t)x.stx_blocks};
        return 0;
}

int quiet_stat(const char *path, bool follow, struct stat *ret) {
        _cleanup_close_ int fd = quiet_open(path, follow ? 0 : O_NOFOLLOW, 0);

        return fd < 0 ? fd : quiet_fstat(fd, ret);
}
