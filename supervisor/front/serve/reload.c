/* Runs: lethe-serve. Changes the policy. All grants of earlier policies end before the reload is reported as done:
 * queued requests are judged when their turn comes; the reload waits for invocations under judgement or starting until
 * their region is allocated or refused; prepared regions, templates and warm interpreters are ended; sub-invocations of
 * running regions are judged anew. Running regions go on: they were admitted. */
#include "serve/serve.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/lock.h"
#include "base/log.h"
#include "request/paths.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#define LOOK_USEC 2000 /* between checks, while a grant of an earlier policy is left */
#define ANSWER_DEPTH_MAX 8

/* *ret_judged: invocations under judgement by an earlier policy. *ret_run: invocations running by an earlier policy. */
static void reload_count(Server *s, size_t *ret_judged, size_t *ret_run) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);

        *ret_judged = *ret_run = 0;
        for (size_t i = 0; i < s->n_threads; i++) {
                const Job *j = s->running[i];

                *ret_judged += j->judging && j->policy != s->policy;
                *ret_run += j->policy && !j->judging && j->turn != s->policy->turn && j->state != JOB_OVER;
        }
}

static void reload_done(Server *s, size_t n_run) {
        const char *path = s->policy->policy->path;
        Client *c;

        sd_notify(false, "READY=1");
        log_note("the policy was read again: %s; %zu invocation%s that began before go%s on", path ?: "there is none",
                 n_run, n_run == 1 ? "" : "s", n_run == 1 ? "es" : "");
        LIST_FOREACH(c, &s->clients, all) {
                json_t *id = TAKE_PTR(c->reload_id);

                if (id)
                        client_result(c, id, json_pack("{s:s?, s:o}", "policy", path, "earlier", json_u64(n_run)));
                json_decref(id);
        }
}

static int reload_on_look(sd_event_source *source, uint64_t usec, void *userdata) {
        Server *s = userdata;
        size_t n_judged, n_run;

        reload_count(s, &n_judged, &n_run);
        if (!s->forgets && n_judged == 0 && pool_is_settled(s->pool) &&
            (!s->recovering || atomic_load(&s->recovered))) {
                /* the last starts may have made templates; and the operator may have changed more than the policy */
                spawner_forget(s->spawner);
                s->forgets = true;
        }
        if (s->forgets && spawner_has_forgotten(s->spawner)) {
                s->settling = sd_event_source_disable_unref(s->settling);
                reload_done(s, n_run);
                return 0;
        }
        sd_event_source_set_time_relative(source, LOOK_USEC);
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
        return 0;
}

static int reload_take(Server *s, Policy *p) {
        SharedPolicy *before, *now = shared_policy_new(p, s->policy->turn + 1);
        bool changed;

        if (!now || (!s->settling &&
                     sd_event_add_time_relative(s->event, &s->settling, CLOCK_MONOTONIC, 0, 0, reload_on_look,
                                                s) < 0)) {
                shared_policy_drop(now);
                return -ENOMEM;
        }
        changed = strcmp(s->policy->policy->ref, p->ref) != 0;
        pthread_mutex_lock(&s->lock);
        before = s->policy;
        s->policy = now;
        pthread_mutex_unlock(&s->lock);
        s->forgets = false;
        pool_reload(s->pool, p, now->turn);
        shared_policy_drop(before);
        if (changed) {
                objects_policy_changed(s);
                schedule_policy_changed(s);
        }
        jobs_judge_queued(s);
        return 0;
}

int server_reload(Server *s, Diag *reterr) {
        Policy *p = NULL;
        int e;

        sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_mono_usec());
        e = policy_load(s->options.policy, &p, reterr);
        if (e == 0 && (e = listen_set_mode(s, p, reterr)) < 0)
                policy_free(p);
        if (e == 0)
                e = reload_take(s, p);
        if (e == 0)
                return 0;
        if (!s->settling)
                sd_notify(false, "READY=1");
        if (!*reterr->text)
                diag(reterr, e, "%s", strerror(e < 0 ? -e : EINVAL));
        log_error("the policy stays as it was: %s", reterr->text);
        return SERVE_E_POLICY;
}

static int reload_ask_line(int fd, Buf *line) {
        static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"reload\"}\n";
        int e = io_write_full(fd, request, sizeof(request) - 1);

        while (e == 0 && (line->n == 0 || line->data[line->n - 1] != '\n')) {
                char chunk[4096];
                ssize_t n = recv(fd, chunk, sizeof(chunk), 0);

                if (n < 0 && errno == EINTR)
                        continue;
                e = n > 0 ? buf_add(line, chunk, (size_t)n) : n < 0 ? -errno : -EPIPE;
        }
        return e;
}

int reload_ask(const char *socket) {
        _cleanup_close_ int fd = path_ask(socket);
        _cleanup_buf_ Buf line = {.max = SERVE_LINE_MAX};
        _cleanup_json_ json_t *o = NULL;
        const char *why;
        int e = fd < 0 ? fd : reload_ask_line(fd, &line);

        if (e == 0 && json_parse(line.data, line.n, line.n, ANSWER_DEPTH_MAX, &o, NULL) != 0)
                e = -EPROTO;
        if (e < 0) {
                log_error("serve: --reload: socket %s: %s", socket,
                          e == -EPERM ? "another user listens there, whom root does not ask" : strerror(-e));
                return 1;
        }
        why = json_text(json_object_get(json_object_get(o, "error"), "message"));
        if (why || !json_object_get(o, "result")) {
                log_error("serve: --reload: %s", why ?: "the answer is none");
                return 1;
        }
        return 0;
}
