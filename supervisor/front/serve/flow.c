/* Runs: lethe-serve. Standard streams over the client's connection, as lines. The run's thread has an end of a socket
 * pair, the front the opposite end. The front never uses a descriptor of a client: so no descriptor can block the
 * daemon, take its credentials or borrow its rights. A client that does not read stops its own runs only. */
#include "serve/serve.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#define CHUNK (48 * 1024)
#define UNREAD_MAX (256 * 1024) /* unread bytes of a client, beyond which its runs' output is not taken */
#define PAIR_BYTES (64 * 1024)  /* of each direction of a socket pair */

const char *const stream_names[SERVE_STREAMS] = {"stdin", "stdout", "stderr"};

size_t stream_number(const json_t *name) {
        return name_index(stream_names, SERVE_STREAMS, json_text(name) ?: "");
}

static void flow_end(Flow *f) {
        f->source = sd_event_source_disable_unref(f->source);
        closep(&f->fd);
}

void flow_close(Job *j) {
        for (size_t i = 0; i < SERVE_STREAMS; i++)
                flow_end(&j->flows[i]);
        buf_deinit(&j->input);
        json_decref(j->input_id);
        j->input_id = NULL;
        if (j->flow_client)
                LIST_REMOVE(j, flowing);
        j->flow_client = NULL;
}

bool flow_is_open(const Job *j) {
        return j->flows[1].fd >= 0 || j->flows[2].fd >= 0;
}

static size_t flow_unread(const Client *c) {
        return c->out.bytes.n - c->out.sent;
}

static int flow_tell(Client *c, const Job *j, size_t stream, const char *bytes, size_t n) {
        char *text = base64_encode(bytes, n), *id = json_dumps(j->id, JSON_COMPACT | JSON_ENCODE_ANY);
        _cleanup_buf_ Buf line = {};
        int e = text && id
                        ? buf_printf(
                                  &line,
                                  "{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"params\":{\"id\":%s,\"stream\":\"%s\",\"data\":\"%s\"}}\n",
                                  id, stream_names[stream], text)
                        : -ENOMEM;

        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
        free(id);
        if (e == 0)
                client_send_line(c, line.data, line.n);
        return e;
}

static int flow_on_output(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Flow *f = userdata;
        Job *j = f->job;
        char bytes[CHUNK];
        ssize_t n;

        if (flow_unread(j->client) >= UNREAD_MAX) { /* flow_resume() */
                sd_event_source_set_enabled(source, SD_EVENT_OFF);
                f->waits = true;
                return 0;
        }
        n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n > 0 && flow_tell(j->client, j, f->stream, bytes, (size_t)n) < 0)
                n = 0;
        explicit_bzero(bytes, (size_t)MAX(n, (ssize_t)0));
        if (n > 0)
                return 0;
        flow_end(f);
        if (!flow_is_open(j))
                j->server->hooks->output_sent(j); /* may free j */
        return 0;
}

void flow_resume(Client *c) {
        Job *j;

        if (flow_unread(c) >= UNREAD_MAX)
                return;
        LIST_FOREACH(j, &c->flowing, flowing)
                for (size_t i = 1; i < SERVE_STREAMS; i++)
                        if (j->flows[i].waits) {
                                j->flows[i].waits = false;
                                sd_event_source_set_enabled(j->flows[i].source, SD_EVENT_ON);
                        }
}

/* The run took its input, or takes no more: the client may send the next input. */
static void flow_taken(Job *j, bool open) {
        json_t *id = TAKE_PTR(j->input_id);

        buf_deinit(&j->input);
        if (j->input_ends)
                flow_end(&j->flows[0]);
        else if (j->flows[0].source)
                sd_event_source_set_enabled(j->flows[0].source, SD_EVENT_OFF);
        if (id)
                client_result(j->client, id, json_pack("{s:b}", "open", open && !j->input_ends));
        json_decref(id);
}

static int flow_on_input(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        Flow *f = userdata;
        Job *j = f->job;
        ssize_t n = send(fd, j->input.data, j->input.n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n < 0) { /* the run reads no more */
                flow_end(f);
                flow_taken(j, false);
                return 0;
        }
        buf_drop(&j->input, (size_t)n);
        if (j->input.n == 0)
                flow_taken(j, true);
        return 0;
}

int flow_input(Job *j, const json_t *id, const char *data, bool end, bool *ret_open, Diag *reterr) {
        size_t n = strlen(data), room = n / 4 * 3;
        ssize_t got;

        if (!j->streamed[0])
                return diag(reterr, SERVE_E_INVALID_PARAMS,
                            "id: standard input of this run is no stream of this connection (\"stream\" of its "
                            "request)");
        if (j->input_id || j->input_ends)
                return diag(reterr, SERVE_E_INVALID_REQUEST,
                            j->input_ends ? "input: the input of this run has ended"
                                          : "input: the input before is not answered yet");
        if (room > SERVE_INPUT_MAX + 2 || buf_reserve(&j->input, room + 1) < 0)
                return diag(reterr, SERVE_E_INVALID_PARAMS, "data: at most %d bytes of input at once", SERVE_INPUT_MAX);
        got = base64_decode(data, n, j->input.data, room);
        if (got < 0 || got > SERVE_INPUT_MAX)
                return diag(reterr, SERVE_E_INVALID_PARAMS,
                            "data: must be base64 (RFC 4648, with padding) of at most %d bytes", SERVE_INPUT_MAX);
        j->input.n = (size_t)got;
        j->input_ends = end;
        *ret_open = false;
        if (j->state != JOB_QUEUED && j->flows[0].fd < 0) { /* the run reads no more */
                buf_deinit(&j->input);
                return 0;
        }
        j->input_id = json_incref((json_t *)id);
        if (j->flows[0].source)
                sd_event_source_set_enabled(j->flows[0].source, SD_EVENT_ON);
        return 1;
}

static int flow_add(Job *j, size_t i) {
        const int room = PAIR_BYTES;
        Flow *f = &j->flows[i];
        int p[2], e;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p) < 0)
                return -errno;
        j->streams[i] = p[0];
        *f = (Flow){.job = j, .stream = i, .fd = p[1]};
        if (setsockopt(p[i == 0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) < 0)
                return -errno;
        e = sd_event_add_io(j->server->event, &f->source, f->fd, i ? EPOLLIN : EPOLLOUT,
                            i ? flow_on_output : flow_on_input, f);
        /* Input is waited for only while there is some. */
        if (e >= 0 && i == 0 && !j->input_id)
                e = sd_event_source_set_enabled(f->source, SD_EVENT_OFF);
        return e < 0 ? e : 0;
}

int flow_open(Job *j) {
        int e = 0;

        for (size_t i = 0; e == 0 && i < SERVE_STREAMS; i++)
                if (j->streamed[i])
                        e = flow_add(j, i);
        if (e == 0 && (j->streamed[0] || j->streamed[1] || j->streamed[2])) {
                j->flow_client = j->client;
                LIST_INSERT_HEAD(&j->client->flowing, j, flowing);
        }
        return e;
}
