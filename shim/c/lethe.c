/* Runs: skill. The calls: each builds its params and takes its result apart. */
#include "lethe.h"

#include "pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The descriptor that the environment names, when it is a small number and open the right way; else -1. */
static int fd_of(const char *variable, int not_allowed) {
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
        l->in = fd_of("LETHE_IN", O_WRONLY);
        l->out = fd_of("LETHE_OUT", O_RDONLY);
        if (l->in >= 0 && l->out >= 0)
                return LETHE_OK;
        l->out = -1;
        return pipe_fail(l, LETHE_NO_PIPE, "no_pipe", "%s",
                         getenv("LETHE_IN") && getenv("LETHE_OUT") ? "LETHE_IN and LETHE_OUT do not name an open pipe"
                                                                   : "LETHE_IN and LETHE_OUT are not set: this program does not run in a region of Lethe");
}

void lethe_close(Lethe *l) {
        if (!l)
                return;
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

/* Params under construction: text, then what went wrong first. */
typedef struct Params {
        Lethe *l;
        Text t;
        int r;
} Params;

static void add(Params *p, const char *bytes, size_t n) {
        if (p->r == LETHE_OK && text_add(&p->t, bytes, n) != LETHE_OK)
                p->r = pipe_fail(p->l, LETHE_MEMORY, "memory", "out of memory");
}

static void add_key(Params *p, const char *key) {
        add(p, p->t.n ? "," : "{", 1);
        add(p, "\"", 1);
        add(p, key, strlen(key));
        add(p, "\":", 2);
}

static void add_quoted(Params *p, const char *key, const char *text) {
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
        add(p, quoted, (size_t)len);
        free(quoted);
}

static void add_text(Params *p, const char *key, const char *text) {
        add_key(p, key);
        add_quoted(p, key, text);
}

static void add_json(Params *p, const char *key, const char *value) {
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
        add_key(p, key);
        compact = malloc(n + 1);
        if (!compact) {
                p->r = pipe_fail(p->l, LETHE_MEMORY, "memory", "out of memory");
                return;
        }
        len = json_compact(value, n, compact);
        add(p, compact, len);
        free(compact);
}

static void add_number(Params *p, const char *key, double v) {
        char text[40];

        add_key(p, key);
        add(p, text, (size_t)snprintf(text, sizeof(text), "%.15g", v));
}

static int call(Params *p, const char *method, Span *ret) {
        Span ignored;

        if (p->t.n > 0)
                add(p, "}", 1);
        if (p->r == LETHE_OK)
                p->r = pipe_call(p->l, method, p->t.p, ret ? ret : &ignored);
        free(p->t.p);
        return p->r;
}

/* A member of a result that must be there. */
static int take(Lethe *l, Span result, const char *key, Span *ret) {
        *ret = json_member(result, key);
        return ret->p ? LETHE_OK : pipe_fail(l, LETHE_PROTOCOL, "protocol", "an answer without %s", key);
}

static int take_version(Lethe *l, Span result, uint64_t *ret) {
        Span v;
        int r = take(l, result, "version", &v);

        if (r == LETHE_OK && ret)
                *ret = strtoull(v.p, NULL, 10);
        return r;
}

int lethe_hello(Lethe *l, const char **ret_answer) {
        Span result;
        int r;

        r = pipe_call(l, "hello", "{\"protocol\":1}", &result);
        if (r != LETHE_OK)
                return r;
        l->greeted = true;
        *ret_answer = result.p;
        return LETHE_OK;
}

int lethe_slot_read(Lethe *l, const char *name, const char **ret_value, uint64_t *ret_version) {
        Params p = {.l = l};
        Span result, value;
        int r;

        add_text(&p, "name", name);
        r = call(&p, "slot.read", &result);
        if (r == LETHE_OK)
                r = take_version(l, result, ret_version);
        if (r == LETHE_OK)
                r = take(l, result, "value", &value);
        if (r != LETHE_OK)
                return r;
        ((char *)value.p)[value.n] = 0;
        *ret_value = value.p;
        return LETHE_OK;
}

int lethe_slot_write(Lethe *l, const char *name, const char *value, int64_t expect, uint64_t *ret_version) {
        Params p = {.l = l};
        char text[24];
        Span result;
        int r;

        add_text(&p, "name", name);
        add_json(&p, "value", value);
        if (expect >= 0) {
                add_key(&p, "expect");
                add(&p, text, (size_t)snprintf(text, sizeof(text), "%lld", (long long)expect));
        }
        r = call(&p, "slot.write", &result);
        return r == LETHE_OK ? take_version(l, result, ret_version) : r;
}

int lethe_slot_list(Lethe *l, const char **ret_slots) {
        Span result, slots;
        int r = pipe_call(l, "slot.list", NULL, &result);

        if (r == LETHE_OK)
                r = take(l, result, "slots", &slots);
        if (r != LETHE_OK)
                return r;
        ((char *)slots.p)[slots.n] = 0;
        *ret_slots = slots.p;
        return LETHE_OK;
}

int lethe_log(Lethe *l, const char *level, const char *message) {
        Params p = {.l = l};

        add_text(&p, "level", level);
        add_text(&p, "message", message);
        return call(&p, "log", NULL);
}

int lethe_progress(Lethe *l, double done, double total, const char *message) {
        Params p = {.l = l};

        add_number(&p, "done", done);
        if (total >= 0)
                add_number(&p, "total", total);
        if (message)
                add_text(&p, "message", message);
        return call(&p, "progress", NULL);
}

int lethe_skill_run(Lethe *l, const char *skill, const char *entry, const char *const *args, const char *input, const char **ret_answer) {
        Params p = {.l = l};
        Span result;
        int r;

        add_text(&p, "skill", skill);
        if (args && *args) {
                add_key(&p, "args");
                for (size_t i = 0; args[i]; i++) {
                        add(&p, i ? "," : "[", 1);
                        add_quoted(&p, "args", args[i]);
                }
                add(&p, "]", 1);
        }
        if (entry)
                add_text(&p, "entry", entry);
        if (input)
                add_text(&p, "input", input);
        r = call(&p, "skill.run", &result);
        if (r == LETHE_OK)
                *ret_answer = result.p;
        return r;
}

int lethe_result(Lethe *l, const char *value) {
        Params p = {.l = l};

        add_json(&p, "value", value);
        return call(&p, "result", NULL);
}
