/* Runs: skill. The request to a server of OpenAI's chat completions, and the reading of its answer. Pure functions.
 * The server's answer is not trusted. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CHAT_BODY_MAX (1024 * 1024)  /* bytes of a server's answer */
#define CHAT_LINE_MAX (200 * 1024)   /* bytes of a line on standard output */

typedef struct Config {
        const char *url, *model;   /* borrowed from json, like the rest */
        const char *key_file;      /* NULL: no key */
        const char *ca_file;       /* NULL: the system's file, invisible to a region with granted addresses */
        const char *connect;       /* "ADDRESS:PORT" for a url with a host name, or NULL */
        long timeout_ms, max_tokens;
        bool json_mode;            /* ask for response_format json_object */
        json_t *json;              /* owned */
} Config;

/* Returns NULL, or the error. */
const char *config_parse(const char *text, size_t n, Config *ret);
void config_deinit(Config *c);

/* The file with the prompt for such a question. Static. */
const char *chat_prompt_name(const char *line, size_t n);
/* The body of the request for the line that the advisor was given. Owned; NULL with *ret_why. */
char *chat_request(const Config *c, const char *prompt, const char *line, size_t n, const char **ret_why);
/* The line to print: the model's request as JSON without line feeds. When the model made no request: the model's
 * words on a line, so that the engine can answer with the error. secret: text that must not appear, or NULL. Owned;
 * NULL with *ret_why. */
char *chat_answer(const char *body, size_t n, const char *secret, const char **ret_why);
