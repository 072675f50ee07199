/* Runs: supervisor, CLI. R: at most k pieces of evidence for a turn, by the term index (C-21). Reads only.
 *
 * The score of a record depends on the record's text and on the query alone: no frequency of words in other records has
 * an influence (C-25). Evidence that Q has refused when it was stored is in a field of its own and is searched apart,
 * for the record of the turn only.
 *
 * The work has a bound. Of each term the newest RECALL_NEWEST and the oldest RECALL_OLDEST rows of the session are read (a
 * row: 256 neighbouring events): places, not counts. A term that few of the newest rows have is read whole, unless
 * RECALL_ROWS rows have it. */
#pragma once

#include "cognition/qualify.h"
#include "index/tokenizer.h"
#include "record/record.h"

#define RECALL_K 5
#define RECALL_K_MAX 16
#define RECALL_TERMS 32
#define RECALL_ROWS 64
#define RECALL_NEWEST 16
#define RECALL_OLDEST 4
#define RECALL_FEW 8 /* of the newest rows */
#define RECALL_CANDIDATES 48 /* judged first */
#define RECALL_FLOOD 512     /* judged when too few of the first qualify */

typedef struct RecallTerm {
        char p[TERM_BYTES_MAX];
        uint8_t n;
        double weight;
        bool subject; /* of a focal entity or a goal */
        bool entity;  /* of the turn: with a digit, or a whole */
        bool input;
} RecallTerm;

typedef struct RecallQuery {
        RecallTerm term[RECALL_TERMS]; /* the weightiest first */
        size_t n;
} RecallQuery;

/* The terms of goals, focal entities and the turn's texts: input first, then decision and tools. 0, -ENOMEM, -EFBIG. */
typedef struct RecallText {
        const char *text;
        size_t n;
} RecallText;
int recall_query(Txn *t, const Ccs *state, const RecallText *input, const RecallText *others, size_t n_others,
                 RecallQuery *ret);

typedef struct RecallHit {
        double score;
        uint64_t number; /* the record's first event */
        uint64_t terms;  /* bits of the query's terms */
        uint64_t scope;
        Kind kind;
} RecallHit;

/* The best hits, by score; of equal scores the newer first. */
typedef struct RecallHits {
        size_t n, most; /* most: at most RECALL_FLOOD */
        RecallHit hit[RECALL_FLOOD];
} RecallHits;
/* Adds the hits of a kind. */
int recall_read(Txn *t, uint64_t scope, Kind kind, unsigned field, const RecallQuery *q, uint64_t newest, RecallHits *ret);
/* Clause (b): a term of a focal entity or a goal, an entity of the turn, or two words of the input. */
bool recall_is_relevant(const RecallQuery *q, const RecallHit *hit);
