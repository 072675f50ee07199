#include "audit/fold-state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int _printf_(5, 0) audit_record(Audit *a, bool at, const char *what, const char *found, const char *expected_fmt,
                                      va_list ap) {
        a->report->at_entry = at;
        a->report->seq = a->seq;
        snprintf(a->report->what, AUDIT_TEXT_MAX, "%s", what);
        vsnprintf(a->report->expected, AUDIT_TEXT_MAX, expected_fmt, ap);
        diag_quote(found, strnlen(found, AUDIT_TEXT_MAX - 1), a->report->found, AUDIT_TEXT_MAX);
        return AUDIT_E_BROKEN;
}

AuditText audit_text(const char *fmt, ...) {
        AuditText text;
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text.s, sizeof(text.s), fmt, ap);
        va_end(ap);
        return text;
}

int audit_differs(Audit *a, const char *what, const char *found, const char *expected_fmt, ...) {
        va_list ap;
        int r;

        va_start(ap, expected_fmt);
        r = audit_record(a, true, what, found, expected_fmt, ap);
        va_end(ap);
        return r;
}

int audit_store_differs(Audit *a, const char *what, const char *found, const char *expected_fmt, ...) {
        va_list ap;
        int r;

        va_start(ap, expected_fmt);
        r = audit_record(a, false, what, found, expected_fmt, ap);
        va_end(ap);
        return r;
}

int audit_lacks(Audit *a, const char *type, const char *field) {
        return audit_differs(a, "an entry lacks a field or has it of a wrong kind", "none", "field %s of %s", field,
                             type);
}

int audit_wrong_version(Audit *a, const char *slot, uint64_t expected, uint64_t found) {
        return audit_differs(a, "a slot's versions do not follow one another", audit_text("version %" PRIu64, found).s,
                             "version %" PRIu64 " of %s", expected, slot);
}

int audit_next_body(Audit *a) {
        Bytes k;
        int r = cursor_next(a->bodies, &k, &a->body);

        if (r == -ENOENT)
                a->next_body = UINT64_MAX;
        else if (r == 0 && k.n != 8)
                r = -EUCLEAN;
        else if (r == 0)
                a->next_body = be64_get(k.p);
        return r == -ENOENT ? 0 : r;
}
