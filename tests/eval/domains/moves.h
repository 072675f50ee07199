/* Runs: tests. The turns of a generated episode: what the user says, what the system and its tools answer, and the gold
 * state after it. */
#pragma once

#include "base/json.h"
#include "tests/eval/domains/domain.h"
#include "tests/eval/domains/grammar.h"

/* The stress topics of C-56. */
typedef enum Topic {
        TOPIC_SETUP,
        TOPIC_UPDATE,
        TOPIC_STRICT,
        TOPIC_CONFLICT,
        TOPIC_BIAS,
        TOPIC_POISON,
        TOPIC_INJECTION,
        TOPIC_UNCERTAIN,
        TOPIC_RISK,
        TOPIC_COMMUNICATION,
        TOPICS,
} Topic;

typedef struct Moves {
        const Domain *domain;
        Grammar grammar;
        json_t *turns, *slots; /* owned; slots: the gold of now, slot -> [form, ...] */
        json_t *used;          /* owned: values of the episode, each one once */
        json_t *acts, *lifted; /* owned: of the turn in the making */
        Buf said;              /* by the user in this turn */
        const char *pending;   /* slot with two offers, or NULL */
        char *offers[2];       /* owned */
        bool opened;
        int failed; /* 0 or -ENOMEM */
} Moves;
int moves_init(Moves *m, const Domain *d, uint64_t seed);
void moves_deinit(Moves *m);
/* A turn of the user and, unless it is the last, one of the system. */
void moves_turn(Moves *m, Topic topic, bool last);
const char *topic_name(Topic t);
