#include "policy/allow.h"

#include "policy/route.h"
#include "schema/limits.h"

#include <errno.h>
#include <string.h>

bool grant_has_proxy(const Grant *g) {
        return (g->n_allows + g->n_publishes > 0 || route_count(g) > 0) && g->network == NETWORK_LOOPBACK;
}

static bool allow_covers(const NetName *list, size_t n, const NetName *a) {
        for (size_t i = 0; i < n; i++)
                if (net_name_covers(&list[i], a))
                        return true;
        return false;
}

static int allow_set_privates(Grant *g, const ProxyNet *list, size_t n) {
        if (n == 0)
                return 0;
        g->privates = calloc(n, sizeof(*list));
        if (!g->privates)
                return -ENOMEM;
        memcpy(g->privates, list, n * sizeof(*list));
        g->n_privates = n;
        return 0;
}

static uint64_t allow_least(uint64_t a, uint64_t b) {
        return a == 0 ? b : b == 0 ? a
                                   : MIN(a, b);
}

static ProxyBudget allow_budget(const ProxyBudget *a, const ProxyBudget *b) {
        return (ProxyBudget){allow_least(a->connections, b->connections), allow_least(a->bytes, b->bytes),
                             allow_least(a->usec, b->usec)};
}

void allow_set_listeners(Grant *g) {
        size_t n = 0;

        memset(g->listen, 0, sizeof(g->listen));
        if (g->n_allows > 0)
                g->listen[n++] = PROXY_PORT;
        if (route_count(g) > 0)
                g->listen[n++] = PROXY_ROUTE_PORT;
}
static_assert(LISTEN_MAX >= 2, "hosts by name, and routes");

/* The mode and the listeners of a grant with hosts or routes. */
static void allow_settle(Grant *g) {
        allow_set_listeners(g);
        if (!g->listen[0])
                return;
        g->network = NETWORK_LOOPBACK;
        /* An interpreter that starts ahead would start without the proxy. */
        free(TAKE_PTR(g->interpreter));
}

static int allow_merge_request(Merge *m, const Limits *l) {
        const RunRequest *q = m->request;
        int r = 0;

        for (size_t i = 0; r == 0 && i < q->n_allows; i++) {
                if (l->network_said && !l->network_host && !allow_covers(l->allows, l->n_allows, &q->allows[i]))
                        return diag(m->reterr, GRANT_E_REFUSED, "--allow %s: %s/allow does not list it", q->allows[i].text,
                                    WHERE(m, l, "network"));
                r = merge_add_allow(m->grant, &q->allows[i]);
        }
        return r;
}

/* NULL: the policy allows the route; else the rule that does not. */
static const char *allow_route_rule(const Merge *m, const Limits *l, const char *name, char out[static 640]) {
        const bool there = json_object_get(m->policy->routes, name);

        if (!there && m->policy->path)
                snprintf(out, 640, "%s does not name the route", WHERE(m, &m->policy->limits, "routes"));
        else if (!there)
                snprintf(out, 640, "routes and their secrets are named by \"routes\" of a policy file: --policy FILE");
        else if (l->routes_said && !strv_has(l->routes, name))
                snprintf(out, 640, "%s/routes does not list it", WHERE(m, l, "network"));
        else
                return NULL;
        return out;
}

static int allow_merge_routes(Merge *m, const Limits *l, const char *rule, bool closed) {
        Grant *g = m->grant;
        char field[64], text[640];
        int r = 0;

        for (char **name = m->request->routes; r == 0 && name && *name; name++) {
                if (allow_route_rule(m, l, *name, text))
                        return diag(m->reterr, GRANT_E_REFUSED, "--route %s: %s", *name, text);
                r = route_grant(g, m->policy, *name);
        }
        for (size_t i = 0; r == 0 && m->manifest->routes && m->manifest->routes[i]; i++) {
                const char *name = m->manifest->routes[i], *why = allow_route_rule(m, l, name, text);

                if (json_object_get(g->routes, name))
                        continue;
                if (g->network == NETWORK_HOST || g->n_connects > 0)
                        why = "routes need network loopback";
                else if (closed)
                        why = rule;
                else if (route_count(g) >= PROXY_ROUTES_MAX)
                        why = "a region has at most 8 routes";
                snprintf(field, sizeof(field), "/network/routes/%zu", i);
                r = why ? merge_reduce(m, field, name, "none", "%s", why) : route_grant(g, m->policy, name);
        }
        return r;
}

int allow_merge(Merge *m, const Limits *l, const char *rule, bool closed) {
        Grant *g = m->grant;
        const Manifest *a = m->manifest;
        int r = allow_merge_request(m, l);

        for (size_t i = 0; r == 0 && g->network != NETWORK_HOST && i < a->n_allows; i++) {
                char field[64];

                if (allow_covers(g->allows, g->n_allows, &a->allows[i]))
                        continue;
                snprintf(field, sizeof(field), "/network/allow/%zu", i);
                if (g->n_connects > 0)
                        r = merge_reduce(m, field, a->allows[i].text, "none", "--connect and hosts by name exclude each other");
                else if (!closed && l->network_said &&
                         (l->network_host || allow_covers(l->allows, l->n_allows, &a->allows[i])))
                        r = merge_add_allow(g, &a->allows[i]);
                else
                        r = merge_reduce(m, field, a->allows[i].text, "none", "%s", rule);
        }
        r = r ?: allow_merge_routes(m, l, rule, closed);
        g->net_budget = allow_budget(&a->net_budget, &l->net_budget);
        if (r == 0 && (g->n_allows > 0 || route_count(g) > 0))
                r = allow_set_privates(g, l->privates, l->n_privates);
        if (r == 0)
                allow_settle(g);
        return r;
}

