#include "region/region-route.h"

#include "base/hash.h"
#include "base/io.h"
#include "base/path-lookup.h"
#include "policy/route.h"
#include "policy/secret.h"
#include "schema/route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/mman.h>

#define CALLS_MAX 512

/* A memory file with the certificates, or -1 without "ca". Returns 0, GRANT_E_REFUSED, -errno. */
static int route_certificates(const char *name, const json_t *route, int *ret_fd, Diag *reterr) {
        const char *path = json_str(route, "ca");
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -1;
        size_t n;
        int r;

        *ret_fd = -1;
        if (!*path)
                return 0;
        r = io_read_file(AT_FDCWD, path, PROXY_CERTIFICATES_MAX, &text, &n);
        if (r == -ENOMEM)
                return r;
        if (r < 0)
                return diag(reterr, GRANT_E_REFUSED, "route %s: ca %s: %s", name, path, strerror(-r));
        if (!strstr(text, "-----BEGIN CERTIFICATE-----"))
                return diag(reterr, GRANT_E_REFUSED, "route %s: ca %s: has no certificate in PEM form", name, path);
        fd = memfd_create("lethe-certificates", MFD_CLOEXEC);
        if (fd < 0)
                return -errno;
        r = io_write_full(fd, text, n);
        if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
                return r < 0 ? r : -errno;
        *ret_fd = TAKE_FD(fd);
        return 0;
}

static int route_send(RegionProxy *p, const Grant *g, const char *name, const json_t *route, ProxyRoute *r, Diag *reterr) {
        const char *secret = json_str(route, "secret");
        _cleanup_close_ int fd = -1;
        int e = route_to_proxy(name, route, r);

        if (e == 0 && *secret)
                e = secret_read(secret, json_object_get(g->secrets, secret), r->secret, sizeof(r->secret), reterr);
        if (e > 0) {
                diag_prefix(reterr, "route %s", name);
                return GRANT_E_REFUSED;
        }
        e = e ?: route_certificates(name, route, &fd, reterr);
        return e ?: io_send_fds(p->control, r, sizeof(*r), &fd, fd >= 0 ? 1 : 0);
}

int region_routes_send(RegionProxy *p, const Grant *g, Diag *reterr) {
        ProxyRoute *r;
        const char *name;
        json_t *route;
        int e = 0;

        if (route_count(g) == 0)
                return 0;
        p->routes = json_array();
        r = secret_memory(sizeof(*r));
        if (!p->routes || !r) {
                sodium_free(r);
                return -ENOMEM;
        }
        json_object_foreach(g->routes, name, route) {
                e = e ?: route_send(p, g, name, route, r, reterr);
                if (e == 0 && json_array_append_new(p->routes, json_string(name)) < 0)
                        e = -ENOMEM;
        }
        sodium_free(r);
        return e;
}

int region_routes_listen(RegionProxy *p, int listener) {
        static const ProxyHead head = {PROXY_ROUTES, sizeof(head)};
        _cleanup_close_ int fd = listener;

        return io_send_fds(p->control, &head, sizeof(head), &fd, 1);
}

/* A text of lethe-proxy that came from the region: NUL-terminated, printable ASCII. */
static bool route_text_is_plain(const char *s, size_t n) {
        if (!memchr(s, 0, n))
                return false;
        for (; *s; s++)
                if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
                        return false;
        return true;
}

static bool route_call_is_valid(const RegionProxy *p, const ProxyCall *c, ssize_t n) {
        return n == (ssize_t)sizeof(*c) && c->head.size == sizeof(*c) && c->why < ROUTE_WHYS &&
               (c->route < json_array_size(p->routes) || c->route == PROXY_ROUTES_MAX) && c->status < 1000 && c->up <= JSON_INTEGER_MOST &&
               c->down <= JSON_INTEGER_MOST && c->usec <= JSON_INTEGER_MOST && c->tokens_in <= JSON_INTEGER_MOST &&
               c->tokens_out <= JSON_INTEGER_MOST && c->echoes <= JSON_INTEGER_MOST && route_text_is_plain(c->method, sizeof(c->method)) &&
               route_text_is_plain(c->model, sizeof(c->model)) && route_text_is_plain(c->detail, sizeof(c->detail));
}

