/* Runs: lethe-serve. Checks a request, and carries the request out in a thread of its own. */
#include "serve/serve.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/path-lookup.h"
#include "perform/perform.h"
#include "request/resolve-request.h"
#include "store/hooks.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* The parameters of each method, for messages. */
static const char *const job_run_forms[] = {
        [JOB_RUN] = ("{skill: string, or exec: string, or session: string; key?, args?, cwd?, options?, stdio?, stdin?, stream?, "
                     "receipt?, verbose?, quiet?, promote?, detach?, interactive?, remove?, store?, names_store?, anchor?, policy?, traceparent?, progress?}"),
        [JOB_SESSION_OPEN] = "{skill: string, cwd?: string, options?: array, store?: string, anchor?: string, policy?: string}",
        [JOB_SESSION_CARRY] = "{session: string, section: string, value?: any, key?: string, store?: string}",
        [JOB_SESSION_CLOSE] = "{session: string, erase?: boolean, key?: string, store?: string}",
};

static int job_run_bad(Diag *reterr, const char *field, const char *rule) {
        return diag(reterr, SERVE_E_INVALID_PARAMS, "%s: must be %s", field, rule);
}

static int job_run_check_args(const json_t *args, Diag *reterr) {
        if (args && !json_is_array(args))
                return job_run_bad(reterr, "args", "an array of strings without NUL");
        for (size_t i = 0; i < json_array_size(args); i++)
                if (!json_text(json_array_get(args, i)))
                        return job_run_bad(reterr, "args", "an array of strings without NUL");
        return 0;
}

static int job_run_check_options(const json_t *options, Diag *reterr) {
        static const char rule[] = "an array of [name, value], the value a string without NUL, or null for proc, terminals and tty";

        if (options && !json_is_array(options))
                return job_run_bad(reterr, "options", "an array of [name, value]");
        for (size_t i = 0; i < json_array_size(options); i++) {
                const json_t *o = json_array_get(options, i), *value = json_array_get(o, 1);
                const bool flag = request_option_is_flag(json_text(json_array_get(o, 0)) ?: "");

                if (json_array_size(o) != 2 || !json_text(json_array_get(o, 0)) ||
                    !(json_text(value) || json_is_null(value)))
                        return job_run_bad(reterr, "options", rule);
                if (json_text_is(json_array_get(o, 0), "env") && !(json_text(value) && strchr(json_text(value), '=')))
                        return job_run_bad(reterr, "options: env",
                                           "NAME=VALUE: a variable of the daemon is not passed on");
                if (json_is_null(value) != flag)
                        return job_run_bad(reterr, "options", rule);
        }
        return 0;
}

/* had: streams named before by "stdio", "stream" and "stdin". */
static int job_run_check_streams(const char *field, const json_t *names, bool had[static SERVE_STREAMS], Diag *reterr) {
        static const char rule[] =
                "an array of \"stdin\", \"stdout\", \"stderr\", each at most once, and each in one of stdio, stream and stdin";

        if (names && !json_is_array(names))
                return job_run_bad(reterr, field, rule);
        for (size_t i = 0; i < json_array_size(names); i++) {
                const size_t k = stream_number(json_array_get(names, i));

                if (k == SERVE_STREAMS || had[k])
                        return job_run_bad(reterr, field, rule);
                had[k] = true;
        }
        return 0;
}

