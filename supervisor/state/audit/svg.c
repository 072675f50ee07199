#include "audit/svg.h"

#include "base/utf8.h"

#include <string.h>

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

static int svg_character(Buf *out, const unsigned char *s, size_t n) {
        size_t step;
        const unsigned c = utf8_decode(s, n, &step);

        if (c < 0x20 || c == 0x7F)
                return buf_printf(out, "&#x%X;", 0x2400u + (c == 0x7F ? 0x21 : c)); /* the control picture */
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
                return buf_printf(out, "&#%u;", c);
        if (c < 0xA0 ? c > 0x7F : utf8_is_mark(c) || (c & 0xFFFE) == 0xFFFE || (c >= 0xFDD0 && c <= 0xFDEF))
                return buf_add_str(out, REPLACEMENT);
        return buf_add(out, s, step);
}

int svg_text(Buf *out, const char *s, size_t most) {
        const unsigned char *at = (const unsigned char *)s;
        size_t left = strlen(s), shown = 0;
        int r = 0;

        while (r == 0 && left > 0) {
                size_t step = utf8_step(at, left);

                if (++shown > most)
                        return buf_add_str(out, "\xE2\x80\xA6"); /* U+2026 */
                r = step > 0 ? svg_character(out, at, step) : buf_add_str(out, REPLACEMENT);
                step = step > 0 ? step : 1;
                at += step;
                left -= step;
        }
        return r;
}
