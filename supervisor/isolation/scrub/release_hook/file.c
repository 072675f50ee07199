/* Runs: supervisor. */
#include "scrub/release_hook/hook-internal.h"

#include "base/path-lookup.h"
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define OPEN_TRIES 10
#define LOOKS_MOST 20 /* at a file that still has a name: then the hook checks whether its call failed */

int hook_path(const HookCall *c, const struct seccomp_notif *q, char out[static PATH_MAX]) {
        int dirfd = c->at ? (int)q->data.args[c->path - 1] : AT_FDCWD;
        char text[PATH_MAX];
        ssize_t n = region_notify_read((pid_t)q->pid, q->data.args[c->path], text, sizeof(text) - 1), base = 0;

        if (n <= 0)
                return -EFAULT;
        text[n] = 0;
        if (strlen(text) == (size_t)n || !*text)
                return -EFAULT;
        if (*text != '/') {
                base = readlink(dirfd == AT_FDCWD ? PROC_PATH("%d/cwd", (int)q->pid)
                                                  : PROC_PATH("%d/fd/%d", (int)q->pid, dirfd), out, PATH_MAX - 1);
                if (base < 0)
                        return errno == ENOENT ? -EFAULT : -errno;
                if (*out != '/')
                        return -ENOTDIR;
                out[base++] = '/';
        }
        if (base + strlen(text) >= PATH_MAX)
                return -ENAMETOOLONG;
        strcpy(out + base, text); /* the kernel resolves ".." */
        return 0;
}

/* True when a path that cannot be opened here may lead to a file all the same. Without a /proc in the region, each
 * path that the kernel finds for the region exists for the supervisor, too; /proc/self is the exception. */
static bool file_may_lead_elsewhere(const ReleaseHook *e, const char *path, int error) {
        _cleanup_close_ int folder = -1;
        char parent[PATH_MAX];
        struct stat st;
        char *name;

        if ((error != -ENOENT && error != -ENOTDIR) || region_notify_any_served())
                return true;
        if (!e->region->grant->proc)
                return false;
        snprintf(parent, sizeof(parent), "%s", path);
        name = strrchr(parent, '/');
        *name++ = 0;
        folder = hook_open(e, *parent ? parent : "/", true);
        return folder < 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* False: the kernel refuses the path, too, or its end is unknown, which is counted. */
static bool file_find_path(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q,
                           char out[static PATH_MAX]) {
        int k = hook_path(c, q, out);

        if (!region_notify_waits(&e->region->notify, q->id))
                return false;
        e->region->notify.freed.unheld += k < 0 && k != -EFAULT;
        return k == 0;
}

/* Where a process serves a file system (FUSE), only the kernel's cache is searched. */
int hook_open(const ReleaseHook *e, const char *path, bool follow) {
        int root = e->region->notify.root, fd = -1;
        struct open_how how = {.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
                               .resolve = (root >= 0 ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0) |
                                          (region_notify_any_served() ? RESOLVE_CACHED : 0)};

        for (int i = 0; i < OPEN_TRIES; i++) { /* EAGAIN: a rename or a mount meanwhile, and the path has a ".." */
                fd = (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof(how));
                if (fd >= 0 || errno != EAGAIN)
                        break;
        }
        return fd < 0 ? -errno : fd;
}

bool hook_fd_path(int fd, char out[static PATH_MAX]) {
        return proc_link(PROC_FD(fd), out, PATH_MAX) > 0;
}

/* True only for a file of the scratch: a granted file of the host keeps its content. */
static bool file_is_in_scratch(const ReleaseHook *e, int fd, struct stat *ret) {
        const char *scratch = e->region->notify.scratch;
        char path[PATH_MAX];

        if (lookup_fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) || ret->st_dev != e->scratch)
                return false;
        if (!scratch) /* a file system of its own */
                return true;
        return hook_fd_path(fd, path) && path_is_under(path, scratch);
}

