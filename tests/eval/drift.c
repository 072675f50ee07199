/* Runs: tests. Measures the drift of three agents on dialogues with a known state (README.md). */
#include "base/hash.h"
#include "base/io.h"
#include "base/size.h"
#include "cli/cli.h"
#include "store/store.h"
#include "tests/eval/cognition/report.h"
#include "tests/eval/domains/episode.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

#define FILE_MAX ((size_t)256 * 1024 * 1024)
#define K_MOST 1000
#define EPISODES_MOST 1000

static const char help[] =
        "Usage: drift [OPTIONS] FILE.jsonl\n"
        "       drift --generate DOMAIN [--seed N] [--turns N] [--episodes N]\n\n"
        "Plays dialogues, a dialogue a line, to three agents (the transcript, retrieval, the Compressed\n"
        "Cognitive State) and tells how far each context drifts from the state that the user set.\n\n"
        "  --csv FILE        a row for each turn and agent\n"
        "  --resume          goes on with the file of --csv after an interruption\n"
        "  --svg FILE        the figures as a picture; - is standard output\n"
        "  --explain AGENT   prints each context of transcript, retrieval or ccs, and the slots that fail\n"
        "  --requests FILE   a line of JSON for each turn, for another judge (README.md)\n"
        "  --seed N          of the order in which the judge sees the answers; of episodes (default 1)\n"
        "  --k N             texts that retrieval keeps (default: as many as make it no shorter than the state)\n"
        "  --generate DOMAIN prints episodes: it_operations, cybersecurity, healthcare, finance\n"
        "  --turns N         turns of the user in an episode (default 50, at least 12)\n"
        "  --episodes N      episodes, with the seeds N, N+1 and so on (default 1)\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n";

typedef struct DriftWant {
        bool json, resume;
        uint64_t seed, k, turns, episodes;
        const char *file, *csv, *svg, *domain, *explain, *requests;
} DriftWant;

/* The error, for --json; "" without an error. */
static Diag failed;

static void _printf_(1, 0) drift_say(const char *fmt, va_list ap) {
        _cleanup_free_ char *text = NULL;

        if (vasprintf(&text, fmt, ap) < 0)
                text = NULL;
        diag(&failed, 0, "%s", text ?: strerror(ENOMEM));
        fputs("drift: ", stderr);
        diag_print(stderr, text ?: strerror(ENOMEM));
        fputc('\n', stderr);
}

static int _printf_(2, 3) drift_fail(int code, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        drift_say(fmt, ap);
        va_end(ap);
        return code;
}

static int _printf_(1, 2) drift_usage(const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        drift_say(fmt, ap);
        va_end(ap);
        fputs("'drift --help' shows the usage\n", stderr);
        return EXIT_USAGE;
}

static int drift_no_memory(void) {
        return drift_fail(EXIT_NOT, "out of memory");
}

static int drift_flush(int code) {
        if (fflush(stdout) == 0 && !ferror(stdout))
                return code;
        fputs("drift: cannot write standard output\n", stderr);
        return code == EXIT_OK ? EXIT_NOT : code;
}

static int drift_cannot_write(const char *file, int error) {
        return drift_fail(error == ENOSPC || error == EDQUOT ? EXIT_FULL : EXIT_NOT, "%s cannot be written: %s", file,
                          strerror(error));
}

static int drift_write_file(const char *file, const Buf *b) {
        Diag d = {0};
        int r;

        if (strcmp(file, "-") == 0) {
                fwrite(b->data, 1, b->n, stdout);
                return drift_flush(EXIT_OK);
        }
        if (store_check_output(file, &d) < 0)
                return drift_fail(EXIT_NOT, "%s", d.text);
        r = io_write_named(file, b->data, b->n, 0644);
        return r == 0 ? EXIT_OK : drift_cannot_write(file, -r);
}

/* Opens the table, with what an interrupted run left of it. */
static int drift_open_table(const DriftWant *w, const MeasureConfig *c, const Dialogues *all, MeasureRows *rows,
                            size_t *ret_done, int *ret_fd) {
        _cleanup_free_ char *text = NULL;
        _cleanup_close_ int fd = -1;
        _cleanup_buf_ Buf head = {0};
        size_t n = 0, keep = 0;
        Diag d = {0};
        int r;

        if (store_check_output(w->csv, &d) < 0)
                return drift_fail(EXIT_NOT, "%s", d.text);
        if (w->resume) {
                r = io_read_file(AT_FDCWD, w->csv, FILE_MAX, &text, &n);
                if (r < 0 && r != -ENOENT)
                        return drift_fail(EXIT_NOT, "%s: %s", w->csv, strerror(-r));
                if (r == 0 && n > 0) {
                        r = measure_csv_read(c, all, text, rows, &keep, ret_done, &d);
                        if (r > 0)
                                return drift_fail(EXIT_NOT, "%s: %s", w->csv, d.text);
                        if (r < 0)
                                return drift_no_memory();
                }
        }
        fd = open(w->csv, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | (keep > 0 ? 0 : O_TRUNC), 0644);
        if (fd < 0)
                return drift_cannot_write(w->csv, errno);
        if (keep > 0 && (ftruncate(fd, (off_t)keep) < 0 || lseek(fd, 0, SEEK_END) < 0))
                return drift_cannot_write(w->csv, errno);
        if (measure_csv_head(c, &head) < 0)
                return drift_no_memory();
        r = keep > 0 ? 0 : io_write_full(fd, head.data, head.n);
        if (r < 0)
                return drift_cannot_write(w->csv, -r);
        *ret_fd = TAKE_FD(fd);
        return EXIT_OK;
}

