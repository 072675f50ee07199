/* Runs: tests. JSON in single quotes, and the answers of intents and triggers as text. */
#pragma once

#include "object/intent.h"
#include "object/trigger.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SELF "01jz0000000000000000000000"
#define OTHER "01jz0000000000000000000001"
#define THIRD "01jz0000000000000000000002"

/* New. Text with ' for ". */
static inline json_t *quoted(const char *text) {
        char *s = strdup(text);
        json_t *v = NULL;
        Diag d = {0};

        for (char *p = s; *p; p++)
                if (*p == '\'')
                        *p = '"';
        cr_assert_eq(json_parse(s, strlen(s), 4 << 20, 2000, &v, &d), 0, "%s: %s", text, d.text);
        free(s);
        return v;
}

static inline char *printed(const json_t *v) {
        char *text;
        size_t n;

        cr_assert_eq(json_canonical(v, &text, &n), 0);
        return text;
}

static inline unsigned pick(uint64_t *seed, unsigned n) {
        *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
        return (unsigned)(*seed >> 33) % n;
}

/* Refused, with a message that begins with `where` and has the rule in it. */
static inline void expect_refused(const char *what, int e, int code, const char *where, const char *rule, const Diag *d) {
        cr_expect_eq(e, code, "%s: %d %s", what, e, d->text);
        cr_expect(strncmp(d->text, where, strlen(where)) == 0 && strncmp(d->text + strlen(where), ": ", 2) == 0, "%s: %s", what,
                  d->text);
        cr_expect(strstr(d->text, rule), "%s: %s", what, d->text);
}
