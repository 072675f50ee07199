/* Runs: supervisor, CLI. The classes of ASCII characters, whatever the locale. Bytes beyond ASCII are in none. */
#pragma once

#include "base/util.h"

static inline bool ascii_letter(char c) {
        return (c | 0x20) - 'a' < 26U;
}
static inline bool ascii_digit(char c) {
        return c - '0' < 10U;
}
/* Blank, tab, line feed, carriage return. */
static inline bool ascii_blank(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
static inline char ascii_lower(char c) {
        return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}
