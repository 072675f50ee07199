/* Runs: supervisor, CLI. UTF-8: its validity, and invisible characters. */
#pragma once

#include "base/util.h"

/* Length of the valid sequence at s, 0 when s begins no valid sequence (RFC 3629: no surrogates, no overlong forms). */
size_t utf8_step(const unsigned char *s, size_t n);
/* ret_bad may be NULL; set to the index of the first bad byte when false. */
bool utf8_valid(const char *s, size_t n, size_t *ret_bad);
/* The first character of valid UTF-8; *ret_n: its bytes. */
unsigned utf8_decode(const unsigned char *s, size_t n, size_t *ret_n);
/* Invisible marks: some turn, break or end a line, or hide the end of a word; fillers stand for a letter; tags can hide
 * whole texts (DerivedCoreProperties.txt, Default_Ignorable_Code_Point). Joiners and variation selectors are judged
 * apart: letters of some scripts and emoji need both. */
bool utf8_is_mark(unsigned c);
