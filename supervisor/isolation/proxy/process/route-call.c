/* Runs: lethe-proxy (lethe-routes). The life of a request to a route: head, body, look-up, upstream, answer. Each
 * connection of the region has one request. */
#include "proxy/process/route.h"

#include "base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ACCEPT_TURN 16
#define LOOKED_UP_USEC 30000000 /* addresses of a look-up are good so long */

static void call_looked_up(NameLookup *l);

static void call_watch(RouteCall *c, uint32_t events) {
        struct epoll_event e = {.events = events, .data.u64 = (uint64_t)(uintptr_t)c | 4};

        if (c->fd < 0 || (c->watched && c->events == events))
                return;
        if (epoll_ctl(proxy.epoll, c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &e) < 0)
                proxy_die(); /* as side_watch() */
        c->watched = true;
        c->events = events;
}

static RouteCall *call_new(int fd) {
        RouteCall *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->fd = fd;
        c->in.max = HTTP_HEAD_MAX + 4096;
        c->body.max = ROUTE_BODY_MAX;
        c->hold.max = ROUTE_HOLD_MAX;
        c->answer_head.max = 2 * ROUTE_HEAD_MAX;
        c->out.max = ROUTE_OUT_MAX + 4 * ROUTE_HOLD_MAX;
        c->found.done = call_looked_up;
        c->began = clock_mono_usec();
        c->deadline = c->began + REQUEST_USEC;
        c->next = routes.calls;
        routes.calls = c;
        routes.n_calls++;
        return c;
}

void call_accept(void) {
        for (unsigned i = 0; i < ACCEPT_TURN; i++) {
                RouteCall *c;
                int fd;

                if (routes.n_calls >= ROUTE_CALLS_MAX) {
                        epoll_ctl(proxy.epoll, EPOLL_CTL_DEL, routes.listener, NULL); /* the others wait in the backlog */
                        routes.listening = false;
                        return;
                }
                fd = accept4(routes.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0)
                        return;
                c = call_new(fd);
                if (c)
                        call_watch(c, EPOLLIN);
                else
                        close(fd);
        }
}

void call_sweep(void) {
        for (RouteCall **at = &routes.calls; *at;) {
                RouteCall *c = *at;

                if (c->state != CALL_OVER) {
                        at = &c->next;
                        continue;
                }
                *at = c->next;
                free(c);
                routes.n_calls--;
        }
        if (!routes.listening && routes.listener >= 0 && routes.n_calls < ROUTE_CALLS_MAX) {
                struct epoll_event e = {.events = EPOLLIN, .data.u64 = ROUTES_TAG};

                routes.listening = epoll_ctl(proxy.epoll, EPOLL_CTL_ADD, routes.listener, &e) == 0;
        }
}

static void call_free_body(RouteCall *c) {
        routes.n_bodies -= c->body.n;
        buf_deinit(&c->body);
}

static void call_close(RouteCall *c, bool reset) {
        static const struct linger now = {.l_onoff = 1};

        if (reset && c->fd >= 0)
                setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        lookup_leave(&c->found);
        route_curl_drop(c);
        closep(&c->fd);
        call_free_body(c);
        buf_deinit(&c->in);
        buf_deinit(&c->answer_head);
        buf_deinit(&c->hold);
        buf_deinit(&c->out);
        EVP_MD_CTX_free(TAKE_PTR(c->asked));
        EVP_MD_CTX_free(TAKE_PTR(c->answered));
        c->state = CALL_OVER;
}

void call_end(RouteCall *c, RouteWhy why) {
        if (c->state == CALL_OVER)
                return;
        route_tell(c, why);
        /* A region whose answer is cut off sees a reset, never an end that looks like success. */
        call_close(c, c->state != CALL_LINGER);
}

/* Bytes that nobody reads would turn the end into a reset, and the answer would be lost. */
static void call_linger(RouteCall *c) {
        char bytes[4096];

        for (unsigned i = 0; i < 16; i++) {
                const ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                        call_close(c, false);
                        return;
                }
                if (n < 0)
                        break;
        }
        call_watch(c, EPOLLIN | (c->out.n > 0 ? (uint32_t)EPOLLOUT : 0));
}

