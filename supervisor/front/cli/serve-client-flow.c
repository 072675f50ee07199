/* Runs: CLI. A run of another user's daemon: that takes no descriptor, so standard input, output and error go over the connection, as lines. */
#include "cli/serve-client-flow.h"

#include "base/hash.h"
#include "base/json.h"
#include "cli/serve-client.h"
#include "base/line.h"
#include "schema/serve.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#define CHUNK 65536
#define UNWRITTEN_MAX (1024 * 1024) /* bytes of output beyond which no more is read */
#define DEPTH_MAX 32
#define INPUT_ID 2

typedef struct FlowEnd {
        int fd;            /* the daemon */
        int input;         /* -1: none, or at its end */
        bool asked;        /* what was sent last is not taken yet */
        Buf out[2];        /* standard output and error that came */
        bool lost[2];      /* nobody takes it any more */
        LineReader lines;
        bool answered;
        Buf *answer;       /* borrowed */
} FlowEnd;

static int flow_send_input(FlowEnd *f) {
        char bytes[SERVE_INPUT_MAX];
        ssize_t n = read(f->input, bytes, sizeof(bytes));
        char *text;
        int e;

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return 0;
        text = n > 0 ? base64_encode(bytes, (size_t)n) : strdup("");
        explicit_bzero(bytes, (size_t)MAX(n, (ssize_t)0));
        e = serve_client_send(f->fd, json_pack("{s:s, s:i, s:s, s:{s:i, s:s?, s:b}}", "jsonrpc", "2.0", "id", INPUT_ID, "method", "input", "params", "id", 1, "data", text,
                                          "end", n <= 0));
        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
        f->asked = true;
        if (n <= 0)
                f->input = -1;
        return e;
}

static int flow_keep_output(FlowEnd *f, const json_t *params) {
        const char *stream = json_text(json_object_get(params, "stream")), *data = json_text(json_object_get(params, "data"));
        size_t i = stream && strcmp(stream, "stderr") == 0, n = data ? strlen(data) : 0;
        ssize_t got;

        if (f->lost[i] || n == 0)
                return 0;
        if (buf_reserve(&f->out[i], n) < 0)
                return -ENOMEM;
        got = base64_decode(data, n, f->out[i].data + f->out[i].n, n);
        if (got < 0)
                return -EPROTO;
        f->out[i].n += (size_t)got;
        return 0;
}

static int flow_take_line(FlowEnd *f, const char *line, size_t n) {
        _cleanup_json_ json_t *o = NULL;
        const json_t *method, *id;

        if (json_parse(line, n, SERVE_ANSWER_MAX, DEPTH_MAX, &o, NULL) != 0)
                return -EPROTO;
        method = json_object_get(o, "method");
        id = json_object_get(o, "id");
        if (json_is_string(method))
                return json_text_is(method, "output") ? flow_keep_output(f, json_object_get(o, "params")) : 0;
        if (json_integer_value(id) == INPUT_ID) {
                f->asked = false;
                if (!json_is_true(json_object_get(json_object_get(o, "result"), "open")))
                        f->input = -1;
                return 0;
        }
        f->answered = true;
        return buf_add(f->answer, line, n);
}

static int flow_receive(FlowEnd *f) {
        const char *line;
        size_t n_line;
        char *at;
        ssize_t n;
        int e = line_reader_space(&f->lines, CHUNK, &at);

        if (e < 0)
                return e;
        n = recv(f->fd, at, CHUNK, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                return -EPIPE;
        if (n < 0)
                return 0;
        line_reader_fed(&f->lines, (size_t)n);
        for (;;)
                switch (line_reader_next(&f->lines, &line, &n_line)) {
                case LINE_WHOLE:
                        if (n_line > 0 && (e = flow_take_line(f, line, n_line)) < 0)
                                return e;
                        break;
                case LINE_TOO_LONG:
                        return -EPROTO;
                case LINE_NONE:
                case LINE_PARTIAL:
                default:
                        return 0;
                }
}

/* After poll(2) said that it may be written to: a pipe takes that much without waiting. */
static void flow_write(FlowEnd *f, size_t i) {
        ssize_t n = write(i ? STDERR_FILENO : STDOUT_FILENO, f->out[i].data, MIN(f->out[i].n, (size_t)PIPE_BUF));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0) {
                /* As of a program whose output nobody takes: it ends by SIGPIPE. */
                if (i == 0)
                        serve_client_send(f->fd, json_pack("{s:s, s:s, s:{s:i, s:i}}", "jsonrpc", "2.0", "method", "cancel", "params", "id", 1, "signal", SIGPIPE));
                f->lost[i] = true;
                n = (ssize_t)f->out[i].n;
        }
        buf_drop(&f->out[i], (size_t)n);
}

static bool flow_is_written(const FlowEnd *f) {
        return f->out[0].n + f->out[1].n == 0;
}

static int flow_step(FlowEnd *f, int signals, Silent *silent) {
        bool reads = !f->answered && f->out[0].n + f->out[1].n < UNWRITTEN_MAX;
        struct pollfd p[] = {{.fd = reads ? f->fd : -1, .events = POLLIN},
                             {.fd = signals, .events = POLLIN},
                             {.fd = f->answered || f->asked ? -1 : f->input, .events = POLLIN},
                             {.fd = f->out[0].n > 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
                             {.fd = f->out[1].n > 0 ? STDERR_FILENO : -1, .events = POLLOUT},
                             {.fd = -1}};
        int msec = reads ? silent_poll(silent, &p[5]) : -1, e = 0;

        if (poll(p, ARRAY_SIZE(p), msec) < 0)
                return errno == EINTR ? 0 : -errno;
        if (reads && (e = silent_look(silent, p[5].revents, p[0].revents)) < 0)
                return e;
        if (p[1].revents) {
                if (f->answered) /* nobody reads, and we are to end */
                        buf_drop(&f->out[0], f->out[0].n), buf_drop(&f->out[1], f->out[1].n);
                e = serve_client_cancel(f->fd, signals, silent);
        }
        if (e == 0 && p[0].revents)
                e = flow_receive(f);
        if (e == 0 && p[2].revents)
                e = flow_send_input(f);
        for (size_t i = 0; i < 2; i++)
                if (p[3 + i].revents)
                        flow_write(f, i);
        return e;
}

int serve_client_flow(int fd, int input, int signals, Silent *silent, Buf *answer) {
        FlowEnd f = {.fd = fd, .input = input, .answer = answer};
        int e = 0;

        line_reader_init(&f.lines, SERVE_ANSWER_MAX);
        while (e == 0 && !(f.answered && flow_is_written(&f)))
                e = flow_step(&f, signals, silent);
        line_reader_deinit(&f.lines);
        buf_deinit(&f.out[0]);
        buf_deinit(&f.out[1]);
        return f.answered ? 0 : e;
}
