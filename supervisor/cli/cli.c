#include "cli/cli.h"

#include "base/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *cli_store_path(const char *given, Diag *reterr) {
        const char *env = getenv("LETHE_STORE"), *base;
        char *s = NULL;

        if (!given && env && *env)
                given = env;
        if (given) {
                if (!*given) {
                        diag(reterr, EXIT_USAGE, "--store is empty: it names a folder");
                        return NULL;
                }
                return strdup(given);
        }
        base = getenv("XDG_STATE_HOME");
        if (base && *base == '/')
                return asprintf(&s, "%s/lethe", base) < 0 ? NULL : s;
        base = getenv("HOME");
        if (base && *base == '/')
                return asprintf(&s, "%s/.local/state/lethe", base) < 0 ? NULL : s;
        diag(reterr, EXIT_USAGE, "no place for the store: give --store DIR, or set LETHE_STORE, XDG_STATE_HOME or HOME");
        return NULL;
}

int cli_usage(const char *verb, const char *fmt, ...) {
        va_list ap;

        fprintf(stderr, "lethe %s: ", verb);
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
        fprintf(stderr, "\n'lethe %s --help' shows how it is used\n", verb);
        return EXIT_USAGE;
}

int cli_fail(const char *verb, int code, const char *fmt, ...) {
        va_list ap;

        fprintf(stderr, "lethe %s: ", verb);
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
        fputc('\n', stderr);
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
        int r;

        if (!file || strcmp(file, "-") == 0) {
                fwrite(text, 1, n, stdout);
                return cli_done(verb, EXIT_OK);
        }
        r = io_write_named(file, text, n, 0644);
        return r < 0 ? cli_fail(verb, EXIT_NOT, "%s cannot be written: %s", file, strerror(-r)) : EXIT_OK;
}
