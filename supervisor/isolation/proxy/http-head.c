#include "proxy/http-head.h"

#include "base/ascii.h"
#include "manifest/net-name.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define CHUNK_LINE_MAX 4096

static int http_bad(const char **reterr, const char *rule) {
        *reterr = rule;
        return HTTP_E_BAD;
}

/* tchar of RFC 9110 5.6.2. */
static bool http_is_token(const char *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!ascii_letter(s[i]) && !ascii_digit(s[i]) && (!s[i] || !strchr("!#$%&'*+-.^_`|~", s[i])))
                        return false;
        return n > 0;
}

static bool http_is_text(const char *s, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
                        return false;
        return true;
}

bool http_is(const char *s, size_t n, const char *word) {
        return n == strlen(word) && strncasecmp(s, word, n) == 0;
}

/* The line at *at; *at goes behind it. Returns 0, HTTP_E_MORE, HTTP_E_BAD. */
static int http_line(const char *bytes, size_t n, size_t *at, const char **ret, size_t *ret_n, const char **reterr) {
        const char *from = bytes + *at, *end = memchr(from, '\n', n - *at);
        const size_t n_line = end ? (size_t)(end - from) : n - *at;
        const char *cr = memchr(from, '\r', n_line);

        if (cr && (end ? cr != end - 1 : cr != from + n_line - 1))
                return http_bad(reterr, "a carriage return inside a line");
        if (!end)
                return HTTP_E_MORE;
        if (!cr)
                return http_bad(reterr, "a line that ends without a carriage return");
        *ret = from;
        *ret_n = n_line - 1;
        *at += n_line + 1;
        return http_is_text(*ret, *ret_n) ? 0 : http_bad(reterr, "a control character");
}

/* HOST, HOST:PORT, [V6]:PORT of n bytes. port: of an authority without a port; 0: a port must stand there. */
static int http_authority(const char *s, size_t n, uint16_t port, ProxyRule *ret_host, uint16_t *ret_port) {
        const bool v6 = n > 0 && *s == '[';
        const char *close = v6 ? memchr(s, ']', n) : NULL, *colon;
        const size_t host = v6 ? (close ? (size_t)(close - s) + 1 : 0) : (size_t)((colon = memchr(s, ':', n)) ? colon - s : (ptrdiff_t)n);
        uint32_t v = 0;

        if (host < 1 || net_host_parse(s + v6, host - (v6 ? 2 : 0), ret_host) < 0 ||
            v6 != (ret_host->host == PROXY_HOST_IPV6))
                return -EINVAL;
        if (host < n && s[host] != ':')
                return -EINVAL;
        for (size_t i = host + 1; i < n; i++) {
                if (!ascii_digit(s[i]) || n - host > 6)
                        return -EINVAL;
                v = 10 * v + (uint32_t)(s[i] - '0');
        }
        if (host == n || (host + 1 == n && port > 0))
                v = port;
        if (v < 1 || v > UINT16_MAX)
                return -EINVAL;
        *ret_port = (uint16_t)v;
        return 0;
}

static int http_target(const char *bytes, const char *s, size_t n, HttpHead *h, const char **reterr) {
        static const char scheme[] = "http://";
        const size_t n_scheme = sizeof(scheme) - 1;
        size_t n_authority;

        for (size_t i = 0; i < n; i++)
                if (s[i] <= ' ' || s[i] == '#' || s[i] == '\\' || (unsigned char)s[i] >= 0x7f)
                        return http_bad(reterr, "a target with a blank, a fragment, a backslash or a byte beyond ASCII");
        if (h->connect)
                return http_authority(s, n, 0, &h->host, &h->port) == 0 ? 0 : http_bad(reterr, "CONNECT needs HOST:PORT");
        if (n < n_scheme || strncasecmp(s, scheme, n_scheme) != 0)
                return http_bad(reterr, "the target must be http://HOST/…; https is for CONNECT");
        s += n_scheme;
        n -= n_scheme;
        for (n_authority = 0; n_authority < n && !strchr("/?", s[n_authority]);)
                n_authority++;
        if (http_authority(s, n_authority, 80, &h->host, &h->port) < 0)
                return http_bad(reterr, "the target's host is no host name, or has a user or a wrong port");
        h->path = (size_t)(s + n_authority - bytes);
        h->n_path = n - n_authority;
        return 0;
}

