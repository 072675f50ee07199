#include "spawn/helper.h"

#include "base/child-registry.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/mounts.h"
#include "schema/limits.h"
#include "schema/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

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
        e = e ?: spawner_worker(s, flags | ZYGOTE_OWNER(probe->region_id), fds, n_fds, &ret->pid, &ret->pidfd);
        e = e ?: spawn_write_maps(ret->pid, probe);
        for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
                closep(&fds[i]); /* with the child's end of the status socket, so that the child's exit is seen */
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
        child_registry_reap(h->pid);
        h->pid = 0;
}

void binder_init(Binder *b) {
        *b = (Binder){.helper = HELPER_NULL};
        pthread_mutex_init(&b->lock, NULL);
}

static int binder_start(Binder *b, Spawner *s, const Probe *probe, uint64_t mounts) {
        static const char *argv[] = {"binder", NULL};
        const Plan p = {.spec = {.tier = TIER_NAMESPACES, .flags = LAUNCH_BINDER, .scratch = "", .search = "",
                                 .workdir = "/", .argv = argv, .n_argv = 1}};
        StatusRecord r;
        Diag d = {};
        int e, fd = -1;

        e = helper_start(s, &p, probe, CLONE_NEWUSER | CLONE_NEWNS, &b->helper, &d);
        e = e ?: helper_record(b->helper.status, &r, &fd);
        closep(&fd);
        if (e == 0 && r.kind != STATUS_READY)
                e = -EPIPE;
        if (e != 0)
                helper_end(&b->helper);
        b->mounts = mounts;
        return e > 0 ? -EPIPE : e;
}

/* With the lock held. */
static int binder_ask(Binder *b, const char *source, bool write) {
        struct {
                BinderRequest head;
                char source[BINDER_SOURCE_MAX];
        } q = {.head = {.flags = write ? LAUNCH_WRITE : 0}};
        size_t n = strlen(source);
        StatusRecord r;
        int fd = -1, e;

        if (n + 1 >= sizeof(q.source))
                return -ENAMETOOLONG;
        memcpy(q.source, source, n);
        n += sizeof(q.head);
        e = send(b->helper.status, &q, n, MSG_NOSIGNAL) == (ssize_t)n ? helper_record(b->helper.status, &r, &fd)
                                                                      : -EPIPE;
        if (e < 0 || r.kind != STATUS_BORN || (r.b == 0) != (fd >= 0)) {
                closep(&fd);
                helper_end(&b->helper); /* a late answer would be read as the answer to the next request */
                return e < 0 ? e : -EPIPE;
        }
        return r.b == 0 ? fd : -r.b;
}

int binder_mount(Binder *b, Spawner *s, const Probe *probe, const char *source, bool write) {
        uint64_t mounts = mounts_below("/");
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&b->lock);
        int e = 0;

        if (b->helper.pid > 0 && b->mounts != mounts)
                helper_end(&b->helper);
        if (b->helper.pid <= 0)
                e = binder_start(b, s, probe, mounts);
        return e == 0 ? binder_ask(b, source, write) : e;
}

void binder_deinit(Binder *b) {
        helper_end(&b->helper);
        pthread_mutex_destroy(&b->lock);
}
