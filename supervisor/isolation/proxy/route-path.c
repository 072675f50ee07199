#include "proxy/route-path.h"

#include <string.h>

static int path_hex(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                            : c >= 'A' && c <= 'F'   ? c - 'A' + 10
                                                                     : -1;
}

static const char *path_check_escape(const char *s, size_t n) {
        const int high = n > 2 ? path_hex(s[1]) : -1, low = n > 2 ? path_hex(s[2]) : -1, c = 16 * high + low;

        if (high < 0 || low < 0)
                return "a \"%\" without two hexadecimal digits";
        return c < ' ' || c == 0x7f || c == '.' || c == '/' || c == '\\' || c == '%' ? "an encoded dot, slash, backslash, \"%\" or control character in the path"
                                                                                    : NULL;
}

/* Segments of the path: none is empty, except the last; none is "." or "..". */
static const char *path_check_segment(const char *s, size_t n, bool last) {
        if (n == 0 && !last)
                return "an empty segment (\"//\") in the path";
        return (n == 1 && s[0] == '.') || (n == 2 && s[0] == '.' && s[1] == '.') ? "\".\" or \"..\" in the path" : NULL;
}

static const char *path_check(const char *s, size_t n) {
        const char *why = NULL;
        size_t from = 1;

        for (size_t i = 1; !why && i <= n; i++) {
                if (i == n || s[i] == '/') {
                        why = path_check_segment(s + from, i - from, i == n);
                        from = i + 1;
                } else if (s[i] == '%')
                        why = path_check_escape(s + i, n - i);
                else if (s[i] == ';')
                        why = "a \";\" in the path"; /* some servers cut the segment there */
        }
        return why;
}

const char *route_path_parse(const char *target, size_t n, RoutePath *ret) {
        const char *query = memchr(target, '?', n), *slash;
        const size_t whole = query ? (size_t)(query - target) : n;

        if (n < 2 || target[0] != '/')
                return "the target must be /ROUTE/PATH";
        for (size_t i = 0; i < n; i++)
                if (target[i] <= ' ' || target[i] == '#' || target[i] == '\\' || (unsigned char)target[i] >= 0x7f)
                        return "a target with a blank, a fragment, a backslash or a byte beyond ASCII";
        slash = memchr(target + 1, '/', whole - 1);
        *ret = (RoutePath){.name = target + 1, .n_name = slash ? (size_t)(slash - target - 1) : whole - 1};
        if (ret->n_name == 0)
                return "the target must be /ROUTE/PATH";
        ret->path = ret->name + ret->n_name;
        ret->n_path = whole - 1 - ret->n_name;
        ret->query = target + whole;
        ret->n_query = n - whole;
        return ret->n_path > 0 ? path_check(ret->path, ret->n_path) : NULL;
}

bool route_path_covers(const char *prefix, const char *path, size_t n) {
        size_t n_prefix = strlen(prefix);

        while (n_prefix > 0 && prefix[n_prefix - 1] == '/')
                n_prefix--;
        return n >= n_prefix && memcmp(prefix, path, n_prefix) == 0 && (n == n_prefix || path[n_prefix] == '/');
}
