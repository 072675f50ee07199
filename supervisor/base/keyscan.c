#include "base/keyscan.h"

#include "base/hash.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

/* The characters of a text in which a key could be written, without separators: hexadecimal digits in one case, both
 * alphabets of base64 made the same. Each array holds at most as many bytes as the text. */
typedef struct Digits {
        /* one allocation, owned by hex; plain is latin with JSON escapes resolved */
        char *hex, *base64, *latin, *plain;
        size_t n_hex, n_base64, n_latin, n_plain, room;
        uint8_t *seen; /* in the same allocation: see below */
        unsigned log2_seen;
} Digits;

/* A set of bits for groups of four adjacent characters of the text, per spelling; several groups may share a bit. A
 * missing bit rules a key out by its first four characters, without a search: many regions may be alive, and all their
 * keys are looked for in all output of each region. */
typedef enum Spelling { SPELLING_BYTES, SPELLING_HEX, SPELLING_BASE64 } Spelling;

static uint32_t keyscan_bit(const Digits *d, Spelling spelling, const void *four) {
        uint32_t v;

        memcpy(&v, four, sizeof(v));
        return (v + spelling) * UINT32_C(2654435761) >> (32 - d->log2_seen);
}

static void keyscan_note(Digits *d, Spelling spelling, const char *s, size_t n) {
        for (size_t i = 0; i + 4 <= n; i++) {
                uint32_t bit = keyscan_bit(d, spelling, s + i);

                d->seen[bit / 8] |= (uint8_t)(1U << bit % 8);
        }
}

static bool keyscan_may_have(const Digits *d, Spelling spelling, const void *four) {
        uint32_t bit = keyscan_bit(d, spelling, four);

        return d->seen[bit / 8] >> bit % 8 & 1;
}

static void keyscan_digits_deinit(Digits *d) {
        if (d->hex)
                sodium_memzero(d->hex, d->room);
        free(d->hex);
}

