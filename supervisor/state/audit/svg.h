/* Runs: CLI. Inside of audit/: text of others in a drawing (SVG 1.1, XML 1.0). */
#pragma once

#include "base/buf.h"

/* Appends s as character data or as the value of an attribute in quotes, and at most `most` characters of it; a cut text
 * ends with an ellipsis. Characters that XML forbids, control characters, and marks that turn or hide text are shown by a
 * picture or by U+FFFD: no text reaches beyond its own place. Returns 0 or -ENOMEM, -EFBIG. */
int svg_text(Buf *out, const char *s, size_t most);
