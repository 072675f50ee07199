#include "proxy/redact.h"
#include "proxy/route-path.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
        const char *target, *name, *path, *query; /* name NULL: refused */
} targets[] = {
        {"/api/v1/chat?x=1", "api", "/v1/chat", "?x=1"},
        {"/api", "api", "", ""},
        {"/api/", "api", "/", ""},
        {"/api?x=/../", "api", "", "?x=/../"},
        {"/api/a%20b/c.d/..e", "api", "/a%20b/c.d/..e", ""},
        {"/", NULL, NULL, NULL},
        {"//x", NULL, NULL, NULL},
        {"/?x", NULL, NULL, NULL},
        {"x/y", NULL, NULL, NULL},
        {"/api/../b", NULL, NULL, NULL},
        {"/api/.", NULL, NULL, NULL},
        {"/api/./b", NULL, NULL, NULL},
        {"/api//b", NULL, NULL, NULL},
        {"/api/%2e%2e/b", NULL, NULL, NULL},
        {"/api/a%2Fb", NULL, NULL, NULL},
        {"/api/a%5cb", NULL, NULL, NULL},
        {"/api/a%00b", NULL, NULL, NULL},
        {"/api/a%252e", NULL, NULL, NULL},
        {"/api/a%2", NULL, NULL, NULL},
        {"/api/a%zz", NULL, NULL, NULL},
        {"/api/a;b", NULL, NULL, NULL},
        {"/api/a\\b", NULL, NULL, NULL},
        {"/api/a#b", NULL, NULL, NULL},
        {"/api/a b", NULL, NULL, NULL},
        {"/api/\xc3\xa4", NULL, NULL, NULL},
};

static bool is(const char *bytes, size_t n, const char *text) {
        return n == strlen(text) && memcmp(bytes, text, n) == 0;
}

//
Test(route_path, a_target_that_servers_may_read_in_two_ways_is_refused) {
        for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++) {
                RoutePath p;
                const char *why = route_path_parse(targets[i].target, strlen(targets[i].target), &p);

                cr_expect_eq(why == NULL, targets[i].name != NULL, "%s: %s", targets[i].target, why ?: "accepted");
                if (targets[i].name && !why)
                        cr_expect(is(p.name, p.n_name, targets[i].name) && is(p.path, p.n_path, targets[i].path) && is(p.query, p.n_query, targets[i].query),
                                  "%s", targets[i].target);
        }
}

//
Test(route_path, a_prefix_covers_whole_segments) {
        cr_expect(route_path_covers("/v1", "/v1", 3) && route_path_covers("/v1/", "/v1/chat", 8) && route_path_covers("/", "/x", 2));
        cr_expect_not(route_path_covers("/v1", "/v10", 4) || route_path_covers("/v1/chat", "/v1", 3) || route_path_covers("/v1", "/V1", 3));
}

/* Every stream of up to 12 letters of two, in pieces of every size, is as a search of the whole stream says. */
static void check_stream(const char *secret, const char *text, size_t n, size_t piece) {
        uint16_t borders[16];
        char out[64], want[64];
        Redact r = {.secret = secret, .n = strlen(secret), .borders = borders};
        size_t n_out = 0;
        uint64_t found = 0;

        memcpy(want, text, n);
        for (size_t i = 0; i + r.n <= n;)
                if (memcmp(text + i, secret, r.n) == 0) {
                        memset(want + i, '*', r.n);
                        found++;
                        i += r.n;
                } else
                        i++;
        redact_borders(secret, r.n, borders);
        for (size_t at = 0; at < n; at += piece)
                n_out += redact_feed(&r, text + at, at + piece > n ? n - at : piece, out + n_out);
        n_out += redact_end(&r, out + n_out);
        cr_assert(n_out == n && memcmp(out, want, n) == 0 && r.found == found, "%s in %.*s by %zu: %.*s", secret, (int)n, text, piece, (int)n_out, out);
}

//
Test(redact, a_secret_in_any_pieces_is_found) {
        static const char *const secrets[] = {"ab", "aab", "abab", "aabaa", "ababb", "aaaa"};

        for (size_t k = 0; k < sizeof(secrets) / sizeof(*secrets); k++)
                for (unsigned bits = 0; bits < 1U << 12; bits++) {
                        char text[12];

                        for (size_t i = 0; i < sizeof(text); i++)
                                text[i] = bits >> i & 1 ? 'a' : 'b';
                        for (size_t piece = 1; piece <= sizeof(text); piece += 1 + piece / 3)
                                check_stream(secrets[k], text, sizeof(text), piece);
                }
}
