#include "region/region-locks.h"

#include "base/dirents.h"
#include "base/io.h"
#include "base/mounts.h"
#include "region/region-notify-task.h"
#include "region/region-proc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define LOCKS_AGAIN_USEC 2000
#define LOCKS_PIPES_USEC 20000
#define LOCKS_NEVER UINT64_MAX
#define LOCKS_MOUNTS_MAX (16 * 1024 * 1024)
#define LOCK_COUNTS_MAX 8
#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

typedef struct LockFile {
        uint64_t dev, inode, mount;
        bool regular, folder, fifo;
} LockFile;

/* Reads the kernel's cache alone: a served file system (FUSE) is not asked. */
static int locks_look(int fd, LockFile *ret) {
        struct statx st;

        if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_MNT_ID, &st) < 0)
                return -errno;
        *ret = (LockFile){.dev = makedev(st.stx_dev_major, st.stx_dev_minor), .inode = st.stx_ino,
                          .mount = st.stx_mnt_id, .regular = S_ISREG(st.stx_mode), .folder = S_ISDIR(st.stx_mode),
                          .fifo = S_ISFIFO(st.stx_mode)};
        return 0;
}

/* True for a writable mount whose file system answers without a server, as the region's first process sees the mounts:
 * "36 35 98:0 /root /place rw,noatime shared:1 - ext4 /dev/root rw". */
static bool locks_mount_is_usable(RegionLocks *l, pid_t worker, uint64_t mount) {
        static const char *const local[] = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "ramfs",
                                            "bcachefs", "zfs"},
                                *const layered[] = {"overlay"}; /* perhaps above a served folder */
        char options[3];
        size_t n;

        if (!l->mounts &&
            io_read_file(AT_FDCWD, PROC_PATH("%d/mountinfo", worker), LOCKS_MOUNTS_MAX, &l->mounts, &n) < 0)
                return false;
        for (const char *line = l->mounts; *line; line += strcspn(line, "\n"), line += *line == '\n')
                if (strtoull(line, NULL, 10) == mount)
                        return sscanf(line, "%*s %*s %*s %*s %*s %2s", options) == 1 && strcmp(options, "rw") == 0 &&
                               (mounts_has_type(line, local, ARRAY_SIZE(local), false) ||
                                (mounts_has_type(line, layered, 1, false) && !region_notify_any_served()));
        return false;
}

/* pid: the process with the descriptor. */
static void locks_name(pid_t pid, int fd, char object[static 256]) {
        proc_link(PROC_PATH("%d/fd/%d", pid, fd), object, 256);
}

/* Tier landlock has the host's mounts: only the path decides. */
static bool locks_path_is_own(const LockPlace *p, int fd) {
        char path[4096];

        if (proc_link(PROC_FD(fd), path, sizeof(path)) == 0)
                return false;
        if (p->scratch_path && path_is_under(path, p->scratch_path) && path[strlen(p->scratch_path)] == '/')
                return true;
        for (size_t i = 0; i < p->grant->n_files; i++)
                if (p->grant->files[i].write && path_is_under(path, p->grant->files[i].source))
                        return true;
        return false;
}

/* A pipe without a name belongs to the region: a region never gets the host's pipes. */
static bool locks_is_pipe(int fd, const LockFile *f) {
        char name[256];

        if (!f->fifo)
                return false;
        locks_name(getpid(), fd, name);
        return strncmp(name, "pipe:[", 6) == 0;
}

static bool locks_is_own(RegionLocks *l, const LockPlace *p, int fd, const LockFile *f) {
        struct stat st;

        if (locks_is_pipe(fd, f))
                return true;
        /* a device, a socket, an anonymous inode: shared with other processes */
        if (!f->regular && !f->folder && !f->fifo)
                return false;
        if (p->tier == TIER_NAMESPACES && p->scratch >= 0 && fstat(p->scratch, &st) == 0 && st.st_dev == f->dev)
                return true;
        return locks_mount_is_usable(l, p->worker, f->mount) &&
               (p->tier == TIER_NAMESPACES || locks_path_is_own(p, fd));
}

static void locks_drop(RegionLocks *l, size_t i) {
        closep(&l->owners[i].fd);
        close(l->owners[i].pidfd);
        l->owners[i] = l->owners[--l->n_owners];
}

