/* Runs: supervisor, CLI. W3C Trace Context (Recommendation of 2021-11-23), as far as an invocation's place in
 * somebody's trace goes. */
#pragma once

#include "base/util.h"

#define TRACE_ID_BYTES 16
#define TRACE_SPAN_BYTES 8
#define TRACE_TEXT_MAX 56 /* of a traceparent */

typedef struct Trace {
        bool set;
        uint8_t id[TRACE_ID_BYTES];       /* of the trace */
        uint8_t parent[TRACE_SPAN_BYTES]; /* the span in which the invocation was asked for */
        uint8_t span[TRACE_SPAN_BYTES];   /* the invocation's own */
        uint8_t flags;
} Trace;

/* Reads a traceparent and makes a span below it. Returns 0, -EINVAL for what a reader has to ignore, -EIO without
 * random numbers. */
int trace_take_in(const char *traceparent, Trace *ret);
/* A span below that of t; not set when t is not. Returns 0 or -EIO. */
int trace_below(const Trace *t, Trace *ret);
/* The traceparent for what runs within t's span. */
void trace_text(const Trace *t, char ret[static TRACE_TEXT_MAX]);
