#include "worker/warm-make.h"

#include "worker/worker.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define RSEQ_BYTES 32
#endif

#define STACK (32 * 1024)

static uint8_t stack[STACK] __attribute__((aligned(64)));
static jmp_buf in_program;

/* zygote_serve() closes the first numbers with the order's descriptors. */
static int make_descriptors(void) {
        int shared = (int)syscall(SYS_memfd_create, "progress", MFD_CLOEXEC), started = eventfd(0, EFD_CLOEXEC);

        if (shared < 0 || started < 0 || ftruncate(shared, sizeof(Progress)) < 0 || dup2(shared, FIRST_FD_SHARED) < 0 ||
            dup2(started, FIRST_FD_STARTED) < 0)
                return -1;
        return 0;
}

static int make_first(void *arg) {
        static char *const argv[] = {"lethe-worker", FIRST_ARG, NULL}, *const env[] = {NULL};
        StatusRecord r = {.kind = STATUS_STEP_FAILED, .a = STEP_LANDLOCK, .b = -landlock_scope()};
        long pid = -1;

        if (r.b == 0) {
                r.a = STEP_FORK;
                pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        }
        if (pid == 0)
                longjmp(in_program, 1);
        if (pid > 0) {
                r.a = STEP_INIT;
                r.b = -caps_close();
                if (r.b == 0)
                        syscall(SYS_execveat, ZYGOTE_FD_FIRST, "", argv, env, AT_EMPTY_PATH);
        }
        r.b = r.b ?: errno;
        report(&r, -1);
        _exit(127);
}

/* A clone with CLONE_VM loses its restartable sequences, and its children inherit the loss. sched_getcpu(3) of the C
 * library reads the sequences' memory, where the interpreter's last processor would stay for ever. */
static void make_sequences(void) {
#ifdef RSEQ_BYTES
        if (__rseq_size > 0)
                syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, RSEQ_BYTES, 0, RSEQ_SIG);
#endif
}

long warm_make(uint64_t flags, int *ret_pidfd) {
        const int own = CLONE_VM | CLONE_VFORK | CLONE_PARENT | CLONE_PIDFD;

        if (make_descriptors() < 0)
                return -1;
        if (setjmp(in_program) != 0) {
                make_sequences();
                return 0;
        }
        return clone(make_first, stack + sizeof(stack), own | (int)flags, NULL, ret_pidfd);
}
