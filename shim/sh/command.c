/* Runs: skill. */
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX (1024 * 1024)

int command_usage(const char *fmt, ...) {
        va_list ap;

        fprintf(stderr, "%s: ", command_name);
        va_start(ap, fmt);
        vfprintf(stderr, fmt, ap);
        va_end(ap);
        fprintf(stderr, "; '%s --help' shows the usage\n", command_name);
        return EXIT_USAGE;
}

int command_failed(Lethe *l, int r) {
        fprintf(stderr, "%s: %s: %s\n", command_name, lethe_code(l), lethe_message(l));
        return r == LETHE_NO_PIPE ? EXIT_NO_PIPE : EXIT_REFUSED;
}

int command_result(Lethe *l, int r) {
        return r == LETHE_OK ? EXIT_DONE : command_failed(l, r);
}

int command_line(Lethe *l, int r, const char *line) {
        if (r == LETHE_OK)
                puts(line);
        return command_result(l, r);
}

int command_number(Lethe *l, int r, uint64_t n) {
        if (r == LETHE_OK)
                printf("%llu\n", (unsigned long long)n);
        return command_result(l, r);
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
                        fprintf(stderr, "%s: %s\n", command_name,
                                ferror(stdin)   ? "cannot read standard input"
                                : n > INPUT_MAX ? "too_large: standard input has more than 1 MiB"
                                                : "parse: standard input has a NUL byte");
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
                fprintf(stderr, "%s: %s\n", command_name,
                        len < 0 ? "bad_utf8: the text is not UTF-8" : "out of memory");
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

/* Writes standard output out. */
static int command_end(int r) {
        if (r == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
                fprintf(stderr, "%s: cannot write standard output\n", command_name);
                return EXIT_REFUSED;
        }
        return r;
}

static int command_option_set(const CommandOption *o, const char *s, CommandArgs *a) {
        void *to = (char *)a + o->at;
        char *end;

        errno = 0;
        switch (o->kind) {
        case COMMAND_TEXT:
                *(const char **)to = s;
                break;
        case COMMAND_FLAG:
                *(int *)to = 1;
                break;
        case COMMAND_VERSION:
                *(long long *)to = strtoll(s, &end, 10);
                if (*s < '0' || *s > '9' || *end || errno)
                        return command_usage("--expect: '%s' is no version, a number from 0 on", s);
                break;
        case COMMAND_LIMIT:
                *(long long *)to = strtoll(s, &end, 10);
                if (*s < '1' || *s > '9' || *end || *(long long *)to > 1000000)
                        return command_usage("%s: '%s' is no number from 1 to 1000000", o->name, s);
                break;
        case COMMAND_CONFIDENCE:
                *(double *)to = strtod(s, &end);
                if (*s < '0' || *s > '1' || *end || !(a->confidence >= 0 && a->confidence <= 1))
                        return command_usage("--confidence: '%s' is no number from 0 to 1", s);
                break;
        }
        return EXIT_DONE;
}

/* Options may stand anywhere; after -- all is words, and a lone - or a negative number is a word. */
static int command_args_read(int argc, char **argv, CommandArgs *a) {
        int only_words = 0, r = EXIT_DONE;

        *a = (CommandArgs){.level = "info", .expect = -1, .confidence = -1};
        for (int i = 1; i < argc && r == EXIT_DONE; i++) {
                const CommandOption *o = command_options;
                char *s = argv[i];

                if (only_words || s[0] != '-' || s[1] != '-') {
                        if (a->n == COMMAND_WORDS_MAX)
                                return command_usage("more than %d arguments", COMMAND_WORDS_MAX);
                        a->words[a->n++] = s;
                        continue;
                }
                if (strcmp(s, "--") == 0) {
                        only_words = 1;
                        continue;
                }
                if (strcmp(s, "--help") == 0) {
                        fputs(command_help, stdout);
                        exit(EXIT_DONE);
                }
                while (o->name && strcmp(s, o->name) != 0)
                        o++;
                if (!o->name)
                        return command_usage("'%s' is no option", s);
                if (o->kind != COMMAND_FLAG && ++i == argc)
                        return command_usage("%s lacks its value", s);
                r = command_option_set(o, argv[i], a);
        }
        return r;
}

int main(int argc, char **argv) {
        Lethe *l = NULL;
        CommandArgs a;
        int r = command_args_read(argc, argv, &a);

        if (r != EXIT_DONE)
                return r;
        if (a.n == 0)
                return command_usage("no verb, such as %s", command_verbs->name);
        for (const CommandVerb *v = command_verbs; v->name; v++) {
                if (strcmp(v->name, a.words[0]) != 0)
                        continue;
                if (a.n - 1 < v->least || a.n - 1 > v->most)
                        return command_usage("%s: %zu arguments; from %zu to %zu are allowed", v->name, a.n - 1, v->least, v->most);
                r = lethe_open(&l);
                if (r == LETHE_MEMORY)
                        return EXIT_REFUSED;
                r = r == LETHE_OK ? v->run(l, &a) : command_failed(l, r);
                lethe_close(l);
                return command_end(r);
        }
        return command_usage("'%s' is no verb", a.words[0]);
}