static bool locks_has_file(const LockOwner *o) {
        _cleanup_closedir_ DIR *d = opendir(PROC_PATH("%d/fd", o->process));
        struct dirent *de;
        bool has = false;
        LockFile f;

        while (d && !has && (de = readdir(d))) {
                int copy = *de->d_name == '.' ? -1 : region_notify_copy_fd(o->process, atoi(de->d_name));

                has = copy >= 0 && locks_look(copy, &f) == 0 && f.inode == o->inode && f.dev == o->dev;
                if (copy >= 0)
                        close(copy);
        }
        return has;
}

/* Before the refusal of a lock: drops owners that have ended or closed the file. */
static void locks_prune(RegionLocks *l, const LockFile *f) {
        for (size_t i = l->n_owners; i-- > 0;) {
                struct pollfd p = {.fd = l->owners[i].pidfd, .events = POLLIN};

                if (poll(&p, 1, 0) > 0 || (f && l->owners[i].inode == f->inode && l->owners[i].dev == f->dev &&
                                           !locks_has_file(&l->owners[i])))
                        locks_drop(l, i);
        }
}

static LockOwner *locks_owner(RegionLocks *l, pid_t process, const LockFile *f) {
        for (size_t i = 0; i < l->n_owners; i++)
                if (l->owners[i].process == process && l->owners[i].inode == f->inode && l->owners[i].dev == f->dev)
                        return &l->owners[i];
        return NULL;
}

/* Returns NULL with *ret_error. */
static LockOwner *locks_new_owner(RegionLocks *l, pid_t process, int fd, const LockFile *f, int *ret_error) {
        LockOwner o = {.process = process, .dev = f->dev, .inode = f->inode, .pipe = f->fifo};
        const char *path = PROC_FD(fd);

        if (l->n_owners == LOCK_OWNERS_MAX)
                locks_prune(l, NULL);
        *ret_error = ENOLCK;
        if (l->n_owners == LOCK_OWNERS_MAX)
                return NULL;
        o.fd = open(path, (f->fifo ? fcntl(fd, F_GETFL) & O_ACCMODE : O_RDWR) | O_NONBLOCK | O_CLOEXEC);
        if (o.fd < 0)
                o.fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (o.fd < 0)
                return NULL;
        o.pidfd = (int)syscall(SYS_pidfd_open, process, 0);
        if (o.pidfd < 0) {
                close(o.fd);
                return NULL;
        }
        l->owners[l->n_owners] = o;
        return &l->owners[l->n_owners++];
}

/* Lines of /proc/locks on this file system: "1: OFDLCK ADVISORY  WRITE -1 00:2f:12 0 EOF". */
static unsigned locks_count(uint64_t dev) {
        _cleanup_free_ char *line = NULL;
        FILE *f = fopen("/proc/locks", "re");
        unsigned n = 0, a, b;
        size_t room = 0;

        while (f && getline(&line, &room, f) > 0) {
                const char *colon = strchr(line, ':'), *at = colon ? strchr(colon + 1, ':') : NULL;

                while (at && at > line && at[-1] != ' ')
                        at--;
                n += at && sscanf(at, "%x:%x:", &a, &b) == 2 && makedev(a, b) == dev;
        }
        if (f)
                fclose(f);
        return n;
}

/* The kernel gives the file in parts, and misses lines when other processes lock or unlock between two parts. No lock
 * of this region is made meanwhile: the caller waits. Two equal counts are true, else the largest count. */
static unsigned locks_count_surely(uint64_t dev) {
        unsigned last = locks_count(dev), most = last;

        for (int i = 0; i < LOCK_COUNTS_MAX; i++) {
                unsigned n = locks_count(dev);

                if (n == last)
                        return MAX(n, most);
                last = n;
                most = MAX(n, most);
        }
        return most;
}

/* A new range may cut a range in two. */
static bool locks_may_add(RegionLocks *l, uint64_t dev) {
        if (l->ranges + 2 > LOCK_RANGES_MAX)
                l->ranges = locks_count_surely(dev);
        l->ranges += 2;
        return l->ranges <= LOCK_RANGES_MAX;
}

