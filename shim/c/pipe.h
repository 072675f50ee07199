/* Runs: skill. A request and its answer, over a pipe that several processes of the region use. */
#pragma once

#include "json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct Text {
        char *p; /* owned */
        size_t n, room;
} Text;

struct Lethe {
        int in, out;    /* borrowed; -1 without a pipe */
        bool greeted;   /* hello was answered */
        pid_t pid;      /* the owner of the ids: a forked child takes new ids */
        uint64_t next_id;
        Text request, answer;
        Text identity;  /* the answer to hello, with the region's key */
        char code[32], message[512];
};

/* Appends to a text; 0 or LETHE_MEMORY. */
int text_add(Text *t, const char *bytes, size_t n);
/* Keeps the answer to hello and overwrites the former answer. 0 or LETHE_MEMORY. */
int pipe_keep_identity(struct Lethe *l, Span result);
int pipe_fail(struct Lethe *l, int ret, const char *code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Sends method with params (JSON text, compact) and waits. *ret_result: the result in l->answer, NUL-terminated. */
int pipe_call(struct Lethe *l, const char *method, const char *params, Span *ret_result);
