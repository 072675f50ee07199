/* Runs: lethe-proxy. Names become addresses. A connection goes to these very addresses: no second look-up can
 * give others. */
#include "base/clock.h"
#include "proxy/process/state.h"

#include <ares.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>

#define TRY_MSEC 4000
#define TRIES 3
#define OWN_USEC 5000000 /* age of the list of the machine's own addresses */

struct Lookup {
        NameLookup *of; /* NULL: who asked is gone; the place is free when the resolver answers */
};

static ares_channel lookup_channel;

static void lookup_on_socket(void *data, ares_socket_t fd, int readable, int writable) {
        struct epoll_event e = {.events = (readable ? EPOLLIN : 0U) | (writable ? EPOLLOUT : 0U),
                                .data.u64 = (uint64_t)fd << 1 | 1};

        if (!e.events)
                epoll_ctl(proxy.epoll, EPOLL_CTL_DEL, fd, NULL);
        else if (epoll_ctl(proxy.epoll, EPOLL_CTL_MOD, fd, &e) < 0)
                epoll_ctl(proxy.epoll, EPOLL_CTL_ADD, fd, &e);
}

bool lookup_start(void) {
        static char files_then_dns[] = "fb";
        /* Names are whole: no search list adds to them. */
        struct ares_options o = {.ndomains = 0, .timeout = TRY_MSEC, .tries = TRIES, .lookups = files_then_dns, .sock_state_cb = lookup_on_socket};

        return ares_library_init(ARES_LIB_INIT_ALL) == ARES_SUCCESS &&
               ares_init_options(&lookup_channel, &o, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_DOMAINS | ARES_OPT_SOCK_STATE_CB) ==
                       ARES_SUCCESS;
}

static void lookup_add(NameLookup *c, const struct sockaddr *sa) {
        ProxyAddress a = {.v6 = sa->sa_family == AF_INET6};

        if (c->n >= ADDRESSES_MAX || (sa->sa_family != AF_INET && !a.v6))
                return;
        if (a.v6)
                memcpy(a.addr, &((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, 16);
        else
                memcpy(a.addr, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
        for (size_t i = 0; i < c->n; i++)
                if (c->list[i].v6 == a.v6 && memcmp(c->list[i].addr, a.addr, sizeof(a.addr)) == 0)
                        return;
        c->list[c->n++] = a;
}

static void lookup_done(void *arg, int status, int timeouts, struct ares_addrinfo *result) {
        Lookup *l = arg;
        NameLookup *c = l->of;

        (void)timeouts;
        for (const struct ares_addrinfo_node *n = status == ARES_SUCCESS && c ? result->nodes : NULL; n; n = n->ai_next)
                lookup_add(c, n->ai_addr);
        if (result)
                ares_freeaddrinfo(result);
        free(l);
        if (c) {
                c->pending = NULL;
                c->done(c);
        } else
                proxy.n_busy--;
}

void lookup_ask(NameLookup *c, const char *name) {
        const struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_NOSORT, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

        c->n = 0;
        c->pending = calloc(1, sizeof(*c->pending));
        if (!c->pending) {
                c->done(c);
                return;
        }
        c->pending->of = c;
        ares_getaddrinfo(lookup_channel, name, NULL, &hints, lookup_done, c->pending); /* may answer at once */
}

void lookup_leave(NameLookup *c) {
        if (!c->pending)
                return;
        c->pending->of = NULL;
        c->pending = NULL;
        proxy.n_busy++; /* until the resolver answers */
}

void lookup_event(int fd, uint32_t events) {
        const bool broken = events & (EPOLLERR | EPOLLHUP);

        ares_process_fd(lookup_channel, broken || events & EPOLLIN ? fd : ARES_SOCKET_BAD, broken || events & EPOLLOUT ? fd : ARES_SOCKET_BAD);
}

int lookup_tick(int most) {
        struct timeval limit = {.tv_sec = 3600}, room, *next;
        int msec;

        ares_process_fd(lookup_channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
        next = ares_timeout(lookup_channel, &limit, &room);
        if (!next || next->tv_sec >= 3600)
                return most;
        msec = (int)(next->tv_sec * 1000 + next->tv_usec / 1000) + 1;
        return most < 0 ? msec : MIN(msec, most);
}

void lookup_own_addresses(void) {
        const uint64_t now = clock_mono_usec();
        struct ifaddrs *list = NULL;

        if (proxy.own_usec > 0 && now - proxy.own_usec < OWN_USEC)
                return;
        proxy.own_usec = now;
        proxy.own.n = 0;
        proxy.own.unknown = getifaddrs(&list) < 0;
        for (const struct ifaddrs *i = proxy.own.unknown ? NULL : list; i; i = i->ifa_next) {
                ProxyAddress *a = &proxy.own.list[proxy.own.n];

                if (!i->ifa_addr || (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
                        continue;
                if (proxy.own.n >= ADDRESS_OWN_MAX) {
                        proxy.own.unknown = true;
                        break;
                }
                *a = (ProxyAddress){.v6 = i->ifa_addr->sa_family == AF_INET6};
                if (a->v6)
                        memcpy(a->addr, &((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr, 16);
                else
                        memcpy(a->addr, &((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr, 4);
                proxy.own.n++;
        }
        if (list)
                freeifaddrs(list);
}
