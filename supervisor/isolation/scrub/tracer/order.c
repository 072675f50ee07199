/* What the supervisor orders, and what it is told. */
#include "scrub/tracer/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

void order_tell(Guard *g, GuardKind kind, int error, int code) {
        const GuardAnswer a = {.version = GUARD_VERSION, .kind = kind, .error = error, .code = code};

        int n;

        /* When nobody listens any more, the end of the socket says so. */
        do
                n = (int)send(g->control, &a, sizeof(a), MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (n < 0 && errno != EPIPE && errno != ECONNRESET)
                order_lose(g);
}

void order_lose(Guard *g) {
        shutdown(g->control, SHUT_RDWR);
}

static void take_fds(struct msghdr *m, int fds[static GUARD_ATTACH_FDS]) {
        struct cmsghdr *c = CMSG_FIRSTHDR(m);

        for (size_t i = 0; i < GUARD_ATTACH_FDS; i++)
                fds[i] = -1;
        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
                memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

static int attach(Guard *g, const GuardOrder *o, const int fds[static GUARD_ATTACH_FDS]) {
        int e;

        if (o->version != GUARD_VERSION || g->attached || memchr(o->region, 0, sizeof(o->region)) == NULL || strchr(o->region, '/') ||
            !o->region[0]) {
                g->odd = true;
                return -EPROTO;
        }
        g->hold = o->flags & GUARD_HOLD;
        g->warm = o->flags & GUARD_WARM;
        g->tier = o->tier;
        g->init = o->init;
        g->program = o->program;
        g->run = fds[GUARD_ATTACH_RUN];
        g->spec = fds[GUARD_ATTACH_SPEC];
        g->scratch = fds[GUARD_ATTACH_SCRATCH];
        memcpy(g->region, o->region, sizeof(g->region));
        e = wipe_init(&g->wipe, o->passes);
        if (e < 0)
                return e;
        g->wipe.beats = g->scan.beats = &g->evidence->beats;
        files_start(g);
        e = trace_attach(g);
        if (e < 0)
                return e;
        queues_start(g, g->program);
        g->attached = true;
        g->evidence->passes = o->passes;
        g->evidence->state = GUARD_STATE_ATTACHED;
        return 0;
}

static void freeze(Guard *g) {
        if (!g->frozen) {
                g->stands = false; /* who stands is killed there, and takes no more memory before */
                pause_end(g, 0);
                hurry(g, g->n_tasks >= HURRY_MIN);
                g->frozen = true;
                g->report_usec = now_usec();
        }
        if (!g->killed)
                trace_kill_all(g);
        g->killed = true;
}

/* The supervisor killed the first process of the region's PID namespace, and so the kernel kills all others. */
static void freeze_at_once(Guard *g) {
        g->killed = g->frozen_told = g->scrub = true;
        freeze(g);
}

/* To be asked when the socket ends, or after DONE: the guard is to end when nothing was ever attached, too. */
static int end_of_socket(Guard *g, bool done) {
        if (done || !g->attached)
                return ORDER_END;
        g->orphaned = true;
        g->evidence->facts |= GUARD_FACT_ORPHANED;
        freeze(g);
        g->scrub = true;
        return ORDER_TAKEN;
}

int order_take(Guard *g) {
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int) * GUARD_ATTACH_FDS)];
        } control;
        GuardOrder o = {};
        struct iovec v = {&o, sizeof(o)};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        int fds[GUARD_ATTACH_FDS], e;
        ssize_t n = recvmsg(g->control, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return ORDER_TAKEN;
        if (n <= 0)
                return end_of_socket(g, false);
        if (n != sizeof(o)) {
                g->odd = true;
                return ORDER_TAKEN;
        }
        switch (o.kind) {
        case GUARD_ATTACH:
                take_fds(&m, fds);
                e = attach(g, &o, fds);
                order_tell(g, GUARD_ATTACHED, -e, 0);
                break;
        case GUARD_FREEZE:
                if (o.flags & GUARD_AT_ONCE)
                        freeze_at_once(g);
                else
                        freeze(g);
                break;
        case GUARD_SCRUB:
                g->scrub = true;
                break;
        case GUARD_PAUSE:
                g->odd = true;
                pause_start(g, o.program, o.flags, o.serial);
                break;
        case GUARD_RESUME:
                if (g->pause.serial == o.serial)
                        pause_end(g, 0);
                break;
        case GUARD_DOOM:
                g->pause.doomed = g->pause.active && g->pause.serial == o.serial;
                break;
        case GUARD_STAND:
                pause_stand(g);
                break;
        case GUARD_WALK:
                pause_walk(g);
                break;
        case GUARD_WATCH:
                watch_start(g, &o);
                break;
        case GUARD_LENT:
                g->evidence->facts |= GUARD_FACT_LENT;
                break;
        case GUARD_DONE:
                return o.flags & GUARD_AGAIN && again_may(g) ? ORDER_AGAIN : end_of_socket(g, g->empty || !g->attached);
        default:
                g->odd = true;
        }
        return ORDER_TAKEN;
}

void order_take_sent(Guard *g) {
        struct pollfd p = {.fd = g->control, .events = POLLIN};

        while (!g->orphaned && poll(&p, 1, 0) > 0)
                order_take(g);
}

static int write_full(int fd, const void *p, size_t n) {
        for (size_t at = 0; at < n;) {
                ssize_t k = write(fd, (const char *)p + at, n - at);

                if (k < 0 && errno != EINTR)
                        return -errno;
                at += k > 0 ? (size_t)k : 0;
        }
        return 0;
}

int order_leave_evidence(Guard *g) {
        GuardFile f = {.evidence = *g->evidence};
        char name[GUARD_REGION_MAX + sizeof(GUARD_FILE)], draft[sizeof(name) + 1];
        int fd, e;

        memcpy(f.magic, GUARD_FILE_MAGIC, sizeof(f.magic));
        memcpy(f.region, g->region, sizeof(f.region));
        snprintf(name, sizeof(name), "%s" GUARD_FILE, g->region);
        snprintf(draft, sizeof(draft), "%s~", name);
        fd = openat(g->run, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        e = write_full(fd, &f, sizeof(f));
        if (e == 0 && (fsync(fd) < 0 || renameat(g->run, draft, g->run, name) < 0))
                e = -errno;
        close(fd);
        return e;
}
