/* Runs: tests. Measures how well notes are bound to what they are about (README.md). */
#include "base/io.h"
#include "base/json.h"
#include "base/size.h"
#include "belief/binding.h"
#include "cli/cli.h"
#include "store/store.h"
#include "tests/eval/curve.h"
#include "tests/eval/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX ((size_t)256 * 1024 * 1024)

static const char help[] =
        "Usage: identity [OPTIONS] FILE\n\n"
        "Replays a history of changes as notes and tells how many of them are bound to the row that they\n"
        "are about, to a wrong one, or wait. Needs no store. FILE has a row a line, columns between tabs:\n"
        "id, time, subject, ids of the earlier rows fixed by the row (the right answers), body; or id, time, author,\n"
        "people, subject, fixes, body, files.\n\n"
        "Three settings: all rows open for ever; a life cycle, in which a row is open from its commit to its last\n"
        "fix; and the life cycle with files. For one note in five the right rows are missing. Then, with the score\n"
        "and its lead alone to decide:\n\n"
        "  --masked          only without hashes and quoted subjects\n"
        "  --plain           only with the explicit reference that each note's author gave\n"
        "  --curve           also other thresholds, and the best match always taken\n"
        "  --svg FILE        the curve as a picture; - is standard output\n"
        "  --titles FILE     also titles of issues, which must not be merged: id, time, resolution, title\n"
        "  --pairs FILE      pairs \"id,id\" of duplicates\n"
        "  --json            print JSON: the three settings, or what --masked, --plain and --titles ask for\n"
        "  --least N         of the settings: bind with a probability of at least N thousandths\n"
        "  --features FILE   write what tests/eval/learn.py learns from, and measure nothing\n"
        "  --setting NAME    of the features: all, life_cycle (the default), life_cycle_files\n"
        "  --bare            of the features: subjects without their areas\n"
        "  --thin N          of the features: each note in a store of one row of N\n"
        "  -h, --help        this text\n";

typedef struct Want {
        bool masked, plain, curve, json, settings;
        const char *file, *svg, *titles, *pairs, *features, *setting;
        Setting how; /* of the features */
        uint64_t least;
} Want;

/* Measured figures; notes without elements were not asked for. */
typedef struct Measured {
        Changes changes;
        Replay *replay;
        ReplayNotes plain, mentioned, masked, remembering;
        Curve curve;
        ReplayTitles titles;
        Settings settings;
} Measured;
static void measured_deinit(Measured *m) {
        replay_notes_deinit(&m->plain);
        replay_notes_deinit(&m->mentioned);
        replay_notes_deinit(&m->masked);
        replay_notes_deinit(&m->remembering);
        replay_free(m->replay);
        changes_deinit(&m->changes);
}

/* The error, for --json; "" without an error. */
static Diag failed;

static void _printf_(1, 0) say(const char *fmt, va_list ap) {
        _cleanup_free_ char *text = NULL;

        if (vasprintf(&text, fmt, ap) < 0)
                text = NULL;
        diag(&failed, 0, "%s", text ?: strerror(ENOMEM));
        fputs("identity: ", stderr);
        diag_print(stderr, text ?: strerror(ENOMEM));
        fputc('\n', stderr);
}

static int _printf_(2, 3) fail(int code, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        say(fmt, ap);
        va_end(ap);
        return code;
}

static int _printf_(1, 2) usage(const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        say(fmt, ap);
        va_end(ap);
        fputs("'identity --help' shows the usage\n", stderr);
        return EXIT_USAGE;
}

static int no_memory(void) {
        return fail(EXIT_NOT, "out of memory");
}

/* Flushes standard output. A failure is no error object, which would go there, too. */
static int flush(int code) {
        if (fflush(stdout) == 0 && !ferror(stdout))
                return code;
        fputs("identity: cannot write standard output\n", stderr);
        return code == EXIT_OK ? EXIT_NOT : code;
}