static int file_reopen(int fd, int flags) {
        return open(PROC_FD(fd), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static void file_count(ReleaseHook *e, uint64_t bytes, uint64_t overwritten) {
        e->region->notify.freed.files++;
        hook_count(e, bytes, overwritten);
}

static uint64_t file_data_bytes(const struct stat *st) {
        return MIN((uint64_t)st->st_blocks * 512, scan_whole_pages((uint64_t)st->st_size));
}

static NotifyStep file_keep_deleted(ReleaseHook *e, const struct seccomp_notif *q, const char *path) {
        _cleanup_close_ int fd = hook_open(e, path, false);
        struct stat st;

        if (fd < 0)
                e->region->notify.freed.unheld += file_may_lead_elsewhere(e, path, fd);
        /* A further name keeps the data; without blocks there are none. */
        if (fd < 0 || !file_is_in_scratch(e, fd, &st) || st.st_nlink != 1 || st.st_blocks == 0)
                return NOTIFY_GO_ON;
        for (size_t i = 0; i < e->n_files; i++)
                if (e->files[i].dev == st.st_dev && e->files[i].ino == st.st_ino) {
                        e->files[i].pid = (pid_t)q->pid;
                        e->files[i].looks = 0;
                        return NOTIFY_GO_ON;
                }
        e->region->notify.freed.calls++;
        if (e->n_files == HOOK_FILES_MAX) {
                file_count(e, file_data_bytes(&st), 0);
                return NOTIFY_GO_ON;
        }
        e->files[e->n_files++] = (HookFile){.fd = TAKE_FD(fd), .dev = st.st_dev, .ino = st.st_ino,
                                            .pid = (pid_t)q->pid};
        e->pause = 0;
        hook_wake(e, 1000);
        return NOTIFY_GO_ON;
}

NotifyStep hook_unname(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        char full[PATH_MAX];

        if (e->asking)
                return NOTIFY_LATER;
        return !file_find_path(e, c, q, full) ? NOTIFY_GO_ON : file_keep_deleted(e, q, full);
}

/* The owner may have taken its own right to write away. The region is not there to see the right restored. */
static int file_reopen_deleted(int fd) {
        int k = file_reopen(fd, O_RDWR);

        if (k >= 0 || errno != EACCES)
                return k;
        return chmod(PROC_FD(fd), 0600) < 0 ? -1 : file_reopen(fd, O_RDWR);
}

/* True when the task is surely out of the calls that take a name, or dead. A running task may be in one of them. */
static bool file_call_is_over(pid_t pid) {
        static const int calls[] = {SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2};
        char text[128];

        if (proc_read(PROC_PATH("%d/syscall", pid), text, sizeof(text)) == 0)
                return true;
        for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
                if (atoi(text) == calls[i])
                        return false;
        return strncmp(text, "running", 7) != 0;
}

/* True when the file needs no more looks. */
static bool file_wipe_when_free(ReleaseHook *e, HookFile *f, bool at_end) {
        _cleanup_close_ int fd = -1;
        WipeCount c = {};
        struct stat st;

        if (fstat(f->fd, &st) < 0)
                return true;
        if (st.st_nlink > 0) { /* its call still runs, or failed, or a new name came meanwhile */
                f->looks++;
                /* on a busy machine the call may take long */
                return at_end || (f->looks > LOOKS_MOST && file_call_is_over(f->pid));
        }
        fd = file_reopen_deleted(f->fd);
        if (fd < 0) {
                file_count(e, file_data_bytes(&st), 0);
                return true;
        }
        /* The kernel grants a write lease only when no other process has the file open, mapped, or in a message. */
        if (!at_end && fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
                f->looks++;
                return false;
        }
        if (wipe_file(&e->wipe, fd, &c) < 0)
                c = (WipeCount){.denied = file_data_bytes(&st)};
        file_count(e, c.overwritten + c.denied + c.mismatched, c.overwritten);
        return true;
}

bool hook_files_look(ReleaseHook *e, HookFiles which) {
        size_t kept = 0;

        for (size_t i = 0; i < e->n_files; i++) {
                HookFile *f = &e->files[i];

                if ((which != HOOK_FILES_NEW || f->looks == 0) && file_wipe_when_free(e, f, which == HOOK_FILES_END))
                        close(f->fd);
                else
                        e->files[kept++] = *f;
        }
        e->n_files = kept;
        return kept > 0;
}

/* Writes only where data are: a hole would get pages. */
static void file_wipe_data(ReleaseHook *e, int fd, uint64_t from, uint64_t to) {
        uint64_t bytes = 0, good = 0;

        for (off_t at = (off_t)from, end; (uint64_t)at < to; at = end) {
                at = lseek(fd, at, SEEK_DATA);
                if (at < 0 || (uint64_t)at >= to || (end = lseek(fd, at, SEEK_HOLE)) < 0)
                        break;
                end = (off_t)MIN((uint64_t)end, to);
                bytes += (uint64_t)(end - at);
                good += wipe_range(&e->wipe, fd, (uint64_t)at, (uint64_t)end);
        }
        e->region->notify.freed.calls++;
        file_count(e, bytes, good);
}

/* Overwrites all bytes from `from` on, which are cut off next; fd is open for both. A write through a mapping beyond
 * the end of a file is in its last page. */
static void file_wipe_end(ReleaseHook *e, int fd, uint64_t from, const struct stat *st) {
        uint64_t to = scan_whole_pages((uint64_t)st->st_size);

        file_wipe_data(e, fd, from, ftruncate(fd, (off_t)to) < 0 ? (uint64_t)st->st_size : to);
}

/* A copy of the caller's own descriptor, open for writing, of a file; else -1. */
static int file_copy_fd(const ReleaseHook *e, const struct seccomp_notif *q, struct stat *ret) {
        _cleanup_close_ int fd = region_notify_copy_fd((pid_t)q->pid, (int)q->data.args[0]);
        int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

        if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH ||
            !region_notify_waits(&e->region->notify, q->id) || lookup_fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode))
                return -1;
        return TAKE_FD(fd);
}

