/* Runs: skill. Typed memory. */
#include "lethe.h"
#include "params.h"

static int memory_ask(Params *p, const char *method, const char *scope, const char **ret_answer) {
        params_text(p, "scope", scope);
        return params_ask(p, method, ret_answer);
}

int lethe_memory_save(Lethe *l, const LetheSave *s, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", s->kind);
        params_text(&p, "id", s->id);
        params_text(&p, "type", s->type);
        params_json(&p, "payload", s->payload);
        if (s->refs)
                params_json(&p, "refs", s->refs);
        params_whole(&p, "expect", s->expect);
        return memory_ask(&p, "memory.save", s->scope, ret_answer);
}

int lethe_memory_list(Lethe *l, const char *filter, const char *after, unsigned limit, const char *scope,
                      const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "filter", filter);
        params_text(&p, "after", after);
        params_whole(&p, "limit", limit ? (int64_t)limit : -1);
        return memory_ask(&p, "memory.list", scope, ret_answer);
}

int lethe_memory_search(Lethe *l, const char *query, unsigned limit, const char *scope, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "query", query);
        params_whole(&p, "limit", limit ? (int64_t)limit : -1);
        return memory_ask(&p, "memory.search", scope, ret_answer);
}

int lethe_memory_history(Lethe *l, const char *kind, const char *id, uint64_t after, unsigned limit, const char *scope,
                         const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", kind);
        params_text(&p, "id", id);
        params_whole(&p, "after", after > INT64_MAX ? INT64_MAX : after ? (int64_t)after : -1);
        params_whole(&p, "limit", limit ? (int64_t)limit : -1);
        return memory_ask(&p, "memory.history", scope, ret_answer);
}

static int memory_ask_of(Lethe *l, const char *method, const char *kind, const char *id, const char *scope,
                         const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", kind);
        params_text(&p, "id", id);
        return memory_ask(&p, method, scope, ret_answer);
}

int lethe_memory_load(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer) {
        return memory_ask_of(l, "memory.load", kind, id, scope, ret_answer);
}

int lethe_memory_load_past(Lethe *l, const char *kind, const char *id, const char *scope, uint64_t version,
                           const char *at, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", kind);
        params_text(&p, "id", id);
        params_whole(&p, "version", version ? (int64_t)version : -1);
        params_text(&p, "at", at);
        return memory_ask(&p, "memory.load", scope, ret_answer);
}

int lethe_memory_view(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer) {
        return memory_ask_of(l, "memory.view", kind, id, scope, ret_answer);
}

int lethe_memory_refs(Lethe *l, const char *kind, const char *id, const char *scope, const char **ret_answer) {
        return memory_ask_of(l, "memory.refs", kind, id, scope, ret_answer);
}

int lethe_memory_delete(Lethe *l, const char *kind, const char *id, const char *reason, const char *scope,
                        const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kind", kind);
        params_text(&p, "id", id);
        params_text(&p, "reason", reason);
        return memory_ask(&p, "memory.delete", scope, ret_answer);
}
