#include "spawn/helper.h"

#include "base/io.h"
#include "schema/limits.h"
#include "base/child-registry.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RECORD_MS 10000

static int helper_open(const Plan *p, const Probe *probe, Helper *h, int *fds, size_t *n_fds, Diag *reterr) {
        _cleanup_free_ uint8_t *bytes = NULL;
        int status[2], lifeline[2];
        size_t n;

        for (size_t i = 0; i <= REGION_PIPE_OUT_FD; i++)
                if ((fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC)) < 0)
                        return -errno;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0)
                return -errno;
        h->status = status[0];
        fds[LAUNCH_FD_STATUS] = status[1];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lifeline) < 0)
                return -errno;
        h->lifeline = lifeline[1];
        fds[LAUNCH_FD_LIFELINE] = lifeline[0];
        fds[LAUNCH_FD_SPEC] = spawn_seal(&p->spec, &bytes, &n);
        if (fds[LAUNCH_FD_SPEC] < 0)
                return fds[LAUNCH_FD_SPEC];
        *n_fds = LAUNCH_FD_TREES;
        return spawn_open_trees(p, probe, NULL, fds, n_fds, reterr);
}

int helper_start(Spawner *s, const Plan *p, const Probe *probe, uint64_t flags, Helper *ret, Diag *reterr) {
        int fds[LAUNCH_FD_TREES + ZYGOTE_TREES_MAX], e;
        size_t n_fds = 0;

        *ret = HELPER_NULL;
        if (p->n_trees > ZYGOTE_TREES_MAX)
                return -E2BIG;
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                fds[i] = -1;
        e = helper_open(p, probe, ret, fds, &n_fds, reterr);
        if (e == 0)
                e = spawner_worker(s, flags | ZYGOTE_OWNER(probe->region_id), fds, n_fds, &ret->pid, &ret->pidfd);
        if (e == 0)
                e = spawn_write_maps(ret->pid, probe);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                closep(&fds[i]); /* its end of the status socket among them, so that its own end is seen */
        if (e == 0 && send(ret->lifeline, "m", 1, MSG_NOSIGNAL) != 1)
                e = -errno;
        return e;
}

int helper_record(int status, StatusRecord *ret, int *ret_fd) {
        ssize_t n;

        *ret = (StatusRecord){0};
        n = io_receive_fd(status, RECORD_MS, ret, sizeof(*ret), ret_fd);
        if (n == (ssize_t)sizeof(*ret))
                return 0;
        closep(ret_fd);
        return n == -ETIMEDOUT ? -ETIMEDOUT : -EPIPE;
}

void helper_end(Helper *h) {
        closep(&h->pidfd);
        closep(&h->status);
        closep(&h->lifeline);
        if (h->pid <= 0)
                return;
        kill(h->pid, SIGKILL);
        while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        child_registry_forget(h->pid);
        h->pid = 0;
}
