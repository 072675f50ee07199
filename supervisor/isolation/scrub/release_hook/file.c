/* Runs: supervisor. */
#include "scrub/release_hook/hook-internal.h"

#include "base/quiet.h"
#include "region/region-path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define OPEN_TRIES 10
#define LOOKS_MOST 20 /* at a file that has a name still: then it is looked at whether its call failed */

int hook_path(const struct seccomp_notif *q, int dirfd, uint64_t path, char out[static PATH_MAX]) {
        char text[PATH_MAX], link[64];
        ssize_t n = region_notify_read((pid_t)q->pid, path, text, sizeof(text) - 1), base = 0;

        if (n <= 0)
                return -EFAULT;
        text[n] = 0;
        if (strlen(text) == (size_t)n || !*text)
                return -EFAULT;
        if (*text != '/') {
                snprintf(link, sizeof(link), dirfd == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", (int)q->pid, dirfd);
                base = readlink(link, out, PATH_MAX - 1);
                if (base < 0)
                        return errno == ENOENT ? -EFAULT : -errno;
                if (*out != '/')
                        return -ENOTDIR;
                out[base++] = '/';
        }
        if (base + strlen(text) >= PATH_MAX)
                return -ENAMETOOLONG;
        strcpy(out + base, text); /* ".." is what the kernel makes of it */
        return 0;
}

/* Where a path leads that cannot be opened from here: true when it may be somewhere all the same. Without a /proc of the region nothing that the
 * kernel finds for it is not there for us; with one, /proc/self is. */
static bool may_lead_elsewhere(const Hook *e, const char *path, int error) {
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

/* False: the kernel refuses the path, too, or it is not known where it leads, which is counted. */
static bool find_path(Hook *e, const struct seccomp_notif *q, int dirfd, uint64_t path, char out[static PATH_MAX]) {
        int k = hook_path(q, dirfd, path, out);

        if (!region_notify_waits(&e->region->notify, q->id))
                return false;
        e->region->notify.freed.unheld += k < 0 && k != -EFAULT;
        return k == 0;
}

/* Where somebody serves a file system, what the kernel does not have in its cache is not looked for. */
int hook_open(const Hook *e, const char *path, bool follow) {
        int root = e->region->notify.root, fd = -1;
        struct open_how how = {.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW),
                               .resolve = (root >= 0 ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0) | (region_notify_any_served() ? RESOLVE_CACHED : 0)};

        for (int i = 0; i < OPEN_TRIES; i++) { /* EAGAIN: something was renamed or mounted meanwhile, and the path has a ".." */
                fd = (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof(how));
                if (fd >= 0 || errno != EAGAIN)
                        break;
        }
        return fd < 0 ? -errno : fd;
}

/* A file of the scratch, and nothing else: a file of the host that was granted keeps what the region leaves in it. */
static bool of_scratch(const Hook *e, int fd, struct stat *ret) {
        char link[64], path[PATH_MAX];
        const char *scratch = e->region->notify.scratch;
        ssize_t n;

        if (quiet_fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode) || ret->st_dev != e->scratch)
                return false;
        if (!scratch) /* a file system of its own */
                return true;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
                return false;
        path[n] = 0;
        return path_is_under(path, scratch);
}

static int reopen(int fd, int flags) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static void count_file(Hook *e, uint64_t bytes, uint64_t overwritten) {
        e->region->notify.freed.files++;
        e->region->notify.freed.bytes += bytes;
        e->region->notify.freed.overwritten += overwritten;
        e->region->notify.freed.missed += bytes - overwritten;
}

static uint64_t data_bytes(const struct stat *st) {
        return MIN((uint64_t)st->st_blocks * 512, ((uint64_t)st->st_size + SCAN_PAGE - 1) & ~(uint64_t)(SCAN_PAGE - 1));
}

/* Deleted files. */

static NotifyStep keep(Hook *e, const struct seccomp_notif *q, const char *path) {
        _cleanup_close_ int fd = hook_open(e, path, false);
        struct stat st;

        if (fd < 0)
                e->region->notify.freed.unheld += may_lead_elsewhere(e, path, fd);
        /* Where there is another name the data stay; without blocks there are none. */
        if (fd < 0 || !of_scratch(e, fd, &st) || st.st_nlink != 1 || st.st_blocks == 0)
                return NOTIFY_GO_ON;
        for (size_t i = 0; i < e->n_files; i++)
                if (e->files[i].dev == st.st_dev && e->files[i].ino == st.st_ino) {
                        e->files[i].pid = (pid_t)q->pid;
                        e->files[i].looks = 0;
                        return NOTIFY_GO_ON;
                }
        e->region->notify.freed.calls++;
        if (e->n_files == HOOK_FILES_MAX) {
                count_file(e, data_bytes(&st), 0);
                return NOTIFY_GO_ON;
        }
        e->files[e->n_files++] = (HookFile){.fd = TAKE_FD(fd), .dev = st.st_dev, .ino = st.st_ino, .pid = (pid_t)q->pid};
        e->pause = 0;
        hook_wake(e, 1000);
        return NOTIFY_GO_ON;
}

