#include "audit/report-html.h"
#include "base/clock.h"
#include "base/size.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void report_put(Report *r, const char *fmt, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;
        int n;

        if (r->error < 0)
                return;
        va_start(ap, fmt);
        n = vasprintf(&text, fmt, ap);
        va_end(ap);
        if (n < 0)
                text = NULL;
        r->error = n < 0 ? -ENOMEM : buf_add(r->out, text, (size_t)n);
}

/* Inside <bdi>, so that marks of writing direction affect only the text itself. */
void report_put_text(Report *r, const char *s) {
        report_put(r, "<bdi>");
        for (; *s && r->error == 0; s++) {
                unsigned char c = (unsigned char)*s;

                if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
                        report_put(r, "&#%u;", c);
                else if (c < 0x20 || c == 0x7F)
                        report_put(r, "&#x%X;", 0x2400u + (c == 0x7F ? 0x21 : c)); /* the control picture */
                else if (c == 0xC2 && (unsigned char)s[1] >= 0x80 && (unsigned char)s[1] < 0xA0) {
                        report_put(r, "&#xFFFD;"); /* C1 controls have no pictures */
                        s++;
                }
                else
                        r->error = buf_add(r->out, s, 1);
        }
        report_put(r, "</bdi>");
}

void report_put_size(Report *r, uint64_t bytes) {
        char text[SIZE_TEXT_MAX];

        report_put(r, "%s", size_format(bytes, text));
}

void report_put_time(Report *r, uint64_t usec) {
        char text[CLOCK_TEXT_MAX];

        clock_format(usec, text);
        report_put(r, "%.10s %.8s", text, text + 11);
}

bool report_fails(const RegionFacts *f) {
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_question_fails(q) && region_question_is(q, f))
                        return true;
        return false;
}

const char *report_mark(const RegionFacts *f) {
        return report_fails(f) ? "bad" : f->ended ? "good" : "idle";
}
