#include "policy/route.h"

#include "base/size.h"
#include "policy/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define SECRETS_MAX 256
#define COMMAND_MAX 64
#define ROUTE_COUNT_MOST 1000000000000ULL
#define ROUTE_USEC_STANDARD UINT64_C(600000000)
#define ROUTE_BYTES_STANDARD (UINT64_C(64) << 20)
#define ROUTE_BYTES_MOST (UINT64_C(1) << 40)
#define TEXT_MAX 4096

static bool route_is_printable(const char *s) {
        for (; *s; s++)
                if (*s < ' ' || *s > '~')
                        return false;
        return true;
}

static void route_put(Doc *d, json_t *to, const char *member, json_t *v) {
        d->no_memory |= json_object_set_new(to, member, v) < 0;
}

/* A member that is printable ASCII without a blank at either end. */
static const char *route_text(Doc *d, const Node *at, size_t most) {
        const char *s;

        if (!doc_string(d, at, 1, most, &s))
                return NULL;
        if (route_is_printable(s) && *s != ' ' && s[strlen(s) - 1] != ' ')
                return s;
        doc_fault(d, at, "text", "%s: must be printable ASCII without a blank at its ends", DOC_SHOWN(at));
        return NULL;
}

static json_t *route_list(Doc *d, const Node *v, size_t most, size_t most_bytes) {
        json_t *list;

        if (!doc_array(d, v, most) || !(list = json_array()))
                return NULL;
        for (size_t i = 0; i < json_array_size(v->v); i++) {
                const char *s = route_text(d, ITEM(v, i), most_bytes);

                if (s)
                        d->no_memory |= json_array_append_new(list, json_string(s)) < 0;
        }
        return list;
}

static void route_read_secret(Doc *d, const Node *at, const char *name, json_t *ret) {
        const Node *file = MEMBER(at, "file"), *env = MEMBER(at, "env"), *command = MEMBER(at, "command");
        _cleanup_json_ json_t *o = json_object();
        _cleanup_free_ char *path = NULL;
        const char *s;

        if (!doc_fields(d, at, WORDS("file", "env", "command")))
                return;
        if (!!file->v + !!env->v + !!command->v != 1) {
                doc_fault(d, at, "secret", "exactly one of \"file\", \"env\" and \"command\" is needed");
                return;
        }
        if (doc_path(d, file, &path))
                route_put(d, o, "file", json_string(path));
        if (doc_string(d, env, 1, 128, &s)) {
                if (!env_name_valid(s, strlen(s)))
                        doc_fault(d, env, "env-name", "\"%s\": a variable's name has letters, digits and \"_\", no digit first", DIAG_QUOTED(s));
                route_put(d, o, "env", json_string(s));
        }
        if (command->v) {
                json_t *argv = route_list(d, command, COMMAND_MAX, TEXT_MAX);
                const char *program = json_text(json_array_get(argv, 0));

                if (argv && (!program || *program != '/'))
                        doc_fault(d, command, "command", "must begin with the absolute path of a program");
                route_put(d, o, "command", argv ?: json_null());
        }
        route_put(d, ret, name, TAKE_PTR(o));
}

