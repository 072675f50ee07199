/* Runs: lethe-proxy (lethe-routes). Routes, secrets, and messages to the supervisor. Secrets are in locked memory, never
 * dumped; copies made by libcurl are overwritten when libcurl frees the copies (route-curl.c). */
#include "proxy/process/route.h"

#include "base/clock.h"
#include "base/io.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>


typedef struct RouteLocked {
        ProxyRoute route[PROXY_ROUTES_MAX];
        char value[PROXY_ROUTES_MAX][PROXY_SECRET_MAX + PROXY_FORMAT_MAX + PROXY_HEADER_MAX + 4];
        char secret[PROXY_ROUTES_MAX][PROXY_SECRET_MAX];
        uint16_t borders[PROXY_ROUTES_MAX][PROXY_SECRET_MAX];
} RouteLocked;

Routes routes = {.listener = -1};
static RouteLocked *route_locked;

bool routes_load(void) {
        return route_curl_load();
}

bool routes_start(void) {
        void *p = mmap(NULL, sizeof(*route_locked), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED || mlock(p, sizeof(*route_locked)) < 0 || madvise(p, sizeof(*route_locked), MADV_DONTDUMP) < 0)
                return false;
        route_locked = p;
        return route_curl_start();
}

static bool route_is_text(const char *s, size_t n) {
        return memchr(s, 0, n) != NULL;
}

static bool route_is_valid(const ProxyRoute *r, size_t n) {
        bool good = n == sizeof(*r) && routes.n < PROXY_ROUTES_MAX && routes.listener < 0 && r->n_paths <= PROXY_PATHS_MAX &&
                    r->n_models <= PROXY_MODELS_MAX && route_is_text(r->name, sizeof(r->name)) && route_is_text(r->base, sizeof(r->base)) &&
                    route_is_text(r->header, sizeof(r->header)) && route_is_text(r->format, sizeof(r->format)) &&
                    route_is_text(r->secret, sizeof(r->secret)) && route_is_text(r->upstream.name, sizeof(r->upstream.name));

        for (size_t i = 0; good && i < r->n_paths; i++)
                good = route_is_text(r->paths[i], PROXY_PATH_MAX);
        for (size_t i = 0; good && i < r->n_models; i++)
                good = route_is_text(r->models[i], PROXY_MODEL_MAX);
        return good && (!*r->header || strstr(r->format, "{}"));
}

static void route_read_certificates(Route *to, int fd) {
        _cleanup_buf_ Buf b = {.max = PROXY_CERTIFICATES_MAX};
        char bytes[4096];
        ssize_t n;

        if (fd < 0)
                return;
        while ((n = TEMP_FAILURE_RETRY(read(fd, bytes, sizeof(bytes)))) > 0)
                if (buf_add(&b, bytes, (size_t)n) < 0)
                        proxy_die();
        if (n < 0 || b.n == 0)
                proxy_die();
        to->n_pem = b.n;
        to->pem = TAKE_PTR(b.data);
}

static void route_add(const ProxyRoute *r, int fd) {
        const unsigned i = routes.n++;
        Route *to = &routes.list[i];
        const char *place = strstr(r->format, "{}");

        *to = (Route){.r = &route_locked->route[i]};
        *to->r = *r;
        route_read_certificates(to, fd);
        if (!*r->header)
                return;
        to->secret = route_locked->secret[i];
        to->n_secret = strlen(r->secret);
        memcpy(to->secret, r->secret, to->n_secret);
        explicit_bzero(to->r->secret, sizeof(to->r->secret));
        to->borders = route_locked->borders[i];
        redact_borders(to->secret, to->n_secret, to->borders);
        to->value = route_locked->value[i];
        snprintf(to->value, sizeof(route_locked->value[i]), "%s: %.*s%s%s", r->header, (int)(place - r->format), r->format, to->secret, place + 2);
}

void routes_read(const uint8_t *packet, size_t n, int listener) {
        _cleanup_close_ int fd = listener;
        const ProxyHead *head = (const void *)packet;
        struct epoll_event e = {.events = EPOLLIN, .data.u64 = ROUTES_TAG};

        if (head->kind == PROXY_ROUTE && route_is_valid((const void *)packet, n)) {
                route_add((const void *)packet, fd);
                return;
        }
        if (head->kind != PROXY_ROUTES || n != sizeof(*head) || routes.listener >= 0 || fd < 0 || routes.n == 0 ||
            epoll_ctl(proxy.epoll, EPOLL_CTL_ADD, fd, &e) < 0)
                proxy_die();
        routes.listener = TAKE_FD(fd);
        routes.listening = true;
}

void routes_event(uint64_t tag, uint32_t events) {
        if (tag == ROUTES_TAG)
                call_accept();
        else if ((tag & 7) == 2)
                route_curl_event((unsigned)(tag >> 3 & 7), (int)(tag >> 6), events);
        else
                call_event((RouteCall *)(uintptr_t)(tag & ~UINT64_C(7)), events);
}

int routes_tick(int most) {
        static uint64_t ticked;
        const uint64_t now = clock_mono_usec();

        if (routes.calls && now - ticked >= 250000) {
                call_tick(now);
                ticked = now;
        }
        if (routes.calls)
                most = most < 0 ? 250 : MIN(most, 250);
        return route_curl_tick(most);
}

void routes_sweep(void) {
        call_sweep();
}

/* Texts of the region, for a record: unusual characters become "?". */
static void route_make_plain(char *s) {
        for (; *s; s++)
                if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
                        *s = '?';
}

/* An ended request is told once. */
void route_tell(RouteCall *c, RouteWhy why) {
        const bool denial = route_why_is_denial(why), failed = !denial && why != ROUTE_WHY_ANSWERED;
        const unsigned i = c->route ? (unsigned)(c->route - routes.list) : PROXY_ROUTES_MAX;
        ProxyCall *t = &c->told;
        unsigned n = 32;

        if (c->told_over)
                return;
        c->told_over = true;
        budget_settle(c);
        t->head = (ProxyHead){PROXY_CALL, sizeof(*t)};
        t->why = why;
        t->echoes += c->redact.found;
        route_make_plain(t->model);
        route_make_plain(t->detail);
        t->route = i;
        t->status = (uint16_t)c->status;
        t->usec = clock_mono_usec() - c->began;
        if (c->asked)
                EVP_DigestFinal_ex(c->asked, t->asked, &n);
        if (c->answered)
                EVP_DigestFinal_ex(c->answered, t->answered, &n);
        if (i < PROXY_ROUTES_MAX) {
                __typeof__(routes.sums.route[0]) *s = &routes.sums.route[i];

                s->requests++;
                s->denied += denial;
                s->failed += failed;
                s->up += t->up;
                s->down += t->down;
                s->tokens_in += t->tokens_in;
                s->tokens_out += t->tokens_out;
                s->echoes += t->echoes;
        }
        if (!denial && !proxy.every)
                return;
        if (send(proxy.control, t, sizeof(*t), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                routes.sums.denied_unsaid += denial;
}

void routes_close(void) {
        if (routes.n == 0)
                return;
        for (RouteCall *c = routes.calls; c; c = c->next)
                call_end(c, ROUTE_WHY_ENDED);
        route_curl_end();
        explicit_bzero(route_locked, sizeof(*route_locked));
        routes.sums.head = (ProxyHead){PROXY_ROUTE_SUMS, sizeof(routes.sums)};
        routes.sums.n = routes.n;
        send(proxy.control, &routes.sums, sizeof(routes.sums), MSG_NOSIGNAL);
}
