/* Runs: CLI. The loop of `lethe mcp`: the client, the daemon, and the commands at work. The loop waits for all of
 * them together. A client that does not read its answers is not read from. */
#include "mcp/mcp.h"

#include "base/log.h"
#include "mcp/lines.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "schema/serve.h"

#define CHUNK 65536
#define OUT_MAX (4 * 1024 * 1024) /* bytes of answers not read by the client */
#define FIXED 4                   /* descriptors besides those of commands */

/* Takes the lines that were read, while the client has room for answers. */
static int mcp_take_lines(McpServer *m) {
        const char *line;
        size_t n;
        int e = 0;

        while (e == 0 && !m->signo && !line_queue_full(&m->out)) {
                LineKind kind = line_reader_next(&m->in, &line, &n);

                if (kind == LINE_NONE && m->in_over)
                        kind = line_reader_finish(&m->in, &line, &n);
                if (kind == LINE_NONE)
                        break;
                e = kind == LINE_TOO_LONG ? mcp_take_too_long(m) : mcp_take(m, line, n);
        }
        return e;
}

static int mcp_read_daemon(McpServer *m) {
        const char *line;
        size_t n_line;
        LineKind kind = LINE_NONE;
        char *at;
        ssize_t n;
        int e = line_reader_space(&m->answers, CHUNK, &at);

        if (e < 0)
                return e;
        n = recv(m->daemon, at, CHUNK, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
        if (n <= 0)
                return mcp_call_lost(m);
        line_reader_fed(&m->answers, (size_t)n);
        while (e == 0 && (kind = line_reader_next(&m->answers, &line, &n_line)) == LINE_WHOLE) {
                _cleanup_json_ json_t *message = NULL;

                e = json_parse(line, n_line, SERVE_ANSWER_MAX, MCP_DEPTH_MAX + 8, &message, NULL);
                e = e > 0 ? mcp_call_lost(m) : e ?: mcp_call_heard(m, message);
                if (m->daemon < 0)
                        return e;
        }
        return e ?: kind == LINE_TOO_LONG ? mcp_call_lost(m) : 0;
}

static int mcp_send_daemon(McpServer *m) {
        const char *bytes;
        size_t n;

        while (m->daemon >= 0 && (n = line_queue_peek(&m->asks, &bytes)) > 0) {
                ssize_t w = send(m->daemon, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (w < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (w < 0)
                        return mcp_call_lost(m);
                line_queue_sent(&m->asks, (size_t)w);
        }
        return 0;
}

/* After poll(2) reported room: a pipe takes PIPE_BUF bytes without waiting. Returns 0, or -EPIPE without a reader. */
static int mcp_write_client(McpServer *m, bool plain) {
        const char *bytes;
        size_t n = line_queue_peek(&m->out, &bytes);
        ssize_t w = n > 0 ? write(STDOUT_FILENO, bytes, plain ? n : MIN(n, (size_t)PIPE_BUF)) : 0;

        if (w < 0)
                return errno == EINTR || errno == EAGAIN ? 0 : -EPIPE;
        line_queue_sent(&m->out, (size_t)w);
        return 0;
}

static void mcp_take_signal(McpServer *m, int signals) {
        struct signalfd_siginfo si;

        while (read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
                if (m->signo) { /* a second signal: no further wait */
                        mcp_calls_free(m);
                        continue;
                }
                m->signo = (int)si.ssi_signo;
                mcp_cancel_all(m);
        }
}

static int mcp_read_commands(McpServer *m, const struct pollfd *p, McpCall *const *of, size_t n) {
        int e = 0;

        for (size_t i = 0; e == 0 && i < n; i++)
                if (p[i].revents && (i == 0 || of[i] != of[i - 1] || !p[i - 1].revents)) /* it may be freed */
                        e = mcp_call_read(m, of[i]);
        return e;
}

static int mcp_step(McpServer *m, int signals, bool plain) {
        struct pollfd p[FIXED + 2 * MCP_CALLS_MAX];
        McpCall *of[2 * MCP_CALLS_MAX];
        const char *bytes;
        const bool writes = line_queue_peek(&m->out, &bytes) > 0;
        size_t n = 0;
        int e = 0;

        p[0] = (struct pollfd){.fd = m->in_over || m->signo || line_queue_full(&m->out) ? -1 : STDIN_FILENO,
                               .events = POLLIN};
        p[1] = (struct pollfd){.fd = STDOUT_FILENO, .events = writes ? POLLOUT : 0};
        p[2] = (struct pollfd){.fd = signals, .events = POLLIN};
        p[3] = (struct pollfd){.fd = m->daemon,
                               .events = (short)(POLLIN | (line_queue_peek(&m->asks, &bytes) > 0 ? POLLOUT : 0))};
        for (McpCall *c = m->calls; c; c = c->next)
                for (int k = 0; k < 2; k++)
                        if ((k ? c->err : c->out) >= 0) {
                                p[FIXED + n] = (struct pollfd){.fd = k ? c->err : c->out, .events = POLLIN};
                                of[n++] = c;
                        }
        if (poll(p, FIXED + n, -1) < 0)
                return errno == EINTR ? 0 : -errno;
        if (p[1].revents & POLLOUT)
                e = mcp_write_client(m, plain);
        else if (p[1].revents & (POLLERR | POLLNVAL | POLLHUP))
                e = -EPIPE;
        if (e == 0)
                e = mcp_read_commands(m, p + FIXED, of, n);
        if (e == 0 && m->daemon >= 0 && p[3].revents & (POLLIN | POLLHUP | POLLERR))
                e = mcp_read_daemon(m);
        if (e == 0 && p[0].revents)
                e = lines_read(STDIN_FILENO, &m->in, &m->in_over);
        if (e == 0 && p[2].revents)
                mcp_take_signal(m, signals);
        return e;
}

static bool mcp_is_over(McpServer *m) {
        const char *bytes;

        return (m->in_over || m->signo) && m->n_calls == 0 && (m->signo || line_queue_peek(&m->out, &bytes) == 0);
}

int mcp_serve(const McpOptions *o, int signals) {
        McpServer m = {.options = o, .daemon = -1, .next_run = 1};
        struct stat st;
        const bool plain = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
        Diag d = {};
        int e = 0;

        randombytes_buf(m.key, sizeof(m.key));
        line_reader_init(&m.in, MCP_LINE_MAX);
        line_reader_init(&m.answers, SERVE_ANSWER_MAX);
        line_queue_init(&m.out, OUT_MAX);
        line_queue_init(&m.asks, SIZE_MAX);
        while (e == 0) {
                e = mcp_take_lines(&m) ?: mcp_send_daemon(&m);
                if (m.in_over)
                        mcp_calls_unanswered(&m);
                if (e == 0 && mcp_is_over(&m))
                        break;
                if (e == 0)
                        e = mcp_step(&m, signals, plain);
        }
        mcp_cancel_all(&m);
        mcp_calls_free(&m);
        mcp_tools_free(&m.tools);
        line_reader_deinit(&m.in);
        line_reader_deinit(&m.answers);
        line_queue_deinit(&m.out);
        line_queue_deinit(&m.asks);
        sodium_memzero(m.key, sizeof(m.key));
        closep(&m.daemon); /* the daemon cancels what is left */
        if (e == -EPIPE)
                return 0; /* the client is gone: all calls were cancelled */
        if (e < 0) {
                log_error("mcp: %s", *d.text ? d.text : strerror(-e));
                return 1;
        }
        return m.signo ? 128 + m.signo : 0;
}
