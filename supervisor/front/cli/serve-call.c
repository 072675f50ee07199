#include "cli/serve-call.h"

#include "base/io.h"
#include "schema/serve.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define ANSWER_DEPTH_MAX 32

int serve_call_send(int fd, json_t *request, const int *fds, size_t n_fds) {
        _cleanup_json_ json_t *owned = request;
        _cleanup_buf_ Buf line = {};
        char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
        int e = text ? buf_add_str(&line, text) : -ENOMEM;

        free(text);
        if (e == 0)
                e = buf_add(&line, "\n", 1);
        if (e < 0 || line.n > SERVE_LINE_MAX)
                return e < 0 ? e : -E2BIG;
        /* The descriptors go with the first byte. */
        e = n_fds > 0 ? io_send_fds(fd, line.data, 1, fds, n_fds) : 0;
        return e == 0 ? io_write_full(fd, line.data + (n_fds > 0), line.n - (n_fds > 0)) : e;
}

int serve_call_cancel_by(int fd, int signo) {
        return serve_call_send(fd,
                               json_pack("{s:s, s:s, s:{s:i, s:i}}", "jsonrpc", "2.0", "method", "cancel", "params",
                                         "id", 1, "signal", signo),
                               NULL, 0);
}

/* The answer still comes, after the region's teardown. */
int serve_call_cancel(int fd, int signals, Liveness *liveness) {
        struct signalfd_siginfo si;
        int e = 0;

        while (e == 0 && read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
                liveness_signal(liveness, (int)si.ssi_signo);
                e = serve_call_cancel_by(fd, (int)si.ssi_signo);
        }
        return e;
}

int serve_call_receive(int fd, int signals, Liveness *liveness, Buf *line) {
        for (;;) {
                struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}, {.fd = -1}};
                int msec = liveness_poll(liveness, &p[2]), e;
                char chunk[4096];
                ssize_t n;

                if (poll(p, ARRAY_SIZE(p), msec) < 0 && errno != EINTR)
                        return -errno;
                if ((e = liveness_check(liveness, p[2].revents, p[0].revents)) < 0)
                        return e;
                if (signals >= 0 && p[1].revents && (e = serve_call_cancel(fd, signals, liveness)) < 0)
                        return e;
                if (!p[0].revents)
                        continue;
                n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        return n < 0 && errno == ECONNRESET && !liveness->signalled ? -ECONNRESET : -EPIPE;
                if (n <= 0)
                        continue;
                e = buf_add(line, chunk, (size_t)n);
                explicit_bzero(chunk, (size_t)n);
                if (e < 0)
                        return e;
                if (line->data[line->n - 1] == '\n')
                        return 0;
        }
}

int serve_call_signals(int fd, const char *method, json_t *params, int signals, Liveness *liveness, json_t **ret) {
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        int e = serve_call_send(fd, json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", method,
                                              "params", params), NULL, 0);

        if (e == 0 || e == -EPIPE) /* a daemon that hangs up at once has sent the reason */
                e = serve_call_receive(fd, signals, liveness, &line);
        if (e == 0)
                e = json_parse(line.data, line.n, line.n, ANSWER_DEPTH_MAX, ret, NULL);
        return e > 0 ? -EPROTO : e;
}

int serve_call(int fd, const char *socket, const char *method, json_t *params, json_t **ret) {
        _cleanup_liveness_ Liveness liveness;

        liveness_begin(&liveness, fd, socket);
        return serve_call_signals(fd, method, params, -1, &liveness, ret);
}

int serve_call_soon(int fd, const char *socket, const char *method, json_t *params, json_t **ret) {
        _cleanup_liveness_ Liveness liveness;

        liveness_begin(&liveness, fd, socket);
        liveness_signal(&liveness, 0); /* as if a signal had already asked for the end of the wait */
        return serve_call_signals(fd, method, params, -1, &liveness, ret);
}
