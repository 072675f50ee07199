/* Runs: lethe-serve. A connection: lines and their descriptors in, answers out. A client costs the front bounded memory
 * and bounded time, whatever the client sends or leaves unread. */
#include "serve/serve.h"

#include "base/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>

#define CHUNK 65536
#define LINES_AT_ONCE 16                /* then other clients have a turn */
#define OUT_BOUND (4 * 1024 * 1024)     /* bytes of unread answers per client */
#define BAD_MAX 16                      /* malformed requests per connection */
#define FDS_AT_ONCE 253                 /* SCM_MAX_FD: the kernel drops no descriptor */

void fd_set_close(FdSet *f) {
        for (size_t i = 0; i < f->n; i++)
                closep(&f->fds[i]);
        f->n = 0;
}

static uint64_t client_n_taken(const Client *c) {
        return c->n_fed - (c->in.end - c->in.start);
}

FdSet client_take_fds(Client *c) {
        FdSet f = {};

        while (c->n_sets > 0 && c->sets[0].at < client_n_taken(c)) {
                fd_set_close(&f); /* passed with an earlier line, which did not use them */
                f = c->sets[0];
                c->server->held_fds -= f.n;
                memmove(c->sets, c->sets + 1, --c->n_sets * sizeof(c->sets[0]));
        }
        return f;
}

static void client_drop_fds(Client *c) {
        FdSet f = client_take_fds(c);

        fd_set_close(&f);
}

static void client_drop_sets(Client *c) {
        for (; c->n_sets > 0; c->n_sets--) {
                c->server->held_fds -= c->sets[c->n_sets - 1].n;
                fd_set_close(&c->sets[c->n_sets - 1]);
        }
}

void client_free(Client *c) {
        Server *s = c->server;

        s->hooks->cancel_jobs(c, SIGHUP);
        LIST_REMOVE(c, all);
        s->n_clients--;
        sd_event_source_disable_unref(c->source);
        sd_event_source_disable_unref(c->again);
        client_drop_sets(c);
        s->held -= c->in.room;
        json_decref(c->reload_id);
        line_reader_deinit(&c->in);
        line_queue_deinit(&c->out);
        if (c->peer && c->peer->foreign)
                discard_connection(s, TAKE_FD(c->fd));
        closep(&c->fd);
        if (c->peer) {
                share_give(s, c->peer, c->charged);
                c->peer->n_clients--;
                peer_drop(s, c->peer);
        }
        free(c);
        s->hooks->may_end(s);
}

/* Sets the events for the loop to watch. */
static void client_watch(Client *c) {
        const char *bytes;
        bool more = line_queue_peek(&c->out, &bytes) > 0,
             take = !c->at_end && !c->closing && !c->again && !line_queue_full(&c->out);

        sd_event_source_set_io_events(c->source, (take ? EPOLLIN : 0U) | (more ? EPOLLOUT : 0U));
}

