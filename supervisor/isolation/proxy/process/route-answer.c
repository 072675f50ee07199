/* Runs: lethe-proxy (lethe-routes). The upstream's answer on its way to the region: headers that are for the region, the
 * secret taken out; and the answers of lethe-proxy itself, in the shape that clients of model servers understand. */
#include "proxy/process/route.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ANSWER_PIECE 16384

static size_t answer_fail(RouteCall *c, RouteWhy why) {
        c->failure = why;
        return 0;
}

/* Headers of the connection, and headers that would give the region more than an answer. */
static bool answer_is_dropped(const HttpLine *l) {
        static const char *const names[] = {"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "transfer-encoding", "te", "trailer",
                                            "upgrade", "content-length", "content-encoding", "set-cookie", "set-cookie2", "alt-svc",
                                            "strict-transport-security", "location", "refresh", "accept-ranges"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (http_is(l->name, l->n_name, names[i]))
                        return true;
        return l->n_name >= 6 && strncasecmp(l->name, "lethe-", 6) == 0; /* our own */
}

static bool answer_begins(const HttpLine *l, const char *word) {
        return l->n_value >= strlen(word) && strncasecmp(l->value, word, strlen(word)) == 0;
}

static bool answer_line(const char *s, size_t n, HttpLine *ret) {
        const char *colon = memchr(s, ':', n);

        for (size_t i = 0; i < n; i++)
                if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
                        return false;
        if (!colon || colon == s || memchr(s, ' ', (size_t)(colon - s)) || memchr(s, '\t', (size_t)(colon - s)))
                return false;
        *ret = (HttpLine){.name = s, .n_name = (size_t)(colon - s), .value = colon + 1, .n_value = n - (size_t)(colon + 1 - s)};
        while (ret->n_value > 0 && (*ret->value == ' ' || *ret->value == '\t')) {
                ret->value++;
                ret->n_value--;
        }
        while (ret->n_value > 0 && (ret->value[ret->n_value - 1] == ' ' || ret->value[ret->n_value - 1] == '\t'))
                ret->n_value--;
        return true;
}

/* In a compressed answer nobody finds the secret. No request asks for one: Accept-Encoding is identity, and TE is not
 * sent, for which libcurl passes a compressed transfer on as it is. */
static bool answer_is_encoded(const HttpLine *l) {
        return (http_is(l->name, l->n_name, "content-encoding") && !http_is(l->value, l->n_value, "identity")) ||
               (http_is(l->name, l->n_name, "transfer-encoding") && !http_is(l->value, l->n_value, "chunked"));
}

static bool answer_keep_line(RouteCall *c, const char *s, size_t n) {
        Redact own = {.secret = c->redact.secret, .n = c->redact.n, .borders = c->redact.borders};
        _cleanup_free_ char *out = malloc(n + own.n + 1);
        size_t n_out;

        if (!out)
                return false;
        n_out = redact_feed(&own, s, n, out);
        n_out += redact_end(&own, out + n_out);
        c->told.echoes += own.found;
        return buf_add(&c->answer_head, out, n_out) == 0 && buf_add_str(&c->answer_head, "\r\n") == 0;
}

static size_t answer_status(RouteCall *c, const char *s, size_t n) {
        unsigned status = 0;
        size_t i = 0;

        while (i < n && s[i] != ' ')
                i++;
        for (i++; i < n && s[i] >= '0' && s[i] <= '9' && status < 1000; i++)
                status = 10 * status + (unsigned)(s[i] - '0');
        c->status = status;
        c->json = c->events_stream = c->encoded = c->moved = false;
        c->answer_head.n = 0;
        return status >= 100 && status < 600 ? n : answer_fail(c, ROUTE_WHY_BAD_ANSWER);
}

/* The head is whole, of an answer that is no interim one. */
static size_t answer_head_over(RouteCall *c, size_t n) {
        c->head_over = c->status >= 200;
        if (!c->head_over)
                return n;
        if (c->encoded)
                return answer_fail(c, ROUTE_WHY_ENCODED);
        if (c->status >= 300 && c->status < 400 && (c->moved || c->status != 304))
                return answer_fail(c, ROUTE_WHY_REDIRECT);
        model_usage_begin(&c->usage, c->events_stream);
        c->answered = EVP_MD_CTX_new();
        if (!c->answered || !EVP_DigestInit_ex(c->answered, EVP_sha256(), NULL))
                return answer_fail(c, ROUTE_WHY_BAD_ANSWER);
        return n;
}

size_t answer_on_header(char *bytes, size_t size, size_t n, void *call) {
        RouteCall *c = call;
        size_t n_line = size * n;
        HttpLine l;

        n = n_line;
        c->n_answer_head += n;
        if (c->n_answer_head > ROUTE_HEAD_MAX)
                return answer_fail(c, ROUTE_WHY_LARGE_ANSWER);
        if (c->head_over) /* trailers */
                return n;
        while (n_line > 0 && (bytes[n_line - 1] == '\n' || bytes[n_line - 1] == '\r'))
                n_line--;
        if (n_line == 0)
                return answer_head_over(c, n);
        if (n_line > 5 && memcmp(bytes, "HTTP/", 5) == 0)
                return answer_status(c, bytes, n);
        if (!answer_line(bytes, n_line, &l))
                return answer_fail(c, ROUTE_WHY_BAD_ANSWER);
        if (http_is(l.name, l.n_name, "content-type")) {
                c->json = answer_begins(&l, "application/json");
                c->events_stream = answer_begins(&l, "text/event-stream");
        }
        c->encoded |= answer_is_encoded(&l);
        c->moved |= http_is(l.name, l.n_name, "location");
        return answer_is_dropped(&l) || answer_keep_line(c, bytes, n_line) ? n : answer_fail(c, ROUTE_WHY_LARGE_ANSWER);
}

/* n: the length of the whole body, SIZE_MAX: chunks, or up to the end of the connection. */
static bool answer_send_head(RouteCall *c, size_t n) {
        const bool bodiless = c->head_only || c->status == 204 || c->status == 304;
        int r = buf_printf(&c->out, "HTTP/1.1 %u %s\r\n", c->status, c->status == 200 ? "OK" : "Answer") ?:
                buf_add(&c->out, c->answer_head.data ?: "", c->answer_head.n);

        if (r == 0 && !bodiless && n != SIZE_MAX)
                r = buf_printf(&c->out, "Content-Length: %zu\r\n", n);
        else if (r == 0 && !bodiless && !c->old)
                r = buf_add_str(&c->out, "Transfer-Encoding: chunked\r\n");
        c->head_sent = true;
        return r == 0 && buf_add_str(&c->out, "Connection: close\r\n\r\n") == 0;
}

static bool answer_send(RouteCall *c, const char *bytes, size_t n) {
        if (n == 0)
                return true;
        if (c->old)
                return buf_add(&c->out, bytes, n) == 0;
        return buf_printf(&c->out, "%zx\r\n", n) == 0 && buf_add(&c->out, bytes, n) == 0 && buf_add_str(&c->out, "\r\n") == 0;
}

static bool answer_pass(RouteCall *c, const char *bytes, size_t n) {
        if (n == 0)
                return true;
        EVP_DigestUpdate(c->answered, bytes, n);
        if (c->reserved_in > 0)
                model_usage_feed(&c->usage, bytes, n);
        if (!c->head_sent && c->json && c->hold.n + n <= ROUTE_HOLD_MAX)
                return buf_add(&c->hold, bytes, n) == 0;
        if (!c->head_sent && (!answer_send_head(c, SIZE_MAX) || !answer_send(c, c->hold.data ?: "", c->hold.n)))
                return false;
        buf_deinit(&c->hold);
        return answer_send(c, bytes, n);
}

size_t answer_on_body(char *bytes, size_t size, size_t n, void *call) {
        static char out[ANSWER_PIECE + PROXY_SECRET_MAX];
        RouteCall *c = call;
        const uint64_t most = c->route->r->bytes;

        n *= size;
        if (c->out.n > ROUTE_OUT_MAX) {
                c->paused = true;
                return CURL_WRITEFUNC_PAUSE;
        }
        c->told.down += n;
        if (c->told.down > most)
                return answer_fail(c, ROUTE_WHY_LARGE_ANSWER);
        if (n > proxy_bytes_left()) {
                proxy.routed += proxy_bytes_left();
                snprintf(c->told.detail, sizeof(c->told.detail), PROXY_NETWORK_BYTES);
                return answer_fail(c, ROUTE_WHY_BUDGET);
        }
        proxy.routed += n;
        for (size_t at = 0; at < n;) {
                const size_t some = MIN(n - at, (size_t)ANSWER_PIECE);

                if (!answer_pass(c, out, redact_feed(&c->redact, bytes + at, some, out)))
                        return answer_fail(c, ROUTE_WHY_LARGE_ANSWER);
                at += some;
        }
        return n;
}

void answer_whole(RouteCall *c) {
        char rest[PROXY_SECRET_MAX];

        if (!answer_pass(c, rest, redact_end(&c->redact, rest)))
                return;
        if (c->reserved_in > 0) {
                model_usage_end(&c->usage);
                if (c->usage.bad)
                        snprintf(c->told.detail, sizeof(c->told.detail), "the answer is no JSON");
        }
        if (!c->head_sent) {
                const bool bodiless = c->head_only || c->status == 204 || c->status == 304;

                (void)(answer_send_head(c, c->hold.n) && !bodiless && buf_add(&c->out, c->hold.data ?: "", c->hold.n));
        } else if (!c->old)
                buf_add_str(&c->out, "0\r\n\r\n");
}

/* The sentence for a person, and the line of the policy that would allow the request. */
static void answer_words(const RouteCall *c, RouteWhy why, char allow[static 640], char message[static 640]) {
        const char *route = c->route ? c->route->r->name : c->told.detail;

        *allow = 0;
        snprintf(message, 640, "lethe: route %s: %s", route, route_why_text(why));
        if (why == ROUTE_WHY_BUDGET) {
                if (strcmp(c->told.detail, PROXY_NETWORK_BYTES) == 0)
                        snprintf(allow, 640, PROXY_NETWORK_BYTES_ALLOW);
                else
                        snprintf(allow, 640, "policy: \"routes\": {\"%s\": {\"%s\": ...}}", route, c->told.detail);
                snprintf(message, 640, "lethe: route %s: the budget \"%s\" of this region is used up, or the request may use more than is left", route,
                         c->told.detail);
        } else if (why == ROUTE_WHY_MODEL)
                snprintf(allow, 640, "policy: \"routes\": {\"%s\": {\"models\": [\"%s\"]}}", route, c->told.model);
        else if (why == ROUTE_WHY_PATH)
                snprintf(allow, 640, "policy: \"routes\": {\"%s\": {\"paths\": [\"%s\"]}}", route, c->told.detail);
        else if (why == ROUTE_WHY_NO_ROUTE)
                snprintf(allow, 640, "\"network\": {\"routes\": [\"%s\"]}", route);
        else if (why == ROUTE_WHY_PRIVATE)
                snprintf(allow, 640, "policy: \"network\": {\"private\": [\"ADDRESS\"]}");
}

/* A JSON string; other characters than printable ASCII become "?". */
static void answer_string(Buf *b, const char *name, const char *text) {
        buf_printf(b, ",\"%s\":\"", name);
        for (; *text; text++) {
                if (*text == '"' || *text == '\\')
                        buf_add_str(b, "\\");
                buf_add(b, *text >= ' ' && *text < 0x7f ? text : "?", 1);
        }
        buf_add_str(b, "\"");
}

void answer_own(RouteCall *c, RouteWhy why, const char *rule) {
        const bool denied = route_why_is_denial(why);
        const unsigned status = route_why_status(why);
        char allow[640], message[640];
        _cleanup_buf_ Buf b = {.max = 8192};

        buf_deinit(&c->hold);
        answer_words(c, why, allow, message);
        buf_printf(&b, "{\"error\":{\"type\":\"%s\",\"code\":\"%s\"", denied ? "lethe_denied" : "lethe_failed", route_why_text(why));
        answer_string(&b, "message", message);
        if (rule)
                answer_string(&b, "reason", rule);
        if (*allow)
                answer_string(&b, "allow", allow);
        buf_add_str(&b, "}}\n");
        buf_printf(&c->out,
                   "HTTP/1.1 %u %s\r\nLethe-%s: %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                   "Cache-Control: no-store\r\nX-Should-Retry: false\r\nConnection: close\r\n\r\n%s",
                   status, denied ? "Denied" : "Failed", denied ? "Denied" : "Failed", route_why_text(why), b.n, c->head_only ? "" : b.data);
        c->head_sent = true;
}
