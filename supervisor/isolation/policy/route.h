/* Runs: supervisor, CLI. Secrets and routes of a policy, and the routes of a grant (schema/policy.md).
 *
 * A policy has "secrets" (name -> source) and "routes" (name -> upstream, secret, bounds). A Grant has the granted routes
 * and the sources of the secrets, never a secret: isolation/policy/secret.h reads secrets. */
#pragma once

#include "manifest/doc.h"
#include "policy/grant-types.h"
#include "schema/route.h"

/* "secrets" and "routes" of a policy: every fault is a finding. *ret_secrets: name -> {"file": path}, {"env": name} or
 * {"command": [...]}; *ret_routes: name -> {"upstream", "secret"?, "header"?, "format"?, "variable"?, "key_variable"?,
 * "paths"?, "models"?, "requests"?, "tokens_in"?, "tokens_out"?, "usec", "bytes", "ca"?, "plain"?, "model"?}. Owned. */
void policy_read_routes(Doc *d, const Node *secrets, const Node *routes, json_t **ret_secrets, json_t **ret_routes);
/* The route of that name, as lethe-proxy needs it, without certificates and secret. Returns 0, or -EINVAL. */
int route_to_proxy(const char *name, const json_t *route, ProxyRoute *ret);

/* The variables of routes: NAME=VALUE, owned, NULL-terminated. Returns 0 or -ENOMEM. */
#define POLICY_ROUTES_MAX 256
#define ROUTE_PLACEHOLDER "lethe-route"
int route_environment(const json_t *routes, char ***ret);
/* Adds a route of the policy, with the source of the secret, to the grant. Returns 0 or -ENOMEM. */
int route_grant(Grant *g, const Policy *p, const char *name);
static inline size_t route_count(const Grant *g) {
        return json_object_size(g->routes);
}
