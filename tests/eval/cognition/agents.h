/* Runs: tests. Three agents on the same dialogue (C-45). Each agent makes its context of the texts so far. No agent sees
 * the annotation: state, acts and calls. */
#pragma once

#include "base/buf.h"
#include "tests/eval/cognition/dialogue.h"

/* The fixed order of answers (C-46). */
typedef enum AgentKind { AGENT_TRANSCRIPT, AGENT_RETRIEVAL, AGENT_CCS, AGENTS } AgentKind;
const char *agent_name(AgentKind k);

typedef struct Agents Agents;
/* k: texts that retrieval gives. 0: as many as keep its footprint, over the dialogue so far, no smaller than that of the
 * state (C-58). Returns 0, -ENOMEM. */
int agents_new(unsigned k, Agents **ret);
void agents_free(Agents *a);
static inline void agents_freep(Agents **a) {
        agents_free(*a);
}
#define _cleanup_agents_ _cleanup_(agents_freep)

/* All agents hear a turn. After a turn of the user each has a context. Returns 0, -ENOMEM. */
int agents_hear(Agents *a, const DialogueTurn *turn);
/* The context for the answer to the last turn of the user. Borrowed until the next turn. */
const char *agents_context(const Agents *a, AgentKind k);
/* Turns whose state was refused as over its bound, so that the earlier state remained. */
size_t agents_refused(const Agents *a);

/* Retrieval: BM25 (k1 1.2, b 0.75) over texts in memory; the store belongs to one agent. */
typedef struct Shelf Shelf;
int shelf_new(Shelf **ret);
void shelf_free(Shelf *s);
/* The text is copied. Returns 0, -ENOMEM. */
int shelf_add(Shelf *s, const char *text);
/* Adds the k best texts to `out`, in the order of time, a text a line; k 0: the fewest with `least` tokens. Returns 0,
 * -ENOMEM. */
int shelf_find(Shelf *s, const char *query, unsigned k, int64_t least, Buf *out);

/* The state of the agent with a Compressed Cognitive State. */
typedef struct Mind Mind;
int mind_new(Mind **ret);
void mind_free(Mind *m);
int mind_hear(Mind *m, const DialogueTurn *turn);
const char *mind_text(const Mind *m);
size_t mind_refused(const Mind *m);
