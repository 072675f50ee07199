/* Runs: supervisor, CLI. Limits at both ends of the socket of `lethe serve`; schema/serve.md states them, too. */
#pragma once

#define SERVE_PROTOCOL_VERSION 1
#define SERVE_LINE_MAX (1024 * 1024) /* bytes of a request without its newline */
#define SERVE_ANSWER_MAX (16 * 1024 * 1024)
#define SERVE_DEPTH_MAX 8            /* nesting of a request */
#define SERVE_STREAMS 3              /* descriptors sent with a request: standard input, output and error */
#define SERVE_INPUT_MAX (48 * 1024)  /* bytes of an `input` */
#define SERVE_CAPTURE_MAX (1024 * 1024) /* bytes of each stream in an answer */
#define SERVE_UNFINISHED_MAX (64 * 1024 * 1024ULL) /* bytes of incomplete requests, of all clients together */
#define SERVE_HELD_MAX \
        (192 * 1024 * 1024ULL) /* bytes of requests, captured output and unread answers, of all clients together */

/* positive here, as all conditions handled by a caller; negative on the wire */
#define SERVE_ERROR(id, word, number) SERVE_E_##id = -(number),
enum {
#include "schema/serve-errors.def"
};
#undef SERVE_ERROR
