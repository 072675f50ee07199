#include "base/buf.h"
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int canon(const json_t *v, Buf *b);

/* RFC 8785 3.2.2.2: only the escapes that JSON requires, lower-case hex. */
static int canon_string(const char *s, size_t n, Buf *b) {
        size_t from = 0;
        int r = buf_add(b, "\"", 1);

        for (size_t i = 0; r == 0 && i < n; i++) {
                unsigned char c = (unsigned char)s[i];
                const char *named = NULL;

                if (c >= 0x20 && c != '"' && c != '\\')
                        continue;
                r = buf_add(b, s + from, i - from);
                from = i + 1;
                switch (c) {
                case '"': named = "\\\""; break;
                case '\\': named = "\\\\"; break;
                case '\b': named = "\\b"; break;
                case '\f': named = "\\f"; break;
                case '\n': named = "\\n"; break;
                case '\r': named = "\\r"; break;
                case '\t': named = "\\t"; break;
                default: break;
                }
                if (r == 0)
                        r = named ? buf_add_str(b, named) : buf_printf(b, "\\u%04x", c);
        }
        if (r == 0)
                r = buf_add(b, s + from, n - from);
        return r ? r : buf_add(b, "\"", 1);
}

/* Number::toString of ECMAScript: the shortest digits that read back as the same double. */
static int canon_real(double d, Buf *b) {
        char e[40], digits[24] = "", *p;
        int n, exp10, prec;

        if (!isfinite(d))
                return -ERANGE;
        if (d == 0)
                return buf_add(b, "0", 1);
        /* It would be written without an exponent, and read back as an integer that is out of range. */
        if (fabs(d) > (double)JSON_INTEGER_MOST && fabs(d) < 1e21)
                return -ERANGE;
        for (prec = 0; prec < 17; prec++) {
                snprintf(e, sizeof(e), "%.*e", prec, d);
                if (strtod(e, NULL) == d)
                        break;
        }
        for (p = e, n = 0; *p && *p != 'e'; p++)
                if (*p >= '0' && *p <= '9')
                        digits[n++] = *p;
        while (n > 1 && digits[n - 1] == '0')
                n--;
        digits[n] = 0;
        exp10 = atoi(p + 1) + 1; /* value = 0.DIGITS * 10^exp10 */
        if (d < 0 && buf_add(b, "-", 1) < 0)
                return -ENOMEM;
        if (n <= exp10 && exp10 <= 21)
                return buf_printf(b, "%s%.*s", digits, exp10 - n, "000000000000000000000");
        if (0 < exp10 && exp10 <= 21)
                return buf_printf(b, "%.*s.%s", exp10, digits, digits + exp10);
        if (-6 < exp10 && exp10 <= 0)
                return buf_printf(b, "0.%.*s%s", -exp10, "000000", digits);
        return buf_printf(b, "%.1s%s%se%c%d", digits, n > 1 ? "." : "", digits + 1, exp10 - 1 < 0 ? '-' : '+', abs(exp10 - 1));
}

/* Order of UTF-16 code units: differs from byte order only where a surrogate pair (4-byte form) meets U+E000..U+FFFF. */
static int utf16_cmp(const void *a, const void *b) {
        const unsigned char *x = *(const unsigned char *const *)a, *y = *(const unsigned char *const *)b;

        while (*x && *x == *y) {
                x++;
                y++;
        }
        if (*x >= 0xEE && *y >= 0xEE && (*x >= 0xF0) != (*y >= 0xF0))
                return *x >= 0xF0 ? -1 : 1;
        return (int)*x - (int)*y;
}

static int canon_object(const json_t *v, Buf *b) {
        size_t n = json_object_size(v), i = 0;
        _cleanup_free_ const char **keys = calloc(n ? n : 1, sizeof(*keys));
        const char *key;
        json_t *item;
        int r;

        if (!keys)
                return -ENOMEM;
        json_object_foreach((json_t *)v, key, item) keys[i++] = key;
        qsort(keys, n, sizeof(*keys), utf16_cmp);
        r = buf_add(b, "{", 1);
        for (i = 0; r == 0 && i < n; i++) {
                if (i > 0)
                        r = buf_add(b, ",", 1);
                if (r == 0)
                        r = canon_string(keys[i], strlen(keys[i]), b);
                if (r == 0)
                        r = buf_add(b, ":", 1);
                if (r == 0)
                        r = canon(json_object_get(v, keys[i]), b);
        }
        return r ? r : buf_add(b, "}", 1);
}

static int canon(const json_t *v, Buf *b) {
        int r;

        switch (json_typeof(v)) {
        case JSON_OBJECT:
                return canon_object(v, b);
        case JSON_ARRAY:
                r = buf_add(b, "[", 1);
                for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
                        if (i > 0)
                                r = buf_add(b, ",", 1);
                        if (r == 0)
                                r = canon(json_array_get(v, i), b);
                }
                return r ? r : buf_add(b, "]", 1);
        case JSON_STRING:
                return canon_string(json_string_value(v), json_string_length(v), b);
        case JSON_INTEGER:
                if (json_integer_value(v) > JSON_INTEGER_MOST || json_integer_value(v) < -JSON_INTEGER_MOST)
                        return -ERANGE;
                return buf_printf(b, "%" PRId64, (int64_t)json_integer_value(v));
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
        _cleanup_buf_ Buf b = {0};
        int r = canon(value, &b);

        if (r < 0)
                return r;
        *ret = TAKE_PTR(b.data);
        if (ret_n)
                *ret_n = b.n;
        return 0;
}
