/* Orders of the supervisor, and the answers. */
#include "scrub/tracer/state.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static void order_take_fds(struct msghdr *m, int fds[static GUARD_ATTACH_FDS]) {
        struct cmsghdr *c = CMSG_FIRSTHDR(m);

        for (size_t i = 0; i < GUARD_ATTACH_FDS; i++)
                fds[i] = -1;
        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
                memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

static int order_attach(Tracer *g, const GuardOrder *o, const int fds[static GUARD_ATTACH_FDS]) {
        int e;

        if (o->version != GUARD_VERSION || g->attached || memchr(o->region, 0, sizeof(o->region)) == NULL ||
            strchr(o->region, '/') || !o->region[0]) {
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

static void order_freeze(Tracer *g) {
        if (!g->frozen) {
                g->stands = false; /* a standing task is killed where it stands, and takes no more memory before */
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
static void order_freeze_at_once(Tracer *g) {
        g->killed = g->frozen_told = g->scrub = true;
        order_freeze(g);
}

/* Called at the socket's end, or after DONE: a guard that never attached ends, too. */
static int order_socket_ended(Tracer *g, bool done) {
        if (done || !g->attached)
                return ORDER_END;
        g->orphaned = true;
        g->evidence->facts |= GUARD_FACT_ORPHANED;
        order_freeze(g);
        g->scrub = true;
        return ORDER_TAKEN;
}

int order_take(Tracer *g) {
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
                return order_socket_ended(g, false);
        if (n != sizeof(o)) {
                g->odd = true;
                return ORDER_TAKEN;
        }
        switch (o.kind) {
        case GUARD_ATTACH:
                order_take_fds(&m, fds);
                e = order_attach(g, &o, fds);
                guard_tell(g, GUARD_ATTACHED, -e, 0);
                break;
        case GUARD_FREEZE:
                if (o.flags & GUARD_AT_ONCE)
                        order_freeze_at_once(g);
                else
                        order_freeze(g);
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
                return o.flags & GUARD_AGAIN && again_may(g) ? ORDER_AGAIN
                                                             : order_socket_ended(g, g->empty || !g->attached);
        default:
                g->odd = true;
        }
        return ORDER_TAKEN;
}

void order_take_sent(Tracer *g) {
        struct pollfd p = {.fd = g->control, .events = POLLIN};

        while (!g->orphaned && poll(&p, 1, 0) > 0)
                order_take(g);
}