/* A bar on a terminal only. */
static void drift_progress(size_t done, size_t all) {
        static const char bar[] = "##############################";
        size_t n = (sizeof(bar) - 1) * done / all;

        if (!isatty(STDERR_FILENO))
                return;
        fprintf(stderr, "\r[%-*.*s] %zu of %zu dialogues", (int)sizeof(bar) - 1, (int)n, bar, done, all);
        fputs(done == all ? "\n" : "", stderr);
}

static int drift_measure(const DriftWant *w, const MeasureConfig *c, const Dialogues *all, MeasureRows *rows) {
        _cleanup_close_ int fd = -1;
        size_t done = 0;
        int r = w->csv ? drift_open_table(w, c, all, rows, &done, &fd) : EXIT_OK;

        for (size_t i = done; r == EXIT_OK && i < all->n; i++) {
                _cleanup_buf_ Buf lines = {0};
                size_t from = rows->n;

                drift_progress(i, all->n);
                if (measure_dialogue(c, &all->v[i], i, rows) < 0 ||
                    (fd >= 0 && measure_csv_rows(rows, from, &lines) < 0))
                        return drift_no_memory();
                r = fd >= 0 ? io_write_full(fd, lines.data, lines.n) : 0;
                if (r < 0)
                        return drift_cannot_write(w->csv, -r);
        }
        if (r == EXIT_OK)
                drift_progress(all->n, all->n);
        return r;
}

static int drift_picture(const DriftWant *w, const Dialogues *all, const MeasureRows *rows) {
        _cleanup_buf_ Buf svg = {0};
        char about[200];

        snprintf(about, sizeof(about), "%zu dialogues, %zu turns of users; tests/eval/drift, judge %s", all->n,
                 rows->n / AGENTS, JUDGE_NAME);
        return report_plot(rows, about, &svg) < 0 ? drift_no_memory() : drift_write_file(w->svg, &svg);
}

static int drift_print(const DriftWant *w, const MeasureConfig *c, const MeasureRows *rows) {
        _cleanup_json_ json_t *o = w->json ? report_json(c, rows) : NULL;

        if (w->json)
                return o && print_json(stdout, o) == 0 ? EXIT_OK : drift_no_memory();
        if (!w->svg || strcmp(w->svg, "-") != 0)
                report_print(rows);
        return EXIT_OK;
}

static AgentKind drift_agent(const char *name) {
        unsigned k = 0;

        while (k < AGENTS && strcmp(agent_name((AgentKind)k), name) != 0)
                k++;
        return (AgentKind)k;
}

static int drift_run(const DriftWant *w) {
        _cleanup_dialogues_ Dialogues all = {0};
        _cleanup_(measure_rows_deinit) MeasureRows rows = {0};
        _cleanup_free_ char *text = NULL;
        MeasureConfig c = {.seed = w->seed, .k = (unsigned)w->k};
        size_t n;
        Diag d = {0};
        int r = io_read_file(AT_FDCWD, w->file, FILE_MAX, &text, &n);

        if (r < 0)
                return drift_fail(EXIT_NOT, "%s: %s", w->file, strerror(-r));
        r = dialogues_read(text, n, &all, &d);
        if (r > 0)
                return drift_fail(EXIT_NOT, "%s: %s", w->file, d.text);
        if (r < 0)
                return drift_no_memory();
        if (all.n == 0)
                return drift_fail(EXIT_NOT, "%s has no dialogue: it is empty", w->file);
        hash_hex(text, n, c.source);
        if (w->explain) {
                c.explain = stdout;
                c.explained = drift_agent(w->explain);
        }
        if (w->requests && store_check_output(w->requests, &d) < 0)
                return drift_fail(EXIT_NOT, "%s", d.text);
        if (w->requests && !(c.requests = fopen(w->requests, "we")))
                return drift_cannot_write(w->requests, errno);
        r = drift_measure(w, &c, &all, &rows);
        if (c.requests && fclose(c.requests) != 0)
                r = drift_cannot_write(w->requests, errno);
        if (r == EXIT_OK && w->svg)
                r = drift_picture(w, &all, &rows);
        if (r == EXIT_OK && !w->explain)
                r = drift_print(w, &c, &rows);
        return drift_flush(r);
}