/* https://HOST[:PORT][/PATH], in parts. Returns NULL or the broken rule. */
static const char *route_upstream(const char *text, ProxyRoute *ret) {
        const bool plain = strncmp(text, "http://", 7) == 0;
        const char *host = text + (plain ? 7 : 8), *path, *port;
        size_t n_host;
        unsigned long number;

        if (!plain && strncmp(text, "https://", 8) != 0)
                return "must begin with https:// or, with \"plain\": true, http://";
        if (strpbrk(text, "?#@\\ "))
                return "must have no user, query, fragment, blank or backslash";
        path = strchr(host, '/') ?: host + strlen(host);
        port = *host == '[' ? memchr(host, ']', (size_t)(path - host)) : host;
        port = port ? memchr(port, ':', (size_t)(path - port)) : NULL;
        n_host = (size_t)((port ?: path) - host);
        if (*host == '[' ? n_host < 3 || host[n_host - 1] != ']' || net_host_parse(host + 1, n_host - 2, &ret->upstream) < 0
                         : net_host_parse(host, n_host, &ret->upstream) < 0)
                return "its host must be a name, an address, or an IPv6 address in brackets";
        number = plain ? 80 : 443;
        if (port && (path - port > 6 || path - port < 2 || strspn(port + 1, "0123456789") != (size_t)(path - port - 1) ||
                     (number = strtoul(port + 1, NULL, 10)) < 1 || number > UINT16_MAX))
                return "its port must be 1 to 65535";
        while (*path && path[strlen(path) - 1] == '/' && strlen(path) == 1)
                path++;
        if (strlen(path) >= PROXY_ROUTE_BASE_MAX || strstr(path, "//") || strstr(path, "/.") || strchr(path, '%') || (*path && path[strlen(path) - 1] == '/'))
                return "its path must be short, with no \"//\", \"/.\", \"%\", and no \"/\" at its end";
        ret->plain = plain;
        ret->port = (uint16_t)number;
        snprintf(ret->base, sizeof(ret->base), "%s", path);
        return NULL;
}

static void route_read_upstream(Doc *d, const Node *at, json_t *o) {
        const Node *upstream = MEMBER(at, "upstream");
        const char *text = route_text(d, upstream, 600), *why;
        ProxyRoute r = {};
        bool plain = false;

        doc_bool(d, MEMBER(at, "plain"), &plain);
        if (!upstream->v)
                doc_fault(d, upstream, "required", "\"upstream\" is required");
        if (!text)
                return;
        why = route_upstream(text, &r);
        if (why)
                doc_fault(d, upstream, "upstream", "\"%s\": %s", DIAG_QUOTED(text), why);
        else if (r.plain != plain)
                doc_fault(d, upstream, "upstream", r.plain ? "\"%s\": without TLS everybody on the way reads the secret; \"plain\": true accepts that"
                                                           : "\"%s\": is https, but \"plain\" is true",
                          DIAG_QUOTED(text));
        route_put(d, o, "upstream", json_string(text));
        if (plain)
                route_put(d, o, "plain", json_true());
}

static void route_read_header(Doc *d, const Node *at, const json_t *secrets, json_t *o) {
        static const char *const framing[] = {"host", "content-length", "transfer-encoding", "connection", "expect", "te", "upgrade", "accept-encoding"};
        const Node *secret = MEMBER(at, "secret"), *header = MEMBER(at, "header"), *format = MEMBER(at, "format");
        const char *name = "authorization", *form = "Bearer {}", *of = NULL, *s;

        if (doc_string(d, secret, 1, PROXY_ROUTE_NAME_MAX, &of) && !json_object_get(secrets, of))
                doc_fault(d, secret, "secret", "\"%s\": \"secrets\" does not have it", DIAG_QUOTED(of));
        if (!of && (header->v || format->v))
                doc_fault(d, at, "secret", "\"header\" and \"format\" need a \"secret\"");
        if ((s = route_text(d, header, PROXY_HEADER_MAX - 1))) {
                if (strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != strlen(s))
                        doc_fault(d, header, "header", "\"%s\": a header's name has letters, digits, \"-\" and \"_\"", DIAG_QUOTED(s));
                for (size_t i = 0; i < ARRAY_SIZE(framing); i++)
                        if (strcasecmp(s, framing[i]) == 0)
                                doc_fault(d, header, "header", "\"%s\": belongs to the connection", s);
                name = s;
        }
        if ((s = route_text(d, format, PROXY_FORMAT_MAX - 1))) {
                const char *place = strstr(s, "{}");

                if (!place || strstr(place + 2, "{}"))
                        doc_fault(d, format, "format", "\"%s\": needs \"{}\" once, where the secret goes", DIAG_QUOTED(s));
                form = s;
        }
        if (!of)
                return;
        route_put(d, o, "secret", json_string(of));
        route_put(d, o, "header", json_string(name));
        route_put(d, o, "format", json_string(form));
}

