#include "invoke/advise.h"
#include "invoke/run.h"

#include "base/io.h"
#include "base/size.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { OURS = 125, ERROR_MAX = 64 * 1024 };

/* Standard input, output and error: files in memory. */
typedef struct Streams {
        int fd[3];
} Streams;

static void streams_deinit(Streams *s) {
        for (size_t i = 0; i < ARRAY_SIZE(s->fd); i++) {
                if (s->fd[i] >= 0)
                        io_wipe(s->fd[i]); /* a note's text must not stay in unused memory */
                closep(&s->fd[i]);
        }
}
#define _cleanup_streams_ _cleanup_(streams_deinit)

static int make_streams(const char *line, Streams *ret) {
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(ret->fd); i++)
                if ((ret->fd[i] = memfd_create("lethe-advise", MFD_CLOEXEC)) < 0)
                        return -errno;
        r = io_write_full(ret->fd[0], line, strlen(line)) ?: io_write_full(ret->fd[0], "\n", 1);
        if (r == 0 && lseek(ret->fd[0], 0, SEEK_SET) < 0)
                r = -errno;
        return r;
}

static int read_stream(int fd, size_t max, char **ret, size_t *ret_n) {
        return lseek(fd, 0, SEEK_SET) < 0 ? -errno : io_read_all(fd, max, ret, ret_n);
}

/* No write to a file, a slot, memory or notes, and no region below that could. */
static void advise_read_only(Grant *g) {
        for (size_t i = 0; i < g->n_files; i++)
                g->files[i].write = g->files[i].overlay = false;
        for (size_t i = 0; i < g->n_memory; i++)
                g->memory[i].may[MEMORY_WRITE] = g->memory[i].may[MEMORY_DELETE] = 0;
        strv_free(TAKE_PTR(g->writes));
        strv_free(TAKE_PTR(g->sub_skills));
        free(TAKE_PTR(g->notes));
}

static int advise_grant(const Advise *a, Grant *ret, Diag *reterr) {
        Refusal refusal = {0};
        SkillRequest ask = a->ask;

        ask.request.store_dir = store_dir(a->store); /* the copy of the skill lies there */
        if (!resolve_request(&ask, a->store, a->policy, true, ret, &refusal))
                return diag(reterr, BELIEF_E_ADVISOR_REFUSED, "%s", refusal.why.text);
        if (a->reads_only)
                advise_read_only(ret);
        return 0;
}

/* The smaller of the given limit and this file's. */
static void advise_bound(Grant *g) {
        uint64_t usec;

        if (duration_parse(ADVISE_TIMEOUT, &usec) == 0)
                g->budget.wall_usec = MIN(g->budget.wall_usec, usec);
        g->budget.output_bytes = MIN(g->budget.output_bytes, (uint64_t)CANON_LINE_MAX + ERROR_MAX);
}

/* The first line of the skill's standard error, for people. */
static void add_error(int fd, Diag *d) {
        _cleanup_free_ char *text = NULL;
        char quoted[400];
        size_t n;

        if (read_stream(fd, CANON_LINE_MAX + ERROR_MAX, &text, &n) < 0 || !text || n == 0)
                return;
        diag_show(text, strcspn(text, "\n"), quoted, sizeof(quoted));
        snprintf(d->text + strlen(d->text), sizeof(d->text) - strlen(d->text), ": %s", quoted);
}

static int one_line(int fd, char **ret, Diag *reterr) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = read_stream(fd, CANON_LINE_MAX + 1, &text, &n);

        if (r == -EFBIG || (r == 0 && n > CANON_LINE_MAX))
                return diag(reterr, BELIEF_E_ADVISOR_TOO_LONG, "the advisor's answer has more than %d bytes",
                            CANON_LINE_MAX);
        if (r < 0 || !text)
                return r < 0 ? r : -ENOMEM;
        if (n > 0 && text[n - 1] == '\n')
                text[--n] = 0;
        if (n == 0)
                return diag(reterr, BELIEF_E_ADVISOR_LINES, "the advisor answered nothing");
        if (memchr(text, 0, n))
                return diag(reterr, BELIEF_E_ADVISOR_LINES, "the advisor's answer holds a NUL byte");
        if (memchr(text, '\n', n))
                return diag(reterr, BELIEF_E_ADVISOR_LINES, "the advisor's answer is more than one line");
        *ret = TAKE_PTR(text);
        return 0;
}

static const char *advise_text_of(const json_t *receipt, const char *key) {
        return json_text(json_object_get(receipt, key)) ?: "";
}