static int http_origin_target(const char *bytes, const char *s, size_t n, HttpHead *h, const char **reterr) {
        if (h->connect || n < 1 || *s != '/')
                return http_bad(reterr, "the target must be a path");
        h->path = (size_t)(s - bytes);
        h->n_path = n;
        return 0;
}

static int http_request_line(const char *bytes, size_t n, bool origin, HttpHead *h, bool *ret_old, const char **reterr) {
        const char *first = memchr(bytes, ' ', n), *last = memrchr(bytes, ' ', n);

        if (!first || first == last || !http_is_token(bytes, (size_t)(first - bytes)))
                return http_bad(reterr, "the first line must be METHOD TARGET HTTP/1.1");
        h->n_method = (size_t)(first - bytes);
        *ret_old = http_is(last + 1, n - (size_t)(last + 1 - bytes), "HTTP/1.0");
        if (!*ret_old && !http_is(last + 1, n - (size_t)(last + 1 - bytes), "HTTP/1.1"))
                return http_bad(reterr, "the version must be HTTP/1.1 or HTTP/1.0");
        h->connect = h->n_method == 7 && memcmp(bytes, "CONNECT", 7) == 0;
        return (origin ? http_origin_target : http_target)(bytes, first + 1, (size_t)(last - first - 1), h, reterr);
}

static int http_header(const char *line, size_t n, HttpLine *ret, const char **reterr) {
        const char *colon = memchr(line, ':', n);
        HttpLine h = {.name = line};

        if (*line == ' ' || *line == '\t')
                return http_bad(reterr, "a folded line");
        if (!colon || !http_is_token(line, (size_t)(colon - line)))
                return http_bad(reterr, "a header without a name, or with a blank before its colon");
        h.n_name = (size_t)(colon - line);
        h.value = colon + 1;
        h.n_value = n - h.n_name - 1;
        while (h.n_value > 0 && ascii_blank(*h.value)) {
                h.value++;
                h.n_value--;
        }
        while (h.n_value > 0 && ascii_blank(h.value[h.n_value - 1]))
                h.n_value--;
        *ret = h;
        return 0;
}

static int http_length(const HttpLine *l, uint64_t *ret) {
        uint64_t v = 0;

        if (l->n_value < 1 || l->n_value > 18)
                return -EINVAL;
        for (size_t i = 0; i < l->n_value; i++) {
                if (!ascii_digit(l->value[i]))
                        return -EINVAL;
                v = 10 * v + (uint64_t)(l->value[i] - '0');
        }
        *ret = v;
        return 0;
}

/* A name that the Connection header may not take away. */
static bool http_is_framing(const char *s, size_t n) {
        return http_is(s, n, "host") || http_is(s, n, "content-length") || http_is(s, n, "transfer-encoding");
}

/* The next element of a list with commas; NULL at the end. */
static const char *http_element(const HttpLine *l, size_t *at, size_t *ret_n) {
        const char *from, *comma;

        while (*at < l->n_value && (ascii_blank(l->value[*at]) || l->value[*at] == ','))
                ++*at;
        if (*at >= l->n_value)
                return NULL;
        from = l->value + *at;
        comma = memchr(from, ',', l->n_value - *at);
        *ret_n = comma ? (size_t)(comma - from) : l->n_value - *at;
        *at += *ret_n;
        while (*ret_n > 0 && ascii_blank(from[*ret_n - 1]))
                --*ret_n;
        return from;
}

typedef struct HttpSeen {
        bool host, length, coding, old, origin;
        size_t n;
} HttpSeen;

