#include "tests/eval/domains/grammar.h"

#include "tests/eval/cognition/measure.h"

#include <errno.h>

void grammar_deinit(Grammar *g) {
        buf_deinit(&g->form);
}

unsigned grammar_below(Grammar *g, unsigned n) {
        return (unsigned)(seed_next(&g->state) % n);
}

void grammar_let(Grammar *g, const char *name, const char *value) {
        assert(g->n_variables < GRAMMAR_VARIABLES);
        g->variables[g->n_variables++] = (GrammarVariable){name, value};
}

static void grammar_put(Grammar *g, Buf *out, const char *bytes, size_t n) {
        int r = buf_add(out, bytes, n);

        if (r < 0 && g->failed == 0)
                g->failed = r;
}

/* The end of a choice's alternative: the next | or ] of the same depth. */
static const char *grammar_alternative(const char *p) {
        for (unsigned depth = 0; *p && (depth > 0 || (*p != '|' && *p != ']')); p++)
                depth += *p == '[' ? 1U : *p == ']' ? -1U : 0U;
        return p;
}

static void grammar_expand(Grammar *g, const char *p, const char *end, Buf *out);

/* Returns the byte behind the choice. */
static const char *grammar_choose(Grammar *g, const char *p, Buf *out) {
        const char *from[32], *to[32];
        size_t n = 0, pick;

        for (p++;; p = to[n - 1] + 1) {
                assert(n < 32);
                from[n] = p;
                to[n] = grammar_alternative(p);
                assert(*to[n]);
                if (*to[n++] == ']')
                        break;
        }
        pick = grammar_below(g, (unsigned)n);
        grammar_expand(g, from[pick], to[pick], out);
        return to[n - 1] + 1;
}

static const char *grammar_variable(Grammar *g, const char *p, Buf *out) {
        size_t n = strcspn(p + 1, "}");

        for (size_t i = g->n_variables; i-- > 0;)
                if (strlen(g->variables[i].name) == n && strncmp(g->variables[i].name, p + 1, n) == 0) {
                        const char *value = g->variables[i].value;

                        grammar_expand(g, value, value + strlen(value), out);
                        return p + n + 2;
                }
        assert(!"a template with an unknown variable");
        return p + n + 2;
}

static const char *grammar_mark(Grammar *g, const char *p, Buf *out) {
        const char *end = strchr(p, '>');
        size_t from = out->n;

        grammar_expand(g, p + 1, end, out);
        if (g->form.n > 0)
                grammar_put(g, &g->form, " && ", 4);
        grammar_put(g, &g->form, out->data + from, out->n - from);
        return end + 1;
}

static void grammar_expand(Grammar *g, const char *p, const char *end, Buf *out) {
        while (p < end)
                switch (*p) {
                case '[':
                        p = grammar_choose(g, p, out);
                        break;
                case '{':
                        p = grammar_variable(g, p, out);
                        break;
                case '<':
                        p = grammar_mark(g, p, out);
                        break;
                case '#':
                        grammar_put(g, out, &"123456789"[grammar_below(g, 9)], 1);
                        p++;
                        break;
                default:
                        grammar_put(g, out, p++, 1);
                }
}

char *grammar_value(Grammar *g, const char *pattern) {
        _cleanup_buf_ Buf out = {0};

        g->form.n = 0;
        grammar_put(g, &g->form, "", 0);
        grammar_put(g, &out, "", 0);
        grammar_expand(g, pattern, pattern + strlen(pattern), &out);
        g->n_variables = 0;
        return g->failed < 0 ? NULL : strdup(out.data ?: "");
}

char *grammar_say(Grammar *g, const char *pattern) {
        char *text = grammar_value(g, pattern);

        if (text && *text >= 'a' && *text <= 'z')
                *text = (char)(*text - 0x20);
        return text;
}
