/* Runs: CLI. The loop of `lethe mcp wrap`: client, server, signals. A side that does not read is not read from. */
#include "mcp/wrap.h"

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "mcp/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define OUT_MAX (1024 * 1024)   /* bytes that wait for one side, beyond which the other is not read */
#define SOON_USEC 100000
#define SOON_EVENTS 4096
#define END_USEC 5000000        /* from the end of the client to SIGTERM */
#define PIPE_ROOM (1024 * 1024) /* best effort */

typedef struct WrapLoop {
        Wrap w;
        int to, from; /* pipes of the server's standard input and output; -1: closed */
        bool client_over, plain;
        int signo;
        uint64_t commit_usec; /* when events are due; 0: none waits */
        uint64_t end_usec; /* of the patience with a server without client; 0: not begun */
} WrapLoop;

static int wrap_start(WrapLoop *l) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attr;
        int in[2], out[2], e;
        sigset_t none;

        if (pipe2(in, O_CLOEXEC) < 0)
                return -errno;
        if (pipe2(out, O_CLOEXEC) < 0) {
                e = -errno;
                close(in[0]);
                close(in[1]);
                return e;
        }
        l->to = in[1];
        l->from = out[0];
        (void)fcntl(l->to, F_SETPIPE_SZ, PIPE_ROOM);
        (void)fcntl(l->from, F_SETPIPE_SZ, PIPE_ROOM);
        sigemptyset(&none);
        e = posix_spawn_file_actions_init(&actions);
        if (e == 0) {
                e = posix_spawnattr_init(&attr);
                if (e == 0) {
                        e = posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO)
                                    ?: posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO)
                                    ?: posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP)
                                    ?: posix_spawnattr_setsigmask(&attr, &none)
                                    ?: posix_spawn(&l->w.child, "/proc/self/exe", &actions, &attr, l->w.options->argv, environ);
                        posix_spawnattr_destroy(&attr);
                }
                posix_spawn_file_actions_destroy(&actions);
        }
        close(in[0]);
        close(out[1]);
        return e ? -e : io_set_nonblock(l->to) ?: io_set_nonblock(l->from);
}

static int wrap_take(WrapLoop *l, LineReader *r, bool over, int (*take)(Wrap *w, const char *line, size_t n)) {
        const char *line;
        size_t n;
        int e = 0;

        while (e == 0) {
                LineKind kind = line_reader_next(r, &line, &n);

                if (kind == LINE_NONE && over)
                        kind = line_reader_finish(r, &line, &n);
                if (kind == LINE_NONE)
                        break;
                if (kind == LINE_WHOLE && n > 0 && line[n - 1] == '\r')
                        n--;
                if (kind == LINE_TOO_LONG)
                        log_warning("mcp wrap: a message of more than %d bytes was dropped", WRAP_LINE_MAX);
                else if (n > 0)
                        e = take(&l->w, line, n);
        }
        return e;
}

/* Events of calls are durable before the client has the answers; with "soon", a commit begins SOON_USEC after the
 * first event, or when the commit before has ended. */
static int wrap_commit(WrapLoop *l) {
        const uint64_t now = clock_mono_usec();
        if (json_array_size(l->w.events) == 0)
                return 0;
        if (l->w.options->soon && l->from >= 0 && json_array_size(l->w.events) < SOON_EVENTS) {
                if (l->w.recording)
                        return 0;
                l->commit_usec = l->commit_usec ?: now + SOON_USEC;
                if (now < l->commit_usec)
                        return 0;
                l->commit_usec = 0;
                return wrap_record_begin(&l->w);
        }
        l->commit_usec = 0;
        return wrap_record(&l->w);
}

static int wrap_read_server(WrapLoop *l) {
        bool over = false;
        int e = lines_read(l->from, &l->w.server, &over) ?: wrap_take(l, &l->w.server, over, wrap_from_server);

        if (e == 0 && over) {
                closep(&l->from);
                e = wrap_lost(&l->w);
        }
        return e ?: wrap_commit(l);
}

static int wrap_read_client(WrapLoop *l) {
        int e = lines_read(STDIN_FILENO, &l->w.client, &l->client_over);

        return e ?: wrap_take(l, &l->w.client, l->client_over, wrap_from_client) ?: wrap_commit(l);
}

static int wrap_write(int fd, LineQueue *q, bool all) {
        const char *bytes;
        size_t n = line_queue_peek(q, &bytes);
        ssize_t w = n > 0 ? write(fd, bytes, all ? n : MIN(n, (size_t)PIPE_BUF)) : 0;

        if (w < 0)
                return errno == EINTR || errno == EAGAIN ? 0 : -EPIPE;
        line_queue_sent(q, (size_t)w);
        return 0;
}

/* Without client: calls at work have a time to end, then the server gets the end of its input, and later SIGTERM. */
static int wrap_wait_msec(WrapLoop *l) {
        const uint64_t now = clock_mono_usec();
        const int commit = l->commit_usec == 0 ? -1 : l->commit_usec <= now ? 0 : (int)((l->commit_usec - now) / 1000 + 1);
        const char *bytes;

        if (!l->client_over || l->from < 0)
                return commit;
        if (l->end_usec == 0)
                l->end_usec = now + END_USEC;
        if (l->to >= 0 &&
            ((line_queue_peek(&l->w.to_server, &bytes) == 0 && l->w.n_asked == 0) || now >= l->end_usec)) {
                closep(&l->to);
                line_queue_clear(&l->w.to_server);
                l->end_usec = now + END_USEC;
        }
        if (l->to < 0 && now >= l->end_usec) {
                kill(l->w.child, SIGTERM);
                l->end_usec = now + END_USEC;
        }
        return commit >= 0 ? MIN(commit, (int)((l->end_usec - now) / 1000 + 1)) : (int)((l->end_usec - now) / 1000 + 1);
}

