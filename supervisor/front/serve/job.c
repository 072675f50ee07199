/* Runs: lethe-serve. The queue of invocations. Peers with queued jobs stand in a ring; each turn of the ring starts a
 * single job of each peer. So a peer with a thousand requests delays a peer with a single request by one place. */
#include "serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

#define RESERVE 16 /* places reserved for peers with fewer running jobs, so that no peer can take all places */
#define OWN 8      /* places of RESERVE, or a quarter, for the daemon's own user and root only */
#define QUEUED_PART 4 /* of all descriptors, for queued jobs */

static void job_unqueue(Job *j) {
        TAILQ_REMOVE(&j->peer->jobs, j, queued);
        j->peer->n_queued--;
        j->server->n_queued--;
        j->server->fds_of_queued -= job_queued_fds(j);
}

void job_forget(Job *j) {
        flow_close(j);
        if (j->client)
                j->client->n_jobs--;
        j->client = NULL;
}

/* Frees the job; a connected client gets the reason. */
static void job_refuse(Job *j, int code, const char *why) {
        Client *c = j->client;

        job_forget(j);
        if (c)
                client_error(c, j->id, code, "%s", why);
        job_free(j);
}

/* Another user may have as many as that user leaves free (a dynamic threshold, as switches share their buffers:
 * Choudhury and Hahne 1998). So a newcomer always finds a place, however many users came before. */
static bool job_has_share(const Peer *p, uint64_t has, uint64_t in_use, uint64_t most) {
        return !p->foreign || has < most - MIN(in_use, most);
}

int job_make_room(Server *s, const Peer *asks, unsigned n_fds, Diag *reterr) {
        unsigned n_waiting = 1;
        Peer *most = NULL, *p;
        Diag why;
        Job *last;

        if (!job_has_share(asks, asks->n_queued, s->n_queued, s->options.max_queued)) {
                s->n_refused++;
                return diag(reterr, SERVE_E_BUSY,
                            "%u of this user wait, and %u in all: one user may have as much as is left free, ask again "
                            "later", asks->n_queued, s->n_queued);
        }

        if (s->n_queued < s->options.max_queued && s->fds_of_queued + n_fds <= s->options.max_fds / QUEUED_PART)
                return 0;
        LIST_FOREACH(p, &s->peers, all) {
                n_waiting += p->n_queued > 0 && p != asks;
                if (p != asks && (!most || p->n_queued > most->n_queued))
                        most = p;
        }
        if (!most || most->n_queued <= asks->n_queued + 1 || asks->n_queued >= s->options.max_queued / n_waiting) {
                s->n_refused++;
                return diag(reterr, SERVE_E_BUSY, "%u run and %u wait: that many may wait, ask again later",
                            s->n_running, s->n_queued);
        }
        last = TAILQ_LAST(&most->jobs, JobQueue);
        diag(&why, 0, "%u run and %u wait, most of them of this client: it gave way to another one", s->n_running,
             s->n_queued);
        job_unqueue(last);
        s->n_refused++;
        job_refuse(last, SERVE_E_BUSY, why.text);
        return 0;
}

static void job_enter_ring(Server *s, Peer *p) {
        if (p->waiting)
                return;
        p->waiting = true;
        p->users++;
        TAILQ_INSERT_TAIL(&s->ring, p, ring);
}

static Peer *job_leave_ring(Server *s) {
        Peer *p = TAILQ_FIRST(&s->ring);

        TAILQ_REMOVE(&s->ring, p, ring);
        p->waiting = false;
        return p;
}

static int job_start(Job *j) {
        Server *s = j->server;
        int e;

        if (!GROW(s->running, s->n_threads))
                return -ENOMEM;
        j->state = JOB_RUNNING;
        e = flow_open(j) ?: job_thread_start(j);
        if (e < 0)
                return e;
        s->running[s->n_threads++] = j;
        s->n_running++;
        s->fds_of_running += j->n_fds;
        j->peer->n_running++;
        return 0;
}

static void job_start_next(Peer *p) {
        Job *j = TAILQ_FIRST(&p->jobs);
        Diag why;
        int e;

        job_unqueue(j);
        e = job_start(j);
        if (e < 0)
                job_refuse(j, diag(&why, SERVE_E_BUSY, "no thread for it: %s", strerror(-e)), why.text);
}

static bool job_has_fds(const Server *s, const Job *next_or_null) {
        return !next_or_null || s->n_threads == 0 ||
               s->fds_of_running + s->fds_of_queued + next_or_null->n_fds <= s->options.max_fds;
}

static uint64_t job_own_places(const Server *s) {
        return MIN((uint64_t)OWN, s->options.max_running / 4);
}

