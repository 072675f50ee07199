/* Runs: CLI. `lethe object top`: objects that run, are due, and sleep. On a terminal the view is drawn each second;
 * else the lines are printed once. Reads rows of `due` and of living regions alone: dormant objects cost nothing. */
#include "base/clock.h"
#include "base/io.h"
#include "base/size.h"
#include "base/utf8.h"
#include "cli/cmd-object.h"
#include "object/object.h"
#include "record/object-row.h"
#include "record/wake.h"
#include "store/table.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>

#define TOP_LINES 20       /* of each part, without a terminal */
#define TOP_LINES_MOST 1000
#define TOP_STEP_MSEC 1000
#define COUNTED_MOST 10000 /* due objects */

/* A terminal as it was, and its size. */
typedef struct TopScreen {
        struct termios was;
        bool raw;     /* standard input is a terminal, too, and `was` is set */
        bool shown;   /* the alternate screen */
        bool colour;
        int signals;  /* signalfd */
        unsigned rows, columns;
} TopScreen;

/* {"object","do","state","entries","reason"?,…} for a line. A row that is gone or damaged has the id alone. */
static json_t *top_object(Txn *t, const char *id) {
        _cleanup_object_row_ ObjectRow row = {};
        Diag d = {};

        if (object_get(t, id, &row, &d) != 0)
                return json_pack("{s:s}", "object", id);
        return json_pack("{s:s, s:O*, s:s, s:o, s:O*, s:O*}", "object", id, "do", json_object_get(row.row, "do"),
                         "state", object_state_name(row.state), "entries", json_u64(row.n), "reason",
                         json_object_get(row.row, "reason"), "parent", json_object_get(row.row, "parent"));
}

static int top_add(json_t *list, json_t *o, const char *member, json_t *value) {
        if (!o || json_object_set_new(o, member, value) < 0 || json_array_append(list, o) < 0) {
                json_decref(o);
                return -ENOMEM;
        }
        json_decref(o);
        return 0;
}

/* Living regions that are executions. Returns 0 or -errno. */
static int top_read_runs(Txn *t, size_t most, json_t *list, uint64_t *ret_n) {
        RegionRow *rows = NULL;
        size_t n = 0;
        int r = engine_region_list(t, &rows, &n);

        *ret_n = 0;
        for (size_t i = 0; r == 0 && i < n; i++) {
                const char *id = cli_text(rows[i].detail, "object");

                if (!id || !region_id_valid(id) || ++*ret_n > most)
                        continue;
                r = top_add(list, top_object(t, id), "region", json_string(rows[i].region));
        }
        region_rows_free(rows, n);
        return r;
}

/* Rows of `due`: those of now, and the next ones. */
static int top_read_due(Txn *t, uint64_t now, size_t most, json_t *due, json_t *sleeps, uint64_t *ret_due) {
        WakeDue rows[64], last = {};
        size_t n = ARRAY_SIZE(rows);
        int r = 0;

        *ret_due = 0;
        for (bool more = true; r == 0 && more && n == ARRAY_SIZE(rows);) {
                r = wake_due(t, UINT64_MAX - 1, *last.object ? &last : NULL, ARRAY_SIZE(rows), rows, &n);
                for (size_t i = 0; r == 0 && more && i < n; i++) {
                        const bool now_due = rows[i].usec <= now;

                        last = rows[i];
                        *ret_due += now_due;
                        if (now_due && json_array_size(due) < most)
                                r = top_add(due, top_object(t, last.object), "due", json_u64(last.usec));
                        else if (!now_due && json_array_size(sleeps) < most)
                                r = top_add(sleeps, top_object(t, last.object), "due", json_u64(last.usec));
                        more = now_due ? *ret_due < COUNTED_MOST : json_array_size(sleeps) < most;
                }
        }
        return r;
}