static int locks_result(int r) {
        return r == 0 ? 0 : errno;
}

static int locks_access(int fd, short type) {
        int mode = fcntl(fd, F_GETFL) & O_ACCMODE;

        return (type == F_RDLCK && mode == O_WRONLY) || (type == F_WRLCK && mode == O_RDONLY) ? EBADF : 0;
}

static int locks_test(RegionLocks *l, pid_t process, int fd, const LockFile *f, struct flock *lock) {
        LockOwner *o = locks_owner(l, process, f);
        struct flock asked = *lock;
        int e;

        lock->l_pid = 0;
        e = locks_result(fcntl(o ? o->fd : fd, F_OFD_GETLK, lock));
        if (e == 0 && lock->l_type != F_UNLCK) { /* perhaps the lock of an ended process */
                locks_prune(l, f);
                *lock = asked;
                lock->l_pid = 0;
                o = locks_owner(l, process, f);
                e = locks_result(fcntl(o ? o->fd : fd, F_OFD_GETLK, lock));
        }
        return e;
}

static int locks_set(RegionLocks *l, pid_t process, int fd, const LockFile *f, const struct flock *asked) {
        LockOwner *o = locks_owner(l, process, f);
        struct flock lock = *asked;
        int e = locks_access(fd, lock.l_type);

        if (e != 0)
                return e;
        if (!o && lock.l_type == F_UNLCK)
                return 0;
        if (!o && !(o = locks_new_owner(l, process, fd, f, &e)))
                return e;
        lock.l_pid = 0;
        e = locks_result(fcntl(o->fd, F_OFD_SETLK, &lock));
        if (e == 0 && lock.l_type == F_UNLCK && lock.l_start == 0 && lock.l_len == 0 && lock.l_whence == SEEK_SET)
                locks_drop(l, (size_t)(o - l->owners));
        return e;
}

/* Tries once, without waiting. */
static int locks_do(RegionLocks *l, pid_t process, const LockWait *w, const LockFile *f) {
        struct flock lock = w->lock;

        if (w->command < 0)
                return locks_result(flock(w->fd, w->operation | LOCK_NB));
        if (w->command == F_OFD_SETLK || w->command == F_OFD_SETLKW)
                return locks_result(fcntl(w->fd, F_OFD_SETLK, &lock));
        return locks_set(l, process, w->fd, f, &lock);
}

static int locks_do_or_prune(RegionLocks *l, pid_t process, const LockWait *w, const LockFile *f) {
        int e = locks_do(l, process, w, f);

        if (e != EAGAIN && e != EACCES)
                return e;
        locks_prune(l, f);
        return locks_do(l, process, w, f);
}

