/* Runs: supervisor, CLI. A judge of a round (round.h, G-74): a skill that chooses one of the gathered values, or none.
 * The question shows the values and no writer's region; the order is that of the values' hashes, so that neither speed
 * nor place of a proposal counts. The answer is a number of the question: a judge cannot bring a value of its own.
 *
 *   question   {"version":1,"slot","question","round","proposals":[{"proposal":1,"sha256","regions":2,"skills":[…],
 *              "confidence"?,"value"}…]}   equal values are a single proposal; round: seq of slot.asked
 *   answer     {"proposal":1,"sha256"?:"…"} or {"proposal":"none"}
 *
 * Between question and verdict no transaction is open: the verdict fails when another round is open by then, and what
 * was gathered meanwhile is "unseen". */
#pragma once

#include "engine/arbitration.h"
#include "engine/engine.h"

#define JUDGE_LINE_MAX (1024 * 1024) /* bytes of a question */

typedef struct JudgeQuestion {
        uint64_t round;  /* seq of slot.asked */
        size_t n_seen;   /* valid proposals, by seq */
        uint64_t seen[ARBITRATION_PROPOSALS_MAX];
        size_t n;        /* values, in the question's order */
        uint64_t seq[ARBITRATION_PROPOSALS_MAX]; /* of each value, the earliest proposal */
        char sha256[ARBITRATION_PROPOSALS_MAX][HASH_HEX_MAX];
} JudgeQuestion;
/* The question of the open round as a line. *ret_line is owned. ENGINE_E_RULE: no rule, or no open round;
 * ENGINE_E_NO_VALUE: no valid proposal; ENGINE_E_TOO_LARGE: more than JUDGE_LINE_MAX bytes. Changes nothing. */
int judge_question(Txn *t, const char *name, JudgeQuestion *ret, char **ret_line, Diag *reterr);

#define JUDGE_BAD_ANSWER "bad_answer"
enum {
        JUDGE_E_ANSWER = 1, /* no answer to the question; the message has the cause */
};
/* *ret_seq: the chosen proposal, 0 for "none". Returns 0, JUDGE_E_ANSWER, -ENOMEM. */
int judge_answer(const JudgeQuestion *q, const char *line, uint64_t *ret_seq, Diag *reterr);

typedef struct Judgement {
        const char *skill, *digest; /* of the judge */
        const char *region;         /* in which the judge ran */
        const char *fault;          /* a word for an answer that is missing or bad; NULL: answered */
        uint64_t choice;            /* seq of the chosen proposal; 0: none */
} Judgement;
/* The verdict of a judge closes the round. Members of slot.arbitrated: "judge": {"skill":{"name","digest"},"region",
 * "answer": seq or null,"fault"?}. *ret: as of engine_slot_decide(). ENGINE_E_CONFLICT: the question's round is not
 * open any more. */
int engine_slot_judge(Txn *t, const char *who, const char *name, const JudgeQuestion *q, const Judgement *j,
                      uint64_t *ret_seq, json_t **ret, Diag *reterr);
