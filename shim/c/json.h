/* Runs: skill. The least of JSON that the shim needs: check a text, find a member, write and read a string. Allocates nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Span {
        const char *p; /* NULL: not there */
        size_t n;
} Span;

bool json_utf8_valid(const char *s, size_t n);
/* Exactly one JSON value, white space around it allowed. */
bool json_valid(const char *s, size_t n);
/* Copies without the white space between tokens; out has room for n bytes. Returns the bytes written. The text is valid. */
size_t json_compact(const char *s, size_t n, char *out);
/* The value of a member of an object that is valid JSON; keys are compared as they are written. */
Span json_member(Span object, const char *key);
bool json_is(Span value, const char *text);
