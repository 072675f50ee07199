/* Runs: lethe-proxy (lethe-routes). The upstream's side of a request, by libcurl (its multi interface, in the epoll loop).
 * libcurl looks no name up, follows no redirect, reads no file, and connects to the judged addresses; OpenSSL verifies
 * certificate and name. All memory of both libraries is overwritten when freed. */
#include "proxy/process/route.h"

#include "base/clock.h"
#include "base/io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <sys/epoll.h>

#define SYSTEM_CERTIFICATES "/etc/ssl/certs/ca-certificates.crt"
#define CONNECTIONS_KEPT 8L

/* Each route has a separate handle: libcurl uses old connections of the same handle again, whichever certificates let
 * the connection pass. */
typedef struct UpstreamMulti {
        CURLM *multi;
        uint64_t due; /* CLOCK_MONOTONIC usec */
} UpstreamMulti;

static UpstreamMulti upstream_multis[PROXY_ROUTES_MAX];
static Buf upstream_system; /* certificates of the system, PEM */

static void upstream_wipe_free(void *p) {
        if (p)
                explicit_bzero(p, malloc_usable_size(p));
        free(p);
}

static void *upstream_wipe_realloc(void *p, size_t n) {
        const size_t had = p ? malloc_usable_size(p) : 0;
        void *more = malloc(n > 0 ? n : 1);

        if (!more)
                return NULL;
        if (p)
                memcpy(more, p, MIN(had, n));
        upstream_wipe_free(p);
        return more;
}

static void *upstream_ssl_malloc(size_t n, const char *file, int line) {
        (void)file, (void)line;
        return malloc(n);
}

static void *upstream_ssl_realloc(void *p, size_t n, const char *file, int line) {
        (void)file, (void)line;
        if (n == 0) {
                upstream_wipe_free(p);
                return NULL;
        }
        return upstream_wipe_realloc(p, n);
}

static void upstream_ssl_free(void *p, const char *file, int line) {
        (void)file, (void)line;
        upstream_wipe_free(p);
}

bool route_curl_load(void) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0;

        if (!CRYPTO_set_mem_functions(upstream_ssl_malloc, upstream_ssl_realloc, upstream_ssl_free) ||
            curl_global_init_mem(CURL_GLOBAL_ALL, malloc, upstream_wipe_free, upstream_wipe_realloc, strdup, calloc) != CURLE_OK)
                return false;
        /* Without the file, only certificates named by the policy can be verified. */
        upstream_system.max = 4 * PROXY_CERTIFICATES_MAX;
        return io_read_file(AT_FDCWD, SYSTEM_CERTIFICATES, upstream_system.max, &text, &n) < 0 || buf_add(&upstream_system, text, n) == 0;
}

static int upstream_on_socket(CURL *easy, curl_socket_t fd, int what, void *multi, void *socket_data) {
        struct epoll_event e = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U),
                                .data.u64 = ROUTES_SOCKET_TAG(fd, (const UpstreamMulti *)multi - upstream_multis)};

        (void)easy, (void)socket_data;
        if (what == CURL_POLL_REMOVE)
                epoll_ctl(proxy.epoll, EPOLL_CTL_DEL, fd, NULL);
        else if (epoll_ctl(proxy.epoll, EPOLL_CTL_MOD, fd, &e) < 0)
                epoll_ctl(proxy.epoll, EPOLL_CTL_ADD, fd, &e);
        return 0;
}

static int upstream_on_timer(CURLM *multi, long msec, void *data) {
        UpstreamMulti *u = data;

        (void)multi;
        u->due = msec < 0 ? UINT64_MAX : clock_mono_usec() + (uint64_t)msec * 1000;
        return 0;
}

bool route_curl_start(void) {
        bool good = true;

        for (size_t i = 0; good && i < PROXY_ROUTES_MAX; i++) {
                UpstreamMulti *u = &upstream_multis[i];

                *u = (UpstreamMulti){curl_multi_init(), UINT64_MAX};
                good = u->multi && curl_multi_setopt(u->multi, CURLMOPT_SOCKETFUNCTION, upstream_on_socket) == CURLM_OK &&
                       curl_multi_setopt(u->multi, CURLMOPT_SOCKETDATA, u) == CURLM_OK &&
                       curl_multi_setopt(u->multi, CURLMOPT_TIMERFUNCTION, upstream_on_timer) == CURLM_OK &&
                       curl_multi_setopt(u->multi, CURLMOPT_TIMERDATA, u) == CURLM_OK &&
                       curl_multi_setopt(u->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT) == CURLM_OK;
        }
        return good;
}

