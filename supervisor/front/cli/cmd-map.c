/* Runs: CLI. `lethe map`: a region for each line of standard input, several at once, and a line of output for each,
 * in the order of the input. The regions are runs of a daemon, asked for over a single connection: of `lethe
 * serve`, or of a private daemon that ends with the connection. */
#include "cli/cmd-map.h"

#include "base/clock.h"
#include "base/line.h"
#include "base/log.h"
#include "base/size.h"
#include "cli/cli.h"
#include "cli/front.h"
#include "cli/map-line.h"
#include "cli/serve-call.h"
#include "schema/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define CHUNK 65536
#define ANSWER_DEPTH_MAX 32
#define WINDOW_PER_JOB 8             /* lines begun and not yet written, for each job */
#define HELD_MAX (64 * 1024 * 1024)  /* bytes of results that wait for earlier lines */
#define AGAIN_USEC 100000            /* after a daemon without room */
#define PROGRESS_USEC 500000
#define LAST_USEC 2000000            /* after a signal, for a reader of the results that takes none */

typedef enum MapState { MAP_LINE_WAITS, MAP_LINE_RUNS, MAP_LINE_DONE, MAP_LINE_DROPPED } MapState;

typedef struct MapLine {
        MapState state;
        Buf request; /* until there is a result */
        Buf result;
} MapLine;

/* Lines are counted from 1. lines[i % window] has line i, of first <= i < next. */
typedef struct MapRun {
        const MapAsked *asked;
        bool quiet, plain_out;  /* plain_out: a regular file takes any number of bytes at once */
        uint64_t jobs, from, window;
        MapLine *lines;
        uint64_t first, next;   /* the next line to write, and to begin */
        uint64_t running, held, waiting; /* held: bytes of results */
        size_t written;         /* bytes of the result of line `first` */
        uint64_t n_ok, n_failed, n_skipped;
        LineReader in;
        bool in_over;           /* no further line is read */
        int daemon;
        Buf open;               /* the common part of requests */
        LineQueue out;          /* to the daemon */
        LineReader answers;
        Liveness liveness;
        uint64_t again_usec, began_usec, shown_usec;
        bool terminal, shown;
        int signo;              /* the signal that ends the map, SIGPIPE for lost output, or 0 */
        int code;               /* an exit code that ends the map, or 0 */
} MapRun;

static MapLine *map_line(const MapRun *m, uint64_t i) {
        return &m->lines[i % m->window];
}

static bool map_ends(const MapRun *m) {
        return m->signo || m->code;
}

static void map_clear_progress(MapRun *m) {
        if (m->shown)
                fputs("\r\033[K", stderr);
        m->shown = false;
}

/* The line of progress, on a terminal only. */
static void map_show_progress(MapRun *m, uint64_t now) {
        if (!m->terminal || now < m->shown_usec + PROGRESS_USEC)
                return;
        m->shown_usec = now;
        m->shown = true;
        fprintf(stderr, "\r\033[Klethe map: line %" PRIu64 ": %" PRIu64 " ok, %" PRIu64 " failed, %" PRIu64 " at work",
                m->first - 1, m->n_ok, m->n_failed, m->running);
}

static void map_fail(MapRun *m, int code, const char *why) {
        map_clear_progress(m);
        if (!m->code)
                cli_fail("map", code, "%s", why);
        m->code = m->code ?: code;
}

/* The standard error of a region, with the number of the line. */
static void map_pass_errors(MapRun *m, uint64_t i, const json_t *text) {
        const char *s = json_bytes(text), *end = s ? s + json_string_length(text) : NULL;

        if (m->quiet || !s)
                return;
        while (s < end) {
                const char *newline = memchr(s, '\n', (size_t)(end - s)) ?: end;
                char *safe = NULL;
                size_t n;
                FILE *f = open_memstream(&safe, &n);

                if (!f)
                        return;
                print_safe(f, s, (size_t)(newline - s));
                fclose(f);
                map_clear_progress(m);
                log_note("line %" PRIu64 ": %s", i, safe);
                free(safe);
                s = newline + 1;
        }
}

static void map_done(MapRun *m, MapLine *l, bool ok) {
        l->state = MAP_LINE_DONE;
        buf_deinit(&l->request);
        m->held += l->result.n;
        m->n_ok += ok;
        m->n_failed += !ok;
}

