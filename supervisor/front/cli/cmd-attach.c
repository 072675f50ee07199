/* Runs: CLI. */
#include "base/io.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/output-show.h"
#include "cli/region-fate.h"
#include "cli/region-selector.h"
#include "cli/serve-call.h"
#include "cli/terminal.h"
#include "engine/engine.h"
#include "request/paths.h"
#include "schema/terminal.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static const char help[] =
        "Usage: lethe attach [OPTIONS] REGION\n"
        "       lethe attach [OPTIONS] --last\n\n"
        "Passes standard output and error of a detached region on from now on, and standard input when the region was\n"
        "made with -i or -t; ends with the region's exit code. In a terminal, the keys Control-P Control-Q detach again,\n"
        "and without -t Control-C does: the region goes on ('lethe kill' ends it).\n"
        HELP_REGION
        HELP_STORE
        "  --last            the detached region that began last\n"
        "  --no-stdin        pass no standard input on\n"
        "  -h, --help        print the help\n";

#define LOOK_MSEC 200
#define ANSWER_MAX 4096
#define KEY_FIRST 16 /* Control-P */
#define KEY_SECOND 17 /* Control-Q */

typedef struct Attach {
        StoreOptions o;
        Store *store;
        RegionId region;
        OutputShow show;
        int input;          /* to the region, or -1 */
        bool terminal;      /* input is packets of schema/terminal.h */
        bool packets;       /* and so is standard input */
        bool ended;         /* no more standard input */
        bool held;          /* the first of the two keys was typed */
        bool detached;
} Attach;

static void attach_deinit(Attach *a) {
        output_show_end(&a->show);
        closep(&a->input);
        store_free(TAKE_PTR(a->store));
}

/* Asks the region's daemon for the far end of its standard input. Returns EXIT_OK; a region at its end has none. */
static int attach_ask(Attach *a) {
        _cleanup_(region_row_deinit) RegionRow row = {0};
        _cleanup_json_ json_t *answer = NULL;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_close_ int fd = -1;
        char path[STORE_SOCKET_MAX], line[ANSWER_MAX];
        const json_t *result;
        Diag d = {0};
        ssize_t n;
        int r = store_begin(a->store, false, &t, &d) ?: engine_region_get(t, a->region, &row);

        if (r == ENGINE_E_NO_REGION)
                return EXIT_OK;
        if (r != 0)
                return with_store_failed("attach", a->store, r, &d);
        store_place_socket(a->store, row.supervisor_lock, path);
        fd = path_connect(path);
        r = fd < 0 ? fd
                   : serve_call_send(fd, json_pack("{s:s, s:i, s:s, s:{s:s}}", "jsonrpc", "2.0", "id", 1, "method", "attach",
                                                   "params", "region", a->region), NULL, 0);
        n = r < 0 ? r : io_receive_fd(fd, -1, line, sizeof(line), &a->input);
        if (n <= 0 || json_parse(line, (size_t)n, sizeof(line), 8, &answer, NULL) != 0)
                return store_lock_is_free(a->store, row.supervisor_lock)
                               ? EXIT_OK
                               : cli_fail("attach", EXIT_NOT, "the supervisor of region %s cannot be asked: %s", a->region,
                                          n < 0 ? strerror((int)-n) : "malformed answer");
        result = json_object_get(answer, "result");
        a->terminal = json_is_true(json_object_get(result, "terminal"));
        return EXIT_OK; /* an error: the region is at its end */
}

/* Takes the two keys out; the first alone is passed on with the next byte. */
static size_t attach_keys(Attach *a, const char *typed, size_t n, char *ret) {
        size_t k = 0;

        for (size_t i = 0; i < n && !a->detached; i++) {
                if (a->held && typed[i] == KEY_SECOND) {
                        a->detached = true;
                        break;
                }
                if (a->held)
                        ret[k++] = KEY_FIRST;
                a->held = typed[i] == KEY_FIRST;
                if (!a->held)
                        ret[k++] = typed[i];
        }
        return k;
}

static int attach_send(Attach *a, const char *bytes, size_t n) {
        while (n > 0) {
                ssize_t k = send(a->input, bytes, n, MSG_NOSIGNAL);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                bytes += k;
                n -= (size_t)k;
        }
        return 0;
}

