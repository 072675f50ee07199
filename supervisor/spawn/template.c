/* A view's nursery: a worker that builds the root that the plan describes, gives up what it could do with it, and forks the regions that see it. */
#include "schema/limits.h"
#include "spawn/private.h"
#include "spawn/spawner-private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BUILD_MS 10000

typedef struct Making {
        int fds[LAUNCH_FD_TREES + NURSERY_TREES_MAX], status, lifeline;
        size_t n_fds;
        pid_t pid;
        int pidfd;
} Making;

static int wait_ready(const Making *m, Diag *reterr) {
        struct pollfd p = {.fd = m->status, .events = POLLIN};
        StatusRecord r = {0};
        int k;

        while ((k = poll(&p, 1, BUILD_MS)) < 0 && errno == EINTR)
                ;
        if (k <= 0)
                return -ETIMEDOUT;
        if (recv(m->status, &r, sizeof(r), MSG_DONTWAIT) != (ssize_t)sizeof(r) || r.kind != STATUS_READY)
                return diag(reterr, SPAWN_E_KERNEL, "a view's root cannot be built: step %s: %s", spawn_step_name(r.a), strerror(r.b));
        return 0;
}

static int make(Spawner *s, const Plan *p, const Probe *probe, Making *m, Diag *reterr) {
        const uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
        _cleanup_(plan_deinit) Plan view = {0};
        _cleanup_free_ uint8_t *bytes = NULL;
        int status[2], lifeline[2], e;
        size_t n;

        e = plan_of_view(p, &view);
        if (e < 0)
                return e;
        if (view.n_trees > NURSERY_TREES_MAX)
                return -E2BIG;
        for (size_t i = 0; i <= REGION_PIPE_OUT_FD; i++)
                if ((m->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
                        return -errno;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0)
                return -errno;
        m->status = status[0];
        m->fds[LAUNCH_FD_STATUS] = status[1];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline) < 0)
                return -errno;
        m->lifeline = lifeline[1];
        m->fds[LAUNCH_FD_LIFELINE] = lifeline[0];
        m->fds[LAUNCH_FD_SPEC] = spawn_seal(&view.spec, &bytes, &n);
        if (m->fds[LAUNCH_FD_SPEC] < 0)
                return m->fds[LAUNCH_FD_SPEC];
        m->n_fds = LAUNCH_FD_TREES;
        e = spawn_open_trees(&view, probe, m->fds, &m->n_fds, reterr);
        if (e == 0)
                e = spawner_worker(s, flags, m->fds, m->n_fds, &m->pid, &m->pidfd);
        if (e == 0)
                e = spawn_write_maps(m->pid, probe);
        closep(&m->fds[LAUNCH_FD_STATUS]); /* so that its end is seen */
        if (e == 0 && send(m->lifeline, "m", 1, MSG_NOSIGNAL) != 1)
                e = -errno;
        return e == 0 ? wait_ready(m, reterr) : e;
}

int template_make(Spawner *s, const Plan *p, const Probe *probe, Nursery *ret, Diag *reterr) {
        Making m = {.status = -1, .lifeline = -1, .pidfd = -1};
        int e;

        for (size_t i = 0; i < ARRAY_SIZE(m.fds); i++)
                m.fds[i] = -1;
        e = make(s, p, probe, &m, reterr);
        for (size_t i = 0; i < ARRAY_SIZE(m.fds); i++)
                closep(&m.fds[i]);
        if (e != 0 && m.pid > 0)
                kill(m.pid, SIGKILL);
        closep(&m.pidfd);
        closep(&m.lifeline); /* from here on it is the socket that it ends with */
        nursery_init(ret);
        ret->pid = m.pid;
        ret->control = m.status;
        if (e != 0)
                nursery_end(ret);
        return e;
}