static bool keyscan_is_hex(char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static char keyscan_base64_of(char c) {
        if (c == '-')
                return '+';
        if (c == '_')
                return '/';
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/' ? c
                                                                                                                  : 0;
}

/* "\u00", "\x", "0x": their digits are no digits of the key. Returns the number of bytes to skip, 0: no escape. */
static size_t keyscan_escape_at(const char *s, size_t n) {
        if (n >= 4 && s[0] == '\\' && s[1] == 'u' && s[2] == '0' && s[3] == '0')
                return 4;
        if (n >= 4 && s[0] == '0' && s[1] == 'x' && keyscan_is_hex(s[2]) && keyscan_is_hex(s[3]))
                return 2;
        return 0;
}

/* The byte for a character up to U+00FF; -1: a character beyond, or invalid. *ret_n: its length in UTF-8. */
static int keyscan_latin_at(const char *s, size_t n, size_t *ret_n) {
        unsigned char c = (unsigned char)s[0];

        *ret_n = 1;
        if (c < 0x80)
                return c;
        if ((c == 0xC2 || c == 0xC3) && n >= 2 && ((unsigned char)s[1] & 0xC0) == 0x80) {
                *ret_n = 2;
                return (c & 3) << 6 | ((unsigned char)s[1] & 0x3F);
        }
        return -1;
}

static int keyscan_digit(char c) {
        return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* As keyscan_latin_at(), for the inside of a JSON string. */
static int keyscan_plain_at(const char *s, size_t n, size_t *ret_n) {
        static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char *letter = n >= 2 && s[0] == '\\' && s[1] ? strchr(letters, s[1]) : NULL;

        if (letter) {
                *ret_n = 2;
                return meant[letter - letters];
        }
        if (n >= 6 && keyscan_escape_at(s, n) == 4 && keyscan_is_hex(s[4]) && keyscan_is_hex(s[5])) {
                *ret_n = 6;
                return keyscan_digit(s[4]) << 4 | keyscan_digit(s[5]);
        }
        return keyscan_latin_at(s, n, ret_n);
}

static int keyscan_digits_of(const char *s, size_t n, Digits *ret) {
        unsigned log2_seen = 10;
        char *p;

        while (log2_seen < 24 && (UINT64_C(1) << log2_seen) < 128 * (uint64_t)n)
                log2_seen++;
        p = malloc(5 * n + (1UL << log2_seen) / 8);
        if (!p)
                return -ENOMEM;
        /* Hexadecimal is searched twice: with and without the digits of escapes. */
        *ret = (Digits){.hex = p, .base64 = p + 2 * n, .latin = p + 3 * n, .plain = p + 4 * n,
                        .room = 5 * n + (1UL << log2_seen) / 8,
                        .seen = (uint8_t *)p + 5 * n, .log2_seen = log2_seen};
        memset(ret->seen, 0, (1UL << log2_seen) / 8);
        for (size_t i = 0; i < n; i++) {
                if (keyscan_is_hex(s[i]))
                        ret->hex[ret->n_hex++] = (char)(s[i] | (s[i] >= 'A' ? 0x20 : 0));
                if (keyscan_base64_of(s[i]))
                        ret->base64[ret->n_base64++] = keyscan_base64_of(s[i]);
        }
        for (size_t i = 0, skip; i < n; i += MAX(skip, (size_t)1)) {
                skip = keyscan_escape_at(s + i, n - i);
                if (skip == 0 && keyscan_is_hex(s[i]))
                        ret->hex[ret->n_hex++] = (char)(s[i] | (s[i] >= 'A' ? 0x20 : 0));
        }
        for (size_t i = 0, step; i < n; i += step) {
                int byte = keyscan_latin_at(s + i, n - i, &step);

                if (byte >= 0) /* all other characters are skipped as separators */
                        ret->latin[ret->n_latin++] = (char)byte;
        }
        for (size_t i = 0, step; i < n; i += step) {
                int byte = keyscan_plain_at(s + i, n - i, &step);

                if (byte >= 0)
                        ret->plain[ret->n_plain++] = (char)byte;
        }
        keyscan_note(ret, SPELLING_BYTES, s, n);
        keyscan_note(ret, SPELLING_BYTES, ret->latin, ret->n_latin);
        keyscan_note(ret, SPELLING_BYTES, ret->plain, ret->n_plain);
        keyscan_note(ret, SPELLING_HEX, ret->hex, ret->n_hex);
        keyscan_note(ret, SPELLING_BASE64, ret->base64, ret->n_base64);
        return 0;
}

static bool keyscan_has(const char *hay, size_t n_hay, const void *needle, size_t n) {
        return n_hay >= n && memmem(hay, n_hay, needle, n) != NULL;
}

/* The base64 character for the six bits of the key from `bit` on. */
static char keyscan_base64_at(const uint8_t *key, unsigned bit) {
        static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        unsigned two = (unsigned)key[bit / 8] << 8 | (bit / 8 + 1 < KEY_BYTES ? key[bit / 8 + 1] : 0U);

        return alphabet[two >> (10 - bit % 8) & 63];
}

static bool keyscan_has_base64(const Digits *d, const uint8_t *key) {
        bool found = false;
        char text[24];

        if (d->n_base64 < KEY_BYTES)
                return false;
        /* Behind 0, 1 or 2 foreign bytes: the characters that depend on the key alone. */
        for (unsigned offset = 0; offset < 3 && !found; offset++) {
                unsigned from = 8 * offset, first = (from + 5) / 6, last = (from + 8 * KEY_BYTES) / 6;

                for (unsigned c = first;
                     c < last && (c != first + 4 || keyscan_may_have(d, SPELLING_BASE64, text)); c++)
                        text[c - first] = keyscan_base64_at(key, 6 * c - from);
                found = keyscan_may_have(d, SPELLING_BASE64, text) &&
                        keyscan_has(d->base64, d->n_base64, text, last - first);
        }
        explicit_bzero(text, sizeof(text));
        return found;
}

static bool keyscan_has_key(const char *bytes, size_t n, const Digits *d, const uint8_t *key) {
        char hex[KEY_TEXT_BYTES + 1];
        bool found = false;

        if (keyscan_may_have(d, SPELLING_BYTES, key) &&
            (keyscan_has(bytes, n, key, KEY_BYTES) || keyscan_has(d->latin, d->n_latin, key, KEY_BYTES) ||
             keyscan_has(d->plain, d->n_plain, key, KEY_BYTES)))
                return true;
        if (d->n_hex >= KEY_TEXT_BYTES) {
                for (unsigned i = 0; i < 4; i++)
                        hex[i] = "0123456789abcdef"[i % 2 ? key[i / 2] & 15 : key[i / 2] >> 4];
                found = keyscan_may_have(d, SPELLING_HEX, hex) &&
                        keyscan_has(d->hex, d->n_hex, hex_encode(key, KEY_BYTES, hex), KEY_TEXT_BYTES);
                explicit_bzero(hex, sizeof(hex));
        }
        return found || keyscan_has_base64(d, key);
}

int keyscan_text(const KeySet *set, const char *bytes, size_t n) {
        __attribute__((cleanup(keyscan_digits_deinit))) Digits d = {0};

        if (!set || set->n == 0 || n < KEY_BYTES)
                return 0;
        if (keyscan_digits_of(bytes, n, &d) < 0)
                return -ENOMEM;
        for (size_t i = 0; i < set->n; i++)
                if (keyscan_has_key(bytes, n, &d, set->v[i]))
                        return 1;
        return 0;
}

/* 16 consecutive numbers equal to the bytes of a key. */
static int keyscan_numbers(const KeySet *set, const json_t *array) {
        size_t n = json_array_size(array), run = 0;
        uint8_t *bytes = malloc(n);
        int r = 0;

        if (!bytes)
                return -ENOMEM;
        for (size_t i = 0; i <= n && r == 0; i++) {
                const json_t *v = i < n ? json_array_get(array, i) : NULL;
                double byte = v && json_is_number(v) ? json_number_value(v) : -1;

                if (byte >= 0 && byte < 256) {
                        bytes[run++] = (uint8_t)byte;
                        continue;
                }
                for (size_t k = 0; k < set->n && r == 0; k++)
                        r = keyscan_has((char *)bytes, run, set->v[k], KEY_BYTES);
                run = 0;
        }
        sodium_memzero(bytes, n);
        free(bytes);
        return r;
}

static int keyscan_parts(const KeySet *set, const json_t *value) {
        const char *name;
        json_t *item;
        size_t i;
        int r = 0;

        if (json_is_string(value))
                return keyscan_text(set, json_bytes(value), json_string_length(value));
        if (json_is_array(value) && json_array_size(value) >= KEY_BYTES)
                r = keyscan_numbers(set, value);
        json_array_foreach((json_t *)value, i, item) {
                r = r ?: keyscan_parts(set, item);
        }
        json_object_foreach((json_t *)value, name, item) {
                r = r ?: keyscan_text(set, name, strlen(name));
                r = r ?: keyscan_parts(set, item);
        }
        return r;
}

int keyscan_json(const KeySet *set, const json_t *value) {
        char *text;
        int r;

        if (!set || set->n == 0)
                return 0;
        r = keyscan_parts(set, value);
        if (r != 0)
                return r;
        /* Digits that are spread over several strings, in written order. */
        text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
        if (!text)
                return -ENOMEM;
        r = keyscan_text(set, text, strlen(text));
        sodium_memzero(text, strlen(text));
        free(text);
        return r;
}
