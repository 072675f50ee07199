/* Runs: lethe-serve. The end of a session: closed, idle, or with the host (I-48, I-85). The keeper is the thread
 * for idle sessions. */
#include "serve/session.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "engine/session.h"
#include "invoke/receipt.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>

int session_end(Server *s, Session *x, const SessionOver *how, Diag *reterr) {
        const uint64_t began = clock_mono_usec();
        _cleanup_json_ json_t *evidence = NULL;
        _cleanup_txn_ Txn *t = NULL;
        TeardownEvidence said;
        VaultWiped wiped;
        bool listed;
        int e;

        carry_wipe(x->carry, x->passes, &wiped);
        evidence_of_session(x->discipline, x->passes, &wiped, x->resumed, &said);
        said.usec = clock_mono_usec() - began;
        said.bound_usec = CANCEL_BOUND_STANDARD_USEC;
        evidence = receipt_teardown(&said, NULL);
        e = !evidence ? -ENOMEM
                      : store_begin(s->store, true, &t, reterr)
                                ?: engine_session_end(t, &(SessionEnd){.session = x->id, .reason = how->reason,
                                                                       .who = how->who, .evidence = evidence,
                                                                       .erase = how->erase}, reterr)
                                ?: store_commit(TAKE_PTR(t), reterr);
        pthread_mutex_lock(&s->sessions_lock);
        listed = !x->over;
        x->over = true;
        if (listed)
                LIST_REMOVE(x, all);
        pthread_mutex_unlock(&s->sessions_lock);
        eventfd_write(x->free_fd, 1);
        if (listed)
                session_unref(s, x);
        eventfd_write(s->done_fd, 1); /* a private daemon may end */
        return session_code(e, reterr);
}

int session_close(Job *j, Diag *reterr) {
        Server *s = j->server;
        char who[32];
        Session *x;
        int e = session_of(j, &x, reterr);

        if (e != 0)
                return e;
        pthread_mutex_lock(&s->sessions_lock);
        x->closing++; /* refuses waiting turns; session_turn_begin() discards a turn that has just entered */
        if (x->turn)
                job_discard(x->turn); /* its thread leaves the session under this lock before the job goes */
        pthread_mutex_unlock(&s->sessions_lock);
        e = session_enter(s, x, true, j->cancel, reterr);
        snprintf(who, sizeof(who), "uid:%u", (unsigned)j->peer->uid);
        if (e == 0)
                e = session_end(s, x, &(SessionOver){"closed", who, json_is_true(json_object_get(j->params, "erase"))},
                                reterr);
        pthread_mutex_lock(&s->sessions_lock);
        x->closing--;
        pthread_mutex_unlock(&s->sessions_lock);
        if (e == 0)
                j->result = json_pack("{s:s}", "session", x->id);
        session_unref(s, x);
        return e;
}

/* The first session that is idle for too long, with a reference; else NULL and the time of the next one. */
static Session *session_idle_locked(Server *s, uint64_t now, uint64_t *ret_next) {
        Session *x;

        *ret_next = UINT64_MAX;
        LIST_FOREACH(x, &s->sessions, all) {
                if (x->deadline <= now && x->waiting == 0) {
                        x->users++;
                        return x;
                }
                *ret_next = MIN(*ret_next, x->deadline);
        }
        return NULL;
}

static void session_end_idle(Server *s, Session *x) {
        eventfd_t n;
        Diag d = {};
        bool idle;

        if (eventfd_read(x->free_fd, &n) == 0) {
                pthread_mutex_lock(&s->sessions_lock);
                idle = x->deadline <= clock_mono_usec() && x->waiting == 0; /* a turn may have come and gone meanwhile */
                pthread_mutex_unlock(&s->sessions_lock);
                if (!idle)
                        eventfd_write(x->free_fd, 1);
                else if (session_end(s, x, &(SessionOver){.reason = "idle"}, &d) != 0)
                        log_warning("session %s: %s", x->id, d.text);
        }
        session_unref(s, x);
}

static void *session_keep(void *arg) {
        Server *s = arg;

        pthread_mutex_lock(&s->sessions_lock);
        while (!s->sessions_stop) {
                uint64_t now = clock_mono_usec(), next;
                Session *x = session_idle_locked(s, now, &next);
                struct timespec until;

                if (x) {
                        pthread_mutex_unlock(&s->sessions_lock);
                        session_end_idle(s, x);
                        pthread_mutex_lock(&s->sessions_lock);
                        continue;
                }
                if (next == UINT64_MAX) {
                        pthread_cond_wait(&s->sessions_changed, &s->sessions_lock);
                        continue;
                }
                until = (struct timespec){.tv_sec = (time_t)(next / 1000000), .tv_nsec = (long)(next % 1000000 * 1000)};
                pthread_cond_timedwait(&s->sessions_changed, &s->sessions_lock, &until);
        }
        pthread_mutex_unlock(&s->sessions_lock);
        log_end_thread();
        return NULL;
}

int sessions_start(Server *s) {
        pthread_condattr_t a;
        int e;

        pthread_mutex_init(&s->sessions_lock, NULL);
        pthread_mutex_init(&s->adopt_lock, NULL);
        pthread_condattr_init(&a);
        pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
        pthread_cond_init(&s->sessions_changed, &a);
        pthread_condattr_destroy(&a);
        e = pthread_create(&s->keeper, NULL, session_keep, s);
        s->keeping = e == 0;
        return -e;
}

void sessions_end(Server *s) {
        Session *x;

        if (!s->keeping)
                return;
        pthread_mutex_lock(&s->sessions_lock);
        s->sessions_stop = true;
        pthread_cond_signal(&s->sessions_changed);
        pthread_mutex_unlock(&s->sessions_lock);
        pthread_join(s->keeper, NULL);
        s->keeping = false;
        while ((x = LIST_FIRST(&s->sessions))) {
                Diag d = {};

                if (!x->resumes && session_end(s, x, &(SessionOver){.reason = "daemon_stopped"}, &d) == 0)
                        continue;
                if (*d.text)
                        log_warning("session %s: %s", x->id, d.text);
                if (LIST_FIRST(&s->sessions) == x) { /* goes on with the next host */
                        LIST_REMOVE(x, all);
                        session_unref(s, x);
                }
        }
}
