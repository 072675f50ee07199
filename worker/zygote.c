/* A worker that makes the workers of regions (schema/zygote.h). The first zygote has the host's root, and each child
 * goes through all steps. A template (LAUNCH_ZYGOTE) has built a root of system folders, without privilege and without
 * a way back to the host's tree: its children mount the granted files in a copy of its mount namespace. */
#include "schema/zygote.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* In a new user namespace the child has every capability, but an exec by a user other than root there drops them:
 * the ambient set carries the few capabilities needed by the steps. */
static bool zygote_hold_capabilities(bool net) {
        static const cap_value_t needed[] = {CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_SYS_ADMIN, CAP_SYS_RESOURCE,
                                             /* of a layer: overlayfs works with what its maker may */
                                             CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_NET_ADMIN};
        const int n = (int)(sizeof(needed) / sizeof(needed[0])) - !net;
        cap_t few = cap_init();
        bool held;

        held = few && cap_set_flag(few, CAP_EFFECTIVE, n, needed, CAP_SET) == 0 &&
               cap_set_flag(few, CAP_PERMITTED, n, needed, CAP_SET) == 0 &&
               cap_set_flag(few, CAP_INHERITABLE, n, needed, CAP_SET) == 0 && cap_set_proc(few) == 0;
        for (int i = 0; held && i < n; i++)
                held = prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, needed[i], 0, 0) == 0;
        cap_free(few);
        return held;
}

void zygote_work(void) {
        static char *const argv[] = {"lethe-worker", NULL}, *const env[] = {NULL};
        Worker w = {.forked = false};
        uint64_t flags = 0;
        unsigned n_fds;

        if (step_signals(&w) < 0 || step_priority(&w) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
            prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || dup3(ZYGOTE_PROGRAM, ZYGOTE_FD_KEPT, O_CLOEXEC) < 0 ||
            !zygote_take(ZYGOTE_SOCKET, ZYGOTE_FD_FIRST))
                _exit(127);
        n_fds = zygote_serve(NULL, &flags);
        if (n_fds == 0)
                _exit(0);
        if (syscall(SYS_close_range, n_fds, ZYGOTE_FD_KEPT - 1, 0) == 0 &&
            (!(flags & CLONE_NEWUSER) || zygote_hold_capabilities(flags & CLONE_NEWNET)))
                syscall(SYS_execveat, ZYGOTE_FD_KEPT, "", argv, env, AT_EMPTY_PATH);
        _exit(127);
}

void zygote_of_view(const ZygoteWay *way_or_null, void (*work)(bool forked)) {
        uint64_t flags;
        unsigned n_fds;

        if (!zygote_take(LAUNCH_FD_STATUS, way_or_null ? ZYGOTE_FD_FREE : ZYGOTE_FD_FIRST))
                _exit(127);
        n_fds = zygote_serve(way_or_null, &flags);
        if (n_fds == 0)
                _exit(0);
        /* A zygote is not dumpable. Its child stands for a region: the guard must see into it, as into a worker. */
        if (syscall(SYS_close_range, n_fds, FIRST_FD_SHARED - 1, 0) < 0 || close(ZYGOTE_FD_OWN) < 0 ||
            syscall(SYS_close_range, ZYGOTE_FD_FIRST, ~0U, 0) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
                _exit(127);
        work(true);
        _exit(127);
}

/* The interpreter has the three descriptors needed by its zygote, and goes on from there itself. */
static int zygote_become_interpreter(Worker *w) {
        int self = openat(ZYGOTE_FD_KEPT, "self/exe", O_PATH | O_CLOEXEC);

        if (self < 0 || dup2(self, ZYGOTE_FD_FIRST) < 0 ||
            syscall(SYS_close_range, LAUNCH_FD_LIFELINE, ZYGOTE_FD_KEPT - 1, 0) < 0 ||
            syscall(SYS_close_range, ZYGOTE_FD_FREE, ~0U, 0) < 0 || fcntl(LAUNCH_FD_STATUS, F_SETFD, 0) < 0 ||
            fcntl(ZYGOTE_FD_KEPT, F_SETFD, 0) < 0)
                return -errno;
        execve(w->spec.argv[0], (char **)w->spec.argv, (char **)w->spec.env);
        return -errno;
}

int step_zygote(Worker *w) {
        static Progress own;
        const StatusRecord ready = {.kind = STATUS_READY};
        Progress *shared = w->progress;
        int e;

        e = filter_install(w->spec.filter, w->spec.n_filter, 0);
        if (e < 0)
                return e;
        if (w->spec.flags & LAUNCH_WARM)
                return zygote_become_interpreter(w);
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return -errno;
        e = report(&ready, -1);
        if (e < 0)
                return e;
        w->progress = &own; /* children must have no common memory */
        munmap(shared, sizeof(*shared));
        zygote_of_view(NULL, w->work);
}
