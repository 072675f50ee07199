#include "spawn/clone.h"

#include "base/child-registry.h"
#include "base/io.h"
#include "base/proc-path.h"
#include "base/task.h"
#include "schema/become.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK_BYTES (16 * 1024)

/* The child leaves its functions by execve only: AddressSanitizer's marks would stay on the reused stack. */
#define _leaves_by_exec_ __attribute__((no_sanitize("address")))

static int clone_fail(CloneExec *c, const char *what) {
        c->error = errno;
        c->what = what;
        return 127;
}

/* In a new user namespace the child has every capability, but an exec by a user other than the namespace's root drops
 * capabilities: the ambient set carries the few that the worker's steps need. */
_leaves_by_exec_ static int clone_hold_capabilities(CloneExec *c) {
        static const int needed[] = {CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_SYS_ADMIN, CAP_SYS_RESOURCE,
                                     /* of a layer: overlayfs works with what its maker may */
                                     CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_NET_ADMIN};
        const size_t n = ARRAY_SIZE(needed) - !c->keep_net;
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct set[2] = {0};

        for (size_t i = 0; i < n; i++) {
                uint32_t bit = 1U << needed[i];

                set[0].effective |= bit;
                set[0].permitted |= bit;
                set[0].inheritable |= bit;
        }
        if (syscall(SYS_capset, &head, set) < 0)
                return clone_fail(c, "capset");
        for (size_t i = 0; i < n; i++)
                if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0) < 0)
                        return clone_fail(c, "prctl(PR_CAP_AMBIENT)");
        return 0;
}

/* Runs in the supervisor's memory, while the supervisor waits: may use only system calls and its arguments. */
_leaves_by_exec_ static int clone_child_exec(void *arg) {
        static char *const env[] = {NULL};
        CloneExec *c = arg;
        char *const argv[] = {(char *)c->name, (char *)c->arg, NULL};
        int n = (int)c->n_fds, moved[CLONE_EXEC_FDS_MAX], exec_fd;

        /* First out of the way, then into place: a source may have a target's number. */
        for (int i = 0; i < n; i++) {
                moved[i] = c->fds[i] <= n ? fcntl(c->fds[i], F_DUPFD, n + 1) : c->fds[i];
                if (moved[i] < 0)
                        return clone_fail(c, "fcntl(F_DUPFD)");
        }
        exec_fd = c->exec_fd < n ? fcntl(c->exec_fd, F_DUPFD, n + 1) : c->exec_fd;
        if (exec_fd < 0)
                return clone_fail(c, "fcntl(F_DUPFD)");
        for (int i = 0; i < n; i++)
                if (dup2(moved[i], i) < 0)
                        return clone_fail(c, "dup2");
        if (exec_fd != n && dup2(exec_fd, n) < 0)
                return clone_fail(c, "dup2");
        if (fcntl(n, F_SETFD, FD_CLOEXEC) < 0)
                return clone_fail(c, "fcntl(F_SETFD)");
        if (syscall(SYS_close_range, n + 1, ~0U, 0) < 0)
                return clone_fail(c, "close_range");
        if (c->keep_caps && clone_hold_capabilities(c) != 0)
                return 127;
        syscall(SYS_execveat, n, "", argv, env, AT_EMPTY_PATH);
        return clone_fail(c, "execveat");
}

pid_t clone_exec(CloneExec *c, uint64_t flags, int *ret_pidfd) {
        /* the parent waits until the child has left the stack */
        uint8_t stack[STACK_BYTES] __attribute__((aligned(16)));
        struct clone_args args = {0};
        sigset_t all, before;
        int pidfd = -1;
        Become become;
        bool noted;
        long pid;

        assert(c->n_fds < CLONE_EXEC_FDS_MAX);
        args.flags = flags | CLONE_VM | CLONE_VFORK | CLONE_PIDFD;
        args.pidfd = (uintptr_t)&pidfd;
        args.exit_signal = SIGCHLD;
        args.stack = (uintptr_t)stack;
        args.stack_size = STACK_BYTES;
        c->error = 0;
        c->what = "clone3";
        /* A signal handler must not run in the child and write into the supervisor's memory. */
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        child_registry_begin();
        become_begin(&become, c->owner);
        pid = clone_raw(&args, sizeof(args), clone_child_exec, c);
        become_end(&become);
        noted = pid < 0 || c->error != 0 || child_registry_note((pid_t)pid);
        child_registry_done();
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!noted) {
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
                c->error = ENOMEM;
        }
        if (pid < 0)
                return (pid_t)pid;
        if (c->error != 0) {
                close(pidfd);
                child_registry_reap((pid_t)pid);
                return -c->error;
        }
        *ret_pidfd = pidfd;
        return (pid_t)pid;
}

/* A killed supervisor must not leave this child behind, with copies of its descriptors (its lock!). */
static int clone_child_idle(void *arg) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || syscall(SYS_getppid) != (long)(intptr_t)arg)
                return 1;
        syscall(SYS_close_range, 0, ~0U, 0);
        for (;;)
                syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
        return 0;
}

pid_t clone_idle(void *stack, size_t n_stack, int *ret_pidfd) {
        return task_make(CLONE_NEWUSER, stack, n_stack, clone_child_idle, (void *)(intptr_t)getpid(), false, ret_pidfd);
}

bool clone_reap(pid_t pid, int msec) {
        pid_t r = 0;

        for (int ms = 0; ms < msec && (r = waitpid(pid, NULL, WNOHANG)) == 0; ms++)
                poll(NULL, 0, 1);
        return r != 0;
}

void clone_each_child(pid_t thread, void (*fn)(pid_t child, void *arg), void *arg) {
        _cleanup_free_ char *text = NULL;
        char *end;
        size_t n;

        if (io_read_file(AT_FDCWD, PROC_PATH("%d/task/%d/children", thread, thread), 1 << 20, &text, &n) < 0)
                return;
        for (char *p = text; *p; p = end + strspn(end, " ")) {
                long child = strtol(p, &end, 10);

                if (end == p)
                        break;
                if (child > 1)
                        fn((pid_t)child, arg);
        }
}
