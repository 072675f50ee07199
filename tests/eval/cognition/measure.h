/* Runs: tests. The protocol of a measurement (C-46, C-49): at each turn of the user the agents answer in a fixed order,
 * the judge scores the answers in an order drawn from the seed, without the agents' names. */
#pragma once

#include "tests/eval/cognition/agents.h"
#include "tests/eval/cognition/judge.h"

typedef struct MeasureConfig {
        uint64_t seed;
        unsigned k;
        char source[65]; /* SHA-256 of the file, hexadecimal */
        FILE *explain;   /* NULL, or gets each context of the agent below, and the slots that fail */
        AgentKind explained;
        FILE *requests; /* NULL, or gets the request of each turn for another judge, a line of JSON (C-57) */
} MeasureConfig;

typedef struct MeasureRow {
        const Dialogue *dialogue; /* borrowed */
        const DialogueTurn *at;
        unsigned turn;  /* of the user, from 1 */
        AgentKind agent;
        unsigned shown; /* place in the order of the judge, from 1 */
        bool burst;     /* H_t above mean + 2 standard deviations of the dialogue (C-51) */
        Score score;
} MeasureRow;
typedef struct MeasureRows {
        MeasureRow *v;
        size_t n;
} MeasureRows;
static inline void measure_rows_deinit(MeasureRows *r) {
        free(r->v);
}

/* Adds the rows of a dialogue, by turn and agent. Returns 0, -ENOMEM. */
int measure_dialogue(const MeasureConfig *c, const Dialogue *d, size_t index, MeasureRows *rows);

/* The table as CSV: a line of the configuration, a line of names, then a row a line. */
int measure_csv_head(const MeasureConfig *c, Buf *out);
int measure_csv_rows(const MeasureRows *rows, size_t from, Buf *out);
/* Reads the complete dialogues of an interrupted table back. *ret_n: bytes that count; *ret_dialogues: dialogues read.
 * Returns 0, 1 with a message (a table of another measurement), -ENOMEM. */
int measure_csv_read(const MeasureConfig *c, const Dialogues *all, const char *text, MeasureRows *rows, size_t *ret_n,
                     size_t *ret_dialogues, Diag *reterr);
/* Marks bursts of the rows of a dialogue. */
void measure_bursts(MeasureRow *rows, size_t n);

/* Mean and standard deviation of a series. */
typedef struct Series {
        double n, sum, squares;
} Series;
void series_add(Series *s, double v);
double series_mean(const Series *s);
double series_deviation(const Series *s);

/* A generator of numbers (SplitMix64): the same on each machine. */
uint64_t seed_next(uint64_t *state);
