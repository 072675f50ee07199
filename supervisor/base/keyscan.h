/* Runs: supervisor. Whether bytes that are to leave a region hold a region's key (I-11): pure, and told which keys
 * there are. Found is a key that stands in one piece, in any of these spellings:
 *
 *     raw bytes; hexadecimal of either case; base64 and base64url at any of the three offsets: each also with other
 *   characters between the
 *     digits (white space, ":", "-", "\x", "%", "\u00", quotes and commas); bytes as U+0000 to U+00FF, also as JSON
 *   escapes them; an array of 16 numbers.
 *
 * A key that is cut up, encrypted or spelled in another way is not found: whoever holds a key can hide it from any
 * search. */
#pragma once

#include "base/json.h"
#include "base/util.h"

#define KEY_BYTES 16
#define KEY_TEXT_BYTES (2 * KEY_BYTES) /* how a key is written on the pipe: lower-case hexadecimal */

/* Borrowed pointers to keys of KEY_BYTES bytes. */
typedef struct KeySet {
        const uint8_t *const *v;
        size_t n;
} KeySet;

/* Where the keys of living regions are to be had, for who holds none himself: NULL in place of it: there are none.
 * Regions begin and end only when they are let go, so that nothing is waited for in between. */
typedef struct KeyHold {
        const KeySet *(*hold)(void);
        void (*let_go)(const KeySet **held);
} KeyHold;
static inline const KeySet *key_hold(const KeyHold *h) {
        return h ? h->hold() : NULL;
}
static inline void key_let_go(const KeyHold *h, const KeySet **held) {
        if (h)
                h->let_go(held);
}

/* set may be NULL or empty. Returns 1 when a key is there, 0, or -ENOMEM: who cannot look must not pass the bytes
 * on. */
int keyscan_text(const KeySet *set, const char *bytes, size_t n);
/* The same for a value: its canonical form as a text, each string and name in it, each array of numbers. */
int keyscan_json(const KeySet *set, const json_t *value);
