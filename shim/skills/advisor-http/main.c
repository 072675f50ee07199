/* Runs: skill. An advisor (schema/governed.md) that asks a server of OpenAI's chat completions. Exit code 2: the
 * advisor's own files are not in order; 3: the server could not be asked; 4: the answer was useless. */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OURS = 2, TRANSPORT = 3, ANSWER = 4, FILE_MAX = 64 * 1024, INPUT_MAX = 2 * 1024 * 1024 };

static int advisor_fail(int code, const char *what, const char *why) {
        fprintf(stderr, "advisor-http: %s: %s\n", what, why);
        return code;
}

/* Owned, NUL-terminated; NULL when the file is missing or has more than max bytes. */
static char *advisor_read_all(FILE *f, size_t max, size_t *ret_n) {
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

static char *advisor_read_file(const char *path, size_t *ret_n) {
        FILE *f = fopen(path, "re");
        char *s = advisor_read_all(f, FILE_MAX, ret_n);

        if (f)
                fclose(f);
        return s;
}

/* A line of visible characters. */
static char *advisor_read_key(const char *path) {
        size_t n;
        char *s = advisor_read_file(path, &n);

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

static int advisor_ask(const Config *c, const char *key, const char *prompt, const char *line, size_t n) {
        const char *why;
        char *body = chat_request(c, prompt, line, n, &why), *answer, *said;
        int code = 0;

        if (!body)
                return advisor_fail(OURS, "the request", why);
        answer = http_post(c, key, body, &n, &why);
        free(body);
        if (!answer)
                return advisor_fail(TRANSPORT, "the server", why);
        said = chat_answer(answer, n, key, &why);
        free(answer);
        if (!said)
                return advisor_fail(ANSWER, "the answer", why);
        if (puts(said) == EOF || fflush(stdout) == EOF)
                code = advisor_fail(OURS, "standard output", "cannot be written to");
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
        text = advisor_read_file(path, &n);
        why = text ? config_parse(text, n, &c) : "cannot be read";
        if (why)
                code = advisor_fail(OURS, "advisor.json", why);
        else {
                line = advisor_read_all(stdin, INPUT_MAX, &n_line);
                snprintf(path, sizeof(path), "%s/%s", folder, line ? chat_prompt_name(line, n_line) : "prompt.txt");
                prompt = advisor_read_file(path, &n);
                key = c.key_file ? advisor_read_key(c.key_file) : NULL;
                if (!prompt)
                        code = advisor_fail(OURS, "the prompt", "cannot be read");
                else if (!line)
                        code = advisor_fail(OURS, "standard input", "cannot be read");
                else if (c.key_file && !key)
                        code = advisor_fail(OURS, "key_file", "holds no key, or was not granted");
                else
                        code = advisor_ask(&c, key, prompt, line, n_line);
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
