/* Runs: supervisor, CLI. What both ends of the socket of `lethe serve` keep to; schema/serve.md states it, too. */
#pragma once

#define SERVE_PROTOCOL_VERSION 1
#define SERVE_LINE_MAX (1024 * 1024) /* bytes of a request without its newline */
#define SERVE_ANSWER_MAX (16 * 1024 * 1024)
#define SERVE_DEPTH_MAX 8            /* nesting of a request */
#define SERVE_STREAMS 3              /* descriptors that a request may bring: standard input, output and error */
#define SERVE_INPUT_MAX (48 * 1024)  /* bytes of one `input` */
#define SERVE_CAPTURE_MAX (1024 * 1024) /* bytes of each stream in an answer */
#define SERVE_UNFINISHED_MAX (64 * 1024 * 1024ULL) /* bytes of requests that are not whole yet, of all clients together */
#define SERVE_HELD_MAX (192 * 1024 * 1024ULL)      /* bytes of requests, captured output and unread answers, of all clients together */

#define SERVE_ERROR(id, word, number) SERVE_E_##id = -(number), /* positive here, as all conditions that a caller handles; negative on the wire */
enum {
#include "schema/serve-errors.def"
};
#undef SERVE_ERROR
