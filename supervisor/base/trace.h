/* Runs: supervisor, CLI. W3C Trace Context (Recommendation of 2021-11-23): an invocation's place in a caller's
 * trace. */
#pragma once

#include "base/util.h"

#define TRACE_ID_BYTES 16
#define TRACE_SPAN_BYTES 8
#define TRACE_TEXT_MAX 56 /* of a traceparent */

typedef struct Trace {
        bool set;
        uint8_t id[TRACE_ID_BYTES];       /* of the trace */
        uint8_t parent[TRACE_SPAN_BYTES]; /* the span of the caller */
        uint8_t span[TRACE_SPAN_BYTES];   /* the invocation's own */
        uint8_t flags;
} Trace;

/* Reads a traceparent and makes a span below. Returns 0, -EINVAL (readers must ignore the text), -EIO (no random
 * bytes). */
int trace_take_in(const char *traceparent, Trace *ret);
/* A span below the span of t; not set when t is not set. Returns 0 or -EIO. */
int trace_below(const Trace *t, Trace *ret);
/* The traceparent for work within t's span. */
void trace_text(const Trace *t, char ret[static TRACE_TEXT_MAX]);
