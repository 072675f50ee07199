/* Runs: supervisor. */
#include "region/region-proxy.h"

#include "base/child-registry.h"
#include "base/clock.h"
#include "base/io.h"
#include "manifest/net-name.h"
#include "policy/allow.h"
#include "proxy/address.h"
#include "region/region-route.h"
#include "spawn/launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define ENDS_MAX 512
#define PUBLISH_BACKLOG 128
#define READ_BATCH 64  /* messages in a row: a flood of refusals cannot delay the loop */
#define FINISH_MS 1000 /* lethe-proxy answers in a moment, or is killed */

int region_proxy_start(RegionProxy *p, Spawner *spawner, bool routes, Diag *reterr) {
        _cleanup_close_ int theirs = -1;
        int pair[2], e;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        p->control = pair[0];
        p->wanted = true;
        theirs = pair[1];
        e = io_set_nonblock(p->control);
        if (e == 0 && (!spawner || spawner_launch(spawner, routes ? SPAWNER_ROUTES : SPAWNER_PROXY, theirs) < 0)) {
                e = launcher_execute(routes ? "lethe-routes" : "lethe-proxy", NULL, theirs);
                p->pid = MAX(e, 0);
                e = MIN(e, 0);
        }
        if (e < 0)
                closep(&p->control);
        return e < 0 ? diag(reterr, e, "%s cannot be started: %s; fix: install it beside lethe-worker, or "
                                       "restart the daemon",
                            routes ? "lethe-routes" : "lethe-proxy", strerror(-e))
                     : 0;
}

