#include "base/clean.h"

#include <string.h>

/* Variation selectors. A row of them behind a character can hide whole texts as well. */
static bool clean_varies(unsigned c) {
        return (c >= 0x180B && c <= 0x180F && c != 0x180E) || (c >= 0xFE00 && c <= 0xFE0F) ||
               (c >= 0xE0100 && c <= 0xE01EF);
}

/* Characters with forms: letters and signs beyond ASCII, and the signs of keycaps (0x23 0xFE0F 0x20E3). */
static bool clean_can_vary(unsigned c) {
        return (c >= 0x80 && !clean_varies(c)) || c == '#' || c == '*' || (c >= '0' && c <= '9');
}

static bool clean_is_white(unsigned c) {
        return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
               (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
               c == 0x2800 || c == 0x3000;
}

bool clean_blank(const char *text, size_t n) {
        size_t k;

        for (size_t i = 0; i < n; i += k)
                if (!clean_is_white(utf8_decode((const unsigned char *)text + i, n - i, &k)))
                        return false;
        return true;
}

static bool clean_joins(unsigned c) {
        return c == 0x200C || c == 0x200D;
}

/* Whether each of the eight bytes is a visible character of ASCII or a blank. */
static bool clean_is_plain(const unsigned char *s) {
        const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
        uint64_t v;

        memcpy(&v, s, sizeof(v));
        /* With all bytes below 0x80, a byte from 0x20 to 0x7E neither borrows nor carries. */
        return !((v | (v - ones * 0x20) | (v + ones)) & high);
}

int clean_check(const char *field, const char *text, size_t n, bool one_line, Diag *reterr) {
        const unsigned char *s = (const unsigned char *)text;
        unsigned last = 0; /* the character before */

        for (size_t i = 0; i < n; i++) {
                bool white;

                while (n - i >= 8 && clean_is_plain(s + i)) {
                        i += 8;
                        last = s[i - 1];
                }
                if (i == n)
                        break;
                white = s[i] == '\n' || s[i] == '\t' || s[i] == '\r';
                if ((s[i] < 0x20 && (one_line || !white)) || s[i] == 0x7F)
                        return diag(reterr, CLEAN_E_CONTROL, "%s has the control character 0x%02x at byte %zu%s", field,
                                    s[i], i, white ? ": it is one line" : "");
                if (s[i] == 0xC2 && n - i >= 2 && s[i + 1] < 0xA0)
                        return diag(reterr, CLEAN_E_CONTROL, "%s has the control character U+%04X at byte %zu", field,
                                    s[i + 1], i);
                if (s[i] < 0x80)
                        last = s[i];
                if (s[i] >= 0xC2) {
                        size_t k;
                        unsigned c = utf8_decode(s + i, n - i, &k);

                        if (utf8_is_mark(c))
                                return diag(reterr, CLEAN_E_CONTROL,
                                            "%s has the mark U+%04X at byte %zu, which cannot be seen", field, c, i);
                        if (clean_joins(c) && (i == 0 || s[i - 1] < 0x80 || i + k >= n || s[i + k] < 0x80))
                                return diag(reterr, CLEAN_E_CONTROL,
                                            "%s has U+%04X at byte %zu, which joins no two letters there and cannot be "
                                            "seen", field, c, i);
                        if (clean_varies(c) && !clean_can_vary(last))
                                return diag(reterr, CLEAN_E_CONTROL,
                                            "%s has U+%04X at byte %zu, which varies no character there and cannot be "
                                            "seen", field, c, i);
                        last = c;
                }
        }
        return 0;
}
