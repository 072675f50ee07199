/* Runs: tests. Entries that nobody should have been able to write. */
#pragma once

#include "base/clock.h"
#include "base/json.h"
#include "ledger/ledger.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* more: further members, each with a comma before it. */
static inline void say(Txn *t, const char *type, const char *region, const char *more) {
        char text[600], time[CLOCK_TEXT_MAX];
        uint64_t now = clock_real_usec();
        _cleanup_json_ json_t *o = NULL;
        _cleanup_free_ char *canonical = NULL;
        Diag d;
        int n = snprintf(text, sizeof(text), "{\"time\":\"%s\",\"type\":\"%s\"%s%s%s%s}", clock_format(now, time), type,
                         region ? ",\"region\":\"" : "", region ? region : "", region ? "\"" : "", more);

        cr_assert_eq(json_parse(text, (size_t)n, sizeof(text), 8, &o, &d), 0, "%s: %s", text, d.text);
        cr_assert_eq(json_canonical(o, &canonical, NULL), 0);
        cr_assert_eq(ledger_append(t, canonical, strlen(canonical), now, NULL), 0);
}

#define SAYS(name, type, region, more)                                                                                 \
        static void name(Txn *t) {                                                                                     \
                say(t, type, region, more);                                                                            \
        }
