#include "cli/cli.h"

#include "base/io.h"
#include "base/size.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#define FOLLOW_MSEC 100

/* The facts for cli_end(), when a verb printed no object. */
static struct {
        bool wanted, answered;
        char **asked;     /* the arguments, or NULL */
        const char *word; /* NULL: no error was reported */
        Diag said;
} cli_answer;

static bool cli_is_turn, cli_is_map;

void cli_run_as_turn(void) {
        cli_is_turn = true;
}

bool cli_run_is_turn(void) {
        return cli_is_turn;
}

void cli_run_as_map(void) {
        cli_is_map = true;
}

bool cli_run_is_map(void) {
        return cli_is_map;
}

const char *cli_run_verb(void) {
        return cli_is_turn ? "session turn" : cli_is_map ? "map" : "run";
}

void cli_wants_json(void) {
        cli_answer.wanted = true;
}

void cli_asked(char **argv) {
        cli_answer.asked = argv;
}

/* "--json" counts also behind a wrong argument, but not behind "--", the end of the options. */
static bool cli_asked_for_json(void) {
        for (char **a = cli_answer.asked; a && *a && strcmp(*a, "--") != 0; a++)
                if (strcmp(*a, "--json") == 0)
                        return true;
        return false;
}

/* Tells whether a terminal obeys the character, or the character turns the direction of text; then its code point
 * and its length, 1 to 3 bytes. */
