/* Runs: tests. The deterministic judge (C-46..C-54, C-57). The canonical memory is made of the gold states of the
 * user's turns alone; no answer changes it (C-47). The judge sees texts without the names of the agents. */
#pragma once

#include "base/buf.h"
#include "tests/eval/cognition/dialogue.h"
#include "tests/eval/cognition/wording.h"

#define JUDGE_NAME "deterministic/1"

typedef struct Judge Judge;
/* Returns 0, -ENOMEM. */
int judge_new(Judge **ret);
void judge_free(Judge *j);
static inline void judge_freep(Judge **j) {
        judge_free(*j);
}
#define _cleanup_judge_ _cleanup_(judge_freep)

/* Reads a turn: values that the turn mentions, and the gold state where the user speaks. Returns 0, -ENOMEM. */
int judge_hear(Judge *j, const DialogueTurn *turn);

/* The judgement of a context, in whole numbers; rates are made from them (score_*()). */
typedef struct Score {
        unsigned active;             /* |K_t| */
        unsigned omitted, violated;  /* O_t, V_t (C-52) */
        unsigned supported, unsupported; /* claims (C-50) */
        unsigned asked, answered;    /* slots set or changed by this turn, and these in the context */
        unsigned orders, followed;   /* rules in force and revised slots, and these that the context follows */
        unsigned torn;               /* slots with a present and a stale value in the context */
        unsigned tokens;             /* C-54, by the caller */
} Score;
/* Judges an answer on the turn that was heard last, which must be the user's. Returns 0, -ENOMEM. */
int judge_score(Judge *j, const char *context, Score *ret);

/* Adds a line for each slot that the context omits or violates: "omits Trip.city: Oslo". Returns 0, -ENOMEM. */
int judge_explain(Judge *j, const char *context, Buf *out);

double score_drift(const Score *s);       /* D_t */
double score_unsupported(const Score *s); /* H_t */
/* Outcome metrics, 0 to 10 (C-48). */
double score_relevance(const Score *s);
double score_quality(const Score *s);
double score_instruction(const Score *s);
double score_coherence(const Score *s);

/* Runs of [A-Za-z0-9_], and single other characters that are no white space (C-54). */
size_t judge_tokens(const char *text);
