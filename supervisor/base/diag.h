/* Runs: supervisor, CLI. A message about refused input, for a person: the file, line or field, the value, and the rule.
 * Functions that judge input take a Diag and return a positive MODULE_E_* code together with the message. */
#pragma once

#include "base/utf8.h"

#include <stdio.h>

typedef struct Diag {
        char text[1024]; /* NUL-terminated and valid UTF-8; control characters of quoted input are escaped */
} Diag;

/* Formats the message (d may be NULL) and returns `code`: a refusal is one line, return diag(d, X_E_BAD, "…"). */
int diag(Diag *d, int code, const char *fmt, ...) _printf_(3, 4);

/* Puts "prefix: " before the message, e.g. the name of the file. */
void diag_prefix(Diag *d, const char *fmt, ...) _printf_(2, 3);

/* Writes at most n_out bytes: the input with control characters, marks of writing direction, quotes and invalid UTF-8
 * as \xNN, cut at 96 bytes with "…". For quoting hostile text in messages and records. Returns out. */
const char *diag_quote(const char *in, size_t n_in, char *out, size_t n_out);
/* The same with room until the end of the block, for an argument of diag(). */
#define DIAG_QUOTED_N(in, n_in) diag_quote((in), (n_in), (char[400]){0}, 400)
#define DIAG_QUOTED(text) DIAG_QUOTED_N((text), strlen(text))

/* Prints one line of a message that may hold foreign text, whole: with \xNN as diag_quote() writes, except for quotes
 * and backslashes, which diag_quote() escaped before. */
void diag_print(FILE *f, const char *text);

/* As diag_quote() for text without quotation marks around, such as JSON: quotes stay unchanged. */
const char *diag_show(const char *in, size_t n_in, char *out, size_t n_out);
