#include "base/diag.h"

#include "base/clean.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at s, 0 when there is none (RFC 3629: no surrogates, no overlong forms). */
static size_t diag_utf8_step(const unsigned char *s, size_t n) {
        if (s[0] < 0x80)
                return 1;
        if (s[0] >= 0xC2 && s[0] <= 0xDF && n >= 2 && (s[1] & 0xC0) == 0x80)
                return 2;
        if ((s[0] & 0xF0) == 0xE0 && n >= 3 && (s[1] & 0xC0) == 0x80 && (s[2] & 0xC0) == 0x80 &&
            !(s[0] == 0xE0 && s[1] < 0xA0) && !(s[0] == 0xED && s[1] > 0x9F))
                return 3;
        if (s[0] >= 0xF0 && s[0] <= 0xF4 && n >= 4 && (s[1] & 0xC0) == 0x80 && (s[2] & 0xC0) == 0x80 &&
            (s[3] & 0xC0) == 0x80 && !(s[0] == 0xF0 && s[1] < 0x90) && !(s[0] == 0xF4 && s[1] > 0x8F))
                return 4;
        return 0;
}

/* A message that was cut may end within a character, and then no JSON could hold it. */
static void repair(char *s) {
        size_t n = strlen(s), step;

        for (size_t i = 0; i < n; i += step) {
                step = diag_utf8_step((const unsigned char *)s + i, n - i);
                if (step == 0) {
                        s[i] = '?';
                        step = 1;
                }
        }
}

int diag(Diag *d, int code, const char *fmt, ...) {
        va_list ap;

        if (!d)
                return code;
        va_start(ap, fmt);
        vsnprintf(d->text, sizeof(d->text), fmt, ap);
        va_end(ap);
        repair(d->text);
        return code;
}

void diag_prefix(Diag *d, const char *fmt, ...) {
        char old[sizeof(d->text)];
        va_list ap;
        int n;

        if (!d)
                return;
        memcpy(old, d->text, sizeof(old));
        va_start(ap, fmt);
        n = vsnprintf(d->text, sizeof(d->text), fmt, ap);
        va_end(ap);
        if (n >= 0 && (size_t)n < sizeof(d->text) - 3)
                snprintf(d->text + n, sizeof(d->text) - (size_t)n, ": %s", old);
        repair(d->text);
}

/* Would a terminal obey this character, or a reader not see it? C0 and C1 controls, marks that cannot be seen
 * (clean.h). s is valid UTF-8 of `step` bytes. */
static bool is_unsafe(const unsigned char *s, size_t step) {
        if (step == 1)
                return s[0] < 0x20 || s[0] == 0x7F;
        return (step == 2 && s[0] == 0xC2 && s[1] < 0xA0) || clean_is_mark((const char *)s, step);
}

static const char *diag_escape(const char *in, size_t n_in, bool quoted, char *out, size_t n_out) {
        static const char hex[] = "0123456789abcdef";
        const unsigned char *s = (const unsigned char *)in;
        size_t o = 0, i = 0;

        assert(n_out >= 16);
        while (i < n_in) {
                size_t step = diag_utf8_step(s + i, n_in - i);

                if (i >= 96 || o + 9 > n_out) {
                        memcpy(out + o, "…", 3);
                        o += 3;
                        break;
                }
                if (step == 0 || is_unsafe(s + i, step) || s[i] == '\\' || (quoted && s[i] == '"')) {
                        out[o++] = '\\';
                        out[o++] = 'x';
                        out[o++] = hex[s[i] >> 4];
                        out[o++] = hex[s[i] & 15];
                        i++;
                        continue;
                }
                memcpy(out + o, s + i, step);
                o += step;
                i += step;
        }
        out[o] = 0;
        return out;
}

const char *diag_quote(const char *in, size_t n_in, char *out, size_t n_out) {
        return diag_escape(in, n_in, true, out, n_out);
}

const char *diag_show(const char *in, size_t n_in, char *out, size_t n_out) {
        return diag_escape(in, n_in, false, out, n_out);
}

void diag_print(FILE *f, const char *text) {
        const unsigned char *s = (const unsigned char *)text;

        for (size_t n = strlen(text), step; n > 0; s += step, n -= step) {
                step = diag_utf8_step(s, n);
                if (step > 0 && !is_unsafe(s, step)) {
                        fwrite(s, 1, step, f);
                        continue;
                }
                fprintf(f, "\\x%02x", s[0]);
                step = 1;
        }
}

bool utf8_valid(const char *s, size_t n, size_t *ret_bad) {
        for (size_t i = 0, step; i < n; i += step) {
                step = diag_utf8_step((const unsigned char *)s + i, n - i);
                if (step == 0) {
                        if (ret_bad)
                                *ret_bad = i;
                        return false;
                }
        }
        return true;
}