NotifyStep hook_unname(Hook *e, const struct seccomp_notif *q, int dirfd, uint64_t path) {
        char full[PATH_MAX];

        if (e->asking)
                return NOTIFY_LATER;
        return !find_path(e, q, dirfd, path, full) ? NOTIFY_GO_ON : keep(e, q, full);
}

/* The owner may have taken its own right to write away; nobody can see that it is given back. */
static int reopen_deleted(int fd) {
        char path[64];
        int k = reopen(fd, O_RDWR);

        if (k >= 0 || errno != EACCES)
                return k;
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        return chmod(path, 0600) < 0 ? -1 : reopen(fd, O_RDWR);
}

/* The call may need long to be made, on a machine with much to do. */
static bool has_failed(const HookFile *f) {
        static const int calls[] = {SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat, SYS_renameat2};

        return f->looks > LOOKS_MOST && !hook_may_be_in(f->pid, calls, ARRAY_SIZE(calls));
}

/* True when the file needs no more looks. */
static bool look(Hook *e, HookFile *f, bool at_end) {
        _cleanup_close_ int fd = -1;
        WipeCount c = {};
        struct stat st;

        if (fstat(f->fd, &st) < 0)
                return true;
        if (st.st_nlink > 0) { /* its call goes on just now, or failed, or gave it another name meanwhile */
                f->looks++;
                return at_end || has_failed(f);
        }
        fd = reopen_deleted(f->fd);
        if (fd < 0) {
                count_file(e, data_bytes(&st), 0);
                return true;
        }
        /* A write lease is given only when nobody else has the file open, or mapped, or on its way to somebody. */
        if (!at_end && fcntl(fd, F_SETLEASE, F_WRLCK) < 0) {
                f->looks++;
                return false;
        }
        if (wipe_file(&e->wipe, fd, &c) < 0)
                c = (WipeCount){.denied = data_bytes(&st)};
        count_file(e, c.overwritten + c.denied + c.mismatched, c.overwritten);
        return true;
}

bool hook_files_look(Hook *e, HookFiles which) {
        size_t kept = 0;

        for (size_t i = 0; i < e->n_files; i++) {
                HookFile *f = &e->files[i];

                if ((which != HOOK_FILES_NEW || f->looks == 0) && look(e, f, which == HOOK_FILES_END))
                        close(f->fd);
                else
                        e->files[kept++] = *f;
        }
        e->n_files = kept;
        return kept > 0;
}

/* Truncated files. */

static const uint8_t *block(const Hook *e, unsigned pass) {
        return wipe_pattern(&e->wipe, pass);
}

/* Overwrites from..to of a file and reads it back. Returns the bytes that were found as written. */
static uint64_t wipe_range(const Hook *e, int fd, uint64_t from, uint64_t to) {
        uint8_t back[WIPE_SOURCE];
        uint64_t good = 0;

        for (unsigned pass = 0; pass < e->wipe.passes; pass++)
                for (uint64_t at = from; at < to; at += WIPE_SOURCE)
                        if (pwrite(fd, block(e, pass), MIN(to - at, (uint64_t)WIPE_SOURCE), (off_t)at) < 0)
                                return 0;
        for (uint64_t at = from; at < to; at += WIPE_SOURCE) {
                size_t n = MIN(to - at, (uint64_t)WIPE_SOURCE);

                if (pread(fd, back, n, (off_t)at) == (ssize_t)n && memcmp(back, block(e, e->wipe.passes - 1), n) == 0)
                        good += n;
        }
        return good;
}

/* Only where there is data: a hole would get pages. */
static void wipe_data(Hook *e, int fd, uint64_t from, uint64_t to) {
        uint64_t bytes = 0, good = 0;

        for (off_t at = (off_t)from, end; (uint64_t)at < to; at = end) {
                at = lseek(fd, at, SEEK_DATA);
                if (at < 0 || (uint64_t)at >= to || (end = lseek(fd, at, SEEK_HOLE)) < 0)
                        break;
                end = (off_t)MIN((uint64_t)end, to);
                bytes += (uint64_t)(end - at);
                good += wipe_range(e, fd, (uint64_t)at, (uint64_t)end);
        }
        e->region->notify.freed.calls++;
        count_file(e, bytes, good);
}

/* What was written through a mapping beyond the end of a file is in its last page. */
static uint64_t last_page(uint64_t size) {
        return (size + SCAN_PAGE - 1) & ~(uint64_t)(SCAN_PAGE - 1);
}