static int print_failed(int code) {
        _cleanup_json_ json_t *o = json_pack("{s:i, s:{s:s, s:s}}", "version", 1, "error", "code",
                                             code == EXIT_USAGE ? "usage" : "failed", "message", failed.text);

        if (print_json(stdout, o) < 0)
                return no_memory();
        return flush(code);
}

static int read_file(const char *file, char **ret, size_t *ret_n) {
        int r = io_read_file(AT_FDCWD, file, FILE_MAX, ret, ret_n);

        return r == 0 ? EXIT_OK : fail(EXIT_NOT, "%s: %s", file, strerror(-r));
}

static int write_file(const char *file, const char *text, size_t n) {
        Diag d = {0};
        int r;

        if (strcmp(file, "-") == 0) {
                fwrite(text, 1, n, stdout);
                return flush(EXIT_OK);
        }
        if (store_check_output(file, &d) < 0)
                return fail(EXIT_NOT, "%s", d.text);
        r = io_write_named(file, text, n, 0644);
        return r == 0 ? EXIT_OK
                      : fail(r == -ENOSPC || r == -EDQUOT ? EXIT_FULL : EXIT_NOT, "%s cannot be written: %s", file,
                             strerror(-r));
}

static int measure_notes(const Want *w, Measured *m) {
        const ResolvePolicy policy = CURVE_POLICY;
        int r = 0;

        if (w->plain) {
                r = replay_notes(m->replay, NOTE_PLAIN, true, &policy, &m->plain);
                if (r == 0)
                        r = replay_notes(m->replay, NOTE_AS_IS, true, &policy, &m->mentioned);
        }
        if (r == 0 && w->masked) {
                r = replay_notes(m->replay, NOTE_MASKED, false, &policy, &m->masked);
                if (r == 0)
                        r = replay_notes(m->replay, NOTE_MASKED, true, &policy, &m->remembering);
                if (r == 0 && w->curve)
                        r = curve_measure(m->replay, &m->masked, &m->curve);
        }
        return r < 0 ? no_memory() : EXIT_OK;
}

static int measure_titles(const Want *w, Measured *m) {
        _cleanup_free_ char *pairs = NULL;
        _cleanup_changes_ Changes titles = {0};
        _cleanup_replay_ Replay *replay = NULL;
        const ResolvePolicy policy = CURVE_POLICY;
        char *text;
        size_t n, n_pairs;
        Diag d = {0};
        int r = w->pairs ? read_file(w->pairs, &pairs, &n_pairs) : EXIT_OK;

        if (r != EXIT_OK)
                return r;
        r = read_file(w->titles, &text, &n);
        if (r != EXIT_OK)
                return r;
        if (pairs && strlen(pairs) != n_pairs) {
                free(text);
                return fail(EXIT_NOT, "%s has a NUL: this is no text", w->pairs);
        }
        r = changes_read_titles(text, n, pairs, &titles, &d);
        if (r > 0)
                return fail(EXIT_NOT, "%s: %s", r == CHANGES_E_PAIRS ? w->pairs : w->titles, d.text);
        if (r == 0 && titles.n == 0)
                return fail(EXIT_NOT, "%s has no row", w->titles);
        if (r == 0)
                r = replay_new(&titles, &replay);
        if (r == 0)
                r = replay_titles(replay, &policy, &m->titles);
        return r < 0 ? no_memory() : EXIT_OK;
}

/* Of the replay with memory, as production runs; without memory, halves in order of time, and ranks of the right
 * row. */
static json_t *masked_json(const Measured *m) {
        _cleanup_json_ json_t *o = count_json(replay_count(&m->remembering, 0, m->remembering.n)),
                              *halves = json_array(), *right = json_object();
        static const size_t places[] = {1, 5, 10, 100};
        size_t half = m->remembering.n / 2;

        if (!o || !halves || !right ||
            json_array_append_new(halves, count_json(replay_count(&m->remembering, 0, half))) < 0 ||
            json_array_append_new(halves, count_json(replay_count(&m->remembering, half, m->remembering.n))) < 0)
                return NULL;
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
                size_t within = 0;
                char name[24];

                for (size_t k = 0; k < m->masked.n; k++)
                        within += m->masked.notes[k].place > 0 && m->masked.notes[k].place <= places[i];
                snprintf(name, sizeof(name), "%zu", places[i]);
                if (json_object_set_new(right, name,
                                        json_real(m->masked.n ? (double)within / (double)m->masked.n : 0)) < 0)
                        return NULL;
        }
        if (json_object_set(o, "halves", halves) < 0 || json_object_set(o, "right_within", right) < 0 ||
            json_object_set_new(o, "without_memory", count_json(replay_count(&m->masked, 0, m->masked.n))) < 0)
                return NULL;
        return TAKE_PTR(o);
}

