/* Runs: skill. The params of a request under construction, and the parts of an answer. */
#pragma once

#include "pipe.h"

typedef struct Params {
        struct Lethe *l;
        Text t; /* JSON, the last brace not yet there */
        int r;  /* what went wrong first; nothing is added afterwards */
} Params;

void params_add(Params *p, const char *bytes, size_t n);
void params_key(Params *p, const char *key);
/* Text as a JSON string, without a key before it; key is for the message. */
void params_quoted(Params *p, const char *key, const char *text);
void params_text(Params *p, const char *key, const char *text);
void params_json(Params *p, const char *key, const char *value);
void params_number(Params *p, const char *key, double v);
/* Sends the request and frees the params. ret may be NULL. */
int params_call(Params *p, const char *method, Span *ret);

/* A member of a result that must be there. */
int answer_member(struct Lethe *l, Span result, const char *key, Span *ret);
/* ret may be NULL. */
int answer_version(struct Lethe *l, Span result, uint64_t *ret);
