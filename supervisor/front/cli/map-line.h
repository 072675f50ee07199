/* Runs: CLI. The texts of `lethe map`: the request for a line of input, and the line of output made from the answer. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"

typedef enum MapVerdict {
        MAP_OK,
        MAP_FAILED,
        MAP_REFUSED,   /* failed before there was a region */
        MAP_AGAIN,     /* not run: the daemon has no room now */
        MAP_CANCELLED,
        MAP_STOPPED,   /* not run: the daemon takes no further line; there is a message */
} MapVerdict;

/* The common part of all requests. Takes params. Returns 0 or -errno. */
int map_request_open(json_t *params, Buf *ret);
/* The request for a line, with a newline. Returns 0 or -errno. */
int map_request(const Buf *open, uint64_t id, const char *line, size_t n, Buf *ret);

/* Checks that a line is one JSON value. Returns 0, JSON_E_* with a message, -ENOMEM. */
int map_check(const char *line, size_t n, Diag *reterr);

/* The result, a line with a newline, of the answer to a request. text: the output is a string in any case. signo: the
 * signal by which the run was cancelled, or 0. *ret_code: the exit code for MAP_REFUSED. Returns 0 or -errno. */
int map_result(const json_t *answer, bool text, int signo, MapVerdict *ret_verdict, Buf *ret, int *ret_code,
               Diag *reterr);
/* The result of a line that is not run. Returns 0 or -errno. */
int map_result_unrun(const char *outcome, const char *message, Buf *ret);
