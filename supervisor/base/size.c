#include "base/size.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The number at *p. Returns 0, -EINVAL without a digit, -ERANGE (> COUNT_MOST). */
static int size_take_count(const char **p, uint64_t *ret) {
        if (!isdigit((unsigned char)**p))
                return -EINVAL;
        for (*ret = 0; isdigit((unsigned char)**p); ++*p) {
                *ret = *ret * 10 + (uint64_t)(**p - '0');
                if (*ret > COUNT_MOST)
                        return -ERANGE;
        }
        return 0;
}

int count_parse(const char *text, uint64_t *ret) {
        uint64_t v;
        int r = size_take_count(&text, &v);

        if (r < 0 || *text)
                return r < 0 ? r : -EINVAL;
        *ret = v;
        return 0;
}

int fraction_parse(const char *text, double *ret) {
        char *end;
        double v = strtod(text, &end);

        if (!*text || *end || strspn(text, "0123456789.eE+-") != strlen(text) ||
            !(v >= 0 && v <= 1)) /* no blanks, no 0x1p-1 */
                return -EINVAL;
        *ret = v;
        return 0;
}

int size_parse(const char *text, uint64_t *ret_bytes) {
        static const char units[] = "kmgt";
        uint64_t v;
        const char *p = text, *u;
        int shift = 0, r = size_take_count(&p, &v);

        if (r < 0)
                return r;
        if (*p && (u = strchr(units, tolower((unsigned char)*p)))) {
                shift = 10 * (int)(u - units + 1);
                p++;
                if (tolower((unsigned char)p[0]) == 'i' && tolower((unsigned char)p[1]) == 'b')
                        p += 2;
                else if (tolower((unsigned char)p[0]) == 'b')
                        p++;
        } else if (tolower((unsigned char)*p) == 'b')
                p++;
        if (*p)
                return -EINVAL;
        if (v > COUNT_MOST >> shift)
                return -ERANGE;
        *ret_bytes = v << shift;
        return 0;
}

int duration_parse(const char *text, uint64_t *ret_usec) {
        static const struct {
                const char *unit;
                uint64_t usec;
        } units[] = {{"us", 1},       {"ms", 1000},      {"s", 1000000}, {"", 1000000},
                     {"m", 60000000}, {"min", 60000000}, {"h", UINT64_C(3600000000)}};
        uint64_t whole, part = 0, scale = 1;
        const char *p = text;
        int r = size_take_count(&p, &whole);

        if (r < 0)
                return r;
        if (*p == '.') {
                if (!isdigit((unsigned char)p[1]))
                        return -EINVAL;
                for (p++; isdigit((unsigned char)*p); p++)
                        if (scale < 1000000) {
                                part = part * 10 + (uint64_t)(*p - '0');
                                scale *= 10;
                        }
        }
        for (size_t i = 0; i < ARRAY_SIZE(units); i++)
                if (strcasecmp(p, units[i].unit) == 0) {
                        if (whole > COUNT_MOST / units[i].usec)
                                return -ERANGE;
                        whole = whole * units[i].usec + part * units[i].usec / scale;
                        if (whole > COUNT_MOST)
                                return -ERANGE;
                        *ret_usec = whole;
                        return 0;
                }
        return -EINVAL;
}

const char *size_format(uint64_t bytes, char out[static SIZE_TEXT_MAX]) {
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
        double v = (double)bytes;
        size_t u = 0;

        while (v >= 1024 && u + 1 < ARRAY_SIZE(units)) {
                v /= 1024;
                u++;
        }
        snprintf(out, SIZE_TEXT_MAX, v == (double)(uint64_t)v ? "%.0f %s" : "%.1f %s", v, units[u]);
        return out;
}

const char *duration_format(uint64_t usec, char out[static SIZE_TEXT_MAX]) {
        if (usec < 1000)
                snprintf(out, SIZE_TEXT_MAX, "%u us", (unsigned)usec);
        else if (usec < 1000000)
                snprintf(out, SIZE_TEXT_MAX, usec % 1000 ? "%.1f ms" : "%.0f ms", (double)usec / 1e3);
        else
                snprintf(out, SIZE_TEXT_MAX, usec % 1000000 ? "%.2f s" : "%.0f s", (double)usec / 1e6);
        return out;
}
