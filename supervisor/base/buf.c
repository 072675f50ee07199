#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void buf_deinit(Buf *b) {
        free(b->data);
        *b = (Buf){.max = b->max};
}

int buf_add(Buf *b, const void *bytes, size_t n) {
        size_t max = b->max ? b->max : 64UL << 20;

        if (n > max || b->n > max - n)
                return -EFBIG;
        if (!b->data || b->room - b->n < n + 1) {
                size_t room = MAX(b->room * 2, b->n + n + 64);
                char *p = realloc(b->data, room);

                if (!p)
                        return -ENOMEM;
                b->data = p;
                b->room = room;
        }
        if (n)
                memcpy(b->data + b->n, bytes, n);
        b->n += n;
        b->data[b->n] = 0;
        return 0;
}

int buf_add_str(Buf *b, const char *s) {
        return buf_add(b, s, strlen(s));
}

int buf_printf(Buf *b, const char *fmt, ...) {
        _cleanup_free_ char *s = NULL;
        va_list ap;
        int n;

        va_start(ap, fmt);
        n = vasprintf(&s, fmt, ap);
        va_end(ap);
        if (n < 0) {
                s = NULL;
                return -ENOMEM;
        }
        return buf_add(b, s, (size_t)n);
}

void buf_drop(Buf *b, size_t n) {
        assert(n <= b->n);
        if (n == 0)
                return;
        memmove(b->data, b->data + n, b->n - n);
        b->n -= n;
        b->data[b->n] = 0;
}
