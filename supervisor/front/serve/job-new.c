/* Runs: lethe-serve. Makes an invocation from a request, checks its streams, and frees its possessions. */
#include "serve/serve.h"

#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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
        detach_free(j);
        if (j->object)
                objects_place_free(j->server, j->settled ? NULL : j->object);
        json_decref(j->object);
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
        buf_deinit(&j->progress);
        free(j->regions);
        free(j);
}

/* Mask 0 and no synchronisation: the kernel knows kind and device of every file, and asks no server (statx(2)). */
static int job_stat_stream(int fd, struct statx *ret) {
        return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, ret) < 0 ? -errno : 0;
}

/* A file of a server's may never answer, and a regular file cannot be waited for. */
static bool job_stream_is_served(int fd, const struct statx *st) {
        switch (mounts_kind(st->stx_mnt_id)) {
        case MOUNT_LOCAL:
                return false;
        case MOUNT_UNKNOWN: /* in another namespace, as of a unit with ProtectSystem= */
                return S_ISREG(st->stx_mode) && fcntl(fd, F_GET_SEALS) < 0 /* otherwise in memory */ &&
                       mounts_kind_of_device(st->stx_dev_major, st->stx_dev_minor) != MOUNT_LOCAL;
        case MOUNT_SERVED:
        case MOUNT_LAYERED:
        default:
                return true;
        }
}

/* Whether fd may be the stream (0 to 2) of a run, without asking the file system of fd: open in the right mode, and
 * never able to block the daemon. *ret_null: fd is /dev/null. Returns 0 or SERVE_E_STREAMS with a message. */
static int job_check_stream(int fd, size_t stream, bool *ret_null, Diag *reterr) {
        int flags = fcntl(fd, F_GETFL), mode = flags & O_ACCMODE, e;
        struct statx st;

        if (flags < 0 || (flags & O_PATH))
                return diag(reterr, SERVE_E_STREAMS, "%s: was opened with O_PATH: it must be open for %s",
                            stream_names[stream], stream ? "writing" : "reading");
        e = job_stat_stream(fd, &st);
        if (e < 0)
                return diag(reterr, SERVE_E_STREAMS, "%s: %s", stream_names[stream], strerror(-e));
        if (!S_ISREG(st.stx_mode) && !S_ISFIFO(st.stx_mode) && !S_ISCHR(st.stx_mode) && !S_ISSOCK(st.stx_mode))
                return diag(reterr, SERVE_E_STREAMS,
                            "%s: must be a file, a pipe, a terminal or another character device, or a socket",
                            stream_names[stream]);
        if (mode != O_RDWR && mode != (stream ? O_WRONLY : O_RDONLY))
                return diag(reterr, SERVE_E_STREAMS, "%s: must be open for %s", stream_names[stream],
                            stream ? "writing" : "reading");
        if (job_stream_is_served(fd, &st))
                return diag(reterr, SERVE_E_STREAMS,
                            "%s: a file of a user-space or network file system, or of none that the daemon sees, may "
                            "never answer: pass a pipe", stream_names[stream]);
        *ret_null = S_ISCHR(st.stx_mode) && makedev(st.stx_rdev_major, st.stx_rdev_minor) == makedev(1, 3);
        return 0;
}

/* "stdio" names the descriptors in the order of passing. */
static int job_take_streams(Job *j, Client *c, Diag *reterr) {
        const json_t *names = json_object_get(j->params, "stdio");
        size_t n = json_array_size(names);
        FdSet f = client_take_fds(c);
        int e = 0;

        if (n != f.n)
                e = diag(reterr, SERVE_E_STREAMS, "stdio: names %zu streams, and %zu descriptors came with the request",
                         n, f.n);
        for (size_t i = 0; e == 0 && i < n; i++) {
                size_t stream = stream_number(json_array_get(names, i));
                bool null = false;

                e = job_check_stream(f.fds[i], stream, &null, reterr);
                if (e == 0 && null) {
                        j->shared[stream] = true;
                        j->streams[stream] = stream ? j->server->null : -1;
                } else if (e == 0)
                        j->streams[stream] = TAKE_FD(f.fds[i]);
        }
        fd_set_close(&f);
        names = json_object_get(j->params, "stream");
        for (size_t i = 0; i < json_array_size(names); i++)
                j->streamed[stream_number(json_array_get(names, i))] = true;
        return e;
}

/* A stream is passed on through a pipe, and may be opened anew so that the stream blocks no other work. */
static unsigned job_count_fds(const Job *j) {
        unsigned n = json_is_true(json_object_get(j->params, "detach")) ? JOB_FDS + 5 : JOB_FDS; /* input, output */

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
        *j = (Job){.server = c->server, .client = c, .id = json_incref((json_t *)id), .params = json_incref(params),
                   .streams = {-1, -1, -1}, .cancel = -1, .flows = {{.fd = -1}, {.fd = -1}, {.fd = -1}}};
        pthread_mutex_init(&j->lock, NULL);
        j->peer = c->peer;
        j->peer->users++;
        j->charged = share_of_json(params);
        if (!share_take(c->server, c->peer, j->charged)) {
                j->charged = 0;
                job_free(j);
                c->server->n_refused++;
                *ret_error = diag(reterr, SERVE_E_BUSY,
                                  "the daemon holds all that it may for this client: ask again later");
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

Job *job_of_object(Server *s, json_t *begun) {
        const struct ucred self = {.pid = getpid(), .uid = geteuid(), .gid = getegid()};
        Job *j = calloc(1, sizeof(*j));

        if (!j)
                return NULL;
        *j = (Job){.server = s, .op = JOB_OBJECT, .streams = {-1, -1, -1}, .cancel = -1, .n_fds = JOB_FDS,
                   .flows = {{.fd = -1}, {.fd = -1}, {.fd = -1}}};
        pthread_mutex_init(&j->lock, NULL);
        j->peer = peer_use(s, &self);
        j->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (!j->peer || j->cancel < 0) {
                job_free(j);
                return NULL;
        }
        j->object = json_incref(begun);
        return j;
}
