/* Runs: skill. One request, one answer, over a pipe that other processes of the region use as well. */
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
        int in, out;    /* not ours to close; -1 when there is no pipe */
        bool greeted;   /* hello was answered */
        pid_t pid;      /* whose ids these are: a forked child takes others */
        uint64_t next_id;
        Text request, answer;
        Text identity;  /* the answer to hello, with the region's key in it */
        char code[32], message[512];
};

/* Text that grows; 0 or LETHE_MEMORY. */
int text_add(Text *t, const char *bytes, size_t n);
/* Keeps the answer to hello; what was kept before is overwritten. 0 or LETHE_MEMORY. */
int pipe_keep_identity(struct Lethe *l, Span result);
int pipe_fail(struct Lethe *l, int ret, const char *code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Sends method with params (JSON text, compact) and waits. *ret_result: the result in l->answer, NUL-terminated. */
int pipe_call(struct Lethe *l, const char *method, const char *params, Span *ret_result);
