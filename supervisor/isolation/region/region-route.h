/* Runs: supervisor. The routes of a region's lethe-proxy, seen from the supervisor (schema/route.h). */
#pragma once

#include "region/region-denial.h"
#include "region/region-proxy.h"

/* Reads the secrets and certificates of the grant's routes, and gives them to lethe-proxy. Returns 0; GRANT_E_REFUSED,
 * with a message; -errno. */
int region_routes_send(RegionProxy *p, const Grant *g, Diag *reterr);
/* Lets lethe-proxy accept requests at the region's listener (taken over). Returns 0 or -errno. */
int region_routes_listen(RegionProxy *p, int listener);
/* Takes a CALL or ROUTE_SUMS message of n bytes. False: broken. */
bool region_route_take(RegionProxy *p, const void *message, ssize_t n, Denials *denials, bool *ret_denied);
/* name -> {"requests", "denied", "failed", "up_bytes", "down_bytes", "tokens_in", "tokens_out", "echoes"}. New
 * reference; NULL: no routes. */
json_t *region_routes_json(const RegionProxy *p);
