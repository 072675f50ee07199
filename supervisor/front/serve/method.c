/* Runs: lethe-serve. The methods of schema/serve.md. */
#include "serve/serve.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/json-form.h"
#include "base/log.h"
#include "store/hooks.h"

#include <string.h>

#define ID_MAX 256

typedef struct Method {
        const char *name;
        /* returns 0 with *ret (NULL: answered later), or SERVE_E_* */
        int (*fn)(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr);
        bool no_params; /* the method is called without parameters */
} Method;

/* form: the parameters of the method. */
static int method_bad_params(const json_t *params, const char *form, Diag *reterr) {
        json_misfit(params, form, true, reterr);
        return SERVE_E_INVALID_PARAMS;
}

static int method_do_ping(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        *ret = json_pack("{s:i, s:s, s:i, s:s, s:s?, s:s?}", "protocol", SERVE_PROTOCOL_VERSION, "version", LETHE_VERSION,
                         "pid", (int)getpid(), "store", c->server->store_path, "anchor", store_anchor(c->server->store),
                         "policy", c->server->policy->policy->path);
        return 0;
}

/* Answered jobs with cleaning work left: control groups, output not yet sent to the client. */
static int method_count_ending(const Server *s) {
        int n = 0;

        for (size_t i = 0; i < s->n_threads; i++)
                n += s->running[i]->state == JOB_OVER;
        return n;
}

static int method_do_status(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        Server *s = c->server;

        *ret = json_pack(
                "{s:i, s:s, s:i, s:s, s:s?, s:s?, s:b, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:i, s:o}",
                "protocol", SERVE_PROTOCOL_VERSION, "version", LETHE_VERSION, "pid", (int)getpid(), "store",
                s->store_path, "socket", s->options.socket, "policy", s->policy->policy->path, "stopping",
                s->stopping, "uptime_usec", json_u64(clock_mono_usec() - s->started_usec), "clients",
                (int)s->n_clients, "running", (int)s->n_running, "queued", (int)s->n_queued, "max_running",
                json_u64(s->options.max_running), "max_queued", json_u64(s->options.max_queued), "served",
                json_u64(s->n_served), "refused", json_u64(s->n_refused), "ending", method_count_ending(s),
                "ready_guards", json_u64(spawner_ready_guards(s->spawner)), "ready_regions",
                json_u64(pool_count(s->pool)), "objects", (int)objects_running(s), "max_objects",
                json_u64(s->options.max_objects));
        return 0;
}

static int method_job(Client *c, const json_t *id, json_t *params, JobOp op, Diag *reterr) {
        Job *j;
        int e, error;

        if (!id)
                return diag(reterr, SERVE_E_INVALID_REQUEST,
                            "id: a run or a session's request is no notification: the answer has the outcome");
        if (c->server->stopping)
                return diag(reterr, SERVE_E_STOPPING, "lethe serve ends and takes no new requests");
        if (job_find(c, id))
                return diag(reterr, SERVE_E_INVALID_REQUEST, "id: a run of this connection has it already");
        e = job_check(op, params, reterr) ?: other_user_may_run(c, params, reterr);
        if (e != 0)
                return e;
        e = job_new(c, id, params, &j, &error, reterr);
        if (e < 0)
                return e;
        if (e > 0)
                return error;
        j->op = op;
        job_submit(j);
        return 0;
}

static int method_do_run(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        return method_job(c, id, params, JOB_RUN, reterr);
}

static int method_do_session_open(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        return method_job(c, id, params, JOB_SESSION_OPEN, reterr);
}

static int method_do_session_carry(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        return method_job(c, id, params, JOB_SESSION_CARRY, reterr);
}

static int method_do_session_close(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        return method_job(c, id, params, JOB_SESSION_CLOSE, reterr);
}

