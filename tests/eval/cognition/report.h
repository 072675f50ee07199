/* Runs: tests. The figures of a measurement: JSON, a table for people, and a picture (C-58, C-59). */
#pragma once

#include "tests/eval/cognition/measure.h"

/* {"transcript", "retrieval", "ccs", "domains", "config"}. New reference, NULL: no memory. */
json_t *report_json(const MeasureConfig *c, const MeasureRows *rows);
void report_print(const MeasureRows *rows);
/* D, H and tokens by turn, and D by domain. Returns 0, -ENOMEM. */
int report_plot(const MeasureRows *rows, const char *about, Buf *ret);

/* Figures of an agent over dialogues. */
typedef struct Summary {
        Series drift, unsupported, tokens, last; /* by turn; drift from the second turn on */
        Series relevance, quality, instruction, coherence;
        Series drift_each, unsupported_each, tokens_each; /* by dialogue: D_r, H_u, mean of M_t */
        size_t omitted, violated, active, bursts, most_tokens;
} Summary;
/* domain NULL: all. */
void report_sum(const MeasureRows *rows, AgentKind agent, const char *domain_or_null, Summary *ret);
/* The next domain behind `after` (NULL: the first) in order of appearance, or NULL. */
const char *report_domain(const MeasureRows *rows, const char *after);
