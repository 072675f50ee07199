#include "base/timed-syscall.h"

#include "base/child-registry.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/task.h"

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define STACK_BYTES (32 * 1024)
#define DIE_MS 100 /* for a killed task to disappear */
#define BUSY_MS 100
#define BUSY_LOOKS 20 /* looks at a task past its time limit while the task waits for a processor */

/* Memory of the task. Leaked on purpose when the kernel does not let the task die. */
typedef struct TimedTask {
        uint8_t stack[STACK_BYTES] __attribute__((aligned(16)));
        long (*fn)(void *job);
        pid_t parent;
        int keep;   /* the needed descriptor, or -1; TIMED_ALL: the whole table of the supervisor, shared */
        int also; /* another, or -1 */
        int answer; /* the socket for the descriptor returned by fn, or -1 */
        long result;
        bool done;
        uint8_t job[] __attribute__((aligned(16)));
} TimedTask;

__attribute__((no_sanitize("address", "undefined"))) long timed_call(long nr, long a, long b, long c, long d, long e,
                                                                     long f) {
#if defined(__x86_64__)
        register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
        long ret;

        __asm__ volatile("syscall"
                         : "=a"(ret)
                         : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        return ret;
#elif defined(__aarch64__)
        register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                         x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;

        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
        return x0;
#else
#error "timed_call is not written for this architecture"
#endif
}

/* Descriptors of a held task stay open as long as the task is held: a reader of the supervisor's output would wait for
 * their end, and the store's lock would not be free. So the task gets a table of its own with the needed descriptors
 * only. The supervisor's own table loses no entry. */
__attribute__((no_sanitize("address", "undefined"))) static long timed_own_files(int a, int b) {
        const int low = a < b ? a : b, high = a < b ? b : a;
        long e = timed_do(SYS_close_range, high + 1, ~0U, CLOSE_RANGE_UNSHARE);

        if (e == 0 && low >= 0 && high > low + 1)
                e = timed_do(SYS_close_range, low + 1, high - 1, 0);
        if (e == 0 && (low >= 0 ? low : high) > 0)
                e = timed_do(SYS_close_range, 0, (low >= 0 ? low : high) - 1, 0);
        return e;
}

/* The descriptor stays in the task's table and is closed when the task ends. */
__attribute__((no_sanitize("address", "undefined"))) static long timed_send(int to, int fd) {
        union {
                struct cmsghdr head;
                uint8_t bytes[CMSG_SPACE(sizeof(int))];
        } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
        uint8_t byte = 0;
        struct iovec v = {&byte, 1};
        const struct msghdr m = {
                .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

        *(int *)(void *)CMSG_DATA(&control.head) = fd;
        return timed_do(SYS_sendmsg, to, &m, 0);
}

/* A supervisor that is killed meanwhile must not leave the task behind. */
__attribute__((no_sanitize("address", "undefined"))) static int timed_task(void *arg) {
        TimedTask *a = arg;
        long r;

        if (timed_do(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL) < 0 || timed_do(SYS_getppid) != a->parent)
                return 1;
        if (a->keep != TIMED_ALL && timed_own_files(a->keep, a->also) < 0)
                return 1;
        r = a->fn(a->job);
        if (r >= 0 && a->answer >= 0)
                r = timed_send(a->answer, (int)r) == 1 ? 0 : -EMFILE;
        a->result = r;
        __atomic_store_n(&a->done, true, __ATOMIC_RELEASE);
        return 0;
}

static bool timed_is_over(int pidfd, int ms) {
        struct pollfd p = {.fd = pidfd, .events = POLLIN};

        return poll(&p, 1, ms) > 0;
}

/* True when the task only waits for a processor. A task that used its share of time is late by its own fault. */
static bool timed_is_kept_waiting(pid_t pid, uint64_t usec) {
        enum { STATE = 0, USER = 11, SYSTEM = 12, FIELDS };
        uint64_t f[FIELDS];

        return proc_stat(pid, f, FIELDS) && f[STATE] == 'R' &&
               (f[USER] + f[SYSTEM]) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK) < usec;
}

static long timed_do_run(long (*fn)(void *job), void *job, size_t n_job, int keep, int also, int answer,
                         uint64_t usec) {
        TimedTask *a = calloc(1, sizeof(*a) + n_job);
        int pidfd = -1;
        pid_t pid;
        bool over;
        long r;

        if (!a)
                return -ENOMEM;
        a->fn = fn;
        a->parent = getpid();
        a->keep = keep;
        a->also = also;
        a->answer = answer;
        memcpy(a->job, job, n_job);
        pid = task_make(CLONE_FS | CLONE_FILES, a->stack, sizeof(a->stack), timed_task, a, true, &pidfd);
        if (pid < 0) {
                free(a);
                return pid;
        }
        over = timed_is_over(pidfd, (int)(usec / 1000));
        for (int i = 0; !over && i < BUSY_LOOKS && timed_is_kept_waiting(pid, usec); i++)
                over = timed_is_over(pidfd, BUSY_MS);
        if (!over)
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        if (!timed_is_over(pidfd, DIE_MS)) { /* the kernel holds the task: the task keeps its memory */
                child_registry_reap_later(pid);
                close(pidfd);
                return -ETIMEDOUT;
        }
        child_registry_reap(pid);
        close(pidfd);
        r = __atomic_load_n(&a->done, __ATOMIC_ACQUIRE) ? a->result : -ETIMEDOUT;
        if (r != -ETIMEDOUT)
                memcpy(job, a->job, n_job);
        explicit_bzero(a->job, n_job);
        free(a);
        return r;
}

long timed_run(long (*fn)(void *job), void *job, size_t n_job, int keep, uint64_t usec) {
        return timed_do_run(fn, job, n_job, keep, -1, -1, usec);
}

long timed_run_with(long (*fn)(void *job), void *job, size_t n_job, int keep, int also, uint64_t usec) {
        return timed_do_run(fn, job, n_job, keep, also, -1, usec);
}

int timed_open(long (*fn)(void *job), void *job, size_t n_job, uint64_t usec) {
        _cleanup_close_ int ours = -1, theirs = -1;
        int pair[2], fd;
        char byte;
        long r;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        r = timed_do_run(fn, job, n_job, -1, theirs, theirs, usec);
        if (r >= 0)
                r = io_receive_fd(ours, 0, &byte, sizeof(byte), &fd);
        return r < 0 ? (int)r : fd < 0 ? -EMFILE : fd;
}