static int proxy_bind(const NetPublish *at, int *ret, uint16_t *ret_port) {
        static const int on = 1;
        const ProxyAddress a = {.v6 = at->v6};
        _cleanup_close_ int fd = socket(at->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
        struct sockaddr_storage sa;
        socklen_t n;

        if (fd < 0)
                return -errno;
        memcpy((void *)a.addr, at->addr, sizeof(a.addr));
        n = address_to_sockaddr(&a, at->host_port, &sa);
        if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
            (at->v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
            bind(fd, (const void *)&sa, n) < 0 || listen(fd, PUBLISH_BACKLOG) < 0 || getsockname(fd, (void *)&sa, &n) < 0)
                return -errno;
        *ret_port = ntohs(at->v6 ? ((struct sockaddr_in6 *)&sa)->sin6_port : ((struct sockaddr_in *)&sa)->sin_port);
        *ret = TAKE_FD(fd);
        return 0;
}

int region_proxy_bind(RegionProxy *p, const Grant *g, Diag *reterr) {
        for (size_t i = 0; i < g->n_publishes; i++) {
                RegionPublish *one = &p->publishes[i];
                char text[NET_PUBLISH_TEXT_MAX];
                int e;

                *one = (RegionPublish){.at = g->publishes[i], .listener = -1};
                e = proxy_bind(&g->publishes[i], &one->listener, &one->at.host_port);
                if (e < 0)
                        return diag(reterr, e, "--publish %s: the host's port cannot be listened at: %s%s",
                                    net_publish_format(&g->publishes[i], text), strerror(-e),
                                    e == -EADDRINUSE ? "; fix: another port, or 0 for one that the kernel chooses"
                                    : e == -EACCES   ? "; fix: a port from 1024 on, or 0 for one that the kernel chooses"
                                                     : "");
                p->n_publishes = i + 1;
        }
        return 0;
}

static int proxy_publish(RegionProxy *p, int sockets) {
        const ProxyHead head = {PROXY_SOCKETS, sizeof(head)};
        int e = p->n_publishes == 0 ? 0 : sockets < 0 ? -ENOTCONN
                                                      : io_send_fds(p->control, &head, sizeof(head), &sockets, 1);

        for (size_t i = 0; e == 0 && i < p->n_publishes; i++) {
                RegionPublish *one = &p->publishes[i];
                const ProxyPublish m = {.head = {PROXY_PUBLISH, sizeof(m)}, .host_port = one->at.host_port, .port = one->at.port};

                e = io_send_fds(p->control, &m, sizeof(m), &one->listener, 1);
                closep(&one->listener);
        }
        return e;
}

int region_proxy_open(RegionProxy *p, const Grant *g, int listener, int sockets) {
        static const ProxyHead head = {.kind = PROXY_OPEN};
        _cleanup_close_ int fd = listener, pair = sockets;
        int e;
        _cleanup_free_ uint8_t *packet = calloc(1, PROXY_PACKET_MAX);
        ProxyOpen *o = (void *)packet;
        uint8_t *at;

        if (!packet)
                return -ENOMEM;
        if (g->n_allows > PROXY_RULES_MAX || g->n_privates > PROXY_NETS_MAX)
                return -E2BIG;
        *o = (ProxyOpen){.head = head, .budget = g->net_budget,
                         .n_rules = (uint32_t)g->n_allows, .n_nets = (uint32_t)g->n_privates,
                         .every = g->lineage != LINEAGE_STATS};
        at = packet + sizeof(*o);
        for (size_t i = 0; i < g->n_allows; i++, at += sizeof(ProxyRule))
                memcpy(at, &g->allows[i].rule, sizeof(ProxyRule));
        for (size_t i = 0; i < g->n_privates; i++, at += sizeof(ProxyNet))
                memcpy(at, &g->privates[i], sizeof(ProxyNet));
        o->head.size = (uint32_t)(at - packet);
        e = io_send_fds(p->control, packet, o->head.size, &fd, fd >= 0);
        return e ?: proxy_publish(p, pair);
}

static bool proxy_text_is_host(const char *text) {
        ProxyRule r;

        return memchr(text, 0, PROXY_NAME_MAX) &&
               (!*text || (net_host_parse(text, strlen(text), &r) == 0 && strcmp(r.name, text) == 0));
}

static bool proxy_end_is_valid(const ProxyEnd *e, ssize_t n) {
        return n == (ssize_t)sizeof(*e) && e->head.size == sizeof(*e) && e->why < PROXY_WHYS &&
               proxy_text_is_host(e->name) && proxy_text_is_host(e->seen) && e->up <= JSON_INTEGER_MOST &&
               e->down <= JSON_INTEGER_MOST && e->usec <= JSON_INTEGER_MOST && e->published <= UINT16_MAX;
}

static const char *proxy_address(const ProxyEnd *e, char out[static INET6_ADDRSTRLEN]) {
        return inet_ntop(e->v6 ? AF_INET6 : AF_INET, e->addr, out, INET6_ADDRSTRLEN);
}

/* The connection as an object of a denial: the host and port as asked for, with the reason. */
static void proxy_deny(const ProxyEnd *e, Denials *denials) {
        const bool v6 = strchr(e->name, ':');
        char address[INET6_ADDRSTRLEN];
        _cleanup_free_ char *object = NULL, *host = NULL, *allow = NULL;

        if (e->published) {
                object = text_printf("published port %u (the budget of the network is used up)", e->published);
                denials_add(denials, "network", "proxy", object ?: "published port", object ? strlen(object) : 14, NULL);
                return;
        }
        host = text_printf("%s%s%s:%u", v6 ? "[" : "", e->name, v6 ? "]" : "", e->port);
        if (!host) {
                denials->others++;
                return;
        }
        switch ((ProxyWhy)e->why) {
        case PROXY_WHY_NOT_ALLOWED:
                object = strdup(host);
                allow = text_printf("\"network\": {\"allow\": [\"%s\"]}", host);
                break;
        case PROXY_WHY_PRIVATE:
                object = text_printf("%s (%s is private, or this machine's own)", host, proxy_address(e, address));
                allow = text_printf("policy: \"network\": {\"private\": [\"%s\"]}", proxy_address(e, address));
                break;
        case PROXY_WHY_NOT_TLS:
                object = text_printf("%s (no TLS)", host);
                allow = text_printf("\"network\": {\"allow\": [{\"name\": \"%s\", \"plain\": true}]}", host);
                break;
        case PROXY_WHY_OTHER_NAME:
                object = text_printf("%s (the TLS hello asks for %s)", host, *e->seen ? e->seen : "no name");
                break;
        case PROXY_WHY_BUDGET:
                object = text_printf("%s (the budget of the network is used up)", host);
                break;
        case PROXY_WHY_CLOSED:
        case PROXY_WHY_TIMED:
        case PROXY_WHY_UNREACHED:
        case PROXY_WHY_UNKNOWN:
        case PROXY_WHY_BROKEN:
        case PROXY_WHY_ENDED:
        case PROXY_WHYS:
                break;
        }
        if (object)
                denials_add(denials, "network", "proxy", object, strlen(object), allow);
        else
                denials->others++;
}

static void proxy_note(RegionProxy *p, const ProxyEnd *e) {
        char address[INET6_ADDRSTRLEN] = "";
        json_t *o;

        if (!p->ends)
                p->ends = json_array();
        if (json_array_size(p->ends) >= ENDS_MAX || !p->ends) {
                p->n_others++;
                return;
        }
        o = json_pack("{s:s, s:i, s:s, s:s*, s:o, s:o, s:o, s:o*}", "name", e->name, "port", e->port, "verdict",
                      proxy_why_text(e->why), "address", e->has_address ? proxy_address(e, address) : NULL, "up_bytes",
                      json_u64(e->up), "down_bytes", json_u64(e->down), "usec", json_u64(e->usec), "published", e->published ? json_integer(e->published) : NULL);
        if (json_array_append_new(p->ends, o) < 0)
                p->n_others++;
}

static int proxy_lost(RegionProxy *p) {
        closep(&p->control);
        p->lost = true;
        return -EPIPE;
}

/* Takes a message. Returns 1, -EAGAIN, -EPIPE. */
static int proxy_take(RegionProxy *p, Denials *denials, bool *ret_denied) {
        union {
                ProxyHead head;
                ProxyEnd end;
                ProxySums sums;
                ProxyCall call;
                ProxyRouteSums route_sums;
        } m;
        ssize_t n = TEMP_FAILURE_RETRY(recv(p->control, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC));

        if (n < 0 && errno == EAGAIN)
                return -EAGAIN;
        if (n >= (ssize_t)sizeof(m.head) && m.head.kind == PROXY_END && proxy_end_is_valid(&m.end, n)) {
                if (proxy_why_is_denial(m.end.why)) {
                        proxy_deny(&m.end, denials);
                        *ret_denied = true;
                }
                proxy_note(p, &m.end);
                return 1;
        }
        if (n >= (ssize_t)sizeof(m.head) && (m.head.kind == PROXY_CALL || m.head.kind == PROXY_ROUTE_SUMS) &&
            region_route_take(p, &m, n, denials, ret_denied))
                return 1;
        if (n == (ssize_t)sizeof(m.sums) && m.head.kind == PROXY_SUMS && m.head.size == sizeof(m.sums) &&
            m.sums.up <= JSON_INTEGER_MOST && m.sums.down <= JSON_INTEGER_MOST && m.sums.connections <= JSON_INTEGER_MOST &&
            m.sums.denied <= JSON_INTEGER_MOST && m.sums.failed <= JSON_INTEGER_MOST && m.sums.denied_unsaid <= m.sums.denied) {
                p->sums = m.sums;
                p->summed = true;
                denials->others += m.sums.denied_unsaid;
                denials->total += m.sums.denied_unsaid;
                closep(&p->control);
                return 1;
        }
        return proxy_lost(p);
}

int region_proxy_read(RegionProxy *p, Denials *denials, bool *ret_denied) {
        int r = 1;

        *ret_denied = false;
        for (unsigned i = 0; r > 0 && i < READ_BATCH && p->control >= 0; i++)
                r = proxy_take(p, denials, ret_denied);
        return r == -EPIPE ? r : 0;
}

void region_proxy_close(RegionProxy *p) {
        const ProxyHead close = {.kind = PROXY_CLOSE, .size = sizeof(close)};

        if (p->control >= 0)
                io_send_fds(p->control, &close, sizeof(close), NULL, 0);
}

int region_proxy_finish(RegionProxy *p, Denials *denials) {
        const uint64_t until = clock_mono_usec() + FINISH_MS * 1000;
        bool denied;
        int r = 0;

        while (p->control >= 0 && r == 0) {
                struct pollfd f = {.fd = p->control, .events = POLLIN};
                const uint64_t now = clock_mono_usec();

                /* Messages without end hold up no teardown. */
                if (now >= until || poll(&f, 1, (int)((until - now + 999) / 1000)) <= 0)
                        r = proxy_lost(p);
                else
                        r = region_proxy_read(p, denials, &denied);
        }
        closep(&p->control);
        if (p->pid > 0) {
                kill(p->pid, SIGKILL); /* after the sums the work is done */
                child_registry_reap_later(p->pid);
                child_registry_reap_dead();
        }
        p->pid = 0;
        return r;
}

json_t *region_proxy_published(const RegionProxy *p) {
        json_t *list = json_array();

        for (size_t i = 0; i < p->n_publishes; i++) {
                const NetPublish *at = &p->publishes[i].at;
                char host[INET6_ADDRSTRLEN] = "";

                inet_ntop(at->v6 ? AF_INET6 : AF_INET, at->addr, host, sizeof(host));
                json_array_append_new(list, json_pack("{s:s, s:i, s:i}", "address", host, "port", at->host_port, "to", at->port));
        }
        return list;
}

json_t *region_proxy_json(const RegionProxy *p) {
        json_t *published = p->wanted && p->n_publishes > 0 ? region_proxy_published(p) : NULL;

        if (!p->wanted)
                return NULL;
        if (!p->summed)
                return json_pack("{s:b, s:o*}", "lost", 1, "published", published);
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o*, s:o*}", "connections", json_u64(p->sums.connections), "denied",
                         json_u64(p->sums.denied), "failed", json_u64(p->sums.failed), "up_bytes", json_u64(p->sums.up),
                         "down_bytes", json_u64(p->sums.down), "published", published, "routes", region_routes_json(p));
}

void region_proxy_deinit(RegionProxy *p) {
        closep(&p->control);
        for (size_t i = 0; i < p->n_publishes; i++)
                closep(&p->publishes[i].listener);
        if (p->pid > 0) {
                kill(p->pid, SIGKILL);
                child_registry_reap(p->pid);
        }
        json_decref(TAKE_PTR(p->ends));
        json_decref(TAKE_PTR(p->routes));
        json_decref(TAKE_PTR(p->calls));
        *p = REGION_PROXY_NULL;
}
