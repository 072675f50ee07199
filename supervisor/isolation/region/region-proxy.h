/* Runs: supervisor. The lethe-proxy of a region with hosts by name, seen from the supervisor (schema/proxy.h). The
 * messages of lethe-proxy are taken for hostile. */
#pragma once

#include "base/json.h"
#include "policy/grant.h"
#include "region/region-denial.h"
#include "schema/route.h"
#include "spawn/spawner.h"

/* A port of the host that leads into the region. */
typedef struct RegionPublish {
        NetPublish at; /* with the host's port as bound */
        int listener;  /* until lethe-proxy has it; else -1 */
} RegionPublish;

typedef struct RegionProxy {
        int control; /* nonblocking; -1: no channel, or closed */
        pid_t pid;   /* executed by this process; 0: made by the launcher */
        bool wanted; /* the region has a proxy */
        bool lost;   /* lethe-proxy ended by itself, or broke the protocol: the sums are not known */
        bool summed; /* sums is the answer to CLOSE */
        ProxySums sums;
        json_t *ends;      /* owned: ended connections, the first of the list; or NULL */
        uint64_t n_others; /* ended connections beyond the list */
        json_t *routes;    /* owned: names of the routes, as lethe-proxy numbers them; NULL: none (region-route.h) */
        json_t *calls;     /* owned: ended requests to routes, the first of the list; or NULL */
        uint64_t n_other_calls;
        bool route_summed;
        ProxyRouteSums route_sums;
        RegionPublish publishes[PROXY_PUBLISH_MAX];
        size_t n_publishes;
} RegionProxy;
#define REGION_PROXY_NULL ((RegionProxy){.control = -1})

/* Starts lethe-proxy, or lethe-routes; without a Spawner by exec. Returns 0; -errno, with a message. */
int region_proxy_start(RegionProxy *p, Spawner *spawner_or_null, bool routes, Diag *reterr);
/* Binds the host's ports of a grant, before the start. Returns 0; -errno, with a message. */
int region_proxy_bind(RegionProxy *p, const Grant *g, Diag *reterr);
/* Gives lethe-proxy the region's table, the listeners, and the sockets of STATUS_SOCKETS. listener and sockets are taken
 * over; -1: none. Returns 0 or -errno. */
int region_proxy_open(RegionProxy *p, const Grant *g, int listener, int sockets);
/* Takes a batch of messages at most. *ret_denied: with a refusal. Returns 0, or -EPIPE once: lethe-proxy is lost. */
int region_proxy_read(RegionProxy *p, Denials *denials, bool *ret_denied);
/* The region stands still: every connection is to be ended. */
void region_proxy_close(RegionProxy *p);
/* Waits for the sums, at most a second, and ends lethe-proxy. Returns as region_proxy_read(). */
int region_proxy_finish(RegionProxy *p, Denials *denials);
/* [{"address", "port", "to"}]: the host's ports as bound. New reference, or NULL. */
json_t *region_proxy_published(const RegionProxy *p);
/* {"connections", "denied", "failed", "up_bytes", "down_bytes", "routes"?}, or {"lost": true}, and "published"; NULL: no proxy. New
 * reference. */
json_t *region_proxy_json(const RegionProxy *p);
void region_proxy_deinit(RegionProxy *p);
