/* Who the worker is: signals, ids, and what ends it when the supervisor is gone. */
#include "worker/worker.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNALS 64 /* the kernel's _NSIG */

int step_signals(Worker *w) {
        struct {
                void *handler;
                unsigned long flags;
                void *restorer;
                unsigned long mask;
        } standard = {0};
        unsigned long none = 0;

        /* Straight to the kernel: the C library hides the signals that it uses itself, and an ignored one would stay ignored in the
         * program. */
        for (int s = 1; s <= SIGNALS; s++)
                if (s != SIGKILL && s != SIGSTOP && syscall(SYS_rt_sigaction, s, &standard, NULL, sizeof(none)) < 0)
                        return -errno;
        if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)) < 0)
                return -errno;
        umask(022);
        return 0;
}

int step_wait_maps(Worker *w) {
        int fds[LAUNCH_GROUPS_MAX];
        size_t n;

        return lifeline_wait(fds, &n);
}

int step_identity(Worker *w) {
        if (!(w->spec.flags & LAUNCH_CHANGE_IDS))
                return 0;
        if (setgroups(0, NULL) < 0 || setresgid(w->spec.gid, w->spec.gid, w->spec.gid) < 0 ||
            setresuid(w->spec.uid, w->spec.uid, w->spec.uid) < 0)
                return -errno;
        return 0;
}

int step_lifeline(Worker *w) {
        struct pollfd p = {.fd = LAUNCH_FD_LIFELINE};

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        /* The supervisor may have died before that call: then the lifeline has no writer left. */
        if (poll(&p, 1, 0) < 0)
                return -errno;
        return p.revents & (POLLHUP | POLLERR) ? -EPIPE : 0;
}

int step_hostname(Worker *w) {
        static const char name[] = "lethe";

        if (w->spec.tier != 2)
                return 0;
        if (sethostname(name, sizeof(name) - 1) < 0 || setdomainname("", 0) < 0)
                return -errno;
        return 0;
}