int job_check(JobOp op, const json_t *params, Diag *reterr) {
        enum { RUN = 1 << JOB_RUN, OPEN = 1 << JOB_SESSION_OPEN, CARRY = 1 << JOB_SESSION_CARRY, CLOSE = 1 << JOB_SESSION_CLOSE };
        static const struct {
                const char *name;
                unsigned of; /* methods */
                bool text, boolean;
        } known[] = {{"skill", RUN | OPEN, true, false},  {"exec", RUN, true, false},
                     {"cwd", RUN | OPEN, true, false},    {"store", RUN | OPEN | CARRY | CLOSE, true, false},
                     {"anchor", RUN | OPEN, true, false}, {"policy", RUN | OPEN, true, false},
                     {"traceparent", RUN, true, false},   {"stdin", RUN, false, false},
                     {"args", RUN, false, false},         {"options", RUN | OPEN, false, false},
                     {"stdio", RUN, false, false},        {"stream", RUN, false, false},
                     {"receipt", RUN, false, true},       {"verbose", RUN, false, true},
                     {"quiet", RUN, false, true},         {"promote", RUN, false, true},
                     {"detach", RUN, false, true},        {"interactive", RUN, false, true},
                     {"remove", RUN, false, true},        {"names_store", RUN, false, true}, {"progress", RUN, false, true},
                       {"session", RUN | CARRY | CLOSE, true, false},
                     {"key", RUN | CARRY | CLOSE, true, false}, {"section", CARRY, true, false},
                     {"value", CARRY, false, false},      {"erase", CLOSE, false, true}};
        const char *key, *cwd = json_text(json_object_get(params, "cwd"));
        bool had[SERVE_STREAMS] = {json_object_get(params, "stdin")};
        json_t *v;

        json_object_foreach((json_t *)params, key, v) {
                size_t i = 0;

                while (i < ARRAY_SIZE(known) && strcmp(known[i].name, key) != 0)
                        i++;
                if (i == ARRAY_SIZE(known) || !(known[i].of & 1U << op))
                        return diag(reterr, SERVE_E_INVALID_PARAMS, "\"%s\": no such parameter; they are %s",
                                    DIAG_QUOTED(key), job_run_forms[op]);
                if (known[i].text && !json_text(v))
                        return job_run_bad(reterr, key, "a string without NUL");
                if (known[i].boolean && !json_is_boolean(v))
                        return job_run_bad(reterr, key, "true or false");
        }
        if (op != JOB_RUN && (!json_object_get(params, op == JOB_SESSION_OPEN ? "skill" : "session") ||
                              (op == JOB_SESSION_CARRY && !json_object_get(params, "section"))))
                return diag(reterr, SERVE_E_INVALID_PARAMS, "must be %s", job_run_forms[op]);
        if ((json_object_get(params, "skill") != NULL) + (json_object_get(params, "exec") != NULL) +
                    (json_object_get(params, "session") != NULL) != 1)
                return job_run_bad(reterr, "skill, exec, session", "given, exactly one of the three");
        if (cwd && *cwd != '/')
                return job_run_bad(reterr, "cwd", "an absolute path");
        if (json_is_true(json_object_get(params, "detach"))) {
                static const char *const others[] = {"stdio", "stream", "stdin", "session"};

                for (size_t i = 0; i < ARRAY_SIZE(others); i++)
                        if (json_object_get(params, others[i]))
                                return job_run_bad(reterr, others[i], "left out with detach");
        }
        if (json_object_get(params, "stdin") && !json_is_string(json_object_get(params, "stdin")))
                return job_run_bad(reterr, "stdin", "a string");
        return job_run_check_args(json_object_get(params, "args"), reterr)
                        ?: job_run_check_options(json_object_get(params, "options"), reterr)
                        ?: job_run_check_streams("stdio", json_object_get(params, "stdio"), had, reterr)
                        ?: job_run_check_streams("stream", json_object_get(params, "stream"), had, reterr);
}

/* A job delayed for this long starts anyway: the jobs before may be waiting for a server that never answers. */
static void job_run_begin_start(Job *j) {
        struct timespec until;

        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        while (sem_timedwait(&j->server->starts, &until) < 0)
                if (errno != EINTR)
                        return;
        j->starting = true;
}

static void job_run_end_start(Job *j) {
        if (j->starting)
                sem_post(&j->server->starts);
        j->starting = false;
}

static void job_run_begun(void *userdata, const char *region) {
        Job *j = userdata;

        job_run_end_start(j);
        job_judging(j, false);
        pthread_mutex_lock(&j->lock);
        if (GROW(j->regions, j->n_regions)) /* otherwise `kill` does not find the job by this region's id */
                memcpy(j->regions[j->n_regions++], region, REGION_ID_MAX);
        pthread_mutex_unlock(&j->lock);
        if (j->detached && j->n_regions == 1)
                detach_begun(j, region);
}

