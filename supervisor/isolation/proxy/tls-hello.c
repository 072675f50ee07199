#include "proxy/tls-hello.h"

#include "base/util.h"
#include "manifest/net-name.h"

#include <string.h>

enum { TLS_HANDSHAKE = 22,
       TLS_CLIENT_HELLO = 1,
       TLS_SERVER_NAME = 0,
       TLS_HOST_NAME = 0 };
#define TLS_RECORD_HEAD 5
#define TLS_RECORD_MAX 16384
#define TLS_MESSAGE_HEAD 4

/* Bytes of the message, without the records' heads. */
typedef struct TlsPart {
        const uint8_t *at;
        size_t n;
} TlsPart;

static bool tls_take(TlsPart *p, size_t n, TlsPart *ret) {
        if (n > p->n)
                return false;
        if (ret)
                *ret = (TlsPart){p->at, n};
        p->at += n;
        p->n -= n;
        return true;
}

static bool tls_number(TlsPart *p, size_t n_bytes, size_t *ret) {
        TlsPart bytes;

        if (!tls_take(p, n_bytes, &bytes))
                return false;
        *ret = 0;
        for (size_t i = 0; i < n_bytes; i++)
                *ret = *ret << 8 | bytes.at[i];
        return true;
}

/* A field with its length before it. */
static bool tls_field(TlsPart *p, size_t n_length, TlsPart *ret) {
        size_t n;

        return tls_number(p, n_length, &n) && tls_take(p, n, ret);
}

/* The list of server_name: one host name (RFC 6066: no two of a type). */
static bool tls_server_name(TlsPart field, char name[static PROXY_NAME_MAX]) {
        TlsPart list, host;
        ProxyRule rule;
        size_t type;

        if (!tls_field(&field, 2, &list) || field.n > 0 || !tls_number(&list, 1, &type) || type != TLS_HOST_NAME ||
            !tls_field(&list, 2, &host) || list.n > 0)
                return false;
        if (net_host_parse((const char *)host.at, host.n, &rule) < 0)
                return false;
        memcpy(name, rule.name, PROXY_NAME_MAX);
        return true;
}

static bool tls_extensions(TlsPart hello, char name[static PROXY_NAME_MAX]) {
        TlsPart list, field;
        bool seen = false;

        if (hello.n == 0)
                return true; /* before TLS 1.2 a hello may end here */
        if (!tls_field(&hello, 2, &list) || hello.n > 0)
                return false;
        while (list.n > 0) {
                size_t type;

                if (!tls_number(&list, 2, &type) || !tls_field(&list, 2, &field))
                        return false;
                if (type != TLS_SERVER_NAME)
                        continue;
                if (seen || !tls_server_name(field, name))
                        return false;
                seen = true;
        }
        return true;
}

static bool tls_hello(TlsPart hello, char name[static PROXY_NAME_MAX]) {
        TlsPart part;
        size_t version;

        *name = 0;
        return tls_number(&hello, 2, &version) && version >> 8 == 3 && tls_take(&hello, 32, NULL) &&
               tls_field(&hello, 1, &part) && part.n <= 32 && tls_field(&hello, 2, &part) && part.n >= 2 &&
               part.n % 2 == 0 && tls_field(&hello, 1, &part) && part.n >= 1 && tls_extensions(hello, name);
}

/* Copies the next record's part of the message. Returns 0, TLS_E_MORE: the record is not complete, TLS_E_BAD. */
static int tls_record(TlsPart *in, uint8_t *message, size_t *n) {
        const uint8_t *r = in->at;
        size_t size, some;

        if ((in->n > 0 && r[0] != TLS_HANDSHAKE) || (in->n > 1 && r[1] != 3))
                return TLS_E_BAD;
        if (in->n < TLS_RECORD_HEAD)
                return TLS_E_MORE;
        size = (size_t)r[3] << 8 | r[4];
        if (size < 1 || size > TLS_RECORD_MAX || *n + size > TLS_HELLO_MAX)
                return TLS_E_BAD;
        some = MIN(size, in->n - TLS_RECORD_HEAD);
        memcpy(message + *n, r + TLS_RECORD_HEAD, some);
        *n += some;
        in->at += TLS_RECORD_HEAD + some;
        in->n -= TLS_RECORD_HEAD + some;
        return some < size ? TLS_E_MORE : 0;
}

int tls_hello_parse(const uint8_t *bytes, size_t n, char ret_name[static PROXY_NAME_MAX]) {
        uint8_t message[TLS_HELLO_MAX];
        TlsPart in = {bytes, n};
        size_t have = 0, size = SIZE_MAX;

        for (;;) {
                int r = tls_record(&in, message, &have);

                if (r == TLS_E_BAD || (have > 0 && message[0] != TLS_CLIENT_HELLO))
                        return TLS_E_BAD;
                if (have >= TLS_MESSAGE_HEAD)
                        size = (size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3];
                if (size != SIZE_MAX && size > TLS_HELLO_MAX - TLS_MESSAGE_HEAD)
                        return TLS_E_BAD;
                if (size != SIZE_MAX && have >= TLS_MESSAGE_HEAD + size)
                        break;
                if (r == TLS_E_MORE)
                        return n >= TLS_HELLO_MAX ? TLS_E_BAD : TLS_E_MORE;
        }
        return tls_hello((TlsPart){message + TLS_MESSAGE_HEAD, size}, ret_name) ? 0 : TLS_E_BAD;
}
