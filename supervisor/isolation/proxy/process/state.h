/* Runs: lethe-proxy. The parts of the process.
 *
 *   main.c      start, launcher, loop
 *   confine.c   the rights that lethe-proxy gives up before the first byte of a region
 *   control.c   messages of the supervisor, and to the supervisor
 *   connection.c  the life of a connection: request -> look-up -> connect -> hello -> tunnel
 *   answer.c    the answers to a region
 *   lookup.c    names become addresses (c-ares)
 *   tunnel.c    bytes of a connection, both ways
 *   publish.c   connections from outside into the region
 *   route*.c    routes (schema/route.h), in lethe-routes alone; no-routes.c stands for them in lethe-proxy */
#pragma once

#include "base/util.h"
#include "proxy/address.h"
#include "proxy/http-head.h"
#include "schema/route.h"

#define REQUEST_USEC 30000000 /* for the request, and for the hello */
#define LOOKUP_USEC 15000000
#define CONNECT_USEC 10000000 /* for each address */
#define LINGER_USEC 2000000   /* for a region to read its refusal */
#define ADDRESSES_MAX 16      /* of one name */
#define IN_MAX 49152          /* of a request, or a hello */

typedef enum ConnState {
        CONN_REQUEST, /* bytes of a request arrive */
        CONN_LOOKUP,
        CONN_CONNECT,
        CONN_HELLO, /* connected; the region's first bytes are judged */
        CONN_TUNNEL,
        CONN_LINGER, /* refused; the region reads the refusal */
        CONN_OVER,
} ConnState;

typedef enum Protocol { PROTOCOL_UNKNOWN,
                        PROTOCOL_CONNECT,
                        PROTOCOL_HTTP,
                        PROTOCOL_SOCKS5 } Protocol;

typedef struct ProxyConn ProxyConn;
typedef struct ConnSide {
        ProxyConn *conn;
        int fd;
        uint32_t events;    /* as epoll has them */
        bool watched, gone; /* gone: closed by the peer, no longer in the epoll set */
        bool ready;         /* in a tunnel: there may be bytes, or the end, to read */
} ConnSide;

typedef struct TunnelPiece TunnelPiece;
/* A direction of a tunnel. */
typedef struct ConnFlow {
        TunnelPiece *piece;   /* bytes that wait to be sent; or NULL */
        size_t n, sent; /* bytes of the piece; of these, sent */
        bool end, shut;
        uint64_t bytes;
} ConnFlow;

/* A look-up of a name. done() is called once, perhaps before lookup_ask() returns; n 0: no address. */
typedef struct Lookup Lookup;
typedef struct NameLookup NameLookup;
struct NameLookup {
        Lookup *pending;
        ProxyAddress list[ADDRESSES_MAX];
        size_t n;
        void (*done)(NameLookup *);
};

struct ProxyConn {
        ConnSide client, server;
        ConnState state;
        Protocol protocol;
        bool greeted;             /* SOCKS5: the method is agreed on */
        uint64_t began, deadline; /* CLOCK_MONOTONIC usec */
        ProxyRule asked;
        uint16_t port;
        bool plain;
        uint8_t *in; /* IN_MAX bytes from the region, not yet sent on; NULL: freed */
        size_t n_in, sent_in;
        Buf out;     /* to the region, before the tunnel's bytes */
        Buf head;    /* to the server, before `in` */
        bool framed; /* plain HTTP: the body ends, and with it what the server gets */
        uint64_t body;
        HttpChunks chunks;
        bool chunked, body_over;
        NameLookup found;
        size_t next; /* of found.list */
        ConnFlow up, down; /* client to server, and back */
        bool connected;
        uint16_t published; /* the host's port: the client is outside, and the server in the region; 0: else */
        ProxyWhy why;
        char seen[PROXY_NAME_MAX];
        ProxyConn *next_conn;
};

