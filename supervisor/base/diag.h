/* Runs: supervisor, CLI. A message for a person about input that was refused: which file, line or field, which value,
 * which rule. Functions that judge input take a Diag and return a positive MODULE_E_* code with it. */
#pragma once

#include "base/util.h"

#include <stdio.h>

typedef struct Diag {
        char text[1024]; /* NUL-terminated and valid UTF-8; control characters of quoted input are escaped */
} Diag;

/* Formats the message (d may be NULL) and returns `code`, so that a refusal is one line: return diag(d, X_E_BAD,
 * "…"). */
int diag(Diag *d, int code, const char *fmt, ...) _printf_(3, 4);

/* Puts "prefix: " before what is there, e.g. the file's name. */
void diag_prefix(Diag *d, const char *fmt, ...) _printf_(2, 3);

/* Writes at most n_out bytes: the input with control characters, marks of writing direction, quotes and invalid UTF-8
 * as \xNN, cut at 96 bytes with "…". For quoting hostile text in messages and records. Returns out. */
const char *diag_quote(const char *in, size_t n_in, char *out, size_t n_out);

/* Prints one line of a message that may hold what somebody else said, whole: the same as \xNN, but for quotes and
 * backslashes, which diag_quote() has written. */
void diag_print(FILE *f, const char *text);

/* The same for what stands by itself, such as JSON: no quotation to end, so that quotes stay as they are. */
const char *diag_show(const char *in, size_t n_in, char *out, size_t n_out);

/* Valid UTF-8 (RFC 3629: no surrogates, no overlong forms). ret_bad may be NULL; set to the first bad byte's index when
 * false. */
bool utf8_valid(const char *s, size_t n, size_t *ret_bad);
