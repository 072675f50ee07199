/* Runs: supervisor, CLI. Text that people read and programs print: without control characters. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

enum {
        CLEAN_E_CONTROL = 1,
};

/* text: valid UTF-8. Refused are control characters (C0 but for line feed, carriage return and tab; DEL; C1) and marks that cannot be seen and turn, break or
 * begin a line, hide where a word ends, or hide a text (U+200B, U+200E, U+200F, U+2028..202E, U+2060..206F, U+FEFF, U+00AD, U+061C, U+180E, U+FFF9..FFFB, tags
 * U+E0000..E007F), and joiners (U+200C, U+200D) but between two characters beyond ASCII, where scripts and emoji need them; in text of one line also line feed,
 * carriage return and tab. `field` is for the message. Returns 0 or CLEAN_E_CONTROL. */
int clean_check(const char *field, const char *text, size_t n, bool one_line, Diag *reterr);
