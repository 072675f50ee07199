#include "tests/support/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

extern void __gcov_dump(void) __attribute__((weak));

static int say_fd = -1;

void child_exit(int status) {
        if (__gcov_dump)
                __gcov_dump();
        _exit(status);
}

void child_say(const char *fmt, ...) {
        char line[1024];
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vsnprintf(line, sizeof(line), fmt, ap);
        va_end(ap);
        if (n > 0 && write(say_fd, line, MIN((size_t)n, sizeof(line) - 1)) < 0)
                return; /* the body may have closed it; the exit status is what counts */
}

void child_check_failed(const char *file, int line, const char *condition) {
        int e = errno;

        child_say("%s:%d: %s (errno %d: %s)", file, line, condition, e, strerror(e));
        child_exit(CHILD_CHECK_FAILED);
}

int child_run(int (*body)(void *arg), void *arg, ChildEnd *ret) {
        int pipe_fds[2], status;
        pid_t parent = getpid(), pid;
        size_t used = 0;
        ssize_t n;

        *ret = (ChildEnd){.status = -1};
        if (pipe2(pipe_fds, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid < 0) {
                int e = -errno;

                close(pipe_fds[0]);
                close(pipe_fds[1]);
                return e;
        }
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (getppid() != parent)
                        _exit(CHILD_CHECK_FAILED);
                close(pipe_fds[0]);
                say_fd = pipe_fds[1];
                child_exit(body(arg));
        }
        close(pipe_fds[1]);
        /* The end of the pipe is not waited for: a grandchild may hold it. */
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR) {
                        int e = -errno;

                        close(pipe_fds[0]);
                        return e;
                }
        fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
        while (used < sizeof(ret->text) - 1 && (n = read(pipe_fds[0], ret->text + used, sizeof(ret->text) - 1 - used)) > 0)
                used += (size_t)n;
        close(pipe_fds[0]);
        if (WIFEXITED(status))
                ret->status = WEXITSTATUS(status);
        else
                ret->signal = WTERMSIG(status);
        return 0;
}
