/* Runs: supervisor. */
#include "region/region-notify.h"

#include "base/clock.h"
#include "region/region-locks.h"
#include "region/region-path.h"
#include "region/region-proc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define NOTIFY_BATCH 64   /* answered in one go, so that a flood of denied calls cannot keep the loop from its deadlines */
#define NOTIFY_USEC 20000 /* nor can calls that take long to answer: what they give back is overwritten first */

int region_notify_start(RegionNotify *n, int notify_fd, pid_t worker) {
        struct seccomp_notif_sizes sizes;
        char path[64];

        n->fd = n->connects.notify = notify_fd;
        n->events = POLLIN;
        n->worker = worker;
        n->connects.made = &n->budget->connected;
        region_notify_served_start(n);
        if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
                return -errno;
        n->n_req = MAX(sizes.seccomp_notif, sizeof(struct seccomp_notif));
        n->n_resp = MAX(sizes.seccomp_notif_resp, sizeof(struct seccomp_notif_resp));
        n->req = calloc(1, n->n_req);
        n->resp = calloc(1, n->n_resp);
        if (!n->req || !n->resp)
                return -ENOMEM;
        if (n->tier == TIER_NAMESPACES) {
                snprintf(path, sizeof(path), "/proc/%d/root", (int)worker);
                n->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC); /* -1: path denials are judged by the grant alone */
        }
        return 0;
}

