#include "base/launched.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Receives the channel of a new process, or -1: the supervisor is gone. */
static int launched_next(char *ret_kind) {
        int fd;

        return io_receive_fd(LAUNCHED_FD, -1, ret_kind, 1, &fd) == 1 ? fd : -1;
}

static pid_t launched_launch(void) {
        pid_t self = getpid(), spare = 0, child;
        char kind;
        int fd;

        signal(SIGCHLD, SIG_IGN); /* children leave no zombie */
        while ((fd = launched_next(&kind)) >= 0) {
                child = fork();
                if (child == 0) {
                        if (dup3(fd, LAUNCHED_FD, O_CLOEXEC) < 0)
                                _exit(2);
                        if (kind != LAUNCHED_LAUNCHER) {
                                close(fd);
                                signal(SIGCHLD, SIG_DFL);
                                return self;
                        }
                        self = getpid();
                        spare = 0;
                } else if (child > 0 && kind == LAUNCHED_LAUNCHER)
                        spare = child;
                close(fd); /* after a failed fork, too: the supervisor sees the end of the channel */
        }
        if (spare > 0) /* ends with its own channel, which the supervisor closes first, and leaves no orphan to the supervisor */
                waitpid(spare, NULL, 0);
        return -1;
}

pid_t launched_begin(int argc, char **argv, bool (*load)(void)) {
        if (argc > 2 || fcntl(LAUNCHED_FD, F_SETFD, FD_CLOEXEC) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            chdir("/") < 0)
                return -1;
        /* The environment is no part of the policy. */
        for (char **e = environ; *e; e++)
                explicit_bzero(*e, strlen(*e));
        clearenv();
        if (load && !load())
                return -1;
        if (argc == 2)
                return strcmp(argv[1], LAUNCHED_ARG) == 0 ? launched_launch() : -1;
        return 0;
}

bool launched_tie(pid_t launcher) {
        struct pollfd p = {.fd = LAUNCHED_FD, .events = POLLIN};

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return false;
        return launcher != 0 ? getppid() == launcher : poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR));
}
