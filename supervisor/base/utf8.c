#include "base/utf8.h"

size_t utf8_step(const unsigned char *s, size_t n) {
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

bool utf8_valid(const char *s, size_t n, size_t *ret_bad) {
        for (size_t i = 0, step; i < n; i += step) {
                step = utf8_step((const unsigned char *)s + i, n - i);
                if (step == 0) {
                        if (ret_bad)
                                *ret_bad = i;
                        return false;
                }
        }
        return true;
}

unsigned utf8_decode(const unsigned char *s, size_t n, size_t *ret_n) {
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

bool utf8_is_mark(unsigned c) {
        return c == 0xAD || c == 0x34F || c == 0x61C || c == 0x115F || c == 0x1160 || c == 0x17B4 || c == 0x17B5 ||
               c == 0x180E || c == 0x200B || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
               (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || c == 0xFEFF || c == 0xFFA0 ||
               (c >= 0xFFF0 && c <= 0xFFFB) || (c >= 0x1BCA0 && c <= 0x1BCA3) || (c >= 0x1D173 && c <= 0x1D17A) ||
               (c >= 0xE0000 && c <= 0xE0FFF && (c < 0xE0100 || c > 0xE01EF));
}
