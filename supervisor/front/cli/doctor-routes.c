/* Runs: CLI. The probes of routes. A lethe-proxy looks the upstream up and connects to the upstream, by the rules of
 * a region; the secret is read here, and sent nowhere. */
#include "cli/doctor.h"
#include "policy/policy.h"
#include "policy/route.h"
#include "policy/secret.h"
#include "region/region-proxy.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define DOCTOR_ROUTES_MAX 8

/* NULL: connected; else the failure. */
static const char *doctor_route_connect(const ProxyRoute *to, const Policy *policy) {
        const bool v6 = to->upstream.host == PROXY_HOST_IPV6;
        _cleanup_free_ char *host = text_printf("%s%s%s:%u", v6 ? "[" : "", to->upstream.name, v6 ? "]" : "", to->port),
                            *row = host ? text_printf("%s/plain", host) : NULL;
        RegionProxy p = REGION_PROXY_NULL;
        NetName allow = {};
        Grant g = {.allows = &allow, .n_allows = 1, .privates = policy->limits.privates, .n_privates = policy->limits.n_privates};
        char answer[16] = "";
        struct sockaddr_in at;
        int listener = doctor_proxy_listen(&at);

        if (listener < 0 || !row || net_name_parse(row, &allow, &(Diag){}) != 0 || region_proxy_start(&p, NULL, false, &(Diag){}) != 0)
                closep(&listener);
        else if (region_proxy_open(&p, &g, listener, -1) == 0)
                doctor_proxy_ask(&at, host, answer);
        region_proxy_deinit(&p);
        free(allow.text);
        return strcmp(answer, "HTTP/1.1 200") == 0   ? NULL
               : strcmp(answer, "HTTP/1.1 403") == 0 ? "the upstream has a private address that \"network.private\" of the policy does not name"
                                                     : "the upstream cannot be looked up, or does not answer";
}

static void doctor_route(ProbeReport *r, const char *name, const json_t *route, const Policy *policy) {
        const char *secret = json_str(route, "secret"), *ca = json_str(route, "ca"), *why;
        ProxyRoute *to = secret_memory(sizeof(*to));
        Diag d = {};

        if (!to || route_to_proxy(name, route, to) != 0)
                probe_add(r, "route", PROBE_WARN, "regions with the route are refused", "", "%s: no memory", name);
        else if (*secret && secret_read(secret, json_object_get(policy->secrets, secret), to->secret, sizeof(to->secret), &d) != 0)
                probe_add(r, "route", PROBE_WARN, "regions with the route are refused", "mend the secret's source", "%s: %s", name, d.text);
        else if (*ca && access(ca, R_OK) < 0)
                probe_add(r, "route", PROBE_WARN, "regions with the route are refused", "name a readable file of certificates", "%s: ca %s: %s", name, ca,
                          strerror(errno));
        else if ((why = doctor_route_connect(to, policy)))
                probe_add(r, "route", PROBE_WARN, "requests to the route fail", "", "%s: %s", name, why);
        else
                probe_add(r, "route", PROBE_OK, "", "", "%s: the secret can be read, and %s be connected to", name, json_str(route, "upstream"));
        sodium_free(to);
}

void doctor_routes(ProbeReport *r) {
        _cleanup_policy_ Policy *p = NULL;
        const char *name;
        json_t *route;
        size_t n = 0;

        if (policy_load(NULL, &p, &(Diag){}) != 0) /* doctor_places() tells */
                return;
        json_object_foreach(p->routes, name, route) {
                if (n++ < DOCTOR_ROUTES_MAX)
                        doctor_route(r, name, route, p);
        }
        if (n > DOCTOR_ROUTES_MAX)
                probe_add(r, "route", PROBE_OK, "", "", "%zu more routes are not tried", n - DOCTOR_ROUTES_MAX);
}