static void client_flush(Client *c) {
        const char *bytes;
        size_t n;

        while (!c->broken && (n = line_queue_peek(&c->out, &bytes)) > 0) {
                ssize_t w = send(c->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (w < 0 && errno == EAGAIN)
                        return;
                if (w >= 0)
                        line_queue_sent(&c->out, (size_t)w);
                else
                        c->broken = errno != EINTR;
        }
}

/* No work is left for the client. */
static bool client_is_over(const Client *c) {
        const char *bytes;

        return c->broken || (line_queue_peek(&c->out, &bytes) == 0 &&
                             (c->closing || (c->at_end && !c->more && c->n_jobs == 0 && !c->reload_id)));
}

static int client_on_again(sd_event_source *source, void *userdata);

/* Charges unread answers to the account of all held memory. */
static void client_charge(Client *c) {
        size_t n = c->out.bytes.n - c->out.sent;

        /* the client does not read its answers */
        if (n > c->charged && !share_take(c->server, c->peer, n - c->charged)) {
                c->broken = true;
                line_queue_clear(&c->out);
                n = 0;
        }
        if (n < c->charged)
                share_give(c->server, c->peer, c->charged - n);
        c->charged = n;
}

/* Frees the client, or takes more lines, in the loop alone: the caller may still use the client. */
static void client_settle(Client *c) {
        client_flush(c);
        client_charge(c);
        c->server->hooks->resume_output(c);
        if (!c->again && (client_is_over(c) || (c->more && !c->closing && !line_queue_full(&c->out))))
                c->closing |= sd_event_add_defer(c->server->event, &c->again, client_on_again, c) < 0;
        client_watch(c);
}

/* No line to the client can be left out: the connection must end. */
static void client_give_up(Client *c) {
        c->closing = true;
        line_queue_clear(&c->out);
}

void client_send_line(Client *c, const char *line, size_t n) {
        if (line_queue_add(&c->out, line, n) < 0 || c->out.bytes.n - c->out.sent > OUT_BOUND + SERVE_ANSWER_MAX)
                client_give_up(c);
        client_settle(c);
}

/* Takes o; NULL: out of memory. */
static void client_send(Client *c, json_t *o) {
        _cleanup_json_ json_t *owned = o;
        /* overwritten when freed (json_wipe_freed()) */
        char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;

        if (!text || line_queue_add(&c->out, text, strlen(text)) < 0 || line_queue_add(&c->out, "\n", 1) < 0 ||
            c->out.bytes.n - c->out.sent > OUT_BOUND + SERVE_ANSWER_MAX)
                client_give_up(c);
        free(text);
        client_settle(c);
}

#define SERVE_ERROR(id, word, number) {word, number},
static const struct {
        const char *word;
        int number;
} client_errors[] = {
#include "schema/serve-errors.def"
};
#undef SERVE_ERROR

const char *client_error_word(int code) {
        for (size_t i = 0; i < ARRAY_SIZE(client_errors); i++)
                if (client_errors[i].number == -code)
                        return client_errors[i].word;
        return "internal";
}

void client_result(Client *c, const json_t *id, json_t *result) {
        client_send(c, json_pack("{s:s, s:O?, s:o}", "jsonrpc", "2.0", "id", id ?: json_null(), "result", result));
}

void client_error(Client *c, const json_t *id, int code, const char *fmt, ...) {
        Diag d = {};
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(d.text, sizeof(d.text), fmt, ap);
        va_end(ap);
        client_send(c, json_pack("{s:s, s:O?, s:{s:i, s:{s:s}, s:s}}", "jsonrpc", "2.0", "id", id ?: json_null(),
                                 "error", "code", -code, "data", "code", client_error_word(code), "message", d.text));
}

void client_finish(Client *c) {
        c->closing = true;
        client_settle(c);
}

void client_bad(Client *c) {
        if (++c->n_bad == BAD_MAX)
                client_finish(c);
}

/* Returns true when there is more to take. */
static bool client_take_lines(Client *c) {
        for (unsigned i = 0; i < LINES_AT_ONCE && !c->closing && !line_queue_full(&c->out); i++) {
                const char *line;
                size_t n;

                switch (line_reader_next(&c->in, &line, &n)) {
                case LINE_WHOLE:
                        if (n > 0)
                                c->server->hooks->call_method(c, line, n);
                        client_drop_fds(c);
                        break;
                case LINE_TOO_LONG:
                        client_drop_fds(c);
                        client_error(c, NULL, SERVE_E_LINE_TOO_LONG, "a request has at most %d bytes", SERVE_LINE_MAX);
                        client_bad(c);
                        break;
                case LINE_PARTIAL:
                case LINE_NONE:
                default:
                        return false;
                }
        }
        return true;
}

/* While unfinished requests hold too many descriptors: the client whose descriptors wait longest loses them. */
static void client_bound_fds(Server *s) {
        while (s->held_fds > SERVE_HELD_FDS_MAX) {
                Client *slowest = NULL, *c;

                LIST_FOREACH(c, &s->clients, all)
                        if (c->n_sets > 0 && (!slowest || c->last_usec < slowest->last_usec))
                                slowest = c;
                assert(slowest);
                client_drop_sets(slowest);
                client_error(slowest, NULL, SERVE_E_BUSY,
                             "too many descriptors of unfinished requests are held: all of them together have at most "
                             "%d", SERVE_HELD_FDS_MAX);
                client_finish(slowest);
        }
}

static void client_go_on(Client *c) {
        c->more = client_take_lines(c);
        client_settle(c);
        client_bound_fds(c->server);
}

static int client_on_again(sd_event_source *source, void *userdata) {
        Client *c = userdata;

        c->again = sd_event_source_disable_unref(c->again);
        client_flush(c);
        if (client_is_over(c))
                client_free(c);
        else
                client_go_on(c);
        return 0;
}

static bool client_keep_fds(Client *c, struct msghdr *m) {
        FdSet f = {.at = c->n_fed - 1};
        bool fits = !(m->msg_flags & MSG_CTRUNC);

        for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
                size_t n = h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS
                                   ? (h->cmsg_len - CMSG_LEN(0)) / sizeof(int)
                                   : 0;

                for (size_t i = 0; i < n; i++) {
                        int fd;

                        memcpy(&fd, CMSG_DATA(h) + i * sizeof(int), sizeof(fd));
                        if (f.n < SERVE_STREAMS)
                                f.fds[f.n++] = fd;
                        else
                                close(fd);
                        fits &= i < SERVE_STREAMS;
                }
        }
        if (f.n == 0)
                return fits;
        if (!fits || c->n_sets == CLIENT_FD_SETS) {
                fd_set_close(&f);
                return false;
        }
        c->sets[c->n_sets++] = f;
        c->server->held_fds += f.n;
        return true;
}

