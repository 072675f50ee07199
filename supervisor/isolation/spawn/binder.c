/* A binder (worker/main.c), of a supervisor that is no root: it copies mounts of the host's tree for regions below a template. What it has of that tree is
 * what was mounted when it was made, so that another one takes its place when something was mounted since. */
#include "schema/zygote.h"
#include "spawn/binder.h"
#include "spawn/helper.h"
#include "base/mounts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

void binder_init(Binder *b) {
        *b = (Binder){.helper = HELPER_NULL};
        pthread_mutex_init(&b->lock, NULL);
}

static int binder_start(Binder *b, Spawner *s, const Probe *probe, uint64_t mounts) {
        static const char *argv[] = {"binder", NULL};
        const Plan p = {.spec = {.tier = TIER_NAMESPACES, .flags = LAUNCH_BINDER, .scratch = "", .search = "", .workdir = "/", .argv = argv, .n_argv = 1}};
        StatusRecord r;
        Diag d = {};
        int e, fd = -1;

        e = helper_start(s, &p, probe, CLONE_NEWUSER | CLONE_NEWNS, &b->helper, &d);
        if (e == 0)
                e = helper_record(b->helper.status, &r, &fd);
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
        e = send(b->helper.status, &q, n, MSG_NOSIGNAL) == (ssize_t)n ? helper_record(b->helper.status, &r, &fd) : -EPIPE;
        if (e < 0 || r.kind != STATUS_BORN || (r.b == 0) != (fd >= 0)) {
                closep(&fd);
                helper_end(&b->helper); /* one that does not answer in time would answer the next one's question */
                return e < 0 ? e : -EPIPE;
        }
        return r.b == 0 ? fd : -r.b;
}

int binder_mount(Binder *b, Spawner *s, const Probe *probe, const char *source, bool write) {
        uint64_t mounts = mounts_below("/");
        int e = 0;

        pthread_mutex_lock(&b->lock);
        if (b->helper.pid > 0 && b->mounts != mounts)
                helper_end(&b->helper);
        if (b->helper.pid <= 0)
                e = binder_start(b, s, probe, mounts);
        if (e == 0)
                e = binder_ask(b, source, write);
        pthread_mutex_unlock(&b->lock);
        return e;
}

void binder_deinit(Binder *b) {
        helper_end(&b->helper);
        pthread_mutex_destroy(&b->lock);
}
