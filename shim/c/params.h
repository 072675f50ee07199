/* Runs: skill. The params of a request under construction, and the parts of an answer. */
#pragma once

#include "pipe.h"

typedef struct Params {
        struct Lethe *l;
        Text t; /* JSON, still without the last brace */
        int r;  /* the first error; further additions are ignored */
} Params;

void params_add(Params *p, const char *bytes, size_t n);
void params_key(Params *p, const char *key);
/* Text as a JSON string, without a key; key serves the message. */
void params_quoted(Params *p, const char *key, const char *text);
/* Both add nothing for NULL and for a negative number. */
void params_text(Params *p, const char *key, const char *text_or_null);
void params_whole(Params *p, const char *key, int64_t v);
void params_json(Params *p, const char *key, const char *value);
void params_number(Params *p, const char *key, double v);
/* Sends the request and frees the params. ret may be NULL. */
int params_call(Params *p, const char *method, Span *ret);
/* The same; *ret_answer is the result as text. */
int params_ask(Params *p, const char *method, const char **ret_answer);

/* A required member of a result. */
int answer_member(struct Lethe *l, Span result, const char *key, Span *ret);
/* The same, NUL-terminated within the answer. */
int answer_text(struct Lethe *l, Span result, const char *key, const char **ret);
/* Both: ret may be NULL. */
int answer_version(struct Lethe *l, Span result, uint64_t *ret);
int answer_number(struct Lethe *l, Span result, const char *key, uint64_t *ret);
