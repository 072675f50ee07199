/* I-11: a region's key is found in what would leave the region, in each spelling that keyscan.h names, and nothing else is taken for one. */
#include "base/hash.h"
#include "base/keyscan.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* Among its bytes: NUL, quote, backslash, a letter, beyond ASCII. */
static const uint8_t key[KEY_BYTES] = {0x00, 0x22, 0x5C, 0x41, 0x7F, 0x80, 0xC3, 0xFF, 0x0A, 0x1F, 0x61, 0xF0, 0x9F, 0x2D, 0x5F, 0xFE};
static const uint8_t other[KEY_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
static const uint8_t *const both[] = {other, key};
static const KeySet set = {both, 2}, without = {both, 1};

/* As many as there may be regions alive, the one that is there behind all others. */
enum { CROWD = 1000 };
static uint8_t others[CROWD][KEY_BYTES];
static const uint8_t *crowd[CROWD + 1];

static KeySet of_many(bool with) {
        if (!crowd[CROWD]) {
                randombytes_buf(others, sizeof(others));
                for (size_t i = 0; i < CROWD; i++)
                        crowd[i] = others[i];
                crowd[CROWD] = key;
        }
        return (KeySet){crowd, with ? CROWD + 1 : CROWD};
}

static void found(const char *how, const char *bytes, size_t n) {
        KeySet many = of_many(true), none = of_many(false);

        cr_assert_eq(keyscan_text(&set, bytes, n), 1, "%s: not found in %.200s", how, bytes);
        cr_assert_eq(keyscan_text(&without, bytes, n), 0, "%s: found although it is no key", how);
        cr_assert_eq(keyscan_text(&many, bytes, n), 1, "%s: not found among many in %.200s", how, bytes);
        cr_assert_eq(keyscan_text(&none, bytes, n), 0, "%s: one of many is found that is not there", how);
}

static void found_text(const char *how, const char *text) {
        _cleanup_json_ json_t *array = json_pack("[i, {s:s}]", 1, "k", text), *name = json_object();

        found(how, text, strlen(text));
        if (!array)
                return; /* not UTF-8 */
        cr_assert_eq(keyscan_json(&set, array), 1, "%s: not found in a value", how);
        cr_assert_eq(keyscan_json(&without, array), 0, "%s", how);
        json_object_set_new(name, text, json_true());
        cr_assert_eq(keyscan_json(&set, name), 1, "%s: not found in a name", how);
}

// I-11
Test(keyscan, raw) {
        char bytes[100];

        memset(bytes, 'x', sizeof(bytes));
        memcpy(bytes + 41, key, KEY_BYTES);
        found("raw", bytes, sizeof(bytes));
        found("raw at the end", bytes, 41 + KEY_BYTES);
        cr_assert_eq(keyscan_text(&set, bytes, 41 + KEY_BYTES - 1), 0, "all but one byte");
}

// I-11
Test(keyscan, hexadecimal) {
        static const char *const between[] = {"", ":", "-", " ", "\\x", "%", ", 0x", "\\u00", "\n  ", "\",\""};
        char hex[KEY_TEXT_BYTES + 1], text[400];

        hex_encode(key, KEY_BYTES, hex);
        for (size_t i = 0; i < ARRAY_SIZE(between); i++)
                for (int upper = 0; upper < 2; upper++) {
                        size_t o = (size_t)snprintf(text, sizeof(text), "a key: ");

                        for (size_t k = 0; k < KEY_BYTES; k++)
                                o += (size_t)snprintf(text + o, sizeof(text) - o, upper ? "%s%02X" : "%s%02x", between[i], key[k]);
                        snprintf(text + o, sizeof(text) - o, "; zz");
                        found_text(between[i], text);
                }
        hex[KEY_TEXT_BYTES - 1] ^= 1;
        cr_assert_eq(keyscan_text(&set, hex, KEY_TEXT_BYTES), 0, "one digit is another");
}

// I-11
Test(keyscan, base64_at_each_offset) {
        static const int variants[] = {sodium_base64_VARIANT_ORIGINAL, sodium_base64_VARIANT_URLSAFE, sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
                                       sodium_base64_VARIANT_URLSAFE_NO_PADDING};

        for (size_t before = 0; before < 7; before++)
                for (size_t after = 0; after < 4; after++)
                        for (size_t v = 0; v < ARRAY_SIZE(variants); v++) {
                                uint8_t bytes[7 + KEY_BYTES + 4];
                                char text[64], folded[200], how[64];
                                size_t o = 0;

                                randombytes_buf(bytes, sizeof(bytes));
                                memcpy(bytes + before, key, KEY_BYTES);
                                sodium_bin2base64(text, sizeof(text), bytes, before + KEY_BYTES + after, variants[v]);
                                snprintf(how, sizeof(how), "base64 behind %zu bytes, before %zu, variant %d", before, after, variants[v]);
                                found_text(how, text);
                                for (const char *p = text; *p; p++)
                                        o += (size_t)snprintf(folded + o, sizeof(folded) - o, (p - text) % 5 ? "%c" : "\r\n %c", *p);
                                found_text(how, folded);
                        }
}

// I-11: what JSON makes of bytes, as escapes or as characters.
Test(keyscan, characters_and_numbers) {
        _cleanup_json_ json_t *numbers = json_array(), *few = json_array(), *value;
        char text[200] = "\"", *canonical;
        size_t o = 1;

        for (size_t i = 0; i < KEY_BYTES; i++) {
                o += (size_t)snprintf(text + o, sizeof(text) - o, "\\u%04X", key[i]);
                json_array_append_new(numbers, i % 2 ? json_integer(key[i]) : json_real(key[i]));
                if (i > 0)
                        json_array_append_new(few, json_integer(key[i]));
        }
        snprintf(text + o, sizeof(text) - o, "\"");
        value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        cr_assert_eq(keyscan_json(&set, value), 1, "characters up to U+00FF");
        cr_assert_eq(keyscan_json(&without, value), 0);
        found("an escape that is text", text, strlen(text));
        cr_assert_eq(json_canonical(value, &canonical, NULL), 0);
        found("the canonical form, which escapes some", canonical, strlen(canonical));
        found("the characters themselves", json_string_value(value), json_string_length(value));
        free(canonical);
        cr_assert_eq(keyscan_json(&set, numbers), 1, "numbers");
        cr_assert_eq(keyscan_json(&without, numbers), 0);
        cr_assert_eq(keyscan_json(&set, few), 0, "15 of them");
        json_array_insert_new(few, 0, json_integer(256 + key[0]));
        cr_assert_eq(keyscan_json(&set, few), 0, "a number that is no byte");
}

// I-11: digits that several strings share out among them, in the order of the text.
Test(keyscan, over_several_strings) {
        _cleanup_json_ json_t *pairs = json_array(), *reversed = json_array();

        for (size_t i = 0; i < KEY_BYTES; i++) {
                char two[3];

                hex_encode(key + i, 1, two);
                json_array_append_new(pairs, json_string(two));
                json_array_insert_new(reversed, 0, json_string(two));
        }
        cr_assert_eq(keyscan_json(&set, pairs), 1);
        cr_assert_eq(keyscan_json(&without, pairs), 0);
        cr_assert_eq(keyscan_json(&set, reversed), 0, "what is cut up and put in another order is not looked for (keyscan.h)");
}

Test(keyscan, no_keys_and_no_bytes) {
        static const KeySet none = {NULL, 0};

        cr_assert_eq(keyscan_text(NULL, (const char *)key, KEY_BYTES), 0);
        cr_assert_eq(keyscan_text(&none, (const char *)key, KEY_BYTES), 0);
        cr_assert_eq(keyscan_text(&set, "", 0), 0);
        cr_assert_eq(keyscan_json(&none, NULL), 0);
}

/* A megabyte of digits and letters is looked at and let go. */
Test(keyscan, random_text_is_no_key) {
        static char text[1 << 20];

        for (size_t i = 0; i < sizeof(text); i++)
                text[i] = "0123456789abcdefABCDEFxyz+/-_=:\\u"[randombytes_uniform(33)];
        cr_assert_eq(keyscan_text(&set, text, sizeof(text)), 0);
        hex_encode(key, KEY_BYTES, text + 777777);
        text[777777 + KEY_TEXT_BYTES] = 'x';
        cr_assert_eq(keyscan_text(&set, text, sizeof(text)), 1);
}