static int method_do_cancel(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        const json_t *of;
        json_int_t signo = SIGTERM;
        Job *j;

        if (json_take(params, "{s:o, s?:I}", "id", &of, "signal", &signo) < 0)
                return method_bad_params(params, "{id: that of the run, signal?: integer}", reterr);
        if (signo != SIGTERM && signo != SIGINT && signo != SIGHUP && signo != SIGPIPE)
                return diag(reterr, SERVE_E_INVALID_PARAMS,
                            "signal %" JSON_INTEGER_FORMAT
                            ": must be 15 (SIGTERM), 2 (SIGINT), 1 (SIGHUP) or 13 (SIGPIPE)",
                            signo);
        j = job_find(c, of);
        if (!j)
                return diag(reterr, SERVE_E_NO_REQUEST, "id: no run of this connection has it, or it has ended");
        job_cancel(j, (int)signo);
        *ret = json_object();
        return 0;
}

static int method_do_input(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        const json_t *of;
        const char *data = "";
        int end = false, e;
        bool open;
        Job *j;

        if (!id)
                return diag(reterr, SERVE_E_INVALID_REQUEST,
                            "id: input is no notification: the answer permits the next input");
        if (json_take(params, "{s:o, s?:s, s?:b}", "id", &of, "data", &data, "end", &end) < 0)
                return method_bad_params(params, "{id: that of the run, data?: string, end?: boolean}", reterr);
        j = job_find(c, of);
        if (!j)
                return diag(reterr, SERVE_E_NO_REQUEST, "id: no run of this connection has it, or it has ended");
        e = flow_input(j, id, data, end, &open, reterr);
        if (e == 0)
                *ret = json_pack("{s:b}", "open", open);
        return e > 1 ? e : MIN(e, 0);
}

static int method_do_kill(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        const char *region;
        int discard = false;
        Job *j;

        if (json_take(params, "{s:s, s?:b}", "region", &region, "discard", &discard) < 0)
                return method_bad_params(params, "{region: string, discard?: boolean}", reterr);
        if (!region_id_valid(region))
                return diag(reterr, SERVE_E_INVALID_PARAMS, "region \"%s\": a region's id has %d characters of 0-9 a-z",
                            DIAG_QUOTED(region), REGION_ID_LEN);
        j = job_of_region(c->server, region);
        if (!j || !other_user_may_see(c, j))
                return diag(reterr, SERVE_E_NO_REGION, "region %s is not alive here", region);
        if (discard)
                job_discard(j);
        else
                job_cancel(j, SIGTERM);
        *ret = json_object();
        return 0;
}

static int method_do_attach(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        const char *region, *waits;

        if (json_take(params, "{s:s}", "region", &region) < 0)
                return method_bad_params(params, "{region: string}", reterr);
        if (!id || line_queue_peek(&c->out, &waits) > 0)
                return diag(reterr, SERVE_E_INVALID_REQUEST,
                            "id: attach has one, and is asked for alone on its connection");
        return detach_attach(c, id, region, reterr);
}

static json_t *method_show_job(Job *j) {
        json_t *regions = json_array();

        pthread_mutex_lock(&j->lock);
        for (size_t i = 0; i < j->n_regions; i++)
                json_array_append_new(regions, json_string(j->regions[i]));
        pthread_mutex_unlock(&j->lock);
        return json_pack("{s:o, s:s, s:i, s:o, s:O*}", "regions", regions, "state",
                         j->state == JOB_QUEUED ? "queued" : "running", "pid", (int)j->peer->pid, "uid",
                         json_u64(j->peer->uid), "object", json_object_get(j->object, "object"));
}

static int method_do_ps(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        Server *s = c->server;
        json_t *list = json_array();
        Peer *p;
        Job *j;

        pthread_mutex_lock(&s->lock);
        for (size_t i = 0; i < s->n_threads; i++)
                if (s->running[i]->state != JOB_OVER && other_user_may_see(c, s->running[i]))
                        json_array_append_new(list, method_show_job(s->running[i]));
        pthread_mutex_unlock(&s->lock);
        LIST_FOREACH(p, &s->peers, all)
                TAILQ_FOREACH(j, &p->jobs, queued)
                        if (other_user_may_see(c, j))
                                json_array_append_new(list, method_show_job(j));
        *ret = json_pack("{s:o}", "runs", list);
        return 0;
}

