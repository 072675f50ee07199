/* Runs: lethe-serve. The sessions of the daemon, and the order of turns (I-84..I-86). A turn is a usual job:
 * job-run.c asks session_turn_begin() before and session_turn_over() behind. The front only looks; jobs and the
 * keeper's thread work. */
#include "serve/session.h"

#include "base/clock.h"
#include "base/lock.h"
#include "engine/engine.h"
#include "store/store.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

void session_unref(Server *s, Session *x) {
        bool last;

        pthread_mutex_lock(&s->sessions_lock);
        last = --x->users == 0;
        pthread_mutex_unlock(&s->sessions_lock);
        if (!last)
                return;
        carry_free(x->carry);
        closep(&x->free_fd);
        json_decref(x->sections);
        free(x->target);
        free(x->skill);
        free(x->digest);
        free(x);
}

Session *session_hosted(Server *s, const char *id) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->sessions_lock);
        Session *x;

        LIST_FOREACH(x, &s->sessions, all)
                if (strcmp(x->id, id) == 0) {
                        x->users++;
                        return x;
                }
        return NULL;
}

size_t session_count(Server *s) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->sessions_lock);
        size_t n = 0;
        Session *x;

        LIST_FOREACH(x, &s->sessions, all)
                n++;
        return n;
}

void session_enlist(Server *s, Session *x) {
        _cleanup_unlock_ pthread_mutex_t *held = lock_take(&s->sessions_lock);

        x->users++;
        x->deadline = clock_mono_usec() + x->idle_usec;
        LIST_INSERT_HEAD(&s->sessions, x, all);
        pthread_cond_signal(&s->sessions_changed);
}

Session *session_new(const json_t *sections, Diag *reterr, int *ret_e) {
        Session *x = calloc(1, sizeof(*x));

        if (!x || (x->users = 1, x->free_fd = eventfd(1, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC)) < 0) {
                free(x);
                *ret_e = x ? -errno : -ENOMEM;
                return NULL;
        }
        *ret_e = carry_new(sections, &x->carry, reterr);
        if (*ret_e != 0) {
                closep(&x->free_fd);
                free(x);
                return NULL;
        }
        x->sections = json_incref((json_t *)sections);
        return x;
}

int session_enter(Server *s, Session *x, bool closes, int cancel, Diag *reterr) {
        eventfd_t n;
        int r = -EAGAIN;

        pthread_mutex_lock(&s->sessions_lock);
        if (x->waiting >= SESSION_WAITING_MAX && !closes) /* waiting turns must not keep a session open */
                r = diag(reterr, SERVE_E_BUSY, "%u wait for the turn of session %s: ask again later", x->waiting,
                         x->id);
        else
                x->waiting++;
        pthread_mutex_unlock(&s->sessions_lock);
        if (r > 0)
                return r;
        while (r == -EAGAIN) {
                struct pollfd p[] = {{.fd = x->free_fd, .events = POLLIN}, {.fd = cancel, .events = POLLIN}};

                if (poll(p, cancel >= 0 ? 2 : 1, -1) < 0 && errno != EINTR)
                        r = -errno;
                else if (cancel >= 0 && p[1].revents)
                        r = -ECANCELED;
                else if (p[0].revents && eventfd_read(x->free_fd, &n) == 0)
                        r = 0;
        }
        pthread_mutex_lock(&s->sessions_lock);
        x->waiting--;
        if (r == 0 && (x->over || (x->closing > 0 && !closes))) {
                eventfd_write(x->free_fd, 1); /* for the next that waits */
                r = diag(reterr, SERVE_E_NO_SESSION, "session %s %s", x->id, x->over ? "has ended" : "is being closed");
        }
        if (r == 0)
                x->deadline = UINT64_MAX;
        pthread_mutex_unlock(&s->sessions_lock);
        return r;
}

void session_leave(Server *s, Session *x) {
        pthread_mutex_lock(&s->sessions_lock);
        x->turn = NULL;
        x->deadline = clock_mono_usec() + x->idle_usec;
        pthread_cond_signal(&s->sessions_changed);
        pthread_mutex_unlock(&s->sessions_lock);
        eventfd_write(x->free_fd, 1);
}

int session_code(int e, Diag *reterr) {
        if (e >= 0 && *reterr->text)
                return e == ENGINE_E_NO_REGION ? SERVE_E_NO_SESSION : e == 0 ? 0 : SERVE_E_BUSY;
        return e == 0 ? 0 : diag(reterr, SERVE_E_INTERNAL, "%s", e < 0 ? store_strerror(e) : "refused");
}

const char *session_target(const Session *x) {
        return x->target;
}

bool session_is_of(const Session *x, const char *digest) {
        return strcmp(x->digest, digest ?: "") == 0;
}
