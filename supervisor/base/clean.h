/* Runs: supervisor, CLI. Text for people and for programs that print: without control characters. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

enum {
        CLEAN_E_CONTROL = 1,
};

/* text: valid UTF-8. Refused are
 *   - control characters: C0 but for line feed, carriage return and tab (in a line also these three), DEL, C1;
 *   - invisible marks that turn, break or begin a line, hide the end of a word, stand for a letter, or hide a text:
 *     U+200B, U+200E, U+200F, U+2028..202E, U+2060..206F, U+FEFF, U+00AD, U+034F, U+061C, U+115F, U+1160, U+17B4,
 *     U+17B5, U+180E, U+3164, U+FFA0, U+FFF0..FFFB, U+1BCA0..1BCA3, U+1D173..1D17A, tags U+E0000..E0FFF;
 *   - variation selectors but one behind a character that has forms;
 *   - joiners (U+200C, U+200D) but between two characters beyond ASCII, where scripts and emoji need them.
 * `field` is for the message. Returns 0 or CLEAN_E_CONTROL. */
int clean_check(const char *field, const char *text, size_t n, bool one_line, Diag *reterr);
/* Whether the text is empty or white space of any script. Invalid UTF-8 is no white space. */
bool clean_blank(const char *text, size_t n);