/* Of unmasked notes, notes with a name of an earlier row. */
static ReplayCount count_mentioned(const Measured *m) {
        ReplayCount c = {0};

        for (size_t i = 0; i < m->mentioned.n; i++) {
                const ReplayNote *x = &m->mentioned.notes[i];

                if (!x->mentions)
                        continue;
                c.notes++;
                c.bound += x->bound;
                c.wrong += x->bound && !x->right;
        }
        return c;
}

static json_t *titles_json(const ReplayTitles *t) {
        return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "titles", json_u64(t->titles), "created",
                         json_u64(t->created), "pending", json_u64(t->waiting), "merged", json_u64(t->merged),
                         "merged_not_listed", json_u64(t->merged_wrong), "invalid", json_u64(t->unread));
}

static bool set(json_t *o, const char *name, json_t *value) {
        return json_object_set_new(o, name, value) == 0;
}

static int print_settings_json(const Measured *m) {
        _cleanup_json_ json_t *o = settings_json(&m->settings);

        return o && print_json(stdout, o) == 0 ? EXIT_OK : no_memory();
}

static int print_as_json(const Want *w, const Measured *m) {
        _cleanup_json_ json_t *o = json_pack("{s:i, s:o, s:o, s:o, s:f, s:f}", "version", 1, "rows",
                                             json_u64(m->changes.n), "outside", json_u64(m->changes.n_outside), "back",
                                             json_u64(m->changes.n_back), "tau", CURVE_TAU, "delta", CURVE_DELTA);
        bool ok = o != NULL;

        if (w->plain)
                ok = ok && set(o, "plain", count_json(replay_count(&m->plain, 0, m->plain.n))) &&
                     set(o, "mentioned", count_json(count_mentioned(m)));
        if (w->masked)
                ok = ok && set(o, "masked", masked_json(m)) && set(o, "curve", curve_json(&m->curve));
        if (w->titles)
                ok = ok && set(o, "titles", titles_json(&m->titles));
        return ok && print_json(stdout, o) == 0 ? EXIT_OK : no_memory();
}

static void print_count(const char *what, ReplayCount c) {
        double all = c.notes > 0 ? (double)c.notes / 100 : 1;

        printf("%-34s %6zu  %6.1f %%  %6.2f %%  %6.1f %%\n", what, c.notes, (double)c.bound / all,
               (double)c.wrong / all, (double)(c.notes - c.bound) / all);
}

static void print_curve(const Curve *c) {
        for (size_t i = 0; i < c->n; i++) {
                const CurvePoint *p = &c->points[i];
                char what[64];

                snprintf(what, sizeof(what), "tau %.2f, delta %.2f%s", p->tau, p->delta,
                         p->memory ? ", with memory" : "");
                print_count(p->always_best ? "the best match, always" : what, p->count);
        }
}

