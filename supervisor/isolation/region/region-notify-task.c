/* Runs: supervisor. */
#include "region/region-notify-task.h"

#include "base/mounts.h"
#include "base/path-lookup.h"
#include "base/timed-syscall.h"
#include "region/region-proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define TASK_PAGE 4096U

/* Regions with a served file system. A page of such a file may never come, and a close may never end. */
static atomic_uint task_served;

bool region_notify_served_start(const Grant *g) {
        bool served = false;

        for (size_t i = 0; g && !served && i < g->n_files; i++)
                served = !g->files[i].mask &&
                         (lookup_is_served(g->files[i].source) != 0 || mounts_served_below(g->files[i].source));
        if (served)
                atomic_fetch_add(&task_served, 1);
        return served;
}

void region_notify_served_end(bool served) {
        if (served)
                atomic_fetch_sub(&task_served, 1);
}

bool region_notify_any_served(void) {
        return atomic_load(&task_served) > 0;
}

pid_t region_notify_process(pid_t tid) {
        pid_t process = (pid_t)proc_field(PROC_PATH("%d/status", tid), "\nTgid:", 10);

        return process > 0 ? process : tid;
}

/* n bytes of the process, in at most two pages. */
typedef struct TaskMemory {
        long call;
        pid_t pid;
        uint64_t at;
        size_t n;
        uint8_t bytes[PATH_MAX];
} TaskMemory;

__attribute__((no_sanitize("address", "undefined"))) static long task_transfer(void *job) {
        TaskMemory *m = job;
        size_t first = TASK_PAGE - (m->at & (TASK_PAGE - 1));
        struct iovec local = {m->bytes, m->n}, remote[2];

        if (first > m->n)
                first = m->n;
        remote[0] = (struct iovec){(void *)(uintptr_t)m->at, first};
        remote[1] = (struct iovec){(void *)(uintptr_t)(m->at + first), m->n - first};
        return timed_do(m->call, m->pid, &local, 1, remote, m->n > first ? 2 : 1, 0);
}

/* For a write, m->bytes are set before. */
static long task_memory(TaskMemory *m, long call, pid_t pid, uint64_t at, size_t n) {
        m->call = call;
        m->pid = pid;
        m->at = at;
        m->n = n;
        return region_notify_any_served() ? timed_run(task_transfer, m, sizeof(*m), -1, TIMED_USEC) : task_transfer(m);
}

ssize_t region_notify_read(pid_t pid, uint64_t at, void *to, size_t n) {
        TaskMemory m;
        long r = task_memory(&m, SYS_process_vm_readv, pid, at, MIN(n, sizeof(m.bytes)));

        if (r > 0)
                memcpy(to, m.bytes, (size_t)r);
        explicit_bzero(m.bytes, r > 0 ? (size_t)r : 0);
        return r;
}

int region_notify_write(pid_t pid, uint64_t at, const void *from, size_t n) {
        TaskMemory m;

        if (n > sizeof(m.bytes))
                return -EFAULT;
        memcpy(m.bytes, from, n);
        return task_memory(&m, SYS_process_vm_writev, pid, at, n) == (long)n ? 0 : -EFAULT;
}

/* A region's overlay may lie above a served folder, which the list of mounts does not show. */
static MountKind task_mount_kind(pid_t pid, uint64_t mount) {
        MountKind kind = mounts_kind_of(pid, mount);

        if (kind != MOUNT_LAYERED)
                return kind;
        return region_notify_any_served() ? MOUNT_SERVED : MOUNT_LOCAL;
}

/* Judges by the kernel's text, without a copy of the descriptor. */
static bool task_fd_is_served(pid_t pid, int fd) {
        uint64_t mount = proc_field(PROC_PATH("%d/fdinfo/%d", pid, fd), "mnt_id:", 10);

        return mount > 0 && task_mount_kind(pid, mount) == MOUNT_SERVED;
}

bool region_notify_is_served(pid_t pid, int fd) {
        MountKind kind;
        uint64_t mount;
        struct stat st;

        if (lookup_mount(fd, &mount) < 0 || lookup_fstat(fd, &st) < 0)
                return true;
        kind = task_mount_kind(pid, mount);
        return kind == MOUNT_SERVED || (kind == MOUNT_UNKNOWN && S_ISREG(st.st_mode) && fcntl(fd, F_GET_SEALS) < 0);
}

__attribute__((no_sanitize("address", "undefined"))) static long task_close(void *job) {
        return timed_do(SYS_close, *(int *)job);
}

void region_notify_close(int fd) {
        if (region_notify_any_served())
                timed_run(task_close, &fd, sizeof(fd), TIMED_ALL, TIMED_USEC);
        else
                close(fd);
}

/* A thread can have a separate table of descriptors. Before Linux 6.9 (PIDFD_THREAD) a pidfd means the process. */
static int task_copy(pid_t pid, int fd) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, O_EXCL);
        int copy;

        if (pidfd < 0 && errno == EINVAL)
                pidfd = (int)syscall(SYS_pidfd_open, region_notify_process(pid), 0);
        copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
        return copy < 0 ? -errno : copy;
}

int region_notify_copy_fd(pid_t pid, int fd) {
        int copy;

        if (!region_notify_any_served())
                return task_copy(pid, fd);
        if (task_fd_is_served(pid, fd))
                return -EREMOTE;
        copy = task_copy(pid, fd);
        if (copy >= 0 && region_notify_is_served(pid, copy)) { /* a different file took the number meanwhile */
                region_notify_close(copy);
                return -EREMOTE;
        }
        return copy;
}

/* Is a descriptor of `holder` on no file system that a program or another machine serves? The mount is one of process
 * pid's, or of the supervisor's, where a standard stream may have been opened. */
static bool task_is_local(pid_t holder, int fd, pid_t pid) {
        uint64_t mount = proc_field(PROC_PATH("%d/fdinfo/%d", holder, fd), "mnt_id:", 10);
        char link[16] = "";
        MountKind kind;

        if (readlink(PROC_PATH("%d/fd/%d", holder, fd), link, sizeof(link) - 1) < 0)
                return true; /* the copy finds the error */
        if (*link != '/' || strncmp(link, "/memfd:", 7) == 0)
                return true;
        kind = task_mount_kind(pid, mount);
        if (kind == MOUNT_UNKNOWN)
                kind = task_mount_kind(getpid(), mount);
        return kind != MOUNT_UNKNOWN && kind != MOUNT_SERVED;
}

int region_notify_copy_local(pid_t pid, int fd) {
        int copy;

        if (!task_is_local(pid, fd, pid))
                return -EREMOTE;
        copy = region_notify_copy_fd(pid, fd);
        if (copy >= 0 && !task_is_local(getpid(), copy, pid)) {
                timed_run(task_close, &copy, sizeof(copy), TIMED_ALL, TIMED_USEC);
                return -EREMOTE;
        }
        return copy;
}
