/* Runs: lethe-proxy. The start, and the loop. */
#include "base/clock.h"
#include "base/launched.h"
#include "proxy/process/state.h"
#include "schema/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define EVENTS 64
#define TICK_MS 250
#define FILES_MAX (32 + 2 * PROXY_CONNECTIONS_MAX + SOCKETS_MAX + 64)

Proxy proxy = {.control = PROXY_FD_CONTROL, .epoll = -1, .listener = -1};

uint64_t proxy_bytes_left(void) {
        const uint64_t used = proxy.sums.up + proxy.sums.down + proxy.routed;

        return proxy.budget.bytes == 0 ? UINT64_MAX : proxy.budget.bytes - MIN(used, proxy.budget.bytes);
}

void proxy_die(void) {
        _exit(0);
}

void side_watch(ConnSide *s, uint32_t events) {
        struct epoll_event e = {.events = events, .data.ptr = s};

        if (s->fd < 0 || s->gone || (s->watched && s->events == events))
                return;
        if (epoll_ctl(proxy.epoll, s->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &e) < 0)
                proxy_die(); /* a connection that nobody looks after would stay for ever */
        s->watched = true;
        s->events = events;
}

void side_close(ConnSide *s) {
        const ProxyConn *c = s->conn;

        if (s->fd >= 0 && s == &c->server && c->published) {
                if (s->watched)
                        epoll_ctl(proxy.epoll, EPOLL_CTL_DEL, s->fd, NULL);
                publish_give(TAKE_FD(s->fd), c->up.shut && c->down.shut);
        }
        closep(&s->fd);
        s->watched = false;
}

static void proxy_limit(int resource, rlim_t most) {
        struct rlimit l;

        if (getrlimit(resource, &l) < 0)
                return;
        l.rlim_max = l.rlim_cur = MIN(l.rlim_max, most);
        setrlimit(resource, &l);
}

static void proxy_limits(void) {
        proxy_limit(RLIMIT_NOFILE, FILES_MAX);
        proxy_limit(RLIMIT_CORE, 0);
        proxy_limit(RLIMIT_FSIZE, 0);
        proxy_limit(RLIMIT_DATA, 64 << 20);
        proxy_limit(RLIMIT_NPROC, 0);
}

static void proxy_loop(void) {
        struct epoll_event events[EVENTS];
        uint64_t ticked = 0;
        bool waits = false;

        for (;;) {
                const int msec = routes_tick(lookup_tick(proxy.conns || waits ? TICK_MS : -1));
                const int n = epoll_wait(proxy.epoll, events, EVENTS, msec);
                uint64_t now;

                if (n < 0 && errno != EINTR)
                        proxy_die();
                for (int i = 0; i < n; i++) {
                        const uint64_t tag = events[i].data.u64;

                        if (tag & 1) /* a socket of the resolver: its number, an odd tag */
                                lookup_event((int)(tag >> 1), events[i].events);
                        else if (events[i].data.ptr == &proxy.control)
                                control_read();
                        else if (events[i].data.ptr == &proxy.listener)
                                conn_accept();
                        else if (publish_event(events[i].data.ptr))
                                continue;
                        else if (tag & ROUTES_TAG)
                                routes_event(tag, events[i].events);
                        else {
                                ConnSide *s = events[i].data.ptr;

                                if (s->fd >= 0)
                                        conn_event(s->conn, s, events[i].events);
                        }
                }
                now = clock_mono_usec();
                if (now - ticked >= TICK_MS * 1000) {
                        conn_tick(now);
                        ticked = now;
                }
                conn_sweep();
                waits = !publish_sweep();
                routes_sweep();
        }
}

static _noreturn_ void proxy_serve(void) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &proxy.control};

        prctl(PR_SET_DUMPABLE, 0);
        signal(SIGPIPE, SIG_IGN);
        proxy.epoll = epoll_create1(EPOLL_CLOEXEC);
        if (proxy.epoll < 0 || epoll_ctl(proxy.epoll, EPOLL_CTL_ADD, proxy.control, &e) < 0 || !lookup_start() || !routes_start())
                proxy_die();
        proxy_limits();
        if (!confine())
                proxy_die();
        proxy_loop();
        proxy_die();
}

/* Resolver options of the user (LOCALDOMAIN, RES_OPTIONS) go with the environment. */
int main(int argc, char **argv) {
        proxy.launcher = launched_begin(argc, argv, routes_load);
        if (proxy.launcher >= 0)
                proxy_serve();
        return argc > 2 ? 2 : 0;
}
