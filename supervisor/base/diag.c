#include "base/diag.h"

#include <stdarg.h>
#include <string.h>

/* A shortened message may end within a character, and JSON could not hold such a text. */
static void diag_repair(char *s) {
        size_t n = strlen(s), step;

        for (size_t i = 0; i < n; i += step) {
                step = utf8_step((const unsigned char *)s + i, n - i);
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
        diag_repair(d->text);
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
        diag_repair(d->text);
}

/* True for characters that a terminal would obey or a reader would not see: C0 and C1 controls, invisible marks
 * (utf8.h). s: valid UTF-8 of `step` bytes. */
static bool diag_is_unsafe(const unsigned char *s, size_t step) {
        size_t unused;

        if (step == 1)
                return s[0] < 0x20 || s[0] == 0x7F;
        return (step == 2 && s[0] == 0xC2 && s[1] < 0xA0) || utf8_is_mark(utf8_decode(s, step, &unused));
}

static const char *diag_escape(const char *in, size_t n_in, bool quoted, char *out, size_t n_out) {
        static const char hex[] = "0123456789abcdef";
        const unsigned char *s = (const unsigned char *)in;
        size_t o = 0, i = 0;

        assert(n_out >= 16);
        while (i < n_in) {
                size_t step = utf8_step(s + i, n_in - i);

                if (i >= 96 || o + 9 > n_out) {
                        memcpy(out + o, "…", 3);
                        o += 3;
                        break;
                }
                if (step == 0 || diag_is_unsafe(s + i, step) || s[i] == '\\' || (quoted && s[i] == '"')) {
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
                step = utf8_step(s, n);
                if (step > 0 && !diag_is_unsafe(s, step)) {
                        fwrite(s, 1, step, f);
                        continue;
                }
                fprintf(f, "\\x%02x", s[0]);
                step = 1;
        }
}
