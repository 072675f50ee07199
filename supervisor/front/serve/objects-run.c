/* Runs: lethe-serve. Executions of objects as jobs of the daemon: the waker begins an execution, the front queues the
 * job, and a thread runs the skill (job-run.c). */
#include "serve/objects.h"

#include "base/lock.h"
#include "base/log.h"

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

void objects_place_free(Server *s) {
        atomic_fetch_sub(&s->waker->n_used, 1);
        eventfd_write(s->waker->wake, 1);
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
                log_warning("object %s: its execution does not begin (%s); the next start settles it",
                            json_text(json_object_get(one, "object")) ?: "",
                            w->server->hurry ? "the daemon ends" : strerror(ENOMEM));
                objects_place_free(w->server);
        }
        json_decref(begun);
        return 0;
}
