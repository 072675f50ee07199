/* Runs: lethe-serve. Runs that go on without their client (`lethe run --detach`, A-15). Output goes into a file of the
 * store (output/output.h), never to a reader: no follower can hold up the region or the daemon. Standard input,
 * when wanted, is a socket pair: `attach` hands a client the far end, and the daemon itself never writes there. */
#include "serve/serve.h"

#include "base/io.h"
#include "base/log.h"
#include "output/output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>

static void detach_take(RegionSink *sink, const char *bytes, size_t n) {
        struct DetachedSink *s = (struct DetachedSink *)sink;

        if (s->of->writer)
                output_add(s->of->writer, (OutputKind)s->kind, bytes, n);
}

static bool detach_has_terminal(const Job *j) {
        const json_t *options = json_object_get(j->params, "options");

        for (size_t i = 0; i < json_array_size(options); i++)
                if (json_text_is(json_array_get(json_array_get(options, i), 0), "tty"))
                        return true;
        return false;
}

int detach_new(Job *j) {
        const bool terminal = detach_has_terminal(j);
        Detached *d = calloc(1, sizeof(*d));
        int p[2];

        if (!d)
                return -ENOMEM;
        *d = (Detached){.out = {.sink.take = detach_take, .of = d, .kind = OUTPUT_OUT},
                        .err = {.sink.take = detach_take, .of = d, .kind = OUTPUT_ERR},
                        .input = -1,
                        .removes = json_is_true(json_object_get(j->params, "remove"))};
        j->detached = d;
        if (!terminal && !json_is_true(json_object_get(j->params, "interactive")))
                return 0;
        if (socketpair(AF_UNIX, (terminal ? SOCK_SEQPACKET : SOCK_STREAM) | SOCK_CLOEXEC, 0, p) < 0)
                return -errno;
        j->streams[0] = p[0];
        d->input = p[1];
        return 0;
}

static bool detach_is_free(void *userdata, uint64_t lock) {
        return store_lock_is_free(userdata, lock);
}

/* The thread may be within a commit of the store: no transaction is begun here. */
static void detach_trim(const Job *j) {
        Store *s = j->server->store;
        const int e = output_trim(store_dir(s), &j->policy->policy->outputs, detach_is_free, s);

        if (e < 0)
                log_warning("older outputs of detached regions cannot be dropped: %s", strerror(-e));
}

void detach_begun(Job *j, const char *region) {
        Store *s = j->server->store;
        Detached *d = j->detached;

        memcpy(d->region, region, sizeof(d->region));
        d->error = output_begin(store_dir(s), region, store_own_lock(s), detach_has_terminal(j), &d->writer);
        if (d->error == 0) {
                detach_trim(j);
                return;
        }
        /* No region without a place for its output. */
        pthread_mutex_lock(&j->lock);
        if (j->order.ssi_signo == 0)
                j->order = (struct signalfd_siginfo){.ssi_signo = SIGTERM, .ssi_pid = (uint32_t)getpid(), .ssi_uid = getuid()};
        pthread_mutex_unlock(&j->lock);
        eventfd_write(j->cancel, 1);
}

/* For the client: the port that the kernel chose, for example. Without memory the record alone has them. */
static char *detach_text(const Job *j) {
        const Buf *text = &j->captures[2].text;
        _cleanup_buf_ Buf plain = {.max = 4 * SERVE_CAPTURE_MAX};

        return text->n > 0 && buf_add_plain(&plain, text->data, text->n) == 0 ? TAKE_PTR(plain.data) : NULL;
}

void detach_started(void *job) {
        Job *j = job;
        Server *s = j->server;

        if (j->detached->started || j->detached->error)
                return;
        j->detached->said = detach_text(j);
        j->detached->started = true;
        pthread_mutex_lock(&s->lock);
        j->next_started = s->started;
        s->started = j;
        pthread_mutex_unlock(&s->lock);
        eventfd_write(s->done_fd, 1);
}

/* Messages until the start are of the client; later ones have no reader: the record has them. */
void detach_log_line(void *job, const char *line, size_t n) {
        Job *j = job;

        if (!j->detached->started)
                j->captures[2].sink.take(&j->captures[2].sink, line, n);
}

/* The program ended before its start was reported. */
static bool detach_ran(const Job *j) {
        const char *outcome = json_text(json_object_get(j->receipt, "outcome"));
        uint64_t wall = 0;

        json_get_u64(json_object_get(json_object_get(j->receipt, "usage"), "wall_usec"), &wall);
        return j->detached->error == 0 && outcome && strcmp(outcome, "setup_failed") != 0 && wall > 0;
}

bool detach_over(Job *j) {
        const char *dir = store_dir(j->server->store);
        Detached *d = j->detached;
        const bool ran = d->started || detach_ran(j);
        int e = 0;

        d->started |= ran;
        output_end(TAKE_PTR(d->writer));
        if (*d->region && d->error == 0 && (!ran || d->removes))
                e = output_drop(dir, d->region);
        if (e < 0)
                log_warning("the output of region %s cannot be dropped: %s", d->region, strerror(-e));
        if (d->error) {
                char text[200];
                int n = snprintf(text, sizeof(text), "lethe run: the output of a detached region cannot be kept in %s/output: %s\n",
                                 dir, strerror(-d->error));

                j->captures[2].sink.take(&j->captures[2].sink, text, MIN((size_t)n, sizeof(text) - 1));
        }
        return ran;
}

void detach_tell(Job *j) {
        Client *c = j->client;

        if (!c)
                return;
        job_forget(j);
        client_result(c, j->id, detach_result(j));
}

json_t *detach_result(const Job *j) {
        return json_pack("{s:b, s:s, s:s*}", "detached", true, "region", j->detached->region, "stderr", j->detached->said);
}

void detach_free(Job *j) {
        if (!j->detached)
                return;
        output_end(TAKE_PTR(j->detached->writer));
        closep(&j->detached->input);
        free(j->detached->said);
        free(TAKE_PTR(j->detached));
}

int detach_attach(Client *c, const json_t *id, const char *region, Diag *reterr) {
        Job *j = region_id_valid(region) ? job_of_region(c->server, region) : NULL;
        _cleanup_free_ char *line = NULL;
        _cleanup_json_ json_t *answer = NULL;
        char *text;
        int n, input;

        if (!j || !other_user_may_see(c, j) || !j->detached || strcmp(j->detached->region, region) != 0)
                return diag(reterr, SERVE_E_NO_REGION, "region %s is no detached region that is alive here",
                            DIAG_QUOTED(region));
        input = j->detached->input;
        answer = json_pack("{s:s, s:O, s:{s:b, s:b}}", "jsonrpc", "2.0", "id", id, "result", "input", input >= 0, "terminal",
                           detach_has_terminal(j));
        text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
        n = text ? asprintf(&line, "%s\n", text) : -1;
        free(text);
        if (n < 0) {
                line = NULL;
                return -ENOMEM;
        }
        return io_send_fds(c->fd, line, (size_t)n, &input, input >= 0);
}
