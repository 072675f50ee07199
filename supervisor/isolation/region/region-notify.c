/* Runs: supervisor. */
#include "region/region-notify.h"

#include "base/clock.h"
#include "region/region-locks.h"
#include "region/region-own.h"
#include "region/region-path.h"
#include "schema/limits.h"
#include "spawn/plan.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define NOTIFY_BATCH 64   /* answers in a row: a flood of denied calls cannot delay the loop */
#define NOTIFY_USEC 20000 /* time for a row: calls that give memory back take long */

int region_notify_start(RegionNotify *n, int notify_fd, pid_t worker) {
        struct seccomp_notif_sizes sizes;

        n->fd = n->connects.notify = notify_fd;
        n->events = POLLIN;
        n->worker = worker;
        n->connects.made = &n->budget->connected;
        n->served = region_notify_served_start(n->grant);
        if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
                return -errno;
        n->n_req = MAX(sizes.seccomp_notif, sizeof(struct seccomp_notif));
        n->n_resp = MAX(sizes.seccomp_notif_resp, sizeof(struct seccomp_notif_resp));
        n->req = calloc(1, n->n_req);
        n->resp = calloc(1, n->n_resp);
        if (!n->req || !n->resp)
                return -ENOMEM;
        /* -1: path denials are judged by the grant alone */
        if (n->tier == TIER_NAMESPACES)
                n->root = open(PROC_PATH("%d/root", worker), O_PATH | O_DIRECTORY | O_CLOEXEC);
        return 0;
}

