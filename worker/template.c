/* A template's processes (schema/zygote.h). The executed worker makes a PID namespace with two processes and ends:
 *
 *   first process   waits. With its end the kernel kills every process of the namespace: the template, its forks, and
 *                   all regions
 *   template        goes on with its steps
 *
 * Both are the supervisor's children: the supervisor can end and reap them, and both end with it. */
#include "schema/zygote.h"
#include "worker/sys.h"
#include "worker/worker.h"

#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

static void __attribute__((noreturn)) template_first(Worker *w) {
        struct pollfd p = {.fd = LAUNCH_FD_LIFELINE};
        Progress *shared = w->progress, own = {.step = STEP_PID_NAMESPACE};
        int e;

        prctl(PR_SET_NAME, "lethe-first");
        w->progress = &own;
        /* Orphans come here: the kernel reaps the children of a process that ignores SIGCHLD. The template's
         * pivot_root() changes this process's root and folder as well. */
        e = signal(SIGCHLD, SIG_IGN) == SIG_ERR || chdir("/") < 0 ? -errno : step_lifeline(w);
        if (e == 0)
                e = step_capabilities(w);
        if (e == 0)
                e = step_no_new_privs(w);
        if (e == 0 && (prctl(PR_SET_DUMPABLE, 0) < 0 || syscall(SYS_close_range, 0, LAUNCH_FD_STATUS - 1, 0) < 0 ||
                       syscall(SYS_close_range, LAUNCH_FD_LIFELINE + 1, ~0U, 0) < 0))
                e = -errno;
        if (e < 0)
                step_fail(w, STEP_PID_NAMESPACE, -e);
        close(LAUNCH_FD_STATUS);
        __atomic_store_n(&shared->first, 1, __ATOMIC_RELEASE); /* the template waits for the store */
        munmap(shared, sizeof(*shared));
        if (init_confine(false) < 0) /* the template ends with this process */
                _exit(127);
        while (!(p.revents & (POLLHUP | POLLERR)))
                ppoll(&p, 1, NULL, NULL);
        _exit(0);
}

/* Returns as fork(). In the parent, the child's pidfd has been reported. */
static long template_fork(int which) {
        const StatusRecord r = {.kind = STATUS_BORN, .a = which};
        int pidfd = -1, e;
        struct clone_args a = {.flags = CLONE_PARENT | CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd};
        long pid = syscall(SYS_clone3, &a, sizeof(a));

        if (pid <= 0)
                return pid < 0 ? -errno : 0;
        e = report(&r, pidfd);
        close(pidfd);
        return e < 0 ? e : pid;
}

int step_pid_namespace(Worker *w) {
        long pid;

        if (syscall(SYS_unshare, CLONE_NEWPID) < 0)
                return -errno;
        pid = template_fork(TEMPLATE_FIRST);
        if (pid == 0)
                template_first(w);
        if (pid > 0)
                pid = template_fork(TEMPLATE_ITSELF);
        if (pid > 0)
                _exit(0);
        return (int)pid;
}

/* A complete /proc, because regions set the limits of their user namespace there (identity.c). Made before the host's
 * tree is gone: without a complete /proc in sight, the kernel gives no new one. */
int template_keep_proc(void) {
        _autoclose_ int fs = sys_fsopen("proc"), m = -1;

        if (fs < 0)
                return -errno;
        if (sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL) == 0)
                m = sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
        return m < 0 || dup3(m, ZYGOTE_FD_KEPT, O_CLOEXEC) < 0 ? -errno : 0;
}