static int drift_generate(const DriftWant *w) {
        for (uint64_t i = 0; i < w->episodes; i++) {
                _cleanup_json_ json_t *o = NULL;
                int r = episode_make(w->domain, w->seed + i, (unsigned)w->turns, &o);

                if (r > 0)
                        return drift_usage("'%s' is not a domain: it_operations, cybersecurity, healthcare, finance",
                                           w->domain);
                if (r < 0 || print_json(stdout, o) < 0)
                        return drift_no_memory();
        }
        return drift_flush(EXIT_OK);
}

/* Also where a wrong argument stands before --json. */
static bool drift_asks_for_json(char **argv) {
        while (*++argv && strcmp(*argv, "--") != 0)
                if (strcmp(*argv, "--json") == 0)
                        return true;
        return false;
}

static int drift_number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *ret) {
        if (count_parse(text, ret) == 0 && *ret >= least && *ret <= most)
                return EXIT_OK;
        return drift_usage("--%s is '%s': it is a whole number from %llu to %llu", option, text,
                           (unsigned long long)least, (unsigned long long)most);
}

static int drift_check(const DriftWant *w) {
        if (w->domain && (w->file || w->csv || w->svg || w->json || w->resume || w->requests))
                return drift_usage("--generate prints episodes: it measures nothing");
        if (!w->domain && !w->file)
                return drift_usage("FILE is missing");
        if (w->resume && !w->csv)
                return drift_usage("--resume goes on with the file of --csv");
        if (w->requests && (w->resume || w->explain))
                return drift_usage("--requests writes the requests of all dialogues: not with --resume or --explain");
        if (w->explain && (w->json || w->svg || w->resume))
                return drift_usage("--explain prints contexts only");
        if (w->explain && drift_agent(w->explain) == AGENTS)
                return drift_usage("'%s' is not an agent: transcript, retrieval, ccs", w->explain);
        if (w->json && w->svg && strcmp(w->svg, "-") == 0)
                return drift_usage("--json and --svg - would both go to standard output");
        return EXIT_OK;
}

/* Returns EXIT_OK, EXIT_USAGE after a message, or -1 after --help. */
static int drift_options(DriftWant *w, int argc, char **argv) {
        enum { CSV = 1000, REQUESTS, RESUME, SVG, EXPLAIN, SEED, K, GENERATE, TURNS, EPISODES, JSON };
        static const struct option options[] = {OPTION("csv", CSV),         OPTION_FLAG("resume", RESUME),
                                                OPTION("svg", SVG),         OPTION("seed", SEED),
                                                OPTION("explain", EXPLAIN), OPTION("requests", REQUESTS),
                                                OPTION("k", K),             OPTION("generate", GENERATE),
                                                OPTION("turns", TURNS),     OPTION("episodes", EPISODES),
                                                OPTION_FLAG("json", JSON),  OPTION_FLAG("help", 'h'),
                                                {0}};
        int opt, r = EXIT_OK;

        while (r == EXIT_OK && (opt = getopt_long(argc, argv, ":h", options, NULL)) != -1)
                switch (opt) {
                case CSV:
                        w->csv = optarg;
                        break;
                case REQUESTS:
                        w->requests = optarg;
                        break;
                case RESUME:
                        w->resume = true;
                        break;
                case SVG:
                        w->svg = optarg;
                        break;
                case EXPLAIN:
                        w->explain = optarg;
                        break;
                case SEED:
                        r = drift_number("seed", optarg, 0, COUNT_MOST, &w->seed);
                        break;
                case K:
                        r = drift_number("k", optarg, 1, K_MOST, &w->k);
                        break;
                case GENERATE:
                        w->domain = optarg;
                        break;
                case TURNS:
                        r = drift_number("turns", optarg, EPISODE_TURNS_LEAST, EPISODE_TURNS_MOST, &w->turns);
                        break;
                case EPISODES:
                        r = drift_number("episodes", optarg, 1, EPISODES_MOST, &w->episodes);
                        break;
                case JSON:
                        w->json = true;
                        break;
                case 'h':
                        fputs(help, stdout);
                        return -1;
                default:
                        return optopt > 0 && optopt < 0x80
                                       ? drift_usage("'-%c' is not an option", optopt)
                                       : drift_usage("'%s' is not an option, or lacks a value", argv[optind - 1]);
                }
        if (r != EXIT_OK)
                return r;
        if (argc - optind > 1)
                return drift_usage("more than one FILE");
        w->file = argv[optind];
        return drift_check(w);
}

int main(int argc, char **argv) {
        DriftWant w = {.seed = 1, .turns = 50, .episodes = 1};
        int r;

        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
        r = drift_options(&w, argc, argv);
        if (r < 0)
                return EXIT_OK;
        if (r == EXIT_OK)
                r = w.domain ? drift_generate(&w) : drift_run(&w);
        if (failed.text[0] && (w.json || (r == EXIT_USAGE && drift_asks_for_json(argv)))) {
                _cleanup_json_ json_t *o = json_pack("{s:i, s:{s:s, s:s}}", "version", 1, "error", "code",
                                                     r == EXIT_USAGE ? "usage" : "failed", "message", failed.text);

                return print_json(stdout, o) < 0 ? drift_no_memory() : drift_flush(r);
        }
        return r;
}
