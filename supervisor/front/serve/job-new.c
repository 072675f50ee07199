/* Runs: lethe-serve. How an invocation is made of a request, and what it takes with it when it goes. */
#include "serve/serve.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

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

static size_t job_stream_number(const json_t *name) {
        const char *text = json_text(name);

        return strcmp(text, "stdin") == 0 ? 0 : strcmp(text, "stdout") == 0 ? 1 : 2;
}

/* "stdio" names them in the order in which they were passed. */
static int job_take_streams(Job *j, Client *c, Diag *reterr) {
        const json_t *names = json_object_get(j->params, "stdio");
        size_t n = json_array_size(names);
        FdSet f = client_take_fds(c);
        int e = 0;

        if (n != f.n)
                e = diag(reterr, SERVE_E_STREAMS, "stdio: names %zu streams, and %zu descriptors came with the request",
                         n, f.n);
        for (size_t i = 0; e == 0 && i < n; i++) {
                size_t stream = job_stream_number(json_array_get(names, i));
                bool null = false;

                e = stream_check(f.fds[i], stream, &null, reterr);
                if (e == 0 && null) {
                        j->shared[stream] = true;
                        j->streams[stream] = stream ? j->server->null : -1;
                } else if (e == 0)
                        j->streams[stream] = TAKE_FD(f.fds[i]);
        }
        fd_set_close(&f);
        names = json_object_get(j->params, "stream");
        for (size_t i = 0; i < json_array_size(names); i++)
                j->streamed[job_stream_number(json_array_get(names, i))] = true;
        return e;
}

unsigned job_queued_fds(const Job *j) {
        unsigned n = 1;

        for (size_t i = 0; i < SERVE_STREAMS; i++)
                n += j->streams[i] >= 0 && !j->shared[i] && !j->streamed[i];
        return n;
}

/* A stream is passed on through a pipe, and may be opened anew so that it holds up nobody. */
static unsigned job_count_fds(const Job *j) {
        unsigned n = JOB_FDS;

        for (size_t i = 0; i < SERVE_STREAMS; i++)
                if ((j->streams[i] >= 0 && !j->shared[i]) || j->streamed[i])
                        n += i == 0 ? 3 : 2;
                else if (!j->shared[i] && (i > 0 || json_object_get(j->params, "stdin")))
                        n += i == 0 ? 2 : 1;
        return n;
}

int job_new(Client *c, const json_t *id, json_t *params, Job **ret, int *ret_error, Diag *reterr) {
        Job *j = calloc(1, sizeof(*j));
        int e;

        if (!j)
                return -ENOMEM;
        *j = (Job){.server = c->server, .client = c, .id = json_incref((json_t *)id), .params = json_incref(params), .streams = {-1, -1, -1},
                   .cancel = -1, .flows = {{.fd = -1}, {.fd = -1}, {.fd = -1}}};
        pthread_mutex_init(&j->lock, NULL);
        j->peer = c->peer;
        j->peer->users++;
        j->charged = share_of_json(params);
        if (!share_take(c->server, c->peer, j->charged)) {
                j->charged = 0;
                job_free(j);
                c->server->n_refused++;
                *ret_error = diag(reterr, SERVE_E_BUSY, "the daemon holds all that it may for this client: ask again later");
                return 1;
        }
        e = job_take_streams(j, c, reterr);
        j->n_fds = job_count_fds(j);
        if (e == 0)
                e = job_make_room(c->server, c->peer, job_queued_fds(j), reterr);
        if (e == 0 && (j->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
                e = diag(reterr, SERVE_E_BUSY, "no descriptors are left: %s", strerror(errno));
        if (e != 0) {
                job_free(j);
                *ret_error = e;
                return 1;
        }
        c->n_jobs++;
        *ret = j;
        return 0;
}
