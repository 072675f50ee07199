/* Runs: skill. Reads of an agent that wants to act: context, kernels, notes of the run and their fate. */
#include "lethe.h"
#include "params.h"

static int own_limit(Params *p, unsigned limit, const char *method, const char **ret_answer) {
        params_whole(p, "limit", limit ? (int64_t)limit : -1);
        return params_ask(p, method, ret_answer);
}

int lethe_context_read(Lethe *l, const LetheContext *ask, const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "scope", ask ? ask->scope : NULL);
        params_text(&p, "query", ask ? ask->query : NULL);
        params_whole(&p, "lane", ask && ask->lane ? (int64_t)ask->lane : -1);
        params_whole(&p, "bytes", ask && ask->bytes ? (int64_t)ask->bytes : -1);
        params_text(&p, "at", ask ? ask->at : NULL);
        return params_ask(&p, "context.read", ret_answer);
}

int lethe_kernel_read(Lethe *l, const char *kernel, const char *section, const char *after, unsigned limit,
                      const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "kernel", kernel);
        params_text(&p, "section", section);
        params_text(&p, "after", after);
        return own_limit(&p, limit, "kernel.read", ret_answer);
}

static int own_list(Lethe *l, const char *method, uint64_t after, unsigned limit, const char **ret_answer) {
        Params p = {.l = l};

        params_whole(&p, "after", after > INT64_MAX ? INT64_MAX : after ? (int64_t)after : -1);
        return own_limit(&p, limit, method, ret_answer);
}

int lethe_note_list(Lethe *l, uint64_t after, unsigned limit, const char **ret_answer) {
        return own_list(l, "note.list", after, limit, ret_answer);
}

int lethe_pending_list(Lethe *l, uint64_t after, unsigned limit, const char **ret_answer) {
        return own_list(l, "pending.list", after, limit, ret_answer);
}