bool region_notify_waits(const RegionNotify *n, uint64_t id) {
        return ioctl(n->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* ENOENT: the task was killed meanwhile. After any other failure it would wait for ever: the region has to end. */
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

void region_notify_answer_value(RegionNotify *n, uint64_t id, int64_t value) {
        notify_send(n, id, 0, value, false);
}

static void note_denial(RegionNotify *n, const FilterVerdict *v, const char *object, size_t n_object, const char *allow_with) {
        if (denials_add(n->denials, v->rule, v->operation, object, n_object, allow_with) < 0)
                n->denials->others++;
}

/* The path of a call, while its task waits: from the region's own memory, and from what the kernel says of its working folder or of a descriptor.
 * Returns false when the call has none. */
static bool path_of(const RegionNotify *n, const FilterVerdict *v, char full[static PATH_MAX]) {
        const struct seccomp_notif *q = n->req;
        int dirfd = v->at_call && v->path_arg > 0 ? (int)q->data.args[v->path_arg - 1] : AT_FDCWD;
        char text[PATH_MAX];
        ssize_t r = region_notify_read((pid_t)q->pid, q->data.args[v->path_arg], text, PATH_MAX - 1);
        bool is = r > 0;

        if (is) {
                text[r] = 0;
                is = strlen(text) < (size_t)r && *text; /* not terminated, or empty: the kernel refuses it for what it is */
        }
        is = is && region_path_absolute((pid_t)q->pid, dirfd, text, full) == 0 && region_notify_waits(n, q->id);
        explicit_bzero(text, sizeof(text)); /* a name is a thing of the region, too */
        return is;
}

/* Its call has been answered. */
static void explain_path(RegionNotify *n, const FilterVerdict *v, const char *full, bool *ret_denied) {
        PathReach reach = region_path_reach(n->grant, n->tier, n->scratch, n->shims, full, v->writes);
        char *allow;

        if (reach == PATH_INSIDE && !v->writes && n->root >= 0 && region_path_is_scratch(n->grant, n->tier, full) && !region_path_is_there(n->root, full))
                reach = PATH_OUTSIDE;
        if (reach == PATH_INSIDE)
                return;
        allow = region_path_allow(n->grant, n->tier, full, v->writes);
        if (reach == PATH_OUTSIDE) {
                region_outside_add(&n->outside, v->rule, v->operation, full, v->writes, allow);
                return;
        }
        note_denial(n, v, full, strlen(full), allow);
        free(allow);
        *ret_denied = true;
}

/* What a call adds to the private writable memory of its process; 0 when it adds none that counts. */
static uint64_t memory_asked(const struct seccomp_data *d) {
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

static void address_text(const struct sockaddr_storage *a, char out[static INET6_ADDRSTRLEN + 16]) {
        char ip[INET6_ADDRSTRLEN] = "?";

        if (a->ss_family == AF_INET) {
                const struct sockaddr_in *in = (const void *)a;

                inet_ntop(AF_INET, &in->sin_addr, ip, sizeof(ip));
                snprintf(out, INET6_ADDRSTRLEN + 16, "%s:%u", ip, ntohs(in->sin_port));
        } else if (a->ss_family == AF_INET6) {
                const struct sockaddr_in6 *in6 = (const void *)a;

                inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
                snprintf(out, INET6_ADDRSTRLEN + 16, "[%s]:%u", ip, ntohs(in6->sin6_port));
        } else {
                snprintf(out, INET6_ADDRSTRLEN + 16, "family %d", a->ss_family);
        }
}

static bool address_granted(const Grant *g, const struct sockaddr_storage *a) {
        for (size_t i = 0; i < g->n_connects; i++) {
                const NetGrant *c = &g->connects[i];
                const struct sockaddr_in *in = (const void *)a;
                const struct sockaddr_in6 *in6 = (const void *)a;

                if (c->family != a->ss_family)
                        continue;
                if (a->ss_family == AF_INET && memcmp(&in->sin_addr, c->addr, 4) == 0 && ntohs(in->sin_port) == c->port)
                        return true;
                if (a->ss_family == AF_INET6 && memcmp(&in6->sin6_addr, c->addr, 16) == 0 && ntohs(in6->sin6_port) == c->port)
                        return true;
        }
        return false;
}

static void judge_connect(RegionNotify *n, const FilterVerdict *v, bool *ret_denied) {
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
        address_text(&a, text);
        if (!address_granted(n->grant, &a)) {
                region_notify_answer(n, q->id, EPERM, false);
                if (a.ss_family == AF_INET || a.ss_family == AF_INET6)
                        allow = denial_allow_connect(text);
                note_denial(n, v, text, strlen(text), allow);
                *ret_denied = true;
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

static void go_on(RegionNotify *n, const FilterVerdict *v) {
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

static void judge_one(RegionNotify *n, Breach *ret_breach, bool *ret_denied) {
        const struct seccomp_notif *q = n->req;
        FilterVerdict v = {};
        Breach b = {};
        char path[PATH_MAX] = "";

        filter_judge(&n->filter, &q->data, &v);
        switch (v.kind) {
        case FILTER_DENY:
                region_notify_answer(n, q->id, v.error, false);
                note_denial(n, &v, v.object, strlen(v.object), v.allow_with);
                *ret_denied = true;
                return;
        case FILTER_CONNECT:
                judge_connect(n, &v, ret_denied);
                return;
        case FILTER_LOCK:
        case FILTER_WATCH:
                region_notify_own(n, &v, ret_denied);
                return;
        case FILTER_PATH:
                if (!path_of(n, &v, path))
                        *path = 0;
                b = region_budget_ask_open(n->budget, (pid_t)q->pid);
                if (b.outcome == OUTCOME_NONE && v.writes)
                        b = region_budget_ask_change(n->budget);
                break;
        case FILTER_MEMORY:
                if (n->filter.notify_memory)
                        b = region_budget_ask_memory(n->budget, (pid_t)q->pid, memory_asked(&q->data));
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
        if (b.outcome == OUTCOME_NONE)
                go_on(n, &v);
        else { /* the region is about to be killed; until then this call must not go on */
                *ret_breach = b;
                region_notify_answer(n, q->id, v.kind == FILTER_MEMORY ? ENOMEM : v.kind == FILTER_TASK ? EAGAIN : EMFILE, false);
        }
        if (*path) {
                explain_path(n, &v, path, ret_denied);
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
                memset(n->req, 0, n->n_req); /* the kernel insists on zeros */
                if (ioctl(n->fd, SECCOMP_IOCTL_NOTIF_RECV, n->req) < 0) {
                        int e = -errno;

                        if (e == -EINTR || e == -ENOENT)
                                continue;
                        closep(&n->fd);
                        return e;
                }
                judge_one(n, ret_breach, ret_denied);
                if (n->failed < 0)
                        return n->failed;
                if (ret_breach->outcome != OUTCOME_NONE)
                        return 0;
        }
        return 0;
}

void region_notify_deinit(RegionNotify *n) {
        FreedCount freed = n->freed;

        region_notify_served_end(n);
        region_connects_deinit(&n->connects);
        region_locks_free(n->locks);
        closep(&n->root);
        closep(&n->fd);
        region_outside_deinit(&n->outside);
        free(n->shims);
        free(n->req);
        free(n->resp);
        *n = REGION_NOTIFY_NULL;
        n->freed = freed; /* what was done stays known */
}
