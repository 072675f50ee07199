#include "base/path-lookup.h"

#include "base/clock.h"
#include "base/mounts.h"
#include "base/proc-path.h"
#include "base/timed-syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define CACHED_TRIES 4

typedef struct LookupOpen {
        struct open_how how;
        char path[PATH_MAX];
} LookupOpen;

static __thread uint64_t lookup_left = LOOKUP_USEC;
static __thread bool lookup_counts, lookup_remote;
static bool lookup_local; /* of the whole process */

void lookup_begin(void) {
        lookup_left = LOOKUP_USEC;
        lookup_counts = true;
        lookup_remote = false;
}

bool lookup_is_over(void) {
        return lookup_left == 0;
}

static void lookup_took(uint64_t usec) {
        if (lookup_counts)
                lookup_left -= MIN(usec, lookup_left);
}

__attribute__((no_sanitize("address", "undefined"))) static long lookup_open_task(void *arg) {
        LookupOpen *q = arg;

        return timed_do(SYS_openat2, AT_FDCWD, q->path, &q->how, sizeof(q->how));
}

__attribute__((no_sanitize("address", "undefined"))) static long lookup_chdir_task(void *arg) {
        LookupOpen *q = arg;

        return timed_do(SYS_chdir, q->path);
}

/* how: NULL for chdir(2). */
static int lookup_in_task(const char *path, const struct open_how *how) {
        uint64_t since = clock_mono_usec();
        LookupOpen q;
        int r;

        if (strlen(path) >= sizeof(q.path))
                return -ENAMETOOLONG;
        if (lookup_left == 0)
                return -ETIMEDOUT;
        q.how = how ? *how : (struct open_how){};
        strcpy(q.path, path);
        r = how ? timed_open(lookup_open_task, &q, sizeof(q), lookup_left)
                : (int)timed_run(lookup_chdir_task, &q, sizeof(q), -1, lookup_left);
        lookup_took(clock_mono_usec() - since);
        return r;
}

int lookup_open_cached(int dir, const char *path, const struct open_how *how) {
        int fd, tries = CACHED_TRIES;

        do
                fd = (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
        while (fd < 0 && errno == EAGAIN && --tries > 0);
        return fd;
}

int lookup_open(const char *path, int more, uint64_t resolve) {
        struct open_how how = {.flags = (uint64_t)(unsigned)(O_PATH | O_CLOEXEC | more),
                               .resolve = resolve | RESOLVE_CACHED};
        int fd = lookup_open_cached(AT_FDCWD, path, &how);

        if (fd >= 0 || (errno != EAGAIN && errno != EINVAL)) /* EINVAL: a kernel before 5.12 */
                return fd >= 0 ? fd : -errno;
        how.resolve = resolve;
        return lookup_in_task(path, &how);
}

int lookup_chdir(const char *path) {
        int r = lookup_in_task(path, NULL);

        if (r == -ETIMEDOUT &&
            unshare(CLONE_FS) < 0) /* otherwise a late answer would change the supervisor's folder */
                abort();
        return r;
}

/* The kernel has the path of an opened place in its cache. */
static int lookup_real_of(int fd, const struct stat *st, char **ret) {
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

int lookup_real_stat(const char *path, char **ret, struct stat *ret_st) {
        _cleanup_close_ int fd = lookup_open(path, 0, 0);
        int e = fd < 0 ? fd : lookup_fstat(fd, ret_st);

        return e < 0 ? e : lookup_real_of(fd, ret_st, ret);
}

int lookup_real(const char *path, char **ret) {
        struct stat st;

        return lookup_real_stat(path, ret, &st);
}

int lookup_stat_folder(const char *path, struct stat *ret_st, char **ret) {
        _cleanup_close_ int fd = lookup_open(path, 0, 0);
        int e = fd < 0 ? fd : lookup_fstat(fd, ret_st);

        *ret = NULL;
        if (e == 0 && S_ISDIR(ret_st->st_mode))
                (void)lookup_real_of(fd, ret_st, ret);
        return e;
}

const char *lookup_strerror(int e) {
        return e == -ETIMEDOUT
                       ? "its file system does not answer within 2 s: its server hangs, or the disk is very slow"
               : e == -EREMOTE
                       ? "lies on a file system that a program or another machine serves, of which lethe serve reads no files"
                       : strerror(-e);
}

void lookup_read_local_alone(bool is) {
        lookup_local = is;
}

static int lookup_place_is_served(int fd) {
        uint64_t mount;
        int e = lookup_mount(fd, &mount);

        return e < 0 ? e : mounts_kind(mount) != MOUNT_LOCAL;
}

int lookup_is_served(const char *path) {
        _cleanup_close_ int fd = lookup_open(path, 0, 0);

        return fd < 0 ? fd : lookup_place_is_served(fd);
}

/* served: 1, 0, -ETIMEDOUT, -errno. */
static int lookup_refuse(int served) {
        lookup_remote |= served > 0;
        return served > 0 ? -EREMOTE : served;
}

int lookup_may_read(const char *path) {
        int r = lookup_local ? lookup_is_served(path) : 0;

        if (lookup_local && r == 0)
                r = mounts_served_below(path);
        return lookup_refuse(r);
}

int lookup_may_read_link(int fd) {
        return lookup_refuse(lookup_local ? lookup_place_is_served(fd) : 0);
}

bool lookup_was_remote(void) {
        return lookup_remote;
}

int lookup_mount(int fd, uint64_t *ret) {
        struct statx x;

        if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &x) < 0)
                return -errno;
        *ret = x.stx_mnt_id;
        return 0;
}

int lookup_fstat(int fd, struct stat *ret) {
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

int lookup_stat(const char *path, bool follow, struct stat *ret) {
        _cleanup_close_ int fd = lookup_open(path, follow ? 0 : O_NOFOLLOW, 0);

        return fd < 0 ? fd : lookup_fstat(fd, ret);
}