static bool allow_range_covers(const ProxyNet *wide, const ProxyNet *narrow) {
        return wide->v6 == narrow->v6 && wide->prefix <= narrow->prefix &&
               net_prefix_same(wide->addr, narrow->addr, wide->prefix);
}

/* A private address is kept if the region above has the address, or the row names the address. */
static void allow_attenuate_privates(Grant *g, const Grant *above, const Limits *own) {
        size_t n = 0;

        for (size_t i = 0; i < g->n_privates; i++) {
                bool keep = above->network == NETWORK_HOST;

                for (size_t k = 0; k < above->n_privates; k++)
                        keep |= allow_range_covers(&above->privates[k], &g->privates[i]);
                for (size_t k = 0; own && k < own->n_privates; k++)
                        keep |= allow_range_covers(&own->privates[k], &g->privates[i]);
                if (keep)
                        g->privates[n++] = g->privates[i];
        }
        g->n_privates = n;
}

static int allow_attenuate_routes(Grant *g, const Grant *above, const Limits *own) {
        const char *name;
        json_t *route;
        void *next;
        int r = 0;

        json_object_foreach_safe(g->routes, next, name, route) {
                const bool had = json_object_get(above->routes, name), given = own && strv_has(own->routes, name);

                if (r == 0 && !g->network_closed && (had || given)) {
                        r = had ? 0 : attenuate_beyond(g, "route %s", name);
                        continue;
                }
                r = r ?: merge_note(g->reductions, "/network/routes", name, "none", g->network_closed ? "command line --network none" : ATTENUATE_RULE);
                json_object_del(g->routes, name);
        }
        return r;
}

int allow_attenuate(Grant *g, const Grant *above, const Limits *own) {
        size_t n = 0;
        int r = allow_attenuate_routes(g, above, own);

        g->net_budget = allow_budget(&g->net_budget, &above->net_budget);
        if (g->n_allows == 0) {
                if (g->listen[0])
                        allow_set_listeners(g);
                return r;
        }
        for (size_t i = 0; i < g->n_allows; i++) {
                NetName *a = &g->allows[i];
                const bool had = above->network == NETWORK_HOST || allow_covers(above->allows, above->n_allows, a);
                const bool given = own && (own->network_host || allow_covers(own->allows, own->n_allows, a));

                if (r == 0 && !g->network_closed && (had || given)) {
                        r = had ? 0 : attenuate_beyond(g, "allow %s", a->text);
                        g->allows[n++] = *a;
                        continue;
                }
                r = r ?: merge_note(g->reductions, "/network/allow", a->text, "none", g->network_closed ? "command line --network none" : ATTENUATE_RULE);
                free(a->text);
        }
        g->n_allows = n;
        allow_attenuate_privates(g, above, own);
        allow_set_listeners(g);
        return r;
}

int allow_copy(const Grant *g, Grant *to) {
        int r = allow_set_privates(to, g->privates, g->n_privates);

        for (size_t i = 0; r == 0 && i < g->n_allows; i++)
                r = merge_add_allow(to, &g->allows[i]);
        to->net_budget = g->net_budget;
        return r;
}

bool allow_same(const Grant *a, const Grant *b) {
        if (a->n_allows != b->n_allows || a->n_privates != b->n_privates ||
            memcmp(&a->net_budget, &b->net_budget, sizeof(a->net_budget)) != 0)
                return false;
        for (size_t i = 0; i < a->n_allows; i++)
                if (!net_name_same(&a->allows[i], &b->allows[i]))
                        return false;
        return a->n_privates == 0 || memcmp(a->privates, b->privates, a->n_privates * sizeof(*a->privates)) == 0;
}

#define PROXY_URL "http://127.0.0.1:3128"
static_assert(PROXY_PORT == 3128, "the proxy's port in the environment");

/* The lines of the grant's proxy and routes. */
static int allow_env_lines(const Grant *g, char ***ret) {
        /* ALL_PROXY is HTTP, too: programs without SOCKS fail if the variable names a SOCKS proxy. Node.js from 24 on
         * heeds these variables with NODE_USE_ENV_PROXY. */
        static const char *const lines[] = {
                "HTTP_PROXY=" PROXY_URL, "http_proxy=" PROXY_URL, "HTTPS_PROXY=" PROXY_URL, "https_proxy=" PROXY_URL,
                "ALL_PROXY=" PROXY_URL, "all_proxy=" PROXY_URL, "NO_PROXY=localhost,127.0.0.1,::1",
                "no_proxy=localhost,127.0.0.1,::1", "NODE_USE_ENV_PROXY=1"};
        int r = grant_has_proxy(g) ? route_environment(g->routes, ret) : 0;

        for (size_t i = 0; r == 0 && g->n_allows > 0 && i < ARRAY_SIZE(lines); i++)
                r = strv_add(ret, lines[i]);
        return r;
}

int allow_set_env(Grant *g) {
        _cleanup_strv_ char **more = NULL;
        int r = allow_env_lines(g, &more);

        for (size_t i = 0; r == 0 && more && more[i]; i++) {
                const size_t n = (size_t)(strchr(more[i], '=') + 1 - more[i]);
                bool has = false;

                for (size_t k = 0; g->env && g->env[k]; k++)
                        has |= strncmp(g->env[k], more[i], n) == 0;
                if (!has)
                        r = strv_add(&g->env, more[i]);
        }
        return r;
}

int allow_drop_env(Grant *g) {
        _cleanup_strv_ char **lines = NULL;
        int r = allow_env_lines(g, &lines);
        size_t n = 0;

        for (size_t i = 0; r == 0 && g->env && g->env[i]; i++) {
                char *line = TAKE_PTR(g->env[i]);

                if (lines && strv_has(lines, line))
                        free(line);
                else
                        g->env[n++] = line;
        }
        return r;
}
