/* Runs: supervisor, lethe-proxy. Routes: HTTP servers that a region asks without holding their secret (A-30..A-32).
 *
 * A region asks http://127.0.0.1:PROXY_ROUTE_PORT/NAME/…; lethe-proxy adds the secret and speaks TLS to the upstream of
 * the route. The supervisor sends each route before OPEN, on the control channel of schema/proxy.h:
 *
 *   supervisor -> proxy                             proxy -> supervisor
 *   ROUTE  (ProxyRoute; a memory file with          CALL (ProxyCall) a request ended, or was refused
 *          certificates may go along)               ROUTE_SUMS (ProxyRouteSums) after CLOSE, before SUMS
 *   ROUTES (ProxyHead; the listener of the routes goes along)
 *
 * lethe-routes is lethe-proxy with libcurl; the plain lethe-proxy takes a ROUTE for a broken message, and ends. */
#pragma once

#include "schema/proxy.h"

#define PROXY_ROUTE_PORT 3129 /* of the region's loopback */
#define PROXY_ROUTES_MAX 8 /* of a region */
#define PROXY_ROUTE_NAME_MAX 33
#define PROXY_ROUTE_BASE_MAX 256
#define PROXY_HEADER_MAX 65
#define PROXY_FORMAT_MAX 129
#define PROXY_SECRET_MAX 4096
#define PROXY_SECRET_LEAST 8 /* a shorter secret cannot be searched for in answers */
#define PROXY_PATHS_MAX 16
#define PROXY_PATH_MAX 128
#define PROXY_MODELS_MAX 32
#define PROXY_MODEL_MAX 97
#define PROXY_CERTIFICATES_MAX (1024 * 1024)

enum { PROXY_ROUTE = PROXY_SUMS + 1,
       PROXY_ROUTES,
       PROXY_CALL,
       PROXY_ROUTE_SUMS };

typedef struct ProxyRoute {
        ProxyHead head;
        char name[PROXY_ROUTE_NAME_MAX]; /* in the region's URLs */
        uint8_t plain;                   /* http, without TLS */
        uint8_t model;                   /* request bodies are JSON and name a model of the list */
        ProxyRule upstream;              /* the host; no ports */
        uint16_t port;
        char base[PROXY_ROUTE_BASE_MAX];  /* path before the region's: "" or "/v1" */
        char header[PROXY_HEADER_MAX];    /* name of the header with the secret; empty: no secret */
        char format[PROXY_FORMAT_MAX];    /* its value, with {} for the secret */
        char secret[PROXY_SECRET_MAX];    /* NUL-terminated */
        uint64_t requests;                /* of the region's whole life; 0: no limit, as below */
        uint64_t tokens_in, tokens_out;
        uint64_t usec;  /* of one request */
        uint64_t bytes; /* of one answer */
        uint32_t n_paths, n_models;
        char paths[PROXY_PATHS_MAX][PROXY_PATH_MAX];    /* prefixes; n_paths 0: every path */
        char models[PROXY_MODELS_MAX][PROXY_MODEL_MAX]; /* n_models 0: every model */
} ProxyRoute;

/* How a request ended: name, text of records and of the answer's "rule", status of lethe-proxy's own answer. */
/* The detail of ROUTE_WHY_BUDGET for the budget that routes have in common with hosts by name, and its line. */
#define PROXY_NETWORK_BYTES "network.bytes"
#define PROXY_NETWORK_BYTES_ALLOW "policy: \"network\": {\"bytes\": ...}"

#define ROUTE_WHY(X)                                                                                       \
        X(ANSWERED, "answered", 0) /* by the upstream, with any status */                                  \
        X(CLOSED, "closed", 0)     /* the region left */                                                   \
        X(ENDED, "region_ended", 0)                                                                        \
        X(BROKEN, "bad_request", 400) /* no request that lethe-proxy understands */                        \
        X(TOO_LARGE, "request_too_large", 413)                                                             \
        X(BUSY, "busy", 503)               /* too many bytes of requests at once */                        \
        X(TIMED, "time", 504)              /* the upstream took too long */                                \
        X(UNKNOWN, "unknown_name", 502)    /* the resolver knows no address of the upstream */             \
        X(UNREACHED, "unreachable", 502)   /* no address could be connected to */                          \
        X(CERTIFICATE, "certificate", 502) /* not of the upstream's name, expired, or of unknown origin */ \
        X(TLS, "tls", 502)                 /* no TLS, or an old version */                                 \
        X(BAD_ANSWER, "bad_answer", 502)   /* no HTTP answer */                                            \
        X(CUT, "answer_cut_off", 502)      /* closed before the announced end */                           \
        X(LARGE_ANSWER, "answer_too_large", 502)                                                           \
        X(ENCODED, "answer_encoded", 502) /* compressed: the secret could not be searched for */           \
        X(REDIRECT, "redirect", 502)      /* never followed */                                             \
        X(BUDGET, "budget_exhausted", 429) /* from here on denials */                                      \
        X(NO_ROUTE, "no_such_route", 403)                                                                  \
        X(PATH, "path_not_allowed", 403)                                                                   \
        X(MODEL, "model_not_allowed", 403)                                                                 \
        X(PRIVATE, "private_address", 403) /* of the upstream, and not named by the policy */              \
        X(ECHO, "secret_in_answer", 0)     /* answered, and the secret was replaced in the answer */
#define ROUTE_WHY_ENUM(name, text, status) ROUTE_WHY_##name,
typedef enum RouteWhy { ROUTE_WHY(ROUTE_WHY_ENUM) ROUTE_WHYS } RouteWhy;
#define ROUTE_WHY_TEXT(name, text, status) text,
static inline const char *route_why_text(unsigned why) {
        static const char *const texts[] = {ROUTE_WHY(ROUTE_WHY_TEXT)};

        return why < ROUTE_WHYS ? texts[why] : "unknown";
}
#define ROUTE_WHY_STATUS(name, text, status) status,
static inline unsigned route_why_status(unsigned why) {
        static const unsigned statuses[] = {ROUTE_WHY(ROUTE_WHY_STATUS)};

        return why < ROUTE_WHYS ? statuses[why] : 0;
}
static inline bool route_why_is_denial(unsigned why) {
        return why >= ROUTE_WHY_BUDGET;
}

typedef struct ProxyCall {
        ProxyHead head;
        uint32_t why;   /* RouteWhy */
        uint32_t route; /* in the order of the ROUTE messages; PROXY_ROUTES_MAX: none */
        uint16_t status; /* of the upstream's answer; 0: no answer */
        uint8_t estimated; /* the tokens are the reserve: the answer has no usage */
        uint8_t has_usage; /* the tokens are known */
        uint8_t v6, has_address;
        uint8_t addr[16];   /* of the connection, or the refused address */
        uint64_t up, down;  /* bytes of the bodies */
        uint64_t usec;
        uint64_t tokens_in, tokens_out;
        uint64_t echoes;    /* places in the answer where the secret was */
        uint8_t asked[32], answered[32]; /* SHA-256 of the bodies */
        char method[8];
        char model[PROXY_MODEL_MAX];
        char detail[PROXY_PATH_MAX]; /* the refused path or route, or the exhausted budget; printable ASCII */
} ProxyCall;

typedef struct ProxyRouteSums {
        ProxyHead head;
        uint32_t n;
        uint32_t unused;
        uint64_t denied_unsaid; /* refusals without a CALL, because the supervisor did not read */
        struct {
                uint64_t requests, denied, failed, up, down, tokens_in, tokens_out, echoes;
        } route[PROXY_ROUTES_MAX];
} ProxyRouteSums;
