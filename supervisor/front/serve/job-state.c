/* Runs: lethe-serve. The possessions of an invocation: its policy, its streams, and their end. */
#include "serve/serve.h"

SharedPolicy *shared_policy_new(Policy *p, unsigned turn) {
        SharedPolicy *s = calloc(1, sizeof(*s));

        if (!s) {
                policy_free(p);
                return NULL;
        }
        s->policy = p;
        s->turn = turn;
        atomic_init(&s->users, 1);
        return s;
}

void shared_policy_drop(SharedPolicy *p) {
        if (!p || atomic_fetch_sub(&p->users, 1) > 1)
                return;
        policy_free(p->policy);
        free(p);
}

void job_judging(void *job, bool on) {
        SharedPolicy *before = NULL;
        Job *j = job;
        Server *s = j->server;

        pthread_mutex_lock(&s->lock);
        j->judging = on;
        if (on && j->policy != s->policy) {
                before = j->policy;
                j->policy = s->policy;
                atomic_fetch_add(&j->policy->users, 1);
        }
        pthread_mutex_unlock(&s->lock);
        if (on && !j->options)
                j->turn = j->policy->turn;
        else if (on) {
                j->options->policy = j->policy->policy;
                j->options->turn = j->policy->turn;
        }
        shared_policy_drop(before);
}

unsigned job_queued_fds(const Job *j) {
        unsigned n = 1;

        for (size_t i = 0; i < SERVE_STREAMS; i++)
                n += j->streams[i] >= 0 && !j->shared[i] && !j->streamed[i];
        return n;
}

void job_close_streams(Job *j) {
        for (size_t i = 0; i < SERVE_STREAMS; i++)
                if (!j->shared[i])
                        closep(&j->streams[i]);
}

void job_free(Job *j) {
        if (!j)
                return;
        flow_close(j);
        job_close_streams(j);
        closep(&j->cancel);
        json_decref(j->id);
        json_decref(j->params);
        json_decref(j->receipt);
        json_decref(j->result);
        shared_policy_drop(j->policy);
        for (size_t i = 0; i < SERVE_STREAMS; i++)
                capture_deinit(&j->captures[i]);
        if (j->peer)
                share_give(j->server, j->peer, j->charged);
        if (j->peer)
                peer_drop(j->server, j->peer);
        pthread_mutex_destroy(&j->lock);
        free(j->regions);
        free(j);
}
