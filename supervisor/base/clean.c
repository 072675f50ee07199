#include "base/clean.h"

#include <string.h>

/* One character of valid UTF-8. */
static unsigned clean_decode(const unsigned char *s, size_t n, size_t *ret_n) {
        static const unsigned char first[] = {0x7F, 0x1F, 0x0F, 0x07};
        size_t k = s[0] < 0x80 ? 1 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
        unsigned c;

        if (k > n) {
                *ret_n = n;
                return 0;
        }
        c = s[0] & first[k - 1];
        for (size_t i = 1; i < k; i++)
                c = c << 6 | (s[i] & 0x3FU);
        *ret_n = k;
        return c;
}

/* Not seen: marks that turn, break or end a line, that hide where a word ends, fillers that stand for a letter, and the
 * tags in which whole texts can be hidden (DerivedCoreProperties.txt, Default_Ignorable_Code_Point). Not those that
 * letters of some scripts and emoji need, which are looked at apart. */
static bool is_mark(unsigned c) {
        return c == 0xAD || c == 0x34F || c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x17B4 || c == 0x17B5 ||
               c == 0x180E || c == 0x200B || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
               (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || c == 0xFEFF || c == 0xFFA0 ||
               (c >= 0xFFF0 && c <= 0xFFFB) || (c >= 0x1BCA0 && c <= 0x1BCA3) || (c >= 0x1D173 && c <= 0x1D17A) ||
               (c >= 0xE0000 && c <= 0xE0FFF && (c < 0xE0100 || c > 0xE01EF));
}

bool clean_is_mark(const char *s, size_t n) {
        size_t k;

        return is_mark(clean_decode((const unsigned char *)s, n, &k));
}

/* Variation selectors. In a row of them behind one character whole texts can be hidden as well. */
static bool varies(unsigned c) {
        return (c >= 0x180B && c <= 0x180F && c != 0x180E) || (c >= 0xFE00 && c <= 0xFE0F) ||
               (c >= 0xE0100 && c <= 0xE01EF);
}

/* What has forms to choose from: letters and signs beyond ASCII, and what stands on a key (0x23 0xFE0F 0x20E3). */
static bool can_vary(unsigned c) {
        return (c >= 0x80 && !varies(c)) || c == '#' || c == '*' || (c >= '0' && c <= '9');
}

static bool clean_is_white(unsigned c) {
        return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
               (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
               c == 0x2800 || c == 0x3000;
}

bool clean_blank(const char *text, size_t n) {
        size_t k;

        for (size_t i = 0; i < n; i += k)
                if (!clean_is_white(clean_decode((const unsigned char *)text + i, n - i, &k)))
                        return false;
        return true;
}

static bool clean_joins(unsigned c) {
        return c == 0x200C || c == 0x200D;
}

/* Eight bytes of which each is a character of ASCII that can be seen, or a blank. */
static bool is_plain(const unsigned char *s) {
        const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
        uint64_t v;

        memcpy(&v, s, sizeof(v));
        /* Below 0x80, all of them: then none borrows or carries beyond itself that is from 0x20 to 0x7E. */
        return !((v | (v - ones * 0x20) | (v + ones)) & high);
}

int clean_check(const char *field, const char *text, size_t n, bool one_line, Diag *reterr) {
        const unsigned char *s = (const unsigned char *)text;
        unsigned last = 0; /* the character before */

        for (size_t i = 0; i < n; i++) {
                bool white;

                while (n - i >= 8 && is_plain(s + i)) {
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
                        unsigned c = clean_decode(s + i, n - i, &k);

                        if (is_mark(c))
                                return diag(reterr, CLEAN_E_CONTROL,
                                            "%s has the mark U+%04X at byte %zu, which cannot be seen", field, c, i);
                        if (clean_joins(c) && (i == 0 || s[i - 1] < 0x80 || i + k >= n || s[i + k] < 0x80))
                                return diag(
                                        reterr, CLEAN_E_CONTROL,
                                        "%s has U+%04X at byte %zu, which joins no two letters there and cannot be seen",
                                        field, c, i);
                        if (varies(c) && !can_vary(last))
                                return diag(
                                        reterr, CLEAN_E_CONTROL,
                                        "%s has U+%04X at byte %zu, which varies no character there and cannot be seen",
                                        field, c, i);
                        last = c;
                }
        }
        return 0;
}