static bool job_run_ordered(void *userdata, struct signalfd_siginfo *ret) {
        Job *j = userdata;
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&j->lock);

        *ret = j->order;
        j->order = (struct signalfd_siginfo){0};
        return ret->ssi_signo != 0;
}

static const char *job_run_param(const Job *j, const char *name) {
        return json_text(json_object_get(j->params, name));
}

static bool job_run_same_place(const char *a, const char *b) {
        struct stat x, y;

        return strcmp(a, b) == 0 || (lookup_stat(a, true, &x) == 0 && lookup_stat(b, true, &y) == 0 &&
                                     x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* By the policy in force now. A client may expect another store, or another policy for the store: the daemon must then
 * refuse. */
static int job_run_check(Job *j) {
        const char *store = job_run_param(j, "store"), *anchor = job_run_param(j, "anchor"),
                   *policy = job_run_param(j, "policy"), *own = store_anchor(j->server->store);
        const char *own_policy = j->policy->policy->path;

        if (j->peer->foreign && other_user_still_may(j->policy->policy, j->peer->uid, j->params, &j->why) != 0)
                return SERVE_E_NOT_ALLOWED;
        if (store && !job_run_same_place(store, j->server->store_path))
                return diag(&j->why, SERVE_E_OTHER_STORE, "store \"%s\": this daemon serves %s",
                            DIAG_QUOTED(store), j->server->store_path);
        if (anchor && !job_run_same_place(anchor, own ?: ""))
                return diag(&j->why, SERVE_E_OTHER_STORE, "anchor \"%s\": the daemon has a different anchor",
                            DIAG_QUOTED(anchor));
        if (policy && !(*policy ? own_policy && job_run_same_place(policy, own_policy) : !own_policy))
                return diag(&j->why, SERVE_E_OTHER_STORE, "policy \"%s\": the daemon goes by %s",
                            DIAG_QUOTED(policy), own_policy ?: "none");
        return 0;
}

/* Streams not passed by the client: files of the daemon's, in memory, with bytes of the request or for the answer. */
static int job_run_make_streams(Job *j) {
        const json_t *in = json_object_get(j->params, "stdin");
        const bool detach = json_is_true(json_object_get(j->params, "detach"));

        if (detach) { /* messages until the start are for the answer */
                capture_init(&j->captures[2], j->server, j->peer);
                return detach_new(j);
        }
        for (size_t i = 1; i < SERVE_STREAMS; i++)
                if (j->streams[i] < 0 && !j->shared[i] && !j->streamed[i])
                        capture_init(&j->captures[i], j->server, j->peer);
        if (json_string_length(in) == 0)
                return 0;
        j->streams[0] = memfd_create("lethe-stream", MFD_CLOEXEC); /* no other stream is named: job_check() */
        if (j->streams[0] < 0)
                return -errno;
        if (io_write_full(j->streams[0], json_bytes(in), json_string_length(in)) < 0 ||
            lseek(j->streams[0], 0, SEEK_SET) < 0)
                return -EIO;
        return 0;
}

static int job_run_add_captured(Job *j, size_t stream, json_t *o) {
        static const char *const cuts[] = {"", "stdout_cut", "stderr_cut"};
        _cleanup_buf_ Buf text = {.max = 4 * SERVE_CAPTURE_MAX};
        Capture *c = &j->captures[stream];
        int e = buf_add_plain(&text, c->text.data, c->text.n);

        if (e == 0 && share_take(j->server, j->peer, text.n)) {
                j->charged += text.n;
        } else if (e == 0) {
                buf_drop(&text, text.n);
                c->cut = true;
        }
        if (e == 0 && json_object_set_new(o, stream_names[stream], json_stringn(text.n ? text.data : "", text.n)) < 0)
                e = -ENOMEM;
        if (e == 0 && c->cut && json_object_set_new(o, cuts[stream], json_true()) < 0)
                e = -ENOMEM;
        capture_deinit(c);
        return e;
}

static char **job_run_make_args(const json_t *list) {
        char **args = calloc(json_array_size(list) + 1, sizeof(*args));

        for (size_t i = 0; args && i < json_array_size(list); i++)
                args[i] = (char *)json_text(json_array_get(list, i)); /* borrowed */
        return args;
}

static bool job_run_fill(const Job *j, SkillRequest *a, Refusal *r) {
        const json_t *options = json_object_get(j->params, "options");
        int e = 0;

        for (size_t i = 0; e == 0 && i < json_array_size(options); i++) {
                const json_t *o = json_array_get(options, i);

                e = request_option(&a->request, json_text(json_array_get(o, 0)), json_text(json_array_get(o, 1)),
                                   &r->why);
        }
        a->request.caller_dir = j->peer->foreign ? NULL : job_run_param(j, "cwd");
        a->skill = j->session ? session_target(j->session) : job_run_param(j, "skill");
        if (e == 0 && a->skill && !*a->skill)
                e = diag(&r->why, REQUEST_E_BAD, "SKILL is empty");
        if (e == 0 && !a->skill)
                e = request_exec(&a->request, job_run_param(j, "exec"), &r->why);
        if (e == 0 && !a->skill && request_exec_lacks_copy(&a->request))
                e = request_exec_copy(&a->request, &r->why);
        if (e != 0)
                skill_request_failed(e, r);
        return e == 0;
}

static json_t *job_run_show_refusal(const Refusal *r) {
        return json_pack("{s:s, s:b, s:b}", "message", r->why.text, "usage", r->usage, "by_policy", r->by_policy);
}

/* A session has one skill from its first turn to its last: the carried values have the types of that one. */
static bool job_run_fits_session(const Job *j, const Grant *g, Refusal *r) {
        if (!j->session || session_is_of(j->session, g->skill_digest))
                return true;
        diag(&r->why, 0, "skill %s is not the one with which the session was opened: its digest is %s now; close the "
             "session and open another one", g->skill_name, g->skill_digest);
        r->code = 125;
        return false;
}

/* Returns the exit code. */
static int job_run_invoke(Job *j, const RunOptions *o, SkillRequest *a, json_t **ret_refusal) {
        const Policy *policy = o->policy;
        _cleanup_grant_ Grant grant = {};
        Refusal refusal = {};

        if (job_run_fill(j, a, &refusal) &&
            resolve_request(a, j->server->store, policy, o->quiet, &grant, &refusal) &&
            job_run_fits_session(j, &grant, &refusal) && session_observe(j, o, &refusal)) {
                int code;

                job_run_begin_start(j);
                code = run_invocation(o, j->server->store, store_dir(j->server->store), &grant, j->cancel);
                job_run_end_start(j);
                return code;
        }
        job_judging(j, false);
        if (lookup_was_remote()) { /* no region ran; a client that can be ended may read the file itself */
                j->error = SERVE_E_REMOTE;
                j->why = refusal.why;
        }
        *ret_refusal = job_run_show_refusal(&refusal);
        return run_refused(o, a->skill ?: job_run_param(j, "exec"), NULL, refusal.by_policy, refusal.code,
                           refusal.why.text);
}

static void job_run_make_answer(Job *j, int code, json_t *refusal) {
        const bool ran = j->detached && detach_over(j);

        if (ran) {
                j->result = detach_result(j);
                json_decref(refusal);
                json_decref(TAKE_PTR(j->receipt));
                return;
        }
        j->result = json_pack("{s:i, s:o*, s:s?, s:o*}", "exit_code", code, "refusal", refusal, "region",
                              j->n_regions > 0 ? j->regions[0] : NULL, "receipt", TAKE_PTR(j->receipt));
        pthread_mutex_lock(&j->server->answer_lock); /* meanwhile the text is in memory twice */
        for (size_t i = 1; j->result && i < SERVE_STREAMS; i++)
                if (j->captures[i].server && job_run_add_captured(j, i, j->result) < 0) {
                        json_decref(j->result);
                        j->result = NULL;
                }
        pthread_mutex_unlock(&j->server->answer_lock);
        if (job_run_param(j, "stdin")) /* must not stay in unused memory */
                io_wipe(j->streams[0]);
}

static void job_run_capture_line(void *userdata, const char *line, size_t n) {
        RegionSink *s = userdata;

        s->take(s, line, n);
}

/* Log lines of the job go to its standard error. */
static void job_run_log_to_job(Job *j, LogLevel most) {
        log_to(MAX(j->streams[2], 0), most);
        if (j->detached)
                log_to_function(detach_log_line, j);
        else
                log_to_function(j->captures[2].server ? job_run_capture_line : NULL, &j->captures[2].sink);
}

/* Log lines go to the daemon's standard error again. */
static void job_run_log_to_daemon(void) {
        log_to(0, LOG_LEVEL_NOTE);
        log_to_function(NULL, NULL);
}

/* The front sends the answer while this thread clears away the rest. */
static void job_run_answer_early(void *userdata, int code) {
        Job *j = userdata;
        Server *s = j->server;

        session_turn_over(j);
        job_run_log_to_daemon(); /* the standard error of the client is given back */
        job_run_make_answer(j, code, NULL);
        if (!j->result) { /* without a second try: the captured output is gone */
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

/* open, carry and close of a session. */
static void job_run_session(Job *j, SkillRequest *a) {
        Refusal r = {};
        int e = 0;

        if (j->op == JOB_SESSION_OPEN && !job_run_fill(j, a, &r))
                e = diag(&j->why, SERVE_E_INVALID_PARAMS, "%s", r.why.text);
        e = e ?: session_job(j, a, &j->why);
        if (e < 0)
                e = diag(&j->why, e == -ECANCELED ? SERVE_E_BUSY : SERVE_E_INTERNAL, "%s",
                         *j->why.text ? j->why.text : store_strerror(e));
        j->error = e;
}

/* False: the turn does not begin, and the job has its answer. */
static bool job_run_enter_session(Job *j) {
        int e = job_run_param(j, "session") && j->op == JOB_RUN ? session_turn_begin(j, &j->why) : 0;

        if (e == -ECANCELED) {
                struct signalfd_siginfo si;

                job_run_ordered(j, &si);
                j->result = json_pack("{s:i, s:n, s:s}", "exit_code", 128 + (int)si.ssi_signo, "region", "message",
                                      "cancelled before it began");
        } else if (e < 0)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "%s", store_strerror(e));
        else
                j->error = e;
        return e == 0;
}

static void job_run_with_policy(Job *j) {
        const json_t *wanted = json_object_get(j->params, "receipt");
        json_t *refusal = NULL;
        RunOptions o = {
                .policy = j->policy->policy,
                .turn = j->policy->turn,
                .spawner = j->server->spawner,
                .prepared = &pool_source,
                .prepared_data = j->server->pool,
                .groups = j->server->groups,
                .verbose = json_is_true(json_object_get(j->params, "verbose")),
                .quiet = json_is_true(json_object_get(j->params, "quiet")),
                .promote = json_is_true(json_object_get(j->params, "promote")),
                .elsewhere = job_run_param(j, "store") != NULL,
                .names_store = json_is_true(json_object_get(j->params, "names_store")),
                .streams = j->streams,
                .out = j->detached ? &j->detached->out.sink
                       : j->captures[1].server ? &j->captures[1].sink : NULL,
                .err = j->detached ? &j->detached->err.sink
                       : j->captures[2].server ? &j->captures[2].sink : NULL,
                .ret_receipt = json_is_false(wanted) && !j->detached ? NULL : &j->receipt,
                .begun = job_run_begun,
                .place = job_place,
                .judging = job_judging,
                .started = j->detached ? detach_started : NULL,
                .over = job_run_answer_early,
                .progress = json_is_true(json_object_get(j->params, "progress")) && !j->detached ? progress_tell : NULL,
                .ordered = job_run_ordered,
                .unwanted = &j->unwanted,
                .userdata = j,
                .in_session = j->session ? &j->in_session : NULL,
        };
        _cleanup_free_ char **args = job_run_make_args(json_object_get(j->params, "args"));
        SkillRequest a = {.request = {.args = args,
                                      .store_dir = store_dir(j->server->store),
                                      .client = j->peer->foreign ? j->peer->uid : 0},
                          .registered = j->peer->foreign,
                          .kept = j->server->skills};
        const char *traceparent = job_run_param(j, "traceparent");
        int code, e = args ? 0 : -ENOMEM;

        j->options = &o;
        job_run_log_to_job(j, o.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_NOTE);
        if (e == 0 && traceparent)
                e = trace_take_in(traceparent, &a.request.trace) == -EIO ? -EIO : 0;
        if (e == 0 && j->op != JOB_RUN) {
                code = 0;
                job_run_session(j, &a);
        } else
                code = e == 0 ? job_run_invoke(j, &o, &a, &refusal) : 125;
        session_turn_over(j); /* without an early answer */
        job_run_log_to_daemon();
        request_deinit(&a.request);
        j->options = NULL;
        if (!j->answered && !j->error && j->op == JOB_RUN)
                job_run_make_answer(j, code, refusal);
}

/* The outcome goes into the object's memory, not to a client. */
static void job_run_object(Job *j) {
        const char *id = json_text(json_object_get(j->object, "object")) ?: "";
        RunOptions o = {
                .policy = j->policy->policy,
                .turn = j->policy->turn,
                .spawner = j->server->spawner,
                .groups = j->server->groups,
                .quiet = true,
                .streams = j->streams,
                .begun = job_run_begun,
                .place = job_place,
                .judging = job_judging,
                .ordered = job_run_ordered,
                .unwanted = &j->unwanted,
                .userdata = j,
        };
        Diag d = {};
        int e;

        j->options = &o;
        job_run_begin_start(j);
        e = perform_begun(&o, j->server->store, j->object, j->cancel, &j->result, &d);
        job_run_end_start(j);
        j->options = NULL;
        j->settled = e == 0;
        if (e != 0)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "object %s: its execution has no outcome yet: %s", id,
                                *d.text ? d.text : store_strerror(e));
        if (e != 0)
                log_error("%s", j->why.text);
}

void job_run(Job *j, int no_folder) {
        const char *cwd = j->peer->foreign ? "/" : job_run_param(j, "cwd") ?: "/";
        int e;

        lookup_begin();
        store_stop_at(j->cancel); /* also before a region is there: a refusal is recorded */
        job_judging(j, true); /* when its turn has come, not when requested */
        if (no_folder > 0)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "unshare: %s", strerror(no_folder));
        else if (j->op == JOB_OBJECT)
                job_run_object(j);
        else if (strcmp(cwd, "/") != 0 && (e = lookup_chdir(cwd)) < 0)
                j->error = diag(&j->why, SERVE_E_INVALID_PARAMS, "cwd \"%s\": %s", DIAG_QUOTED(cwd),
                                lookup_strerror(e));
        else if ((e = job_run_check(j)) != 0)
                j->error = e;
        else if ((e = job_run_make_streams(j)) < 0)
                j->error = diag(&j->why, SERVE_E_BUSY, "its streams cannot be made: %s", strerror(-e));
        else if (job_run_enter_session(j))
                job_run_with_policy(j);
        job_judging(j, false);
        store_stop_at(-1); /* the thread goes on, and the descriptor goes with the job */
        if (strcmp(cwd, "/") != 0 && chdir("/") < 0 && !j->error)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "/: %s", strerror(errno));
        if (!j->error && !j->answered && !j->result)
                j->error = diag(&j->why, SERVE_E_INTERNAL, "%s", strerror(ENOMEM));
}
