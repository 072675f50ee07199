#include "base/trace.h"

#include "base/hash.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* n bytes of lower-case hexadecimal, then the character. */
static bool trace_field(const char **p, uint8_t *ret, size_t n, char then) {
        char digits[2 * TRACE_ID_BYTES + 1];

        if (strspn(*p, "0123456789abcdef") != 2 * n || (*p)[2 * n] != then)
                return false;
        memcpy(digits, *p, 2 * n);
        digits[2 * n] = 0;
        *p += 2 * n + (then != 0);
        return hex_decode(digits, ret, n) == 0;
}

static int trace_new_span(Trace *t) {
        do
                if (getrandom(t->span, sizeof(t->span), 0) != (ssize_t)sizeof(t->span))
                        return -EIO;
        while (sodium_is_zero(t->span, sizeof(t->span)));
        return 0;
}

/* Version 00 has exactly these four fields; a later version may have more behind; version ff is invalid. */
int trace_take_in(const char *traceparent, Trace *ret) {
        Trace t = {.set = true};
        const char *p = traceparent;
        uint8_t version;
        int r;

        if (!trace_field(&p, &version, 1, '-') || version == 0xff || !trace_field(&p, t.id, sizeof(t.id), '-') ||
            !trace_field(&p, t.parent, sizeof(t.parent), '-'))
                return -EINVAL;
        if (!trace_field(&p, &t.flags, 1, 0) && (version == 0 || !trace_field(&p, &t.flags, 1, '-')))
                return -EINVAL;
        if (sodium_is_zero(t.id, sizeof(t.id)) || sodium_is_zero(t.parent, sizeof(t.parent)))
                return -EINVAL;
        r = trace_new_span(&t);
        if (r == 0)
                *ret = t;
        return r;
}

int trace_below(const Trace *t, Trace *ret) {
        Trace below = *t;
        int r;

        memcpy(below.parent, t->span, sizeof(below.parent));
        r = t->set ? trace_new_span(&below) : 0;
        if (r == 0)
                *ret = below;
        return r;
}

void trace_text(const Trace *t, char ret[static TRACE_TEXT_MAX]) {
        char id[2 * TRACE_ID_BYTES + 1], span[2 * TRACE_SPAN_BYTES + 1];

        snprintf(ret, TRACE_TEXT_MAX, "00-%s-%s-%02x", hex_encode(t->id, sizeof(t->id), id),
                 hex_encode(t->span, sizeof(t->span), span), t->flags & 1U);
}
