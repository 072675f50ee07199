/* Runs: skill. What goes to a server of OpenAI's chat completions, and what is taken from its answer. Pure: the server is believed nothing. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define CHAT_BODY_MAX (1024 * 1024)  /* bytes of a server's answer */
#define CHAT_LINE_MAX (200 * 1024)   /* bytes of what is said on standard output */

typedef struct Config {
        const char *url, *model;   /* borrowed from json, like the rest */
        const char *key_file;      /* NULL: no key */
        const char *ca_file;       /* NULL: the system's, which a region with granted addresses does not see */
        const char *connect;       /* "ADDRESS:PORT" for a url with a name in it, or NULL */
        long timeout_ms, max_tokens;
        bool json_mode;            /* ask for response_format json_object */
        json_t *json;              /* owned */
} Config;

/* Returns NULL, or what is wrong with it. */
const char *config_parse(const char *text, size_t n, Config *ret);
void config_deinit(Config *c);

/* The body of the request for the line that the advisor was given. Owned; NULL with *ret_why. */
char *chat_request(const Config *c, const char *prompt, const char *line, size_t n, const char **ret_why);
/* The line to say: the request that the model made as JSON without line feeds, or, when it made none, its words on one line, so that it can be told what
 * was wrong with them. secret: what must not be in it, or NULL. Owned; NULL with *ret_why. */
char *chat_answer(const char *body, size_t n, const char *secret, const char **ret_why);