static void print_text(const Want *w, const Measured *m) {
        printf("%zu rows, %zu notes; tau %.2f, delta %.2f\n", m->changes.n, m->changes.n_notes, CURVE_TAU,
               CURVE_DELTA);
        if (m->changes.n_outside)
                printf("%zu right answers are rows missing in the file: passed over\n", m->changes.n_outside);
        if (m->changes.n_back)
                printf("%zu rows have an earlier time than the row above: the order of the lines counts\n",
                       m->changes.n_back);
        putchar('\n');
        printf("%-34s %6s  %8s  %8s  %8s\n", "", "notes", "bound", "wrong", "pending");
        if (w->plain) {
                print_count("plain: with its reference", replay_count(&m->plain, 0, m->plain.n));
                print_count("as written, where it names a row", count_mentioned(m));
        }
        if (w->masked) {
                print_count("masked", replay_count(&m->remembering, 0, m->remembering.n));
                print_count("masked, the first half", replay_count(&m->remembering, 0, m->remembering.n / 2));
                print_count("masked, the second half",
                            replay_count(&m->remembering, m->remembering.n / 2, m->remembering.n));
                print_count("masked, without reference memory", replay_count(&m->masked, 0, m->masked.n));
                if (w->curve)
                        print_curve(&m->curve);
        }
        if (w->titles)
                printf("\n%zu titles: %zu created, %zu pending, %zu merged, %zu of these not listed as duplicates, "
                       "%zu invalid\n",
                       m->titles.titles, m->titles.created, m->titles.waiting, m->titles.merged, m->titles.merged_wrong,
                       m->titles.unread);
        if (w->settings)
                settings_print(stdout, &m->settings);
}

static int write_picture(const Want *w, const Measured *m) {
        _cleanup_buf_ Buf svg = {0};
        char about[160];
        int r;

        snprintf(about, sizeof(about), "%zu rows, %zu notes, hashes and quoted subjects masked; tests/eval/identity",
                 m->changes.n, m->masked.n);
        r = curve_plot(&m->curve, about, &svg);
        return r < 0 ? no_memory() : write_file(w->svg, svg.data, svg.n);
}

static int write_features(const Want *w, const Changes *h) {
        Setting how = w->how;
        SettingCount count;
        int r;

        how.features = fopen(w->features, "we");
        if (!how.features)
                return fail(EXIT_NOT, "%s: %s", w->features, strerror(errno));
        settings_print_names(how.features);
        r = setting_replay(h, &how, &RESOLVE_POLICY_DEFAULT, &count);
        if (fclose(how.features) != 0 || r == -EIO)
                return fail(EXIT_FULL, "%s cannot be written: %s", w->features, strerror(errno));
        return r < 0 ? no_memory() : EXIT_OK;
}

static int run(const Want *w) {
        _cleanup_(measured_deinit) Measured m = {0};
        char *text;
        size_t n;
        Diag d = {0};
        int r = read_file(w->file, &text, &n);

        if (r != EXIT_OK)
                return r;
        r = changes_read(text, n, &m.changes, &d);
        if (r > 0)
                return fail(EXIT_NOT, "%s: %s", w->file, d.text);
        if (r == 0)
                r = replay_new(&m.changes, &m.replay);
        if (r < 0)
                return no_memory();
        if (m.changes.n_notes == 0)
                return fail(EXIT_NOT, "%s: no row says %s", w->file,
                            m.changes.n == 0 ? "anything: it is empty" : "which row of the file it fixes");
        if (w->features)
                return write_features(w, &m.changes);
        r = measure_notes(w, &m);
        if (r == EXIT_OK && w->settings)
                r = settings_measure(&m.changes, (unsigned)w->least, &m.settings) < 0 ? no_memory() : EXIT_OK;
        if (r == EXIT_OK && w->titles)
                r = measure_titles(w, &m);
        if (r == EXIT_OK && w->svg)
                r = write_picture(w, &m);
        if (r != EXIT_OK)
                return r;
        if (w->json)
                r = w->settings ? print_settings_json(&m) : print_as_json(w, &m);
        else if (!w->svg || strcmp(w->svg, "-") != 0)
                print_text(w, &m);
        return flush(r);
}

/* Also where a wrong argument stands before --json. */
static bool asks_for_json(char **argv) {
        while (*++argv && strcmp(*argv, "--") != 0)
                if (strcmp(*argv, "--json") == 0)
                        return true;
        return false;
}

