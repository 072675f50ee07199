/* Runs: supervisor, CLI. Hosts by name in a grant: "allow" of manifest and command line within the policy. */
#pragma once

#include "policy/merge.h"

/* A part of merge_network(): `rule` says why a request of the manifest is not granted; closed: --network none. Sets mode
 * loopback, the listener and the budget where a host is granted. Returns 0, GRANT_E_REFUSED, -ENOMEM. */
int allow_merge(Merge *m, const Limits *l, const char *rule, bool closed);
/* A part of grant_attenuate(): keeps the hosts that the region above may reach, or that the policy's row for this very
 * skill names; own NULL: no row. Returns 0 or -ENOMEM. */
int allow_attenuate(Grant *g, const Grant *above, const Limits *own_or_null);
int allow_copy(const Grant *g, Grant *to);
bool allow_same(const Grant *a, const Grant *b);
/* Adds HTTP_PROXY and similar variables, and variables of routes, unless the environment has the variable. Returns 0 or -ENOMEM. */
int allow_set_env(Grant *g);
/* Takes them away again, before a cut of hosts and routes. Returns 0 or -ENOMEM. */
int allow_drop_env(Grant *g);
/* The ports where the supervisor listens in the region's network, by hosts and routes of the grant. */
void allow_set_listeners(Grant *g);
/* The region has a lethe-proxy: for hosts by name, routes, or published ports. */
bool grant_has_proxy(const Grant *g);
