#include "spawn/launcher.h"

#include "base/child-registry.h"
#include "base/io.h"
#include "base/launched.h"
#include "spawn/clone.h"
#include "spawn/find.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#define END_MS 1000

pid_t launcher_execute(const char *program, const char *arg, int channel) {
        _cleanup_close_ int exe = find_program(program, NULL), null = open("/dev/null", O_RDWR | O_CLOEXEC);
        const int fds[LAUNCHED_FD + 1] = {null, null, null, channel};
        CloneExec c = {.name = program, .arg = arg, .exec_fd = exe, .fds = fds, .n_fds = ARRAY_SIZE(fds)};
        int pidfd = -1;
        pid_t pid;

        if (exe < 0 || null < 0)
                return exe < 0 ? exe : -EMFILE;
        pid = clone_exec(&c, 0, &pidfd);
        closep(&pidfd);
        return pid;
}

int launcher_start(const char *program, Launcher *ret) {
        _cleanup_close_ int theirs = -1;
        int pair[2];
        pid_t pid;

        *ret = LAUNCHER_NULL;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ret->control = pair[0];
        theirs = pair[1];
        pid = launcher_execute(program, LAUNCHED_ARG, theirs);
        if (pid < 0) {
                closep(&ret->control);
                return pid;
        }
        ret->pid = pid;
        return 0;
}

static int launcher_send(Launcher *l, char kind, int channel) {
        return l->control < 0 ? -EPIPE : io_send_fds(l->control, &kind, 1, &channel, 1);
}

int launcher_ask(Launcher *l, int channel) {
        return launcher_send(l, LAUNCHED_PROCESS, channel);
}

int launcher_start_again(Launcher *l, Launcher *ret) {
        _cleanup_close_ int theirs = -1;
        int pair[2], e;

        *ret = LAUNCHER_NULL;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ret->control = pair[0];
        theirs = pair[1];
        e = launcher_send(l, LAUNCHED_LAUNCHER, theirs);
        if (e < 0)
                closep(&ret->control);
        return e;
}

bool launcher_is_there(const Launcher *l) {
        struct pollfd p = {.fd = l->control};

        return l->control >= 0 && poll(&p, 1, 0) == 0;
}

void launcher_end(Launcher *l) {
        closep(&l->control); /* the launcher exits, and the kernel ends its children */
        if (l->pid > 0) {
                if (clone_reap(l->pid, END_MS))
                        child_registry_forget(l->pid);
                else
                        child_registry_reap_later(l->pid);
        }
        l->pid = 0;
}