static int http_judge(const HttpLine *l, HttpHead *h, HttpSeen *seen, const char **reterr) {
        ProxyRule host;
        uint16_t port;

        if (http_is(l->name, l->n_name, "host")) {
                if (seen->host)
                        return http_bad(reterr, "two Host headers");
                seen->host = true;
                if (!seen->origin && (http_authority(l->value, l->n_value, h->connect ? h->port : 80, &host, &port) < 0 ||
                    strcmp(host.name, h->host.name) != 0 || port != h->port))
                        return http_bad(reterr, "Host is not the target's host and port");
        } else if (http_is(l->name, l->n_name, "content-length")) {
                if (seen->length || seen->coding)
                        return http_bad(reterr, "two lengths of the body");
                seen->length = true;
                if (http_length(l, &h->length) < 0)
                        return http_bad(reterr, "Content-Length is no number");
        } else if (http_is(l->name, l->n_name, "transfer-encoding")) {
                if (seen->length || seen->coding)
                        return http_bad(reterr, "two lengths of the body");
                seen->coding = h->chunked = true;
                if (seen->old || !http_is(l->value, l->n_value, "chunked"))
                        return http_bad(reterr, "a Transfer-Encoding other than chunked");
        } else if (http_is(l->name, l->n_name, "connection")) {
                size_t at = 0, n;

                for (const char *e; (e = http_element(l, &at, &n));)
                        if (http_is_framing(e, n))
                                return http_bad(reterr, "Connection names a header that frames the request");
        }
        return 0;
}

static int http_parse(const char *bytes, size_t n, bool origin, HttpHead *ret, const char **reterr) {
        const size_t n_seen = MIN(n, (size_t)HTTP_HEAD_MAX);
        HttpHead h = {};
        HttpSeen seen = {.origin = origin};
        const char *line;
        size_t at = 0, n_line;
        int r = http_line(bytes, n_seen, &at, &line, &n_line, reterr) ?: http_request_line(line, n_line, origin, &h, &seen.old, reterr);

        for (; r == 0; seen.n++) {
                HttpLine l;

                r = http_line(bytes, n_seen, &at, &line, &n_line, reterr);
                if (r != 0 || n_line == 0)
                        break;
                if (seen.n >= HTTP_HEADERS_MAX)
                        return http_bad(reterr, "too many headers");
                r = http_header(line, n_line, &l, reterr) ?: http_judge(&l, &h, &seen, reterr);
        }
        if (r == HTTP_E_MORE && n >= HTTP_HEAD_MAX)
                return http_bad(reterr, "the head is too long");
        if (r != 0)
                return r;
        if (h.connect && (h.length > 0 || h.chunked))
                return http_bad(reterr, "CONNECT with a body");
        if (!seen.host && !seen.old)
                return http_bad(reterr, "no Host header");
        h.n = at;
        *ret = h;
        return 0;
}

int http_head_parse(const char *bytes, size_t n, HttpHead *ret, const char **reterr) {
        return http_parse(bytes, n, false, ret, reterr);
}

int http_origin_parse(const char *bytes, size_t n, HttpHead *ret, const char **reterr) {
        return http_parse(bytes, n, true, ret, reterr);
}

/* Headers between the region and the proxy. */
static bool http_is_dropped(const HttpLine *l, const char *bytes, const HttpHead *h) {
        static const char *const names[] = {"host", "connection", "proxy-connection", "proxy-authorization",
                                            "keep-alive", "upgrade", "te",
                                            "close" /* named by our own Connection */};
        const char *line, *why;
        size_t at = 0, n_line;

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (http_is(l->name, l->n_name, names[i]))
                        return true;
        if (http_line(bytes, h->n, &at, &line, &n_line, &why) != 0)
                return true;
        while (http_line(bytes, h->n, &at, &line, &n_line, &why) == 0 && n_line > 0) {
                HttpLine other;
                size_t n, in = 0;

                if (http_header(line, n_line, &other, &why) != 0 || !http_is(other.name, other.n_name, "connection"))
                        continue;
                for (const char *e; (e = http_element(&other, &in, &n));)
                        if (n == l->n_name && strncasecmp(e, l->name, n) == 0)
                                return true;
        }
        return false;
}