/* Descriptors of other users are looked for before the bytes are taken, and are never taken (discard.c). */
static ssize_t client_receive_foreign(Client *c, struct msghdr *m) {
        ssize_t n;

        m->msg_control = NULL;
        m->msg_controllen = 0;
        n = recvmsg(c->fd, m, MSG_DONTWAIT | MSG_PEEK);
        if (n <= 0 || m->msg_flags & MSG_CTRUNC)
                return n;
        return recv(c->fd, m->msg_iov->iov_base, (size_t)n, MSG_DONTWAIT);
}

/* Returns false at the end of the client's input. */
static bool client_receive(Client *c) {
        char control[CMSG_SPACE(FDS_AT_ONCE * sizeof(int))] __attribute__((aligned(8)));
        size_t room = c->in.room;
        struct iovec v = {.iov_len = CHUNK};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
        ssize_t n;

        if (line_reader_space(&c->in, CHUNK, (char **)&v.iov_base) < 0)
                return false;
        c->server->held += c->in.room - room;
        n = c->peer->foreign ? client_receive_foreign(c, &m) : recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0)
                return errno == EAGAIN || errno == EINTR;
        if (n == 0)
                return false;
        if (c->peer->foreign && m.msg_flags & MSG_CTRUNC) {
                client_error(c, NULL, SERVE_E_STREAMS,
                             "another user than the daemon's own passes no descriptors: \"stream\" passes standard "
                             "streams over the connection");
                client_finish(c);
                return true;
        }
        line_reader_fed(&c->in, (size_t)n);
        c->n_fed += (uint64_t)n;
        c->last_usec = clock_mono_usec();
        if (!client_keep_fds(c, &m)) {
                client_error(c, NULL, SERVE_E_STREAMS, "a request brings at most %d descriptors", SERVE_STREAMS);
                client_finish(c);
        } else if (c->server->held > SERVE_UNFINISHED_MAX && c->in.end - c->in.start > 2 * CHUNK) {
                client_error(c, NULL, SERVE_E_BUSY,
                             "too many unfinished requests are held: all of them together have at most %llu bytes",
                             SERVE_UNFINISHED_MAX);
                client_finish(c);
        }
        return true;
}

static int client_on_io(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Client *c = userdata;

        if (revents & (EPOLLHUP | EPOLLERR)) { /* both ends are closed: no reader is left */
                client_free(c);
                return 0;
        }
        client_flush(c);
        if (revents & EPOLLIN && !client_receive(c))
                c->at_end = true;
        client_go_on(c);
        return 0;
}

int client_new(Server *s, int fd, const struct ucred *cred) {
        Client *c = calloc(1, sizeof(*c));
        int e;

        if (!c) {
                close(fd);
                return -ENOMEM;
        }
        *c = (Client){.server = s, .fd = fd, .peer = peer_use(s, cred), .last_usec = clock_mono_usec()};
        LIST_INSERT_HEAD(&s->clients, c, all);
        s->n_clients++;
        line_reader_init(&c->in, SERVE_LINE_MAX);
        line_queue_init(&c->out, OUT_BOUND);
        if (c->peer)
                c->peer->n_clients++;
        e = c->peer ? sd_event_add_io(s->event, &c->source, fd, EPOLLIN, client_on_io, c) : -ENOMEM;
        if (e < 0)
                client_free(c);
        return MIN(e, 0);
}