static int method_do_reload(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        int e;

        if (c->reload_id)
                return diag(reterr, SERVE_E_INVALID_REQUEST,
                            "reload: an earlier reload of this connection is not answered yet");
        if (id)
                c->reload_id = json_incref((json_t *)id);
        e = server_reload(c->server, reterr); /* the answer comes when the reload is done */
        if (e != 0) {
                json_decref(c->reload_id);
                c->reload_id = NULL;
        }
        return e;
}

static int method_do_stop(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        *ret = json_object();
        server_stop(c->server, "a client asked for it");
        return 0;
}

static int method_do_takeover(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        const char *waits;

        if (!id || line_queue_peek(&c->out, &waits) > 0)
                return diag(reterr, SERVE_E_INVALID_REQUEST,
                            "id: takeover has one, and is asked for alone on its connection");
        if (c->server->stopping)
                return diag(reterr, SERVE_E_STOPPING, "lethe serve ends and has no place to give");
        if (server_hand_over(
                    c->server, c,
                    json_pack("{s:s, s:O, s:{s:i}}", "jsonrpc", "2.0", "id", id, "result", "pid", (int)getpid())) < 0)
                client_finish(c);
        return 0;
}

/* A request names the store, because another store may have a scope of the same name. */
static int method_working_params(Client *c, json_t *params, bool value, const char **ret_scope, json_t **ret_value,
                          Diag *reterr) {
        const char *store;

        if (json_take(params, value ? "{s:s, s:s, s:o}" : "{s:s, s:s}", "store", &store, "scope", ret_scope, "value",
                      ret_value) < 0)
                return method_bad_params(
                        params, value ? "{store: string, scope: string, value: any}" : "{store: string, scope: string}",
                        reterr);
        return strcmp(store, c->server->store_path) == 0
                       ? 0
                       : diag(reterr, SERVE_E_OTHER_STORE, "store: this daemon serves %s", c->server->store_path);
}

static int method_do_working_get(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        const char *scope;
        json_t *v = NULL;
        int e = method_working_params(c, params, false, &scope, NULL, reterr)
                        ?: session_state_get(&c->server->working, c->server->store, scope, &v, reterr);

        if (e == 0)
                *ret = json_pack("{s:O?}", "value", v);
        return e;
}

static int method_change_working(Client *c, json_t *params, bool value, json_t **ret, Diag *reterr) {
        const char *scope;
        json_t *v = NULL;
        int e = method_working_params(c, params, value, &scope, &v, reterr)
                        ?: session_state_set(&c->server->working, c->server->store, scope, v, reterr);

        if (e == 0)
                *ret = json_object();
        return e;
}

static int method_do_working_set(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        return method_change_working(c, params, true, ret, reterr);
}

static int method_do_working_clear(Client *c, const json_t *id, json_t *params, json_t **ret, Diag *reterr) {
        return method_change_working(c, params, false, ret, reterr);
}

static const Method methods[] = {
        {"run", method_do_run},
        {"session.open", method_do_session_open},
        {"session.carry", method_do_session_carry},
        {"session.close", method_do_session_close},
        {"cancel", method_do_cancel},
        {"input", method_do_input},
        {"kill", method_do_kill},
        {"attach", method_do_attach},
        {"ps", method_do_ps, true},
        {"ping", method_do_ping, true},
        {"status", method_do_status, true},
        {"reload", method_do_reload, true},
        {"stop", method_do_stop, true},
        {"takeover", method_do_takeover, true},
        {"working.get", method_do_working_get},
        {"working.set", method_do_working_set},
        {"working.clear", method_do_working_clear},
};

static bool method_id_valid(const json_t *id) {
        if (json_is_string(id))
                return json_string_length(id) <= ID_MAX;
        return json_is_null(id) || (json_is_integer(id) && json_integer_value(id) <= JSON_INTEGER_MOST &&
                                    json_integer_value(id) >= -JSON_INTEGER_MOST);
}

static void method_wrong(Client *c, const json_t *id, int code, const Diag *d) {
        client_error(c, id, code, "%s", d->text);
        c->server->n_refused++;
}

