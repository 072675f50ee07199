/* Runs: lethe-serve. What a request says, and the doing of it, in a thread of its own. */
#include "serve/serve.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/ask.h"
#include "store/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#define FORM "{skill: string, or exec: string; args?, cwd?, options?, stdio?, stdin?, receipt?, verbose?, quiet?, promote?, store?, anchor?, policy?, traceparent?}"

static int bad(Diag *reterr, const char *field, const char *rule) {
        return diag(reterr, SERVE_E_INVALID_PARAMS, "%s: must be %s", field, rule);
}

static bool is_text(const json_t *v) {
        return json_is_string(v) && strlen(json_string_value(v)) == json_string_length(v);
}

static int check_args(const json_t *args, Diag *reterr) {
        if (args && !json_is_array(args))
                return bad(reterr, "args", "an array of strings without NUL");
        for (size_t i = 0; i < json_array_size(args); i++)
                if (!is_text(json_array_get(args, i)))
                        return bad(reterr, "args", "an array of strings without NUL");
        return 0;
}

static int check_options(const json_t *options, Diag *reterr) {
        if (options && !json_is_array(options))
                return bad(reterr, "options", "an array of [name, value]");
        for (size_t i = 0; i < json_array_size(options); i++) {
                const json_t *o = json_array_get(options, i), *value = json_array_get(o, 1);

                if (json_array_size(o) != 2 || !is_text(json_array_get(o, 0)) || !(is_text(value) || json_is_null(value)))
                        return bad(reterr, "options", "an array of [name, value], the value a string without NUL, or null for proc");
                if (strcmp(json_string_value(json_array_get(o, 0)), "env") == 0 && !(is_text(value) && strchr(json_string_value(value), '=')))
                        return bad(reterr, "options: env", "NAME=VALUE: a variable of the daemon is not passed on");
                if (json_is_null(value) != (strcmp(json_string_value(json_array_get(o, 0)), "proc") == 0))
                        return bad(reterr, "options", "an array of [name, value], the value a string without NUL, or null for proc");
        }
        return 0;
}

static int check_stdio(const json_t *names, Diag *reterr) {
        static const char rule[] = "an array of \"stdin\", \"stdout\", \"stderr\", each at most once";
        static const char *const known[] = {"stdin", "stdout", "stderr"};
        bool had[ARRAY_SIZE(known)] = {};

        if (names && !json_is_array(names))
                return bad(reterr, "stdio", rule);
        for (size_t i = 0; i < json_array_size(names); i++) {
                const char *name = json_string_value(json_array_get(names, i));
                size_t k = 0;

                while (k < ARRAY_SIZE(known) && (!name || strcmp(known[k], name) != 0))
                        k++;
                if (k == ARRAY_SIZE(known) || had[k])
                        return bad(reterr, "stdio", rule);
                had[k] = true;
        }
        return 0;
}

