/* Runs: skill. lethe-slot: the pipe for shell scripts, one call a process. */
#include "lethe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_NO_PIPE = 3, EXIT_SUB_SKILL = 4 };

#define WORDS_MAX 258

#define INPUT_MAX (1024 * 1024)

static const char help[] =
        "Usage: lethe-slot read NAME [--raw | --version]   the value as JSON; --raw: a string's text; --version: its version\n"
        "       lethe-slot write NAME [VALUE|-] [--text] [--expect N]\n"
        "                                                  VALUE is JSON, or text with --text; - or none: standard input;\n"
        "                                                  prints the version that the value gets\n"
        "       lethe-slot list                            name, access (r, w, rw), version; one slot a line\n"
        "       lethe-slot log [--level LEVEL] MESSAGE     LEVEL: debug, info (default), warning, error\n"
        "       lethe-slot progress DONE [TOTAL [MESSAGE]]\n"
        "       lethe-slot result [VALUE|-] [--text]       the invocation's result, once\n"
        "       lethe-slot run SKILL [--entry NAME] [--input TEXT|-] [--raw] [--] [ARGS...]\n"
        "                                                  a sub-skill, to its end: how it ended as JSON; --raw: its output\n"
        "       lethe-slot hello                           region, limits and slots as JSON\n"
        "Ends 0 when it was done, 1 when it was refused (the message begins with the error's code), 2 for a wrong command line,\n"
        "3 when there is no pipe, 4 when a sub-skill ended otherwise than with exit code 0.\n";

typedef struct Args {
        const char *words[WORDS_MAX + 1]; /* NULL-terminated; verb and what is not an option */
        size_t n;
        const char *level, *entry, *input;
        long long expect; /* -1: any */
        int raw, version, text;
} Args;

static int usage(const char *why) {
        fprintf(stderr, "lethe-slot: %s; 'lethe-slot --help' shows how it is used\n", why);
        return EXIT_USAGE;
}

/* Options may stand anywhere; after -- all is words, and a lone - or a negative number is a word. */
static int args_read(int argc, char **argv, Args *a) {
        int only_words = 0;

        *a = (Args){.level = "info", .expect = -1};
        for (int i = 1; i < argc; i++) {
                char *s = argv[i], *end;

                if (only_words || s[0] != '-' || s[1] != '-') {
                        if (a->n == WORDS_MAX)
                                return usage("too many arguments");
                        a->words[a->n++] = s;
                } else if (strcmp(s, "--") == 0)
                        only_words = 1;
                else if (strcmp(s, "--raw") == 0)
                        a->raw = 1;
                else if (strcmp(s, "--version") == 0)
                        a->version = 1;
                else if (strcmp(s, "--text") == 0)
                        a->text = 1;
                else if (strcmp(s, "--level") == 0 && i + 1 < argc)
                        a->level = argv[++i];
                else if (strcmp(s, "--entry") == 0 && i + 1 < argc)
                        a->entry = argv[++i];
                else if (strcmp(s, "--input") == 0 && i + 1 < argc)
                        a->input = argv[++i];
                else if (strcmp(s, "--expect") == 0 && i + 1 < argc) {
                        s = argv[++i];
                        errno = 0;
                        a->expect = strtoll(s, &end, 10);
                        if (*s < '0' || *s > '9' || *end || errno)
                                return usage("--expect takes a version, a number from 0 on");
                } else if (strcmp(s, "--help") == 0) {
                        fputs(help, stdout);
                        exit(EXIT_DONE);
                } else
                        return usage("no such option, or it lacks its value");
        }
        return EXIT_DONE;
}

static int failed(Lethe *l, int r) {
        fprintf(stderr, "lethe-slot: %s: %s\n", lethe_code(l), lethe_message(l));
        return r == LETHE_NO_PIPE ? EXIT_NO_PIPE : EXIT_REFUSED;
}