bool http_head_next(const char *bytes, const HttpHead *h, size_t *at, HttpLine *ret) {
        const char *line, *why;
        size_t n_line;

        if (*at == 0 && http_line(bytes, h->n, at, &line, &n_line, &why) != 0)
                return false;
        while (http_line(bytes, h->n, at, &line, &n_line, &why) == 0 && n_line > 0)
                if (http_header(line, n_line, ret, &why) == 0 && !http_is_dropped(ret, bytes, h))
                        return true;
        return false;
}

int http_head_rewrite(const char *bytes, const HttpHead *h, Buf *ret) {
        const bool v6 = h->host.host == PROXY_HOST_IPV6, slash = h->n_path == 0 || bytes[h->path] != '/';
        HttpLine l;
        size_t at = 0;
        int r = buf_printf(ret, "%.*s %s%.*s HTTP/1.1\r\nHost: %s%s%s", (int)h->n_method, bytes, slash ? "/" : "",
                           (int)h->n_path, bytes + h->path, v6 ? "[" : "", h->host.name, v6 ? "]" : "");

        if (r == 0 && h->port != 80)
                r = buf_printf(ret, ":%u", h->port);
        r = r ?: buf_add_str(ret, "\r\nConnection: close\r\n");
        while (r == 0 && http_head_next(bytes, h, &at, &l))
                r = buf_printf(ret, "%.*s: ", (int)l.n_name, l.name) ?: buf_add(ret, l.value, l.n_value) ?: buf_add_str(ret, "\r\n");
        return r ?: buf_add_str(ret, "\r\n");
}

enum { CHUNK_SIZE,
       CHUNK_EXTENSION,
       CHUNK_SIZE_LF,
       CHUNK_DATA,
       CHUNK_DATA_CR,
       CHUNK_DATA_LF,
       CHUNK_TRAILER,
       CHUNK_TRAILER_LF };

static int http_hex(char c) {
        return ascii_digit(c) ? c - '0' : ascii_lower(c) >= 'a' && ascii_lower(c) <= 'f' ? ascii_lower(c) - 'a' + 10
                                                                                         : -1;
}

/* A byte of a line between chunks. False: refused. */
static bool http_chunk_byte(HttpChunks *c, char b) {
        const int digit = http_hex(b);

        switch (c->state) {
        case CHUNK_SIZE:
                if (digit >= 0 && c->n_line < 15) {
                        c->left = 16 * c->left + (uint64_t)digit;
                        c->n_line++;
                        return true;
                }
                if (c->n_line == 0 || (b != ';' && b != '\r'))
                        return false;
                c->state = b == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_LF;
                return true;
        case CHUNK_EXTENSION:
                if (b == '\r')
                        c->state = CHUNK_SIZE_LF;
                return b != '\n' && c->n_line++ < CHUNK_LINE_MAX;
        case CHUNK_SIZE_LF:
                c->state = c->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
                c->n_line = 0;
                return b == '\n';
        case CHUNK_DATA_CR:
                c->state = CHUNK_DATA_LF;
                return b == '\r';
        case CHUNK_DATA_LF:
                c->state = CHUNK_SIZE;
                c->n_line = 0;
                return b == '\n';
        default: /* a request's trailers are not needed by a server: none is allowed */
                c->over = c->state == CHUNK_TRAILER_LF && b == '\n';
                if (c->state == CHUNK_TRAILER_LF)
                        return c->over;
                c->state = CHUNK_TRAILER_LF;
                return b == '\r';
        }
}

size_t http_chunks_decode(HttpChunks *c, const char *bytes, size_t n, Buf *ret) {
        size_t i = 0;

        while (i < n && !c->over) {
                if (c->state == CHUNK_DATA) {
                        const uint64_t some = MIN(c->left, (uint64_t)(n - i));

                        if (ret && buf_add(ret, bytes + i, some) < 0)
                                return HTTP_CHUNKS_BAD;
                        i += some;
                        c->left -= some;
                        if (c->left == 0)
                                c->state = CHUNK_DATA_CR;
                } else if (!http_chunk_byte(c, bytes[i++]))
                        return HTTP_CHUNKS_BAD;
        }
        return i;
}

size_t http_chunks_feed(HttpChunks *c, const char *bytes, size_t n) {
        return http_chunks_decode(c, bytes, n, NULL);
}