/* All from `from` on, which is cut off next; fd is open for both. */
static void wipe_end(Hook *e, int fd, uint64_t from, const struct stat *st) {
        uint64_t to = last_page((uint64_t)st->st_size);

        wipe_data(e, fd, from, ftruncate(fd, (off_t)to) < 0 ? (uint64_t)st->st_size : to);
}

/* A copy of the caller's own descriptor, open for writing, of a file; else -1. */
static int copy_fd(const Hook *e, const struct seccomp_notif *q, struct stat *ret) {
        _cleanup_close_ int fd = region_notify_copy_fd((pid_t)q->pid, (int)q->data.args[0]);
        int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

        if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH || !region_notify_waits(&e->region->notify, q->id) ||
            quiet_fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode))
                return -1;
        return TAKE_FD(fd);
}

/* Read and write, whatever the caller's descriptor can. */
static int copy_for_both(int fd) {
        int both = reopen(fd, O_RDWR);

        return both >= 0 ? both : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

NotifyStep hook_truncate_fd(Hook *e, const struct seccomp_notif *q, int *ret_error) {
        struct stat st;
        _cleanup_close_ int fd = copy_fd(e, q, &st), both = -1;
        off_t length = (off_t)q->data.args[1];

        if (e->asking)
                return NOTIFY_LATER;
        if (fd < 0 || length < 0 || length >= st.st_size)
                return NOTIFY_GO_ON;
        hook_count_copies(e, &st, (uint64_t)length);
        if (!of_scratch(e, fd, &st))
                return NOTIFY_GO_ON;
        both = copy_for_both(fd);
        wipe_end(e, both, (uint64_t)length, &st);
        *ret_error = ftruncate(fd, length) < 0 ? errno : 0;
        return NOTIFY_ANSWER;
}

NotifyStep hook_hole(Hook *e, const struct seccomp_notif *q, int *ret_error) {
        struct stat st;
        _cleanup_close_ int fd = copy_fd(e, q, &st), both = -1;
        off_t from = (off_t)q->data.args[2], length = (off_t)q->data.args[3];
        uint64_t end;

        if (e->asking)
                return NOTIFY_LATER;
        if (fd < 0 || !of_scratch(e, fd, &st))
                return NOTIFY_GO_ON;
        /* In memory there is nothing else that takes data; on a disk (tier landlock) it fails alike. */
        if ((int)q->data.args[1] != (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)) {
                *ret_error = EOPNOTSUPP;
                return NOTIFY_ANSWER;
        }
        if (from < 0 || length <= 0 ||
            __builtin_add_overflow((uint64_t)from, (uint64_t)length, &end))
                return NOTIFY_GO_ON;
        both = copy_for_both(fd);
        if (end > (uint64_t)st.st_size && (uint64_t)from < (uint64_t)st.st_size)
                wipe_end(e, both, (uint64_t)from, &st);
        else
                wipe_data(e, both, (uint64_t)from, MIN(end, (uint64_t)st.st_size));
        *ret_error = fallocate(fd, (int)q->data.args[1], from, length) < 0 ? errno : 0;
        if (end > (uint64_t)st.st_size && ftruncate(fd, st.st_size) < 0)
                *ret_error = errno;
        return NOTIFY_ANSWER;
}

/* An open that fails because the caller has too many descriptors takes nothing. */
static bool has_room(pid_t pid) {
        struct rlimit limit;

        return prlimit(pid, RLIMIT_NOFILE, NULL, &limit) < 0 || proc_fd_count(pid) < limit.rlim_cur;
}

NotifyStep hook_truncate_path(Hook *e, const struct seccomp_notif *q, int dirfd, uint64_t path, uint64_t length, bool opens) {
        _cleanup_close_ int there = -1, fd = -1;
        char full[PATH_MAX];
        struct stat st;

        if (e->asking)
                return NOTIFY_LATER;
        if ((int64_t)length < 0 || !find_path(e, q, dirfd, path, full))
                return NOTIFY_GO_ON;
        there = hook_open(e, full, true);
        if (there < 0)
                e->region->notify.freed.unheld += may_lead_elsewhere(e, full, there);
        if (there < 0 || quiet_fstat(there, &st) < 0)
                return NOTIFY_GO_ON;
        if (S_ISFIFO(st.st_mode)) { /* until somebody opens its other end */
                hook_let_go(e);
                return NOTIFY_GO_ON;
        }
        if (S_ISREG(st.st_mode) && (uint64_t)st.st_size > length)
                hook_count_copies(e, &st, length);
        if (!of_scratch(e, there, &st) || (uint64_t)st.st_size <= length || !(st.st_mode & S_IWUSR) || (opens && !has_room((pid_t)q->pid)))
                return NOTIFY_GO_ON;
        /* Of a program that runs it fails here as it will there. */
        fd = reopen(there, O_RDWR);
        if (fd >= 0)
                wipe_end(e, fd, length, &st);
        else if (errno != ETXTBSY)
                count_file(e, data_bytes(&st), 0);
        return NOTIFY_GO_ON;
}
