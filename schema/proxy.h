/* Runs: supervisor, lethe-proxy. The messages between the supervisor and lethe-proxy.
 *
 * A lethe-proxy connects one region, which may reach hosts by name. It has no store, no key and no file but the system's
 * resolver files, and holds no capability. The region's bytes go through lethe-proxy alone, never through the
 * supervisor. Each region has a separate lethe-proxy: no region can reach connections, memory or processor time of another
 * region.
 *
 * The control channel is a SOCK_SEQPACKET pair; each message is one packet, and begins with a ProxyHead.
 *
 *   supervisor -> proxy                            proxy -> supervisor
 *   OPEN (ProxyOpen, ProxyRules, ProxyNets;        END    (ProxyEnd) a connection ended, or was refused
 *         the region's listener goes along, where
 *         the region has hosts by name)
 *   SOCKETS (ProxyHead; a socket goes along)
 *   PUBLISH (ProxyPublish; a listener goes along)
 *   CLOSE: every connection is ended               SUMS   (ProxySums) the answer to CLOSE; lethe-proxy exits
 *
 * A published port of the host leads to a port of the region's loopback. lethe-proxy cannot enter the region's network:
 * SOCKETS brings sockets that the worker made there before the region's program started, SOCKETS_MAX of them in one
 * message on the socket that goes along. They can connect inside the region's network and nowhere else. PUBLISH brings a
 * listener of the host, which the supervisor bound.
 *
 * The end of the channel ends lethe-proxy: the supervisor is the only holder of the other end. A message of a wrong
 * size or kind does the same. The supervisor takes messages of lethe-proxy for hostile: sizes, numbers and texts are
 * checked, and a wrong message ends lethe-proxy.
 *
 * A launcher (`lethe-proxy launcher`) forks a lethe-proxy for each socket that arrives on its channel, for a confined
 * supervisor, which cannot execute programs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PROXY_FD_CONTROL 3
#define PROXY_PORT 3128    /* of the region's loopback: HTTP and SOCKS5 on one port */
#define PROXY_NAME_MAX 254 /* a host name and a NUL (RFC 1035 2.3.4) */
#define PROXY_RULES_MAX 64
#define PROXY_NETS_MAX 64
#define PROXY_CONNECTIONS_MAX 128 /* open at once */
#define PROXY_PUBLISH_MAX 8       /* published ports of a region */
#define PROXY_UID 1879048191U     /* of a lethe-proxy whose supervisor is root: in no range that others use */

typedef enum ProxyKind { PROXY_OPEN = 1,
                         PROXY_CLOSE,
                         PROXY_END,
                         PROXY_SUMS,
                         PROXY_SOCKETS = 16, /* supervisor -> proxy, before PUBLISH */
                         PROXY_PUBLISH } ProxyKind;

typedef struct ProxyHead {
        uint32_t kind;
        uint32_t size; /* of the whole packet */
} ProxyHead;

typedef enum ProxyHost { PROXY_HOST_NAME = 1,
                         PROXY_HOST_BELOW,
                         PROXY_HOST_IPV4,
                         PROXY_HOST_IPV6 } ProxyHost;

/* A row of a region's decision table: hosts and ports that the region may reach. */
typedef struct ProxyRule {
        char name[PROXY_NAME_MAX]; /* in small letters; HOST_BELOW: every name below this name */
        uint8_t host;              /* ProxyHost */
        uint8_t plain;             /* on port 443, other protocols than TLS are allowed */
        uint16_t first, last;      /* ports */
        uint8_t addr[16];          /* HOST_IPV4: the first 4 bytes */
} ProxyRule;

/* A range of addresses that the policy names: private addresses of the range may be reached. */
typedef struct ProxyNet {
        uint8_t v6;     /* else IPv4, the first 4 bytes */
        uint8_t prefix; /* bits */
        uint8_t addr[16];
} ProxyNet;

/* 0: no limit. */
typedef struct ProxyBudget {
        uint64_t connections; /* of the region's whole life */
        uint64_t bytes;       /* up and down */
        uint64_t usec;        /* of one connection */
} ProxyBudget;

typedef struct ProxyOpen {
        ProxyHead head;
        ProxyBudget budget;
        uint32_t n_rules, n_nets;
        uint32_t every; /* an END for each connection; 0: for refusals alone */
        uint32_t unused;
        /* behind: ProxyRule rules[n_rules]; ProxyNet nets[n_nets] */
} ProxyOpen;
#define PROXY_PACKET_MAX \
        (sizeof(ProxyOpen) + PROXY_RULES_MAX * sizeof(ProxyRule) + PROXY_NETS_MAX * sizeof(ProxyNet))

/* A port of the host that leads to a port of the region. */
typedef struct ProxyPublish {
        ProxyHead head;
        uint16_t host_port; /* for records */
        uint16_t port;      /* of the region's 127.0.0.1 */
        uint32_t unused;
} ProxyPublish;

/* Why a connection ended: name, and text in records and in the 403's "rule". */
#define PROXY_WHY(X)                                                                                             \
        X(CLOSED, "closed")         /* by either side */                                                         \
        X(TIMED, "time")            /* a step took too long: request, look-up, connect, hello */                 \
        X(UNREACHED, "unreachable") /* no address of the name could be connected to */                           \
        X(UNKNOWN, "unknown_name")  /* the resolver knows no address */                                          \
        X(BROKEN, "bad_request")    /* no request that lethe-proxy understands */                                \
        X(ENDED, "region_ended")                                                                                 \
        X(NOT_ALLOWED, "not_allowed")      /* no row of the table has the host and port; from here on denials */ \
        X(PRIVATE, "private_address")      /* an address that the policy does not name */                        \
        X(NOT_TLS, "not_tls")              /* port 443, and no TLS hello */                                      \
        X(OTHER_NAME, "other_server_name") /* port 443, and the hello asks for another name */                   \
        X(BUDGET, "budget")                /* connections, bytes or time */
#define PROXY_WHY_ENUM(name, text) PROXY_WHY_##name,
typedef enum ProxyWhy { PROXY_WHY(PROXY_WHY_ENUM) PROXY_WHYS } ProxyWhy;
#define PROXY_WHY_TEXT(name, text) text,
static inline const char *proxy_why_text(unsigned why) {
        static const char *const texts[] = {PROXY_WHY(PROXY_WHY_TEXT)};

        return why < PROXY_WHYS ? texts[why] : "unknown";
}
static inline bool proxy_why_is_denial(unsigned why) {
        return why >= PROXY_WHY_NOT_ALLOWED;
}

typedef struct ProxyEnd {
        ProxyHead head;
        uint32_t why; /* ProxyWhy */
        uint16_t port; /* as asked for; of a published connection, the region's */
        uint8_t v6, has_address; /* the connected address, or the refused one */
        uint8_t addr[16];
        uint64_t up, down; /* bytes from and to the region */
        uint64_t usec;
        char name[PROXY_NAME_MAX]; /* the host as asked for, in small letters; empty: not known. Published: the peer */
        char seen[PROXY_NAME_MAX]; /* OTHER_NAME: the name in the hello; empty: no name */
        uint32_t published;        /* the host's port of a connection from outside; 0: a connection of the region */
} ProxyEnd;

typedef struct ProxySums {
        ProxyHead head;
        uint64_t connections, denied, failed; /* connected; refused; allowed or broken, and not connected */
        uint64_t up, down, usec;
        uint64_t denied_unsaid; /* refusals without an END, because the supervisor did not read */
} ProxySums;
