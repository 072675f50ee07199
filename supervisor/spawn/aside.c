#include "spawn/aside.h"

#include "spawn/clone.h"
#include "spawn/left.h"
#include "spawn/own.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK_BYTES (32 * 1024)
#define DIE_MS 100 /* for a task that was killed to be gone */

/* Memory of the task. It is given up, not given back, when the kernel does not let the task die. */
typedef struct Aside {
        uint8_t stack[STACK_BYTES] __attribute__((aligned(16)));
        long (*fn)(void *job);
        pid_t parent;
        long result;
        bool done;
        uint8_t job[] __attribute__((aligned(16)));
} Aside;

__attribute__((no_sanitize("address", "undefined"))) long aside_call(long nr, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
        register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
        long ret;

        __asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
        return ret;
#elif defined(__aarch64__)
        register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e,
                      x5 __asm__("x5") = f;

        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
        return x0;
#else
#error "aside_call is not written for this architecture"
#endif
}

/* A supervisor that is killed meanwhile must not leave the task behind, with the lock of the store among its descriptors. */
__attribute__((no_sanitize("address", "undefined"))) static int aside_task(void *arg) {
        Aside *a = arg;

        if (aside_do(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL) < 0 || aside_do(SYS_getppid) != a->parent)
                return 1;
        a->result = a->fn(a->job);
        __atomic_store_n(&a->done, true, __ATOMIC_RELEASE);
        return 0;
}

static bool aside_is_over(int pidfd, int ms) {
        struct pollfd p = {.fd = pidfd, .events = POLLIN};

        return poll(&p, 1, ms) > 0;
}

long aside_run(long (*fn)(void *job), void *job, size_t n_job, uint64_t usec) {
        Aside *a = calloc(1, sizeof(*a) + n_job);
        int pidfd = -1;
        pid_t pid;
        long r;

        if (!a)
                return -ENOMEM;
        a->fn = fn;
        a->parent = getpid();
        memcpy(a->job, job, n_job);
        pid = clone_aside(a->stack, sizeof(a->stack), aside_task, a, &pidfd);
        if (pid < 0) {
                free(a);
                return pid;
        }
        if (!aside_is_over(pidfd, (int)(usec / 1000)))
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
        if (!aside_is_over(pidfd, DIE_MS)) { /* the kernel waits in it: its memory stays its own */
                left_add(pid);
                close(pidfd);
                return -ETIMEDOUT;
        }
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
                ;
        own_forget(pid);
        close(pidfd);
        r = __atomic_load_n(&a->done, __ATOMIC_ACQUIRE) ? a->result : -ETIMEDOUT;
        if (r != -ETIMEDOUT)
                memcpy(job, a->job, n_job);
        explicit_bzero(a->job, n_job);
        free(a);
        return r;
}