bool job_place(void *job, bool on) {
        Job *j = job;
        Server *s = j->server;
        Peer *p = j->peer;
        bool fits = true;

        pthread_mutex_lock(&s->lock);
        if (on)
                fits = job_has_share(p, p->n_running + p->n_subs, s->n_threads + s->n_subs + job_own_places(s),
                                 s->options.max_running);
        if (fits) {
                p->n_subs += on ? 1U : -1U;
                s->n_subs += on ? 1U : -1U;
        }
        pthread_mutex_unlock(&s->lock);
        if (!on)
                eventfd_write(s->done_fd, 1); /* a client may have waited for the descriptors */
        return fits;
}

static void jobs_start(Server *s) {
        unsigned n_peers = 0;
        const Peer *waits;

        TAILQ_FOREACH(waits, &s->ring, ring)
                n_peers++;
        while (!TAILQ_EMPTY(&s->ring) && n_peers > 0 && s->n_threads < s->options.max_running &&
               job_has_fds(s, TAILQ_FIRST(&TAILQ_FIRST(&s->ring)->jobs))) {
                Peer *p = job_leave_ring(s);
                uint64_t own = job_own_places(s);
                uint64_t has = p->n_running + p->n_subs, in_use = s->n_threads + s->n_subs;
                bool has_enough = !job_has_share(p, has, in_use + own, s->options.max_running) ||
                                  (s->n_running + s->n_subs + RESERVE >= s->options.max_running && has >= RESERVE) ||
                                  (p->foreign && in_use + own >= s->options.max_running);

                n_peers -= has_enough; /* each peer is passed over once */
                if (!TAILQ_EMPTY(&p->jobs) && !has_enough)
                        job_start_next(p);
                if (!TAILQ_EMPTY(&p->jobs))
                        job_enter_ring(s, p);
                else if (!has_enough)
                        n_peers--;
                peer_drop(s, p);
        }
}

void job_submit(Job *j) {
        TAILQ_INSERT_TAIL(&j->peer->jobs, j, queued);
        j->peer->n_queued++;
        j->server->n_queued++;
        j->server->fds_of_queued += job_queued_fds(j);
        job_enter_ring(j->server, j->peer);
        jobs_start(j->server);
}

static void job_order(Job *j, int signo, pid_t pid, uid_t uid) {
        const struct signalfd_siginfo si = {.ssi_signo = (uint32_t)signo, .ssi_pid = (uint32_t)pid, .ssi_uid = uid};

        pthread_mutex_lock(&j->lock);
        if (j->order.ssi_signo == 0)
                j->order = si;
        pthread_mutex_unlock(&j->lock);
        eventfd_write(j->cancel, 1);
}

/* No part of the job ran. */
static void job_drop_queued(Job *j, int signo) {
        Client *c = j->client;

        job_unqueue(j);
        job_forget(j);
        if (c)
                client_result(c, j->id,
                              json_pack("{s:i, s:n, s:s}", "exit_code", 128 + signo, "region", "message",
                                        "cancelled before it began"));
        job_free(j);
}

void job_cancel(Job *j, int signo) {
        if (j->state == JOB_QUEUED)
                job_drop_queued(j, signo);
        else
                job_order(j, signo, j->peer->pid, j->peer->uid);
}

void job_discard(Job *j) {
        atomic_store(&j->unwanted, true);
        job_cancel(j, SIGTERM);
}

/* A job counts as over from the moment when the client may know of the end. */
static void job_uncount(Job *j) {
        if (j->state == JOB_OVER)
                return;
        j->state = JOB_OVER;
        j->server->n_running--;
        j->peer->n_running--;
        j->server->n_served += !j->error;
}

/* The client goes away: the unread jobs are freed. */
static void job_drop_unread(const Client *c) {
        for (Job *j = LIST_FIRST(&c->server->unread), *next; j; j = next) {
                next = LIST_NEXT(j, unread);
                if (j->client != c)
                        continue;
                LIST_REMOVE(j, unread);
                job_uncount(j);
                job_forget(j);
                job_free(j);
        }
}

static void job_each(Server *s, void (*fn)(Job *j, const void *arg, int signo), const void *arg, int signo) {
        for (size_t i = 0; i < s->n_threads; i++)
                fn(s->running[i], arg, signo);
        for (Peer *p = LIST_FIRST(&s->peers), *next; p; p = next) {
                next = LIST_NEXT(p, all);
                p->users++; /* the freed job may be the peer's last user */
                for (Job *j = TAILQ_FIRST(&p->jobs), *after; j; j = after) {
                        after = TAILQ_NEXT(j, queued);
                        fn(j, arg, signo);
                }
                peer_drop(s, p);
        }
}