int job_check(Client *c, const json_t *params, Diag *reterr) {
        static const struct {
                const char *name;
                bool text, boolean;
        } known[] = {{"skill", true, false}, {"exec", true, false}, {"cwd", true, false},  {"store", true, false}, {"anchor", true, false},
                     {"policy", true, false}, {"traceparent", true, false}, {"stdin", false, false}, {"args", false, false}, {"options", false, false}, {"stdio", false, false},
                     {"receipt", false, true}, {"verbose", false, true}, {"quiet", false, true}, {"promote", false, true}};
        const char *key, *cwd = json_string_value(json_object_get(params, "cwd"));
        char shown[256];
        json_t *v;
        int e;

        json_object_foreach((json_t *)params, key, v) {
                size_t i = 0;

                while (i < ARRAY_SIZE(known) && strcmp(known[i].name, key) != 0)
                        i++;
                if (i == ARRAY_SIZE(known))
                        return diag(reterr, SERVE_E_INVALID_PARAMS, "\"%s\": no such parameter; they are %s", diag_quote(key, strlen(key), shown, sizeof(shown)), FORM);
                if (known[i].text && !is_text(v))
                        return bad(reterr, key, "a string without NUL");
                if (known[i].boolean && !json_is_boolean(v))
                        return bad(reterr, key, "true or false");
        }
        if (!json_object_get(params, "skill") == !json_object_get(params, "exec"))
                return bad(reterr, "skill, exec", "there, one of them and not both");
        if (cwd && *cwd != '/')
                return bad(reterr, "cwd", "an absolute path");
        if (json_object_get(params, "stdin") && !json_is_string(json_object_get(params, "stdin")))
                return bad(reterr, "stdin", "a string");
        e = check_args(json_object_get(params, "args"), reterr);
        if (e == 0)
                e = check_options(json_object_get(params, "options"), reterr);
        if (e == 0)
                e = check_stdio(json_object_get(params, "stdio"), reterr);
        for (size_t i = 0; e == 0 && i < json_array_size(json_object_get(params, "stdio")); i++)
                if (json_object_get(params, "stdin") && strcmp(json_string_value(json_array_get(json_object_get(params, "stdio"), i)), "stdin") == 0)
                        e = bad(reterr, "stdin", "left out when stdio passes it");
        return e;
}

/* Whoever is held up for so long by others goes on all the same: they may be waiting for a file system of somebody's that never answers. */
static void begin_start(Job *j) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        while (sem_timedwait(&j->server->starts, &until) < 0)
                if (errno != EINTR)
                        return;
        j->starting = true;
}

static void end_start(Job *j) {
        if (j->starting)
                sem_post(&j->server->starts);
        j->starting = false;
}

static void begun(void *userdata, const char *region) {
        Job *j = userdata;
        RegionId *more;

        end_start(j);
        pthread_mutex_lock(&j->lock);
        more = reallocarray(j->regions, j->n_regions + 1, sizeof(*more));
        if (more) { /* else `kill` does not find it by this one's id */
                j->regions = more;
                memcpy(more[j->n_regions++], region, REGION_ID_MAX);
        }
        pthread_mutex_unlock(&j->lock);
}

static bool ordered(void *userdata, struct signalfd_siginfo *ret) {
        Job *j = userdata;

        pthread_mutex_lock(&j->lock);
        *ret = j->order;
        j->order = (struct signalfd_siginfo){0};
        pthread_mutex_unlock(&j->lock);
        return ret->ssi_signo != 0;
}

static const char *param(const Job *j, const char *name) {
        return json_string_value(json_object_get(j->params, name));
}

