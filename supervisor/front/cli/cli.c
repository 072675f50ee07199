#include "cli/cli.h"

#include "base/io.h"
#include "base/size.h"
#include "cli/with-store.h"
#include "store/store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What main() tells of a verb that had no answer. */
static struct {
        bool wanted, answered;
        char **asked;     /* the arguments, or NULL */
        const char *word; /* NULL: nothing was said */
        Diag said;
} answer;

void cli_wants_json(void) {
        answer.wanted = true;
}

void cli_asked(char **argv) {
        answer.asked = argv;
}

/* Also behind what is wrong, but not behind "--", where no options are. */
static bool asked_for_json(void) {
        for (char **a = answer.asked; a && *a && strcmp(*a, "--") != 0; a++)
                if (strcmp(*a, "--json") == 0)
                        return true;
        return false;
}

void cli_answered(void) {
        answer.answered = true;
}

void cli_goes_on(void) {
        answer.answered = false;
}

int cli_end(int code) {
        _cleanup_json_ json_t *o = NULL;

        if (code == EXIT_OK || answer.answered || !answer.word)
                return code;
        if (!answer.wanted && (strcmp(answer.word, "usage") != 0 || code != EXIT_USAGE || !asked_for_json()))
                return code;
        o = json_pack("{s:i, s:{s:s, s:s}}", "version", 1, "error", "code", answer.word, "message", answer.said.text);
        if (print_json(stdout, o) < 0)
                fprintf(stderr, "lethe: %s\n", strerror(ENOMEM));
        return cli_done("lethe", code);
}

static void _printf_(3, 0) say(const char *verb, const char *word, const char *fmt, va_list ap) {
        _cleanup_free_ char *text = NULL;

        if (vasprintf(&text, fmt, ap) < 0)
                text = NULL;
        if (!answer.word) {
                answer.word = word;
                diag(&answer.said, 0, "%s", text ?: strerror(ENOMEM)); /* which sees to it that it is UTF-8 */
        }
        fprintf(stderr, "lethe %s: ", verb);
        diag_print(stderr, text ?: strerror(ENOMEM));
        fputc('\n', stderr);
}

int cli_usage(const char *verb, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        say(verb, "usage", fmt, ap);
        va_end(ap);
        fprintf(stderr, "'lethe %s --help' shows how it is used\n", verb);
        return EXIT_USAGE;
}

int cli_number(const char *verb, const char *what, const char *text, uint64_t least, uint64_t most, uint64_t *ret) {
        if (count_parse(text, ret) == 0 && *ret >= least && *ret <= most)
                return EXIT_OK;
        if (least == 0 && most == COUNT_MOST)
                return cli_usage(verb, "%s: '%s' is not a number", what, text);
        return cli_usage(verb, "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, what, text, least, most);
}

int cli_fraction(const char *verb, const char *what, const char *text, double *ret) {
        return fraction_parse(text, ret) == 0 ? EXIT_OK : cli_usage(verb, "%s: '%s' is not a number from 0 to 1", what, text);
}

int cli_fail(const char *verb, int code, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        say(verb, "failed", fmt, ap);
        va_end(ap);
        return code;
}

int cli_refuse(const char *verb, int code, const char *word, const char *fmt, ...) {
        va_list ap;

        va_start(ap, fmt);
        say(verb, word, fmt, ap);
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
        return r < 0 ? cli_fail(verb, r == -ENOSPC || r == -EDQUOT ? EXIT_FULL : EXIT_NOT, "%s cannot be written: %s", file, strerror(-r)) : EXIT_OK;
}