static void job_judge_queued(Job *j, const void *arg, int signo) {
        Diag d = {};

        if (j->state != JOB_QUEUED || !j->peer->foreign ||
            other_user_still_may(j->server->policy->policy, j->peer->uid, j->params, &d) == 0)
                return;
        job_unqueue(j);
        job_refuse(j, SERVE_E_NOT_ALLOWED, d.text);
}

void jobs_judge_queued(Server *s) {
        job_each(s, job_judge_queued, NULL, 0);
}

static void job_cancel_any(Job *j, const void *arg, int signo) {
        if (j->state == JOB_QUEUED)
                job_drop_queued(j, signo);
        else
                job_order(j, signo, getpid(), getuid());
}

void jobs_cancel_all(Server *s, int signo) {
        job_each(s, job_cancel_any, NULL, signo);
}

static void job_cancel_if_of(Job *j, const void *arg, int signo) {
        if (j->client != arg)
                return;
        job_forget(j);
        job_cancel(j, signo);
}

void jobs_cancel_of(Client *c, int signo) {
        if (c->n_jobs > 0)
                job_each(c->server, job_cancel_if_of, c, signo);
        if (c->n_jobs > 0)
                job_drop_unread(c);
}

Job *job_find(Client *c, const json_t *id) {
        Server *s = c->server;
        Job *j;

        for (size_t i = 0; i < s->n_threads; i++)
                if (s->running[i]->client == c && json_equal(s->running[i]->id, id))
                        return s->running[i];
        TAILQ_FOREACH(j, &c->peer->jobs, queued)
                if (j->client == c && json_equal(j->id, id))
                        return j;
        LIST_FOREACH(j, &s->unread, unread)
                if (j->client == c && json_equal(j->id, id))
                        return j;
        return NULL;
}

Job *job_of_region(Server *s, const char *region) {
        for (size_t i = 0; i < s->n_threads; i++) {
                Job *j = s->running[i];
                bool is = false;

                if (j->state == JOB_OVER)
                        continue;
                pthread_mutex_lock(&j->lock);
                for (size_t k = 0; k < j->n_regions && !is; k++)
                        is = strcmp(j->regions[k], region) == 0;
                is = is || strcmp(j->compressor, region) == 0;
                pthread_mutex_unlock(&j->lock);
                if (is)
                        return j;
        }
        return NULL;
}

/* Sends the answer, after the client got all output. */
static void job_answer(Job *j) {
        Client *c = j->client;

        progress_send(j);
        job_close_streams(j); /* with its ends of the socket pairs */
        j->ready = true;
        if (j->told || flow_is_open(j))
                return;
        j->told = true;
        job_uncount(j);
        job_forget(j);
        if (c && j->error)
                client_error(c, j->id, j->error, "%s", j->why.text);
        else if (c)
                client_result(c, j->id, TAKE_PTR(j->result));
}

static void job_over(Server *s, Job *j) {
        pthread_join(j->thread, NULL); /* the thread has nothing left to do */
        for (size_t i = 0; i < s->n_threads; i++)
                if (s->running[i] == j) {
                        s->running[i] = s->running[--s->n_threads];
                        break;
                }
        s->fds_of_running -= j->n_fds;
        j->thread_over = true;
        job_answer(j);
        if (j->told) {
                job_free(j);
                return;
        }
        LIST_INSERT_HEAD(&s->unread, j, unread);
}

void job_told(Job *j) {
        Server *s = j->server;

        if (!j->ready)
                return;
        job_answer(j);
        if (j->thread_over) {
                LIST_REMOVE(j, unread);
                job_free(j);
        }
        jobs_start(s); /* the job counted until now */
        s->hooks->may_end(s);
}

int jobs_on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Server *s = userdata;
        Job *done, *answered, *started;
        eventfd_t n;

        eventfd_read(fd, &n);
        pthread_mutex_lock(&s->lock);
        done = TAKE_PTR(s->done);
        answered = TAKE_PTR(s->answered);
        started = TAKE_PTR(s->started);
        pthread_mutex_unlock(&s->lock);
        for (size_t i = 0; i < s->n_threads; i++)
                progress_send(s->running[i]);
        for (; started; started = started->next_started)
                detach_tell(started);
        for (; answered; answered = answered->next_answered)
                job_answer(answered);
        while (done) {
                Job *j = done;

                done = j->next;
                job_over(s, j);
        }
        s->hooks->check(s);
        jobs_start(s);
        s->hooks->may_end(s);
        return 0;
}
