/* Runs: lethe-proxy. The head of an HTTP/1 request to a proxy (RFC 9112): CONNECT HOST:PORT, or METHOD http://HOST/….
 *
 * A head that two readers may understand differently is refused: bare LF or CR, folded lines, a blank before a colon,
 * two lengths, a length beside a transfer coding, a Host that is not the target's. */
#pragma once

#include "base/buf.h"
#include "schema/proxy.h"

#define HTTP_HEAD_MAX 16384
#define HTTP_HEADERS_MAX 100

enum { HTTP_E_MORE = 1,
       HTTP_E_BAD }; /* the head is not complete; refused */

typedef struct HttpHead {
        bool connect;
        ProxyRule host; /* as of net_host_parse() */
        uint16_t port;
        size_t n;                      /* bytes of the head, with the blank line */
        size_t n_method, path, n_path; /* in the bytes; n_path 0: "/" is meant */
        uint64_t length;               /* of the body */
        bool chunked;
} HttpHead;

/* Returns 0; HTTP_E_MORE; HTTP_E_BAD with the broken rule. */
int http_head_parse(const char *bytes, size_t n, HttpHead *ret, const char **reterr);
/* The head for the server: the path alone as target, Host from the target, `Connection: close`, and no header that is
 * meant for the proxy. Returns 0, -ENOMEM. */
int http_head_rewrite(const char *bytes, const HttpHead *h, Buf *ret);

typedef struct HttpLine {
        const char *name, *value;
        size_t n_name, n_value;
} HttpLine;
/* As http_head_parse(), for a request to a server: the target is a path, and Host names no proxy's target. host and port
 * are not set; CONNECT is refused. */
int http_origin_parse(const char *bytes, size_t n, HttpHead *ret, const char **reterr);
/* The next header of a parsed head that is not meant for the connection alone; false: no more. *at: 0 at first. */
bool http_head_next(const char *bytes, const HttpHead *h, size_t *at, HttpLine *ret);
bool http_is(const char *s, size_t n, const char *word); /* without a difference of small and capital letters */

/* The end of a body in chunks (RFC 9112 7.1), found while the bytes go by. All 0 at the beginning. */
typedef struct HttpChunks {
        unsigned state;
        uint64_t left; /* of the chunk */
        unsigned n_line;
        bool over;
} HttpChunks;
/* Returns the number of bytes that belong to the body, or HTTP_CHUNKS_BAD. */
#define HTTP_CHUNKS_BAD SIZE_MAX
size_t http_chunks_feed(HttpChunks *c, const char *bytes, size_t n);
/* The same, and adds the data of the chunks to ret. Returns HTTP_CHUNKS_BAD also for data beyond ret's bound. */
size_t http_chunks_decode(HttpChunks *c, const char *bytes, size_t n, Buf *ret);