typedef struct Proxy {
        pid_t launcher; /* 0: the supervisor executed this process */
        int control, epoll, listener;
        bool opened, listening; /* OPEN has come; the listener is in the epoll set */
        ProxyRule *rules;
        ProxyNet *nets;
        size_t n_rules, n_nets;
        ProxyBudget budget;
        bool every;
        ProxyConn *conns;
        unsigned n_busy;  /* connections, and look-ups whose connection is gone */
        uint64_t granted; /* requests that the table allowed */
        ProxySums sums;
        uint64_t routed; /* bytes of requests to routes and of their answers, which sums does not have */
        AddressOwn own;
        uint64_t own_usec;
} Proxy;

extern Proxy proxy;

/* main.c */
_noreturn_ void proxy_die(void);
/* The bytes that the region's budget still has, of all its connections and requests. */
uint64_t proxy_bytes_left(void);
/* Sets the events of the side. */
void side_watch(ConnSide *s, uint32_t events);
void side_close(ConnSide *s);

/* confine.c: before the channel is read. False: not possible, and the process may not go on. */
bool confine(void);

/* control.c */
void control_read(void);
void control_tell(const ProxyConn *c);

/* lookup.c */
bool lookup_start(void); /* before confine() */
void lookup_ask(NameLookup *l, const char *name);
void lookup_leave(NameLookup *l);
void lookup_event(int fd, uint32_t events);
/* Steps of time; returns the milliseconds to the next one, at most `most`. */
int lookup_tick(int most);
void lookup_own_addresses(void);

/* connection.c */
void conn_accept(void);
void conn_event(ProxyConn *c, ConnSide *s, uint32_t events);
void conn_tick(uint64_t now);
void conn_end(ProxyConn *c, ProxyWhy why);
/* Frees ended connections, and listens again. */
void conn_sweep(void);

/* answer.c: puts an answer into c->out. */
void answer_connected(ProxyConn *c);
void answer_refused(ProxyConn *c, ProxyWhy why, const char *rule);

/* A connection at a published port of the host; fd is taken over. */
void conn_from_outside(int fd, const char *peer, uint16_t host_port, uint16_t port);

/* publish.c: the messages SOCKETS and PUBLISH; the descriptors are taken over. */
void publish_sockets_read(int channel);
void publish_read(const ProxyPublish *o, int listener);
/* Lends a socket of the region's network; -1: all are lent. */
int publish_take(void);
/* Takes the socket back. ended: both sides have ended; else the region gets a reset. */
void publish_give(int fd, bool ended);
/* True: the tag of the epoll set was a published port's. */
bool publish_event(const void *tag);
/* Listens while there is room. Returns false while connections wait for a socket that the kernel still closes. */
bool publish_sweep(void);

/* The host's ports are closed: before the supervisor is told that the work is done. */
void publish_close(void);

/* tunnel.c */
/* For a socket of the region's network, or a listener there: these connections lose nothing and are never congested.
 * A congestion control that paces, as the system's own may (bbr), would make them wait for a timer each few pieces. */
void tunnel_region_side(int fd);
void tunnel_open(ProxyConn *c);
/* Keeps the part of `in` that belongs to the request's body. Returns false for a broken body. */
bool tunnel_frame(ProxyConn *c);
void tunnel_close(ProxyConn *c);
/* Overwrites the bytes that passed through, when no tunnel is open. */
void tunnel_wipe(void);
/* Moves bytes without waiting. */
void tunnel_pump(ProxyConn *c);

/* Routes (schema/route.h). Tags of the epoll set: ROUTES_TAG says which are theirs; pointers of others are multiples of 8. */
#define ROUTES_TAG 6
bool routes_load(void);  /* once, before a launcher's forks */
bool routes_start(void); /* before confine() */
void routes_read(const uint8_t *packet, size_t n, int fd); /* a ROUTE or ROUTES message; the descriptor is taken over */
void routes_event(uint64_t tag, uint32_t events);
int routes_tick(int most); /* as lookup_tick() */
void routes_sweep(void);   /* as conn_sweep() */
void routes_close(void);   /* ends every request, tells the sums, and overwrites the secrets */
