/* Runs: skill. Typed memory. */
#include "lethe.h"
#include "params.h"

#include <stdio.h>

static void text_if(Params *p, const char *key, const char *text) {
        if (text)
                params_text(p, key, text);
}

static void whole(Params *p, const char *key, unsigned long long v) {
        char text[24];

        params_key(p, key);
        params_add(p, text, (size_t)snprintf(text, sizeof(text), "%llu", v));
}

static int ask(Params *p, const char *method, const char *scope, const char **ret_answer) {
        Span result;
        int r;

        text_if(p, "scope", scope);
        r = params_call(p, method, &result);
        if (r == LETHE_OK)
                *ret_answer = result.p;
        return r;
}

int lethe_memory_save(Lethe *l, const LetheSave *s, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", s->kind);
        text_if(&p, "id", s->id);
        text_if(&p, "type", s->type);
        params_json(&p, "payload", s->payload);
        if (s->refs)
                params_json(&p, "refs", s->refs);
        if (s->expect >= 0)
                whole(&p, "expect", (unsigned long long)s->expect);
        return ask(&p, "memory.save", s->scope, ret_answer);
}

int lethe_memory_load(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", kind);
        params_text(&p, "id", id);
        return ask(&p, "memory.load", scope, ret_answer);
}

int lethe_memory_list(Lethe *l, const char *filter, const char *after, unsigned limit, const char *scope, const char **ret_answer) {
        Params p = {.l = l};

        text_if(&p, "filter", filter);
        text_if(&p, "after", after);
        if (limit)
                whole(&p, "limit", limit);
        return ask(&p, "memory.list", scope, ret_answer);
}

int lethe_memory_search(Lethe *l, const char *query, unsigned limit, const char *scope, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "query", query);
        if (limit)
                whole(&p, "limit", limit);
        return ask(&p, "memory.search", scope, ret_answer);
}

int lethe_memory_history(Lethe *l, const char *kind, const char *id, uint64_t after, unsigned limit, const char *scope, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", kind);
        params_text(&p, "id", id);
        if (after)
                whole(&p, "after", after);
        if (limit)
                whole(&p, "limit", limit);
        return ask(&p, "memory.history", scope, ret_answer);
}

int lethe_memory_delete(Lethe *l, const char *kind, const char *id, const char *reason, const char *scope, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", kind);
        params_text(&p, "id", id);
        text_if(&p, "reason", reason);
        return ask(&p, "memory.delete", scope, ret_answer);
}