/* Sends the request of a line, anew after a daemon without room. */
static int map_send(MapRun *m, MapLine *l) {
        int e = line_queue_add(&m->out, l->request.data, l->request.n);

        l->state = MAP_LINE_RUNS;
        m->running++;
        return e;
}

static int map_begin(MapRun *m, const char *line, size_t n, bool too_long) {
        const uint64_t i = m->next++;
        MapLine *l = map_line(m, i);
        Diag d = {};
        int e;

        *l = (MapLine){};
        if (too_long) {
                diag(&d, 0, "a line has at most %d bytes", MAP_LINE_MAX);
                e = 1;
        } else
                e = map_check(line, n, &d);
        if (e < 0)
                return e;
        if (e > 0) {
                map_clear_progress(m);
                log_warning("line %" PRIu64 ": %s", i, d.text);
                e = map_result_unrun(too_long ? "line_too_long" : "bad_input", d.text, &l->result);
                map_done(m, l, false);
                return e;
        }
        return map_request(&m->open, i, line, n, &l->request) ?: map_send(m, l);
}

static bool map_has_room(const MapRun *m) {
        return !map_ends(m) && m->next - m->first < m->window && m->running + m->waiting < m->jobs &&
               m->held < HELD_MAX;
}

/* Begins lines that were read. *ret_more: standard input has to be read for the next one. */
static int map_begin_lines(MapRun *m, bool *ret_more) {
        int e = 0;

        *ret_more = false;
        while (e == 0 && map_has_room(m)) {
                const char *line;
                size_t n;
                LineKind kind = line_reader_next(&m->in, &line, &n);

                if (kind == LINE_NONE && m->in_over)
                        kind = line_reader_finish(&m->in, &line, &n);
                if (kind == LINE_NONE) {
                        *ret_more = !m->in_over;
                        break;
                }
                if (m->n_skipped + 1 < m->from)
                        m->n_skipped++;
                else
                        e = map_begin(m, line, n, kind == LINE_TOO_LONG);
        }
        return e;
}

static int map_read_input(MapRun *m) {
        char *at;
        int e = line_reader_space(&m->in, CHUNK, &at);
        ssize_t n;

        if (e < 0)
                return e;
        n = read(STDIN_FILENO, at, CHUNK);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return 0;
        if (n < 0)
                map_fail(m, EXIT_LETHE, strerror(errno));
        m->in_over = n <= 0;
        line_reader_fed(&m->in, (size_t)MAX(n, (ssize_t)0));
        return 0;
}

static int map_take_answer(MapRun *m, const char *text, size_t n) {
        _cleanup_json_ json_t *answer = NULL;
        MapVerdict verdict;
        int e, code = 0;
        Diag d = {};
        uint64_t i;
        MapLine *l;

        if (json_parse(text, n, SERVE_ANSWER_MAX, ANSWER_DEPTH_MAX, &answer, NULL) != 0)
                return -EPROTO;
        /* a request that the daemon could not read, or a cancel that came too late */
        if (json_is_null(json_object_get(answer, "id")))
                return map_ends(m) ? 0 : -EPROTO;
        i = json_number(answer, "id");
        l = map_line(m, i);
        if (i < m->first || i >= m->next || l->state != MAP_LINE_RUNS) /* the answer to a cancel */
                return 0;
        m->running--;
        e = map_result(answer, m->asked->text, m->signo, &verdict, &l->result, &code, &d);
        if (e < 0)
                return e;
        if (verdict == MAP_AGAIN && !map_ends(m)) {
                l->state = MAP_LINE_WAITS;
                m->waiting++;
                m->again_usec = clock_mono_usec() + AGAIN_USEC;
                return 0;
        }
        map_pass_errors(m, i, json_object_get(json_object_get(answer, "result"), "stderr"));
        /* A request that is refused for the first line is refused for all lines. */
        if (verdict == MAP_REFUSED && m->n_ok + m->n_failed == 0)
                map_fail(m, code, d.text);
        else if (verdict == MAP_STOPPED)
                map_fail(m, EXIT_LETHE, d.text);
        if (verdict == MAP_OK || verdict == MAP_FAILED || (verdict == MAP_REFUSED && !m->code))
                map_done(m, l, verdict == MAP_OK);
        else
                l->state = MAP_LINE_DROPPED;
        return 0;
}

