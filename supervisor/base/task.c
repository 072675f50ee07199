#include "base/task.h"

#include "base/child-registry.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>

/* The child starts on a new stack, so a plain call to syscall() cannot return there: these few lines start fn(arg). */
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl clone_raw\n"
        ".hidden clone_raw\n"
        ".type clone_raw, @function\n"
        "clone_raw:\n"
        "        endbr64\n"
        "        mov %rdx, %r8\n"
        "        mov %rcx, %r9\n"
        "        mov $435, %eax\n"
        "        syscall\n"
        "        test %rax, %rax\n"
        "        jnz 1f\n"
        "        xor %ebp, %ebp\n"
        "        mov %r9, %rdi\n"
        "        call *%r8\n"
        "        mov %eax, %edi\n"
        "        mov $231, %eax\n"
        "        syscall\n"
        "1:      ret\n"
        ".size clone_raw, . - clone_raw\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl clone_raw\n"
        ".hidden clone_raw\n"
        ".type clone_raw, %function\n"
        "clone_raw:\n"
        "        mov x10, x2\n"
        "        mov x11, x3\n"
        "        mov x8, #435\n"
        "        svc #0\n"
        "        cbnz x0, 1f\n"
        "        mov x29, #0\n"
        "        mov x0, x11\n"
        "        blr x10\n"
        "        mov x8, #94\n"
        "        svc #0\n"
        "1:      ret\n"
        ".size clone_raw, . - clone_raw\n");
#else
#error "clone_raw is not written for this architecture"
#endif

/* A signal handler of the supervisor must not run in the child: all signals stay blocked from the start. */
pid_t task_make(uint64_t flags, void *stack, size_t n_stack, int (*fn)(void *), void *arg, bool own, int *ret_pidfd) {
        struct clone_args args = {
                .flags = flags | CLONE_VM | CLONE_PIDFD,
                .pidfd = (uintptr_t)ret_pidfd,
                .stack = (uintptr_t)stack,
                .stack_size = n_stack,
        };
        sigset_t all, before;
        long pid;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        if (own)
                child_registry_begin();
        pid = clone_raw(&args, sizeof(args), fn, arg);
        if (own && pid > 0 && !child_registry_note((pid_t)pid))
                syscall(SYS_pidfd_send_signal, *ret_pidfd, SIGKILL, NULL, 0);
        if (own)
                child_registry_done();
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return (pid_t)pid;
}
