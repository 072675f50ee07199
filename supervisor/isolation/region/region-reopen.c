/* Runs: supervisor. /dev/stdin, /dev/stdout, /dev/stderr and /dev/fd/N without a /proc. Only procfs knows a process's
 * descriptors by name; but an unwanted procfs would show the host's network (/proc/PID/net) or need a network
 * namespace, the dearest part of a start. The supervisor is notified of each open anyway, and gives the task a second
 * number for a description of the task's own (as dup(2): the meaning of these names on other systems). The region wins
 * no right: even if the path has changed since, the answer is a descriptor of the same task, with the same access
 * mode. */
#include "region/region-notify.h"

#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define REOPEN_TTY (-2)

/* The descriptor that a path names, REOPEN_TTY for the terminal that a region does not have, or -1. */
static int reopen_number(const char *path) {
        static const char *const streams[] = {"/dev/stdin", "/dev/stdout", "/dev/stderr"};
        const char *digits = path + sizeof(REGION_FD_DIR);
        int fd = 0;

        if (strncmp(path, "/dev/", 5) != 0)
                return -1;
        for (int i = 0; i < 3; i++)
                if (strcmp(path, streams[i]) == 0)
                        return i;
        if (strcmp(path, "/dev/tty") == 0)
                return REOPEN_TTY;
        if (strncmp(path, REGION_FD_DIR "/", sizeof(REGION_FD_DIR)) != 0 || !*digits || strlen(digits) > 6)
                return -1;
        for (const char *p = digits; *p; p++) {
                if (*p < '0' || *p > '9')
                        return -1;
                fd = fd * 10 + (*p - '0');
        }
        return fd;
}

/* Returns 0, or the error with which the kernel would refuse such an open. */
static int reopen_check(int fd, int flags) {
        int have = fcntl(fd, F_GETFL), want = flags & O_ACCMODE;

        if (have < 0)
                return errno;
        if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
                return EEXIST;
        if (flags & O_DIRECTORY)
                return ENOTDIR;
        have &= O_PATH | O_ACCMODE;
        return have == O_RDWR || (have == want && want != O_ACCMODE) ? 0 : EACCES;
}

/* O_PATH for a call that opens nothing. */
static int reopen_flags(const struct seccomp_data *d) {
        switch (d->nr) {
        case SYS_open:
                return (int)d->args[1];
        case SYS_openat:
                return (int)d->args[2];
        case SYS_creat:
                return O_CREAT | O_WRONLY | O_TRUNC;
        default:
                return O_PATH;
        }
}

bool region_notify_reopen(RegionNotify *n, const char *full) {
        const struct seccomp_notif *q = n->req;
        const int fd = reopen_number(full), flags = reopen_flags(&q->data);
        struct seccomp_notif_addfd add = {.id = q->id, .flags = SECCOMP_ADDFD_FLAG_SEND,
                                          .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};
        _cleanup_close_ int copy = -1;
        int error;

        if (fd == -1 || n->tier != TIER_NAMESPACES || n->grant->proc || flags & O_PATH ||
            (fd == REOPEN_TTY && grant_has_terminals(n->grant, n->tier)))
                return false;
        copy = fd == REOPEN_TTY ? -ENXIO : region_notify_copy_local((pid_t)q->pid, fd);
        error = copy == -EBADF ? ENOENT : copy == -EREMOTE ? EACCES : copy < 0 ? -copy : reopen_check(copy, flags);
        add.srcfd = (uint32_t)copy;
        if (error == 0 && ioctl(n->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
                error = errno == ENOENT ? 0 : errno; /* ENOENT: the task was killed */
        if (error != 0)
                region_notify_answer(n, q->id, error, false);
        return true;
}