static int method_from_json(int e) {
        switch (e) {
        case JSON_E_DUPLICATE:
                return SERVE_E_DUPLICATE_KEY;
        case JSON_E_DEPTH:
                return SERVE_E_DEPTH;
        case JSON_E_SIZE:
                return SERVE_E_LINE_TOO_LONG;
        default:
                return SERVE_E_PARSE;
        }
}

/* The envelope. */
static int method_judge(json_t *o, const json_t **ret_id, const char **ret_method, json_t **ret_params, Diag *reterr) {
        static const char *const known[] = {"jsonrpc", "id", "method", "params"};
        const char *key;
        const json_t *id = json_object_get(o, "id");
        json_t *v;

        if (json_is_array(o))
                return diag(reterr, SERVE_E_BATCH, "a line is one request: batches are refused");
        if (!json_is_object(o))
                return diag(reterr, SERVE_E_INVALID_REQUEST, "a request is an object");
        if (id && !method_id_valid(id))
                return diag(reterr, SERVE_E_INVALID_REQUEST,
                            "id: must be a string of at most %d bytes, an integer within 2^53-1, or null", ID_MAX);
        *ret_id = id;
        json_object_foreach(o, key, v)
                if (name_index(known, ARRAY_SIZE(known), key) == ARRAY_SIZE(known))
                        return diag(reterr, SERVE_E_INVALID_REQUEST,
                                    "\"%s\": a request has jsonrpc, id, method and params, and nothing else",
                                    DIAG_QUOTED(key));
        if (!json_text_is(json_object_get(o, "jsonrpc"), "2.0"))
                return diag(reterr, SERVE_E_INVALID_REQUEST, "jsonrpc: must be \"2.0\"");
        *ret_method = json_text(json_object_get(o, "method"));
        if (!*ret_method)
                return diag(reterr, SERVE_E_INVALID_REQUEST, "method: must be a string");
        *ret_params = json_object_get(o, "params");
        if (*ret_params && !json_is_object(*ret_params))
                return diag(reterr, SERVE_E_INVALID_PARAMS, "params: must be an object");
        return 0;
}

static int method_dispatch(Client *c, const json_t *id, const char *method, json_t *params, Diag *reterr) {
        _cleanup_json_ json_t *none = params ? NULL : json_object(), *result = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                int e;

                if (strcmp(methods[i].name, method) != 0)
                        continue;
                e = other_user_may_call(c, method, reterr);
                if (e == 0 && methods[i].no_params && json_object_size(params) > 0)
                        e = method_bad_params(params, "{}", reterr);
                if (e == 0)
                        e = methods[i].fn(c, id, params ?: none, &result, reterr);
                if (e == 0 && result && id)
                        client_result(c, id, TAKE_PTR(result));
                if (e < 0)
                        return diag(reterr, SERVE_E_INTERNAL, "%s", strerror(-e));
                return e;
        }
        return diag(reterr, SERVE_E_UNKNOWN_METHOD, "method \"%s\": there is none of that name", DIAG_QUOTED(method));
}

void method_call(Client *c, const char *line, size_t n) {
        _cleanup_json_ json_t *o = NULL;
        const char *method = NULL;
        const json_t *id = NULL;
        json_t *params = NULL;
        Diag d = {};
        int e = json_parse(line, n, SERVE_LINE_MAX, SERVE_DEPTH_MAX, &o, &d);

        if (e < 0) {
                client_finish(c);
                return;
        }
        if (e > 0)
                e = method_from_json(e);
        else
                e = method_judge(o, &id, &method, &params, &d);
        if (e == 0)
                e = method_dispatch(c, id, method, params, &d);
        if (e == 0)
                return;
        method_wrong(c, id, e, &d);
        if (e == SERVE_E_PARSE || e == SERVE_E_INVALID_REQUEST || e == SERVE_E_DEPTH || e == SERVE_E_DUPLICATE_KEY ||
            e == SERVE_E_BATCH)
                client_bad(c);
}