static void route_read_variables(Doc *d, const Node *at, json_t *o) {
        static const char base[] = "_BASE_URL", key[] = "_API_KEY";
        const char *variable = NULL, *key_variable = NULL;

        for (size_t i = 0; i < 2; i++) {
                const Node *v = i == 0 ? MEMBER(at, "variable") : MEMBER(at, "key_variable");
                const char **to = i == 0 ? &variable : &key_variable;

                if (doc_string(d, v, 1, 128, to) && (!env_name_valid(*to, strlen(*to)) || strncmp(*to, "LETHE_", 6) == 0))
                        doc_fault(d, v, "env-name", "\"%s\": a variable's name has letters, digits and \"_\", no digit first; LETHE_* is Lethe's own",
                                  DIAG_QUOTED(*to));
        }
        if (variable)
                route_put(d, o, "variable", json_string(variable));
        if (key_variable)
                route_put(d, o, "key_variable", json_string(key_variable));
        else if (variable && strlen(variable) > strlen(base) && strcmp(variable + strlen(variable) - strlen(base), base) == 0) {
                char text[160];

                snprintf(text, sizeof(text), "%.*s%s", (int)(strlen(variable) - strlen(base)), variable, key);
                route_put(d, o, "key_variable", json_string(text));
        }
}

static void route_read_limits(Doc *d, const Node *at, json_t *o) {
        static const char *const counts[] = {"requests", "tokens_in", "tokens_out"};
        static const DurationRule time_rule = {1000, UINT64_C(24) * 3600 * 1000000, "route-time", "1ms to 24h"};
        const Node *paths = MEMBER(at, "paths"), *models = MEMBER(at, "models"), *bytes = MEMBER(at, "bytes");
        uint64_t usec = ROUTE_USEC_STANDARD, most = ROUTE_BYTES_STANDARD, v;
        bool model = models->v;

        for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
                if (doc_count(d, MEMBER(at, counts[i]), 1, ROUTE_COUNT_MOST, &v)) {
                        route_put(d, o, counts[i], json_u64(v));
                        model |= i > 0;
                }
        if (MEMBER(at, "time")->v)
                doc_duration(d, MEMBER(at, "time"), &time_rule, &usec);
        if (bytes->v && ((json_is_integer(bytes->v) ? (most = (uint64_t)json_integer_value(bytes->v), false)
                                                    : !json_text(bytes->v) || size_parse(json_text(bytes->v), &most) < 0) ||
                         most < 1 || most > ROUTE_BYTES_MOST))
                doc_fault(d, bytes, "route-bytes", "%s: must be a size from 1 byte to 1t", DOC_SHOWN(bytes));
        route_put(d, o, "usec", json_u64(usec));
        route_put(d, o, "bytes", json_u64(most));
        if (paths->v) {
                json_t *list = route_list(d, paths, PROXY_PATHS_MAX, PROXY_PATH_MAX - 1);

                for (size_t i = 0; i < json_array_size(list); i++)
                        if (*json_text(json_array_get(list, i)) != '/')
                                doc_fault(d, ITEM(paths, i), "path", "must begin with \"/\"");
                route_put(d, o, "paths", list ?: json_null());
        }
        if (models->v)
                route_put(d, o, "models", route_list(d, models, PROXY_MODELS_MAX, PROXY_MODEL_MAX - 1) ?: json_null());
        if (models->v && json_array_size(models->v) == 0)
                doc_fault(d, models, "models", "an empty list allows no model; leave it out to allow every model");
        if (model)
                route_put(d, o, "model", json_true());
}

static void route_read_one(Doc *d, const Node *at, const char *name, const json_t *secrets, json_t *ret) {
        _cleanup_json_ json_t *o = json_object();
        _cleanup_free_ char *ca = NULL;

        if (!doc_fields(d, at, WORDS("upstream", "plain", "secret", "header", "format", "variable", "key_variable", "paths", "ca", "models", "requests",
                                     "tokens_in", "tokens_out", "time", "bytes")))
                return;
        route_read_upstream(d, at, o);
        route_read_header(d, at, secrets, o);
        route_read_variables(d, at, o);
        route_read_limits(d, at, o);
        if (doc_path(d, MEMBER(at, "ca"), &ca))
                route_put(d, o, "ca", json_string(ca));
        route_put(d, ret, name, TAKE_PTR(o));
}