/* *ret: {"now","alive","by_clock","counts","runs":[…],"due":[…],"sleeps":[…]} */
static int top_read(Store *s, size_t most, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *runs = json_array(), *due = json_array(), *sleeps = json_array();
        uint64_t alive = 0, by_clock = 0, n_runs, n_due;
        const uint64_t now = clock_real_usec();
        _cleanup_txn_ Txn *t = NULL;
        int r = runs && due && sleeps ? store_begin(s, false, &t, reterr) : -ENOMEM;

        r = r ?: object_row_alive(t, &alive)
              ?: table_rows(t, TABLE_DUE, &by_clock)
              ?: top_read_runs(t, most, runs, &n_runs)
              ?: top_read_due(t, now, most, due, sleeps, &n_due);
        if (r != 0)
                return r;
        *ret = json_pack("{s:o, s:o, s:o, s:o, s:o, s:O, s:O, s:O}", "now", json_u64(now), "objects", json_u64(alive),
                         "running", json_u64(n_runs), "due_now", json_u64(n_due), "due_later",
                         json_u64(by_clock - MIN(n_due, by_clock)), "runs", runs, "due", due, "sleeps", sleeps);
        return *ret ? 0 : -ENOMEM;
}

static void top_what(FILE *f, const json_t *what) {
        const char *skill = cli_text(what, "skill");

        if (skill)
                print_safe(f, skill, strlen(skill));
        else if (json_object_get(what, "delegate"))
                fprintf(f, "delegate %" PRIu64, cli_u64(what, "delegate"));
        else if (json_object_get(what, "steps"))
                fprintf(f, "steps %" PRIu64, cli_u64(what, "steps"));
        else
                fputs(json_object_get(what, "wait") ? "wait" : "-", f);
}

/* A line of text; when: "in 3s" or "for 3s". */
static void top_line(FILE *f, const json_t *o, uint64_t now, const char *part) {
        const uint64_t due = cli_u64(o, "due");
        const char *region = cli_text(o, "region"), *reason = cli_text(o, "reason");
        uint64_t since = region && region_id_valid(region) ? region_id_usec(region) : due;
        char age[SIZE_TEXT_MAX];

        fprintf(f, "%-7s %-26s %-12s ", part, cli_text(o, "object") ?: "-", cli_text(o, "state") ?: "-");
        if (*part == 's')
                fprintf(f, "in %-9s ", duration_format(due - MIN(now, due), age));
        else if (since > 0)
                fprintf(f, "for %-8s ", duration_format(now - MIN(since, now), age));
        else
                fprintf(f, "%-12s ", "at once");
        top_what(f, json_object_get(o, "do"));
        if (reason && *reason) {
                fputs("  ", f);
                print_safe(f, reason, strlen(reason));
        }
        fputc('\n', f);
}

static void top_part(FILE *f, const json_t *all, const char *list, const char *part) {
        json_t *o;
        size_t i;

        json_array_foreach(json_object_get(all, list), i, o)
                top_line(f, o, cli_u64(all, "now"), part);
}

/* The view as lines of text: *ret is owned. */
static int top_text(const json_t *all, char **ret) {
        size_t n;
        FILE *f = open_memstream(ret, &n);

        if (!f)
                return -ENOMEM;
        fprintf(f, "objects: %" PRIu64 " alive, %" PRIu64 " run, %" PRIu64 "%s due, %" PRIu64 " sleep by the clock\n",
                cli_u64(all, "objects"), cli_u64(all, "running"), cli_u64(all, "due_now"),
                cli_u64(all, "due_now") >= COUNTED_MOST ? " or more" : "", cli_u64(all, "due_later"));
        top_part(f, all, "runs", "runs");
        top_part(f, all, "due", "due");
        top_part(f, all, "sleeps", "sleeps");
        return fclose(f) == 0 && *ret ? 0 : -ENOMEM;
}

/* The bytes of a line's first `columns` characters. A character of East Asia may take two columns. */
static size_t top_cut(const char *line, size_t n, unsigned columns) {
        size_t at = 0;

        while (at < n) {
                size_t step = utf8_step((const unsigned char *)line + at, n - at) ?: 1;
                unsigned wide = step >= 3 ? 2 : 1;

                if (wide > columns)
                        break;
                columns -= wide;
                at += step;
        }
        return at;
}

static const char *top_colour(const char *line) {
        return *line == 'o' ? "\x1b[1m" : *line == 'r' ? "\x1b[33m" : *line == 'd' ? "\x1b[36m" : "";
}

static void top_draw(TopScreen *s, const char *text) {
        unsigned left = s->rows;

        fputs("\x1b[H", stdout);
        for (const char *line = text; *line && left > 0; left--) {
                size_t n = strcspn(line, "\n");
                const char *colour = s->colour ? top_colour(line) : "";

                printf("%s%.*s%s\x1b[K%s", colour, (int)top_cut(line, n, s->columns), line, *colour ? "\x1b[0m" : "",
                       left > 1 ? "\r\n" : "");
                line += n + (line[n] == '\n');
        }
        fputs("\x1b[J", stdout);
        fflush(stdout);
}

