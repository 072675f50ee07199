/* Runs: lethe-serve. Executions of objects as jobs of the daemon: the waker begins an execution, the front queues the
 * job, and a thread runs the skill (job-run.c). */
#include "serve/objects.h"

#include "base/lock.h"
#include "base/log.h"
#include "perform/perform.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

SharedPolicy *objects_policy_use(Server *s) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->lock);

        atomic_fetch_add(&s->policy->users, 1);
        return s->policy;
}

uint64_t objects_places(Waker *w) {
        const unsigned used = atomic_load(&w->n_used);

        return w->server->options.max_objects - MIN((uint64_t)used, w->server->options.max_objects);
}

void objects_begin(Waker *w, json_t *begun) {
        atomic_fetch_add(&w->n_used, (unsigned)json_array_size(begun));
        pthread_mutex_lock(&w->lock);
        if (json_array_extend(w->begun, begun) < 0)
                log_error("%zu executions of objects cannot be begun: %s; the next start settles them",
                          json_array_size(begun), strerror(ENOMEM));
        pthread_mutex_unlock(&w->lock);
        eventfd_write(w->begun_fd, 1);
}

void objects_place_free(Server *s, json_t *begun) {
        Waker *w = s->waker;

        pthread_mutex_lock(&w->lock);
        if (begun && json_array_append(w->lost, begun) < 0)
                log_error("objects: %s; the next start settles an execution", strerror(ENOMEM));
        pthread_mutex_unlock(&w->lock);
        atomic_fetch_sub(&w->n_used, 1);
        eventfd_write(w->wake, 1);
}

/* *ret: the object is still in the execution with this trace. Returns 0, a code as of object.h, -errno. */
static int objects_is_in(Txn *t, const char *id, const char *trace, bool *ret, Diag *reterr) {
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_object_row_ ObjectRow row = {};
        int e = object_get(t, id, &row, reterr) ?: object_memory(t, &row, false, &m, reterr);

        *ret = e == 0 && row.state == OBJECT_EXECUTION &&
               json_text_is(json_object_get(json_object_get(m.fold, "started"), "trace"), trace);
        return e;
}

/* No region of the execution lives, because the job is over: the outcome is `interrupted`, or that of the region's
 * recorded end. Returns 0, or a failure for another try. */
static int objects_settle_one(Waker *w, const char *id, const char *trace, Diag *reterr) {
        SharedPolicy *p = objects_policy_use(w->server);
        _cleanup_json_ json_t *local = NULL, *done = NULL;
        _cleanup_txn_ Txn *t = NULL;
        bool is_in = false;
        int e = perform_local(w->server->store, p->policy, id, &local, reterr);

        shared_policy_drop(p);
        if (e != 0)
                return e;
        if (json_object_set_new(local, "interrupted", json_true()) < 0)
                return -ENOMEM;
        e = store_begin(w->server->store, true, &t, reterr) ?: objects_is_in(t, id, trace, &is_in, reterr);
        if (e != 0 || !is_in)
                return e;
        return perform_begin(t, id, local, w->who, true, &done, reterr) ?: store_commit(TAKE_PTR(t), reterr);
}

bool objects_settle(Waker *w) {
        _cleanup_json_ json_t *lost = NULL;
        bool all = true;
        json_t *one;
        size_t i;

        pthread_mutex_lock(&w->lock);
        lost = json_copy(w->lost);
        if (lost)
                json_array_clear(w->lost);
        pthread_mutex_unlock(&w->lock);
        json_array_foreach(lost, i, one) {
                const char *id = json_text(json_object_get(one, "object")) ?: "",
                           *trace = json_text(json_object_get(json_object_get(one, "perform"), "trace")) ?: "";
                Diag d = {};
                int e = objects_settle_one(w, id, trace, &d);

                if (e == 0)
                        continue;
                log_debug("object %s: the lost execution is not settled yet: %s", id, d.text);
                all = false;
                pthread_mutex_lock(&w->lock);
                json_array_append(w->lost, one); /* otherwise the next start settles it */
                pthread_mutex_unlock(&w->lock);
        }
        return all;
}

unsigned objects_running(const Server *s) {
        return s->waker ? atomic_load(&s->waker->n_used) : 0;
}

int objects_on_begun(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Waker *w = userdata;
        json_t *begun, *one;
        eventfd_t n;
        size_t i;

        eventfd_read(fd, &n);
        pthread_mutex_lock(&w->lock);
        begun = json_copy(w->begun);
        if (begun)
                json_array_clear(w->begun);
        pthread_mutex_unlock(&w->lock);
        json_array_foreach(begun, i, one) {
                Job *j = w->server->hurry ? NULL : job_of_object(w->server, one);

                if (j) {
                        job_submit(j);
                        continue;
                }
                log_warning("object %s: its execution does not begin: %s",
                            json_text(json_object_get(one, "object")) ?: "",
                            w->server->hurry ? "the daemon ends" : strerror(ENOMEM));
                objects_place_free(w->server, one);
        }
        json_decref(begun);
        return 0;
}
