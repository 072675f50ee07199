/* Runs: supervisor. The lethe-proxy of a region with hosts by name, seen from the supervisor (schema/proxy.h). The
 * messages of lethe-proxy are taken for hostile. */
#pragma once

#include "base/json.h"
#include "policy/grant.h"
#include "region/region-denial.h"
#include "schema/proxy.h"
#include "spawn/spawner.h"

typedef struct RegionProxy {
        int control; /* nonblocking; -1: no channel, or closed */
        pid_t pid;   /* executed by this process; 0: made by the launcher */
        bool wanted; /* the region has a proxy */
        bool lost;   /* lethe-proxy ended by itself, or broke the protocol: the sums are not known */
        bool summed; /* sums is the answer to CLOSE */
        ProxySums sums;
        json_t *ends;      /* owned: ended connections, the first of the list; or NULL */
        uint64_t n_others; /* ended connections beyond the list */
} RegionProxy;
#define REGION_PROXY_NULL ((RegionProxy){.control = -1})

/* Starts lethe-proxy; without a Spawner by exec. Returns 0; -errno, with a message. */
int region_proxy_start(RegionProxy *p, Spawner *spawner_or_null, Diag *reterr);
/* Gives lethe-proxy the region's listener (taken over) and table. Returns 0 or -errno. */
int region_proxy_open(RegionProxy *p, const Grant *g, int listener);
/* Takes a batch of messages at most. *ret_denied: with a refusal. Returns 0, or -EPIPE once: lethe-proxy is lost. */
int region_proxy_read(RegionProxy *p, Denials *denials, bool *ret_denied);
/* The region stands still: every connection is to be ended. */
void region_proxy_close(RegionProxy *p);
/* Waits for the sums, at most a second, and ends lethe-proxy. Returns as region_proxy_read(). */
int region_proxy_finish(RegionProxy *p, Denials *denials);
/* {"connections", "denied", "failed", "up_bytes", "down_bytes"}, or {"lost": true}; NULL: no proxy. New reference. */
json_t *region_proxy_json(const RegionProxy *p);
void region_proxy_deinit(RegionProxy *p);