static int map_receive(MapRun *m) {
        const char *line;
        size_t n_line;
        LineKind kind;
        char *at;
        ssize_t n;
        int e = line_reader_space(&m->answers, CHUNK, &at);

        if (e < 0)
                return e;
        n = recv(m->daemon, at, CHUNK, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                return -EPIPE;
        line_reader_fed(&m->answers, (size_t)MAX(n, (ssize_t)0));
        while (e == 0 && (kind = line_reader_next(&m->answers, &line, &n_line)) == LINE_WHOLE)
                e = map_take_answer(m, line, n_line);
        return e < 0 ? e : kind == LINE_TOO_LONG ? -EPROTO : 0;
}

static int map_flush(MapRun *m) {
        const char *bytes;
        size_t n;

        while ((n = line_queue_peek(&m->out, &bytes)) > 0) {
                ssize_t w = send(m->daemon, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (w < 0 && (errno == EAGAIN || errno == EINTR))
                        return 0;
                if (w < 0)
                        return -EPIPE;
                line_queue_sent(&m->out, (size_t)w);
        }
        return 0;
}

/* Ends the map: cancels what runs. */
static int map_cancel(MapRun *m, int signo) {
        int e = 0;

        m->signo = m->signo ?: signo;
        for (uint64_t i = m->first; e == 0 && i < m->next; i++) {
                MapLine *l = map_line(m, i);
                char text[160];
                int n;

                if (l->state == MAP_LINE_WAITS)
                        l->state = MAP_LINE_DROPPED;
                if (l->state != MAP_LINE_RUNS)
                        continue;
                n = snprintf(text, sizeof(text),
                             "{\"jsonrpc\":\"2.0\",\"method\":\"cancel\",\"params\":{\"id\":%" PRIu64
                             ",\"signal\":%d}}\n",
                             i, m->signo);
                e = line_queue_add(&m->out, text, (size_t)n);
        }
        m->waiting = 0;
        return e;
}

static bool map_writes(const MapRun *m) {
        return m->signo != SIGPIPE && m->first < m->next && map_line(m, m->first)->state == MAP_LINE_DONE;
}

/* Writes after poll(2) reported room: a pipe takes PIPE_BUF bytes without waiting. */
static int map_write(MapRun *m) {
        while (map_writes(m)) {
                MapLine *l = map_line(m, m->first);
                const size_t left = l->result.n - m->written;
                ssize_t n = write(STDOUT_FILENO, l->result.data + m->written,
                                  m->plain_out ? left : MIN(left, (size_t)PIPE_BUF));

                if (n < 0 && (errno == EINTR || errno == EAGAIN))
                        return 0;
                if (n < 0 && errno == EPIPE)
                        return map_cancel(m, SIGPIPE);
                if (n < 0) {
                        map_fail(m, EXIT_NOT, strerror(errno));
                        return map_cancel(m, SIGPIPE);
                }
                m->written += (size_t)n;
                if (m->written == l->result.n) {
                        m->written = 0;
                        m->held -= l->result.n;
                        buf_deinit(&l->result);
                        m->first++;
                }
                if (!m->plain_out)
                        return 0;
        }
        return 0;
}

static int map_on_signal(MapRun *m, int signals) {
        struct signalfd_siginfo si;
        int e = 0;

        while (e == 0 && read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
                liveness_signal(&m->liveness, (int)si.ssi_signo);
                if (m->signo && !m->liveness.socket) /* a second signal: nothing is waited for */
                        return -ETIMEDOUT;
                e = map_cancel(m, (int)si.ssi_signo);
        }
        return e;
}

static int map_send_again(MapRun *m, uint64_t now) {
        int e = 0;

        if (m->waiting == 0 || now < m->again_usec || map_ends(m))
                return 0;
        for (uint64_t i = m->first; e == 0 && i < m->next; i++)
                if (map_line(m, i)->state == MAP_LINE_WAITS)
                        e = map_send(m, map_line(m, i));
        m->waiting = 0;
        return e;
}

static int map_wait_msec(const MapRun *m, int liveness) {
        int msec = m->waiting ? (int)(AGAIN_USEC / 1000) : -1;

        if (m->terminal)
                msec = msec < 0 ? (int)(PROGRESS_USEC / 1000) : MIN(msec, (int)(PROGRESS_USEC / 1000));
        return liveness < 0 ? msec : msec < 0 ? liveness : MIN(msec, liveness);
}

static int map_step(MapRun *m, int signals, bool reads) {
        const char *bytes;
        const bool sends = line_queue_peek(&m->out, &bytes) > 0, writes = map_writes(m);
        struct pollfd p[] = {{.fd = m->daemon, .events = (short)(POLLIN | (sends ? POLLOUT : 0))},
                             {.fd = signals, .events = POLLIN},
                             {.fd = reads ? STDIN_FILENO : -1, .events = POLLIN},
                             {.fd = m->signo == SIGPIPE ? -1 : STDOUT_FILENO, .events = writes ? POLLOUT : 0},
                             {.fd = -1}};
        int msec, e;
        uint64_t now;

        msec = liveness_poll(&m->liveness, &p[4]);
        if (poll(p, ARRAY_SIZE(p), map_wait_msec(m, m->running ? msec : -1)) < 0)
                return errno == EINTR ? 0 : -errno;
        now = clock_mono_usec();
        map_show_progress(m, now);
        e = m->running ? liveness_check(&m->liveness, p[4].revents, p[0].revents & POLLIN) : 0;
        if (e == 0 && p[1].revents)
                e = map_on_signal(m, signals);
        if (e == 0 && p[0].revents & (POLLIN | POLLHUP | POLLERR))
                e = map_receive(m);
        if (e == 0 && p[2].revents)
                e = map_read_input(m);
        if (e == 0 && p[3].revents & POLLOUT)
                e = map_write(m);
        else if (e == 0 && p[3].revents & (POLLERR | POLLNVAL))
                e = map_cancel(m, SIGPIPE);
        if (e == 0 && m->code && !m->signo)
                e = map_cancel(m, SIGTERM);
        return e ?: map_send_again(m, now);
}

/* After a signal: the results before the first line without one, as far as the reader takes them. */
static void map_write_last(MapRun *m) {
        const uint64_t until = clock_mono_usec() + LAST_USEC;

        while (map_writes(m)) {
                struct pollfd p = {.fd = STDOUT_FILENO, .events = POLLOUT};
                const uint64_t now = clock_mono_usec();

                if (now >= until || (poll(&p, 1, (int)((until - now) / 1000 + 1)) < 0 && errno != EINTR) ||
                    p.revents & POLLERR || (p.revents & POLLOUT && map_write(m) < 0))
                        return;
        }
}

static int map_loop(MapRun *m, int signals) {
        bool more = true;
        int e = 0;

        while (e == 0) {
                e = map_begin_lines(m, &more) ?: map_flush(m);
                if (e == 0 && map_ends(m) && m->running == 0)
                        break;
                if (e == 0 && !more && m->in_over && m->first == m->next && m->running == 0)
                        break;
                if (e == 0)
                        e = map_step(m, signals, more);
        }
        map_write_last(m);
        return e;
}

static int map_summary(MapRun *m) {
        const uint64_t n = m->n_ok + m->n_failed;
        const double seconds = (double)(clock_mono_usec() - m->began_usec) / 1e6;

        map_clear_progress(m);
        if (map_ends(m))
                log_note("map ended before the end of its input, with %" PRIu64 " %s written: go on with --from %"
                         PRIu64 "%s", m->first - m->from, m->first - m->from == 1 ? "line" : "lines", m->first,
                         m->written > 0 ? " (the last line of the output is not whole)" : "");
        else if (!m->quiet)
                log_note("map: %" PRIu64 " %s, %" PRIu64 " ok, %" PRIu64 " failed, %.1f s", n,
                         n == 1 ? "line" : "lines", m->n_ok, m->n_failed, seconds);
        return m->code ? m->code : m->signo ? 128 + m->signo : m->n_failed ? EXIT_NOT : EXIT_OK;
}

/* The parameters that are the same for each line. */
static json_t *map_params(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                          bool foreign, const char *cwd) {
        json_t *args = serve_client_args(a->request.args);

        return args ? json_pack("{s:s, s:o, s:s*, s:O*, s:b, s:b, s:o*, s:s*}", exec ? "exec" : "skill",
                                exec ?: a->skill, "args", args, "cwd", foreign ? NULL : cwd, "options", t->options,
                                "quiet", true, "verbose", o->verbose, "promote", o->promote ? json_true() : NULL,
                                "traceparent", a->request.trace.set ? getenv("TRACEPARENT") : NULL)
                    : NULL;
}

static int map_connect(const MapAsked *asked, ServeClient *t, const RunOptions *o, MapRun *m, bool *ret_foreign,
                       char **ret_socket, Diag *reterr) {
        const HostPlace *p = &asked->place;

        *ret_foreign = false;
        if (!asked->alone)
                m->daemon = serve_client_connect(t, o, p->store, p->socket, ret_foreign, ret_socket);
        return m->daemon >= 0 ? 0 : session_host_private(p, &m->daemon, reterr);
}

static int map_open(MapRun *m, const MapAsked *asked, const RunOptions *o) {
        cpu_set_t cores;
        struct stat st;
        int e;

        m->jobs = 1;
        if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
                m->jobs = MIN((uint64_t)CPU_COUNT(&cores), (uint64_t)MAP_JOBS_MAX);
        m->from = 1;
        e = cli_number("map", "-j", asked->jobs, 1, MAP_JOBS_MAX, &m->jobs);
        if (e == EXIT_OK)
                e = cli_number("map", "--from", asked->from, 1, COUNT_MOST, &m->from);
        if (e != EXIT_OK)
                return e;
        m->asked = asked;
        m->quiet = o->quiet;
        m->terminal = !o->quiet && isatty(STDERR_FILENO);
        m->plain_out = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
        m->window = m->jobs * WINDOW_PER_JOB;
        m->first = m->next = m->from;
        m->daemon = -1;
        line_reader_init(&m->in, MAP_LINE_MAX);
        line_reader_init(&m->answers, SERVE_ANSWER_MAX);
        line_queue_init(&m->out, SIZE_MAX);
        m->lines = calloc(m->window, sizeof(*m->lines));
        return m->lines ? EXIT_OK : cli_fail("map", EXIT_LETHE, "%s", strerror(ENOMEM));
}

static void map_close(MapRun *m) {
        for (uint64_t i = 0; m->lines && i < m->window; i++) {
                buf_deinit(&m->lines[i].request);
                buf_deinit(&m->lines[i].result);
        }
        free(m->lines);
        line_reader_deinit(&m->in);
        line_reader_deinit(&m->answers);
        line_queue_deinit(&m->out);
        buf_deinit(&m->open);
        closep(&m->daemon);
}

static int map_work(MapRun *m, const MapAsked *asked, ServeClient *t, const SkillRequest *a, const char *exec,
                    const RunOptions *o, int signals) {
        _cleanup_free_ char *socket = NULL;
        char cwd[PATH_MAX];
        bool foreign;
        Diag d = {};
        int e;

        if (!getcwd(cwd, sizeof(cwd)) || *cwd != '/')
                return cli_fail("map", EXIT_LETHE, "the working folder: %s", strerror(errno));
        e = map_connect(asked, t, o, m, &foreign, &socket, &d);
        if (e != 0)
                return cli_fail("map", EXIT_LETHE, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
        e = map_request_open(map_params(t, a, exec, o, foreign, cwd), &m->open);
        if (e < 0)
                return cli_fail("map", EXIT_LETHE, "the request: %s (arguments are text in UTF-8)", strerror(-e));
        front_take_streams();
        m->began_usec = clock_mono_usec();
        liveness_begin(&m->liveness, m->daemon, socket);
        log_hold();
        e = map_loop(m, signals);
        liveness_end(&m->liveness);
        if (e == -EPIPE)
                map_fail(m, EXIT_LETHE, "lethe serve ended before the last line");
        else if (e < 0 && !(e == -ETIMEDOUT && m->signo))
                map_fail(m, EXIT_LETHE, strerror(-e));
        e = map_summary(m);
        log_let_go(signals, LAST_USEC / 1000);
        return e;
}

int map_run(const MapAsked *asked, ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
            int signals) {
        MapRun m = {.daemon = -1};
        int code;

        if (t->cannot)
                return cli_fail("map", EXIT_LETHE, "%s", strerror(ENOMEM));
        code = map_open(&m, asked, o);
        if (code == EXIT_OK)
                code = map_work(&m, asked, t, a, exec, o, signals);
        map_close(&m);
        return code;
}