void call_flush(RouteCall *c) {
        size_t sent = 0;
        bool gone = false;

        if (c->state == CALL_OVER || c->fd < 0)
                return;
        while (sent < c->out.n && !gone) {
                const ssize_t n = send(c->fd, c->out.data + sent, c->out.n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (n < 0 && errno == EAGAIN)
                        break;
                gone = n < 0 && errno != EINTR;
                sent += n > 0 ? (size_t)n : 0;
        }
        if (gone) {
                call_end(c, ROUTE_WHY_CLOSED);
                return;
        }
        buf_drop(&c->out, sent);
        if (c->state == CALL_FLUSH && c->out.n == 0) {
                shutdown(c->fd, SHUT_WR);
                c->state = CALL_LINGER;
                c->deadline = clock_mono_usec() + LINGER_USEC;
        }
        if (c->paused && c->out.n < ROUTE_OUT_MAX / 2)
                route_curl_unpause(c);
        call_watch(c, EPOLLIN | (c->out.n > 0 ? (uint32_t)EPOLLOUT : 0));
}

/* The region is told, counted, and has a moment to read. */
static void call_refuse(RouteCall *c, RouteWhy why, const char *rule) {
        answer_own(c, why, rule);
        route_tell(c, why);
        route_curl_drop(c);
        call_free_body(c);
        c->state = CALL_FLUSH;
        c->deadline = clock_mono_usec() + LINGER_USEC;
        call_flush(c);
}

void call_upstream_over(RouteCall *c, RouteWhy why) {
        if (why == ROUTE_WHY_ANSWERED) {
                answer_whole(c);
                route_tell(c, c->told.echoes + c->redact.found > 0 ? ROUTE_WHY_ECHO : why);
                route_curl_drop(c);
                call_free_body(c);
                c->state = CALL_FLUSH;
                c->deadline = clock_mono_usec() + c->route->r->usec;
                call_flush(c);
        } else if (c->head_sent)
                call_end(c, why);
        else
                call_refuse(c, why, NULL);
}

static void call_begin(RouteCall *c) {
        const Route *to = c->route;

        lookup_own_addresses();
        /* A refused address refuses the upstream, as with hosts by name. */
        for (size_t i = 0; i < to->n_list; i++)
                if (!address_is_allowed(&to->list[i], &proxy.own, proxy.nets, proxy.n_nets)) {
                        c->told.has_address = 1;
                        c->told.v6 = to->list[i].v6;
                        memcpy(c->told.addr, to->list[i].addr, sizeof(c->told.addr));
                        call_refuse(c, ROUTE_WHY_PRIVATE, NULL);
                        return;
                }
        c->state = CALL_UPSTREAM;
        c->deadline = clock_mono_usec() + to->r->usec;
        if (route_curl_begin(c) != ROUTE_WHY_ANSWERED)
                call_refuse(c, ROUTE_WHY_UNREACHED, "out of memory");
}

static void call_looked_up(NameLookup *l) {
        RouteCall *c = (RouteCall *)((char *)l - offsetof(RouteCall, found));
        Route *to = c->route;

        to->n_list = l->n;
        memcpy(to->list, l->list, sizeof(to->list));
        to->looked_up = clock_mono_usec();
        if (l->n == 0)
                call_refuse(c, ROUTE_WHY_UNKNOWN, NULL);
        else
                call_begin(c);
}

static void call_look_up(RouteCall *c) {
        Route *to = c->route;
        const ProxyRule *host = &to->r->upstream;

        if (host->host != PROXY_HOST_NAME) {
                to->list[0] = (ProxyAddress){.v6 = host->host == PROXY_HOST_IPV6};
                memcpy(to->list[0].addr, host->addr, sizeof(to->list[0].addr));
                to->n_list = 1;
        } else if (to->n_list == 0 || clock_mono_usec() - to->looked_up > LOOKED_UP_USEC) {
                c->state = CALL_LOOKUP;
                c->deadline = clock_mono_usec() + LOOKUP_USEC;
                lookup_ask(&c->found, host->name);
                return;
        }
        call_begin(c);
}

static Route *call_route(const RoutePath *p) {
        for (unsigned i = 0; i < routes.n; i++)
                if (strlen(routes.list[i].r->name) == p->n_name && memcmp(routes.list[i].r->name, p->name, p->n_name) == 0)
                        return &routes.list[i];
        return NULL;
}

/* The request is whole: is the region allowed to make it? */
static void call_judge(RouteCall *c) {
        const char *rule = NULL;
        RouteWhy why;

        route_path_parse(c->in.data + c->head.path, c->head.n_path, &c->path); /* the bytes may have moved */
        c->told.up = c->body.n;
        c->asked = EVP_MD_CTX_new();
        if (!c->asked || !EVP_DigestInit_ex(c->asked, EVP_sha256(), NULL) || !EVP_DigestUpdate(c->asked, c->body.data ?: "", c->body.n)) {
                call_refuse(c, ROUTE_WHY_BUSY, "out of memory");
                return;
        }
        why = budget_judge(c, &rule);
        if (why != ROUTE_WHY_ANSWERED)
                call_refuse(c, why, rule);
        else
                call_look_up(c);
}

static void call_body(RouteCall *c) {
        const size_t before = c->body.n;
        size_t n = c->in.n - c->head.n;

        if (c->head.chunked) {
                n = http_chunks_decode(&c->chunks, c->in.data + c->head.n, n, &c->body);
                if (n == HTTP_CHUNKS_BAD) {
                        const bool large = c->body.n + c->in.n > ROUTE_BODY_MAX;

                        routes.n_bodies += c->body.n - before;
                        call_refuse(c, large ? ROUTE_WHY_TOO_LARGE : ROUTE_WHY_BROKEN, large ? NULL : "a body in broken chunks");
                        return;
                }
        } else {
                n = (size_t)MIN((uint64_t)n, c->head.length - c->body.n);
                if (buf_add(&c->body, c->in.data + c->head.n, n) < 0) {
                        call_refuse(c, ROUTE_WHY_BUSY, "out of memory");
                        return;
                }
        }
        c->in.n -= c->in.n - c->head.n; /* what follows the request is not read */
        routes.n_bodies += c->body.n - before;
        if (routes.n_bodies > ROUTE_BODIES_MAX)
                call_refuse(c, ROUTE_WHY_BUSY, NULL);
        else if (c->head.chunked ? c->chunks.over : c->body.n == c->head.length)
                call_judge(c);
}

static bool call_method_is_known(const RouteCall *c) {
        static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

        for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
                if (strlen(methods[i]) == c->head.n_method && memcmp(c->in.data, methods[i], c->head.n_method) == 0)
                        return true;
        return false;
}

static void call_expect(RouteCall *c) {
        HttpLine l;
        size_t at = 0;

        while (http_head_next(c->in.data, &c->head, &at, &l))
                if (http_is(l.name, l.n_name, "expect") && http_is(l.value, l.n_value, "100-continue")) {
                        buf_add_str(&c->out, "HTTP/1.1 100 Continue\r\n\r\n");
                        call_flush(c);
                        return;
                }
}

static void call_head(RouteCall *c) {
        const char *why = NULL;
        int r = http_origin_parse(c->in.data, c->in.n, &c->head, &why);

        if (r == HTTP_E_MORE)
                return;
        if (r == 0 && !call_method_is_known(c)) /* TRACE among them, which answers with the secret */
                why = "the method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS";
        if (r == 0 && !why)
                why = route_path_parse(c->in.data + c->head.path, c->head.n_path, &c->path);
        if (why) {
                call_refuse(c, ROUTE_WHY_BROKEN, why);
                return;
        }
        memcpy(c->told.method, c->in.data, c->head.n_method);
        c->head_only = strcmp(c->told.method, "HEAD") == 0;
        c->old = memmem(c->in.data, (size_t)(strchr(c->in.data, '\r') - c->in.data), " HTTP/1.0", 9) != NULL;
        c->route = call_route(&c->path);
        if (!c->route) {
                snprintf(c->told.detail, sizeof(c->told.detail), "%.*s", (int)MIN(c->path.n_name, sizeof(c->told.detail) - 1), c->path.name);
                call_refuse(c, ROUTE_WHY_NO_ROUTE, NULL);
                return;
        }
        if (c->head.length > ROUTE_BODY_MAX) {
                call_refuse(c, ROUTE_WHY_TOO_LARGE, NULL);
                return;
        }
        c->state = CALL_BODY;
        if (c->head.chunked || c->head.length > c->in.n - c->head.n)
                call_expect(c);
        if (c->state == CALL_BODY)
                call_body(c);
}

static void call_read(RouteCall *c) {
        char bytes[16384];
        const size_t room = c->state == CALL_HEAD ? HTTP_HEAD_MAX + 4096 - c->in.n : sizeof(bytes);
        const ssize_t n = recv(c->fd, bytes, MIN(room, c->state == CALL_HEAD ? sizeof(bytes) : (size_t)4096), MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0 || buf_add(&c->in, bytes, (size_t)n) < 0) {
                call_end(c, c->state == CALL_HEAD && c->in.n == 0 ? ROUTE_WHY_CLOSED : ROUTE_WHY_BROKEN);
                return;
        }
        if (c->state == CALL_HEAD)
                call_head(c);
        else
                call_body(c);
}

/* While the upstream answers, the region sends nothing more; a closed side is the end of the request. */
static void call_look(RouteCall *c) {
        char bytes[4096];
        const ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                call_end(c, ROUTE_WHY_CLOSED);
}

void call_event(RouteCall *c, uint32_t events) {
        if (c->state == CALL_OVER)
                return;
        if (events & (EPOLLERR | EPOLLHUP)) {
                call_end(c, ROUTE_WHY_CLOSED);
                return;
        }
        if (events & EPOLLOUT)
                call_flush(c);
        if (!(events & EPOLLIN))
                return;
        if (c->state == CALL_HEAD || c->state == CALL_BODY)
                call_read(c);
        else if (c->state == CALL_LINGER || c->state == CALL_FLUSH)
                call_linger(c);
        else if (c->state != CALL_OVER)
                call_look(c);
}

void call_tick(uint64_t now) {
        for (RouteCall *c = routes.calls; c; c = c->next) {
                if (c->state == CALL_OVER || now < c->deadline)
                        continue;
                if (c->state == CALL_LOOKUP || c->state == CALL_UPSTREAM) {
                        lookup_leave(&c->found);
                        call_upstream_over(c, ROUTE_WHY_TIMED);
                } else
                        call_end(c, ROUTE_WHY_TIMED);
        }
}