static int attach_take_input(Attach *a) {
        char in[TERMINAL_INPUT_MAX + 1], out[2 * TERMINAL_INPUT_MAX + 2];
        const size_t most = a->packets ? sizeof(in) : TERMINAL_INPUT_MAX - 1;
        ssize_t n = read(STDIN_FILENO, in, most);
        size_t k;
        int r;

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return 0;
        if (n <= 0) {
                a->ended = true;
                if (!a->terminal)
                        shutdown(a->input, SHUT_WR);
                return 0;
        }
        if (a->packets && in[0] != TERMINAL_INPUT)
                return attach_send(a, in, (size_t)n);
        *out = TERMINAL_INPUT;
        if (a->packets)
                k = attach_keys(a, in + 1, (size_t)n - 1, out + 1);
        else {
                memcpy(out + 1, in, (size_t)n);
                k = (size_t)n;
        }
        /* a held key may make a packet longer than its bound */
        for (char *at = out + 1; k > 0;) {
                const size_t part = MIN(k, (size_t)TERMINAL_INPUT_MAX);

                at[-1] = TERMINAL_INPUT;
                r = a->terminal ? attach_send(a, at - 1, part + 1) : attach_send(a, at, part);
                if (r < 0)
                        return r;
                at += part;
                k -= part;
        }
        return 0;
}

static int attach_relay(Attach *a) {
        while (!a->show.over && !a->detached) {
                struct pollfd p[] = {{.fd = a->show.watch, .events = POLLIN},
                                     {.fd = a->input >= 0 && !a->ended ? STDIN_FILENO : -1, .events = POLLIN},
                                     {.fd = a->input, .events = 0}};
                int r = output_show_take(&a->show);

                if (r != EXIT_OK)
                        return r;
                if (a->show.over)
                        break;
                if (poll(p, ARRAY_SIZE(p), LOOK_MSEC) < 0 && errno != EINTR)
                        return cli_fail("attach", EXIT_NOT, "poll: %s", strerror(errno));
                if (p[2].revents & (POLLHUP | POLLERR)) /* the region takes no more input */
                        closep(&a->input);
                else if (p[1].revents && attach_take_input(a) < 0)
                        closep(&a->input);
        }
        return EXIT_OK;
}

static int attach_go(Attach *a) {
        const char *no_input = a->o.value['N'];
        RegionFate end;
        int r = output_show_begin("attach", a->store, a->region, terminal_is_child(), &a->show);

        if (r != EXIT_OK)
                return r;
        a->show.quiet = true; /* what came before is for `lethe logs` */
        r = output_show_take(&a->show);
        a->show.quiet = false;
        if (r == EXIT_OK && !a->show.over)
                r = attach_ask(a);
        if (no_input)
                closep(&a->input);
        a->packets = a->terminal && terminal_is_child();
        r = r ?: attach_relay(a);
        if (r != EXIT_OK)
                return r;
        if (a->detached) {
                log_note("detached from region %s, which goes on", a->region);
                return EXIT_OK;
        }
        output_show_end(&a->show);
        r = region_fate_wait("attach", &a->o, &a->store, a->region, UINT64_MAX, &end);
        return r == EXIT_OK ? end.code : r;
}

static int attach_alone(int argc, char **argv);

/* Whether the region has a terminal, before a second process exists: an open store does not survive a fork. */
static int attach_look(Attach *a, int argc, char **argv, bool *ret_terminal) {
        _cleanup_output_ OutputReader r = OUTPUT_READER_NULL;
        int e = with_store("attach", &a->o, STORE_READ, &a->store);

        e = e ?: output_region("attach", a->store, &a->o, optind < argc ? argv[optind] : NULL, a->region);
        *ret_terminal = e == EXIT_OK && output_open(store_dir(a->store), a->region, &r) == 0 && r.terminal;
        return e;
}

static const struct option options[] = {OPTION("store", 's'), OPTION("anchor", STORE_ANCHOR), OPTION_FLAG("help", 'h'),
                                        OPTION_LAST, OPTION_FLAG("no-stdin", 'N'), {0}};

static int attach_main(int argc, char **argv, bool child) {
        _cleanup_(attach_deinit) Attach a = {.o = {.help = help, .must_exist = true}, .input = -1,
                                             .show = {.reader = OUTPUT_READER_NULL, .watch = -1}};
        bool terminal;
        int r;

        optind = 0;
        if (store_options(&a.o, argc, argv, options) < 0)
                return a.o.code;
        r = output_check_arguments("attach", &a.o, argc);
        if (r == EXIT_OK && optind + 1 < argc)
                r = cli_usage("attach", "'%s' is one argument too many: give a single region", argv[optind + 1]);
        r = r ?: attach_look(&a, argc, argv, &terminal);
        if (r != EXIT_OK)
                return r;
        if (child || !terminal || a.o.value['N'] || !terminal_is_there() || !terminal_is_in_front())
                return attach_go(&a);
        store_free(TAKE_PTR(a.store));
        return terminal_run(attach_alone, argc, argv);
}

static int attach_alone(int argc, char **argv) {
        return attach_main(argc, argv, true);
}

int cmd_attach(int argc, char **argv) {
        return attach_main(argc, argv, false);
}
