/* What a server of chat completions answers, and what is made of it: a line for standard output, or words that are ours. */
#include "tests/fuzz/fuzz.h"

#include <chat.h>

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_config(const char *text, size_t n) {
        Config c = {0};
        const char *why = config_parse(text, n, &c);

        fuzz_check(why || (c.url && c.model && c.timeout_ms > 0 && c.max_tokens > 0));
        config_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const Config c = {.url = "http://127.0.0.1/", .model = "m", .max_tokens = 1, .json_mode = true};
        const char *why;
        char *line = chat_answer((const char *)data, n, "secret", &why), *body;
        json_t *v;

        fuzz_check(!line == (why != NULL));
        if (line) {
                fuzz_check(*line && !strchr(line, '\n') && !strstr(line, "secret"), "%s", line);
                free(line);
        }
        body = chat_request(&c, "prompt", (const char *)data, n, &why);
        if (body) {
                v = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
                fuzz_check(json_array_size(json_object_get(v, "messages")) >= 2, "%s", body);
                json_decref(v);
                free(body);
        }
        check_config((const char *)data, n);
        return 0;
}
