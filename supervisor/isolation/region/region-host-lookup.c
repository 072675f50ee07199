/* Runs: supervisor. */
#include "region/region-host-lookup.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#define MOUNTS_MAX (16 * 1024 * 1024)
#define LINKS_MAX 40 /* the kernel's own bound */

void host_look_begin(HostLook *l, uint64_t usec) {
        *l = (HostLook){.until_usec = clock_mono_usec() + usec};
}

void host_look_end(HostLook *l) {
        free(l->mounts);
        *l = (HostLook){};
}

/* True when the kernel keeps the file system mounted at `path`. The last line of a place covers the others. */
static bool look_is_kept_by_kernel(HostLook *l, const char *path) {
        static const char *const types[] = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "bcachefs", "zfs", "jfs",
                                            "nilfs2", "erofs", "squashfs", "iso9660", "udf", "vfat", "exfat", "ntfs3",
                                            "tmpfs", "ramfs", "rootfs", "devtmpfs", "devpts", "proc", "sysfs", "cgroup",
                                            "cgroup2", "overlay", "securityfs", "mqueue", "hugetlbfs", "pstore",
                                            "efivarfs", "configfs", "bpf"};
        const char *at = NULL;
        size_t n;

        if (!l->mounts && io_read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MAX, &l->mounts, &n) < 0)
                return false;
        for (const char *line = l->mounts; *line; line += strcspn(line, "\n"), line += *line == '\n')
                if (mounts_after(line, path) == ' ')
                        at = line;
        return at && mounts_has_type(at, types, ARRAY_SIZE(types), false);
}

/* Opens a name in `folder`. Returns a descriptor or -errno; -EXDEV: a mount point, without `cross`. */
static int look_step(int folder, const char *name, bool cross) {
        struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                               .resolve = RESOLVE_NO_MAGICLINKS | (cross ? 0 : RESOLVE_NO_XDEV)};
        int fd = (int)syscall(SYS_openat2, folder, name, &how, sizeof(how));

        return fd < 0 ? -errno : fd;
}

/* Puts the target of a link in front of the rest of the path. Returns 0 or -errno; -EINVAL: no link. */
static int look_follow(int fd, char rest[static PATH_MAX], char done[static PATH_MAX]) {
        char target[PATH_MAX];
        ssize_t n = readlinkat(fd, "", target, sizeof(target) - 1);
        size_t n_rest = strlen(rest);

        if (n <= 0)
                /* ENOENT: the kernel's answer for a file other than a link */
                return n < 0 && errno != ENOENT ? -errno : -EINVAL;
        if ((size_t)n + 1 + n_rest >= PATH_MAX)
                return -ENAMETOOLONG;
        target[n] = 0;
        memmove(rest + n + 1, rest, n_rest + 1);
        memcpy(rest, target, (size_t)n);
        rest[n] = '/';
        if (*target == '/')
                *done = 0;
        else
                *strrchr(done, '/') = 0; /* the link's own name */
        return 0;
}

/* Opens the folder with the path `done` from the root: all mounts on the way were judged before. */
static int look_again(const char *done) {
        return look_step(AT_FDCWD, *done ? done : "/", true);
}

HostHas host_look(HostLook *l, const char *path) {
        char rest[PATH_MAX], done[PATH_MAX] = "", name[NAME_MAX + 1];
        _cleanup_close_ int at = look_again("");
        unsigned links = 0;

        if (at < 0 || strlen(path) >= sizeof(rest) || !look_is_kept_by_kernel(l, "/"))
                return HOST_UNKNOWN;
        strcpy(rest, path);
        for (;;) {
                char *p = rest + strspn(rest, "/");
                size_t n = strcspn(p, "/"), n_done = strlen(done);
                bool last, dots;
                int next, e;

                if (n == 0)
                        return HOST_HAS;
                if (n > NAME_MAX)
                        return HOST_HAS_NOT;
                if (n_done + 1 + n >= sizeof(done) || clock_mono_usec() > l->until_usec)
                        return HOST_UNKNOWN;
                memcpy(name, p, n);
                name[n] = 0;
                last = p[n + strspn(p + n, "/")] == 0;
                memmove(rest, p + n, strlen(p + n) + 1);
                dots = strcmp(name, "..") == 0; /* from the target of a link */
                if (strcmp(name, ".") == 0)
                        continue;
                if (dots) {
                        if (n_done > 0)
                                *strrchr(done, '/') = 0;
                        next = look_again(done);
                } else {
                        done[n_done] = '/';
                        strcpy(done + n_done + 1, name);
                        next = look_step(at, name, false);
                        if (next == -EXDEV) {
                                if (!look_is_kept_by_kernel(l, done))
                                        return HOST_UNKNOWN;
                                next = look_step(at, name, true);
                        }
                }
                if (next < 0)
                        return next == -ENOENT || next == -ENOTDIR ? HOST_HAS_NOT : HOST_UNKNOWN;
                /* A look below a process's folder of /proc would wait for the process. */
                if (strncmp(done, "/proc/", 6) == 0) {
                        close(next);
                        return HOST_HAS;
                }
                if (!last && (e = look_follow(next, rest, done)) != -EINVAL) {
                        close(next);
                        if (e < 0 || ++links > LINKS_MAX)
                                return HOST_UNKNOWN;
                        if ((next = look_again(done)) < 0)
                                return HOST_UNKNOWN;
                }
                close(at);
                at = next;
        }
}