/* Returns EXIT_OK, EXIT_USAGE after a message, or -1 after --help. */
static int read_options(Want *w, int argc, char **argv) {
        enum { MASKED = 1000, PLAIN, CURVE, SVG, TITLES, PAIRS, JSON, FEATURES, SETTING, BARE, THIN, LEAST };
        static const struct option options[] = {{"masked", no_argument, NULL, MASKED},
                                                {"plain", no_argument, NULL, PLAIN},
                                                {"curve", no_argument, NULL, CURVE},
                                                {"svg", required_argument, NULL, SVG},
                                                {"titles", required_argument, NULL, TITLES},
                                                {"pairs", required_argument, NULL, PAIRS},
                                                {"json", no_argument, NULL, JSON},
                                                {"features", required_argument, NULL, FEATURES},
                                                {"setting", required_argument, NULL, SETTING},
                                                {"bare", no_argument, NULL, BARE},
                                                {"thin", required_argument, NULL, THIN},
                                                {"least", required_argument, NULL, LEAST},
                                                {"help", no_argument, NULL, 'h'},
                                                {0}};
        uint64_t thin;
        int opt;

        w->how.life = true;
        w->least = RESOLVE_LEAST;
        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1)
                switch (opt) {
                case MASKED:
                        w->masked = true;
                        break;
                case PLAIN:
                        w->plain = true;
                        break;
                case CURVE:
                        w->curve = true;
                        break;
                case SVG:
                        w->svg = optarg;
                        break;
                case TITLES:
                        w->titles = optarg;
                        break;
                case PAIRS:
                        w->pairs = optarg;
                        break;
                case JSON:
                        w->json = true;
                        break;
                case FEATURES:
                        w->features = optarg;
                        break;
                case SETTING:
                        if (!setting_named(optarg, &w->how))
                                return usage("--setting: '%s' is none of all, life_cycle, life_cycle_files", optarg);
                        w->setting = optarg;
                        break;
                case BARE:
                        w->how.bare = true;
                        break;
                case THIN:
                        if (count_parse(optarg, &thin) != 0 || thin < 1 || thin >= SETTING_THIN_MOST)
                                return usage("--thin: '%s' is not a whole number from 1 to %d", optarg, SETTING_THIN_MOST - 1);
                        w->how.thin = (unsigned)thin;
                        break;
                case LEAST:
                        if (count_parse(optarg, &w->least) != 0 || w->least > RESOLVE_WHOLE)
                                return usage("--least: '%s' is not a whole number up to %d", optarg, RESOLVE_WHOLE);
                        break;
                case 'h':
                        fputs(help, stdout);
                        return -1;
                default:
                        return optopt > 0 && optopt < 0x80
                                       ? usage("'-%c' is not an option", optopt)
                                       : usage("'%s' is not an option, or lacks a value", argv[optind - 1]);
                }
        if (argc - optind != 1)
                return usage(argc == optind ? "FILE is missing" : "more than one FILE");
        w->file = argv[optind];
        if (!w->features && (w->setting || w->how.bare || w->how.thin))
                return usage("--setting, --bare and --thin are of --features");
        w->settings = !w->masked && !w->plain && !w->features && !w->titles && !w->curve && !w->svg;
        if (!w->masked && !w->plain && (!w->settings || !w->json))
                w->masked = w->plain = true;
        if (w->pairs && !w->titles)
                return usage("--pairs says which of --titles are duplicates");
        if ((w->curve || w->svg) && !w->masked)
                return usage("the curve is of masked notes");
        if (w->json && w->svg && strcmp(w->svg, "-") == 0)
                return usage("--json and --svg - would both go to standard output");
        w->curve |= w->svg || (w->json && w->masked);
        return EXIT_OK;
}

int main(int argc, char **argv) {
        Want w = {0};
        int r;

        signal(SIGPIPE, SIG_IGN);
        signal(SIGXFSZ, SIG_IGN);
        r = read_options(&w, argc, argv);
        if (r < 0)
                return EXIT_OK;
        if (r == EXIT_OK)
                r = run(&w);
        return failed.text[0] && (w.json || (r == EXIT_USAGE && asks_for_json(argv))) ? print_failed(r) : r;
}