static const char *route_name_of(const RegionProxy *p, const ProxyCall *c) {
        return json_text(json_array_get(p->routes, c->route)) ?: c->detail;
}

static void route_deny(const RegionProxy *p, const ProxyCall *c, Denials *denials) {
        const char *name = route_name_of(p, c);
        char address[INET6_ADDRSTRLEN] = "";
        _cleanup_free_ char *object = NULL, *allow = NULL;

        switch ((RouteWhy)c->why) {
        case ROUTE_WHY_BUDGET:
                object = text_printf("route %s (the budget \"%s\" is used up)", name, c->detail);
                allow = strcmp(c->detail, PROXY_NETWORK_BYTES) == 0
                                ? strdup(PROXY_NETWORK_BYTES_ALLOW)
                                : text_printf("policy: \"routes\": {\"%s\": {\"%s\": ...}}", name, c->detail);
                break;
        case ROUTE_WHY_NO_ROUTE:
                object = text_printf("route %s", name);
                allow = text_printf("\"network\": {\"routes\": [\"%s\"]}", name);
                break;
        case ROUTE_WHY_PATH:
                object = text_printf("route %s, path %s", name, c->detail);
                allow = text_printf("policy: \"routes\": {\"%s\": {\"paths\": [\"%s\"]}}", name, c->detail);
                break;
        case ROUTE_WHY_MODEL:
                object = text_printf("route %s, model %s", name, *c->model ? c->model : "(none)");
                allow = *c->model ? text_printf("policy: \"routes\": {\"%s\": {\"models\": [\"%s\"]}}", name, c->model) : NULL;
                break;
        case ROUTE_WHY_PRIVATE:
                inet_ntop(c->v6 ? AF_INET6 : AF_INET, c->addr, address, sizeof(address));
                object = text_printf("route %s (%s is private, or this machine's own)", name, address);
                allow = text_printf("policy: \"network\": {\"private\": [\"%s\"]}", address);
                break;
        case ROUTE_WHY_ECHO:
                object = text_printf("route %s (the answer had the secret, which was replaced)", name);
                break;
        case ROUTE_WHY_ANSWERED:
        case ROUTE_WHY_CLOSED:
        case ROUTE_WHY_ENDED:
        case ROUTE_WHY_BROKEN:
        case ROUTE_WHY_TOO_LARGE:
        case ROUTE_WHY_BUSY:
        case ROUTE_WHY_TIMED:
        case ROUTE_WHY_UNKNOWN:
        case ROUTE_WHY_UNREACHED:
        case ROUTE_WHY_CERTIFICATE:
        case ROUTE_WHY_TLS:
        case ROUTE_WHY_BAD_ANSWER:
        case ROUTE_WHY_CUT:
        case ROUTE_WHY_LARGE_ANSWER:
        case ROUTE_WHY_ENCODED:
        case ROUTE_WHY_REDIRECT:
        case ROUTE_WHYS:
                break;
        }
        if (object)
                denials_add(denials, "network", "route", object, strlen(object), allow);
        else
                denials->others++;
}

static json_t *route_digest(const uint8_t hash[static HASH_BYTES]) {
        static const uint8_t none[HASH_BYTES];
        char text[sizeof("sha256:") + 2 * HASH_BYTES] = "sha256:";

        if (memcmp(hash, none, HASH_BYTES) == 0)
                return NULL;
        hex_encode(hash, HASH_BYTES, text + strlen(text));
        return json_string(text);
}

