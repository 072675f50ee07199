#include "manifest/finding.h"

#include "manifest/vocabulary.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FINDINGS_MAX 200

void findings_deinit(Findings *f) {
        for (size_t i = 0; i < f->n; i++) {
                free(f->v[i].file);
                free(f->v[i].pointer);
                free(f->v[i].rule);
                free(f->v[i].message);
        }
        free(f->v);
        *f = (Findings){0};
}

int finding_add(Findings *f, FindingLevel level, const char *file, unsigned line, const char *pointer, const char *rule,
                const char *fmt, ...) {
        Finding x = {.level = level, .line = line};
        va_list ap;

        /* A hostile file can have a fault in every byte: the first 200 are enough. Errors are never lost to notes: a
         * single error decides the verdict, and the last place is kept for an error. */
        if (f->n >= FINDINGS_MAX || (f->n == FINDINGS_MAX - 1 && level != FINDING_ERROR))
                return 0;
        if (!GROW(f->v, f->n))
                return -ENOMEM;
        va_start(ap, fmt);
        x.message = text_vprintf(fmt, ap);
        va_end(ap);
        x.file = strdup(file);
        x.rule = strdup(rule);
        x.pointer = pointer ? strdup(pointer) : NULL;
        f->v[f->n++] = x;
        return x.message && x.file && x.rule && (x.pointer || !pointer) ? 0 : -ENOMEM;
}

const Finding *findings_worst(const Findings *f) {
        const Finding *worst = NULL;

        for (size_t i = 0; i < f->n; i++)
                if (!worst || f->v[i].level > worst->level)
                        worst = &f->v[i];
        return worst;
}

size_t findings_count(const Findings *f, FindingLevel level) {
        size_t n = 0;

        for (size_t i = 0; i < f->n; i++)
                n += f->v[i].level == level;
        return n;
}

char *finding_text(const Finding *f) {
        char where[32] = "";

        if (f->line > 0)
                snprintf(where, sizeof(where), ":%u", f->line);
        return text_printf("%s%s%s%s: %s [%s]", f->file, where, f->pointer ? "#" : "", f->pointer ?: "", f->message,
                           f->rule);
}

json_t *findings_to_json(const Findings *f) {
        static const char *const levels[] = {"note", "strict", "error"};
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && i < f->n; i++) {
                const Finding *x = &f->v[i];

                if (json_array_append_new(a, json_pack("{s:s, s:s, s:s, s:s, s:o*, s:s*}", "level", levels[x->level],
                                                       "file", x->file, "rule", x->rule, "message", x->message,
                                                       "line", x->line > 0 ? json_integer(x->line) : NULL,
                                                       "pointer", x->pointer)) < 0)
                        return NULL;
        }
        return TAKE_PTR(a);
}
