/* Runs: lethe-proxy. Reads JSON (RFC 8259) in pieces, in a fixed amount of memory, and tells values with keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_SCAN_DEPTH 64 /* arrays and objects inside each other */
#define JSON_SCAN_KEYS 3   /* kept keys, from the top */
#define JSON_SCAN_KEY_MAX 40
#define JSON_SCAN_TEXT_MAX 128

typedef enum JsonScanKind { JSON_SCAN_STRING,
                            JSON_SCAN_INTEGER, /* whole, without sign, below 2^53 */
                            JSON_SCAN_NUMBER,  /* further numbers */
                            JSON_SCAN_TRUE,
                            JSON_SCAN_FALSE,
                            JSON_SCAN_NULL,
                            JSON_SCAN_OPEN /* an array or an object begins */ } JsonScanKind;

typedef struct JsonScan JsonScan;
struct JsonScan {
        /* A value with keys scan->key[0 … depth-1]; "" in an array, or for a long key. text: NUL-terminated; NULL for a
         * long string, or a string with a NUL. */
        void (*value)(JsonScan *, JsonScanKind, const char *text_or_null, uint64_t integer);
        void (*member)(JsonScan *, const char *key_or_null); /* a key of the top object; NULL: too long, or has a NUL; may be NULL */
        void *user;
        unsigned state, depth;
        uint64_t objects;      /* bit i: level i is an object */
        char key[JSON_SCAN_KEYS][JSON_SCAN_KEY_MAX];
        char text[JSON_SCAN_TEXT_MAX];
        size_t n_text;
        bool long_text, is_key;
        unsigned n_hex, hex, high; /* of \u escapes; a high surrogate waits for the low one */
        const char *word;          /* the rest of true, false, null */
        JsonScanKind kind;
        bool whole, bad;
        uint64_t integer;
        unsigned part; /* of a number */
};

void json_scan_begin(JsonScan *s);
/* False: no JSON; so is every later call. */
bool json_scan_feed(JsonScan *s, const char *bytes, size_t n);
/* Whether the bytes were a single value. */
bool json_scan_end(JsonScan *s);
