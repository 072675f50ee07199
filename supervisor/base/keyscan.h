/* Runs: supervisor. Finds keys of regions in bytes that are about to leave a region (I-11). Pure: the caller gives the
 * keys. A key is found in one piece, in any of these spellings:
 *
 *     raw bytes; hexadecimal of either case; base64 and base64url at any of the three offsets: also with other
 *     characters between the digits (white space, ":", "-", "\x", "%", "\u00", quotes and commas);
 *     bytes as U+0000 to U+00FF, also as JSON escapes; an array of 16 numbers.
 *
 * A key that is cut up, encrypted or spelled differently is not found: a program that holds a key can hide the key
 * from any search. */
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

/* Access to the keys of living regions, for a caller without keys of its own; a NULL pointer to KeyHold means no keys.
 * While the keys are held no region begins or ends: the caller must not wait in between. */
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

/* set may be NULL or empty. Returns 1 for a found key, 0, or -ENOMEM: the caller must then not pass the bytes on. */
int keyscan_text(const KeySet *set, const char *bytes, size_t n);
/* The same for a value: its canonical form as a text, each string and name, each array of numbers. */
int keyscan_json(const KeySet *set, const json_t *value);
