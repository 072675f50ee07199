/* Runs: CLI. Inside of audit/: foreign text in a drawing (SVG 1.1, XML 1.0). */
#pragma once

#include "base/buf.h"

/* Appends at most `most` characters of s, as character data or as the value of an attribute in quotes; a cut text ends
 * with an ellipsis. A picture or U+FFFD stands for control characters, for marks that turn or hide text, and for
 * characters that XML forbids: no text reaches beyond its place. Returns 0, -ENOMEM, -EFBIG. */
int svg_text(Buf *out, const char *s, size_t most);