static bool route_check_name(Doc *d, const Node *at, const char *name) {
        return route_name_valid(name) || doc_fault(d, at, "route-name", ROUTE_NAME_TEXT);
}

void policy_read_routes(Doc *d, const Node *secrets, const Node *routes, json_t **ret_secrets, json_t **ret_routes) {
        const char *key;
        json_t *item;

        *ret_secrets = json_object();
        *ret_routes = json_object();
        if (doc_object(d, secrets, SECRETS_MAX)) {
                json_object_foreach((json_t *)secrets->v, key, item) {
                        if (route_check_name(d, MEMBER(secrets, key), key))
                                route_read_secret(d, MEMBER(secrets, key), key, *ret_secrets);
                }
        }
        if (doc_object(d, routes, POLICY_ROUTES_MAX)) {
                json_object_foreach((json_t *)routes->v, key, item) {
                        if (route_check_name(d, MEMBER(routes, key), key))
                                route_read_one(d, MEMBER(routes, key), key, *ret_secrets, *ret_routes);
                }
        }
}

static void route_copy_list(const json_t *list, char *to, size_t size, uint32_t *ret_n) {
        for (size_t i = 0; i < json_array_size(list); i++)
                snprintf(to + i * size, size, "%s", json_text(json_array_get(list, i)) ?: "");
        *ret_n = (uint32_t)json_array_size(list);
}

int route_to_proxy(const char *name, const json_t *route, ProxyRoute *ret) {
        *ret = (ProxyRoute){.head = {PROXY_ROUTE, sizeof(*ret)}};
        if (route_upstream(json_str(route, "upstream"), ret) || json_array_size(json_object_get(route, "paths")) > PROXY_PATHS_MAX ||
            json_array_size(json_object_get(route, "models")) > PROXY_MODELS_MAX)
                return -EINVAL;
        snprintf(ret->name, sizeof(ret->name), "%s", name);
        snprintf(ret->header, sizeof(ret->header), "%s", json_str(route, "header"));
        snprintf(ret->format, sizeof(ret->format), "%s", json_str(route, "format"));
        ret->model = json_is_true(json_object_get(route, "model"));
        ret->requests = json_number(route, "requests");
        ret->tokens_in = json_number(route, "tokens_in");
        ret->tokens_out = json_number(route, "tokens_out");
        ret->usec = json_number(route, "usec");
        ret->bytes = json_number(route, "bytes");
        route_copy_list(json_object_get(route, "paths"), ret->paths[0], PROXY_PATH_MAX, &ret->n_paths);
        route_copy_list(json_object_get(route, "models"), ret->models[0], PROXY_MODEL_MAX, &ret->n_models);
        return 0;
}

static int route_add_variable(char ***env, const char *name, const char *url, const char *value) {
        _cleanup_free_ char *line = text_printf("%s=%s%s", name, url, value);

        return line ? strv_add(env, line) : -ENOMEM;
}

int route_environment(const json_t *routes, char ***ret) {
        const char *name, *variable;
        json_t *route;
        int r = 0;

        json_object_foreach((json_t *)routes, name, route) {
                if (r == 0 && *(variable = json_str(route, "variable")))
                        r = route_add_variable(ret, variable, "http://127.0.0.1:3129/", name);
                if (r == 0 && *(variable = json_str(route, "key_variable")))
                        r = route_add_variable(ret, variable, "", ROUTE_PLACEHOLDER);
        }
        return r;
}
static_assert(PROXY_ROUTE_PORT == 3129, "the port of routes in the environment");

int route_grant(Grant *g, const Policy *p, const char *name) {
        json_t *route = json_object_get(p->routes, name);
        const char *secret = json_str(route, "secret");

        if ((!g->routes && !(g->routes = json_object())) || (!g->secrets && !(g->secrets = json_object())))
                return -ENOMEM;
        return json_object_set(g->routes, name, route) < 0 || (*secret && json_object_set(g->secrets, secret, json_object_get(p->secrets, secret)) < 0)
                       ? -ENOMEM
                       : 0;
}
