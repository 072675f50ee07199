#include "base/buf.h"
#include "base/decimal.h"
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int canon(const json_t *v, Buf *b);

/* The buffer was reserved before: b has bytes, and room for the NUL at the end, which is set last. */
static inline int canon_reserve(Buf *b, size_t n) {
        return b->room - b->n > n ? 0 : buf_reserve(b, n);
}

static inline int canon_add_char(Buf *b, char c) {
        int r = canon_reserve(b, 1);

        if (r == 0)
                b->data[b->n++] = c;
        return r;
}

static inline uint64_t canon_load_8(const char *s) {
        uint64_t v;

        memcpy(&v, s, sizeof(v));
        return v;
}

static inline uint64_t canon_load_4(const char *s) {
        uint32_t v;

        memcpy(&v, s, sizeof(v));
        return v;
}

/* Whether any of the eight bytes is a control character, a quote or a backslash. */
static inline bool canon_has_escape(uint64_t v) {
        const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
        uint64_t quote = v ^ ones * '"', backslash = v ^ ones * '\\';

        /* Below 0x80 the subtraction sets the high bit of each byte too small; only such a byte causes a borrow. */
        return ((v - ones * 0x20) & ~v & high) | ((quote - ones) & ~quote & high) |
               ((backslash - ones) & ~backslash & high);
}

/* The first byte from i on that needs an escape, or n. */
static size_t canon_next_escape(const char *s, size_t n, size_t i) {
        while (n - i >= 8 && !canon_has_escape(canon_load_8(s + i)))
                i += 8;
        /* Fewer than eight bytes are left: the last eight again, or the same four twice. */
        if (n - i < 8 && n - i >= 4 && !canon_has_escape(canon_load_4(s + i) | canon_load_4(s + n - 4) << 32))
                return n;
        while (i < n && (unsigned char)s[i] >= 0x20 && s[i] != '"' && s[i] != '\\')
                i++;
        return i;
}

/* RFC 8785 3.2.2.2: only the escapes that JSON requires, lower-case hex. */
static int json_canon_escape(char c, Buf *b) {
        static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
        const char *named = c ? strchr(from, c) : NULL;

        return named ? buf_add(b, (char[]){'\\', to[named - from]}, 2) : buf_printf(b, "\\u%04x", (unsigned)c);
}

static int canon_string(const char *s, size_t n, Buf *b) {
        size_t i = canon_next_escape(s, n, 0);
        int r;

        if (i == n) { /* the usual case */
                char *to;

                r = canon_reserve(b, n + 2);
                if (r < 0)
                        return r;
                to = b->data + b->n;
                to[0] = '"';
                memcpy(to + 1, s, n);
                to[n + 1] = '"';
                b->n += n + 2;
                return 0;
        }
        r = canon_add_char(b, '"');
        for (size_t from = 0; r == 0; from = i + 1, i = canon_next_escape(s, n, from)) {
                r = buf_add(b, s + from, i - from);
                if (i == n)
                        break;
                r = r ?: json_canon_escape(s[i], b);
        }
        return r ? r : canon_add_char(b, '"');
}

static int canon_integer(json_int_t v, Buf *b) {
        char text[DECIMAL_DIGITS_MAX];
        int n = decimal_digits((uint64_t)(v < 0 ? -v : v), text), r = v < 0 ? canon_add_char(b, '-') : 0;

        return r ? r : buf_add(b, text, (size_t)n);
}

static int canon_pieces(Buf *b, const char *x, size_t n_x, const char *y, size_t n_y, const char *z, size_t n_z) {
        int r = buf_add(b, x, n_x);

        r = r ?: buf_add(b, y, n_y);
        return r ? r : buf_add(b, z, n_z);
}

/* Number::toString of ECMAScript: the shortest digits that read back as the same double. */
static int canon_real(double d, Buf *b) {
        static const char zeros[] = "000000000000000000000";
        char digits[DECIMAL_DIGITS_MAX];
        int n, exp10;

        if (!isfinite(d))
                return -ERANGE;
        if (d == 0)
                return canon_add_char(b, '0');
        /* Such a number would be written without an exponent, and read back as an integer out of range. */
        if (fabs(d) > (double)JSON_INTEGER_MOST && fabs(d) < 1e21)
                return -ERANGE;
        n = decimal_shortest(d, digits, &exp10); /* value = 0.DIGITS * 10^exp10 */
        if (d < 0 && buf_add(b, "-", 1) < 0)
                return -ENOMEM;
        if (n <= exp10 && exp10 <= 21)
                return canon_pieces(b, digits, (size_t)n, zeros, (size_t)(exp10 - n), "", 0);
        if (0 < exp10 && exp10 <= 21)
                return canon_pieces(b, digits, (size_t)exp10, ".", 1, digits + exp10, (size_t)(n - exp10));
        if (-6 < exp10 && exp10 <= 0)
                return canon_pieces(b, "0.", 2, zeros, (size_t)-exp10, digits, (size_t)n);
        return buf_printf(b, "%.1s%s%se%c%d", digits, n > 1 ? "." : "", digits + 1, exp10 - 1 < 0 ? '-' : '+',
                          abs(exp10 - 1));
}