/* The outcome of the invocation as 0, BELIEF_E_ADVISOR_* or -errno. */
static int advise_judge(const json_t *receipt, int code, const Streams *s, Diag *reterr) {
        const char *outcome = advise_text_of(receipt, "outcome"), *reason = advise_text_of(receipt, "reason");
        Diag d = {0};
        int r;

        if (strcmp(outcome, "cancelled") == 0 && json_is_integer(json_object_get(receipt, "signal")))
                return -ECANCELED;
        if (strcmp(outcome, "setup_failed") == 0 || !*outcome)
                return diag(reterr, BELIEF_E_ADVISOR_REFUSED, "the advisor cannot be run: %s",
                            *reason ? reason : "no reason is known");
        if (strcmp(outcome, "timed_out") == 0)
                return diag(reterr, BELIEF_E_ADVISOR_TIMEOUT, "the advisor did not answer in time: %s", reason);
        if (strcmp(outcome, "output_exceeded") == 0)
                return diag(reterr, BELIEF_E_ADVISOR_TOO_LONG, "the advisor's answer is too long: %s", reason);
        if (strcmp(outcome, "exited") == 0 && code == 0)
                return 0;
        if (strcmp(outcome, "exited") == 0 && json_integer_value(json_object_get(receipt, "exit_code")) != code &&
            code == OURS)
                return -EIO;
        r = strcmp(outcome, "exited") == 0
                    ? diag(&d, BELIEF_E_ADVISOR_EXIT, "the advisor ended with exit code %d", code)
                    : diag(&d, BELIEF_E_ADVISOR_EXIT, "the advisor ended %s: %s", outcome, reason);
        add_error(s->fd[2], &d);
        return diag(reterr, r, "%s", d.text);
}

/* The rows of belief in the question, for the region's record:
 * {"scope", "run", "note", "rows": [{"kind","id","version"}…]}. */
static int what_is_given(const Advise *a, const char *line, json_t **ret) {
        _cleanup_json_ json_t *said = NULL, *o = json_pack("{s:s, s:s, s:o, s:[]}", "scope", a->scope, "run", a->run,
                                                           "note", json_u64(a->note), "rows");
        json_t *rows = json_object_get(o, "rows"), *list, *row;
        const char *bucket;
        size_t i;
        int r = o ? json_parse(line, strlen(line), INTERPRET_LINE_MAX, JSON_DEPTH_DEFAULT, &said, NULL) : -ENOMEM;

        if (r != 0)
                return r > 0 ? -EUCLEAN : r;
        json_object_foreach(json_object_get(said, "context"), bucket, list)
                json_array_foreach(list, i, row)
                        if (json_array_append_new(rows, json_pack("{s:s, s:O*, s:O*}", "kind", bucket, "id",
                                                                  json_object_get(row, "id"), "version",
                                                                  json_object_get(row, "version"))) < 0)
                                return -ENOMEM;
        *ret = TAKE_PTR(o);
        return 0;
}

int advise_check(const Advise *a, Diag *reterr) {
        _cleanup_grant_ Grant grant = {};

        return advise_grant(a, &grant, reterr);
}

int advise_ask(void *userdata, const char *line, char **ret_line, Diag *reterr) {
        Advise *a = userdata;
        _cleanup_streams_ Streams s = {{-1, -1, -1}};
        _cleanup_json_ json_t *receipt = NULL, *given = NULL;
        _cleanup_grant_ Grant grant = {};
        RunOptions o = {.policy = a->policy,
                        .spawner = a->spawner,
                        .quiet = true,
                        .streams = s.fd,
                        .ret_receipt = &receipt,
                        .ordered = a->ordered,
                        .begun = a->begun,
                        .userdata = a->ordered_data,
                        .recover = a->recover};
        int r = advise_grant(a, &grant, reterr), code;

        if (r != 0)
                return r;
        advise_bound(&grant);
        r = a->run ? what_is_given(a, line, &given) : 0;
        o.given = given;
        if (r == 0)
                r = make_streams(line, &s);
        if (r < 0)
                return r;
        code = run_invocation(&o, a->store, store_dir(a->store), &grant, a->signals);
        a->recover = NULL;
        snprintf(a->region, sizeof(a->region), "%s", advise_text_of(receipt, "region"));
        if (a->ret_skill) {
                json_decref(*a->ret_skill);
                *a->ret_skill = json_incref(json_object_get(receipt, "skill"));
        }
        r = advise_judge(receipt, code, &s, reterr);
        return r == 0 ? one_line(s.fd[1], ret_line, reterr) : r;
}
