/* Runs: skill. The part of JSON that the shim needs: check a text, find a member, write and read a string. Allocates
 * no memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Span {
        const char *p; /* NULL: absent */
        size_t n;
} Span;

bool json_utf8_valid(const char *s, size_t n);
/* Exactly one JSON value; white space around the value is allowed. */
bool json_valid(const char *s, size_t n);
/* Copies a valid JSON text without the white space between tokens; out has room for n bytes. Returns the bytes
 * written. */
size_t json_compact(const char *s, size_t n, char *out);
/* The value of a member of a valid JSON object. Keys are compared as written, escapes are not decoded. */
Span json_member(Span object, const char *key);
bool json_is(Span value, const char *text);
