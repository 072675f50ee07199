#include "proxy/json-scan.h"

#include <string.h>

#define INTEGER_MOST ((UINT64_C(1) << 53) - 1)

enum { SCAN_VALUE,
       SCAN_VALUE_OR_END, /* behind "[" */
       SCAN_KEY_OR_END,   /* behind "{" */
       SCAN_KEY,
       SCAN_COLON,
       SCAN_NEXT, /* behind a value */
       SCAN_STRING,
       SCAN_ESCAPE,
       SCAN_HEX,
       SCAN_NUMBER,
       SCAN_WORD };

/* The parts of a number (RFC 8259 6). */
enum { PART_MINUS,
       PART_ZERO,
       PART_INT,
       PART_POINT,
       PART_FRACTION,
       PART_E,
       PART_SIGN,
       PART_EXPONENT };

void json_scan_begin(JsonScan *s) {
        s->state = SCAN_VALUE;
        s->depth = 0;
        s->objects = 0;
        s->bad = false;
        memset(s->key, 0, sizeof(s->key));
}

static bool scan_blank(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool scan_in_object(const JsonScan *s) {
        return s->depth > 0 && s->objects >> (s->depth - 1) & 1;
}

static void scan_tell(JsonScan *s, JsonScanKind kind, const char *text, uint64_t integer) {
        s->value(s, kind, text, integer);
        if (kind != JSON_SCAN_OPEN)
                s->state = SCAN_NEXT;
}

static bool scan_open(JsonScan *s, bool object) {
        if (s->depth >= JSON_SCAN_DEPTH)
                return false;
        scan_tell(s, JSON_SCAN_OPEN, NULL, 0);
        s->objects = object ? s->objects | UINT64_C(1) << s->depth : s->objects & ~(UINT64_C(1) << s->depth);
        if (s->depth < JSON_SCAN_KEYS)
                s->key[s->depth][0] = 0;
        s->depth++;
        s->state = object ? SCAN_KEY_OR_END : SCAN_VALUE_OR_END;
        return true;
}

static bool scan_close(JsonScan *s, char c) {
        if (s->depth == 0 || scan_in_object(s) != (c == '}'))
                return false;
        s->depth--;
        s->state = SCAN_NEXT;
        return true;
}

static void scan_string(JsonScan *s, bool key) {
        s->state = SCAN_STRING;
        s->is_key = key;
        s->n_text = 0;
        s->long_text = false;
        s->high = 0;
}

static void scan_add(JsonScan *s, char c) {
        if (s->n_text + 1 >= sizeof(s->text) || c == 0)
                s->long_text = true;
        else
                s->text[s->n_text++] = c;
}

/* A code point of an escape, in UTF-8. A surrogate alone becomes U+FFFD, which no name of ours has. */
static void scan_add_code(JsonScan *s, unsigned c) {
        if (c < 0x80)
                scan_add(s, (char)c);
        else if (c < 0x800) {
                scan_add(s, (char)(0xc0 | c >> 6));
                scan_add(s, (char)(0x80 | (c & 0x3f)));
        } else {
                if (c >= 0x10000) {
                        scan_add(s, (char)(0xf0 | c >> 18));
                        scan_add(s, (char)(0x80 | (c >> 12 & 0x3f)));
                } else
                        scan_add(s, (char)(0xe0 | c >> 12));
                scan_add(s, (char)(0x80 | (c >> 6 & 0x3f)));
                scan_add(s, (char)(0x80 | (c & 0x3f)));
        }
}

static void scan_lone_high(JsonScan *s) {
        if (s->high)
                scan_add_code(s, 0xfffd);
        s->high = 0;
}

static void scan_code(JsonScan *s, unsigned c) {
        if (s->high && c >= 0xdc00 && c < 0xe000) {
                scan_add_code(s, 0x10000 + ((s->high - 0xd800) << 10) + (c - 0xdc00));
                s->high = 0;
                return;
        }
        scan_lone_high(s);
        if (c >= 0xd800 && c < 0xdc00)
                s->high = c;
        else
                scan_add_code(s, c >= 0xdc00 && c < 0xe000 ? 0xfffd : c);
}

static void scan_string_over(JsonScan *s) {
        const char *text;

        scan_lone_high(s);
        s->text[s->n_text] = 0;
        text = s->long_text ? NULL : s->text;
        if (!s->is_key) {
                scan_tell(s, JSON_SCAN_STRING, text, 0);
                return;
        }
        if (s->depth <= JSON_SCAN_KEYS) {
                char *key = s->key[s->depth - 1];

                *key = 0;
                if (text && s->n_text < JSON_SCAN_KEY_MAX)
                        memcpy(key, text, s->n_text + 1);
        }
        if (s->depth == 1 && s->member)
                s->member(s, text);
        s->state = SCAN_COLON;
}

static bool scan_in_string(JsonScan *s, char c) {
        if (c == '"')
                scan_string_over(s);
        else if (c == '\\')
                s->state = SCAN_ESCAPE;
        else if ((unsigned char)c < ' ')
                return false;
        else {
                scan_lone_high(s);
                scan_add(s, c);
        }
        return true;
}

static bool scan_escape(JsonScan *s, char c) {
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *at = c ? strchr(from, c) : NULL;

        s->state = SCAN_STRING;
        if (c == 'u') {
                s->state = SCAN_HEX;
                s->n_hex = s->hex = 0;
                return true;
        }
        if (!at)
                return false;
        scan_lone_high(s);
        scan_add(s, to[at - from]);
        return true;
}

static bool scan_hex(JsonScan *s, char c) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                   : c >= 'A' && c <= 'F'   ? c - 'A' + 10
                                                                            : -1;

        if (digit < 0)
                return false;
        s->hex = 16 * s->hex + (unsigned)digit;
        if (++s->n_hex == 4) {
                s->state = SCAN_STRING;
                scan_code(s, s->hex);
        }
        return true;
}

