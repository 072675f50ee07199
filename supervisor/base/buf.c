#include "base/buf.h"

#include "base/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The bytes may have come from a region and must not stay in unused memory. */
static void buf_give_back(char *data, size_t n) {
        if (data)
                explicit_bzero(data, n);
        free(data);
}

void buf_deinit(Buf *b) {
        buf_give_back(b->data, b->room);
        *b = (Buf){.max = b->max};
}

int buf_reserve(Buf *b, size_t n) {
        size_t max = b->max ? b->max : 64UL << 20, room;
        char *p;

        if (n > max || b->n > max - n)
                return -EFBIG;
        if (b->data && b->room - b->n > n)
                return 0;
        room = MIN(MAX(b->room * 2, b->n + n + 64), max + 1);
        p = malloc(room);
        if (!p)
                return -ENOMEM;
        if (b->data)
                memcpy(p, b->data, b->n);
        p[b->n] = 0;
        buf_give_back(b->data, b->room);
        b->data = p;
        b->room = room;
        return 0;
}

int buf_add(Buf *b, const void *bytes, size_t n) {
        int r = buf_reserve(b, n);

        if (r < 0)
                return r;
        if (n)
                memcpy(b->data + b->n, bytes, n);
        b->n += n;
        b->data[b->n] = 0;
        return 0;
}

int buf_add_str(Buf *b, const char *s) {
        return buf_add(b, s, strlen(s));
}

int buf_vprintf(Buf *b, const char *fmt, va_list ap) {
        _cleanup_free_ char *s = NULL;
        int n = vasprintf(&s, fmt, ap);

        if (n < 0) {
                s = NULL;
                return -ENOMEM;
        }
        return buf_add(b, s, (size_t)n);
}

int buf_printf(Buf *b, const char *fmt, ...) {
        va_list ap;
        int r;

        va_start(ap, fmt);
        r = buf_vprintf(b, fmt, ap);
        va_end(ap);
        return r;
}

void buf_drop(Buf *b, size_t n) {
        assert(n <= b->n);
        if (n == 0)
                return;
        memmove(b->data, b->data + n, b->n - n);
        b->n -= n;
        explicit_bzero(b->data + b->n, n);
}

int buf_add_plain(Buf *out, const char *p, size_t n) {
        int e = 0;

        while (n > 0 && e == 0) {
                const char *nul = memchr(p, 0, n);
                size_t good = nul ? (size_t)(nul - p) : n, bad;

                if (!utf8_valid(p, good, &bad))
                        good = bad;
                e = buf_add(out, p, good);
                if (good == n)
                        break;
                e = e ?: buf_add_str(out, "\xef\xbf\xbd");
                p += good + 1;
                n -= good + 1;
        }
        return e;
}
