/* Runs: skill. An advisor (schema/governed.md) that asks a server of OpenAI's chat completions. Exit code 2: its own files are not in order; 3: the server
 * could not be asked; 4: it said nothing of use. */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OURS = 2, TRANSPORT = 3, ANSWER = 4, FILE_MAX = 64 * 1024, INPUT_MAX = 2 * 1024 * 1024 };

static int fail(int code, const char *what, const char *why) {
        fprintf(stderr, "advisor-http: %s: %s\n", what, why);
        return code;
}

/* Owned, NUL-terminated; NULL when there is none, or more than max bytes. */
static char *read_all(FILE *f, size_t max, size_t *ret_n) {
        char *s = f ? malloc(max + 2) : NULL;
        size_t n = s ? fread(s, 1, max + 1, f) : 0;

        if (!s || n > max || ferror(f)) {
                free(s);
                return NULL;
        }
        s[n] = 0;
        *ret_n = n;
        return s;
}

static char *read_file(const char *path, size_t *ret_n) {
        FILE *f = fopen(path, "re");
        char *s = read_all(f, FILE_MAX, ret_n);

        if (f)
                fclose(f);
        return s;
}

/* One line of visible characters. */
static char *read_key(const char *path) {
        size_t n;
        char *s = read_file(path, &n);

        if (!s)
                return NULL;
        s[strcspn(s, "\r\n")] = 0;
        n = strlen(s);
        for (size_t i = 0; i < n; i++)
                if (s[i] <= 0x20 || s[i] == 0x7F)
                        n = 0;
        if (n == 0) {
                explicit_bzero(s, strlen(s));
                free(s);
                return NULL;
        }
        return s;
}

static int ask(const Config *c, const char *key, const char *prompt, const char *line, size_t n) {
        const char *why;
        char *body = chat_request(c, prompt, line, n, &why), *answer, *said;
        int code = 0;

        if (!body)
                return fail(OURS, "the request", why);
        answer = http_post(c, key, body, &n, &why);
        free(body);
        if (!answer)
                return fail(TRANSPORT, "the server", why);
        said = chat_answer(answer, n, key, &why);
        free(answer);
        if (!said)
                return fail(ANSWER, "the answer", why);
        if (puts(said) == EOF || fflush(stdout) == EOF)
                code = fail(OURS, "standard output", "it cannot be written to");
        free(said);
        return code;
}

int main(int argc, char **argv) {
        const char *folder = argc > 1 ? argv[1] : "/skill", *why = NULL;
        char path[4096], *text, *prompt = NULL, *line = NULL, *key = NULL;
        Config c = {0};
        size_t n, n_line = 0;
        int code;

        snprintf(path, sizeof(path), "%s/advisor.json", folder);
        text = read_file(path, &n);
        why = text ? config_parse(text, n, &c) : "it cannot be read";
        if (why)
                code = fail(OURS, "advisor.json", why);
        else {
                snprintf(path, sizeof(path), "%s/prompt.txt", folder);
                prompt = read_file(path, &n);
                line = read_all(stdin, INPUT_MAX, &n_line);
                key = c.key_file ? read_key(c.key_file) : NULL;
                if (!prompt)
                        code = fail(OURS, "prompt.txt", "it cannot be read");
                else if (!line)
                        code = fail(OURS, "standard input", "it cannot be read");
                else if (c.key_file && !key)
                        code = fail(OURS, "key_file", "it holds no key, or was not granted");
                else
                        code = ask(&c, key, prompt, line, n_line);
        }
        if (key)
                explicit_bzero(key, strlen(key));
        free(key);
        free(line);
        free(prompt);
        free(text);
        config_deinit(&c);
        return code;
}