/* UTF-16 order: differs from byte order only where a surrogate pair (4-byte form) meets U+E000..U+FFFF. */
static int canon_cmp_utf16(const void *a, const void *b) {
        const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;

        while (*x && *x == *y) {
                x++;
                y++;
        }
        if (*x >= 0xEE && *y >= 0xEE && (*x >= 0xF0) != (*y >= 0xF0))
                return *x >= 0xF0 ? -1 : 1;
        return (int)*x - (int)*y;
}

typedef struct Member {
        const char *key;
        size_t n_key;
        const json_t *value;
} Member;

static int canon_cmp_members(const void *a, const void *b) {
        return canon_cmp_utf16(a, b); /* the key is the first member */
}

/* Few members are sorted in place; most objects were in order before. */
static void canon_sort_members(Member *m, size_t n) {
        if (n > 16) {
                qsort(m, n, sizeof(*m), canon_cmp_members);
                return;
        }
        for (size_t i = 1; i < n; i++) {
                Member one = m[i];
                size_t k = i;

                for (; k > 0 && canon_cmp_members(&m[k - 1], &one) > 0; k--)
                        m[k] = m[k - 1];
                m[k] = one;
        }
}

/* over: its members replace members of v with the same name; or NULL. */
static int canon_object(const json_t *v, const json_t *over, Buf *b) {
        size_t n = json_object_size(v) + json_object_size(over), i = 0;
        Member few[16], *m = few;
        _cleanup_free_ Member *many = NULL;
        int r;

        if (n > ARRAY_SIZE(few)) {
                m = many = calloc(n, sizeof(*many));
                if (!many)
                        return -ENOMEM;
        }
        for (void *at = json_object_iter((json_t *)v); at; at = json_object_iter_next((json_t *)v, at))
                if (!over || !json_object_getn(over, json_object_iter_key(at), json_object_iter_key_len(at)))
                        m[i++] = (Member){json_object_iter_key(at), json_object_iter_key_len(at),
                                          json_object_iter_value(at)};
        for (void *at = json_object_iter((json_t *)over); at; at = json_object_iter_next((json_t *)over, at))
                m[i++] = (Member){json_object_iter_key(at), json_object_iter_key_len(at), json_object_iter_value(at)};
        n = i;
        canon_sort_members(m, n);
        r = canon_add_char(b, '{');
        for (i = 0; r == 0 && i < n; i++) {
                if (i > 0)
                        r = canon_add_char(b, ',');
                r = r ?: canon_string(m[i].key, m[i].n_key, b);
                r = r ?: canon_add_char(b, ':');
                r = r ?: canon(m[i].value, b);
        }
        return r ? r : canon_add_char(b, '}');
}

static int canon(const json_t *v, Buf *b) {
        int r;

        switch (json_typeof(v)) {
        case JSON_OBJECT:
                return canon_object(v, NULL, b);
        case JSON_ARRAY:
                r = canon_add_char(b, '[');
                for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
                        if (i > 0)
                                r = canon_add_char(b, ',');
                        r = r ?: canon(json_array_get(v, i), b);
                }
                return r ? r : canon_add_char(b, ']');
        case JSON_STRING:
                return canon_string(json_bytes(v), json_string_length(v), b);
        case JSON_INTEGER:
                if (json_integer_value(v) > JSON_INTEGER_MOST || json_integer_value(v) < -JSON_INTEGER_MOST)
                        return -ERANGE;
                return canon_integer(json_integer_value(v), b);
        case JSON_REAL:
                return canon_real(json_real_value(v), b);
        case JSON_TRUE:
                return buf_add(b, "true", 4);
        case JSON_FALSE:
                return buf_add(b, "false", 5);
        case JSON_NULL:
                return buf_add(b, "null", 4);
        }
        return -EINVAL;
}

int json_canonical(const json_t *value, char **ret, size_t *ret_n) {
        return json_canonical_over(value, NULL, ret, ret_n);
}

int json_canonical_over(const json_t *value, const json_t *over, char **ret, size_t *ret_n) {
        _cleanup_buf_ Buf b = {0};
        int r = buf_reserve(&b, 512);

        if (r == 0)
                r = over ? canon_object(value, over, &b) : canon(value, &b);
        if (r < 0)
                return r;
        b.data[b.n] = 0;
        *ret = TAKE_PTR(b.data);
        if (ret_n)
                *ret_n = b.n;
        return 0;
}
