/* Runs: skill. The calls: each call builds its params and takes its result apart. */
#include "lethe.h"

#include "params.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* The descriptor that the environment variable names, when the number is small and the descriptor is open in the
 * right direction; else -1. */
static int lethe_fd_of(const char *variable, int not_allowed) {
        const char *s = getenv(variable);
        char *end;
        long fd;
        int flags;

        if (!s || *s < '0' || *s > '9')
                return -1;
        fd = strtol(s, &end, 10);
        if (*end || fd > 1 << 20)
                return -1;
        flags = fcntl((int)fd, F_GETFL);
        return flags < 0 || (flags & O_ACCMODE) == not_allowed ? -1 : (int)fd;
}

int lethe_open(Lethe **ret) {
        Lethe *l = calloc(1, sizeof(*l));

        if (!l)
                return LETHE_MEMORY;
        *ret = l;
        l->in = lethe_fd_of("LETHE_IN", O_WRONLY);
        l->out = lethe_fd_of("LETHE_OUT", O_RDONLY);
        if (l->in >= 0 && l->out >= 0)
                return LETHE_OK;
        l->out = -1;
        return pipe_fail(l, LETHE_NO_PIPE, "no_pipe", "%s",
                         getenv("LETHE_IN") && getenv("LETHE_OUT")
                                 ? "LETHE_IN and LETHE_OUT do not name an open pipe"
                                 : "LETHE_IN and LETHE_OUT are not set: the program does not run in a region of Lethe");
}

void lethe_close(Lethe *l) {
        if (!l)
                return;
        if (l->identity.p)
                explicit_bzero(l->identity.p, l->identity.n);
        free(l->identity.p);
        free(l->request.p);
        free(l->answer.p);
        free(l);
}

const char *lethe_code(const Lethe *l) {
        return l->code;
}

const char *lethe_message(const Lethe *l) {
        return l->message;
}

int lethe_hello(Lethe *l, const char **ret_answer) {
        Span result;
        int r;

        r = pipe_call(l, "hello", "{\"protocol\":1}", &result);
        if (r != LETHE_OK)
                return r;
        if (pipe_keep_identity(l, result) != LETHE_OK)
                return pipe_fail(l, LETHE_MEMORY, "memory", "out of memory");
        l->greeted = true;
        *ret_answer = result.p;
        return LETHE_OK;
}

int lethe_slot_read(Lethe *l, const char *name, const char **ret_value, uint64_t *ret_version) {
        Params p = {.l = l};
        Span result;
        int r;

        params_text(&p, "name", name);
        r = params_call(&p, "slot.read", &result);
        if (r == LETHE_OK)
                r = answer_version(l, result, ret_version);
        return r == LETHE_OK ? answer_text(l, result, "value", ret_value) : r;
}

int lethe_slot_write(Lethe *l, const char *name, const char *value, int64_t expect, uint64_t *ret_version) {
        return lethe_slot_propose(l, name, value, expect, -1, ret_version);
}

int lethe_slot_propose(Lethe *l, const char *name, const char *value, int64_t expect, double confidence,
                       uint64_t *ret_version) {
        Params p = {.l = l};
        Span result;
        int r;

        params_text(&p, "name", name);
        params_json(&p, "value", value);
        params_whole(&p, "expect", expect);
        if (!(confidence < 0))
                params_number(&p, "confidence", confidence);
        r = params_call(&p, "slot.write", &result);
        return r == LETHE_OK ? answer_version(l, result, ret_version) : r;
}

int lethe_slot_list(Lethe *l, const char **ret_slots) {
        Span result;
        int r = pipe_call(l, "slot.list", NULL, &result);

        return r == LETHE_OK ? answer_text(l, result, "slots", ret_slots) : r;
}

int lethe_note_add(Lethe *l, const char *text, const char *role, uint64_t *ret_note) {
        Params p = {.l = l};
        Span result, note;
        int r;

        params_text(&p, "text", text);
        params_text(&p, "role", role);
        r = params_call(&p, "note.add", &result);
        if (r == LETHE_OK)
                r = answer_member(l, result, "note", &note);
        if (r == LETHE_OK && ret_note)
                *ret_note = strtoull(note.p, NULL, 10);
        return r;
}

int lethe_canon_read(Lethe *l, const char *bucket, const char *id, const char *state, const char *after, unsigned limit,
                     const char **ret_answer) {
        return lethe_canon_read_past(l, bucket, id, state, after, limit, NULL, ret_answer);
}

int lethe_canon_read_past(Lethe *l, const char *bucket, const char *id, const char *state, const char *after,
                          unsigned limit, const char *at, const char **ret_answer) {
        static const char *const keys[] = {"bucket", "id", "state", "after"};
        const char *const said[] = {bucket, id, state, after};
        Params p = {.l = l};

        for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++)
                params_text(&p, keys[i], said[i]);
        if (limit)
                params_number(&p, "limit", limit);
        params_text(&p, "at", at);
        return params_ask(&p, "canon.read", ret_answer);
}

int lethe_log(Lethe *l, const char *level, const char *message) {
        Params p = {.l = l};

        params_text(&p, "level", level);
        params_text(&p, "message", message);
        return params_call(&p, "log", NULL);
}

int lethe_progress(Lethe *l, double done, double total, const char *message) {
        Params p = {.l = l};

        params_number(&p, "done", done);
        if (total >= 0)
                params_number(&p, "total", total);
        params_text(&p, "message", message);
        return params_call(&p, "progress", NULL);
}

int lethe_skill_run(Lethe *l, const char *skill, const char *entry, const char *const *args, const char *input,
                    const char **ret_answer) {
        Params p = {.l = l};

        params_text(&p, "skill", skill);
        if (args && *args) {
                params_key(&p, "args");
                for (size_t i = 0; args[i]; i++) {
                        params_add(&p, i ? "," : "[", 1);
                        params_quoted(&p, "args", args[i]);
                }
                params_add(&p, "]", 1);
        }
        params_text(&p, "entry", entry);
        params_text(&p, "input", input);
        return params_ask(&p, "skill.run", ret_answer);
}

int lethe_result(Lethe *l, const char *value) {
        Params p = {.l = l};

        params_json(&p, "value", value);
        return params_call(&p, "result", NULL);
}
