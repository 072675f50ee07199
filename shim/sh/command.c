/* Runs: skill. */
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (1024 * 1024)

int command_usage(const char *why) {
        fprintf(stderr, "%s: %s; '%s --help' shows how it is used\n", command_name, why, command_name);
        return EXIT_USAGE;
}

int command_failed(Lethe *l, int r) {
        fprintf(stderr, "%s: %s: %s\n", command_name, lethe_code(l), lethe_message(l));
        return r == LETHE_NO_PIPE ? EXIT_NO_PIPE : EXIT_REFUSED;
}

char *command_value(const char *word, int is_text) {
        size_t n = 0, room = INPUT_MAX + 2;
        char *input = NULL, *quoted;
        ptrdiff_t len;

        if (word && strcmp(word, "-") != 0) {
                input = strdup(word);
                n = strlen(word);
        } else if ((input = malloc(room))) {
                n = fread(input, 1, room - 1, stdin);
                input[n] = 0;
                if (ferror(stdin) || n > INPUT_MAX || memchr(input, 0, n)) {
                        fprintf(stderr, "%s: %s\n", command_name, ferror(stdin) ? "cannot read standard input"
                                        : n > INPUT_MAX ? "too_large: standard input has more than 1 MiB" : "parse: standard input has a NUL byte");
                        free(input);
                        return NULL;
                }
        }
        if (!input || !is_text)
                return input;
        len = lethe_json_quote(input, n, NULL, 0);
        quoted = len < 0 ? NULL : malloc((size_t)len + 1);
        if (quoted)
                lethe_json_quote(input, n, quoted, (size_t)len + 1);
        else
                fprintf(stderr, "%s: %s\n", command_name, len < 0 ? "bad_utf8: the text is not UTF-8" : "out of memory");
        free(input);
        return quoted;
}

int command_put_text(const char *p) {
        const char *end = p + (*p == '"');
        char *json, *text = NULL;
        ptrdiff_t n = -1;

        while (*end && *end != '"')
                end += end[0] == '\\' && end[1] ? 2 : 1;
        json = strndup(p, (size_t)(end - p) + 1);
        if (json)
                n = lethe_json_unquote(json, NULL, 0);
        if (n >= 0)
                text = malloc((size_t)n + 1);
        if (text) {
                lethe_json_unquote(json, text, (size_t)n + 1);
                fwrite(text, 1, (size_t)n, stdout);
        } else
                fprintf(stderr, "%s: the text cannot be written out\n", command_name);
        free(text);
        free(json);
        return text ? EXIT_DONE : EXIT_REFUSED;
}

int command_print(const char *value, int raw) {
        int r = EXIT_DONE;

        if (raw && *value == '"') {
                r = command_put_text(value);
                if (r == EXIT_DONE)
                        putchar('\n');
        } else
                puts(value);
        return r;
}

int command_end(int r) {
        if (r == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
                fprintf(stderr, "%s: cannot write standard output\n", command_name);
                return EXIT_REFUSED;
        }
        return r;
}