static bool same_place(const char *a, const char *b) {
        struct stat x, y;

        return strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Who asks may have another store in mind, or another policy for it: then it has to do without us. */
static int check_same(Job *j) {
        const char *store = param(j, "store"), *anchor = param(j, "anchor"), *policy = param(j, "policy"), *own = store_anchor(j->server->store);
        const char *own_policy = j->policy->policy->path;
        char shown[256];

        if (store && !same_place(store, j->server->store_path))
                return diag(&j->why, SERVE_E_OTHER_STORE, "store \"%s\": this one serves %s", diag_quote(store, strlen(store), shown, sizeof(shown)), j->server->store_path);
        if (anchor && !same_place(anchor, own ?: ""))
                return diag(&j->why, SERVE_E_OTHER_STORE, "anchor \"%s\": this one has another", diag_quote(anchor, strlen(anchor), shown, sizeof(shown)));
        /* Another user's is not asked, but one that they have holds for what is theirs. */
        if (policy && !(!*policy && j->peer->foreign) && !(*policy ? own_policy && same_place(policy, own_policy) : !own_policy))
                return diag(&j->why, SERVE_E_OTHER_STORE, "policy \"%s\": this one goes by %s", diag_quote(policy, strlen(policy), shown, sizeof(shown)),
                            own_policy ?: "none");
        return 0;
}

/* What a client did not pass: a file of ours, in memory, whose bytes are in the request or come to be in the answer. */
static int make_streams(Job *j) {
        const json_t *in = json_object_get(j->params, "stdin");

        for (size_t i = 0; i < SERVE_STREAMS; i++) {
                if (j->streams[i] >= 0 || j->shared[i] || (i == 0 && json_string_length(in) == 0))
                        continue;
                j->captured[i] = i > 0;
                j->streams[i] = memfd_create("lethe-stream", MFD_CLOEXEC);
                if (j->streams[i] < 0)
                        return -errno;
        }
        if (json_string_length(in) == 0)
                return 0;
        if (io_write_full(j->streams[0], json_string_value(in), json_string_length(in)) < 0 || lseek(j->streams[0], 0, SEEK_SET) < 0)
                return -EIO;
        return 0;
}

static int add_captured(Job *j, size_t stream, json_t *o) {
        static const char *const names[] = {"stdin", "stdout", "stderr"}, *const cuts[] = {"", "stdout_cut", "stderr_cut"};
        _cleanup_buf_ Buf text = {.max = 4 * SERVE_CAPTURE_MAX};
        struct stat st;
        size_t n;
        int e = 0;

        if (fstat(j->streams[stream], &st) < 0)
                return -errno;
        n = MIN((size_t)st.st_size, (size_t)SERVE_CAPTURE_MAX);
        if (n > 0) {
                char *p = mmap(NULL, n, PROT_READ, MAP_SHARED, j->streams[stream], 0);

                if (p == MAP_FAILED)
                        return -errno;
                e = buf_add_plain(&text, p, n);
                munmap(p, n);
        }
        if (e == 0 && json_object_set_new(o, names[stream], json_stringn(text.n ? text.data : "", text.n)) < 0)
                e = -ENOMEM;
        if (e == 0 && (size_t)st.st_size > n && json_object_set_new(o, cuts[stream], json_true()) < 0)
                e = -ENOMEM;
        return e;
}

static char **make_args(const json_t *list) {
        char **args = calloc(json_array_size(list) + 1, sizeof(*args));

        for (size_t i = 0; args && i < json_array_size(list); i++)
                args[i] = (char *)json_string_value(json_array_get(list, i)); /* borrowed */
        return args;
}

static bool fill(const Job *j, Ask *a, Refusal *r) {
        const json_t *options = json_object_get(j->params, "options");
        int e = 0;

        for (size_t i = 0; e == 0 && i < json_array_size(options); i++) {
                const json_t *o = json_array_get(options, i);

                e = request_option(&a->request, json_string_value(json_array_get(o, 0)), json_string_value(json_array_get(o, 1)), &r->why);
        }
        a->skill = param(j, "skill");
        if (e == 0 && a->skill && !*a->skill)
                e = diag(&r->why, REQUEST_E_BAD, "SKILL is empty");
        if (e == 0 && !a->skill)
                e = request_exec(&a->request, param(j, "exec"), &r->why);
        if (e != 0)
                ask_request_failed(e, r);
        return e == 0;
}

static json_t *tell_refusal(const Refusal *r) {
        return json_pack("{s:s, s:b, s:b}", "message", r->why.text, "usage", r->usage, "by_policy", r->by_policy);
}

/* Returns the exit code. */
static int invoke(Job *j, const RunOptions *o, Ask *a, json_t **ret_refusal) {
        const Policy *policy = j->policy->policy;
        _cleanup_grant_ Grant grant = {};
        Refusal refusal = {};

        if (fill(j, a, &refusal) && ask_grant(a, j->server->store, policy, o->quiet, &grant, &refusal)) {
                int code;

                begin_start(j);
                code = run_invocation(o, j->server->store, store_dir(j->server->store), &grant, j->cancel);
                end_start(j);
                return code;
        }
        *ret_refusal = tell_refusal(&refusal);
        return run_refused(o, a->skill ?: param(j, "exec"), NULL, refusal.by_policy, refusal.code, refusal.why.text);
}

static void make_answer(Job *j, int code, json_t *refusal) {
        j->result = json_pack("{s:i, s:o*, s:s?, s:o*}", "exit_code", code, "refusal", refusal, "region", j->n_regions > 0 ? j->regions[0] : NULL, "receipt",
                              TAKE_PTR(j->receipt));
        for (size_t i = 1; j->result && i < SERVE_STREAMS; i++)
                if (j->captured[i] && add_captured(j, i, j->result) < 0) {
                        json_decref(j->result);
                        j->result = NULL;
                }
        for (size_t i = 0; i < SERVE_STREAMS; i++)
                if (j->captured[i] || (i == 0 && param(j, "stdin"))) /* not to stay in memory that nobody uses */
                        io_wipe(j->streams[i]);
}

/* The front sends it while this thread clears away what is left. */
static void answer_now(void *userdata, int code) {
        Job *j = userdata;
        Server *s = j->server;

        log_to(0, LOG_LEVEL_NOTE); /* its standard error is not ours any more */
        make_answer(j, code, NULL);
        if (!j->result) { /* and no second try: what was captured is gone */
                j->error = diag(&j->why, SERVE_E_INTERNAL, "%s", strerror(ENOMEM));
                return;
        }
        j->answered = true;
        pthread_mutex_lock(&s->lock);
        j->next_answered = s->answered;
        s->answered = j;
        pthread_mutex_unlock(&s->lock);
        eventfd_write(s->done_fd, 1);
}

static void run(Job *j) {
        const json_t *wanted = json_object_get(j->params, "receipt");
        json_t *refusal = NULL;
        RunOptions o = {
                .policy = j->policy->policy,
                .spawner = j->server->spawner,
                .pool = j->server->pool,
                .groups = j->server->groups,
                .verbose = json_is_true(json_object_get(j->params, "verbose")),
                .quiet = json_is_true(json_object_get(j->params, "quiet")),
                .promote = json_is_true(json_object_get(j->params, "promote")),
                .streams = j->streams,
                .ret_receipt = json_is_false(wanted) ? NULL : &j->receipt,
                .recovered = true,
                .begun = begun,
                .over = answer_now,
                .ordered = ordered,
                .userdata = j,
        };
        _cleanup_free_ char **args = make_args(json_object_get(j->params, "args"));
        Ask a = {.request = {.args = args, .store_dir = store_dir(j->server->store), .client = j->peer->foreign ? j->peer->uid : 0},
                 .registered = j->peer->foreign, .kept = j->server->skills};
        const char *traceparent = param(j, "traceparent");
        int code, e = args ? 0 : -ENOMEM;

        log_to(j->streams[2], o.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_NOTE);
        if (e == 0 && traceparent)
                e = trace_take_in(traceparent, &a.request.trace) == -EIO ? -EIO : 0;
        code = e == 0 ? invoke(j, &o, &a, &refusal) : 125;
        log_to(0, LOG_LEVEL_NOTE);
        request_deinit(&a.request);
        if (!j->answered && !j->error)
                make_answer(j, code, refusal);
}

void job_run(Job *j, int no_folder) {
        const char *cwd = j->peer->foreign ? "/" : param(j, "cwd") ?: "/";
        char shown[256];
        int e;

        if (no_folder > 0)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "unshare: %s", strerror(no_folder));
        else if (strcmp(cwd, "/") != 0 && chdir(cwd) < 0)
                j->error = diag(&j->why, SERVE_E_INVALID_PARAMS, "cwd \"%s\": %s", diag_quote(cwd, strlen(cwd), shown, sizeof(shown)), strerror(errno));
        else if ((e = check_same(j)) != 0)
                j->error = e;
        else if ((e = make_streams(j)) < 0)
                j->error = diag(&j->why, SERVE_E_BUSY, "its streams cannot be made: %s", strerror(-e));
        else
                run(j);
        if (strcmp(cwd, "/") != 0 && chdir("/") < 0 && !j->error)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "/: %s", strerror(errno));
        if (!j->error && !j->answered && !j->result)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "%s", strerror(ENOMEM));
}
