/* Runs: CLI. The difference of two texts, as hunks of a unified diff. */
#pragma once

#include "base/buf.h"

/* Adds hunks ("@@ -1,3 +1,4 @@" and lines), without the two lines of names; nothing for equal texts. Beyond a bound of
 * work, the part that differs is shown as removed and added whole. Returns 0, -ENOMEM, -EFBIG (the buffer's bound). */
int lines_diff(const char *a, size_t n_a, const char *b, size_t n_b, Buf *ret);
/* Whether the bytes are shown as text: no NUL in the first 8,000. */
bool lines_is_text(const char *p, size_t n);