int region_locks_call(RegionLocks *l, const LockPlace *p, const struct seccomp_notif *q, int *ret_error,
                      char object[static 256]) {
        LockWait w = {.id = q->id, .tid = (pid_t)q->pid, .fd = -1,
                      .command = q->data.nr == SYS_flock ? -1 : (int)q->data.args[1],
                      .operation = (int)q->data.args[1]};
        pid_t process = region_notify_process(w.tid);
        _cleanup_close_ int fd = region_notify_copy_fd(w.tid, (int)q->data.args[0]);
        bool tests = w.command == F_GETLK || w.command == F_OFD_GETLK, unlocks, waits;
        LockFile f;

        if (fd == -EREMOTE) {
                locks_name(w.tid, (int)q->data.args[0], object);
                return LOCK_REFUSED;
        }
        if (fd < 0) {
                *ret_error = -fd;
                return 0;
        }
        w.fd = fd;
        *ret_error = EINVAL;
        if (w.command >= 0 &&
            region_notify_read(w.tid, q->data.args[2], &w.lock, sizeof(w.lock)) != (ssize_t)sizeof(w.lock)) {
                *ret_error = EFAULT;
                return 0;
        }
        if (locks_look(fd, &f) < 0 || !locks_is_own(l, p, fd, &f)) {
                locks_name(getpid(), fd, object);
                return LOCK_REFUSED;
        }
        if (w.command >= 0 && w.lock.l_whence == SEEK_CUR) {
                off_t at = lseek(fd, 0, SEEK_CUR);

                if (at < 0 || __builtin_add_overflow(w.lock.l_start, at, &w.lock.l_start))
                        return 0;
                w.lock.l_whence = SEEK_SET;
        }
        if (tests) {
                *ret_error = w.command == F_GETLK ? locks_test(l, process, fd, &f, &w.lock)
                                                  : locks_result(fcntl(fd, F_OFD_GETLK, &w.lock));
                if (*ret_error == 0 && region_notify_write(w.tid, q->data.args[2], &w.lock, sizeof(w.lock)) < 0)
                        *ret_error = EFAULT;
                return 0;
        }
        unlocks = w.command < 0 ? w.operation & LOCK_UN : w.lock.l_type == F_UNLCK;
        /* the kernel goes through all locks of a file at each lock and each close */
        if (!unlocks && !locks_may_add(l, f.dev))
                return LOCK_TOO_MANY;
        *ret_error = locks_do_or_prune(l, process, &w, &f);
        waits = w.command < 0 ? !(w.operation & LOCK_NB) : w.command == F_SETLKW || w.command == F_OFD_SETLKW;
        if (*ret_error == 0 && (l->n_waits > 0 || f.fifo)) /* a waiting call may get the lock now */
                l->deadline = 0;
        if (*ret_error != EAGAIN || !waits)
                return 0;
        *ret_error = ENOLCK;
        if (l->n_waits == LOCK_WAITS_MAX)
                return 0;
        l->waits[l->n_waits] = w;
        l->waits[l->n_waits++].fd = TAKE_FD(fd);
        l->deadline = MIN(l->deadline, UINT64_C(1)); /* the next turn sets the real deadline */
        return LOCK_LATER;
}

/* A signal cannot interrupt a call that waits for the supervisor's answer. */
static bool locks_has_signal(pid_t tid) {
        char text[4096];

        if (proc_read_status(PROC_PATH("%d/status", tid), text, sizeof(text)) == 0)
                return false;
        return (proc_number(text, "\nSigPnd:", 16) | proc_number(text, "\nShdPnd:", 16)) &
               ~proc_number(text, "\nSigBlk:", 16);
}

bool region_locks_try(RegionLocks *l, int notify, uint64_t now, uint64_t *ret_id, int *ret_error) {
        bool pipes = false;

        for (size_t i = 0; i < l->n_waits; i++) {
                LockWait *w = &l->waits[i];
                LockFile f;
                int e = locks_look(w->fd, &f);

                if (ioctl(notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &w->id) < 0)
                        e = ENOENT; /* the task was killed: no lock */
                else
                        e = e < 0 ? -e : locks_do_or_prune(l, region_notify_process(w->tid), w, &f);
                if (e == EAGAIN && locks_has_signal(w->tid))
                        e = EINTR;
                if (e == EAGAIN)
                        continue;
                *ret_id = w->id;
                *ret_error = e;
                close(w->fd);
                *w = l->waits[--l->n_waits];
                return true;
        }
        for (size_t i = 0; i < l->n_owners; i++)
                pipes |= l->owners[i].pipe;
        if (pipes) /* a reader of the pipe sees the end only after the owner's close */
                locks_prune(l, NULL);
        l->deadline = l->n_waits > 0 ? now + LOCKS_AGAIN_USEC : pipes ? now + LOCKS_PIPES_USEC : LOCKS_NEVER;
        return false;
}

RegionLocks *region_locks_new(void) {
        RegionLocks *l = calloc(1, sizeof(*l));

        if (l)
                l->deadline = LOCKS_NEVER;
        return l;
}

int region_locks_take(RegionLocks *l) {
        int fd;

        if (l->n_waits > 0)
                return l->waits[--l->n_waits].fd;
        if (l->n_owners == 0)
                return -1;
        fd = TAKE_FD(l->owners[l->n_owners - 1].fd);
        locks_drop(l, l->n_owners - 1);
        return fd;
}

void region_locks_free(RegionLocks *l) {
        if (!l)
                return;
        while (l->n_owners > 0)
                locks_drop(l, 0);
        while (l->n_waits > 0)
                close(l->waits[--l->n_waits].fd);
        free(l->mounts);
        free(l);
}
