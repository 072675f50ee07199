/* Runs: skill. */
#include "params.h"

#include "lethe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void params_add(Params *p, const char *bytes, size_t n) {
        if (p->r == LETHE_OK && text_add(&p->t, bytes, n) != LETHE_OK)
                p->r = pipe_fail(p->l, LETHE_MEMORY, "memory", "out of memory");
}

void params_key(Params *p, const char *key) {
        params_add(p, p->t.n ? "," : "{", 1);
        params_add(p, "\"", 1);
        params_add(p, key, strlen(key));
        params_add(p, "\":", 2);
}

void params_quoted(Params *p, const char *key, const char *text) {
        size_t n = strlen(text);
        ptrdiff_t len;
        char *quoted;

        if (p->r != LETHE_OK)
                return;
        len = lethe_json_quote(text, n, NULL, 0);
        if (len < 0) {
                p->r = pipe_fail(p->l, LETHE_BAD_ARGUMENT, "bad_utf8", "%s is not UTF-8", key);
                return;
        }
        quoted = malloc((size_t)len + 1);
        if (!quoted) {
                p->r = pipe_fail(p->l, LETHE_MEMORY, "memory", "out of memory");
                return;
        }
        lethe_json_quote(text, n, quoted, (size_t)len + 1);
        params_add(p, quoted, (size_t)len);
        free(quoted);
}

void params_text(Params *p, const char *key, const char *text) {
        if (!text)
                return;
        params_key(p, key);
        params_quoted(p, key, text);
}

void params_whole(Params *p, const char *key, int64_t v) {
        char text[24];

        if (v < 0)
                return;
        params_key(p, key);
        params_add(p, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)v));
}

void params_json(Params *p, const char *key, const char *value) {
        size_t n = strlen(value), len;
        char *compact;

        if (p->r != LETHE_OK)
                return;
        if (!json_utf8_valid(value, n)) {
                p->r = pipe_fail(p->l, LETHE_BAD_ARGUMENT, "bad_utf8", "%s is not UTF-8", key);
                return;
        }
        if (!json_valid(value, n)) {
                p->r = pipe_fail(p->l, LETHE_BAD_ARGUMENT, "parse", "%s is not JSON", key);
                return;
        }
        params_key(p, key);
        compact = malloc(n + 1);
        if (!compact) {
                p->r = pipe_fail(p->l, LETHE_MEMORY, "memory", "out of memory");
                return;
        }
        len = json_compact(value, n, compact);
        params_add(p, compact, len);
        free(compact);
}

void params_number(Params *p, const char *key, double v) {
        char text[40];

        params_key(p, key);
        params_add(p, text, (size_t)snprintf(text, sizeof(text), "%.15g", v));
}

int params_call(Params *p, const char *method, Span *ret) {
        Span ignored;

        if (p->t.n > 0)
                params_add(p, "}", 1);
        if (p->r == LETHE_OK)
                p->r = pipe_call(p->l, method, p->t.p, ret ? ret : &ignored);
        free(p->t.p);
        return p->r;
}

int params_ask(Params *p, const char *method, const char **ret_answer) {
        Span result;
        int r = params_call(p, method, &result);

        if (r == LETHE_OK)
                *ret_answer = result.p;
        return r;
}

int answer_member(Lethe *l, Span result, const char *key, Span *ret) {
        *ret = json_member(result, key);
        return ret->p ? LETHE_OK : pipe_fail(l, LETHE_PROTOCOL, "protocol", "an answer without %s", key);
}

int answer_text(Lethe *l, Span result, const char *key, const char **ret) {
        Span value;
        int r = answer_member(l, result, key, &value);

        if (r == LETHE_OK) {
                ((char *)value.p)[value.n] = 0;
                *ret = value.p;
        }
        return r;
}

int answer_version(Lethe *l, Span result, uint64_t *ret) {
        return answer_number(l, result, "version", ret);
}

int answer_number(Lethe *l, Span result, const char *key, uint64_t *ret) {
        Span v;
        int r = answer_member(l, result, key, &v);

        if (r == LETHE_OK && ret)
                *ret = strtoull(v.p, NULL, 10);
        return r;
}