/* The value to be sent, as JSON text; owned. NULL: said why. */
static char *value_of(const char *word, int is_text) {
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
                        fprintf(stderr, "lethe-slot: %s\n", ferror(stdin) ? "cannot read standard input"
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
                fprintf(stderr, "lethe-slot: %s\n", len < 0 ? "bad_utf8: the text is not UTF-8" : "out of memory");
        free(input);
        return quoted;
}

/* The text of the JSON string that stands at p. */
static int put_text(const char *p) {
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
                fprintf(stderr, "lethe-slot: the text cannot be written out\n");
        free(text);
        free(json);
        return text ? EXIT_DONE : EXIT_REFUSED;
}

static int do_read(Lethe *l, const Args *a) {
        unsigned long long version = 0;
        const char *value;
        uint64_t v;
        int r = lethe_slot_read(l, a->words[1], &value, &v);

        if (r != LETHE_OK)
                return failed(l, r);
        version = v;
        if (a->version)
                printf("%llu\n", version);
        else if (a->raw && *value == '"') {
                r = put_text(value);
                if (r == EXIT_DONE)
                        putchar('\n');
                return r;
        } else
                puts(value);
        return EXIT_DONE;
}

static int do_write(Lethe *l, const Args *a) {
        uint64_t version;
        char *value = value_of(a->n > 2 ? a->words[2] : NULL, a->text);
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = lethe_slot_write(l, a->words[1], value, a->expect, &version);
        free(value);
        if (r != LETHE_OK)
                return failed(l, r);
        printf("%llu\n", (unsigned long long)version);
        return EXIT_DONE;
}

/* Names hold no quotes and no escapes, and the supervisor writes members in one order: {"name":…,"read":…,"version"?:…,"write":…}. */
static int do_list(Lethe *l, const Args *a) {
        const char *p;
        int r = lethe_slot_list(l, &p);

        if (r != LETHE_OK)
                return failed(l, r);
        while ((p = strstr(p, "{\"name\":\""))) {
                const char *name = p + 9, *end = strchr(p, '}'), *reads = strstr(p, "\"read\":"), *writes = strstr(p, "\"write\":"), *version = strstr(p, "\"version\":");

                if (!end || !reads || !writes || reads > end || writes > end)
                        break;
                printf("%.*s\t%s%s\t%.*s\n", (int)strcspn(name, "\""), name, reads[7] == 't' ? "r" : "", writes[8] == 't' ? "w" : "",
                       version && version < end ? (int)strspn(version + 10, "0123456789") : 1, version && version < end ? version + 10 : "-");
                p = end;
        }
        return EXIT_DONE;
}

static int do_log(Lethe *l, const Args *a) {
        int r = lethe_log(l, a->level, a->words[1]);

        return r == LETHE_OK ? EXIT_DONE : failed(l, r);
}

static int do_progress(Lethe *l, const Args *a) {
        double v[2] = {0, -1};
        char *end;
        int r;

        for (size_t i = 1; i <= 2 && i < a->n; i++) {
                v[i - 1] = strtod(a->words[i], &end);
                if (end == a->words[i] || *end)
                        return usage("DONE and TOTAL are numbers");
        }
        r = lethe_progress(l, v[0], v[1], a->n > 3 ? a->words[3] : NULL);
        return r == LETHE_OK ? EXIT_DONE : failed(l, r);
}

static int do_result(Lethe *l, const Args *a) {
        char *value = value_of(a->n > 1 ? a->words[1] : NULL, a->text);
        int r;

        if (!value)
                return EXIT_REFUSED;
        r = lethe_result(l, value);
        free(value);
        return r == LETHE_OK ? EXIT_DONE : failed(l, r);
}

/* A member of an answer in canonical form, which begins with these characters; no text within can look like one, because of its quotes. */
static const char *member(const char *answer, const char *key) {
        const char *p = strstr(answer, key);

        return p ? p + strlen(key) : "";
}

static int do_run(Lethe *l, const Args *a) {
        char *input = NULL;
        const char *answer;
        int r, good;

        if (a->input && strcmp(a->input, "-") == 0 && !(input = value_of("-", 0)))
                return EXIT_REFUSED;
        r = lethe_skill_run(l, a->words[1], a->entry, a->words + 2, input ? input : a->input, &answer);
        free(input);
        if (r != LETHE_OK)
                return failed(l, r);
        good = strncmp(answer, "{\"exit_code\":0,", 15) == 0;
        if (!a->raw)
                puts(answer);
        else if ((r = put_text(member(answer, ",\"output\":"))) != EXIT_DONE)
                return r;
        return good ? EXIT_DONE : EXIT_SUB_SKILL;
}

static int do_hello(Lethe *l, const Args *a) {
        const char *answer;
        int r = lethe_hello(l, &answer);

        if (r != LETHE_OK)
                return failed(l, r);
        puts(answer);
        return EXIT_DONE;
}

static const struct {
        const char *name;
        size_t least, most; /* words after the verb */
        int (*run)(Lethe *l, const Args *a);
} verbs[] = {
        {"read", 1, 1, do_read},         {"write", 1, 2, do_write},   {"list", 0, 0, do_list}, {"log", 1, 1, do_log},
        {"progress", 1, 3, do_progress}, {"result", 0, 1, do_result}, {"hello", 0, 0, do_hello},
        {"run", 1, WORDS_MAX - 1, do_run},
};

int main(int argc, char **argv) {
        Lethe *l = NULL;
        Args a;
        int r = args_read(argc, argv, &a);

        if (r != EXIT_DONE)
                return r;
        if (a.n == 0)
                return usage("no verb");
        for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
                if (strcmp(verbs[i].name, a.words[0]) != 0)
                        continue;
                if (a.n - 1 < verbs[i].least || a.n - 1 > verbs[i].most)
                        return usage("wrong number of arguments");
                r = lethe_open(&l);
                if (r == LETHE_MEMORY)
                        return EXIT_REFUSED;
                r = r == LETHE_OK ? verbs[i].run(l, &a) : failed(l, r);
                lethe_close(l);
                if (r == EXIT_DONE && (fflush(stdout) != 0 || ferror(stdout))) {
                        fprintf(stderr, "lethe-slot: cannot write standard output\n");
                        r = EXIT_REFUSED;
                }
                return r;
        }
        return usage("no such verb");
}