static CURLM *upstream_of(const RouteCall *c) {
        return upstream_multis[c->route - routes.list].multi;
}

static X509_STORE *upstream_store(const char *pem, size_t n) {
        BIO *b = BIO_new_mem_buf(pem, (int)n);
        X509_STORE *store = X509_STORE_new();
        X509 *one;

        while (b && store && (one = PEM_read_bio_X509(b, NULL, NULL, NULL))) {
                X509_STORE_add_cert(store, one);
                X509_free(one);
        }
        BIO_free(b);
        return store;
}

static CURLcode upstream_on_ssl(CURL *easy, void *ssl, void *call) {
        Route *to = ((RouteCall *)call)->route;

        (void)easy;
        if (!to->store)
                to->store = to->pem ? upstream_store(to->pem, to->n_pem) : upstream_store(upstream_system.data, upstream_system.n);
        if (!to->store)
                return CURLE_OUT_OF_MEMORY;
        SSL_CTX_set1_cert_store(ssl, to->store);
        return CURLE_OK;
}

static bool upstream_is_address(const ProxyAddress *a, const struct sockaddr *sa) {
        return a->v6 ? sa->sa_family == AF_INET6 && memcmp(&((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr, a->addr, 16) == 0
                     : sa->sa_family == AF_INET && memcmp(&((const struct sockaddr_in *)(const void *)sa)->sin_addr, a->addr, 4) == 0;
}

/* A socket is made for the judged address alone, however libcurl reads the options. */
static curl_socket_t upstream_on_open(void *call, curlsocktype purpose, struct curl_sockaddr *to) {
        const RouteCall *c = call;

        if (purpose != CURLSOCKTYPE_IPCXN || !upstream_is_address(&c->route->list[c->next_address - 1], &to->addr))
                return CURL_SOCKET_BAD;
        return socket(to->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

/* Headers of the region with credentials, and headers that split or change the answer. */
static bool upstream_is_dropped(const RouteCall *c, const HttpLine *l) {
        static const char *const names[] = {"authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "content-length",
                                            "transfer-encoding", "expect", "range", "if-range", "accept-encoding", "trailer"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (http_is(l->name, l->n_name, names[i]))
                        return true;
        return http_is(l->name, l->n_name, c->route->r->header);
}

static bool upstream_add_header(RouteCall *c, const char *line) {
        struct curl_slist *more = curl_slist_append(c->headers, line);

        c->headers = more ?: c->headers;
        return more;
}

static bool upstream_headers(RouteCall *c) {
        bool good = (!c->route->value || upstream_add_header(c, c->route->value)) && upstream_add_header(c, "Accept-Encoding: identity") &&
                    upstream_add_header(c, "Expect:"), typed = false;
        HttpLine l;
        size_t at = 0;

        while (good && http_head_next(c->in.data, &c->head, &at, &l)) {
                _cleanup_buf_ Buf line = {.max = 2 * HTTP_HEAD_MAX};

                if (upstream_is_dropped(c, &l))
                        continue;
                typed |= http_is(l.name, l.n_name, "content-type");
                good = buf_printf(&line, "%.*s%s", (int)l.n_name, l.name, l.n_value > 0 ? ": " : ";") == 0 &&
                       buf_add(&line, l.value, l.n_value) == 0 && upstream_add_header(c, line.data);
        }
        return good && (typed || upstream_add_header(c, "Content-Type:"));
}

static bool upstream_url(RouteCall *c) {
        const ProxyRoute *r = c->route->r;
        const bool v6 = r->upstream.host == PROXY_HOST_IPV6;
        _cleanup_buf_ Buf url = {.max = 2 * HTTP_HEAD_MAX};

        return buf_printf(&url, "%s://%s%s%s:%u%s%.*s%.*s", r->plain ? "http" : "https", v6 ? "[" : "", r->upstream.name, v6 ? "]" : "", r->port,
                          r->base, (int)c->path.n_path, c->path.path, (int)c->path.n_query, c->path.query) == 0 &&
               curl_easy_setopt(c->easy, CURLOPT_URL, url.data) == CURLE_OK;
}

#define SET(option, value) (curl_easy_setopt(c->easy, CURLOPT_##option, (value)) == CURLE_OK)

static bool upstream_options(RouteCall *c) {
        const bool body = c->body.n > 0 || strcmp(c->told.method, "POST") == 0 || c->head.length > 0;

        return SET(PRIVATE, c) && SET(NOSIGNAL, 1L) && SET(PROXY, "") && SET(NETRC, (long)CURL_NETRC_IGNORED) &&
               SET(PROTOCOLS_STR, c->route->r->plain ? "http" : "https") && SET(FOLLOWLOCATION, 0L) && SET(PATH_AS_IS, 1L) &&
               SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) && SET(HTTP09_ALLOWED, 0L) && SET(HTTP_CONTENT_DECODING, 0L) &&
               SET(SSL_VERIFYPEER, 1L) && SET(SSL_VERIFYHOST, 2L) && SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) && SET(CAINFO, NULL) &&
               SET(CAPATH, NULL) && SET(SSL_CTX_FUNCTION, upstream_on_ssl) && SET(SSL_CTX_DATA, c) && SET(OPENSOCKETFUNCTION, upstream_on_open) &&
               SET(OPENSOCKETDATA, c) && SET(CONNECTTIMEOUT_MS, (long)(CONNECT_USEC / 1000)) && SET(BUFFERSIZE, 16384L) &&
               SET(HEADERFUNCTION, answer_on_header) && SET(HEADERDATA, c) && SET(WRITEFUNCTION, answer_on_body) && SET(WRITEDATA, c) &&
               SET(HTTPHEADER, c->headers) && SET(TCP_NODELAY, 1L) &&
               (!body || (SET(POSTFIELDS, c->body.data ?: "") && SET(POSTFIELDSIZE_LARGE, (curl_off_t)c->body.n))) &&
               (!c->head_only || SET(NOBODY, 1L)) && SET(CUSTOMREQUEST, c->told.method);
}

/* Connects to the next judged address. False: no further address. */
static bool upstream_next(RouteCall *c) {
        const Route *to = c->route;
        const ProxyAddress *a;
        char text[INET6_ADDRSTRLEN], line[INET6_ADDRSTRLEN + 16];

        if (c->next_address >= to->n_list)
                return false;
        a = &to->list[c->next_address++];
        inet_ntop(a->v6 ? AF_INET6 : AF_INET, a->addr, text, sizeof(text));
        snprintf(line, sizeof(line), "::%s%s%s:%u", a->v6 ? "[" : "", text, a->v6 ? "]" : "", to->r->port);
        curl_slist_free_all(TAKE_PTR(c->connect_to));
        c->connect_to = curl_slist_append(NULL, line);
        if (!c->connect_to || !SET(CONNECT_TO, c->connect_to) || curl_multi_add_handle(upstream_of(c), c->easy) != CURLM_OK)
                return false;
        c->in_multi = true;
        c->told.has_address = 1;
        c->told.v6 = a->v6;
        memcpy(c->told.addr, a->addr, sizeof(c->told.addr));
        return true;
}

RouteWhy route_curl_begin(RouteCall *c) {
        c->easy = curl_easy_init();
        c->redact = (Redact){.secret = c->route->secret, .n = c->route->n_secret, .borders = c->route->borders};
        return c->easy && upstream_url(c) && upstream_headers(c) && upstream_options(c) && upstream_next(c) ? ROUTE_WHY_ANSWERED : ROUTE_WHY_UNREACHED;
}

void route_curl_drop(RouteCall *c) {
        if (c->in_multi)
                curl_multi_remove_handle(upstream_of(c), c->easy);
        c->in_multi = c->paused = false;
        curl_easy_cleanup(TAKE_PTR(c->easy));
        curl_slist_free_all(TAKE_PTR(c->headers));
        curl_slist_free_all(TAKE_PTR(c->connect_to));
}

void route_curl_unpause(RouteCall *c) {
        c->paused = false;
        curl_easy_pause(c->easy, CURLPAUSE_CONT);
}

static RouteWhy upstream_why(const RouteCall *c, CURLcode e) {
        static const struct {
                CURLcode code;
                RouteWhy why;
        } rows[] = {
                {CURLE_OK, ROUTE_WHY_ANSWERED},
                {CURLE_COULDNT_CONNECT, ROUTE_WHY_UNREACHED},
                {CURLE_OPERATION_TIMEDOUT, ROUTE_WHY_TIMED},
                {CURLE_PEER_FAILED_VERIFICATION, ROUTE_WHY_CERTIFICATE},
                {CURLE_SSL_ISSUER_ERROR, ROUTE_WHY_CERTIFICATE},
                {CURLE_SSL_CONNECT_ERROR, ROUTE_WHY_TLS},
                {CURLE_SSL_CIPHER, ROUTE_WHY_TLS},
                {CURLE_PARTIAL_FILE, ROUTE_WHY_CUT},
                {CURLE_RECV_ERROR, ROUTE_WHY_CUT},
                {CURLE_SEND_ERROR, ROUTE_WHY_CUT},
                {CURLE_GOT_NOTHING, ROUTE_WHY_CUT},
                {CURLE_OUT_OF_MEMORY, ROUTE_WHY_LARGE_ANSWER}, /* libcurl's word for a header beyond the bound */
        };

        if (e == CURLE_WRITE_ERROR && c->failure != ROUTE_WHY_ANSWERED)
                return c->failure;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (rows[i].code == e)
                        return rows[i].why;
        return ROUTE_WHY_BAD_ANSWER;
}

static void upstream_over(RouteCall *c, CURLcode e) {
        curl_multi_remove_handle(upstream_of(c), c->easy);
        c->in_multi = false;
        if (e == CURLE_COULDNT_CONNECT && upstream_next(c))
                return;
        call_upstream_over(c, upstream_why(c, e));
}

/* Bytes from libcurl go on to the regions, and ended requests end: not inside libcurl's callbacks. */
static void upstream_settle(const UpstreamMulti *u) {
        CURLMsg *m;
        int left;

        while ((m = curl_multi_info_read(u->multi, &left))) {
                const CURLcode e = m->data.result;
                RouteCall *c = NULL;

                if (m->msg == CURLMSG_DONE && curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c) == CURLE_OK && c)
                        upstream_over(c, e);
        }
        for (RouteCall *c = routes.calls; c; c = c->next)
                if (c->state == CALL_UPSTREAM && c->out.n > 0)
                        call_flush(c);
}

void route_curl_event(unsigned route, int fd, uint32_t events) {
        UpstreamMulti *u = &upstream_multis[route % PROXY_ROUTES_MAX];
        int running;

        curl_multi_socket_action(u->multi, fd,
                                 (events & EPOLLIN ? CURL_CSELECT_IN : 0) | (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                                         (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
                                 &running);
        upstream_settle(u);
}

static uint64_t upstream_tick(UpstreamMulti *u, uint64_t now) {
        int running;

        for (unsigned i = 0; i < 16 && now >= u->due; i++) {
                u->due = UINT64_MAX;
                curl_multi_socket_action(u->multi, CURL_SOCKET_TIMEOUT, 0, &running);
                upstream_settle(u);
                now = clock_mono_usec();
        }
        return u->due;
}

int route_curl_tick(int most) {
        uint64_t now = clock_mono_usec(), due = UINT64_MAX;
        int msec;

        for (unsigned i = 0; i < routes.n; i++)
                due = MIN(due, upstream_tick(&upstream_multis[i], now));
        if (due == UINT64_MAX)
                return most;
        now = clock_mono_usec();
        msec = due > now ? (int)MIN((due - now) / 1000 + 1, (uint64_t)60000) : 0;
        return most < 0 ? msec : MIN(msec, most);
}

void route_curl_end(void) {
        for (unsigned i = 0; i < routes.n; i++) {
                curl_multi_cleanup(TAKE_PTR(upstream_multis[i].multi));
                X509_STORE_free(TAKE_PTR(routes.list[i].store));
        }
}
