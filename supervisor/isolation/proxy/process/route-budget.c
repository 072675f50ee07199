/* Runs: lethe-proxy (lethe-routes). Judges a request to a route, and keeps the budgets: tokens are reserved before
 * the request, and settled by the answer. */
#include "proxy/process/route.h"

#include <stdio.h>

/* Paths of a model route without paths in the policy: each path takes the model from the body. */
static const char *const budget_model_paths[] = {"/chat/completions", "/completions", "/embeddings", "/responses", "/messages"};

static bool budget_path_is_allowed(const RouteCall *c) {
        const ProxyRoute *r = c->route->r;
        const RoutePath *p = &c->path;
        const size_t n_v1 = p->n_path >= 4 && memcmp(p->path, "/v1/", 4) == 0 ? 3 : 0;

        for (size_t i = 0; i < r->n_paths; i++)
                if (route_path_covers(r->paths[i], p->path, p->n_path))
                        return true;
        for (size_t i = 0; r->n_paths == 0 && r->model && i < ARRAY_SIZE(budget_model_paths); i++)
                if (route_path_covers(budget_model_paths[i], p->path + n_v1, p->n_path - n_v1))
                        return true;
        /* The list of models may be read. Some servers take the model of a POST from such a path. */
        return r->n_paths == 0 && (!r->model || (c->body.n == 0 && http_is(c->in.data, c->head.n_method, "GET") &&
                                                 route_path_covers("/models", p->path + n_v1, p->n_path - n_v1)));
}

static bool budget_model_is_allowed(const ProxyRoute *r, const char *model) {
        for (size_t i = 0; i < r->n_models; i++)
                if (strcmp(r->models[i], model) == 0)
                        return true;
        return r->n_models == 0;
}

static RouteWhy budget_exhausted(RouteCall *c, const char *which) {
        snprintf(c->told.detail, sizeof(c->told.detail), "%s", which);
        return ROUTE_WHY_BUDGET;
}

/* The reserve of a request with a body. */
static RouteWhy budget_reserve(RouteCall *c, const ModelRequest *m) {
        Route *to = c->route;
        const ProxyRoute *r = to->r;
        const uint64_t in = model_estimate(c->body.n), used_in = to->in + to->reserved_in, used_out = to->out + to->reserved_out;
        uint64_t out = m->most_out * m->answers;

        if (r->tokens_in > 0 && (used_in >= r->tokens_in || in > r->tokens_in - used_in))
                return budget_exhausted(c, "tokens_in");
        if (r->tokens_out > 0) {
                const uint64_t left = used_out < r->tokens_out ? r->tokens_out - used_out : 0;

                out = m->most_out > 0 ? out : left; /* an answer without a limit may take the whole rest */
                if (left == 0 || out > left)
                        return budget_exhausted(c, "tokens_out");
        }
        c->reserved_in = in;
        c->reserved_out = out;
        to->reserved_in += in;
        to->reserved_out += out;
        return ROUTE_WHY_ANSWERED;
}

RouteWhy budget_judge(RouteCall *c, const char **ret_rule) {
        Route *to = c->route;
        const ProxyRoute *r = to->r;
        RouteWhy why = ROUTE_WHY_ANSWERED;
        ModelRequest m;

        if (!budget_path_is_allowed(c)) {
                snprintf(c->told.detail, sizeof(c->told.detail), "%.*s", (int)MIN(c->path.n_path, sizeof(c->told.detail) - 1), c->path.path);
                return ROUTE_WHY_PATH;
        }
        if (r->requests > 0 && to->n_asked >= r->requests)
                return budget_exhausted(c, "requests");
        if (c->body.n >= proxy_bytes_left()) /* an answer takes a byte at least */
                return budget_exhausted(c, PROXY_NETWORK_BYTES);
        if (r->model && c->body.n > 0) {
                *ret_rule = model_request_parse(c->body.data, c->body.n, &m);
                if (*ret_rule)
                        return ROUTE_WHY_BROKEN;
                memcpy(c->told.model, m.model, sizeof(m.model));
                if (!budget_model_is_allowed(r, m.model))
                        return ROUTE_WHY_MODEL;
                why = budget_reserve(c, &m);
        }
        to->n_asked += why == ROUTE_WHY_ANSWERED;
        proxy.routed += why == ROUTE_WHY_ANSWERED ? c->body.n : 0;
        return why;
}

void budget_settle(RouteCall *c) {
        Route *to = c->route;
        ProxyCall *t = &c->told;
        long n_sent = 0; /* unsent requests use nothing, requests that the upstream refused (4xx) neither */

        if (c->reserved_in == 0)
                return;
        to->reserved_in -= c->reserved_in;
        to->reserved_out -= c->reserved_out;
        if (c->easy && curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &n_sent) != CURLE_OK)
                n_sent = 1;
        if (c->usage.has) {
                t->tokens_in = c->usage.in;
                t->tokens_out = c->usage.out;
        } else if (n_sent > 0 && (c->status < 400 || c->status >= 500)) {
                t->tokens_in = c->reserved_in;
                t->tokens_out = c->reserved_out;
                t->estimated = 1;
        }
        t->has_usage = 1;
        to->in += t->tokens_in;
        to->out += t->tokens_out;
        c->reserved_in = c->reserved_out = 0;
}