/* Opens the file for both, whatever the mode of the caller's descriptor. */
static int file_open_both(int fd) {
        int both = file_reopen(fd, O_RDWR);

        return both >= 0 ? both : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

NotifyStep hook_truncate_fd(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        struct stat st;
        _cleanup_close_ int fd = file_copy_fd(e, q, &st), both = -1;
        off_t length = (off_t)q->data.args[1];

        if (e->asking)
                return NOTIFY_LATER;
        if (fd < 0 || length < 0 || length >= st.st_size)
                return NOTIFY_GO_ON;
        hook_count_copies(e, &st, (uint64_t)length);
        if (!file_is_in_scratch(e, fd, &st))
                return NOTIFY_GO_ON;
        both = file_open_both(fd);
        file_wipe_end(e, both, (uint64_t)length, &st);
        *ret_error = ftruncate(fd, length) < 0 ? errno : 0;
        return NOTIFY_ANSWER;
}

NotifyStep hook_hole(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, int *ret_error) {
        struct stat st;
        _cleanup_close_ int fd = file_copy_fd(e, q, &st), both = -1;
        off_t from = (off_t)q->data.args[2], length = (off_t)q->data.args[3];
        uint64_t end;

        if (e->asking)
                return NOTIFY_LATER;
        if (fd < 0 || !file_is_in_scratch(e, fd, &st))
                return NOTIFY_GO_ON;
        /* In memory no other mode takes data; on a disk (tier landlock) the call fails alike. */
        if ((int)q->data.args[1] != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)) {
                *ret_error = EOPNOTSUPP;
                return NOTIFY_ANSWER;
        }
        if (from < 0 || length <= 0 ||
            __builtin_add_overflow((uint64_t)from, (uint64_t)length, &end))
                return NOTIFY_GO_ON;
        both = file_open_both(fd);
        if (end > (uint64_t)st.st_size && (uint64_t)from < (uint64_t)st.st_size)
                file_wipe_end(e, both, (uint64_t)from, &st);
        else
                file_wipe_data(e, both, (uint64_t)from, MIN(end, (uint64_t)st.st_size));
        *ret_error = fallocate(fd, (int)q->data.args[1], from, length) < 0 ? errno : 0;
        if (end > (uint64_t)st.st_size && ftruncate(fd, st.st_size) < 0)
                *ret_error = errno;
        return NOTIFY_ANSWER;
}

/* An open that fails at the limit of descriptors takes nothing. */
static bool file_has_free_fd(pid_t pid) {
        struct rlimit limit;

        return prlimit(pid, RLIMIT_NOFILE, NULL, &limit) < 0 || proc_fd_count(pid) < limit.rlim_cur;
}

NotifyStep hook_truncate_path(ReleaseHook *e, const HookCall *c, const struct seccomp_notif *q, uint64_t length,
                              bool opens) {
        _cleanup_close_ int there = -1, fd = -1;
        char full[PATH_MAX];
        struct stat st;

        if (e->asking)
                return NOTIFY_LATER;
        if ((int64_t)length < 0 || !file_find_path(e, c, q, full))
                return NOTIFY_GO_ON;
        there = hook_open(e, full, true);
        if (there < 0)
                e->region->notify.freed.unheld += file_may_lead_elsewhere(e, full, there);
        if (there < 0 || lookup_fstat(there, &st) < 0)
                return NOTIFY_GO_ON;
        if (S_ISFIFO(st.st_mode)) { /* the call waits until the pipe's other end is open */
                hook_let_go(e);
                return NOTIFY_GO_ON;
        }
        if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > length)
                hook_count_copies(e, &st, length);
        if (!file_is_in_scratch(e, there, &st) || (uint64_t)st.st_size <= length || !(st.st_mode & S_IWUSR) ||
            (opens && !file_has_free_fd((pid_t)q->pid)))
                return NOTIFY_GO_ON;
        fd = file_reopen(there, O_RDWR); /* fails for a running program, as the call itself will */
        if (fd >= 0)
                file_wipe_end(e, fd, length, &st);
        else if (errno != ETXTBSY)
                file_count(e, file_data_bytes(&st), 0);
        return NOTIFY_GO_ON;
}
