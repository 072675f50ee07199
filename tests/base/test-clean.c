#include "base/clean.h"
#include <criterion/criterion.h>

#include <string.h>

// G-11, M-6: what cannot be seen is in no text that is kept; what scripts and emoji need is no such thing
Test(clean, marks_that_cannot_be_seen) {
        static const struct {
                const char *text;
                bool fine;
        } rows[] = {
                {"plain", true},
                {"two\nlines", true},
                {"\xC3\xA9t\xC3\xA9", true},
                {"a\x07", false},
                {"a\x7F", false},
                {"a\xC2\x85z", false},
                {"a\xC2\xADz", false},
                {"a\xD8\x9Cz", false},
                {"a\xE1\xA0\x8Ez", false},
                {"a\xE2\x80\x8Bz", false},
                {"a\xE2\x80\x8Ez", false},
                {"a\xE2\x80\x8Fz", false},
                {"a\xE2\x80\xA8z", false},
                {"a\xE2\x80\xAEz", false},
                {"a\xE2\x81\xA0z", false},
                {"a\xE2\x81\xA6z", false},
                {"a\xE2\x81\xAFz", false},
                {"a\xEF\xBB\xBFz", false},
                {"a\xEF\xBF\xB9z", false},
                {"a\xF3\xA0\x81\x81z", false},
                {"a\xE2\x80\x8Dz", false},
                {"\xE2\x80\x8C", false},
                {"\xD9\x85\xE2\x80\x8C\xD8\xB1", true},
                {"\xD9\x85\xE2\x80\x8C", false},
                {"\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9", true},
                {"\xE2\x9D\xA4\xEF\xB8\x8F", true},
                {"a \xE2\x80\x93 b\xE2\x80\xA6", true},
                {"a\xCD\x8Fz", false},
                {"\xE1\x85\x9F", false},
                {"a\xE1\x85\xA0", false},
                {"\xE3\x85\xA4", false},
                {"\xEF\xBE\xA0", false},
                {"\xE1\x9E\xB4", false},
                {"a\xF0\x9D\x85\xB3", false},
                {"a\xF0\x9B\xB2\xA0", false},
                {"\xF3\xA0\xBF\xBF", false},
                {"a\xEF\xBF\xB0", false},
                {"a\xEF\xB8\x8F", false},
                {"\xEF\xB8\x8F", false},
                {"1\xEF\xB8\x8F\xE2\x83\xA3", true},
                {"\xE8\x91\x9B\xF3\xA0\x84\x80", true},
                {"\xE2\x9D\xA4\xEF\xB8\x8F\xEF\xB8\x8F", false},
                {"\xE8\x91\x9B\xF3\xA0\x84\x80\xF3\xA0\x84\x81", false},
                {"seventh1\xEF\xB8\x8F", true},
                {"\xC3\xA9seventhx\xEF\xB8\x8F", false},
                {"\xE1\xA0\xA0\xE1\xA0\x8B", true},
                {"\xF0\x9F\x8F\xB3\xEF\xB8\x8F\xE2\x80\x8D\xF0\x9F\x8C\x88", true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Diag d = {0};

                cr_expect_eq(clean_check("it", rows[i].text, strlen(rows[i].text), false, &d), rows[i].fine ? 0 : CLEAN_E_CONTROL, "row %zu: %s", i, d.text);
        }
        cr_expect_eq(clean_check("it", "two\nlines", 9, true, NULL), CLEAN_E_CONTROL);
}

// G-11, M-6: wherever it stands, and whatever else stands there
Test(clean, every_byte_anywhere) {
        for (unsigned c = 0; c < 0x80; c++)
                for (size_t n = 1; n < 20; n++)
                        for (size_t at = 0; at < n; at++) {
                                bool white = c == '\n' || c == '\t' || c == '\r', fine = (c >= 0x20 && c != 0x7F) || white;
                                char s[24];

                                memset(s, at % 2 ? '~' : ' ', n);
                                s[at] = (char)c;
                                cr_assert_eq(clean_check("it", s, n, false, NULL), fine ? 0 : CLEAN_E_CONTROL, "byte 0x%02x at %zu of %zu", c, at, n);
                                cr_assert_eq(clean_check("it", s, n, true, NULL), fine && !white ? 0 : CLEAN_E_CONTROL, "byte 0x%02x at %zu of %zu", c, at, n);
                        }
        for (size_t n = 3; n < 20; n++) /* U+0085 is two bytes, none of ASCII */
                for (size_t at = 0; at + 2 <= n; at++) {
                        char s[24];

                        memset(s, 'x', n);
                        memcpy(s + at, "\xC2\x85", 2);
                        cr_assert_eq(clean_check("it", s, n, false, NULL), CLEAN_E_CONTROL, "at %zu of %zu", at, n);
                }
}

// G-11, M-6: a text of white space is blank in any script
Test(clean, blank) {
        static const struct {
                const char *text;
                bool blank;
        } rows[] = {
                {"", true},
                {" \t\r\n", true},
                {"\xC2\xA0", true},
                {" \xE3\x80\x80\xC2\xA0", true},
                {"\xE2\x80\x83\xE2\xA0\x80", true},
                {"\xE1\x9A\x80", true},
                {"a", false},
                {"\xC2\xA0x", false},
                {"\xC3\xA9", false},
                {"\xE3\x80\x81", false},
                {"\xE3\x80", false},
                {"\xC2", false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_expect_eq(clean_blank(rows[i].text, strlen(rows[i].text)), rows[i].blank, "row %zu", i);
        cr_expect(!clean_blank("\0", 1));
}
