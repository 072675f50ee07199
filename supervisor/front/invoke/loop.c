/* Runs: supervisor. */
#include "invoke/loop.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

void loop_add_fd(Loop *l, const int *fd, const short *events, LoopFdFn fn, void *userdata) {
        assert(l->n_fds < LOOP_SOURCES_MAX);
        l->fds[l->n_fds++] = (LoopFd){fd, events, fn, userdata};
}

void loop_add_timer(Loop *l, const uint64_t *deadline, LoopTimerFn fn, void *userdata) {
        assert(l->n_timers < LOOP_SOURCES_MAX);
        l->timers[l->n_timers++] = (LoopTimer){deadline, fn, userdata};
}

void loop_drop(Loop *l, const void *userdata) {
        size_t n = 0;

        for (size_t i = 0; i < l->n_fds; i++)
                if (l->fds[i].userdata != userdata)
                        l->fds[n++] = l->fds[i];
        l->n_fds = n;
        n = 0;
        for (size_t i = 0; i < l->n_timers; i++)
                if (l->timers[i].userdata != userdata)
                        l->timers[n++] = l->timers[i];
        l->n_timers = n;
}

int loop_once(Loop *l) {
        struct pollfd p[LOOP_SOURCES_MAX];
        struct timespec wait, *wait_or_null = NULL;
        uint64_t first = LOOP_NEVER, now;
        int r;

        for (size_t i = 0; i < l->n_timers; i++)
                first = MIN(first, *l->timers[i].deadline);
        if (first != LOOP_NEVER) {
                now = clock_mono_usec();
                first = first > now ? first - now : 0;
                wait = clock_timespec(first);
                wait_or_null = &wait;
        }
        for (size_t i = 0; i < l->n_fds; i++)
                p[i] = (struct pollfd){.fd = *l->fds[i].fd, .events = *l->fds[i].events};
        r = ppoll(p, l->n_fds, wait_or_null, NULL);
        if (r < 0)
                return errno == EINTR ? 0 : -errno;
        /* Deadlines first: a region with busy descriptors must not outrun its clock. */
        if (first != LOOP_NEVER) {
                now = clock_mono_usec();
                for (size_t i = 0; i < l->n_timers; i++)
                        if (*l->timers[i].deadline <= now)
                                l->timers[i].fn(l->timers[i].userdata, now);
        }
        for (size_t i = 0; i < l->n_fds && r > 0; i++)
                if (p[i].revents && p[i].fd == *l->fds[i].fd)
                        l->fds[i].fn(l->fds[i].userdata, p[i].revents);
        return 0;
}
