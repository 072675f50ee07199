/* Runs: supervisor, CLI. Rounds of a slot with a rule of arbitration (G-74). An operator asks a question: event
 * slot.asked, with the question's id and perhaps a deadline, opens a round. A verdict closes the round (slot.arbitrated,
 * with member "round"), and so does the next question, then without a winner. A proposal counts in the round that was open when its
 * region was allocated, and in no other. A slot without any question has no rounds, and gathers as ever. */
#pragma once

#include "base/diag.h"
#include "record/rows.h"

typedef struct Round {
        uint64_t asked; /* seq of slot.asked; 0: the slot never had a question */
        uint64_t until_usec; /* the deadline, in real time; 0: none */
        bool open;
} Round;
/* A missing row is no error: asked 0. Returns 0, -EUCLEAN, -errno. */
int round_get(Txn *t, const char *slot, Round *ret);
/* For fold-slot.c. */
int round_put(Txn *t, const char *slot, const Round *round);
/* Is the deadline over? The ledger's time counts, which never goes back. Returns 1, 0, -errno. */
int round_is_over(Txn *t, const Round *round);

/* May a region propose? allocated: seq of its region.allocated. Returns 0, ENGINE_E_RULE with a message, -errno. */
int round_may(Txn *t, const char *slot, uint64_t allocated, Diag *reterr);
#define ROUND_TOO_LATE "too_late"
/* The reason why a held proposal does not count, "other_round" or "too_late"; NULL in *ret: the proposal counts. */
int round_refuses(Txn *t, const char *slot, uint64_t proposed, const char **ret);

/* Opens a round, and closes the one before. question: an id of 1 to 64 letters, digits and . _ - ; until_usec 0: no
 * deadline. Returns 0, ENGINE_E_BAD_NAME, ENGINE_E_UNDEFINED, ENGINE_E_RULE, -errno. */
#define ROUND_QUESTION_MAX 64
int engine_slot_ask(Txn *t, const char *who, const char *name, const char *question, uint64_t until_usec,
                    uint64_t *ret_seq, Diag *reterr);
/* The newest round: {"seq","question","time","until"?,"open","over"}; NULL: no question was asked. 0 or -errno. */
int round_show(Txn *t, const char *slot, json_t **ret);