static void top_measure(TopScreen *s) {
        struct winsize w = {};

        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_row == 0 || w.ws_col == 0)
                w = (struct winsize){.ws_row = 24, .ws_col = 80};
        s->rows = w.ws_row;
        s->columns = w.ws_col;
}

static void top_leave(TopScreen *s) {
        if (s->shown) {
                fputs("\x1b[0m\x1b[?25h\x1b[?1049l", stdout);
                fflush(stdout);
        }
        if (s->raw)
                tcsetattr(STDIN_FILENO, TCSAFLUSH, &s->was);
        s->shown = s->raw = false;
}

/* Keys come one by one, and are not shown; signals of keys stay signals. */
static void top_enter(TopScreen *s) {
        struct termios t;

        if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->was) == 0) {
                t = s->was;
                t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
                s->raw = tcsetattr(STDIN_FILENO, TCSAFLUSH, &t) == 0;
        }
        top_measure(s);
        fputs("\x1b[?1049h\x1b[?25l", stdout);
        s->shown = true;
}

/* Stops as any program does, with the terminal as it was. */
static void top_suspend(TopScreen *s) {
        top_leave(s);
        raise(SIGSTOP);
        top_enter(s);
}

/* Waits for the next drawing. Returns 0, 1 to end, or the number of a signal that ends. */
static int top_wait(TopScreen *s) {
        struct pollfd p[] = {{.fd = s->signals, .events = POLLIN},
                             {.fd = s->raw ? STDIN_FILENO : -1, .events = POLLIN}};
        struct signalfd_siginfo si;
        char key = 0;

        if (poll(p, ARRAY_SIZE(p), TOP_STEP_MSEC) <= 0)
                return 0;
        if (p[1].revents && (read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == 'Q'))
                return 1;
        if (!p[0].revents || read(s->signals, &si, sizeof(si)) != sizeof(si))
                return 0;
        if (si.ssi_signo == SIGWINCH || si.ssi_signo == SIGCONT)
                top_measure(s);
        else if (si.ssi_signo == SIGTSTP)
                top_suspend(s);
        else
                return (int)si.ssi_signo;
        return 0;
}

static int top_live(ActionArgs *a, Store *store) {
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT};
        const char *no_colour = getenv("NO_COLOR");
        TopScreen s = {.colour = !no_colour || !*no_colour, .signals = -1};
        sigset_t set;
        Diag d = {};
        int r = 0, end = 0;

        sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                sigaddset(&set, signals[i]);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 || (s.signals = signalfd(-1, &set, SFD_CLOEXEC)) < 0)
                return cli_fail(a->verb, EXIT_NOT, "signals: %s", strerror(errno));
        top_enter(&s);
        while (end == 0 && !ferror(stdout)) {
                _cleanup_json_ json_t *all = NULL;
                _cleanup_free_ char *text = NULL;

                r = top_read(store, s.rows, &all, &d) ?: top_text(all, &text);
                if (r != 0)
                        break;
                top_draw(&s, text);
                end = top_wait(&s);
        }
        top_leave(&s);
        closep(&s.signals);
        if (r != 0)
                return with_store_failed(a->verb, store, r, &d);
        return end > 1 && end != SIGINT ? 128 + end : EXIT_OK;
}

static int top_once(ActionArgs *a, Store *store, uint64_t most) {
        _cleanup_free_ char *text = NULL;
        json_t *all = NULL;
        Diag d = {};
        int r = top_read(store, most, &all, &d) ?: a->o.json ? 0 : top_text(all, &text);

        if (r == 0 && a->o.json)
                return action_print(a, all);
        json_decref(all);
        if (r != 0)
                return with_store_failed(a->verb, store, r, &d);
        fputs(text, stdout);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_object_top(ActionArgs *a) {
        _cleanup_store_ Store *s = NULL;
        uint64_t most = TOP_LINES;
        int r = cli_number(a->verb, "--most", a->o.value['M'], 1, TOP_LINES_MOST, &most)
                        ?: with_store(a->verb, &a->o, STORE_READ, &s);

        if (r != EXIT_OK)
                return r;
        return a->o.json || !isatty(STDOUT_FILENO) ? top_once(a, s, most) : top_live(a, s);
}