static bool cli_is_command(const unsigned char *s, size_t left, unsigned *ret, size_t *ret_n) {
        unsigned c = s[0];

        *ret_n = 1;
        *ret = c;
        if (c < 0x20 || c == 0x7F)
                return true;
        if (c == 0xC2 && left >= 2 && s[1] < 0xA0) {
                *ret_n = 2;
                *ret = s[1];
                return true;
        }
        if (c == 0xD8 && left >= 2 && s[1] == 0x9C) {
                *ret_n = 2;
                *ret = 0x061C;
                return true;
        }
        if (c != 0xE2 || left < 3)
                return false;
        c = 0x2000U | (unsigned)(s[1] & 0x3F) << 6 | (s[2] & 0x3F);
        *ret_n = 3;
        *ret = c;
        return (c >= 0x200E && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void print_safe(FILE *out, const char *text, size_t n) {
        const unsigned char *s = (const unsigned char *)text;
        size_t from = 0;

        for (size_t i = 0; i < n; i++) {
                size_t k;
                unsigned c;

                if (!cli_is_command(s + i, n - i, &c, &k))
                        continue;
                fwrite(s + from, 1, i - from, out);
                fprintf(out, "\\u%04x", c);
                i += k - 1;
                from = i + 1;
        }
        fwrite(s + from, 1, n - from, out);
}

void cli_print_safe(const char *text) {
        print_safe(stdout, text, strlen(text));
}

void cli_print_text(const char *before, const json_t *text) {
        fputs(before, stdout);
        print_safe(stdout, json_bytes(text), json_string_length(text));
        putchar('\n');
}

int print_json_part(FILE *out, const json_t *v) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = v ? json_canonical(v, &text, &n) : -ENOMEM;

        if (r < 0)
                return r;
        print_safe(out, text, n);
        if (out == stdout)
                cli_answer.answered = true;
        return 0;
}

int print_json(FILE *out, const json_t *v) {
        int r = print_json_part(out, v);

        if (r == 0)
                fputc('\n', out);
        return r;
}

int cli_end(int code) {
        _cleanup_json_ json_t *o = NULL;

        if (code == EXIT_OK || cli_answer.answered || !cli_answer.word)
                return code;
        if (!cli_answer.wanted &&
            (strcmp(cli_answer.word, "usage") != 0 || code != EXIT_USAGE || !cli_asked_for_json()))
                return code;
        o = json_pack("{s:i, s:{s:s, s:s}}", "version", 1, "error", "code", cli_answer.word, "message",
                      cli_answer.said.text);
        if (print_json(stdout, o) < 0)
                fprintf(stderr, "lethe: %s\n", strerror(ENOMEM));
        return cli_done("lethe", code);
}

static void _printf_(3, 0) cli_say(const char *verb, const char *word, const char *fmt, va_list ap) {
        _cleanup_free_ char *text = NULL;

        if (vasprintf(&text, fmt, ap) < 0)
                text = NULL;
        if (!cli_answer.word) {
                cli_answer.word = word;
                diag(&cli_answer.said, 0, "%s", text ?: strerror(ENOMEM)); /* diag() makes the text UTF-8 */
        }
        fprintf(stderr, "lethe %s: ", verb);
        diag_print(stderr, text ?: strerror(ENOMEM));
        fputc('\n', stderr);
}

int cli_usage(const char *verb, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        cli_say(verb, "usage", fmt, ap);
        va_end(ap);
        fprintf(stderr, "'lethe %s --help' shows the usage\n", verb);
        return EXIT_USAGE;
}

int cli_number(const char *verb, const char *what, const char *text, uint64_t least, uint64_t most, uint64_t *ret) {
        if (!text || (count_parse(text, ret) == 0 && *ret >= least && *ret <= most))
                return EXIT_OK;
        if (least == 0 && most == COUNT_MOST)
                return cli_usage(verb, "%s: '%s' is not a number", what, text);
        return cli_usage(verb, "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, what, text, least, most);
}

int cli_fraction(const char *verb, const char *what, const char *text, double *ret) {
        return !text || fraction_parse(text, ret) == 0
                       ? EXIT_OK
                       : cli_usage(verb, "%s: '%s' is not a number from 0 to 1", what, text);
}

int cli_refuse(const char *verb, int code, const char *word, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        cli_say(verb, word, fmt, ap);
        va_end(ap);
        return code;
}

int cli_done(const char *verb, int code) {
        if (fflush(stdout) != 0 || ferror(stdout)) {
                fprintf(stderr, "lethe %s: cannot write standard output\n", verb);
                return code == EXIT_OK ? EXIT_NOT : code;
        }
        return code;
}

int cli_help(const char *verb, const char *text) {
        fputs(text, stdout);
        return cli_done(verb, EXIT_OK);
}

int cli_print(const char *verb, int code, json_t *o) {
        int r = print_json(stdout, o);

        json_decref(o);
        return r < 0 ? cli_fail(verb, EXIT_NOT, "out of memory") : cli_done(verb, code);
}

int cli_print_item(json_t *o) {
        int r = print_json(stdout, o);

        json_decref(o);
        cli_answer.answered = false;
        return r;
}

int cli_write(const char *verb, const char *file, const char *text, size_t n) {
        Diag d = {};
        int r;

        if (!file || strcmp(file, "-") == 0) {
                fwrite(text, 1, n, stdout);
                return cli_done(verb, EXIT_OK);
        }
        if (store_check_output(file, &d) < 0)
                return cli_fail(verb, EXIT_NOT, "%s", d.text);
        r = io_write_named(file, text, n, 0644);
        return r < 0 ? cli_fail(verb, r == -ENOSPC || r == -EDQUOT ? EXIT_FULL : EXIT_NOT, "%s cannot be written: %s",
                                file, strerror(-r))
                     : EXIT_OK;
}

int cli_write_json(const char *verb, const char *file, json_t *o) {
        _cleanup_json_ json_t *owned = o;
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = owned ? json_canonical(owned, &text, &n) : -ENOMEM;

        if (r < 0)
                return cli_fail(verb, EXIT_NOT, "%s", strerror(-r));
        text[n++] = '\n'; /* replaces the NUL */
        return cli_write(verb, file, text, n);
}

static volatile sig_atomic_t cli_stopped;

static void cli_stop(int sig) {
        cli_stopped = sig;
}

int cli_follow(const char *verb, int (*step)(void *userdata, bool *ret_end), void *userdata, int *ret_code) {
        struct sigaction sa = {.sa_handler = cli_stop};
        bool end = false;

        sigaction(SIGINT, &sa, NULL);
        sigaction(SIGTERM, &sa, NULL);
        while (!end && !cli_stopped && !ferror(stdout)) {
                struct pollfd gone = {.fd = STDOUT_FILENO};
                int r = step(userdata, &end);

                if (r != 0)
                        return r;
                if (fflush(stdout) != 0 || (!end && poll(&gone, 1, FOLLOW_MSEC) > 0 && /* the pipe's reader is gone */
                                            (gone.revents & (POLLERR | POLLHUP))))
                        break;
        }
        *ret_code = cli_stopped ? EXIT_OK : cli_done(verb, EXIT_OK);
        return 0;
}
