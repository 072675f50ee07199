/* Runs: lethe-proxy. Requests to models, and the usage in answers: JSON as of OpenAI (chat completions, completions,
 * embeddings, responses) or Anthropic (messages). */
#pragma once

#include "proxy/json-scan.h"
#include "schema/route.h"

typedef struct ModelRequest {
        char model[PROXY_MODEL_MAX]; /* empty: not said */
        uint64_t most_out;           /* tokens of one answer; 0: not said */
        uint64_t answers;            /* "n" or "best_of"; at least 1 */
} ModelRequest;
/* Returns NULL, or the broken rule: no JSON object; a known member stands there twice, or in a spelling that some servers
 * take for the known member; a list of further models. */
const char *model_request_parse(const char *body, size_t n, ModelRequest *ret);
/* An estimate of the tokens of a request's body. */
uint64_t model_estimate(size_t bytes);

/* "usage" of an answer, found while the bytes go by. A stream of events (text/event-stream) has a JSON value in each
 * event; the largest number of each kind counts. */
typedef struct ModelUsage {
        JsonScan scan;
        bool events;      /* a stream of events */
        bool has;         /* there was a usage */
        bool bad;         /* no JSON: not counted further */
        uint64_t in, out; /* tokens */
        uint64_t part_in, part_out, cached; /* of the present value */
        bool part;
        unsigned line;    /* of a stream: the place in the line */
        bool data, cr;
} ModelUsage;
void model_usage_begin(ModelUsage *u, bool events);
void model_usage_feed(ModelUsage *u, const char *bytes, size_t n);
void model_usage_end(ModelUsage *u);