static void scan_number_begin(JsonScan *s, char c) {
        s->state = SCAN_NUMBER;
        s->whole = c != '-';
        s->part = c == '-' ? PART_MINUS : c == '0' ? PART_ZERO
                                                   : PART_INT;
        s->integer = c == '-' ? 0 : (uint64_t)(c - '0');
}

/* Takes a byte of a number. Returns false for a byte that does not belong to the number. */
static bool scan_number_takes(JsonScan *s, char c) {
        const bool digit = c >= '0' && c <= '9';

        switch (s->part) {
        case PART_MINUS:
                s->part = c == '0' ? PART_ZERO : PART_INT;
                return digit;
        case PART_ZERO:
        case PART_INT:
                if (digit && s->part == PART_INT) {
                        s->integer = s->integer > INTEGER_MOST / 10 ? INTEGER_MOST + 1 : 10 * s->integer + (uint64_t)(c - '0');
                        return true;
                }
                if (c != '.' && c != 'e' && c != 'E')
                        return false;
                s->whole = false;
                s->part = c == '.' ? PART_POINT : PART_E;
                return true;
        case PART_POINT:
                s->part = PART_FRACTION;
                return digit;
        case PART_FRACTION:
                if (c != 'e' && c != 'E')
                        return digit;
                s->part = PART_E;
                return true;
        case PART_E:
                s->part = digit ? PART_EXPONENT : PART_SIGN;
                return digit || c == '+' || c == '-';
        case PART_SIGN:
                s->part = PART_EXPONENT;
                return digit;
        default:
                return digit;
        }
}

static bool scan_number_is_whole(const JsonScan *s) {
        return s->part == PART_ZERO || s->part == PART_INT || s->part == PART_FRACTION || s->part == PART_EXPONENT;
}

static void scan_number_over(JsonScan *s) {
        const bool integer = s->whole && s->integer <= INTEGER_MOST;

        scan_tell(s, integer ? JSON_SCAN_INTEGER : JSON_SCAN_NUMBER, NULL, integer ? s->integer : 0);
}

static bool scan_word_begin(JsonScan *s, char c) {
        s->state = SCAN_WORD;
        s->word = c == 't' ? "rue" : c == 'f' ? "alse"
                                              : "ull";
        s->kind = c == 't' ? JSON_SCAN_TRUE : c == 'f' ? JSON_SCAN_FALSE
                                                       : JSON_SCAN_NULL;
        return true;
}

static bool scan_value(JsonScan *s, char c) {
        if (c == '{' || c == '[')
                return scan_open(s, c == '{');
        if (c == '"')
                scan_string(s, false);
        else if (c == '-' || (c >= '0' && c <= '9'))
                scan_number_begin(s, c);
        else
                return (c == 't' || c == 'f' || c == 'n') && scan_word_begin(s, c);
        return true;
}

static bool scan_between(JsonScan *s, char c) {
        if (scan_blank(c))
                return true;
        switch (s->state) {
        case SCAN_VALUE_OR_END:
                return c == ']' ? scan_close(s, c) : scan_value(s, c);
        case SCAN_KEY_OR_END:
        case SCAN_KEY:
                if (c == '}' && s->state == SCAN_KEY_OR_END)
                        return scan_close(s, c);
                scan_string(s, true);
                return c == '"';
        case SCAN_COLON:
                s->state = SCAN_VALUE;
                return c == ':';
        case SCAN_NEXT:
                if (c != ',')
                        return scan_close(s, c);
                s->state = scan_in_object(s) ? SCAN_KEY : SCAN_VALUE;
                return s->depth > 0;
        default:
                return scan_value(s, c);
        }
}

static bool scan_byte(JsonScan *s, char c) {
        switch (s->state) {
        case SCAN_STRING:
                return scan_in_string(s, c);
        case SCAN_ESCAPE:
                return scan_escape(s, c);
        case SCAN_HEX:
                return scan_hex(s, c);
        case SCAN_WORD:
                if (c != *s->word++)
                        return false;
                if (!*s->word)
                        scan_tell(s, s->kind, NULL, 0);
                return true;
        case SCAN_NUMBER:
                if (!scan_number_is_whole(s))
                        return scan_number_takes(s, c);
                if (scan_number_takes(s, c))
                        return true;
                scan_number_over(s);
                return scan_between(s, c);
        default:
                return scan_between(s, c);
        }
}

bool json_scan_feed(JsonScan *s, const char *bytes, size_t n) {
        for (size_t i = 0; i < n && !s->bad; i++)
                s->bad = !scan_byte(s, bytes[i]);
        return !s->bad;
}

bool json_scan_end(JsonScan *s) {
        if (!s->bad && s->state == SCAN_NUMBER && s->depth == 0 && scan_number_is_whole(s))
                scan_number_over(s);
        return !s->bad && s->state == SCAN_NEXT && s->depth == 0;
}