static json_t *route_call_json(const RegionProxy *p, const ProxyCall *c) {
        char address[INET6_ADDRSTRLEN] = "";
        json_t *o;

        if (c->has_address)
                inet_ntop(c->v6 ? AF_INET6 : AF_INET, c->addr, address, sizeof(address));
        o = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:o*, s:o*, s:o, s:o, s:o}", "route", route_name_of(p, c), "verdict", route_why_text(c->why),
                      "method", c->method, "model", *c->model ? c->model : NULL, "detail", *c->detail ? c->detail : NULL, "address",
                      *address ? address : NULL, "asked", route_digest(c->asked), "answered", route_digest(c->answered), "up_bytes", json_u64(c->up),
                      "down_bytes", json_u64(c->down), "usec", json_u64(c->usec));
        if (o && c->status && json_object_set_new(o, "status", json_integer(c->status)) < 0)
                o = NULL;
        if (o && c->has_usage &&
            (json_object_set_new(o, "tokens_in", json_u64(c->tokens_in)) < 0 || json_object_set_new(o, "tokens_out", json_u64(c->tokens_out)) < 0))
                o = NULL;
        if (o && c->estimated && json_object_set_new(o, "estimated", json_true()) < 0)
                o = NULL;
        if (o && c->echoes && json_object_set_new(o, "echoes", json_u64(c->echoes)) < 0)
                o = NULL;
        return o;
}

static void route_note(RegionProxy *p, const ProxyCall *c) {
        if (!p->calls)
                p->calls = json_array();
        if (!p->calls || json_array_size(p->calls) >= CALLS_MAX || json_array_append_new(p->calls, route_call_json(p, c)) < 0)
                p->n_other_calls++;
}

static bool route_take_sums(RegionProxy *p, const ProxyRouteSums *s, Denials *denials) {
        if (s->head.size != sizeof(*s) || s->n != json_array_size(p->routes) || p->route_summed || s->denied_unsaid > JSON_INTEGER_MOST)
                return false;
        for (size_t i = 0; i < s->n; i++)
                if (s->route[i].requests > JSON_INTEGER_MOST || s->route[i].denied > s->route[i].requests || s->route[i].failed > s->route[i].requests ||
                    s->route[i].up > JSON_INTEGER_MOST || s->route[i].down > JSON_INTEGER_MOST || s->route[i].tokens_in > JSON_INTEGER_MOST ||
                    s->route[i].tokens_out > JSON_INTEGER_MOST || s->route[i].echoes > JSON_INTEGER_MOST)
                        return false;
        p->route_sums = *s;
        p->route_summed = true;
        denials->others += s->denied_unsaid;
        denials->total += s->denied_unsaid;
        return true;
}

bool region_route_take(RegionProxy *p, const void *message, ssize_t n, Denials *denials, bool *ret_denied) {
        const ProxyHead *head = message;
        const ProxyCall *c = message;

        if (!p->routes)
                return false;
        if (head->kind == PROXY_ROUTE_SUMS)
                return n == (ssize_t)sizeof(ProxyRouteSums) && route_take_sums(p, message, denials);
        if (head->kind != PROXY_CALL || !route_call_is_valid(p, c, n))
                return false;
        if (route_why_is_denial(c->why)) {
                route_deny(p, c, denials);
                *ret_denied = true;
        }
        route_note(p, c);
        return true;
}

json_t *region_routes_json(const RegionProxy *p) {
        _cleanup_json_ json_t *o = NULL;

        if (!p->route_summed || !(o = json_object()))
                return NULL;
        for (size_t i = 0; i < json_array_size(p->routes); i++) {
                const __typeof__(p->route_sums.route[0]) *s = &p->route_sums.route[i];

                if (json_object_set_new(o, json_text(json_array_get(p->routes, i)),
                                        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "requests", json_u64(s->requests), "denied",
                                                  json_u64(s->denied), "failed", json_u64(s->failed), "up_bytes", json_u64(s->up), "down_bytes",
                                                  json_u64(s->down), "tokens_in", json_u64(s->tokens_in), "tokens_out", json_u64(s->tokens_out),
                                                  "echoes", json_u64(s->echoes))) < 0)
                        return NULL;
        }
        return TAKE_PTR(o);
}
