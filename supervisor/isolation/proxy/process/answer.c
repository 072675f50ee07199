/* Runs: lethe-proxy. What a region is told. A refusal never looks like a server's page: status 403, a header and a body
 * for programs. */
#include "proxy/process/state.h"
#include "proxy/socks5.h"

#include <stdio.h>

#define LINE_MAX_TEXT 640

/* The line that would allow the request, as a JSON string without its quotes: of lethe.json, or of the policy. A host's
 * name needs no escape. Empty: nothing would. */
static void answer_allow(const ProxyConn *c, ProxyWhy why, char out[static LINE_MAX_TEXT]) {
        const bool v6 = c->asked.host == PROXY_HOST_IPV6;
        const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";

        *out = 0;
        if (why == PROXY_WHY_NOT_ALLOWED)
                snprintf(out, LINE_MAX_TEXT, "\\\"network\\\": {\\\"allow\\\": [\\\"%s%s%s:%u\\\"]}", open, c->asked.name, close, c->port);
        else if (why == PROXY_WHY_NOT_TLS)
                snprintf(out, LINE_MAX_TEXT, "\\\"network\\\": {\\\"allow\\\": [\\\"%s%s%s:%u/plain\\\"]}", open, c->asked.name, close, c->port);
        else if (why == PROXY_WHY_PRIVATE)
                snprintf(out, LINE_MAX_TEXT, "policy: \\\"network\\\": {\\\"private\\\": [\\\"ADDRESS\\\"]}");
}

static void answer_http(ProxyConn *c, ProxyWhy why, const char *rule) {
        const bool denied = proxy_why_is_denial(why);
        const char *status = denied                    ? "403 Forbidden"
                             : why == PROXY_WHY_BROKEN ? "400 Bad Request"
                             : why == PROXY_WHY_TIMED  ? "504 Gateway Timeout"
                                                       : "502 Bad Gateway";
        char allow[LINE_MAX_TEXT], body[2 * LINE_MAX_TEXT];
        int n;

        answer_allow(c, why, allow);
        n = snprintf(body, sizeof(body), "{\"error\":\"%s\",\"name\":\"%s\",\"port\":%u,\"rule\":\"%s\"%s%s%s%s%s%s}\n",
                     denied ? "lethe_denied" : "lethe_failed", c->asked.name, c->port, proxy_why_text(why), rule ? ",\"reason\":\"" : "",
                     rule ?: "", rule ? "\"" : "", *allow ? ",\"allow\":\"" : "", allow, *allow ? "\"" : "");
        buf_printf(&c->out,
                   "HTTP/1.1 %s\r\nLethe-%s: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                   "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s",
                   status, denied ? "Denied" : "Failed", proxy_why_text(why), n, body);
}

void answer_connected(ProxyConn *c) {
        uint8_t reply[SOCKS5_REPLY_BYTES];

        if (c->protocol == PROTOCOL_CONNECT)
                buf_add_str(&c->out, "HTTP/1.1 200 Connection established\r\n\r\n");
        else if (c->protocol == PROTOCOL_SOCKS5) {
                socks5_reply(SOCKS5_OK, reply);
                buf_add(&c->out, reply, sizeof(reply));
        }
}

void answer_refused(ProxyConn *c, ProxyWhy why, const char *rule) {
        uint8_t reply[SOCKS5_REPLY_BYTES];

        if (c->protocol == PROTOCOL_SOCKS5) {
                socks5_reply(proxy_why_is_denial(why)     ? SOCKS5_NOT_ALLOWED
                             : why == PROXY_WHY_UNKNOWN   ? SOCKS5_HOST_UNREACHABLE
                             : why == PROXY_WHY_UNREACHED ? SOCKS5_REFUSED
                             : why == PROXY_WHY_TIMED     ? SOCKS5_EXPIRED
                                                          : SOCKS5_FAILED,
                             reply);
                buf_add(&c->out, reply, sizeof(reply));
        } else
                answer_http(c, why, rule);
}