static void wrap_signal(WrapLoop *l, int signals) {
        struct signalfd_siginfo si;

        while (read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
                l->signo = (int)si.ssi_signo;
                kill(l->w.child, SIGTERM);
        }
}

static int wrap_step(WrapLoop *l, int signals) {
        const char *bytes;
        Wrap *w = &l->w;
        const bool to_client = line_queue_peek(&w->to_client, &bytes) > 0,
                   to_server = line_queue_peek(&w->to_server, &bytes) > 0;
        struct pollfd p[] = {
                {.fd = l->client_over || line_queue_full(&w->to_server) || line_queue_full(&w->to_client)
                               ? -1
                               : STDIN_FILENO,
                 .events = POLLIN},
                {.fd = STDOUT_FILENO, .events = to_client ? POLLOUT : 0},
                {.fd = l->to, .events = to_server ? POLLOUT : 0},
                {.fd = line_queue_full(&w->to_client) ? -1 : l->from, .events = POLLIN},
                {.fd = signals, .events = POLLIN},
                {.fd = w->recorded_fd, .events = POLLIN},
        };
        int e = 0;

        if (poll(p, ARRAY_SIZE(p), wrap_wait_msec(l)) < 0)
                return errno == EINTR ? 0 : -errno;
        if (p[4].revents)
                wrap_signal(l, signals);
        if (p[5].revents)
                e = wrap_record_wait(w);
        if (e == 0 && p[1].revents & POLLOUT)
                e = wrap_write(STDOUT_FILENO, &w->to_client, l->plain);
        else if (e == 0 && p[1].revents)
                e = -EPIPE;
        if (e == 0 && p[2].revents && wrap_write(l->to, &w->to_server, true) == -EPIPE) {
                closep(&l->to); /* the server reads no more */
                line_queue_clear(&w->to_server);
        } else if (e == 0 && p[2].revents & POLLERR)
                closep(&l->to);
        if (e == 0 && p[3].revents)
                e = wrap_read_server(l);
        if (e == 0 && p[0].revents)
                e = wrap_read_client(l);
        return e ?: wrap_commit(l);
}

/* Sends what is left of a server that has ended, and waits for the end of the region. */
static int wrap_finish(WrapLoop *l, int e) {
        const char *bytes;
        int status = 0;

        while (e == 0 && l->plain ? false : e == 0 && line_queue_peek(&l->w.to_client, &bytes) > 0) {
                struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};

                if (poll(&p, 1, END_USEC / 1000) <= 0)
                        break;
                e = wrap_write(STDOUT_FILENO, &l->w.to_client, false);
        }
        if (e == 0 && l->plain && line_queue_peek(&l->w.to_client, &bytes) > 0)
                e = wrap_write(STDOUT_FILENO, &l->w.to_client, true);
        closep(&l->to);
        closep(&l->from);
        if (l->w.child > 0) {
                if (e != 0)
                        kill(l->w.child, SIGTERM);
                while (waitpid(l->w.child, &status, 0) < 0 && errno == EINTR)
                        ;
        }
        if (e < 0 && e != -EPIPE) {
                log_error("mcp wrap: %s", strerror(-e));
                return 1;
        }
        return l->signo            ? 128 + l->signo
               : e == -EPIPE       ? 0
               : WIFEXITED(status) ? WEXITSTATUS(status)
                                   : 128 + WTERMSIG(status);
}

static void wrap_deinit(Wrap *w) {
        (void)wrap_record_wait(w);
        closep(&w->recorded_fd);
        while (w->asked)
                wrap_asked_free(w, w->asked);
        json_decref(w->approved);
        json_decref(w->schemas);
        json_decref(w->events);
        line_reader_deinit(&w->client);
        line_reader_deinit(&w->server);
        line_queue_deinit(&w->to_client);
        line_queue_deinit(&w->to_server);
        store_freep(&w->store);
}

int wrap_serve(const WrapOptions *o, int signals) {
        WrapLoop l = {.w = {.options = o, .schemas = json_object(), .events = json_array(), .recorded_fd = -1}, .to = -1, .from = -1};
        struct stat st;
        Diag d = {};
        int e = l.w.schemas && l.w.events ? 0 : -ENOMEM;

        l.plain = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
        line_reader_init(&l.w.client, WRAP_LINE_MAX);
        line_reader_init(&l.w.server, WRAP_LINE_MAX);
        line_queue_init(&l.w.to_client, OUT_MAX);
        line_queue_init(&l.w.to_server, OUT_MAX);
        e = e ?: store_open(o->store, STORE_WRITE, &l.w.store, &d) ?: approved_read(l.w.store, o->name, &l.w.approved, &d);
        if (e != 0) {
                log_error("mcp wrap: %s", *d.text ? d.text : strerror(-e));
                wrap_deinit(&l.w);
                return 1;
        }
        e = wrap_start(&l);
        while (e == 0 && l.from >= 0)
                e = wrap_step(&l, signals);
        closep(&l.from);
        if (e == -EPIPE)
                e = wrap_lost(&l.w) ?: wrap_record_close(&l.w) ?: -EPIPE;
        e = wrap_finish(&l, e ?: wrap_record_close(&l.w));
        wrap_deinit(&l.w);
        return e;
}