bool region_notify_waits(const RegionNotify *n, uint64_t id) {
        return ioctl(n->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* ENOENT: the task was killed. After any other failure the task would wait forever, so the region has to end. */
static void notify_send(RegionNotify *n, uint64_t id, int error, int64_t value, bool go_on) {
        memset(n->resp, 0, n->n_resp);
        n->resp->id = id;
        n->resp->error = -error;
        n->resp->val = value;
        n->resp->flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
        while (ioctl(n->fd, SECCOMP_IOCTL_NOTIF_SEND, n->resp) < 0)
                if (errno != EINTR) {
                        if (errno != ENOENT)
                                n->failed = -errno;
                        return;
                }
}

void region_notify_answer(RegionNotify *n, uint64_t id, int error, bool go_on) {
        notify_send(n, id, error, 0, go_on);
}

/* Reads a path of the waiting task. Returns 0, or the -errno of the kernel itself for such a path. */
static int notify_read_path(const RegionNotify *n, uint64_t at, char text[static PATH_MAX]) {
        ssize_t r = region_notify_read((pid_t)n->req->pid, at, text, PATH_MAX - 1);

        if (r <= 0)
                return -EFAULT;
        text[r] = 0;
        if (strlen(text) == (size_t)r)
                return -ENAMETOOLONG;
        return *text ? 0 : -ENOENT;
}

/* The path of a call with a waiting task: from the region's memory, and the kernel's links for its working folder or a
 * descriptor. Returns false for a call without a path. */
static bool notify_path(const RegionNotify *n, const FilterVerdict *v, char full[static PATH_MAX]) {
        const struct seccomp_notif *q = n->req;
        int dirfd = v->at_call && v->path_arg > 0 ? (int)q->data.args[v->path_arg - 1] : AT_FDCWD;
        char text[PATH_MAX];
        bool is = notify_read_path(n, q->data.args[v->path_arg], text) == 0 &&
                  region_path_absolute((pid_t)q->pid, dirfd, text, full) == 0 && region_notify_waits(n, q->id);

        explicit_bzero(text, sizeof(text)); /* names belong to the region, too */
        return is;
}

/* Bytes a call adds to the private writable memory of the process; 0: no bytes to count. */
static uint64_t notify_memory_asked(const struct seccomp_data *d) {
        uint64_t old, new;

        switch (d->nr) {
        case SYS_mmap:
                return (d->args[2] & PROT_WRITE) && (d->args[3] & MAP_PRIVATE) ? d->args[1] : 0;
        case SYS_mremap:
                old = d->args[1];
                new = d->args[2];
                return new > old ? new - old : 0;
        case SYS_mprotect:
                return (d->args[2] & PROT_WRITE) ? d->args[1] : 0;
        default:
                return 0;
        }
}

static void notify_address_text(const struct sockaddr_storage *a, char out[static INET6_ADDRSTRLEN + 16]) {
        char ip[INET6_ADDRSTRLEN] = "?";
        uint32_t address[4];
        uint16_t port;

        if (a->ss_family != AF_INET && a->ss_family != AF_INET6) {
                snprintf(out, INET6_ADDRSTRLEN + 16, "family %d", a->ss_family);
                return;
        }
        region_connected_address(a, &port, address);
        inet_ntop(a->ss_family, address, ip, sizeof(ip));
        snprintf(out, INET6_ADDRSTRLEN + 16, a->ss_family == AF_INET ? "%s:%u" : "[%s]:%u", ip, ntohs(port));
}

static bool notify_address_is_granted(const Grant *g, const struct sockaddr_storage *a) {
        const size_t n = a->ss_family == AF_INET ? 4 : 16;
        uint32_t address[4];
        uint16_t port;

        if (a->ss_family != AF_INET && a->ss_family != AF_INET6)
                return false;
        region_connected_address(a, &port, address);
        for (size_t i = 0; i < g->n_connects; i++) {
                const NetGrant *c = &g->connects[i];

                if (c->family == a->ss_family && memcmp(address, c->addr, n) == 0 && ntohs(port) == c->port)
                        return true;
        }
        return false;
}

static void notify_connect(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        const struct seccomp_notif *q = n->req;
        struct sockaddr_storage a = {};
        socklen_t n_a = (socklen_t)MIN(q->data.args[2], sizeof(a));
        char text[INET6_ADDRSTRLEN + 16];
        _cleanup_free_ char *allow = NULL;
        ssize_t r = region_notify_read((pid_t)q->pid, q->data.args[1], &a, n_a);
        int e;

        if (r < (ssize_t)sizeof(sa_family_t) || (a.ss_family == AF_INET && r < (ssize_t)sizeof(struct sockaddr_in)) ||
            (a.ss_family == AF_INET6 && r < (ssize_t)sizeof(struct sockaddr_in6))) {
                region_notify_answer(n, q->id, r < 0 ? EFAULT : EINVAL, false);
                return;
        }
        notify_address_text(&a, text);
        if (!notify_address_is_granted(n->grant, &a)) {
                region_notify_answer(n, q->id, EPERM, false);
                if (a.ss_family == AF_INET || a.ss_family == AF_INET6)
                        allow = denial_allow_connect(text);
                region_notify_deny(n, v, text, allow, ret_denied);
                return;
        }
        e = region_connect_start(&n->connects, q->id, (pid_t)q->pid, (int)q->data.args[0], &a, n_a);
        if (e != CONNECT_LATER)
                region_notify_answer(n, q->id, e, false);
}

int region_notify_connected(RegionNotify *n) {
        uint64_t id;
        int error;

        n->connects.notify = n->fd; /* -1: no task uses the filter any more */
        while (n->failed == 0 && region_connect_next(&n->connects, &id, &error))
                if (n->fd >= 0)
                        region_notify_answer(n, id, error, false);
        return n->failed;
}

static void notify_go_on(RegionNotify *n, const FilterVerdict *v) {
        const struct seccomp_notif *q = n->req;
        int error = 0;

        switch (v->frees && n->frees ? n->frees(n->frees_userdata, q, v->operation, &error) : NOTIFY_GO_ON) {
        case NOTIFY_GO_ON:
                region_notify_answer(n, q->id, 0, true);
                break;
        case NOTIFY_ANSWER:
                region_notify_answer(n, q->id, error, false);
                break;
        case NOTIFY_LATER:
                break;
        }
}

static void notify_deny_own(RegionNotify *n, const FilterVerdict *v, const char *object, int error, bool *ret_denied) {
        region_notify_answer(n, n->req->id, error, false);
        region_notify_deny(n, v, object, NULL, ret_denied);
}

static void notify_lock(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        const LockPlace place = {n->worker, n->tier, n->budget->scratch, n->scratch, n->grant};
        char object[256];
        int error;

        if (!n->locks && !(n->locks = region_locks_new())) {
                region_notify_answer(n, n->req->id, ENOLCK, false);
                return;
        }
        switch (region_locks_call(n->locks, &place, n->req, &error, object)) {
        case 0:
                region_notify_answer(n, n->req->id, error, false);
                break;
        case LOCK_REFUSED:
                notify_deny_own(n, v, object, EPERM, ret_denied);
                break;
        case LOCK_TOO_MANY:
                snprintf(object, sizeof(object), "more than %d locked ranges", LOCK_RANGES_MAX);
                notify_deny_own(n, v, object, ENOLCK, ret_denied);
                break;
        case LOCK_LATER:
                break;
        }
        n->locks_deadline = n->locks->deadline;
}

int region_notify_locks(RegionNotify *n, uint64_t now) {
        uint64_t id;
        int error;

        while (n->failed == 0 && region_locks_try(n->locks, n->fd, now, &id, &error))
                region_notify_answer(n, id, error, false);
        n->locks_deadline = n->locks->deadline;
        return n->failed;
}

/* Opens a path of the scratch by a walk inside the scratch. Returns the descriptor, -EXDEV outside, -errno. */
static int notify_scratch_path(const RegionNotify *n, uint64_t at, char full[static PATH_MAX]) {
        struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS |
                                          RESOLVE_NO_SYMLINKS};
        char text[PATH_MAX];
        int e = notify_read_path(n, at, text), fd;

        e = e ?: region_path_absolute((pid_t)n->req->pid, AT_FDCWD, text, full);
        if (e < 0)
                return e;
        if (n->budget->scratch < 0 || !plan_in_scratch(full))
                return -EXDEV;
        fd = (int)syscall(SYS_openat2, n->budget->scratch, full + 1, &how, sizeof(how));
        return fd >= 0 ? fd : errno == ELOOP ? -EXDEV : -errno; /* a link may lead anywhere */
}

static void notify_watch(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
        const struct seccomp_notif *q = n->req;
        _cleanup_close_ int path = -1, instance = -1;
        char full[PATH_MAX], object[64];
        int wd;

        path = notify_scratch_path(n, q->data.args[1], full);
        if (path == -EXDEV) {
                notify_deny_own(n, v, full, EACCES, ret_denied);
                return;
        }
        instance = region_notify_copy_fd((pid_t)q->pid, (int)q->data.args[0]);
        if (path < 0 || instance < 0) {
                region_notify_answer(n, q->id, path < 0 ? -path : -instance, false);
                return;
        }
        wd = inotify_add_watch(instance, PROC_FD(path), (uint32_t)q->data.args[2] & ~(uint32_t)IN_DONT_FOLLOW);
        if (wd >= 0)
                notify_send(n, q->id, 0, wd, false);
        else if (errno == ENOSPC) {
                snprintf(object, sizeof(object), "more than %d watches", REGION_INOTIFY_WATCHES);
                notify_deny_own(n, v, object, ENOSPC, ret_denied);
        } else
                region_notify_answer(n, q->id, errno, false);
}

static void notify_judge(RegionNotify *n, Breach *ret_breach, bool *ret_denied) {
        const struct seccomp_notif *q = n->req;
        FilterVerdict v = {};
        Breach b = {};
        char path[PATH_MAX] = "";

        filter_judge(&n->filter, &q->data, &v);
        switch (v.kind) {
        case FILTER_DENY:
                region_notify_answer(n, q->id, v.error, false);
                region_notify_deny(n, &v, v.object, v.allow_with, ret_denied);
                return;
        case FILTER_CONNECT:
                if (!region_own_connect(n, &v, ret_denied))
                        notify_connect(n, &v, ret_denied);
                return;
        case FILTER_LISTEN:
                region_own_listen(n, &v, ret_denied);
                return;
        case FILTER_LOCK:
                notify_lock(n, &v, ret_denied);
                return;
        case FILTER_WATCH:
                notify_watch(n, &v, ret_denied);
                return;
        case FILTER_PATH:
                if (!notify_path(n, &v, path))
                        *path = 0;
                b = region_budget_ask_open(n->budget, (pid_t)q->pid);
                if (b.outcome == OUTCOME_NONE && v.writes)
                        b = region_budget_ask_change(n->budget);
                break;
        case FILTER_MEMORY:
                if (n->filter.notify_memory)
                        b = region_budget_ask_memory(n->budget, (pid_t)q->pid, notify_memory_asked(&q->data));
                break;
        case FILTER_TASK:
                b = region_budget_ask_task(n->budget);
                break;
        case FILTER_FREE:
                break;
        default:
                assert(false);
        }
        if (b.outcome == OUTCOME_NONE && v.shared)
                b = region_budget_ask_shared(n->budget, (pid_t)q->pid, q->data.args[1]);
        if (b.outcome == OUTCOME_NONE && *path && region_notify_reopen(n, path))
                *path = 0;
        else if (b.outcome == OUTCOME_NONE)
                notify_go_on(n, &v);
        else { /* the region is about to be killed, so the call must not continue */
                const int error = v.kind == FILTER_MEMORY ? ENOMEM : v.kind == FILTER_TASK ? EAGAIN : EMFILE;

                *ret_breach = b;
                region_notify_answer(n, q->id, error, false);
        }
        if (*path) {
                region_denied_open(n, &v, path, ret_denied);
                explicit_bzero(path, sizeof(path));
        }
}

int region_notify_ready(RegionNotify *n, short revents, Breach *ret_breach, bool *ret_denied) {
        struct pollfd p = {.fd = n->fd, .events = POLLIN};
        uint64_t began = clock_mono_usec();

        *ret_breach = (Breach){};
        *ret_denied = false;
        for (unsigned i = 0; i < NOTIFY_BATCH; i++) {
                if (i > 0 && (clock_mono_usec() - began > NOTIFY_USEC || poll(&p, 1, 0) <= 0))
                        return 0;
                if (i > 0)
                        revents = p.revents;
                if (!(revents & POLLIN)) {
                        if (revents & (POLLHUP | POLLERR)) /* no task uses the filter any more */
                                closep(&n->fd);
                        return 0;
                }
                memset(n->req, 0, n->n_req); /* the kernel requires zeros */
                if (ioctl(n->fd, SECCOMP_IOCTL_NOTIF_RECV, n->req) < 0) {
                        int e = -errno;

                        if (e == -EINTR || e == -ENOENT)
                                continue;
                        closep(&n->fd);
                        return e;
                }
                notify_judge(n, ret_breach, ret_denied);
                if (n->failed < 0)
                        return n->failed;
                if (ret_breach->outcome != OUTCOME_NONE)
                        return 0;
        }
        return 0;
}

void region_notify_deinit(RegionNotify *n) {
        FreedCount freed = n->freed;

        region_notify_served_end(n->served);
        region_connects_deinit(&n->connects);
        region_locks_free(n->locks);
        closep(&n->root);
        closep(&n->fd);
        region_outside_deinit(&n->outside);
        free(n->shims);
        free(n->req);
        free(n->resp);
        *n = REGION_NOTIFY_NULL;
        n->freed = freed; /* the counters outlive the rest */
}
