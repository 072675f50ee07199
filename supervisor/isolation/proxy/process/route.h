/* Runs: lethe-proxy (lethe-routes). The parts of a request to a route.
 *
 *   route.c         routes, their secrets and budgets; the listener; the sums
 *   route-call.c    the life of a request: head -> body -> look-up -> upstream -> answer
 *   route-budget.c  is the request allowed: path, model, budgets; reserve and settlement
 *   route-curl.c    libcurl: options, certificates, sockets in the epoll set
 *   route-answer.c  the upstream's answer to the region; answers of lethe-proxy */
#pragma once

#include "proxy/model.h"
#include "proxy/process/state.h"
#include "proxy/redact.h"
#include "proxy/route-path.h"

#include <curl/curl.h>
#include <openssl/evp.h>

#define ROUTE_CALLS_MAX 16                 /* requests at once */
#define ROUTE_BODY_MAX (8 * 1024 * 1024)   /* of one request */
#define ROUTE_BODIES_MAX (24 * 1024 * 1024) /* of all requests at once */
#define ROUTE_HEAD_MAX 32768               /* of an answer */
#define ROUTE_HOLD_MAX 65536               /* of a JSON answer: an earlier failure is told with a status */
#define ROUTE_OUT_MAX (256 * 1024)         /* waits for the region; then the upstream is not read */

typedef struct Route {
        ProxyRoute *r; /* in locked memory, without the secret */
        char *value;   /* of the header, in locked memory; NULL: no secret */
        char *secret;  /* in locked memory */
        uint16_t *borders;
        size_t n_secret;
        char *pem; /* certificates that the policy names; NULL: the system's */
        size_t n_pem;
        X509_STORE *store;
        ProxyAddress list[ADDRESSES_MAX]; /* of the last look-up */
        size_t n_list;
        uint64_t looked_up; /* CLOCK_MONOTONIC usec */
        uint64_t n_asked, in, out, reserved_in, reserved_out;
} Route;

typedef enum CallState { CALL_HEAD,
                         CALL_BODY,
                         CALL_LOOKUP,
                         CALL_UPSTREAM,
                         CALL_FLUSH, /* the answer is whole; the region reads the rest */
                         CALL_LINGER,
                         CALL_OVER } CallState;

typedef struct RouteCall {
        CallState state;
        int fd;
        uint32_t events;
        bool watched, told_over;
        uint64_t began, deadline;
        Buf in; /* the head, and the bytes behind the head */
        HttpHead head;
        bool old; /* HTTP/1.0: the answer ends with the connection */
        bool head_only; /* HEAD */
        RoutePath path;
        Buf body;
        HttpChunks chunks;
        Route *route;
        NameLookup found;
        size_t next_address;
        /* libcurl */
        CURL *easy;
        struct curl_slist *headers, *connect_to;
        bool in_multi, paused;
        /* the answer */
        Buf answer_head; /* lines for the region, each with CR LF */
        size_t n_answer_head;
        unsigned status;
        bool head_over, json, events_stream, encoded, moved;
        Buf hold, out;
        bool head_sent;
        Redact redact;
        ModelUsage usage;
        EVP_MD_CTX *asked, *answered;
        uint64_t reserved_in, reserved_out;
        RouteWhy failure; /* of a callback of libcurl */
        ProxyCall told;
        struct RouteCall *next;
} RouteCall;

typedef struct Routes {
        Route list[PROXY_ROUTES_MAX];
        unsigned n;
        int listener;
        bool listening;
        RouteCall *calls;
        unsigned n_calls;
        size_t n_bodies; /* bytes */
        ProxyRouteSums sums;
} Routes;
extern Routes routes;

/* route.c */
void route_tell(RouteCall *c, RouteWhy why);

/* route-call.c */
void call_accept(void);
void call_event(RouteCall *c, uint32_t events);
void call_tick(uint64_t now);
void call_sweep(void);
/* The upstream's part is over. */
void call_upstream_over(RouteCall *c, RouteWhy why);
/* Sends waiting bytes, as far as the region takes them. */
void call_flush(RouteCall *c);
void call_end(RouteCall *c, RouteWhy why);

/* route-budget.c: returns ROUTE_WHY_ANSWERED, and has made the reserve; or a refusal, with c->told.detail. */
RouteWhy budget_judge(RouteCall *c, const char **ret_rule);
void budget_settle(RouteCall *c);

/* route-curl.c */
bool route_curl_load(void);
bool route_curl_start(void);
RouteWhy route_curl_begin(RouteCall *c);
void route_curl_drop(RouteCall *c);
void route_curl_unpause(RouteCall *c);
/* The tag of a socket of libcurl in the epoll set. */
static_assert(PROXY_ROUTES_MAX == 8, "three bits of a tag");
#define ROUTES_SOCKET_TAG(fd, route) ((uint64_t)(fd) << 6 | (uint64_t)(route) << 3 | 2)
void route_curl_event(unsigned route, int fd, uint32_t events);
int route_curl_tick(int most);
/* Overwrites and frees the memory of libcurl and OpenSSL. */
void route_curl_end(void);

/* route-answer.c */
size_t answer_on_header(char *bytes, size_t size, size_t n, void *call);
size_t answer_on_body(char *bytes, size_t size, size_t n, void *call);
/* The end of a whole answer. */
void answer_whole(RouteCall *c);
/* lethe-proxy's own answer, in place of the upstream's. */
void answer_own(RouteCall *c, RouteWhy why, const char *rule);
